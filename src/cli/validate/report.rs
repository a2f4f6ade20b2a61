//! The report of a validation, as JSON and as the figures of its pages.

use std::thread::available_parallelism;

use carom::validate::{Chart, Check, CurveForm, Depth, Outcome, cases};
use serde_json::{Value, json};

use crate::cli::{
    chart::{self, Form, Series},
    command_error::CommandError,
    date,
    text::{counted, duration, number},
};

/// The results of all cases and backends of a run of the command.
pub struct Report {
    pub date: String,
    pub depth: Depth,
    /// The backends, each with its adapter.
    pub backends: Vec<String>,
    pub outcomes: Vec<Outcome>,
}

/// A drawn chart.
pub struct Drawn {
    /// Index of the outcome that the chart belongs to.
    pub outcome: usize,
    pub title: String,
    /// Path below the folder of the report.
    pub file: String,
    pub svg: String,
}

impl Report {
    pub fn new(depth: Depth, backends: Vec<String>) -> Self {
        Self { date: date::now(), depth, backends, outcomes: vec![] }
    }

    /// The name of the depth.
    pub fn depth(&self) -> &'static str {
        match self.depth {
            Depth::Quick => "quick",
            Depth::Full => "full",
        }
    }

    /// All checks, in order.
    pub fn checks(&self) -> impl Iterator<Item = &Check> {
        self.outcomes.iter().flat_map(|outcome| &outcome.checks)
    }

    /// The object of `--json` and of report.json.
    pub fn object(&self) -> Value {
        json!({
            "carom": env!("CARGO_PKG_VERSION"),
            "date": self.date,
            "depth": self.depth(),
            "cores": cores(),
            "backends": self.backends,
            "checks": self.checks().count(),
            "passed": self.checks().filter(|check| check.passed()).count(),
            "cases": self.outcomes.iter().map(outcome_object).collect::<Vec<_>>(),
        })
    }

    /// All charts as SVG.
    pub fn charts(&self) -> Result<Vec<Drawn>, CommandError> {
        let mut drawn = vec![];
        for (k, outcome) in self.outcomes.iter().enumerate() {
            for (number, chart) in outcome.charts.iter().enumerate() {
                let svg = draw(chart).map_err(|error| {
                    CommandError::files(format!("cannot draw `{}`: {error}", chart.title))
                })?;
                drawn.push(Drawn {
                    outcome: k,
                    title: chart.title.clone(),
                    file: format!(
                        "charts/{}-{}-{}.svg",
                        outcome.case.name,
                        outcome.backend.name(),
                        number + 1
                    ),
                    svg,
                });
            }
        }
        Ok(drawn)
    }
}

/// Number of cores of this machine.
pub fn cores() -> usize {
    available_parallelism().map_or(1, usize::from)
}

/// One line about the whole report.
pub fn summary(report: &Report) -> String {
    let passed = report.checks().filter(|check| check.passed()).count();
    let seconds: f64 = report.outcomes.iter().map(|outcome| outcome.seconds).sum();
    let cases = counted(report.outcomes.len() as u64, "case");
    let checks = counted(report.checks().count() as u64, "check");
    let stopped = report.outcomes.iter().filter(|outcome| outcome.stopped).count();
    let stopped = if stopped > 0 { ", stopped before its end" } else { "" };
    format!("{cases}, {checks}, {passed} passed; {}{stopped}", duration(seconds))
}

/// The measured value with its standard error, as in "2.4091 ± 0.0004".
pub fn measured(check: &Check) -> String {
    let value = number(check.measured.mean, 6);
    if check.measured.error == 0.0 {
        value
    } else {
        format!("{value} ± {}", number(check.measured.error, 2))
    }
}

/// The list of cases of `--list --json`.
pub fn list() -> Value {
    let case = |case: &carom::validate::Case| {
        json!({
            "name": case.name,
            "group": case.group.name(),
            "title": case.title,
            "method": case.method,
            "quick": case.quick,
            "exact": case.exact,
        })
    };
    json!({ "cases": cases().map(case).collect::<Vec<_>>() })
}

fn outcome_object(outcome: &Outcome) -> Value {
    let published = |p: &carom::validate::Published| json!({ "quantity": p.quantity, "value": p.value, "source": p.source.text() });
    json!({
        "name": outcome.case.name,
        "group": outcome.case.group.name(),
        "title": outcome.case.title,
        "backend": outcome.backend.name(),
        "passed": outcome.passed(),
        "failure": outcome.failure.as_ref().map(ToString::to_string),
        "stopped": outcome.stopped,
        "seconds": outcome.seconds,
        "notes": outcome.notes,
        "checks": outcome.checks.iter().map(check_object).collect::<Vec<_>>(),
        "published": outcome.published.iter().map(published).collect::<Vec<_>>(),
        "charts": outcome.charts.iter().map(chart_object).collect::<Vec<_>>(),
    })
}

fn check_object(check: &Check) -> Value {
    json!({
        "quantity": check.quantity,
        "expected": finite(check.expected),
        "source": check.source.text(),
        "measured": finite(check.measured.mean),
        "error": finite(check.measured.error),
        "theory_error": check.theory_error,
        "largest_error": check.largest_error,
        "tolerance": finite(check.tolerance()),
        "verdict": check.verdict().name(),
        "note": check.note,
    })
}

fn chart_object(chart: &Chart) -> Value {
    let curve = |curve: &carom::validate::Curve| {
        let points: Vec<Value> = curve.points.iter().map(|(x, y)| json!([finite(*x), finite(*y)])).collect();
        let errors: Vec<_> = curve.errors.iter().copied().map(finite).collect();
        json!({ "label": curve.label, "points": points, "errors": errors })
    };
    json!({
        "title": chart.title,
        "x": chart.labels[0],
        "y": chart.labels[1],
        "curves": chart.curves.iter().map(curve).collect::<Vec<_>>(),
    })
}

// JSON has no infinity and no NaN.
fn finite(x: f64) -> Option<f64> {
    x.is_finite().then_some(x)
}

fn draw(chart: &Chart) -> Result<String, Box<dyn std::error::Error>> {
    let series = chart.curves.iter().map(|curve| {
        let form = match curve.form {
            CurveForm::Line => Form::Line,
            CurveForm::Points => Form::Points,
            CurveForm::Bars => Form::Bars,
        };
        Series {
            errors: curve.errors.clone(),
            ..Series::new(curve.label.clone(), form, curve.points.clone())
        }
    });
    chart::Chart {
        title: chart.title.clone(),
        labels: chart.labels.clone(),
        logarithmic: chart.logarithmic,
        series: series.collect(),
    }
    .svg()
}
