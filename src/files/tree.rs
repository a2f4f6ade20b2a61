//! A scene as a tree of TOML values with their positions in the text. Overrides replace values of the tree.

use std::{borrow::Cow, ops::Range};

use toml::{
    Spanned,
    de::{DeTable, DeValue, Error},
};

/// A value and its position in the text.
pub(crate) type Node<'t> = Spanned<DeValue<'t>>;

/// Parses a document.
pub(crate) fn parse(text: &str) -> Result<Node<'_>, Error> {
    DeTable::parse(text).map(|table| Spanned::new(table.span(), DeValue::Table(table.into_inner())))
}

/// An entry of a table: its key and its value.
pub(crate) fn entry<'n, 't>(
    node: &'n Node<'t>,
    key: &str,
) -> Option<(&'n Spanned<Cow<'t, str>>, &'n Node<'t>)> {
    node.get_ref().as_table()?.get_key_value(key)
}

/// The node at a path like `spheres[0].random.count`.
pub(crate) fn node_at<'n, 't>(root: &'n Node<'t>, path: &str) -> Option<&'n Node<'t>> {
    steps(path).try_fold(root, |node, step| child(node, step).map(|(child, _)| child))
}

/// The position of a path like `spheres[0].random.count`, or of the innermost node on that path which exists.
pub(crate) fn locate(root: &Node, path: &str) -> Option<Range<usize>> {
    let mut node = root;
    let mut place = None;
    for step in steps(path) {
        let Some((inner, key)) = child(node, step) else { break };
        // The key stands for a table or list over several lines.
        place = Some(key.filter(|_| spans_lines(inner)).unwrap_or_else(|| inner.span()));
        node = inner;
    }
    place
}

fn steps(path: &str) -> impl Iterator<Item = &str> {
    path.split(['.', '[']).map(|step| step.trim_end_matches(']'))
}

/// An entry of a table, with the position of its key, or an element of an array.
fn child<'n, 't>(node: &'n Node<'t>, step: &str) -> Option<(&'n Node<'t>, Option<Range<usize>>)> {
    match node.get_ref() {
        DeValue::Array(nodes) => Some((nodes.get(step.parse::<usize>().ok()?)?, None)),
        _ => entry(node, step).map(|(key, value)| (value, Some(key.span()))),
    }
}

/// Whether an inner value lies outside the range of its table or array: the range of `[table]` is only its header.
fn spans_lines(node: &Node) -> bool {
    let outer = node.span();
    let is_outside = |inner: &Node| inner.span().start < outer.start || outer.end < inner.span().end;
    match node.get_ref() {
        DeValue::Table(entries) => entries.values().any(is_outside),
        DeValue::Array(nodes) => nodes.iter().any(is_outside),
        _ => false,
    }
}

/// Overrides this tree with another: tables merge entry by entry, all other values are replaced. A table with numbers as
/// keys reaches into an array; the error is the key of an element that does not exist, and the number of elements.
pub(crate) fn overlay<'t>(node: &mut Node<'t>, over: Node<'t>) -> Result<(), (Spanned<Cow<'t, str>>, usize)> {
    let place = over.span();
    match (node.get_mut(), over.into_inner()) {
        (DeValue::Table(entries), DeValue::Table(new)) => {
            for (key, value) in new {
                match entries.get_mut(key.get_ref().as_ref()) {
                    Some(old) => overlay(old, value)?,
                    None => drop(entries.insert(key, value)),
                }
            }
        }
        (DeValue::Array(nodes), DeValue::Table(new)) => {
            for (key, value) in new {
                match key.get_ref().parse::<usize>().ok().and_then(|index| nodes.get_mut(index)) {
                    Some(old) => overlay(old, value)?,
                    None => return Err((key, nodes.len())),
                }
            }
        }
        (_, value) => *node = Spanned::new(place, value),
    }
    Ok(())
}
