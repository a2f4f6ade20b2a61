//! Haff's law: the cooling of a gas that loses energy in its collisions.

use carom::{Backend, Materials, Simulation, System};

use crate::support::{collision_rate, melted_gas, simulate_silently};

on_each_backend!(a_gas_cools_by_the_law_of_haff (gpu: long "about 3 min"));

fn a_gas_cools_by_the_law_of_haff(backend: Backend) {
    const FRACTION: f64 = 0.1;
    const RESTITUTION: f64 = 0.9;
    // The law assumes a uniform gas with Gaussian velocities. The velocities of a cooling gas deviate slightly (Sonine
    // coefficient -.015: 1% more energy left at the end), and a large gas develops vortices (another 1% for 500 spheres
    // and more). The test therefore averages many small gases; the statistical error is .4%.
    const SEEDS: u64 = 60;
    let mut simulations: Vec<_> = (0..SEEDS)
        .map(|seed| {
            let mut materials = Materials::empty();
            materials.push("lossy", RESTITUTION, 1.0);
            let system = System { materials, ..melted_gas(4, FRACTION, 0.4, seed, backend) };
            simulate_silently(&system, backend)
        })
        .collect();
    let energy =
        |simulations: &[Simulation]| -> f64 { simulations.iter().map(|s| s.summary().kinetic_energy).sum() };
    let start = energy(&simulations);
    let count: usize = simulations.iter().map(Simulation::sphere_count).sum();
    // T = T0 / (1 + t/tc)^2; and, without time, T = T0 exp(-(1 - e^2) tau/3), tau = collisions per sphere.
    let loss = 1.0 - RESTITUTION * RESTITUTION;
    let cooling_time = 6.0 / (loss * collision_rate(FRACTION));
    let (mut worst, mut worst_free) = (0.0f64, 0.0f64);
    loop {
        for simulation in &mut simulations {
            let report = simulation.step().unwrap();
            assert_eq!(report.stopped + report.unresolved, 0);
        }
        let ratio = energy(&simulations) / start;
        let time = simulations[0].time();
        let impacts: u64 = simulations.iter().map(|s| s.summary().pair_impacts).sum();
        let haff = (1.0 + time / cooling_time).powi(-2);
        let free = (-loss * 2.0 * impacts as f64 / count as f64 / 3.0).exp();
        if (ratio / haff - 1.0).abs() > worst.abs() {
            worst = ratio / haff - 1.0;
        }
        if (ratio / free - 1.0).abs() > worst_free.abs() {
            worst_free = ratio / free - 1.0;
        }
        if ratio <= 0.05 {
            break;
        }
        assert!(time < 10.0 * cooling_time, "it does not cool");
    }
    let ledger = simulations.iter().map(|s| s.summary().ledger_error).fold(0.0, f64::max);
    println!(
        "{backend:?}: off by {:+.2}% at most, free of time by {:+.2}%; ledger {ledger:e}",
        100.0 * worst,
        100.0 * worst_free,
    );
    assert!(worst.abs() <= 0.03, "off by {worst}");
    assert!(worst_free.abs() <= 0.03, "off by {worst_free}, free of time");
    assert!(ledger <= 1e-5, "{ledger}");
}
