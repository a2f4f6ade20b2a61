//! Examines the gpu backend on this machine: whether it works on an adapter, how fast it is, and what is wrong if it does
//! not work.
//!
//! A [`Doctor`] runs the [`SECTIONS`] in their order, from questions about the machine to a long run. Each section has a
//! share of a time budget; a section that does not end within its share stops early, and says so. A [`Section`] has figures
//! in [`Table`]s, failures and notes. The page `docs/gpu.md` explains the figures.
//!
//! What carom's results depend on is a failure where it does not hold. What merely differs between adapters is a figure.

mod clock;
mod compile;
mod costs;
mod determinism;
mod figures;
mod kernel;
mod litmus;
mod machine;
mod parity;
mod physics;
mod soak;
mod speed;
mod steps;
mod systems;
#[cfg(test)]
mod tests;

use std::time::{Duration, Instant};

use self::clock::Clock;
pub use self::figures::{Table, Value};
use crate::{
    Backend, Error, Options, Simulation, System,
    gpu::{AdapterInfo, Context},
    verify::Lockstep,
};

/// The names of all sections, in their order.
pub const SECTIONS: [&str; 10] =
    ["machine", "litmus", "costs", "compile", "parity", "steps", "determinism", "physics", "speed", "soak"];

/// A section: what runs it, and its share of the budget. What a section leaves of its share goes to those after it.
struct Plan {
    name: &'static str,
    share: f64,
    run: fn(&mut Examination, &Target) -> Result<(), Error>,
}

static PLANS: [Plan; SECTIONS.len()] = [
    Plan { name: SECTIONS[0], share: 1.0, run: machine::limits },
    Plan { name: SECTIONS[1], share: 3.0, run: litmus::run },
    Plan { name: SECTIONS[2], share: 4.0, run: costs::run },
    Plan { name: SECTIONS[3], share: 14.0, run: compile::run },
    Plan { name: SECTIONS[4], share: 15.0, run: parity::run },
    Plan { name: SECTIONS[5], share: 18.0, run: steps::run },
    Plan { name: SECTIONS[6], share: 8.0, run: determinism::run },
    Plan { name: SECTIONS[7], share: 12.0, run: physics::run },
    Plan { name: SECTIONS[8], share: 40.0, run: speed::run },
    Plan { name: SECTIONS[9], share: 14.0, run: soak::run },
];

/// Settings of an examination.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Part of the name of the adapter; replaces `WGPU_ADAPTER_NAME`.
    pub adapter: Option<String>,
    /// Time for all sections.
    pub budget: Duration,
    /// Names of the sections to run; empty = all.
    pub sections: Vec<String>,
    /// Tolerance of the sections parity and steps, > 0. None: [`Lockstep::ROUNDING`], or more if the arithmetic of the
    /// adapter is less accurate than the tolerances of [`verify`](crate::verify) assume.
    pub tolerance: Option<f64>,
}

impl Default for Settings {
    /// Eight minutes for all sections.
    fn default() -> Self {
        Self { adapter: None, budget: Duration::from_secs(480), sections: vec![], tolerance: None }
    }
}

/// How a section ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Everything was examined, and nothing is wrong.
    Ok,
    /// Something is wrong.
    Failed,
    /// Nothing is wrong as far as it was examined; the time was too short for the rest.
    CutShort,
    /// Not examined.
    Skipped,
}

impl Status {
    /// `ok`, `failed`, `cut_short` or `skipped`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Failed => "failed",
            Self::CutShort => "cut_short",
            Self::Skipped => "skipped",
        }
    }
}

/// The result of a section.
#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    /// One of [`SECTIONS`].
    pub name: &'static str,
    /// How the section ended.
    pub status: Status,
    /// Wall-clock time of the section.
    pub seconds: f64,
    /// What is wrong.
    pub failures: Vec<String>,
    /// Remarks, for example on parts that were not examined.
    pub notes: Vec<String>,
    /// The figures.
    pub tables: Vec<Table>,
}

/// A section under way.
struct Examination<'a> {
    clock: Clock<'a>,
    is_cut: bool,
    section: Section,
}

impl<'a> Examination<'a> {
    fn new(name: &'static str, clock: Clock<'a>) -> Self {
        let status = Status::Ok;
        let section = Section { name, status, seconds: 0.0, failures: vec![], notes: vec![], tables: vec![] };
        Self { clock, is_cut: false, section }
    }

    /// Records that something is wrong.
    fn fail(&mut self, what: impl Into<String>) {
        self.section.failures.push(what.into());
    }

    /// Records that something is wrong unless `holds`.
    fn expect(&mut self, holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            self.fail(what());
        }
    }

    fn note(&mut self, what: impl Into<String>) {
        self.section.notes.push(what.into());
    }

    fn table(&mut self, table: Table) {
        self.section.tables.push(table);
    }

    /// Returns whether the time is over; if so, records what is left out.
    fn is_over(&mut self, left_out: impl FnOnce() -> String) -> bool {
        if !self.clock.is_over() {
            return false;
        }
        self.is_cut = true;
        let why = if self.clock.is_stopped() { "interrupted" } else { "cut short" };
        self.note(format!("{why}: {}", left_out()));
        true
    }

    fn end(mut self, result: Result<(), Error>) -> Section {
        if let Err(error) = result {
            self.fail(error.to_string());
        }
        self.section.status = match (self.section.failures.is_empty(), self.is_cut) {
            (false, _) => Status::Failed,
            (true, true) => Status::CutShort,
            (true, false) => Status::Ok,
        };
        self.section.seconds = self.clock.elapsed().as_secs_f64();
        self.section
    }
}

/// The device under examination.
struct Target {
    context: Context,
    /// Part of the name of the adapter, for further devices.
    adapter: Option<String>,
    /// Tolerance of the sections parity and steps.
    tolerance: f64,
}

impl Target {
    fn simulation(&self, system: System) -> Result<Simulation, Error> {
        self.simulation_with(system, false)
    }

    // With `profile`, the stages are timed.
    fn simulation_with(&self, system: System, profile: bool) -> Result<Simulation, Error> {
        let context = Some(self.context.clone());
        Simulation::new(system, Options { backend: Backend::Gpu, context, profile, ..Options::default() })
    }

    fn is_software(&self) -> bool {
        self.context.info().is_software()
    }
}

/// Runs the sections, one at each call of `next`.
///
/// ```no_run
/// use carom::doctor::{Doctor, Settings, Status};
///
/// let never = || false;
/// for section in Doctor::new(Settings::default(), &never)? {
///     println!("{}: {:?}", section.name, section.status);
///     assert_ne!(section.status, Status::Failed, "{:?}", section.failures);
/// }
/// # Ok::<(), carom::Error>(())
/// ```
pub struct Doctor<'a> {
    settings: Settings,
    stop: &'a dyn Fn() -> bool,
    /// The device, or why there is none.
    context: Result<Context, Error>,
    deadline: Instant,
    /// Number of sections done.
    done: usize,
    /// Multiple of the usual tolerances that the arithmetic of the adapter needs.
    scale: f64,
}

impl<'a> Doctor<'a> {
    /// Opens the adapter. An absent adapter is no error: the section machine says what was found. `stop` returns true when
    /// the user wants to stop.
    ///
    /// # Errors
    /// [`Error::Invalid`] for an unknown section, or a tolerance that is not above 0.
    pub fn new(settings: Settings, stop: &'a dyn Fn() -> bool) -> Result<Self, Error> {
        if let Some(name) = settings.sections.iter().find(|name| !SECTIONS.contains(&name.as_str())) {
            let text = format!("no section is called `{name}`; the sections are {}", SECTIONS.join(", "));
            return Err(Error::Invalid(text));
        }
        if let Some(tolerance) = settings.tolerance.filter(|x| !(*x > 0.0 && x.is_finite())) {
            return Err(Error::Invalid(format!("the tolerance is {tolerance}; it has to be above 0")));
        }
        let context = Context::open(settings.adapter.as_deref());
        Ok(Self::on(context, settings, stop))
    }

    fn on(context: Result<Context, Error>, settings: Settings, stop: &'a dyn Fn() -> bool) -> Self {
        let deadline = Instant::now() + settings.budget;
        Self { settings, stop, context, deadline, done: 0, scale: 1.0 }
    }

    /// The adapter under examination.
    ///
    /// # Errors
    /// [`Error::NoAdapter`] if there is none, or why the device cannot be used.
    pub fn adapter(&self) -> Result<&AdapterInfo, Error> {
        self.context.as_ref().map(Context::info).map_err(Clone::clone)
    }

    /// The next section, if it is to run, and the seconds that it may take.
    pub fn upcoming(&self) -> Option<(&'static str, f64)> {
        let plan = PLANS.get(self.done)?;
        let runs = self.is_selected(plan.name) && !(self.stop)() && self.context.is_ok();
        runs.then(|| (plan.name, self.share(plan).as_secs_f64()))
    }

    fn is_selected(&self, name: &str) -> bool {
        self.settings.sections.is_empty() || self.settings.sections.iter().any(|wanted| wanted == name)
    }

    // Time for the next section: its share of what is left.
    fn share(&self, plan: &Plan) -> Duration {
        let ahead = PLANS[self.done..].iter().filter(|plan| self.is_selected(plan.name));
        let left = self.deadline.saturating_duration_since(Instant::now());
        left.mul_f64(plan.share / ahead.map(|plan| plan.share).sum::<f64>())
    }

    fn run(&mut self, plan: &Plan) -> Section {
        let clock = Clock::new(self.share(plan), self.stop);
        let mut examination = Examination::new(plan.name, clock);
        if plan.name == SECTIONS[0] {
            machine::describe(&mut examination);
        }
        let context = match &self.context {
            Ok(context) => context.clone(),
            // Every other section is skipped without a device.
            Err(error) => return examination.end(Err(error.clone())),
        };
        let tolerance = self.settings.tolerance.unwrap_or(Lockstep::ROUNDING * self.scale);
        let target = Target { context, adapter: self.settings.adapter.clone(), tolerance };
        let result = (plan.run)(&mut examination, &target);
        if let Some(scale) = litmus::tolerance_scale(&examination.section) {
            self.scale = scale;
        }
        // Later sections need a device that works.
        if let Err(error) = target.context.check() {
            examination.fail(error.to_string());
            self.context = Context::open(self.settings.adapter.as_deref());
            examination.note(match &self.context {
                Ok(_) => "the following sections use a new device".to_owned(),
                Err(error) => format!("no new device: {error}"),
            });
        }
        examination.end(result)
    }

    // A section that does not run, with the reason.
    fn skipped(&self, name: &'static str, why: &str) -> Section {
        let mut examination = Examination::new(name, Clock::new(Duration::ZERO, self.stop));
        examination.note(why);
        Section { status: Status::Skipped, ..examination.end(Ok(())) }
    }
}

impl Iterator for Doctor<'_> {
    type Item = Section;

    fn next(&mut self) -> Option<Section> {
        let plan = PLANS.get(self.done)?;
        // Without an adapter the first section says why, whether or not it is asked for.
        let is_wanted = self.is_selected(plan.name) || (self.context.is_err() && self.done == 0);
        let section = if !is_wanted {
            self.skipped(plan.name, "not asked for")
        } else if (self.stop)() {
            self.skipped(plan.name, "interrupted")
        } else if self.context.is_err() && plan.name != SECTIONS[0] {
            self.skipped(plan.name, "no adapter")
        } else {
            self.run(plan)
        };
        self.done += 1;
        Some(section)
    }
}
