//! Reads the file of `carom run --metrics`: energy over time, and flow through sinks and sources.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use carom::analysis::flow_rate;
use csv::{ReaderBuilder, StringRecord, Trim};
use serde_json::{Map, Value};

use super::{AnalyzeArguments, Input, section::Section};
use crate::cli::{
    chart::{Chart, Form, Series},
    command_error::CommandError,
};

/// Columns of energies that every metrics file has.
const ENERGIES: [&str; 3] = ["kinetic_energy", "potential_energy", "total_energy"];
/// Columns of energies that are summed over the steps.
const LEDGER: [&str; 3] = ["dissipated", "wall_work", "relax_work"];

/// The rows of a CSV file with a header.
pub struct Rows {
    path: PathBuf,
    names: Vec<String>,
    reader: csv::Reader<std::fs::File>,
}

/// A row, with its line for messages.
pub struct Row<'r> {
    path: &'r Path,
    names: &'r [String],
    line: u64,
    cells: StringRecord,
}

impl Rows {
    pub fn open(path: &Path) -> Result<Self, CommandError> {
        let name = path.display();
        let file =
            std::fs::File::open(path).map_err(|e| CommandError::usage(format!("cannot read {name}: {e}")))?;
        let mut reader = ReaderBuilder::new().trim(Trim::All).from_reader(file);
        let header = reader.headers().map_err(|e| CommandError::usage(format!("{name}:1: {e}")))?;
        let names = header.iter().map(str::to_owned).collect();
        Ok(Self { path: path.to_owned(), names, reader })
    }

    pub fn next(&mut self) -> Result<Option<Row<'_>>, CommandError> {
        let mut cells = StringRecord::new();
        let read = self.reader.read_record(&mut cells);
        let line = cells.position().map_or(1, csv::Position::line);
        match read {
            Ok(false) => Ok(None),
            Ok(true) => Ok(Some(Row { path: &self.path, names: &self.names, line, cells })),
            Err(error) => {
                let line = error.position().map_or(line, csv::Position::line);
                let what = match error.kind() {
                    csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
                        format!("{len} values; the header names {expected_len}")
                    }
                    _ => error.to_string(),
                };
                Err(CommandError::usage(format!("{}:{line}: {what}", self.path.display())))
            }
        }
    }
}

impl Row<'_> {
    pub fn error(&self, what: &str) -> CommandError {
        CommandError::usage(format!("{}:{}: {what}", self.path.display(), self.line))
    }

    pub fn word(&self, name: &str) -> Result<&str, CommandError> {
        let place = self.names.iter().position(|known| known == name);
        let missing =
            || CommandError::usage(format!("{}:1: there is no column `{name}`", self.path.display()));
        place.and_then(|place| self.cells.get(place)).ok_or_else(missing)
    }

    pub fn number(&self, name: &str) -> Result<f64, CommandError> {
        let word = self.word(name)?;
        let value = word.parse::<f64>().ok().filter(|value| value.is_finite());
        value.ok_or_else(|| self.error(&format!("{name} is {word:?}; expected a finite number")))
    }

    pub fn id(&self, name: &str) -> Result<u32, CommandError> {
        let word = self.word(name)?;
        word.parse().map_err(|_| self.error(&format!("{name} is {word:?}; expected an id")))
    }
}

/// The columns of a metrics file that are analysed.
#[derive(Default)]
pub struct Steps {
    times: Vec<f64>,
    energies: [Vec<f64>; 3],
    ledger: [Vec<f64>; 3],
    /// Spheres in each step, by the names of the columns: `poured`, and `removed_` and the name of each sink.
    flows: BTreeMap<String, Vec<u64>>,
}

impl Steps {
    /// Reads a CSV file, or JSON lines if the name ends in `.jsonl`.
    pub fn read(path: &Path) -> Result<Self, CommandError> {
        let mut steps = Self::default();
        if path.extension().is_some_and(|e| e == "jsonl") {
            let name = path.display();
            let text = std::fs::read_to_string(path)
                .map_err(|e| CommandError::usage(format!("cannot read {name}: {e}")))?;
            for (line, text) in (1..).zip(text.lines()).filter(|(_, text)| !text.trim().is_empty()) {
                let object: Map<String, Value> = serde_json::from_str(text)
                    .map_err(|e| CommandError::usage(format!("{name}:{line}: not a JSON object: {e}")))?;
                let names: Vec<&str> = object.keys().map(String::as_str).collect();
                steps.add(&names, |column| match object.get(column) {
                    Some(value) => value.as_f64().filter(|x| x.is_finite()).ok_or_else(|| {
                        CommandError::usage(format!("{name}:{line}: {column} is {value}; expected a number"))
                    }),
                    None => Err(CommandError::usage(format!(
                        "{name}:{line}: there is no {column}; expected the metrics of `carom run`"
                    ))),
                })?;
            }
        } else {
            let mut rows = Rows::open(path)?;
            let names = rows.names.clone();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            while let Some(row) = rows.next()? {
                steps.add(&names, |name| row.number(name))?;
            }
        }
        Ok(steps)
    }

    fn add(
        &mut self,
        names: &[&str],
        value: impl Fn(&str) -> Result<f64, CommandError>,
    ) -> Result<(), CommandError> {
        self.times.push(value("time")?);
        for (column, name) in self.energies.iter_mut().zip(ENERGIES) {
            column.push(value(name)?);
        }
        for (column, name) in self.ledger.iter_mut().zip(LEDGER) {
            column.push(value(name)?);
        }
        for name in names.iter().filter(|name| **name == "poured" || name.starts_with("removed_")) {
            let count = value(name)?;
            self.flows.entry((*name).to_owned()).or_default().push(count.max(0.0) as u64);
        }
        if self.flows.values().any(|flow| flow.len() != self.times.len()) {
            let step = self.times.len();
            return Err(CommandError::usage(format!(
                "line {step} of the metrics has other sinks than the first"
            )));
        }
        Ok(())
    }
}

/// Whether spheres came or went.
pub fn has_flow(steps: &Steps) -> bool {
    steps.flows.iter().any(|(name, flow)| name != "poured" || flow.iter().any(|count| *count > 0))
}

/// Energy over time.
pub fn energy(input: &Input) -> Result<Section, CommandError> {
    let steps = input.metrics.as_ref().expect("checked before");
    let Some(last) = steps.times.len().checked_sub(1) else {
        return Err(CommandError::usage("the metrics file has no steps"));
    };
    // The total comes first, so that it does not hide the others; an energy that is always 0 only compresses the axis.
    let shown = [(2, "total"), (0, "kinetic"), (1, "potential")];
    let is_shown = |(column, _): &(usize, &str)| steps.energies[*column].iter().any(|energy| *energy != 0.0);
    let series = shown.into_iter().filter(is_shown).map(|(column, label)| {
        let points = steps.times.iter().copied().zip(steps.energies[column].iter().copied());
        Series::new(label, Form::Line, points.collect())
    });
    let chart = Chart {
        title: "Energy over time".to_owned(),
        labels: ["time".to_owned(), "energy".to_owned()],
        logarithmic: [false, false],
        series: series.collect(),
    };
    let columns = [
        "time",
        "kinetic_energy",
        "potential_energy",
        "total_energy",
        "dissipated",
        "wall_work",
        "relax_work",
    ];
    let mut section = Section::new("energy", "Energy over time", &columns, chart);
    let mut sums = [0.0; 3];
    for (k, time) in steps.times.iter().enumerate() {
        (0..3).for_each(|column| sums[column] += steps.ledger[column][k]);
        let energies = [0, 1, 2].map(|column| steps.energies[column][k]);
        section.row(&[*time, energies[0], energies[1], energies[2], sums[0], sums[1], sums[2]]);
    }
    let [kinetic, potential, total] = &steps.energies;
    let ends = |of: &[f64]| {
        let (least, most) =
            of.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), x| (a.min(*x), b.max(*x)));
        (least, most)
    };
    section.figure("steps", steps.times.len());
    section.figure("time", steps.times[last]);
    section.figure("total_energy_first", total[0]);
    section.figure("total_energy_last", total[last]);
    section.figure("total_energy_range", ends(total).1 - ends(total).0);
    section.figure("kinetic_energy_first", kinetic[0]);
    section.figure("kinetic_energy_last", kinetic[last]);
    section.figure("kinetic_energy_least", ends(kinetic).0);
    section.figure("kinetic_energy_most", ends(kinetic).1);
    section.figure("potential_energy_last", potential[last]);
    section.figure("dissipated", sums[0]);
    section.figure("wall_work", sums[1]);
    Ok(section)
}

/// Flow through each sink, and from the sources.
pub fn flow(input: &Input, arguments: &AnalyzeArguments) -> Result<Vec<Section>, CommandError> {
    let steps = input.metrics.as_ref().expect("checked before");
    let bins = arguments.bins.unwrap_or(50) as usize;
    let mut sections = vec![];
    for (name, counts) in &steps.flows {
        let rate = flow_rate(&steps.times, counts, bins)?;
        if name == "poured" && rate.total == 0 {
            continue;
        }
        let title = match name.strip_prefix("removed_") {
            Some(sink) => format!("Flow through the sink {sink}"),
            None => "Flow from the sources".to_owned(),
        };
        let middle = |k: usize| 0.5 * (rate.edges[k] + rate.edges[k + 1]);
        let points = rate.rates.iter().enumerate().map(|(k, rate)| (middle(k), *rate)).collect();
        let chart = Chart {
            title: title.clone(),
            labels: ["time".to_owned(), "spheres per time".to_owned()],
            logarithmic: [false, false],
            series: vec![Series::new("rate", Form::Bars, points)],
        };
        // Names of sinks are free text; files get the letters and digits.
        let plain: String =
            name.chars().map(|c| if c.is_alphanumeric() || c == '_' || c == '-' { c } else { '_' }).collect();
        let mut stem = format!("flow_{plain}");
        while sections.iter().any(|section: &Section| section.stem == stem) {
            stem.push('_');
        }
        let mut section = Section::new(stem, title, &["from", "to", "rate"], chart);
        for (ends, value) in rate.edges.windows(2).zip(&rate.rates) {
            section.row(&[ends[0], ends[1], *value]);
        }
        section.figure("total", rate.total);
        section.figure("first", rate.active.map(|ends| ends[0]));
        section.figure("last", rate.active.map(|ends| ends[1]));
        section.figure("steady_rate", rate.steady_rate);
        sections.push(section);
    }
    if sections.is_empty() {
        return Err(CommandError::usage("no sphere came or went"));
    }
    Ok(sections)
}
