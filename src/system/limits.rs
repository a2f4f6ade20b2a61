//! Limits of a step, which validation checks before a run and the planner observes.

/// Most substeps that the planner chooses.
pub const MOST_SUBSTEPS: f64 = 4096.0;

/// Target for the collisions per sphere in a substep. Above it, rounds grow faster than the substeps they save. (Rounds
/// by collisions per sphere: 0.1: 3, 0.3: 5, 1: 11.)
pub const COLLISIONS_PER_SUBSTEP: f64 = 0.3;

/// Largest angle by which a wall turns in a substep, and by which the phase of an oscillation advances (radian). At this
/// value the chord of an oscillation is 0.1% shorter than its arc, and the series for the rotation is accurate to f32.
pub const MOST_TURN: f64 = 0.1;

/// Longest substep with resting contacts, in units of sqrt(d/g) with the smallest diameter d. Two of them make a step of 1/60 s
/// with spheres of 1 m. Landing piles overlap more deeply in longer substeps, and tall ones take longer to come to rest.
pub const REST_SUBSTEP: f64 = 0.0262;

/// The same for ratios of diameters above [`SIMILAR`]: rains with diameters 1:20 overlap by up to .1 of the mean diameter in substeps
/// of [`REST_SUBSTEP`].
const MIXED_REST_SUBSTEP: f64 = 0.0131;

/// Largest ratio of diameters for which substeps of [`REST_SUBSTEP`] are short enough.
const SIMILAR: f64 = 10.0;

/// Number of substeps above which a step is refused. A step takes at most [`MOST_SUBSTEPS`]: with a need a little above it,
/// accuracy suffers; with a need above this number the result would be wrong, and a step of some thousand spheres takes minutes.
pub const MOST_NEEDED: f64 = 1e4;

/// As [`MOST_NEEDED`], for the speeds that spheres reach during a run: a short peak of the speed is allowed.
pub const MOST_NEEDED_LATER: f64 = 1e6;

/// Longest path of a wall and of a sphere of a source in a step, in diameters.
pub const LONGEST_PATH: f64 = 1e6;

/// Path in a substep, in mean diameters, that candidate lists always allow; in dilute systems they allow more.
pub const LEAST_STRIDE: f64 = 0.25;

/// Largest ratio of two diameters. Cells are as wide as the largest spheres, and the finest parts of a cell are a 64th of
/// it: at a much larger ratio every small sphere would be compared with every other one.
pub const MOST_RATIO: f64 = 1e4;

/// Largest length of a bounded axis, in diameters of the largest sphere. Cells are numbered up to 2^28; in a longer box
/// they grow, and the positions in them become coarser than 1e-6 of a diameter.
pub const WIDEST: f64 = 1e9;

/// Range of steps, diameters and masses. Beyond it, scaled units no longer match the system, and squares overflow.
pub const MAGNITUDES: std::ops::RangeInclusive<f64> = 1e-70..=1e70;

/// Most spheres that a source may pour in a step. Each is placed after a search for a free position, so that more take
/// minutes.
pub const MOST_POURED: f64 = 1e7;

// Longest substep with resting contacts of spheres of these sizes, fixed spheres included, in units of sqrt(d/g).
fn rest_substep(smallest: f64, largest: f64) -> f64 {
    // Rounding must not decide on a ratio of just this value.
    if largest <= SIMILAR * (1.0 + 1e-6) * smallest { REST_SUBSTEP } else { MIXED_REST_SUBSTEP }
}

/// Number of substeps that resting contacts need in a step of `dt`, so that none exceeds the longest for these sizes; not limited.
/// Smallest and largest diameter and the other arguments are in one unit system.
pub fn rest_need(dt: f64, gravity: f64, [smallest, largest]: [f64; 2]) -> f64 {
    dt * (gravity / smallest).sqrt() / rest_substep(smallest, largest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spheres_of_similar_sizes_take_longer_substeps() {
        let (dt, gravity) = (1.0 / 60.0, 9.81);
        let substeps = |ratio: f64, unit: f64| {
            rest_need(dt, gravity * unit, [1.0, ratio].map(|diameter| diameter * unit)).ceil()
        };
        for unit in [1e-3, 0.1, 1.0, 1.0 / 3.0, 1e4] {
            assert_eq!([1.0, 2.0, 10.0].map(|ratio| substeps(ratio, unit)), [2.0; 3], "{unit}");
            assert_eq!([10.1, 50.0].map(|ratio| substeps(ratio, unit)), [4.0; 2], "{unit}");
        }
        // Four times the gravity takes twice the substeps.
        assert_eq!(rest_need(dt, 4.0 * gravity, [1.0; 2]), 2.0 * rest_need(dt, gravity, [1.0; 2]));
    }
}
