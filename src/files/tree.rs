//! TOML as a tree in which every key and value knows where it stands in the text.

use std::ops::Range;

use toml::de::{DeTable, DeValue};

/// A place in one of the texts of a scene.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Span {
    /// 0 = the scene itself, then the overrides in their order.
    pub text: usize,
    pub bytes: Range<usize>,
}

/// A value and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub span: Span,
    pub value: Value,
}

#[derive(Clone, Debug)]
pub(crate) enum Value {
    String(String),
    Integer(i128),
    Float(f64),
    Boolean(bool),
    Datetime,
    Array(Vec<Node>),
    Table(Vec<Entry>),
}

/// A key of a table with its value.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub key: String,
    pub key_span: Span,
    pub node: Node,
}

impl Value {
    /// What a message calls it.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::String(_) => "a string",
            Self::Integer(_) => "an integer",
            Self::Float(_) => "a float",
            Self::Boolean(_) => "a boolean",
            Self::Datetime => "a date",
            Self::Array(_) => "an array",
            Self::Table(_) => "a table",
        }
    }
}

impl Node {
    /// Parses the text with this number; the error is a message and where.
    pub(crate) fn parse(source: &str, text: usize) -> Result<Self, (Span, String)> {
        let table = DeTable::parse(source).map_err(|error| {
            let bytes = error.span().unwrap_or(0..0);
            (Span { text, bytes }, error.message().to_owned())
        })?;
        let span = Span { text, bytes: table.span() };
        Ok(Self { span, value: table_of(table.get_ref(), text) })
    }

    /// The entry of a table.
    pub(crate) fn get(&self, key: &str) -> Option<&Entry> {
        match &self.value {
            Value::Table(entries) => entries.iter().find(|entry| entry.key == key),
            _ => None,
        }
    }

    /// Where a path like `spheres[0].random.count` or the nearest that exists of what it lies in stands.
    pub(crate) fn locate(&self, path: &str) -> Option<Span> {
        let mut node = self;
        let mut found = None;
        for step in path.split(['.', '[']).map(|step| step.trim_end_matches(']')) {
            let next = match &node.value {
                Value::Table(_) => node.get(step).map(|entry| {
                    // Of a table or a list of tables the key alone: the whole would be a page.
                    let own = match &entry.node.value {
                        Value::Table(_) | Value::Array(_) if spans_lines(&entry.node) => &entry.key_span,
                        _ => &entry.node.span,
                    };
                    (&entry.node, own.clone())
                }),
                Value::Array(nodes) => step
                    .parse()
                    .ok()
                    .and_then(|index: usize| nodes.get(index))
                    .map(|node| (node, node.span.clone())),
                _ => None,
            };
            let Some((inner, span)) = next else { break };
            (node, found) = (inner, Some(span));
        }
        found
    }

    /// Lays another tree over this one: tables entry by entry, everything else replaced. A table with numbers as
    /// keys reaches into an array.
    pub(crate) fn overlay(&mut self, over: Self) -> Result<(), (Span, String, String)> {
        match (&mut self.value, over.value) {
            (Value::Table(entries), Value::Table(new)) => {
                for entry in new {
                    match entries.iter_mut().find(|old| old.key == entry.key) {
                        Some(old) => old.node.overlay(entry.node)?,
                        None => entries.push(entry),
                    }
                }
            }
            (Value::Array(nodes), Value::Table(new)) => {
                let count = nodes.len();
                for entry in new {
                    let index: Option<usize> = entry.key.parse().ok();
                    match index.and_then(|index| nodes.get_mut(index)) {
                        Some(old) => old.overlay(entry.node)?,
                        None => {
                            return Err((
                                entry.key_span,
                                format!("there is no entry {:?} in this list", entry.key),
                                format!("it has {count}, counted from 0"),
                            ));
                        }
                    }
                }
            }
            (_, value) => *self = Self { span: over.span, value },
        }
        Ok(())
    }
}

fn spans_lines(node: &Node) -> bool {
    match &node.value {
        Value::Table(entries) => entries.iter().any(|entry| !inside(&node.span, &entry.node.span)),
        Value::Array(nodes) => nodes.iter().any(|inner| !inside(&node.span, &inner.span)),
        _ => false,
    }
}

/// Whether an inner value lies in the outer one's own text; that of a `[table]` is only its header.
fn inside(outer: &Span, inner: &Span) -> bool {
    outer.text == inner.text && outer.bytes.start <= inner.bytes.start && inner.bytes.end <= outer.bytes.end
}

fn table_of(table: &DeTable, text: usize) -> Value {
    let mut entries: Vec<Entry> = table
        .iter()
        .map(|(key, value)| Entry {
            key: key.get_ref().to_string(),
            key_span: Span { text, bytes: key.span() },
            node: Node { span: Span { text, bytes: value.span() }, value: value_of(value.get_ref(), text) },
        })
        .collect();
    // In the order of the text, which is that in which materials are numbered.
    entries.sort_by_key(|entry| entry.key_span.bytes.start);
    Value::Table(entries)
}

fn value_of(value: &DeValue, text: usize) -> Value {
    match value {
        DeValue::String(string) => Value::String(string.to_string()),
        DeValue::Integer(integer) => i128::from_str_radix(integer.as_str(), integer.radix())
            .map_or(Value::Float(f64::INFINITY), Value::Integer),
        DeValue::Float(float) => Value::Float(float.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Boolean(boolean) => Value::Boolean(*boolean),
        DeValue::Datetime(_) => Value::Datetime,
        DeValue::Array(array) => Value::Array(
            array
                .iter()
                .map(|value| Node {
                    span: Span { text, bytes: value.span() },
                    value: value_of(value.get_ref(), text),
                })
                .collect(),
        ),
        DeValue::Table(table) => table_of(table, text),
    }
}
