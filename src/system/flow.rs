//! Where spheres come from in the course of a run, and where they leave it.

use glam::DVec3;

use crate::MaterialIndex;

/// Pours spheres into a box of the world.
///
/// Sphere k of a source, counted from 1, is due `k / rate` after [`from`](Self::from), as long as that is before
/// [`until`](Self::until) and k is at most [`count`](Self::count). What falls due in a step appears at its start, so
/// that at the end of a step at time t as many have come as have fallen due: `floor(rate * (t - from))`.
///
/// Diameter and velocity of each are drawn from [`System::seed`](crate::System::seed) and its own number. Its place is drawn
/// in the same way, uniformly in the box, until one is free: clear of all spheres, of all walls as they are at that time, and
/// wholly inside the box. Where a thousand places in a row are taken, it and all that are due after it keep their turn and
/// try again in the next step: [`StepReport::waiting`](crate::StepReport::waiting) counts them. What waited comes as
/// soon as there is room, also after `until`.
///
/// Ids are numbered on after the largest that any sphere of the run has had.
///
/// ```
/// use carom::{Options, Simulation, Source, System};
/// use glam::DVec3;
///
/// let mut system = System { dt: 0.1, ..System::default() };
/// system.sources.push(Source {
///     velocity: DVec3::new(0.0, 0.0, -20.0),
///     ..Source::new(DVec3::ZERO, DVec3::new(8.0, 8.0, 2.0), 25.0)
/// });
/// let mut simulation = Simulation::new(system, Options::default())?;
/// for _ in 0..10 {
///     simulation.step()?;
/// }
/// assert_eq!(simulation.sphere_count(), 25);
/// # Ok::<(), carom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    /// Lower corner of the box (length). In 2D `z` is not used.
    pub min: DVec3,
    /// Upper corner (length), above `min` on every axis by more than the largest diameter. Along a periodic axis it lies
    /// inside the bounds; where it spans them, spheres reach across.
    pub max: DVec3,
    /// Spheres per time, > 0.
    pub rate: f64,
    /// Time at which it begins.
    pub from: f64,
    /// Time after which nothing falls due any more, > `from`; infinity for never.
    pub until: f64,
    /// Most spheres in all; `None` is no limit.
    pub count: Option<u64>,
    /// Diameter (length) and share of the spheres' number; the shares add up to 1.
    pub diameters: Vec<(f64, f64)>,
    /// Mean velocity (length/time).
    pub velocity: DVec3,
    /// Standard deviation of each component of the velocity (length/time), >= 0: that of a gas at kT = mass * spread^2.
    pub spread: f64,
    /// Material of the spheres; their mass follows from its density.
    pub material: MaterialIndex,
    /// What messages call it.
    pub name: String,
}

impl Source {
    /// Spheres of diameter 1 at rest, from time 0 on and without end.
    pub fn new(min: DVec3, max: DVec3, rate: f64) -> Self {
        Self {
            min,
            max,
            rate,
            from: 0.0,
            until: f64::INFINITY,
            count: None,
            diameters: vec![(1.0, 1.0)],
            velocity: DVec3::ZERO,
            spread: 0.0,
            material: 0,
            name: "source".into(),
        }
    }

    /// Spheres that have fallen due up to a time.
    pub fn due(&self, time: f64) -> u64 {
        // Time is added up step by step: what misses a whole number by so little is one. After 1e6 steps it misses by 1e-10 of
        // the time; larger, and spheres would come noticeably early.
        const SLACK: f64 = 1e-6;
        let due = self.rate * (time.min(self.until) - self.from) + SLACK;
        // Negative before it begins; the cast holds it at 0.
        (due.floor() as u64).min(self.count.unwrap_or(u64::MAX))
    }

    /// The largest radius that it pours (length).
    pub(crate) fn largest_radius(&self) -> f64 {
        0.5 * self.diameters.iter().map(|&(diameter, _)| diameter).fold(0.0, f64::max)
    }
}

/// Takes spheres out of the world: those whose centre is in a box at the end of a step.
///
/// A sphere that crosses the box within a step is not seen: make it thicker than what the fastest go in a step (in
/// [`every`](Self::every) steps). Fixed spheres stay.
#[derive(Clone, Debug, PartialEq)]
pub struct Sink {
    /// Lower corner of the box (length); components may be -infinity.
    pub min: DVec3,
    /// Upper corner (length), above `min`; components may be infinity. In 2D `z` is not used.
    pub max: DVec3,
    /// Looks after every so many steps, >= 1. To look costs next to nothing on `cpu`; on a device all spheres are
    /// brought to the host for it, and no step begins before that.
    pub every: u32,
    /// What reports and messages call it; no two have the same.
    pub name: String,
}

impl Sink {
    /// A box that looks after every step.
    pub fn new(min: DVec3, max: DVec3, name: &str) -> Self {
        Self { min, max, every: 1, name: name.to_owned() }
    }

    /// Whether a point of a world of so many dimensions is in the box, its lower faces included.
    pub(crate) fn holds(&self, point: DVec3, dimensions: usize) -> bool {
        (0..dimensions).all(|axis| point[axis] >= self.min[axis] && point[axis] < self.max[axis])
    }
}

/// What a sink has taken since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SinkCount {
    /// Spheres.
    pub removed: u64,
    /// Their mass.
    pub mass: f64,
}
