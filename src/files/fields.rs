//! Reads fields out of a tree: unknown ones refused, types checked, every message with its place.

use glam::DVec3;

use super::tree::{Node, Span, Value};

/// Something in a text that cannot be read.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ParseError {
    pub span: Span,
    pub problem: String,
    pub remedy: String,
}

/// A table whose fields are read one by one.
pub(crate) struct Fields<'a> {
    node: Option<&'a Node>,
    path: String,
}

impl<'a> Fields<'a> {
    /// The table `node`, which messages call `path` and which may have the `known` fields and no others. `None`
    /// reads as an empty table.
    pub(crate) fn new(node: Option<&'a Node>, path: &str, known: &[&str]) -> Result<Self, ParseError> {
        let fields = Self { node, path: path.to_owned() };
        let Some(node) = node else { return Ok(fields) };
        let Value::Table(entries) = &node.value else {
            return Err(mismatch(node, path, "a table"));
        };
        let place = if path.is_empty() { "the scene".to_owned() } else { path.to_owned() };
        let Some(entry) = entries.iter().find(|entry| !known.contains(&entry.key.as_str())) else {
            return Ok(fields);
        };
        let key = &entry.key;
        let (problem, remedy) = (format!("unknown field `{key}` in {place}"), suggestion(key, known));
        Err(ParseError { span: entry.key_span.clone(), problem, remedy })
    }

    pub(crate) fn get(&self, name: &str) -> Option<&'a Node> {
        Some(&self.node?.get(name)?.node)
    }

    pub(crate) fn path(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }

    /// A field that must be there, read by `read`.
    pub(crate) fn required<T>(
        &self,
        name: &str,
        expected: &str,
        read: impl Fn(&'a Node, &str) -> Result<T, ParseError>,
    ) -> Result<T, ParseError> {
        match self.get(name) {
            Some(node) => read(node, &self.path(name)),
            None => Err(self.missing(name, expected)),
        }
    }

    pub(crate) fn missing(&self, name: &str, expected: &str) -> ParseError {
        ParseError {
            span: self.node.map(|node| node.span.clone()).unwrap_or_default(),
            problem: format!("{} is missing", self.path(name)),
            remedy: format!("expected {name} = {expected}"),
        }
    }

    /// A field that may be left out.
    pub(crate) fn optional<T>(
        &self,
        name: &str,
        read: impl Fn(&'a Node, &str) -> Result<T, ParseError>,
    ) -> Result<Option<T>, ParseError> {
        self.get(name).map(|node| read(node, &self.path(name))).transpose()
    }

    /// Puts what a field says in place of what holds when it is left out.
    pub(crate) fn set<T>(
        &self,
        name: &str,
        target: &mut T,
        read: impl Fn(&'a Node, &str) -> Result<T, ParseError>,
    ) -> Result<(), ParseError> {
        if let Some(value) = self.optional(name, read)? {
            *target = value;
        }
        Ok(())
    }
}

/// Which one of several fields that exclude each other is there.
pub(crate) fn one_of<'n>(
    fields: &Fields,
    node: &Node,
    path: &str,
    names: &[&'n str],
) -> Result<Option<&'n str>, ParseError> {
    let mut found = names.iter().filter(|name| fields.get(name).is_some());
    let first = found.next().copied();
    match (first, found.next()) {
        (Some(first), Some(second)) => Err(ParseError {
            span: node.get(second).map_or_else(|| node.span.clone(), |entry| entry.key_span.clone()),
            problem: format!("{path} has both {first} and {second}"),
            remedy: format!("expected only one of {}", names.join(", ")),
        }),
        _ => Ok(first),
    }
}

/// `did you mean ...?` where a known name is near, else all of them.
pub(crate) fn suggestion(found: &str, known: &[&str]) -> String {
    let nearest = known
        .iter()
        .map(|name| (strsim::damerau_levenshtein(found, name), name))
        .filter(|(distance, name)| *distance <= 1 + name.len().max(found.len()) / 3)
        .min_by_key(|(distance, _)| *distance);
    match nearest {
        Some((_, name)) => format!("did you mean `{name}`?"),
        None => format!("expected one of {}", known.join(", ")),
    }
}

pub(crate) fn mismatch(node: &Node, path: &str, expected: &str) -> ParseError {
    ParseError {
        span: node.span.clone(),
        problem: format!("{path} is {}", node.value.kind()),
        remedy: format!("expected {expected}"),
    }
}

pub(crate) fn number(node: &Node, path: &str) -> Result<f64, ParseError> {
    match node.value {
        Value::Float(value) => Ok(value),
        Value::Integer(value) => Ok(value as f64),
        _ => Err(mismatch(node, path, "a number")),
    }
}

/// A whole number from 0 to the largest `T`.
pub(crate) fn whole<T: Whole>(node: &Node, path: &str) -> Result<T, ParseError> {
    let Value::Integer(value) = node.value else {
        return Err(mismatch(node, path, "a whole number"));
    };
    T::try_from(value).map_err(|_| ParseError {
        span: node.span.clone(),
        problem: format!("{path} is {value}"),
        remedy: format!("expected a whole number from 0 to {}", T::MOST),
    })
}

/// The types of counts in scenes.
pub(crate) trait Whole: TryFrom<i128> {
    const MOST: u64;
}

impl Whole for u32 {
    const MOST: u64 = u32::MAX as u64;
}

impl Whole for u64 {
    const MOST: u64 = u64::MAX;
}

pub(crate) fn string(node: &Node, path: &str) -> Result<String, ParseError> {
    match &node.value {
        Value::String(value) => Ok(value.clone()),
        _ => Err(mismatch(node, path, "a string")),
    }
}

pub(crate) fn boolean(node: &Node, path: &str) -> Result<bool, ParseError> {
    match node.value {
        Value::Boolean(value) => Ok(value),
        _ => Err(mismatch(node, path, "true or false")),
    }
}

/// `[x, y, z]`, or `[x, y]` in the plane z = 0.
pub(crate) fn vector(node: &Node, path: &str) -> Result<DVec3, ParseError> {
    let components = list(node, path, "[x, y, z], or [x, y] in 2D")?;
    if !(2..=3).contains(&components.len()) {
        return Err(ParseError {
            span: node.span.clone(),
            problem: format!("{path} has {} components", components.len()),
            remedy: "expected [x, y, z], or [x, y] in 2D".into(),
        });
    }
    let mut vector = DVec3::ZERO;
    for (axis, component) in components.iter().enumerate() {
        vector[axis] = number(component, &format!("{path}[{axis}]"))?;
    }
    Ok(vector)
}

pub(crate) fn list<'a>(node: &'a Node, path: &str, expected: &str) -> Result<&'a [Node], ParseError> {
    match &node.value {
        Value::Array(nodes) => Ok(nodes),
        _ => Err(mismatch(node, path, expected)),
    }
}

/// One of a few words.
pub(crate) fn choice<T: Copy>(node: &Node, path: &str, choices: &[(&str, T)]) -> Result<T, ParseError> {
    let words = || choices.iter().map(|(word, _)| format!("{word:?}")).collect::<Vec<_>>().join(", ");
    let Value::String(found) = &node.value else {
        return Err(mismatch(node, path, &format!("one of {}", words())));
    };
    choices.iter().find(|(word, _)| word == found).map(|(_, value)| *value).ok_or_else(|| ParseError {
        span: node.span.clone(),
        problem: format!("{path} is {found:?}"),
        remedy: format!("expected one of {}", words()),
    })
}
