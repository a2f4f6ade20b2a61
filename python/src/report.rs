//! The report of a step, as an object with attributes that also converts to a dict.

use carom::{Figure, StepReport};
use pyo3::{
    exceptions::{PyAttributeError, PyKeyError},
    prelude::*,
    types::PyDict,
};

/// Report of one step. `dict(report)` gives its numbers by name.
#[pyclass(frozen, module = "carom._carom")]
pub struct Report {
    pub report: StepReport,
}

/// A number of a report in Python: `int` or `float`.
pub fn number<'py>(py: Python<'py>, figure: Figure) -> PyResult<Bound<'py, PyAny>> {
    Ok(match figure {
        Figure::Count(count) => count.into_pyobject(py)?.into_any(),
        Figure::Real(real) => real.into_pyobject(py)?.into_any(),
    })
}

impl Report {
    fn find(&self, name: &str) -> Option<Figure> {
        self.report.figures().into_iter().find(|(known, _)| *known == name).map(|(_, figure)| figure)
    }
}

#[pymethods]
impl Report {
    #[getter]
    fn momentum(&self) -> (f64, f64, f64) {
        self.report.momentum.into()
    }

    #[getter]
    fn removed_by_sink(&self) -> Vec<u64> {
        self.report.removed_by_sink.clone()
    }

    #[getter]
    fn stage_seconds(&self) -> Vec<f64> {
        self.report.stage_seconds.clone()
    }

    fn keys(&self) -> Vec<&'static str> {
        self.report.figures().map(|(name, _)| name).to_vec()
    }

    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (name, figure) in self.report.figures() {
            dict.set_item(name, number(py, figure)?)?;
        }
        Ok(dict)
    }

    fn __getitem__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let figure = self.find(name).ok_or_else(|| PyKeyError::new_err(name.to_owned()))?;
        number(py, figure)
    }

    fn __getattr__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let unknown = || PyAttributeError::new_err(format!("a report has no figure {name:?}"));
        number(py, self.find(name).ok_or_else(unknown)?)
    }

    fn __dir__(&self) -> Vec<&'static str> {
        let own = ["momentum", "removed_by_sink", "stage_seconds", "keys", "to_dict"];
        self.keys().into_iter().chain(own).collect()
    }

    fn __repr__(&self) -> String {
        let StepReport { step, time, pair_impacts, wall_impacts, .. } = &self.report;
        let energy = self.report.kinetic_energy + self.report.potential_energy;
        format!(
            "<carom.Report: step {step}, time {time}, {pair_impacts} pair impacts, {wall_impacts} wall impacts, total energy {energy}>"
        )
    }

    fn _repr_html_(&self) -> String {
        let row = |(name, figure): (&str, Figure)| match figure {
            Figure::Count(0) => String::new(),
            Figure::Count(count) => format!("<tr><th>{name}</th><td>{count}</td></tr>"),
            Figure::Real(real) => format!("<tr><th>{name}</th><td>{real:.6e}</td></tr>"),
        };
        let rows: String = self.report.figures().into_iter().map(row).collect();
        format!("<table><caption>step {}</caption>{rows}</table>", self.report.step)
    }
}
