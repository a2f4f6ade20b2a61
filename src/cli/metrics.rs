//! Writes the figures of each step on one line, as CSV or JSON lines.

use std::path::Path;

use carom::{Figure, Sink, StepReport};
use serde_json::{Map, Value};

use super::{atomic_file::AtomicFile, command_error::CommandError};

/// A metrics file that is being written.
pub struct Metrics {
    file: AtomicFile,
    json_lines: bool,
    /// Names of the columns of sinks, in order.
    sinks: Vec<String>,
}

fn value(figure: Figure) -> Value {
    match figure {
        // Integers of a step are far below 2^53, above which JSON readers lose digits.
        Figure::Count(count) => count.into(),
        Figure::Real(real) => real.into(),
    }
}

impl Metrics {
    /// Opens the file under a temporary name; `.jsonl` gives JSON lines, anything else CSV with a header. After all other
    /// columns, each sink has a column named `removed_` and the name of the sink.
    pub fn create(path: &Path, sinks: &[Sink]) -> Result<Self, CommandError> {
        let json_lines = path.extension().is_some_and(|e| e == "jsonl");
        let mut file = AtomicFile::create(path)?;
        let sinks: Vec<String> = sinks.iter().map(|sink| format!("removed_{}", sink.name)).collect();
        if !json_lines {
            let names = StepReport::default().figures().map(|(name, _)| name.to_owned());
            let names: Vec<String> = names.into_iter().chain(sinks.iter().map(|name| quoted(name))).collect();
            file.line(&names.join(","))?;
        }
        Ok(Self { file, json_lines, sinks })
    }

    /// Adds the line of a step.
    pub fn add(&mut self, report: &StepReport) -> Result<(), CommandError> {
        let removed = |k: usize| report.removed_by_sink.get(k).copied().unwrap_or(0);
        let own = report.figures().map(|(name, figure)| (name.to_owned(), value(figure)));
        let of_sinks = self.sinks.iter().enumerate().map(|(k, name)| (name.clone(), removed(k).into()));
        let columns = own.into_iter().chain(of_sinks);
        if self.json_lines {
            let object: Map<String, Value> = columns.collect();
            self.file.line(&Value::Object(object).to_string())
        } else {
            // Numbers and null need no quotes; an empty cell stands for a value that is not finite.
            let cell = |value: Value| if value.is_null() { String::new() } else { value.to_string() };
            let cells: Vec<String> = columns.map(|(_, value)| cell(value)).collect();
            self.file.line(&cells.join(","))
        }
    }

    /// Renames the file to its final name.
    pub fn finish(self) -> Result<(), CommandError> {
        self.file.commit()
    }
}

// A CSV cell as in RFC 4180.
fn quoted(name: &str) -> String {
    if name.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", name.replace('"', "\"\""))
    } else {
        name.to_owned()
    }
}
