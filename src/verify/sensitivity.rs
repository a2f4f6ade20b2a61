//! Compares a step with resting contacts with the scatter of the same step among engines that round differently.
//!
//! Contacts and impacts in a crowd pass a rounding error on from sphere to sphere, and no bound on single impacts covers
//! this. The scatter is measured instead: the cpu engine repeats the step from states that differ from the true one by a
//! rounding error. The gpu engine agrees if its result is about as close to the result of the cpu engine as the repetitions
//! are. An error of the gpu engine in a step that rounding hardly changes, or in more spheres than rounding reaches, is found.

use glam::DVec3;

use super::error_bounds::Step;
use crate::{Error, Sphere, System, scene::rng::SeededRng};

/// Largest number of repetitions. Rounding that decides whether an impact happens does so in about every second one.
const REPETITIONS: u64 = 16;

/// Ratio of the gpu engine's differences to the largest ones of the repetitions up to which both count as equal. A few
/// repetitions of a distribution with long tails do not show its largest values.
const SPREAD: f64 = 2.0;

/// How far the gpu engine is from the cpu engine, as a share of the scatter; at most 1 if they agree. `repeat` takes the
/// step on the cpu engine from another state, `rounding` is as in [`error_bounds`](super::error_bounds).
///
/// # Errors
/// Those of `repeat`.
pub fn share_of_scatter(
    system: &System,
    device: &Step,
    twin: &Step,
    rounding: f64,
    mut repeat: impl FnMut(&System) -> Result<Step, Error>,
) -> Result<f64, Error> {
    let found = Differences::new(system, &device.spheres, &twin.spheres);
    let mut scatter = Differences::default();
    let mut share = f64::INFINITY;
    for seed in 0..REPETITIONS {
        let step = repeat(&rounded_differently(system, rounding, seed))?;
        scatter.include(Differences::new(system, &step.spheres, &twin.spheres));
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
    let mut vector = || {
        let within = |axis| if axis < axes { rng.within(-rounding, rounding) } else { 0.0 };
        DVec3::from_array(std::array::from_fn(within))
    };
    let mut system = system.clone();
    let fall = system.gravity.length() * system.dt;
    for s in system.spheres.iter_mut().filter(|s| !s.fixed) {
        s.position += vector() * 2.0 * s.radius;
        s.velocity += vector() * (s.velocity.length() + fall);
        s.spin *= 1.0 + vector().x;
    }
    system
}

/// Differences of all spheres between two results of a step, the largest first: of positions, velocities, and spins times
/// the radius.
#[derive(Default)]
struct Differences([Vec<f64>; 3]);

impl Differences {
    fn new(system: &System, results: &[Sphere], others: &[Sphere]) -> Self {
        let mut differences = [const { vec![] }; 3];
        for (a, b) in results.iter().zip(others) {
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
        let largest = system.spheres.iter().map(|s| 2.0 * s.radius).fold(0.0, f64::max);
        let fall = system.gravity.length() * system.dt;
        let fastest = system.spheres.iter().map(|s| s.velocity.length()).fold(fall, f64::max);
        let least = [rounding * largest, rounding * fastest, rounding * fastest];
        let shares = self.0.iter().zip(&scatter.0).zip(least).flat_map(|((values, scatter), least)| {
            values.iter().zip(scatter).map(move |(value, scatter)| value / (SPREAD * scatter.max(least)))
        });
        // A value that is not a number is as far from any other as can be.
        shares.map(|share| if share.is_nan() { f64::INFINITY } else { share }).fold(0.0, f64::max)
    }
}
