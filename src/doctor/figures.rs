//! Figures of a section.

/// A figure.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A name or a description.
    Text(String),
    /// A measurement.
    Number(f64),
    /// A count.
    Count(u64),
    /// An answer.
    Flag(bool),
    /// Not measured.
    None,
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl From<u64> for Value {
    fn from(count: u64) -> Self {
        Self::Count(count)
    }
}

impl From<u32> for Value {
    fn from(count: u32) -> Self {
        Self::Count(count.into())
    }
}

impl From<usize> for Value {
    fn from(count: usize) -> Self {
        Self::Count(count as u64)
    }
}

impl From<bool> for Value {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::None, Into::into)
    }
}

/// Figures by row and column.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Name of the table; a word or two joined by `_`.
    pub name: &'static str,
    /// Names of the columns.
    pub columns: Vec<&'static str>,
    /// The rows; each has a value for every column.
    pub rows: Vec<Vec<Value>>,
    /// Whether the table is one row that reads better from top to bottom.
    pub is_record: bool,
}

impl Table {
    /// An empty table.
    pub(super) fn new(name: &'static str, columns: &[&'static str]) -> Self {
        Self { name, columns: columns.to_vec(), rows: vec![], is_record: false }
    }

    /// A table of one row.
    pub(super) fn record(name: &'static str, figures: Vec<(&'static str, Value)>) -> Self {
        let (columns, row) = figures.into_iter().unzip();
        Self { name, columns, rows: vec![row], is_record: true }
    }

    pub(super) fn row(&mut self, values: Vec<Value>) {
        debug_assert_eq!(values.len(), self.columns.len(), "{}", self.name);
        self.rows.push(values);
    }

    /// The value of a record.
    pub fn get(&self, column: &str) -> Option<&Value> {
        let at = self.columns.iter().position(|name| *name == column)?;
        self.rows.first()?.get(at)
    }
}
