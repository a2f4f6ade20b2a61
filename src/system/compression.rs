//! Compression of a periodic box to a target packing fraction or a target pressure.

/// Shrinks the box of a system whose axes are all periodic, about its middle, before every step: lengths by `rate * dt`.
///
/// Positions shrink with the box; velocities and radii stay. Pairs that overlap afterwards, a few in a dense gas, are pushed
/// apart along the line of their centres until they are just clear of each other. If other spheres block this, the box
/// shrinks by less, down to a 16th of the step; if that fails too, the stage is [`CompressionStage::Stuck`]. The slower the
/// compression, the nearer this state is to jamming. Velocities do not change, so no work is done: an elastic gas keeps its
/// energy, momentum and temperature.
///
/// Lubachevsky & Stillinger (J. Stat. Phys. 60, 561, 1990) instead let moving spheres grow. In the frame of the box the two
/// methods are the same except for the work: theirs heats the gas.
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
#[cfg_attr(feature = "files", derive(serde::Deserialize, serde::Serialize))]
pub struct Compression {
    /// Share of its length that the box loses per time (1/time), > 0; at most a hundredth in a step.
    pub rate: f64,
    /// Packing fraction (in 2D area fraction) at which the compression stops; above that of the start, and at most that of
    /// the densest packing of equal spheres: 0.7405, in 2D 0.9069.
    pub fraction: Option<f64>,
    /// Pressure (energy/volume, in 2D energy/area), > 0, at which the compression stops. The mean over the last 0.002 /
    /// `rate` is compared with this target. The error is the growth of the pressure in that time plus the scatter of the
    /// mean; both fall with the rate.
    pub pressure: Option<f64>,
}

/// Stage of a compression.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "files", derive(serde::Deserialize, serde::Serialize))]
pub enum CompressionStage {
    /// The box is shrinking.
    #[default]
    Running,
    /// A target is reached; the box keeps its size.
    Reached,
    /// The spheres can get no closer, or the periods are as short as the largest sphere permits; the box keeps its size.
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

/// Current state of a compression.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Compressed {
    /// Stage of the compression.
    pub stage: CompressionStage,
    /// Packing fraction, in 2D area fraction.
    pub packing_fraction: f64,
    /// Mean pressure from the momentum of the spheres and the virial of their impacts (energy/volume). While the box
    /// shrinks, the mean covers the last 0.002 / rate; afterwards, the time since the end of the compression. 0 before the
    /// first step.
    pub pressure: f64,
}
