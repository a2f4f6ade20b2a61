//! Recovery from a lost device: the simulation goes on on the CPU.
//!
//! The memory of a device is lost with it. The simulation therefore keeps a copy of a recent state on the host. After a
//! loss it restores this state on the CPU engine and repeats the steps since, so that the next report follows the last
//! one without a gap.

use std::time::{Duration, Instant};

use super::{Options, Simulation, compress::Squeeze, flow::Flow, start::start_engine};
use crate::{Backend, Error, Summary, System, state::warm_start::WarmStartCache, trace::info};

/// Time between two copies of the state. A shorter time costs downloads; a longer one costs steps to repeat.
const INTERVAL: Duration = Duration::from_secs(10);
/// Shortest time between two copies, in durations of a copy: copies take at most a twentieth of the run.
const SPARSE: u32 = 20;

/// Reaction of a [`Simulation`] to the loss of its device. Only [`Backend::Gpu`] has a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OnLoss {
    /// The step fails with [`Error::DeviceLost`].
    #[default]
    Stop,
    /// The run goes on on the CPU ([`Backend::Cpu`]) from a copy of the state that is about ten seconds old; the steps since then
    /// are repeated. [`Simulation::device_loss`] tells the reason, [`Summary::cpu_steps`](crate::Summary::cpu_steps) counts
    /// the steps that the CPU took. The results are those of another backend: equal in statistics, not in bits.
    ///
    /// These copies take at most a twentieth of the time of the run. Each edit and each change of gravity costs one more.
    Cpu,
}

/// The last copy of the state, and the loss of the device.
#[derive(Default)]
pub(super) struct Recovery {
    copy: Option<Box<StateCopy>>,
    /// Reason for the loss.
    loss: Option<String>,
}

/// The state of a simulation between two steps.
struct StateCopy {
    /// With the spheres that the engine held.
    system: System,
    warm_start: WarmStartCache,
    time: f64,
    step: u64,
    summary: Summary,
    flow: Flow,
    squeeze: Squeeze,
    taken: Instant,
    /// Time that it took to make the copy.
    cost: Duration,
}

impl StateCopy {
    fn is_old(&self) -> bool {
        self.taken.elapsed() > INTERVAL.max(SPARSE * self.cost)
    }
}

impl Simulation {
    /// Reason for the loss of the device after which the simulation went on on the CPU; `None` if that has not happened.
    pub fn device_loss(&self) -> Option<&str> {
        self.recovery.loss.as_deref()
    }

    /// Continues on the CPU at once if the device is lost and [`Options::on_loss`] is
    /// [`OnLoss::Cpu`]. Otherwise the next step or edit does that. Call this method before reading a final state.
    ///
    /// # Errors
    /// [`Error::DeviceLost`] if the device is lost and the options say to stop; the errors of [`step`](Self::step) if a
    /// repeated step fails.
    pub fn recover(&mut self) -> Result<(), Error> {
        self.with_recovery(|simulation| simulation.try_spheres().map(drop))
    }

    /// Acts, and if the device is lost goes on on the CPU and acts again.
    pub(super) fn with_recovery<T>(
        &mut self,
        mut act: impl FnMut(&mut Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        match act(self) {
            Err(Error::DeviceLost(reason)) if self.can_lose_device() => {
                self.continue_on_cpu(reason)?;
                act(self)
            }
            other => other,
        }
    }

    fn can_lose_device(&self) -> bool {
        self.options.on_loss == OnLoss::Cpu && self.options.backend.runs_ahead()
    }

    /// Whether a new copy of the state is due before the next step, which then must not begin early.
    pub(super) fn is_copy_due(&self) -> bool {
        self.can_lose_device() && self.recovery.copy.as_ref().is_none_or(|copy| copy.is_old())
    }

    /// Copies the state if a copy is due. Precondition: no edit is pending. While a step is under way, the copy waits.
    ///
    /// # Errors
    /// [`Error::DeviceLost`].
    pub(super) fn keep_copy_if_due(&mut self) -> Result<(), Error> {
        if self.is_copy_due() && !self.flow.ran_ahead { self.keep_copy() } else { Ok(()) }
    }

    /// Copies the state, if the simulation may need it. Preconditions: no edit is pending, no step is under way.
    ///
    /// # Errors
    /// [`Error::DeviceLost`].
    pub(super) fn keep_copy(&mut self) -> Result<(), Error> {
        if !self.can_lose_device() {
            return Ok(());
        }
        let begin = Instant::now();
        let mut system = self.system.clone();
        if !system.spheres.is_empty() {
            self.engine.read(&mut system.spheres)?;
        }
        let warm_start = self.engine.warm_start()?;
        self.recovery.copy = Some(Box::new(StateCopy {
            system,
            warm_start,
            time: self.time,
            step: self.step,
            summary: self.summary.clone(),
            flow: self.flow.clone(),
            squeeze: self.squeeze,
            taken: Instant::now(),
            cost: begin.elapsed(),
        }));
        Ok(())
    }

    // Replaces the engine by the CPU engine. Starts from `self.system` if that is the present state, otherwise from the last
    // copy, and then repeats the steps since.
    fn continue_on_cpu(&mut self, reason: String) -> Result<(), Error> {
        let mut options = Options { backend: Backend::Cpu, ..self.options.clone() };
        let reported = self.last.step;
        // Every step begins with a copy if there is none, so without a copy no step was taken since the start or a switch.
        let is_present = self.edited || self.recovery.copy.is_none();
        let warm_start = match self.recovery.copy.take() {
            Some(copy) if !is_present => {
                let StateCopy { system, warm_start, time, step, summary, mut flow, squeeze, .. } = *copy;
                self.engine = start_engine(&system, &mut options, time)?;
                flow.renew(self.flow.generation());
                (self.system, self.flow, self.squeeze) = (system, flow, squeeze);
                (self.time, self.step, self.summary) = (time, step, summary);
                warm_start
            }
            copy => {
                self.engine = start_engine(&self.system, &mut options, self.time)?;
                // The timers of a copy are old: a sphere that slept then may move now.
                let mut warm_start = copy.map(|copy| copy.warm_start).unwrap_or_default();
                warm_start.sleep_timers.clear();
                warm_start
            }
        };
        self.engine.restore(&warm_start)?;
        self.options = options;
        info!("the device is lost ({reason}); from step {} on the run is on cpu", self.step + 1);
        self.recovery.loss = Some(reason);
        while self.step < reported && !self.edited {
            self.advance_once(false)?;
        }
        Ok(())
    }
}
