//! Compares a step with resting contacts with the scatter of the same step among engines that round differently.
//!
//! Contacts and impacts in a crowd pass a rounding error on from sphere to sphere, and no bound on single impacts covers
//! this. The scatter is measured instead: the cpu engine repeats the step from states that differ from the true one by a
//! rounding error. The gpu engine agrees if its result is about as close to the result of the cpu engine as the repetitions
//! are.
//!
//! Differences are compared by rank: the largest with the largest, the second with the second. An error is found if it is
//! larger than the scatter, or if it is in more spheres than rounding reaches. An error in one sphere is not found if rounding
//! makes as large a difference in another.

use glam::DVec3;

use super::error_bounds::Step;
use crate::{Error, System, scene::rng::SeededRng};

/// Largest number of repetitions. If rounding decides whether an impact happens, about half of the repetitions show it.
pub(super) const REPETITIONS: u64 = 16;

/// Ratio of the gpu engine's differences to the largest ones of the repetitions up to which both count as equal. A few
/// repetitions of a distribution with long tails do not show its largest values.
pub(super) const SPREAD: f64 = 2.0;

/// How far the gpu engine is from the cpu engine, as a share of the scatter; at most 1 if they agree. `repeat` takes the
/// step on the cpu engine from another state, and returns none if that state has no next step; `rounding` is as in [`error_bounds`](super::error_bounds).
///
/// # Errors
/// Returns the errors of `repeat`.
pub fn share_of_scatter(
    system: &System,
    device: &Step,
    twin: &Step,
    rounding: f64,
    mut repeat: impl FnMut(&System) -> Result<Option<Step>, Error>,
) -> Result<f64, Error> {
    let found = Differences::new(system, device, twin);
    let mut scatter = Differences::default();
    let mut share = f64::INFINITY;
    for seed in 0..REPETITIONS {
        let Some(step) = repeat(&rounded_differently(system, rounding, seed))? else { continue };
        scatter.include(Differences::new(system, &step, twin));
        share = found.share_of(&scatter, system, rounding);
        if share <= 1.0 {
            break;
        }
    }
    Ok(share)
}

// The system with a rounding error in each position, velocity and spin.
fn rounded_differently(system: &System, rounding: f64, seed: u64) -> System {
    let mut rng = SeededRng::new(seed, "rounding", 0);
    let axes = system.dimensions.count();
    let largest = largest_diameter(system);
    let mut vector = || {
        let within = |axis| if axis < axes { rng.within(-rounding, rounding) } else { 0.0 };
        DVec3::from_array(std::array::from_fn(within))
    };
    let mut system = system.clone();
    let fall = system.gravity.length() * system.dt;
    for s in system.spheres.iter_mut().filter(|s| !s.fixed) {
        s.position += vector() * (largest + s.velocity.length() * system.dt);
        s.velocity += vector() * (s.velocity.length() + fall);
        s.spin *= 1.0 + vector().x;
    }
    system
}

fn largest_diameter(system: &System) -> f64 {
    system.spheres.iter().map(|s| 2.0 * s.radius).fold(0.0, f64::max)
}

/// Differences of all spheres between two results of a step, the largest first: of positions, velocities, and spins times
/// the radius; and that of the numbers of impacts.
#[derive(Default)]
struct Differences([Vec<f64>; 4]);

impl Differences {
    fn new(system: &System, one: &Step, other: &Step) -> Self {
        let impacts = one.impacts.len().abs_diff(other.impacts.len());
        let mut differences = [vec![], vec![], vec![], vec![impacts as f64]];
        for (a, b) in one.spheres.iter().zip(&other.spheres) {
            differences[0].push(system.separation(a.position, b.position).length());
            differences[1].push((a.velocity - b.velocity).length());
            differences[2].push((a.spin - b.spin).length() * a.radius);
        }
        differences.iter_mut().for_each(|values| values.sort_by(|a, b| b.total_cmp(a)));
        Self(differences)
    }

    // Takes over the differences that are larger than those of the same rank.
    fn include(&mut self, others: Self) {
        for (values, others) in self.0.iter_mut().zip(others.0) {
            values.resize(others.len(), 0.0);
            values.iter_mut().zip(others).for_each(|(value, other)| *value = value.max(other));
        }
    }

    // The largest ratio to the scatter of the same rank, which is at least the rounding of a result.
    fn share_of(&self, scatter: &Self, system: &System, rounding: f64) -> f64 {
        let largest = largest_diameter(system);
        let fall = system.gravity.length() * system.dt;
        let fastest = system.spheres.iter().map(|s| s.velocity.length()).fold(fall, f64::max);
        // One impact may exist on one side alone.
        let least = [rounding * largest, rounding * fastest, rounding * fastest, 1.0 / SPREAD];
        let shares = self.0.iter().zip(&scatter.0).zip(least).flat_map(|((values, scatter), least)| {
            let differing = values.iter().zip(scatter).filter(|(value, _)| **value != 0.0);
            differing.map(move |(value, scatter)| value / (SPREAD * scatter.max(least)))
        });
        // A value that is not a number is as far from any other as can be.
        shares.map(|share| if share.is_nan() { f64::INFINITY } else { share }).fold(0.0, f64::max)
    }
}
