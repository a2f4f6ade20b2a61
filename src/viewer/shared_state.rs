//! Where worker and window meet: what the worker last said, and the spheres to draw.

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

/// Spheres to draw, as they were at one time.
pub struct Picture {
    /// They.
    pub spheres: Spheres,
    /// The world around them, at that time.
    pub render_world: RenderWorld,
    /// Which world it is, see [`Status::world`].
    pub world: u64,
    /// [`Simulation::generation`](crate::Simulation::generation) of what it shows.
    pub generation: u64,
    /// Counts the pictures that were put up.
    pub number: u64,
}

/// How far things were when something happened.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counters {
    /// Steps taken.
    pub step: u64,
    /// Simulated time.
    pub time: f64,
    /// Number of spheres.
    pub sphere_count: usize,
    /// Who computes.
    pub backend: Backend,
    /// It stands still.
    pub paused: bool,
    /// Waits of the host for the device.
    pub blocking_reads: u64,
}

/// The state of affairs, for the panel.
#[derive(Clone, Debug, Default)]
pub struct Status {
    /// What the scene is called, and what it is drawn from.
    pub scene: String,
    /// What its random numbers are drawn from.
    pub seed: u64,
    /// Who computes.
    pub backend: Backend,
    /// 2D or 3D.
    pub dimensions: Dimensions,
    /// Which axes gravity cannot act along.
    pub periodic: [bool; 3],
    /// Number of spheres.
    pub sphere_count: usize,
    /// Largest radius (length).
    pub largest: f64,
    /// Acceleration (length/time^2).
    pub gravity: DVec3,
    /// Restitution of the first material, and whether all pairs have the same.
    pub restitution: (f64, bool),
    /// Outer step (time).
    pub dt: f64,
    /// Steps taken.
    pub step: u64,
    /// Time since the start.
    pub time: f64,
    /// The last step.
    pub report: StepReport,
    /// Figures of all steps.
    pub figures: RunFigures,
    /// Collisions out of order, of all steps.
    pub late: u64,
    /// Spheres stopped at their time of impact.
    pub stopped: u64,
    /// Spheres with a collision still pending.
    pub unresolved: u64,
    /// Simulated time for each second that is asked for; none: as fast as it can.
    pub pace: Option<f64>,
    /// It stands still.
    pub paused: bool,
    /// The device times the stages.
    pub profiled: bool,
    /// Why it cannot go on.
    pub failed: Option<String>,
    /// Counts the changes of the world.
    pub world: u64,
    /// The sphere that is inspected, where looking at it costs no wait.
    pub inspected: Option<Box<Inspected>>,
}

impl Status {
    /// How far things are.
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

/// See the module.
#[derive(Default)]
pub struct SharedState {
    /// Spheres that the window has not taken yet.
    pub picture: Option<Picture>,
    /// Buffers that the window is done with.
    pub spare: Option<Picture>,
    /// What is to be shown in the panel.
    pub status: Option<Status>,
    /// What the window has not read yet, the oldest first.
    pub news: VecDeque<(News, Counters)>,
    /// The device is gone, or a scene could not be started at all.
    pub fatal: Option<crate::Error>,
}

/// A board that both sides hold.
#[derive(Clone, Default)]
pub struct Shared(Arc<Mutex<SharedState>>);

impl Shared {
    /// Nobody waits for long: neither side computes while it holds the board.
    pub fn lock(&self) -> MutexGuard<'_, SharedState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
