//! Drag against closed forms.

use carom::{Backend, Sphere, System};
use glam::DVec3;

use crate::support::{on, sphere};

#[cfg(feature = "gpu")]
const BACKENDS: [Backend; 3] = [Backend::Cpu, Backend::Exact, Backend::Gpu];
#[cfg(not(feature = "gpu"))]
const BACKENDS: [Backend; 2] = [Backend::Cpu, Backend::Exact];

#[test]
fn falling_spheres_reach_gravity_over_drag() {
    for backend in BACKENDS {
        // A step on a software adapter takes milliseconds.
        let cases = if backend.name() == "gpu" { 1 } else { 3 };
        for (drag, dt) in [(5.0, 0.1), (1.0, 0.01), (0.2, 0.05)].into_iter().take(cases) {
            let gravity = DVec3::NEG_Z * 9.81;
            let mut system = System { dt, drag, gravity, ..System::default() };
            system.spheres.push(sphere(0, DVec3::ZERO));
            let mut simulation = on(backend, system);
            for _ in 0..(25.0 / (drag * dt)) as u64 {
                simulation.step().unwrap();
            }
            let speed = -simulation.spheres()[0].velocity.z;
            let x: f64 = drag * dt;
            // Terminal velocity of the splitting: g dt / (2 sinh(drag dt / 2)).
            let split = 9.81 * dt / (2.0 * (0.5 * x).sinh());
            // In f32 the velocity stops changing when the change per step is below half a last bit.
            let rounding = if backend == Backend::Exact { 1e-9 } else { 2e-7 / x };
            assert!((speed / split - 1.0).abs() < rounding, "{backend:?} {drag} {dt}: {speed}, {split}");
            let error = speed / (9.81 / drag) - 1.0;
            assert!((error + x * x / 24.0).abs() < 0.1 * x * x / 24.0 + rounding, "{error}");
            assert!(x > 0.011 || error.abs() < 1e-4, "{error}");
            assert!(simulation.summary().ledger_error < 1e-5, "{}", simulation.summary().ledger_error);
        }
    }
}

#[test]
fn without_gravity_velocities_decay_exactly_and_spins_stay() {
    for backend in BACKENDS {
        let mut system = System { dt: 0.05, drag: 0.7, ..System::default() };
        let (velocity, spin) = (DVec3::new(1.0, -2.0, 0.5), DVec3::new(0.0, 3.0, 1.0));
        system.spheres.push(Sphere { velocity, spin, mass: 2.0, ..sphere(3, DVec3::ONE) });
        system.spheres.push(Sphere { fixed: true, ..sphere(4, DVec3::splat(9.0)) });
        let mut simulation = on(backend, system);
        for k in 1..=100 {
            simulation.step().unwrap();
            let s = simulation.spheres()[0];
            let left = (-0.7 * 0.05 * f64::from(k)).exp();
            assert!((s.velocity - velocity * left).length() < 1e-5 * left, "{backend:?}: {s:?}");
            assert_eq!(s.spin, spin);
        }
        // Distance of a decaying motion: 1 / drag times the loss of velocity, up to the splitting error.
        let s = simulation.spheres()[0];
        let way = (velocity - s.velocity) / 0.7;
        assert!(((s.position - DVec3::ONE) - way).length() < 1e-3 * way.length(), "{s:?}, expected {way}");
        let summary = simulation.summary();
        assert_eq!((summary.energy_error, summary.momentum_error), (None, None));
        assert!(summary.ledger_error < 1e-6, "{}", summary.ledger_error);
    }
}

#[test]
fn the_ledger_of_collisions_with_drag_is_closed() {
    for backend in BACKENDS {
        let scene = carom::scene::Scene::new(0.02)
            .periodic()
            .drag(0.3)
            .fill(carom::scene::Fill::random(300).volume_fraction(0.2).temperature(3.0));
        let mut simulation = on(backend, scene.build().unwrap());
        let start = simulation.summary().kinetic_energy;
        for _ in 0..100 {
            simulation.step().unwrap();
        }
        let s = simulation.summary();
        // Elastic impacts do not change the decay of the energy.
        let left = s.kinetic_energy / start / (-2.0 * 0.3 * 2.0f64).exp();
        assert!((left - 1.0).abs() < 1e-5, "{backend:?}: {left}");
        assert!(s.pair_impacts > 500 && s.ledger_error < 1e-6 && s.late == 0, "{}", s.ledger_error);
        assert_eq!((s.energy_error, s.momentum_error, s.compressibility), (None, None, None));
    }
}
