//! A periodic box that shrinks until it is as full, or under as much pressure, as is asked for.

/// Shrinks the box of a system all of whose axes are periodic, about its middle, before every step: lengths by `rate * dt`.
///
/// Places shrink with the box, velocities and sizes stay. Pairs that overlap then, a few in a dense gas, are pushed apart along
/// the line of their centres to just clear of each other; where others are in the way of that, the box shrinks by
/// less, down to a 16th, and after that it is [`CompressionStage::Stuck`]: jammed, the nearer the slower it was. No velocity changes, so no work
/// is done: an elastic gas keeps its energy and momentum, and its temperature.
///
/// Lubachevsky & Stillinger (J. Stat. Phys. 60, 561, 1990) let the spheres grow instead while they move, which in the frame of the box is the same
/// but for the work: theirs heats the gas.
///
/// ```
/// use carom::{Compression, CompressionStage, Options, Simulation, scene::{Fill, Scene}};
///
/// let gas = Fill::random(200).volume_fraction(0.2).temperature(1.0);
/// let mut system = Scene::new(0.02).periodic().fill(gas).build()?;
/// system.compression = Some(Compression { rate: 0.2, fraction: Some(0.3), pressure: None });
/// let mut simulation = Simulation::new(system, Options::default())?;
/// for _ in 0..40 {
///     simulation.step()?;
/// }
/// let compressed = simulation.compressed().unwrap();
/// assert_eq!(compressed.stage, CompressionStage::Reached);
/// assert!((compressed.packing_fraction - 0.3).abs() < 1e-9);
/// # Ok::<(), carom::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Compression {
    /// Share of its length that the box loses in a unit of time (1/time), > 0; in a step at most a hundredth.
    pub rate: f64,
    /// Share of the box that spheres fill (in 2D of its area) at which it stops; above that of the start and at most that of
    /// the densest packing of equal spheres: 0.7405, in 2D 0.9069.
    pub fraction: Option<f64>,
    /// Pressure (energy/volume, in 2D energy/area), > 0, at which it stops. What is compared with it is a mean over the last 0.002 / `rate`:
    /// the pressure reached is off by what it grows by in that time, and by the scatter of that mean. Both fall with the rate.
    pub pressure: Option<f64>,
}

/// How far a compression is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CompressionStage {
    /// The box shrinks.
    #[default]
    Running,
    /// A target is reached; the box stays.
    Reached,
    /// The spheres can get no closer, or the box is as small as its periods may be for such spheres; it stays.
    Stuck,
}

impl CompressionStage {
    /// `running`, `reached` or `stuck`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Reached => "reached",
            Self::Stuck => "stuck",
        }
    }
}

/// The box of a compression as it is now.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Compressed {
    /// How far it is.
    pub stage: CompressionStage,
    /// Share of the box that spheres fill, in 2D of its area.
    pub packing_fraction: f64,
    /// Mean pressure from the momentum of the spheres and the virial of their impacts (energy/volume): while it shrinks over the last
    /// 0.002 / rate, later since it has stopped. 0 before the first step.
    pub pressure: f64,
}
