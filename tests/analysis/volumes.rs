//! Packing fractions.

use std::f64::consts::PI;

use carom::Dimensions::{Three, Two};
use carom::analysis::{Domain, packing_fraction, packing_profile};
use glam::DVec3;

use crate::support::{domain, points, rng, uniform};

#[test]
fn whole_spheres_fill_their_volume() {
    let three = domain([4.0, 5.0, 6.0], [true; 3], Three);
    let positions = points(&mut rng(1), 10, &three);
    let fraction = packing_fraction(&positions, &[0.5; 10], &three).unwrap();
    assert!((fraction - 10.0 * PI / 6.0 / 120.0).abs() < 1e-15);
    let two = domain([4.0, 5.0, 0.0], [true, true, false], Two);
    let fraction = packing_fraction(&points(&mut rng(1), 10, &two), &[0.5; 10], &two).unwrap();
    assert!((fraction - 10.0 * PI / 4.0 / 20.0).abs() < 1e-15);
}

#[test]
fn walls_cut_spheres() {
    let unit =
        Domain { min: DVec3::ZERO, max: DVec3::ONE, periodic: [true, false, false], dimensions: Three };
    // At a face half, at an edge a quarter; outside nothing; the periodic x axis cuts nothing.
    let positions = [DVec3::new(0.0, 0.0, 0.5), DVec3::new(0.5, 1.0, 1.0), DVec3::new(0.5, 2.0, 0.5)];
    let fraction = packing_fraction(&positions, &[0.1; 3], &unit).unwrap();
    assert!((fraction - 0.75 * 4.0 / 3.0 * PI * 1e-3).abs() < 1e-12);
}

#[test]
fn slabs_hold_exact_parts_of_a_sphere() {
    let unit = Domain::periodic(DVec3::ZERO, DVec3::ONE, Three);
    // Centre on the boundary of the box: half at each end, in slabs of 1/10. Slab volume of a sphere of radius 0.2 between 0.1
    // and 0.2: a cap of height 0.1.
    let cap = PI * 0.01 * (0.6 - 0.1) / 3.0;
    let half = 2.0 / 3.0 * PI * 0.008;
    for axis in 0..3 {
        let profile = packing_profile(
            &[DVec3::splat(0.5).with_z(0.5) - DVec3::AXES[axis] * 0.5],
            &[0.2],
            &unit,
            axis,
            10,
        );
        let expected = [half - cap, cap, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, cap, half - cap];
        for (found, expected) in profile.unwrap().iter().zip(expected) {
            assert!((found - 10.0 * expected).abs() < 1e-14, "axis {axis}: {found}, not {}", 10.0 * expected);
        }
    }
}

#[test]
fn a_profile_adds_up_to_the_fraction() {
    for (seed, periodic, dimensions) in [
        (1, [true; 3], Three),
        (2, [false, true, false], Three),
        (3, [false; 3], Three),
        (4, [false; 3], Two),
    ] {
        let domain = domain([3.0, 4.0, 5.0], periodic, dimensions);
        let mut rng = rng(seed);
        let positions = points(&mut rng, 300, &domain);
        let radii: Vec<f64> = (0..300).map(|_| 0.02 + 0.5 * uniform(&mut rng)).collect();
        let whole = packing_fraction(&positions, &radii, &domain).unwrap();
        for axis in 0..dimensions.count() {
            let profile = packing_profile(&positions, &radii, &domain, axis, 37).unwrap();
            let mean = profile.iter().sum::<f64>() / 37.0;
            assert!((mean / whole - 1.0).abs() < 1e-9, "seed {seed}, axis {axis}: {mean}, {whole}");
        }
    }
}
