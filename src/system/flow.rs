//! Sources, which add spheres during a run, and sinks, which remove spheres.

use glam::DVec3;

use crate::MaterialIndex;

/// Pours spheres into a box of the world.
///
/// Sphere k of a source, counted from 1, is due `k / rate` after [`from`](Self::from), if that is before
/// [`until`](Self::until) and k is at most [`count`](Self::count). Spheres that become due in a step appear at its start, so
/// the number poured by the end of a step at time t is the number due: `floor(rate * (t - from))`.
///
/// The diameter and velocity of each sphere are drawn from [`System::seed`](crate::System::seed) and its number. Its
/// position is drawn in the same manner, uniformly in the box, until a free position is found: clear of all spheres, clear
/// of all walls at that time, and with the whole sphere inside the box. After 1000 occupied positions, this sphere and all
/// later ones wait and try again in the next step; [`StepReport::waiting`](crate::StepReport::waiting) counts them. Waiting
/// spheres arrive as soon as there is space, even after `until`.
///
/// New ids continue after the largest id of any sphere of the run.
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
#[cfg_attr(feature = "files", derive(serde::Deserialize, serde::Serialize))]
pub struct Source {
    /// Lower corner of the box (length). In 2D `z` is not used.
    pub min: DVec3,
    /// Upper corner (length), above `min` on every axis by more than the largest diameter. Along a periodic axis it lies
    /// inside the bounds; if the box spans a periodic axis, spheres may cross the boundary.
    pub max: DVec3,
    /// Spheres per time, > 0.
    pub rate: f64,
    /// Time at which the source begins.
    pub from: f64,
    /// Time after which no further sphere becomes due, > `from`; infinity for no end.
    pub until: f64,
    /// Most spheres in total; `None` for no limit.
    pub count: Option<u64>,
    /// Diameters (length), each with its share of the number of spheres; the shares add up to 1.
    pub diameters: Vec<(f64, f64)>,
    /// Mean velocity (length/time).
    pub velocity: DVec3,
    /// Standard deviation of each velocity component (length/time), >= 0; a gas has kT = mass * spread^2.
    pub spread: f64,
    /// Material of the spheres; their mass follows from its density.
    pub material: MaterialIndex,
    /// Name in messages.
    pub name: String,
}

impl Source {
    /// A source of spheres of diameter 1 at rest, from time 0 without end.
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

    /// Number of spheres due up to a time.
    pub fn due(&self, time: f64) -> u64 {
        // The time is a sum over steps, with an error of 1e-10 of its value after 1e6 steps, so a value this little below a
        // whole number counts as that number. With a larger slack, spheres would come noticeably early.
        const SLACK: f64 = 1e-6;
        let due = self.rate * (time.min(self.until) - self.from) + SLACK;
        // Negative before the source begins; the cast clamps to 0.
        (due.floor() as u64).min(self.count.unwrap_or(u64::MAX))
    }

    /// Largest radius that the source pours (length).
    pub(crate) fn largest_radius(&self) -> f64 {
        0.5 * self.diameters.iter().map(|&(diameter, _)| diameter).fold(0.0, f64::max)
    }
}

/// Removes spheres from the world whose centre is in a box at the end of a step.
///
/// A sphere that crosses the box within a step is missed: make the box thicker than the distance that the fastest
/// sphere covers in a step (in [`every`](Self::every) steps). Fixed spheres stay.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "files", derive(serde::Deserialize, serde::Serialize))]
pub struct Sink {
    /// Lower corner of the box (length); components may be -infinity.
    pub min: DVec3,
    /// Upper corner (length), above `min`; components may be infinity. In 2D `z` is not used.
    pub max: DVec3,
    /// Steps between two checks, >= 1. Checks are cheap: a device tests the spheres itself and reports those in the box. If
    /// a sink takes spheres in most checks, the next step waits for the report.
    pub every: u32,
    /// Unique name in reports and messages.
    pub name: String,
}

impl Sink {
    /// A sink that checks after every step.
    pub fn new(min: DVec3, max: DVec3, name: &str) -> Self {
        Self { min, max, every: 1, name: name.to_owned() }
    }

    /// Whether a point of a world with `dimensions` axes is in the box, lower faces included.
    pub(crate) fn holds(&self, point: DVec3, dimensions: usize) -> bool {
        (0..dimensions).all(|axis| point[axis] >= self.min[axis] && point[axis] < self.max[axis])
    }
}

/// Spheres that a sink has removed since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "files", derive(serde::Deserialize, serde::Serialize))]
pub struct SinkCount {
    /// Number of spheres.
    pub removed: u64,
    /// Total mass of the spheres.
    pub mass: f64,
}
