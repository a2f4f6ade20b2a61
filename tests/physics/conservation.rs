//! An elastic gas conserves energy, momentum and gaps, near the origin and far from it.

use carom::{Backend, System};
use glam::DVec3;

use crate::support::{collision_rate, gas, simulate_silently};

const FRACTION: f64 = 0.3;

on_each_backend!(
    ten_thousand_collisions_per_sphere_keep_energy_momentum_and_gaps (gpu: long "about 3 min"),
    ten_thousand_diameters_from_the_origin_nothing_is_different (gpu: long "about 3 min"),
    two_hundred_collisions_per_sphere_keep_energy_momentum_and_gaps,
);

fn moved(mut system: System, by: DVec3) -> System {
    system.bounds.min += by;
    system.bounds.max += by;
    system.spheres.iter_mut().for_each(|s| s.position += by);
    system
}

// Simulates 108 spheres until each has collided `collisions` times.
fn hold(mut system: System, collisions: f64, backend: Backend) {
    // One collision per sphere and step; the CPU engine chooses its substeps.
    system.dt = 1.0 / collision_rate(FRACTION);
    let mut simulation = simulate_silently(&system, backend);
    let half = 0.5 * system.spheres.len() as f64;
    let (mut out_of_order, mut deepest) = (0u64, 0.0f64);
    while (simulation.summary().pair_impacts as f64) < collisions * half {
        let report = simulation.step().unwrap();
        if report.late + report.stopped == 0 {
            deepest = deepest.max(report.deepest_overlap);
        } else {
            out_of_order += 1;
        }
    }
    let summary = simulation.summary();
    let (energy, momentum) = (summary.energy_error.unwrap(), summary.momentum_error.unwrap());
    println!(
        "{backend:?}: {:.0} collisions per sphere, dE/E {energy:e}, momentum {momentum:e}, overlap {deepest:e}, late {}, \
         {} steps, {} substeps, {:.1} s",
        summary.pair_impacts as f64 / half,
        summary.late,
        summary.steps,
        summary.substeps,
        summary.wall_seconds,
    );
    assert!(energy.abs() <= 5e-6, "dE/E {energy:e}");
    assert!(momentum <= 1e-6, "momentum {momentum:e}");
    assert!(deepest <= 2e-6, "overlap {deepest:e}");
    assert!(
        out_of_order * 100 < summary.steps,
        "late or stopped in {out_of_order} steps: too many to leave out"
    );
}

fn ten_thousand_collisions_per_sphere_keep_energy_momentum_and_gaps(backend: Backend) {
    hold(gas(3, FRACTION, 1), 10_000.0, backend);
}

fn ten_thousand_diameters_from_the_origin_nothing_is_different(backend: Backend) {
    let system = moved(gas(3, FRACTION, 1), DVec3::new(10_000.0, -10_000.0, 10_000.0));
    hold(system, 10_000.0, backend);
}

fn two_hundred_collisions_per_sphere_keep_energy_momentum_and_gaps(backend: Backend) {
    let system = gas(3, FRACTION, 2);
    hold(moved(system.clone(), DVec3::new(-10_000.0, 10_000.0, 10_000.0)), 200.0, backend);
    hold(system, 200.0, backend);
}
