//! The library's face: a system, an engine, steps.

mod compress;
mod contact_stress;
mod edit;
mod flow;
mod pour;
mod start;
mod summary;
mod walls;

use std::ops::ControlFlow;

use xxhash_rust::xxh3::Xxh3;

pub use self::summary::Summary;
use self::{compress::Squeeze, flow::Flow, start::start_engine};
#[cfg(feature = "gpu")]
use crate::gpu;
use crate::{Backend, Contact, Error, Impact, Sphere, StepReport, System, step::engine::Engine};

/// How a [`Simulation`] is run; beside the backend and the adapter, none of it changes the result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Who computes.
    pub backend: Backend,
    /// Threads of the CPU engine; 0 = one for each core.
    pub threads: usize,
    /// Keep the impacts of each step for [`Simulation::impacts`].
    pub record_impacts: bool,
    /// Have the device time the stages, for [`StepReport::stage_seconds`]; costs some of its speed. (The CPU engine
    /// always does.)
    pub profile: bool,
    /// Part of the name of the adapter that `Backend::Gpu` computes on; replaces `WGPU_ADAPTER_NAME`.
    pub adapter: Option<String>,
    /// The device that [`Backend::Gpu`] computes on; without one it opens the best [`adapter`](Self::adapter).
    #[cfg(feature = "gpu")]
    pub context: Option<gpu::Context>,
}

/// Spheres in motion.
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
    flow: Flow,
    squeeze: Squeeze,
}

impl Simulation {
    /// Sets up an engine. Spheres may be in any order; they are kept sorted by id from here on.
    ///
    /// # Errors
    /// [`Error::Invalid`] where [`System::validate`] finds something wrong, [`Error::Unsupported`] for what the
    /// backend does not do, [`Error::Capacity`] for more spheres than it can hold, [`Error::NoAdapter`] where
    /// `Backend::Gpu` finds nothing to compute on.
    pub fn new(mut system: System, mut options: Options) -> Result<Self, Error> {
        system.validate()?;
        system.spheres.sort_by_key(|s| s.id);
        let engine = start_engine(&system, &mut options, 0.0)?;
        let summary = Summary::new(&system, engine.measure());
        Ok(Self {
            flow: Flow::new(&system),
            squeeze: Squeeze::default(),
            system,
            options,
            engine,
            time: 0.0,
            step: 0,
            impacts: vec![],
            last: StepReport::default(),
            summary,
            edited: false,
        })
    }

    /// Takes one step of `dt`.
    ///
    /// # Errors
    /// [`Error::NonFinite`], [`Error::NoProgress`], [`Error::Capacity`] or [`Error::DeviceLost`]; edits since the last step that make
    /// the system invalid are reported here too, as by [`new`](Self::new).
    pub fn step(&mut self) -> Result<&StepReport, Error> {
        self.advance(false)
    }

    /// Takes up to `steps` steps and calls `each` with the report of every one, in their order; stops when it breaks.
    ///
    /// The result is that of as many calls of [`step`](Self::step), but an engine on a device need not stand still
    /// while the host waits for a report: the next step is on its way by then. So a step that had been begun when
    /// `each` breaks is finished and reported too.
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

    /// As [`run`](Self::run), with the whole simulation to look at after every step, for programs that show it.
    ///
    /// What it shows is the state at the end of the step that [`report`](Self::report) is about, also where the next
    /// one is on its way. On a device, `state_buffers` are those of that state: commands that read them and are
    /// submitted before `each` returns see just that, and nobody waits. [`spheres`](Self::spheres) and the hash are to
    /// be had too, but bring the state to the host and wait for it.
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
                if self.flow.ran_ahead && self.options.backend.runs_ahead() {
                    self.advance(false)?;
                    // Whatever it says now, there is nothing left to stop.
                    let _ = each(self);
                }
                break;
            }
        }
        Ok(())
    }

    fn advance(&mut self, more: bool) -> Result<&StepReport, Error> {
        self.apply_edits()?;
        let start = std::time::Instant::now();
        self.exchange()?;
        self.compress()?;
        let more = more && !self.flows_next() && !self.is_squeezed();
        self.flow.ran_ahead = more;
        self.impacts.clear();
        let log = self.options.record_impacts.then_some(&mut self.impacts);
        // Of an empty world an engine knows no sizes to divide a step by.
        let is_empty = self.system.spheres.is_empty();
        let stepped =
            if is_empty { Ok(StepReport::default()) } else { self.engine.step(self.time, log, more) };
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
        report.wall_seconds = start.elapsed().as_secs_f64();
        self.summary.add(&report);
        self.last = report;
        Ok(&self.last)
    }

    /// The report of the last step; all zero before the first.
    pub fn report(&self) -> &StepReport {
        &self.last
    }

    /// Figures over the whole run so far.
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// The impacts of the last step in the order of their times; empty unless
    /// [`record_impacts`](Options::record_impacts) is set.
    pub fn impacts(&self) -> &[Impact] {
        &self.impacts
    }

    /// The contacts that lasted over the last substep of the last step, in the order of the ids, those with planes last
    /// of each sphere; none before the first step, after an edit, without gravity or where all impacts are elastic.
    ///
    /// What only bounces is not among them: see [`impacts`](Self::impacts). Impacts that a sphere at rest takes within a step
    /// are not part of its forces.
    ///
    /// # Errors
    /// [`Error::Unsupported`] on a backend whose contacts never last, [`Error::DeviceLost`].
    pub fn contacts(&self) -> Result<Vec<Contact>, Error> {
        if self.options.backend == Backend::Exact {
            return Err(Error::Unsupported(
                "exact: its contacts do not last; cpu and gpu have some that do".to_owned(),
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

    /// All spheres as they are now, in ascending order of the ids.
    ///
    /// Where the device is lost they are those of the last edit or the start; [`try_spheres`](Self::try_spheres) and
    /// the next step say so.
    pub fn spheres(&self) -> Vec<Sphere> {
        self.try_spheres().unwrap_or_else(|_| self.system.spheres.clone())
    }

    /// All spheres as they are now, in ascending order of the ids.
    ///
    /// # Errors
    /// [`Error::DeviceLost`], [`Error::Capacity`]: they cannot be read from the device.
    pub fn try_spheres(&self) -> Result<Vec<Sphere>, Error> {
        let mut spheres = self.system.spheres.clone();
        if !self.edited {
            self.engine.read(&mut spheres)?;
            self.flow.let_go(&mut spheres);
        }
        Ok(spheres)
    }

    /// Where the state lies on the device, for renderers; none but with `Backend::Gpu`, nor between an edit and the
    /// next step. Commands that are submitted before the next step begins see it as it is now.
    #[cfg(feature = "gpu")]
    pub fn state_buffers(&self) -> Option<gpu::StateBuffers> {
        if self.edited { None } else { self.engine.state_buffers() }
    }

    /// The world the spheres move in. Its spheres are those of the start, or of when the last came or went, not those of now:
    /// see [`spheres`](Self::spheres).
    pub fn system(&self) -> &System {
        &self.system
    }

    /// Time since the start of the run.
    pub fn time(&self) -> f64 {
        self.time
    }

    /// Steps taken.
    pub fn steps(&self) -> u64 {
        self.step
    }

    /// Number of spheres.
    pub fn sphere_count(&self) -> usize {
        self.system.spheres.len() - self.flow.leaving()
    }

    /// Bytes of all buffers that grow with the number of spheres.
    pub fn memory_bytes(&self) -> usize {
        self.engine.memory_bytes()
    }

    /// Who computes.
    pub fn backend(&self) -> Backend {
        self.options.backend
    }

    /// The adapter it computes on; none but with [`Backend::Gpu`].
    #[cfg(feature = "gpu")]
    pub fn adapter(&self) -> Option<gpu::AdapterInfo> {
        let context = self.options.context.as_ref().filter(|_| self.options.backend == Backend::Gpu);
        context.map(|context| context.info().clone())
    }

    /// 64-bit hash (XXH3) over position, velocity and spin of all spheres in the order of their ids, each as three
    /// little-endian f64. Equal for equal input on one backend, device and build.
    ///
    /// Of what [`spheres`](Self::spheres) returns, also where the device is lost.
    pub fn state_hash(&self) -> u64 {
        hash_of(&self.spheres())
    }

    /// The same, but never of an old state.
    ///
    /// # Errors
    /// As [`try_spheres`](Self::try_spheres).
    pub fn try_state_hash(&self) -> Result<u64, Error> {
        self.try_spheres().map(|spheres| hash_of(&spheres))
    }
}

fn hash_of(spheres: &[Sphere]) -> u64 {
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
