//! Distributions of speeds.

use carom::Dimensions::{self, Three, Two};
use carom::analysis::speed_distributions;
use glam::DVec3;

use crate::support::{normal, rng};

// Velocities of a Maxwellian of temperature 2.5, with masses in turn, and a drift.
fn maxwellian(seed: u64, count: usize, masses: &[f64], dimensions: Dimensions) -> (Vec<DVec3>, Vec<f64>) {
    let mut rng = rng(seed);
    let masses: Vec<f64> = (0..count).map(|k| masses[k % masses.len()]).collect();
    let drift = DVec3::new(10.0, -4.0, 0.0);
    let velocities = masses.iter().map(|m| drift + normal(&mut rng, dimensions) * (2.5 / m).sqrt()).collect();
    (velocities, masses)
}

#[test]
fn a_maxwellian_is_recognized_with_its_temperature_and_drift() {
    for dimensions in [Two, Three] {
        for seed in 0..10 {
            let (velocities, masses) = maxwellian(seed, 20_000, &[3.0], dimensions);
            let found = speed_distributions(&velocities, &masses, dimensions, 40).unwrap();
            let [one] = &found[..] else { panic!("{} distributions", found.len()) };
            assert_eq!((one.mass, one.sphere_count), (Some(3.0), 20_000));
            // The relative error of the temperature is sqrt(2 / (D N)).
            assert!(
                (one.temperature / 2.5 - 1.0).abs() < 0.04,
                "{dimensions:?}, seed {seed}: {}",
                one.temperature
            );
            assert!((one.drift - DVec3::new(10.0, -4.0, 0.0)).length() < 0.04);
            assert_eq!(one.counts.iter().sum::<u64>(), 20_000);
            assert!(one.chi_square_probability.unwrap() > 1e-3, "{dimensions:?}, seed {seed}: {one:?}");
            assert!(one.kolmogorov_probability > 1e-2, "{dimensions:?}, seed {seed}: {one:?}");
            assert!(one.degrees_of_freedom > 20);
        }
    }
}

#[test]
fn chi_square_probabilities_are_even_over_many_maxwellians() {
    let probabilities: Vec<f64> = (0..200)
        .map(|seed| {
            let (velocities, masses) = maxwellian(seed + 100, 2000, &[1.0], Three);
            speed_distributions(&velocities, &masses, Three, 30).unwrap()[0].chi_square_probability.unwrap()
        })
        .collect();
    let mean = probabilities.iter().sum::<f64>() / 200.0;
    // The mean of 200 even numbers has a deviation of 0.02; the range of the histogram is that of the sample, a small bias.
    assert!((mean - 0.5).abs() < 0.08, "mean {mean}");
    let low = probabilities.iter().filter(|p| **p < 0.1).count();
    assert!((6..=36).contains(&low), "{low} of 200 below 0.1");
}

#[test]
fn each_mass_has_its_own_distribution_and_all_share_thermal_speeds() {
    let (velocities, masses) = maxwellian(3, 30_000, &[4.0, 1.0, 1.0], Three);
    let found = speed_distributions(&velocities, &masses, Three, 50).unwrap();
    let masses: Vec<Option<f64>> = found.iter().map(|one| one.mass).collect();
    assert_eq!(masses, [None, Some(1.0), Some(4.0)]);
    assert_eq!(found.iter().map(|one| one.sphere_count).collect::<Vec<_>>(), [30_000, 20_000, 10_000]);
    for one in &found {
        assert!((one.temperature / 2.5 - 1.0).abs() < 0.05, "{:?}: {}", one.mass, one.temperature);
        assert!(one.chi_square_probability.unwrap() > 1e-3, "{:?}", one.mass);
    }
    // Many masses have only the common distribution.
    let many: Vec<f64> = (0..30_000).map(|k| 1.0 + 1e-3 * f64::from(k)).collect();
    assert_eq!(speed_distributions(&velocities, &many, Three, 50).unwrap().len(), 1);
}

#[test]
fn equal_speeds_are_no_maxwellian() {
    let mut rng = rng(1);
    let velocities: Vec<DVec3> = (0..5000).map(|_| normal(&mut rng, Three).normalize()).collect();
    let found = speed_distributions(&velocities, &[1.0; 5000], Three, 40).unwrap();
    assert!(found[0].chi_square_probability.unwrap() < 1e-10 && found[0].kolmogorov_probability < 1e-10);
    // kT of spheres of speed 1 and mass 1 is 1/3.
    assert!((found[0].temperature - 1.0 / 3.0).abs() < 1e-3);
}

#[test]
fn the_expected_numbers_add_up() {
    let (velocities, masses) = maxwellian(8, 4000, &[1.0], Two);
    let found = speed_distributions(&velocities, &masses, Two, 64).unwrap();
    let expected: f64 = found[0].expected.iter().sum();
    assert!(expected < 4000.0 && expected > 3990.0, "{expected}");
    let area: f64 = (0..64).map(|k| found[0].density(k) * found[0].bin_width).sum();
    assert!((area - 1.0).abs() < 1e-12);
}
