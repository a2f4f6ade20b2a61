//! Random numbers and random states.

use carom::Dimensions;
use carom::analysis::Domain;
use glam::DVec3;
use rand_distr::{Distribution, StandardNormal};
use rand_pcg::Pcg64;

/// A random generator.
pub fn rng(seed: u64) -> Pcg64 {
    Pcg64::new(u128::from(seed), 0xcafe_f00d_d15e_a5e5)
}

/// A number from 0 to 1.
pub fn uniform(rng: &mut Pcg64) -> f64 {
    rand_distr::StandardUniform.sample(rng)
}

/// A vector of independent normal numbers; in 2D with z = 0.
pub fn normal(rng: &mut Pcg64, dimensions: Dimensions) -> DVec3 {
    let mut one = || StandardNormal.sample(rng);
    let (x, y) = (one(), one());
    DVec3::new(x, y, if dimensions == Dimensions::Three { one() } else { 0.0 })
}

/// Points spread evenly over a box; in 2D with z = 0.
pub fn points(rng: &mut Pcg64, count: usize, domain: &Domain) -> Vec<DVec3> {
    let mut point = || {
        let mut p =
            domain.min + (domain.max - domain.min) * DVec3::new(uniform(rng), uniform(rng), uniform(rng));
        if domain.dimensions == Dimensions::Two {
            p.z = 0.0;
        }
        p
    };
    (0..count).map(|_| point()).collect()
}

/// A box with corners in no special place.
pub fn domain(size: [f64; 3], periodic: [bool; 3], dimensions: Dimensions) -> Domain {
    let min = DVec3::new(-3.7, 11.2, 0.4);
    Domain { min, max: min + DVec3::from_array(size), periodic, dimensions }
}
