//! The results of a case.

use super::{Case, Check, Estimate, Source};
use crate::{Backend, Error};

/// The form in which a curve is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CurveForm {
    /// A line through the points.
    Line,
    /// Single points.
    Points,
    /// A bar from 0 for each point.
    Bars,
}

/// A named list of points.
#[derive(Clone, Debug)]
pub struct Curve {
    /// The name in the legend.
    pub label: String,
    /// The form.
    pub form: CurveForm,
    /// The points (x, y).
    pub points: Vec<(f64, f64)>,
    /// The standard error of each y; empty if the points have none.
    pub errors: Vec<f64>,
}

impl Curve {
    /// A curve without errors.
    pub fn new(label: impl Into<String>, form: CurveForm, points: Vec<(f64, f64)>) -> Self {
        Self { label: label.into(), form, points, errors: vec![] }
    }

    /// Single points with their standard errors.
    pub fn estimates(label: impl Into<String>, points: &[(f64, Estimate)]) -> Self {
        Self {
            label: label.into(),
            form: CurveForm::Points,
            points: points.iter().map(|(x, y)| (*x, y.mean)).collect(),
            errors: points.iter().map(|(_, y)| y.error).collect(),
        }
    }
}

/// A chart with two axes.
#[derive(Clone, Debug)]
pub struct Chart {
    /// The title.
    pub title: String,
    /// The labels of the x and y axis, with their units.
    pub labels: [String; 2],
    /// The axes that are logarithmic: x, y.
    pub logarithmic: [bool; 2],
    /// The curves.
    pub curves: Vec<Curve>,
}

/// A value that another code or an experiment has published for the same system, shown beside the measurement without a verdict.
#[derive(Clone, Debug)]
pub struct Published {
    /// The quantity, as in [`Check::quantity`].
    pub quantity: String,
    /// The published value and its error as text, as in "3.983(2)".
    pub value: String,
    /// The publication.
    pub source: Source,
}

/// The results of a case on one backend.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The case.
    pub case: &'static Case,
    /// The engine.
    pub backend: Backend,
    /// The checks, in order.
    pub checks: Vec<Check>,
    /// Values of other codes and experiments.
    pub published: Vec<Published>,
    /// The charts.
    pub charts: Vec<Chart>,
    /// Remarks about the run.
    pub notes: Vec<String>,
    /// The error that ended the case before its end, if one did.
    pub failure: Option<Error>,
    /// Whether the user stopped the case before its end.
    pub stopped: bool,
    /// Duration of the case, in seconds.
    pub seconds: f64,
}

impl Outcome {
    /// Whether the case came to its end and all of its checks passed. A case without a check does not pass.
    pub fn passed(&self) -> bool {
        !self.stopped
            && self.failure.is_none()
            && !self.checks.is_empty()
            && self.checks.iter().all(Check::passed)
    }
}
