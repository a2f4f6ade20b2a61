//! A case while it runs.

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;

use super::{Case, Chart, Check, Depth, Estimate, Outcome, Published, Settings, Source};
use crate::files::parse_scene;
use crate::{Backend, Error, Options, Simulation, StepReport, System};

/// A case while it runs: starts its simulations and collects its results.
pub struct Study<'a> {
    settings: &'a Settings,
    stop: &'a dyn Fn() -> bool,
    outcome: Outcome,
}

/// The values of a [`Check`] that are known before the run.
#[derive(Clone, Copy, Debug)]
pub struct Expected {
    /// The expected value.
    pub value: f64,
    /// The error of the expected value itself.
    pub theory_error: f64,
    /// The largest standard error with which a measurement is judged.
    pub largest_error: f64,
    /// The origin of the value.
    pub source: Source,
}

impl<'a> Study<'a> {
    pub(super) fn new(case: &'static Case, settings: &'a Settings, stop: &'a dyn Fn() -> bool) -> Self {
        let outcome = Outcome {
            case,
            backend: settings.options.backend,
            checks: vec![],
            published: vec![],
            charts: vec![],
            notes: vec![],
            failure: None,
            stopped: false,
            seconds: 0.0,
        };
        Self { settings, stop, outcome }
    }

    pub(super) fn end(self) -> Outcome {
        self.outcome
    }

    /// The engine.
    pub fn backend(&self) -> Backend {
        self.settings.options.backend
    }

    /// The length of the run.
    pub fn depth(&self) -> Depth {
        self.settings.depth
    }

    /// Whether the user has stopped the case; the case then returns without further checks.
    pub fn stopped(&mut self) -> bool {
        self.outcome.stopped |= (self.stop)();
        self.outcome.stopped
    }

    /// The system of a scene (TOML). `label` names the scene within the case, as in "phi-0.3"; the scene is kept as
    /// `<label>.toml` if the user keeps scenes.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the scene is invalid or cannot be kept.
    pub fn system(&self, label: &str, scene: &str) -> Result<System, Error> {
        if let Some(folder) = &self.settings.keep {
            keep(&folder.join(self.outcome.case.name), label, scene)?;
        }
        let name = format!("scene {label} of the case {}", self.outcome.case.name);
        let scene =
            parse_scene(scene, &name, None, &[]).map_err(|error| Error::Invalid(error.to_string()))?;
        scene.build()
    }

    /// A simulation of a scene (TOML) on the engine of the case; `label` as for [`system`](Self::system).
    ///
    /// # Errors
    /// [`Error`] if the scene is invalid, cannot be kept, or if the engine cannot start.
    pub fn simulation(&self, label: &str, scene: &str) -> Result<Simulation, Error> {
        Simulation::new(self.system(label, scene)?, self.options())
    }

    /// The options of the simulations of the case.
    pub fn options(&self) -> Options {
        self.settings.options.clone()
    }

    /// Takes up to `steps` steps and shows each report to `visit`. Returns false if the user has stopped the case.
    ///
    /// # Errors
    /// [`Error`] if a step fails.
    pub fn steps(
        &mut self,
        simulation: &mut Simulation,
        steps: u64,
        mut visit: impl FnMut(&StepReport),
    ) -> Result<bool, Error> {
        let stop = self.stop;
        let mut stopped = false;
        simulation.run(steps, |report| {
            visit(report);
            stopped = stop();
            if stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        self.outcome.stopped |= stopped;
        Ok(!stopped)
    }

    /// Adds a check.
    pub fn check(&mut self, quantity: impl Into<String>, expected: Expected, measured: Estimate) {
        self.check_with_note(quantity, expected, measured, "");
    }

    /// Adds a check with a remark, as the known reason for a difference.
    pub fn check_with_note(
        &mut self,
        quantity: impl Into<String>,
        expected: Expected,
        measured: Estimate,
        note: impl Into<String>,
    ) {
        self.outcome.checks.push(Check {
            quantity: quantity.into(),
            backend: self.settings.options.backend,
            expected: expected.value,
            source: expected.source,
            measured,
            theory_error: expected.theory_error,
            largest_error: expected.largest_error,
            note: note.into(),
        });
    }

    /// Adds a value that another code or an experiment has published.
    pub fn published(&mut self, quantity: impl Into<String>, value: impl Into<String>, source: Source) {
        self.outcome.published.push(Published { quantity: quantity.into(), value: value.into(), source });
    }

    /// Adds a chart.
    pub fn chart(&mut self, chart: Chart) {
        self.outcome.charts.push(chart);
    }

    /// Adds a remark about the run.
    pub fn note(&mut self, note: impl Into<String>) {
        self.outcome.notes.push(note.into());
    }
}

fn keep(folder: &Path, label: &str, scene: &str) -> Result<(), Error> {
    let path = folder.join(format!("{label}.toml"));
    let result = fs::create_dir_all(folder).and_then(|()| fs::write(&path, scene));
    result.map_err(|error| Error::Invalid(format!("cannot write {}: {error}", path.display())))
}
