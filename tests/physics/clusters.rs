//! Many spheres that converge and dissipate their energy.

use carom::{Backend, Materials, Sphere, System};
use glam::DVec3;
use rand::SeedableRng;
use rand_distr::{Distribution, StandardNormal};
use rand_pcg::Pcg64;

use crate::support::simulate_silently;

on_each_backend!(
    plastic_clumps_end_every_step (gpu: long "half a minute"),
    lossy_clumps_end_every_step (gpu: long "half a minute"),
);

// A thousand spheres on a loose lattice, all moving towards the middle, without gravity.
fn clump(restitution: f64, seed: u64, backend: Backend) {
    let mut system = System { dt: 1.0 / 60.0, ..System::default() };
    system.materials = Materials::empty();
    system.materials.push("clay", restitution, 1.0);
    let mut rng = Pcg64::seed_from_u64(seed);
    for k in 0..1000u32 {
        let place = DVec3::new(f64::from(k % 10), f64::from(k / 10 % 10), f64::from(k / 100)) - 4.5;
        let noise: [f64; 3] = std::array::from_fn(|_| StandardNormal.sample(&mut rng));
        system.spheres.push(Sphere {
            id: k,
            position: place * 1.6,
            velocity: -place + DVec3::from_array(noise) * 0.3,
            ..Sphere::default()
        });
    }
    let mut simulation = simulate_silently(&system, backend);
    let start = simulation.summary().kinetic_energy;
    for step in 0..240 {
        let report = simulation.step().unwrap_or_else(|e| panic!("seed {seed}, step {step}: {e}"));
        assert_eq!((report.stopped, report.unresolved), (0, 0), "seed {seed}: {report:?}");
    }
    let summary = simulation.summary();
    println!(
        "{backend:?} e={restitution}: {} impacts, {} softened, {:.3}% of the energy left, rounds {}, substeps {}, late {}, \
         overlap {:e}, ledger {:e}, {:.1} s",
        summary.pair_impacts,
        summary.contact_time_impacts,
        100.0 * summary.kinetic_energy / start,
        summary.rounds_max,
        summary.substeps,
        summary.late,
        summary.deepest_overlap,
        summary.ledger_error,
        summary.wall_seconds,
    );
    assert!(summary.kinetic_energy < 0.2 * start, "the clump forms");
    assert!(summary.ledger_error <= 1e-5, "{}", summary.ledger_error);
    assert!(summary.momentum_error.unwrap() <= 1e-5, "{:?}", summary.momentum_error);
}

fn plastic_clumps_end_every_step(backend: Backend) {
    clump(0.0, 5, backend);
}

fn lossy_clumps_end_every_step(backend: Backend) {
    clump(0.3, 6, backend);
}
