//! Compression of a periodic box to a target packing fraction or a target pressure.

use crate::{Bounds, Dimensions, System};

/// Relative tolerance within which the target packing fraction counts as reached.
pub(crate) const NEAR: f64 = 1e-9;

/// Shrinks the box of a system whose axes are all periodic, about its middle, at the start of every step: lengths by `rate * dt`.
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
    /// The box keeps its size: the spheres block even a 16th of the shrinkage of a step, or a period is as short as the largest sphere
    /// permits.
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

impl Compression {
    /// Share of its lengths that a box is to lose in a step of length `dt`. The spheres fill the share `filled` of it, and it shrinks along
    /// `axes` axes. 0 if it is as small as requested.
    pub(crate) fn share(&self, filled: f64, dt: f64, axes: usize) -> f64 {
        let share = self.rate * dt;
        let Some(target) = self.fraction else { return share };
        let left = 1.0 - (filled / target).powf(1.0 / axes as f64);
        if left <= NEAR { 0.0 } else { share.min(left) }
    }
}

impl System {
    /// Share of the box that the spheres fill.
    pub(crate) fn packing_fraction(&self) -> f64 {
        self.volume_of_spheres() / self.bounds.content(self.dimensions)
    }

    /// Sum of the volumes of all spheres, in 2D of their areas.
    pub(crate) fn volume_of_spheres(&self) -> f64 {
        let sphere = |radius: f64| match self.dimensions {
            Dimensions::Two => std::f64::consts::PI * radius * radius,
            Dimensions::Three => 4.0 / 3.0 * std::f64::consts::PI * radius.powi(3),
        };
        self.spheres.iter().map(|s| sphere(s.radius)).sum()
    }
}

impl Bounds {
    /// Volume of the box, in 2D its area. Meaningful only if all axes are periodic.
    pub(crate) fn content(&self, dimensions: Dimensions) -> f64 {
        (0..dimensions.count()).map(|axis| self.max[axis] - self.min[axis]).product()
    }

    /// The bounds after a box has lost this share of its lengths, about its middle; `axes` is 2 or 3. A share of 0 keeps every bit.
    pub(crate) fn shrunk(&self, share: f64, axes: usize) -> Self {
        let mut bounds = self.clone();
        if share == 0.0 {
            return bounds;
        }
        for axis in 0..axes {
            let middle = 0.5 * (self.min[axis] + self.max[axis]);
            bounds.min[axis] = middle + (1.0 - share) * (self.min[axis] - middle);
            bounds.max[axis] = middle + (1.0 - share) * (self.max[axis] - middle);
        }
        bounds
    }
}
