//! Checkpoints: the complete state of a simulation between two steps.

use super::{
    Disturbed, Options, Simulation, Summary,
    compress::Squeeze,
    flow::Flow,
    recovery::Recovery,
    start::{resume_engine, start_engine},
};
use crate::{Backend, Error, Sphere, StepReport, System, step::checkpoint::EngineState};

use std::collections::BTreeMap;

/// The complete state of a [`Simulation`] between two steps: spheres, contact impulses, sleep timers, progress of sources, sinks and
/// the compression, the summary, and the measurements on which the next steps are planned.
///
/// A simulation that [resumes](Simulation::resume) from a checkpoint on the same backend, device and build takes the steps
/// that the first one takes, to the bit. `files::write_checkpoint` stores a checkpoint in a file.
///
/// ```
/// use carom::{Options, Simulation, Sphere, System};
/// use glam::DVec3;
///
/// let mut system = System::default();
/// for (id, vx) in [(0, 1.0), (1, -0.5)] {
///     let position = DVec3::X * 3.0 * f64::from(id);
///     system.spheres.push(Sphere { id, position, velocity: DVec3::X * vx, ..Sphere::default() });
/// }
/// let mut simulation = Simulation::new(system, Options::default())?;
/// simulation.step()?;
/// let checkpoint = simulation.checkpoint()?;
/// let mut resumed = Simulation::resume(checkpoint, Options::default())?;
/// for simulation in [&mut simulation, &mut resumed] {
///     for _ in 0..200 {
///         simulation.step()?;
///     }
/// }
/// assert_eq!(resumed.state_hash(), simulation.state_hash());
/// assert_eq!(resumed.steps(), 201);
/// # Ok::<(), carom::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Checkpoint {
    /// Texts for the program that writes and reads the checkpoint, such as the name of a scene. The simulation ignores them.
    pub labels: BTreeMap<String, String>,
    pub(crate) run: RunState,
    /// With the spheres that the engine holds, in their current state.
    pub(crate) system: System,
    pub(crate) engine: EngineState,
}

/// The part of the state that no engine holds.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "files", derive(serde::Deserialize, serde::Serialize))]
pub(crate) struct RunState {
    pub backend: String,
    pub time: f64,
    pub step: u64,
    summary: Summary,
    flow: Flow,
    squeeze: Squeeze,
}

#[cfg(feature = "files")]
impl RunState {
    /// Whether the counters can be those of a run of this system.
    pub fn is_sound(&self, system: &System) -> bool {
        // The largest number that the command runs.
        self.step <= 1_000_000_000_000_000 && self.time.is_finite() && self.flow.is_sound(system)
    }
}

impl Checkpoint {
    /// Number of steps taken.
    pub fn steps(&self) -> u64 {
        self.run.step
    }

    /// Time since the start of the run.
    pub fn time(&self) -> f64 {
        self.run.time
    }

    /// [Name](Backend::name) of the backend that took the steps.
    pub fn backend(&self) -> &str {
        &self.run.backend
    }

    /// The system, without its spheres up to date; for these see [`spheres`](Self::spheres).
    pub fn system(&self) -> &System {
        &self.system
    }

    /// The spheres that are present, in ascending order of ids.
    pub fn spheres(&self) -> Vec<Sphere> {
        let mut spheres = self.system.spheres.clone();
        drop(self.run.flow.let_go(&mut spheres));
        spheres
    }
}

impl Simulation {
    /// The complete state. Pending edits are applied first.
    ///
    /// On a device this downloads the state.
    ///
    /// # Errors
    /// [`Error::DeviceLost`]; the errors of [`new`](Self::new) if edits since the last step made the system invalid.
    pub fn checkpoint(&mut self) -> Result<Checkpoint, Error> {
        self.with_recovery(|simulation| {
            simulation.apply_edits()?;
            let mut system = simulation.system.clone();
            if !system.spheres.is_empty() {
                simulation.engine.read(&mut system.spheres)?;
            }
            let mut flow = simulation.flow.clone();
            flow.ran_ahead = false;
            Ok(Checkpoint {
                labels: BTreeMap::new(),
                run: RunState {
                    backend: simulation.options.backend.name().to_owned(),
                    time: simulation.time,
                    step: simulation.step,
                    summary: simulation.summary.clone(),
                    flow,
                    squeeze: simulation.squeeze,
                },
                system,
                engine: simulation.engine.checkpoint()?,
            })
        })
    }

    /// Goes on from a checkpoint. On another backend than that of the checkpoint, the run goes on with the same spheres and, from
    /// `cpu` to `gpu` or back, with the same contact impulses, but not with the same bits.
    ///
    /// [`report`](Self::report) and [`contacts`](Self::contacts) are empty until the next step.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn resume(checkpoint: Checkpoint, mut options: Options) -> Result<Self, Error> {
        let Checkpoint { run, system, engine: state, .. } = checkpoint;
        let RunState { time, step, summary, flow, squeeze, .. } = run;
        system.validate_reached()?;
        let engine = match resume_engine(&system, &mut options, &state, time)? {
            Some(engine) => engine,
            None => start_engine(&system, &mut options, time)?,
        };
        Ok(Self {
            system,
            options,
            engine,
            time,
            step,
            impacts: vec![],
            last: StepReport { step, time, ..StepReport::default() },
            summary,
            edited: false,
            disturbed: Disturbed::default(),
            flow,
            squeeze,
            recovery: Recovery::default(),
        })
    }
}

impl Backend {
    /// The backend of a [name](Self::name), if this build has it.
    pub fn named(name: &str) -> Option<Self> {
        let all = [
            Self::Cpu,
            #[cfg(feature = "gpu")]
            Self::Gpu,
            Self::Exact,
        ];
        all.into_iter().find(|backend| backend.name() == name)
    }
}
