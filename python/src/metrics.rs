//! The figures of all steps that a simulation has taken, in columns.

use carom::{Figure, Sink, StepReport};
use pyo3::{prelude::*, types::PyDict};

use crate::{arrays, errors::invalid};

const COLUMNS: usize = 34;

/// A row for every `every`-th step.
pub struct Metrics {
    every: u64,
    /// Counts are exact below 2^53.
    rows: Vec<[f64; COLUMNS]>,
    /// Names of the sinks, and what each removed in the steps of each row, row after row.
    sinks: Vec<String>,
    removed: Vec<u64>,
}

fn columns() -> [(&'static str, Figure); COLUMNS] {
    StepReport::default().figures()
}

impl Metrics {
    /// No rows. `every` = 0 keeps none.
    pub fn new(every: u64, sinks: &[Sink]) -> Self {
        let sinks = sinks.iter().map(|sink| format!("removed_{}", sink.name)).collect();
        Self { every, rows: vec![], sinks, removed: vec![] }
    }

    /// Adds the row of a step, if one is due.
    pub fn add(&mut self, report: &StepReport) {
        if self.every == 0 || !report.step.is_multiple_of(self.every) {
            return;
        }
        self.rows.push(report.figures().map(|(_, figure)| match figure {
            Figure::Count(count) => count as f64,
            Figure::Real(real) => real,
        }));
        let removed = |k: usize| report.removed_by_sink.get(k).copied().unwrap_or(0);
        self.removed.extend((0..self.sinks.len()).map(removed));
    }

    /// A dict of columns: counts as int64, all others as float64. The columns cannot be written.
    pub fn dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (k, (name, figure)) in columns().into_iter().enumerate() {
            match figure {
                Figure::Count(_) => {
                    let column: Vec<i64> = self.rows.iter().map(|row| row[k] as i64).collect();
                    dict.set_item(name, arrays::column(py, column)?)?;
                }
                Figure::Real(_) => {
                    let column: Vec<f64> = self.rows.iter().map(|row| row[k]).collect();
                    dict.set_item(name, arrays::column(py, column)?)?;
                }
            }
        }
        let count = self.sinks.len();
        for (k, name) in self.sinks.iter().enumerate() {
            let column: Vec<i64> = self.removed.iter().skip(k).step_by(count).map(|n| *n as i64).collect();
            dict.set_item(name, arrays::column(py, column)?)?;
        }
        Ok(dict)
    }

    /// Puts rows of an earlier part of the run first, as [`dict`](Self::dict) gives them.
    pub fn restore(&mut self, earlier: &Bound<PyDict>) -> PyResult<()> {
        let py = earlier.py();
        let column = |name: &str| -> PyResult<Vec<f64>> {
            let missing = || invalid(py, format!("the metrics have no column {name:?}"));
            earlier.get_item(name)?.ok_or_else(missing)?.extract()
        };
        let own: Vec<Vec<f64>> = columns().iter().map(|(name, _)| column(name)).collect::<PyResult<_>>()?;
        let sinks: Vec<Vec<f64>> = self.sinks.iter().map(|name| column(name)).collect::<PyResult<_>>()?;
        let count = own[0].len();
        if own.iter().chain(&sinks).any(|column| column.len() != count) {
            return Err(invalid(py, "the columns of the metrics differ in length".to_owned()));
        }
        self.rows.splice(0..0, (0..count).map(|row| std::array::from_fn(|k| own[k][row])));
        let removed = (0..count).flat_map(|row| sinks.iter().map(move |column| column[row] as u64));
        self.removed.splice(0..0, removed.collect::<Vec<_>>());
        Ok(())
    }
}
