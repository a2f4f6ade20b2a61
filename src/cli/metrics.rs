//! Writes the figures of each step on one line, as CSV or JSON lines.

use std::path::Path;

use carom::{Sink, StepReport};
use serde_json::{Map, Value};

use super::{atomic_file::AtomicFile, command_error::CommandError};

/// A metrics file that is being written.
pub struct Metrics {
    file: AtomicFile,
    json_lines: bool,
    /// Names of the columns of sinks, in order.
    sinks: Vec<String>,
}

// Names and values in the order of the columns. Integers of a step are far below 2^53, above which JSON readers lose digits.
fn columns(report: &StepReport) -> [(&'static str, Value); 34] {
    let [momentum_x, momentum_y, momentum_z] = report.momentum.to_array();
    [
        ("step", report.step.into()),
        ("time", report.time.into()),
        ("substeps", report.substeps.into()),
        ("pair_impacts", report.pair_impacts.into()),
        ("wall_impacts", report.wall_impacts.into()),
        ("contact_time_impacts", report.contact_time_impacts.into()),
        ("asleep", report.asleep.into()),
        ("rounds", report.rounds.into()),
        ("late", report.late.into()),
        ("crowded", report.crowded.into()),
        ("event_driven", report.event_driven.into()),
        ("redone", report.redone.into()),
        ("unresolved", report.unresolved.into()),
        ("stopped", report.stopped.into()),
        ("nonfinite", report.nonfinite.into()),
        ("overflow", report.overflow.into()),
        ("fast", report.fast.into()),
        ("poured", report.poured.into()),
        ("waiting", report.waiting.into()),
        ("removed", report.removed.into()),
        ("deepest_overlap", report.deepest_overlap.into()),
        ("kinetic_energy", report.kinetic_energy.into()),
        ("potential_energy", report.potential_energy.into()),
        ("total_energy", (report.kinetic_energy + report.potential_energy).into()),
        ("momentum_x", momentum_x.into()),
        ("momentum_y", momentum_y.into()),
        ("momentum_z", momentum_z.into()),
        ("dissipated", report.dissipated.into()),
        ("relax_work", report.relax_work.into()),
        ("wall_work", report.wall_work.into()),
        ("virial", report.virial.into()),
        ("packing_fraction", report.packing_fraction.into()),
        ("pressure", report.pressure.into()),
        ("wall_seconds", report.wall_seconds.into()),
    ]
}

impl Metrics {
    /// Opens the file under a temporary name; `.jsonl` gives JSON lines, anything else CSV with a header. After all other
    /// columns, each sink has a column named `removed_` and the name of the sink.
    pub fn create(path: &Path, sinks: &[Sink]) -> Result<Self, CommandError> {
        let json_lines = path.extension().is_some_and(|e| e == "jsonl");
        let mut file = AtomicFile::create(path)?;
        let sinks: Vec<String> = sinks.iter().map(|sink| format!("removed_{}", sink.name)).collect();
        if !json_lines {
            let names = columns(&StepReport::default()).map(|(name, _)| name.to_owned());
            let names: Vec<String> = names.into_iter().chain(sinks.iter().map(|name| quoted(name))).collect();
            file.line(&names.join(","))?;
        }
        Ok(Self { file, json_lines, sinks })
    }

    /// Adds the line of a step.
    pub fn add(&mut self, report: &StepReport) -> Result<(), CommandError> {
        let removed = |k: usize| report.removed_by_sink.get(k).copied().unwrap_or(0);
        let own = columns(report).map(|(name, value)| (name.to_owned(), value));
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
