//! State that the worker and the window share: the latest status of the worker, and the spheres to draw.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use glam::DVec3;

use super::{command::News, inspect::Inspected, run_figures::RunFigures};
use crate::{
    Backend, Dimensions, StepReport,
    render::{RenderWorld, Spheres},
};

/// Spheres to draw at one time.
pub struct Picture {
    /// The spheres.
    pub spheres: Spheres,
    /// The world around the spheres, at the same time.
    pub render_world: RenderWorld,
    /// Number of the world, see [`Status::world`].
    pub world: u64,
    /// [`Simulation::generation`](crate::Simulation::generation) of the spheres.
    pub generation: u64,
    /// Number of pictures published so far.
    pub number: u64,
}

/// Counters at the time of an event.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counters {
    /// Steps taken.
    pub step: u64,
    /// Simulated time.
    pub time: f64,
    /// Number of spheres.
    pub sphere_count: usize,
    /// Backend that computes.
    pub backend: Backend,
    /// Whether the simulation is paused.
    pub paused: bool,
    /// Waits of the host for the device.
    pub blocking_reads: u64,
}

/// Status of the simulation, for the panel.
#[derive(Clone, Debug, Default)]
pub struct Status {
    /// Name of the scene.
    pub scene: String,
    /// Seed of the random numbers.
    pub seed: u64,
    /// Backend that computes.
    pub backend: Backend,
    /// 2D or 3D.
    pub dimensions: Dimensions,
    /// Periodic axes, along which gravity cannot act.
    pub periodic: [bool; 3],
    /// Number of spheres.
    pub sphere_count: usize,
    /// Largest radius (length).
    pub largest: f64,
    /// Corners of the scene (length).
    pub extent: (DVec3, DVec3),
    /// Acceleration (length/time^2).
    pub gravity: DVec3,
    /// Restitution of the first material, and whether all pairs have the same restitution.
    pub restitution: (f64, bool),
    /// Outer step (time).
    pub dt: f64,
    /// Steps taken.
    pub step: u64,
    /// Time since the start.
    pub time: f64,
    /// Report of the last step.
    pub report: StepReport,
    /// Figures of all steps.
    pub figures: RunFigures,
    /// Collisions out of order, over all steps.
    pub late: u64,
    /// Impacts solved as resting contacts, over all steps.
    pub crowded: u64,
    /// Spheres stopped at their time of impact.
    pub stopped: u64,
    /// Spheres with a pending collision.
    pub unresolved: u64,
    /// Requested simulated time per second; `None`: as fast as possible.
    pub pace: Option<f64>,
    /// Whether the simulation is paused.
    pub paused: bool,
    /// Whether the device times the stages.
    pub profiled: bool,
    /// Error that stopped the simulation.
    pub failed: Option<String>,
    /// Number of steps that can be taken back, and the memory of the kept states (bytes).
    pub history: (usize, usize),
    /// The comparison of `gpu` with `cpu`: steps, and the largest difference (mean diameters) with its sphere.
    pub compared: Option<(u64, Option<(f64, u32)>)>,
    /// Why contacts cannot be shown.
    pub contacts_missing: Option<String>,
    /// Counts the changes of the world.
    pub world: u64,
    /// The inspected sphere, if reading it causes no wait.
    pub inspected: Option<Box<Inspected>>,
}

impl Status {
    /// The counters of this status.
    pub fn counters(&self) -> Counters {
        Counters {
            step: self.step,
            time: self.time,
            sphere_count: self.sphere_count,
            backend: self.backend,
            paused: self.paused,
            blocking_reads: self.figures.blocking_reads,
        }
    }
}

/// State shared by worker and window; [`Shared`] locks the state.
#[derive(Default)]
pub struct SharedState {
    /// Spheres that the window has not taken yet.
    pub picture: Option<Picture>,
    /// Buffers that the window returns for reuse.
    pub spare: Option<Picture>,
    /// Status to show in the panel.
    pub status: Option<Status>,
    /// News that the window has not read yet, oldest first.
    pub news: VecDeque<(News, Counters)>,
    /// The device is lost, or a scene could not be started at all.
    pub fatal: Option<crate::Error>,
}

/// Handle to the shared state, held by both threads.
#[derive(Clone, Default)]
pub struct Shared(Arc<Mutex<SharedState>>);

impl Shared {
    /// The lock is held briefly: neither thread computes while holding it.
    pub fn lock(&self) -> MutexGuard<'_, SharedState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
