//! The result of a measurement: figures, a table and a chart.

use serde_json::Value;

use crate::cli::{chart::Chart, text::number};

/// A named figure.
pub struct Figure {
    pub key: &'static str,
    pub value: Value,
}

impl Figure {
    /// The value for human readers, with six significant digits.
    pub fn text(&self) -> String {
        match &self.value {
            Value::Null => "does not apply".to_owned(),
            Value::String(text) => text.clone(),
            value => text_of(value),
        }
    }
}

fn text_of(value: &Value) -> String {
    match value {
        Value::Array(values) => values.iter().map(text_of).collect::<Vec<_>>().join("  "),
        Value::Number(n) if n.is_f64() => n.as_f64().map_or_else(String::new, |x| number(x, 6)),
        other => other.to_string(),
    }
}

/// Everything that a measurement found.
pub struct Section {
    /// Name of the files and key of the figures, such as `rdf`.
    pub stem: String,
    pub title: String,
    pub figures: Vec<Figure>,
    /// Conditions that the user should know.
    pub notes: Vec<String>,
    pub columns: Vec<String>,
    pub rows: Vec<Vec<String>>,
    pub chart: Chart,
}

impl Section {
    /// A section with these columns.
    pub fn new(stem: impl Into<String>, title: impl Into<String>, columns: &[&str], chart: Chart) -> Self {
        Self {
            stem: stem.into(),
            title: title.into(),
            figures: vec![],
            notes: vec![],
            columns: columns.iter().map(|name| (*name).to_owned()).collect(),
            rows: vec![],
            chart,
        }
    }

    /// Adds a figure; a number that is not finite becomes null.
    pub fn figure(&mut self, key: &'static str, value: impl Into<Value>) {
        self.figures.push(Figure { key, value: value.into() });
    }

    /// Adds a row with all digits, so that it reads back to the same bits.
    pub fn row(&mut self, values: &[f64]) {
        debug_assert_eq!(values.len(), self.columns.len());
        self.rows.push(values.iter().map(f64::to_string).collect());
    }
}
