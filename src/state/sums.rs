//! The sums and speeds that the stage `audit` computes and that step plans use.

use glam::DVec3;

/// Number of f32 bits below its class: the class consists of the exponent and four bits of the mantissa.
pub const CLASS_SHIFT: u32 = 19;

/// Number of speed classes: sixteen for each factor of two of the squared speed, 2% of speed each.
pub const CLASSES: usize = 1 << (31 - CLASS_SHIFT);

/// Number of spheres sampled for the median velocity.
pub const SAMPLE: usize = 1024;

/// Sums over all spheres, in scaled units.
#[derive(Clone, Copy, Debug, Default)]
#[cfg_attr(feature = "files", derive(serde::Deserialize, serde::Serialize))]
pub struct Sums {
    /// Kinetic energy, spin included.
    pub kinetic: f64,
    /// The part of it in the spins.
    #[cfg_attr(feature = "files", serde(default))]
    pub spin: f64,
    /// Sum of mass * centre, counted from the grid's origin.
    pub mass_position: DVec3,
    pub momentum: DVec3,
    /// Median velocity of the spheres, axis by axis: the motion of the bulk, insensitive to a few fast spheres.
    pub drift: DVec3,
    pub nonfinite: u64,
    /// Smallest id among the non-finite spheres.
    pub first_nonfinite: u32,
    /// Speed relative to the drift that one sphere in ten exceeds.
    pub bulk_speed: f32,
    /// Speed relative to the drift that one sphere in fifty exceeds.
    pub crowd_speed: f32,
    /// Speed relative to the drift that one in [`HIGH`] spheres exceeds.
    pub high_speed: f32,
    /// Speeds relative to the drift that one in [`TAIL`] spheres exceeds; 0 if they are not known.
    #[cfg_attr(feature = "files", serde(default))]
    pub tail_speeds: [f32; TAIL.len()],
}

/// One in so many spheres exceeds [`Sums::high_speed`].
pub const HIGH: u64 = 5000;

/// One in so many spheres exceeds each of [`Sums::tail_speeds`].
pub const TAIL: [u64; 7] = [2500, 1000, 500, 250, 120, 60, 30];

impl Sums {
    /// With the speeds of `count` spheres, from the number of spheres in each speed class.
    pub fn with_speeds(self, speeds: &[u32], count: u64) -> Self {
        let [bulk_speed, crowd_speed, high_speed] =
            [10, 50, HIGH].map(|part| exceeded_by(speeds, count / part));
        let tail_speeds = TAIL.map(|part| exceeded_by(speeds, count / part));
        Self { bulk_speed, crowd_speed, high_speed, tail_speeds, ..self }
    }
}

/// Upper end of the speed class above which at most `count` spheres lie.
fn exceeded_by(speeds: &[u32], count: u64) -> f32 {
    let mut above = 0;
    for (class, &n) in speeds.iter().enumerate().rev() {
        above += u64::from(n);
        if above > count {
            let square = f32::from_bits((class as u32 + 1) << CLASS_SHIFT);
            return if square.is_finite() { square.sqrt() } else { f32::INFINITY };
        }
    }
    0.0
}

/// Median of the finite values; 0 if there are none. Reorders `sample`.
pub fn median(sample: &mut Vec<f32>) -> f64 {
    sample.retain(|v| v.is_finite());
    if sample.is_empty() {
        return 0.0;
    }
    let middle = sample.len() / 2;
    f64::from(*sample.select_nth_unstable_by(middle, f32::total_cmp).1)
}
