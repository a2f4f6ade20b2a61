//! A state of a run, ready to be written.

use std::sync::Arc;

use glam::DVec3;

use super::frame::FrameBounds;
use crate::{Side, Sphere, System};

/// A copy of all that a file of spheres holds about one state of a run. It borrows nothing, so a thread can write it while
/// the run goes on.
///
/// ```
/// use carom::{Options, Simulation, files::{Snapshot, read_frames, write_snapshot}, scene::{Fill, Scene}};
///
/// let system = Scene::new(0.01).fill(Fill::lattice([3, 3, 3], 1.5).velocity([0.0, 0.0, 1.0])).build()?;
/// let mut simulation = Simulation::new(system, Options::default())?;
/// for _ in 0..10 {
///     simulation.step()?;
/// }
/// let snapshot = Snapshot::new(simulation.system(), simulation.time(), simulation.spheres().to_vec()).after(10);
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("state.vtp");
/// write_snapshot(&path, &snapshot)?;
/// let frames = read_frames(&path)?;
/// assert_eq!((frames[0].step, frames[0].spheres.len()), (Some(10), 27));
/// assert_eq!(frames[0].spheres[26].position, snapshot.spheres[26].position);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    /// Time of the state.
    pub time: f64,
    /// Number of steps before the state, if it is known.
    pub step: Option<u64>,
    /// The box; an open axis ends where the spheres end.
    pub bounds: FrameBounds,
    /// Names of the materials, by [`Sphere::material`].
    pub materials: Arc<[String]>,
    /// The spheres.
    pub spheres: Vec<Sphere>,
}

impl Snapshot {
    /// The state of these spheres at this time, in the box of `system` and with its materials.
    pub fn new(system: &System, time: f64, spheres: Vec<Sphere>) -> Self {
        let bounds = bounds(system, &spheres);
        Self { time, step: None, bounds, materials: material_names(system).into(), spheres }
    }

    /// Sets the number of steps before the state.
    pub fn after(mut self, steps: u64) -> Self {
        self.step = Some(steps);
        self
    }
}

/// Names of the materials of a system, by their index.
pub(super) fn material_names(system: &System) -> Vec<String> {
    (0..system.materials.len()).map(|index| system.materials.name(index as u16).to_owned()).collect()
}

/// The box of a system; an open axis ends where the spheres end.
pub(super) fn bounds(system: &System, spheres: &[Sphere]) -> FrameBounds {
    let open = [0, 1, 2].map(|axis| system.bounds.sides[axis] == Side::Open);
    let (mut min, mut max) = (system.bounds.min, system.bounds.max);
    let around = || extent(spheres.iter().map(|s| (s.position, s.radius)));
    // A box that is closed on all sides needs no look at the spheres.
    if let Some((low, high)) = open.contains(&true).then(around).flatten() {
        for axis in (0..3).filter(|axis| open[*axis]) {
            (min[axis], max[axis]) = (low[axis], high[axis]);
        }
    }
    FrameBounds { min, max, periodic: [0, 1, 2].map(|axis| system.period(axis).is_some()) }
}

/// The corners of the smallest box that holds all spheres, given by centre and radius; `None` without spheres.
pub(super) fn extent(mut spheres: impl Iterator<Item = (DVec3, f64)>) -> Option<(DVec3, DVec3)> {
    let (first, radius) = spheres.next()?;
    let around = (first - radius, first + radius);
    Some(spheres.fold(around, |(low, high), (p, r)| (low.min(p - r), high.max(p + r))))
}
