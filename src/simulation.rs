//! The main interface of the library: [`Simulation`], a system of spheres with the engine that steps it.

mod checkpoint;
mod compress;
mod contact_stress;
mod edit;
mod flow;
mod pour;
mod recovery;
#[cfg(feature = "viewer")]
mod rewind;
mod start;
mod summary;
mod walls;

use std::ops::ControlFlow;

use glam::DVec3;
use rayon::prelude::*;
use xxhash_rust::xxh3::Xxh3;

#[cfg(feature = "files")]
pub(crate) use self::checkpoint::RunState;
#[cfg(feature = "viewer")]
pub(crate) use self::rewind::Moment;
pub use self::{checkpoint::Checkpoint, recovery::OnLoss, summary::Summary};
use self::{compress::Squeeze, edit::Disturbed, flow::Flow, recovery::Recovery, start::start_engine};
#[cfg(feature = "gpu")]
use crate::gpu;
use crate::{
    Backend, Contact, DeviceBuffer, Error, Impact, Sphere, StepReport, System,
    state::constants::{SLEEP, STILL},
    step::engine::Engine,
};

/// How a [`Simulation`] runs. Only the backend and the adapter can change the result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The engine.
    pub backend: Backend,
    /// Threads of the CPU engine; 0 = one for each core.
    pub threads: usize,
    /// Keep the impacts of each step for [`Simulation::impacts`].
    pub record_impacts: bool,
    /// Time each stage with device timestamps, for [`StepReport::stage_seconds`]; slows the device down. The CPU engine
    /// always times its stages.
    pub profile: bool,
    /// Part of the name of the adapter for `Backend::Gpu`; replaces `WGPU_ADAPTER_NAME`.
    pub adapter: Option<String>,
    /// Reaction to the loss of the device of [`Backend::Gpu`].
    pub on_loss: OnLoss,
    /// The device for [`Backend::Gpu`]; if `None`, the backend opens the best [`adapter`](Self::adapter).
    #[cfg(feature = "gpu")]
    pub context: Option<gpu::Context>,
}

/// A system of spheres, and the engine that moves it step by step.
///
/// ```
/// use carom::{Backend, Options, Simulation, Sphere, System};
/// use glam::DVec3;
///
/// let mut system = System { dt: 0.5, ..System::default() };
/// for (id, x, vx) in [(0, 0.0, 1.0), (1, 1.2, 0.0)] {
///     system.spheres.push(Sphere {
///         id,
///         position: DVec3::new(x, 0.0, 0.0),
///         velocity: DVec3::new(vx, 0.0, 0.0),
///         ..Sphere::default()
///     });
/// }
/// let mut simulation = Simulation::new(system, Options { record_impacts: true, ..Options::default() })?;
/// let report = simulation.step()?;
/// assert_eq!(report.pair_impacts, 1);
/// // Equal masses, head on, elastic: the velocities swap.
/// assert!((simulation.spheres()[1].velocity.x - 1.0).abs() < 1e-6);
/// assert!((simulation.impacts()[0].time - 0.2).abs() < 1e-6);
/// # Ok::<(), carom::Error>(())
/// ```
pub struct Simulation {
    system: System,
    options: Options,
    engine: Box<dyn Engine>,
    time: f64,
    step: u64,
    impacts: Vec<Impact>,
    last: StepReport,
    summary: Summary,
    edited: bool,
    disturbed: Disturbed,
    flow: Flow,
    squeeze: Squeeze,
    recovery: Recovery,
}

impl Simulation {
    /// Validates the system and starts an engine. Spheres may be in any order; the simulation sorts them by id.
    ///
    /// # Errors
    /// [`Error::Invalid`] if [`System::validate`] fails, [`Error::Unsupported`] if the backend lacks a feature that the
    /// system needs, [`Error::Capacity`] for more spheres than the backend can hold, [`Error::NoAdapter`] if `Backend::Gpu`
    /// finds no adapter.
    pub fn new(mut system: System, mut options: Options) -> Result<Self, Error> {
        system.validate()?;
        system.spheres.sort_by_key(|s| s.id);
        let engine = start_engine(&system, &mut options, 0.0)?;
        let summary = Summary::new(&system, engine.measure());
        Ok(Self {
            flow: Flow::new(&system),
            squeeze: Squeeze::default(),
            recovery: Recovery::default(),
            system,
            options,
            engine,
            time: 0.0,
            step: 0,
            impacts: vec![],
            last: StepReport::default(),
            summary,
            edited: false,
            disturbed: Disturbed::default(),
        })
    }

    /// Takes one step of `dt`.
    ///
    /// # Errors
    /// [`Error::NonFinite`], [`Error::NoProgress`], [`Error::Capacity`] or [`Error::DeviceLost`]; [`Error::Unsupported`] if the driver
    /// refuses a shader that the step is the first to need; the errors of [`new`](Self::new) if edits since the last step made the
    /// system invalid.
    pub fn step(&mut self) -> Result<&StepReport, Error> {
        self.advance(false)
    }

    /// Takes up to `steps` steps and calls `each` with the report of every step in order. Stops when `each` breaks.
    ///
    /// The result equals that of as many calls of [`step`](Self::step). On a device, the next step runs while the host waits
    /// for the report of the current one; a step that is under way when `each` breaks is finished and reported too.
    ///
    /// # Errors
    /// As [`step`](Self::step).
    pub fn run(
        &mut self,
        steps: u64,
        mut each: impl FnMut(&StepReport) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        self.run_watched(steps, |simulation| each(&simulation.last))
    }

    /// As [`run`](Self::run), but passes the whole simulation to `each` after every step, for programs that display it.
    ///
    /// `each` sees the state at the end of the step that [`report`](Self::report) describes, even if the next step is
    /// already under way. On a device, `state_buffers` hold this state: commands that are submitted before `each`
    /// returns read this state without a wait. [`spheres`](Self::spheres) and the hash are available too, but copy the state
    /// to the host and wait for the copy.
    ///
    /// # Errors
    /// As [`step`](Self::step).
    pub fn run_watched(
        &mut self,
        steps: u64,
        mut each: impl FnMut(&Self) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        for k in 1..=steps {
            self.advance(k < steps)?;
            if each(self).is_break() {
                if self.system.has_flow() {
                    // A whole step after a sink took a sphere would let further spheres come and go.
                    self.engine.call_off()?;
                    self.flow.ran_ahead = false;
                } else if self.flow.ran_ahead && self.options.backend.runs_ahead() {
                    self.advance(false)?;
                    // This is the last step; the answer no longer matters.
                    let _ = each(self);
                }
                break;
            }
        }
        Ok(())
    }

    fn advance(&mut self, more: bool) -> Result<&StepReport, Error> {
        self.with_recovery(|simulation| simulation.advance_once(more))?;
        Ok(&self.last)
    }

    fn advance_once(&mut self, more: bool) -> Result<(), Error> {
        self.apply_edits()?;
        self.keep_copy_if_due()?;
        let start = std::time::Instant::now();
        let downloads = self.engine.downloads();
        self.exchange()?;
        self.compress()?;
        self.watch();
        let more = more && !self.flows_next() && !self.is_copy_due();
        self.flow.ran_ahead = more;
        self.impacts.clear();
        let log = self.options.record_impacts.then_some(&mut self.impacts);
        // Without spheres there is no length scale from which to choose substeps.
        let is_empty = self.system.spheres.is_empty();
        let stepped =
            if is_empty { Ok(StepReport::default()) } else { self.engine.step(self.time, log, more) };
        self.follow_box();
        let mut report = match stepped {
            Err(Error::NonFinite { id, .. }) => {
                return Err(Error::NonFinite { id, last_good_step: self.step });
            }
            other => other?,
        };
        self.step += 1;
        self.time += self.system.dt;
        report.step = self.step;
        report.time = self.time;
        self.drain(&mut report)?;
        self.gauge(&mut report);
        report.downloads = self.engine.downloads() - downloads;
        report.blocking_reads += report.downloads + std::mem::take(&mut self.flow.called_off);
        report.wall_seconds = start.elapsed().as_secs_f64();
        report.cpu_steps += u64::from(self.device_loss().is_some());
        self.summary.add(&report);
        self.last = report;
        Ok(())
    }

    /// The report of the last step; all zero before the first.
    pub fn report(&self) -> &StepReport {
        &self.last
    }

    /// Figures over the whole run to date.
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// The impacts of the last step in the order of their times; empty unless
    /// [`record_impacts`](Options::record_impacts) is set.
    pub fn impacts(&self) -> &[Impact] {
        &self.impacts
    }

    /// The contacts that lasted over the last substep of the last step, sorted by sphere id; wall contacts follow sphere
    /// contacts. Empty before the first step, after an edit, without gravity, or if all impacts are elastic.
    ///
    /// Bounces are in [`impacts`](Self::impacts) instead. Impacts on a resting sphere within a step are not part of the
    /// contact forces.
    ///
    /// # Errors
    /// [`Error::Unsupported`] on a backend without lasting contacts, [`Error::DeviceLost`].
    pub fn contacts(&self) -> Result<Vec<Contact>, Error> {
        if self.options.backend == Backend::Exact {
            return Err(Error::Unsupported(
                "the exact backend has no lasting contacts; use cpu or gpu".to_owned(),
            ));
        }
        if self.edited {
            return Ok(vec![]);
        }
        let mut contacts = self.engine.contacts()?;
        contacts
            .retain(|contact| self.flow.keeps(contact.sphere) && self.flow.keeps_partner(contact.partner));
        Ok(contacts)
    }

    /// All spheres in their current state, in ascending order of ids.
    ///
    /// If the device is lost, these are the spheres of the last edit or of the start; [`try_spheres`](Self::try_spheres) and
    /// the next step return the error.
    pub fn spheres(&self) -> Vec<Sphere> {
        self.try_spheres().unwrap_or_else(|_| self.system.spheres.clone())
    }

    /// All spheres in their current state, in ascending order of ids.
    ///
    /// # Errors
    /// [`Error::DeviceLost`] or [`Error::Capacity`] if the spheres cannot be read from the device.
    pub fn try_spheres(&self) -> Result<Vec<Sphere>, Error> {
        // A copy on all cores: most of its time goes into the first use of the memory.
        let mut spheres: Vec<Sphere> = self.system.spheres.par_iter().copied().with_min_len(4096).collect();
        if !self.edited {
            self.engine.read(&mut spheres)?;
            self.flow.let_go(&mut spheres);
        }
        Ok(spheres)
    }

    /// Centres of all spheres in their current state (length), in ascending order of ids: those of
    /// [`try_spheres`](Self::try_spheres), in less time.
    ///
    /// # Errors
    /// As [`try_spheres`](Self::try_spheres).
    pub fn try_positions(&self) -> Result<Vec<DVec3>, Error> {
        if !self.edited
            && self.flow.leaving() == 0
            && let Some(positions) = self.engine.positions(&self.system.spheres)?
        {
            return Ok(positions);
        }
        Ok(self.try_spheres()?.iter().map(|sphere| sphere.position).collect())
    }

    /// Whether each sphere slept in the last substep, in ascending order of ids: `len == sphere_count`. All false before the
    /// first step and after an edit.
    ///
    /// # Errors
    /// [`Error::DeviceLost`].
    pub fn asleep(&self) -> Result<Vec<bool>, Error> {
        let mut spheres = self.system.spheres.clone();
        if self.edited {
            return Ok(vec![false; spheres.len()]);
        }
        self.flow.let_go(&mut spheres);
        let mut asleep = vec![false; spheres.len()];
        for (id, ticks) in self.engine.warm_start()?.sleep_timers {
            if let (SLEEP..STILL, Ok(place)) = (ticks, spheres.binary_search_by_key(&id, |s| s.id)) {
                asleep[place] = true;
            }
        }
        Ok(asleep)
    }

    /// The state on the device, for renderers; `None` except with `Backend::Gpu`, and between an edit and the next step.
    /// Commands submitted before the next step begins see the current state.
    #[cfg(feature = "gpu")]
    pub fn state_buffers(&self) -> Option<gpu::StateBuffers> {
        if self.edited { None } else { self.engine.state_buffers() }
    }

    /// The simulated system with the spheres that are present. Their positions and velocities are old: from the start, from the
    /// last edit, or from an exchange of spheres by a source or a sink; for the current state see
    /// [`spheres`](Self::spheres).
    pub fn system(&self) -> &System {
        &self.system
    }

    /// Time since the start of the run.
    pub fn time(&self) -> f64 {
        self.time
    }

    /// Number of steps taken.
    pub fn steps(&self) -> u64 {
        self.step
    }

    /// Number of spheres.
    pub fn sphere_count(&self) -> usize {
        self.system.spheres.len() - self.flow.leaving()
    }

    /// Size of all buffers that grow with the number of spheres (bytes).
    pub fn memory_bytes(&self) -> usize {
        self.engine.memory_bytes()
    }

    /// The buffers on the device with their limits; empty except with `Backend::Gpu`. Some grow during a run.
    pub fn device_buffers(&self) -> Vec<DeviceBuffer> {
        self.engine.device_buffers()
    }

    /// The engine in use.
    pub fn backend(&self) -> Backend {
        self.options.backend
    }

    /// The adapter in use; `None` except with [`Backend::Gpu`].
    #[cfg(feature = "gpu")]
    pub fn adapter(&self) -> Option<gpu::AdapterInfo> {
        let context = self.options.context.as_ref().filter(|_| self.options.backend == Backend::Gpu);
        context.map(|context| context.info().clone())
    }

    /// 64-bit hash (XXH3) over position, velocity and spin of all spheres in the order of their ids, each as three
    /// little-endian f64. Equal for equal input on one backend, device and build.
    ///
    /// Hashes the result of [`spheres`](Self::spheres), which is an old state if the device is lost.
    pub fn state_hash(&self) -> u64 {
        hash_of(&self.spheres())
    }

    /// As [`state_hash`](Self::state_hash), but fails instead of hashing an old state.
    ///
    /// # Errors
    /// As [`try_spheres`](Self::try_spheres).
    pub fn try_state_hash(&self) -> Result<u64, Error> {
        self.try_spheres().map(|spheres| hash_of(&spheres))
    }
}

// As [`Simulation::state_hash`].
pub(crate) fn hash_of(spheres: &[Sphere]) -> u64 {
    let mut hash = Xxh3::new();
    for sphere in spheres {
        for vector in [sphere.position, sphere.velocity, sphere.spin] {
            for value in vector.to_array() {
                hash.update(&value.to_le_bytes());
            }
        }
    }
    hash.digest()
}
