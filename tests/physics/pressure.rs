//! The equation of state of hard spheres and their collision rate.

use std::f64::consts::PI;

use carom::Backend;

use crate::support::{compressibility, melted_gas, simulate_silently};

on_each_backend!(
    pressure_and_rate_at_a_tenth (gpu: long "a minute"),
    pressure_and_rate_at_a_fifth (gpu: long "a minute"),
    pressure_and_rate_at_three_tenths (gpu: long "a minute"),
    pressure_and_rate_at_two_fifths (gpu: long "a minute"),
    // Statistical error .03%.
    pressure_at_all_densities_within_a_tenth_of_a_percent (cpu: long "about 5 min", exact: long "about 5 min", gpu: campaign "about an hour"),
);

/// Mean and standard error of the mean over blocks.
fn blocks(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (count - 1.0);
    (mean, (variance / count).sqrt())
}

struct Measured {
    z: f64,
    error: f64,
    // Z from the collision rate.
    z_of_rate: f64,
}

// Blocks are long compared with the correlation time of the pressure (a few collisions).
fn measure(volume_fraction: f64, collisions: usize, seed: u64, backend: Backend) -> Measured {
    const BLOCKS: usize = 25;
    const PER_STEP: f64 = 0.5;
    let system = melted_gas(10, volume_fraction, PER_STEP, seed, backend);
    let mut simulation = simulate_silently(&system, backend);
    let steps = (collisions as f64 / PER_STEP) as usize / BLOCKS;
    let mut values = vec![];
    for _ in 0..BLOCKS {
        let (mut virial, mut energy) = (0.0, 0.0);
        for _ in 0..steps {
            let report = simulation.step().unwrap();
            virial += report.virial;
            energy += report.kinetic_energy * system.dt;
        }
        values.push(1.0 + virial / (2.0 * energy));
    }
    let (z, error) = blocks(&values);
    let summary = simulation.summary();
    let temperature = summary.kinetic_energy / (1.5 * system.spheres.len() as f64);
    let z_of_rate = 1.0 + summary.collision_rate * PI.sqrt() / 6.0 / temperature.sqrt();
    assert!((summary.compressibility.unwrap() / z - 1.0).abs() < 1e-4, "the summary's Z is another");
    println!(
        "{backend:?} phi {volume_fraction}: Z {z:.5} +- {error:.5} ({:+.3}% +- {:.3}% off the fit), by the rate \
         {z_of_rate:.5} ({:+.3}%); {} impacts, {:.1} s",
        100.0 * (z / compressibility(volume_fraction) - 1.0),
        100.0 * error / z,
        100.0 * (z_of_rate / z - 1.0),
        summary.pair_impacts,
        summary.wall_seconds,
    );
    Measured { z, error, z_of_rate }
}

fn judge(volume_fraction: f64, collisions: usize, backend: Backend) {
    let Measured { z, error, z_of_rate } = measure(volume_fraction, collisions, 7, backend);
    assert!(error <= 0.0015 * z, "the error bar is too long to judge: {z} +- {error}");
    assert!((z / compressibility(volume_fraction) - 1.0).abs() <= 0.005, "Z {z}");
    assert!(((z_of_rate - 1.0) / (z - 1.0) - 1.0).abs() <= 0.005, "Z {z}, by the rate {z_of_rate}");
}

fn pressure_and_rate_at_a_tenth(backend: Backend) {
    judge(0.1, 250, backend);
}

fn pressure_and_rate_at_a_fifth(backend: Backend) {
    judge(0.2, 250, backend);
}

fn pressure_and_rate_at_three_tenths(backend: Backend) {
    judge(0.3, 250, backend);
}

fn pressure_and_rate_at_two_fifths(backend: Backend) {
    judge(0.4, 250, backend);
}

fn pressure_at_all_densities_within_a_tenth_of_a_percent(backend: Backend) {
    for volume_fraction in [0.1, 0.2, 0.3, 0.4] {
        let Measured { z, error, z_of_rate } = measure(volume_fraction, 10_000, 8, backend);
        assert!(error <= 0.0003 * z, "the error bar is too long to judge: {z} +- {error}");
        assert!((z / compressibility(volume_fraction) - 1.0).abs() <= 0.001, "Z {z}");
        assert!(((z_of_rate - 1.0) / (z - 1.0) - 1.0).abs() <= 0.002, "Z {z}, by the rate {z_of_rate}");
    }
}
