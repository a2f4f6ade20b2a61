//! The energy ledger stays balanced while spheres appear and disappear.

use carom::{Backend, Bounds, Side, Surface};
use glam::DVec3;

use crate::support::{hopper, on, shower};

#[test]
fn the_ledger_of_a_poured_and_drained_pile_is_closed() {
    for hole in [0.0, 3.5] {
        let mut simulation = on(Backend::Cpu, hopper(hole));
        let mut worst: f64 = 0.0;
        for k in 0..1200 {
            simulation.step().unwrap();
            // During the first fall of all spheres, the f32 rounding error of the fall reaches this size.
            let error = simulation.summary().ledger_error;
            assert!(error < 2e-5, "hole {hole}, step {k}: {error:e}");
            if k > 300 {
                worst = worst.max(error);
            }
        }
        let s = simulation.summary();
        assert!(worst < 1e-5, "hole {hole}: off by {worst:e}, at the end {:e}", s.ledger_error);
        assert_eq!((s.energy_error, s.momentum_error, s.compressibility), (None, None, None));
        assert!(s.poured > 300 && (hole == 0.0) == (s.removed == 0), "{} {}", s.poured, s.removed);
        println!("hole {hole}: {} poured, {} removed, ledger {worst:e}", s.poured, s.removed);
    }
}

#[test]
fn the_ledger_of_a_gas_that_leaks_is_closed() {
    for backend in [Backend::Cpu, Backend::Exact] {
        let mut system = shower(100.0, 0.02);
        system.bounds = Bounds { max: DVec3::splat(10.0), sides: [Side::Wall; 3], ..Bounds::default() };
        system.sources[0].spread = 3.0;
        system.materials.set_surface(0, 0, Surface { restitution: 0.9, ..Surface::default() });
        system.sinks.push(carom::Sink::new(DVec3::new(8.0, 8.0, 0.0), DVec3::splat(10.0), "leak"));
        let mut simulation = on(backend, system);
        for _ in 0..200 {
            simulation.step().unwrap();
        }
        let s = simulation.summary();
        assert!(s.removed > 10 && s.pair_impacts > 100, "{} removed, {} impacts", s.removed, s.pair_impacts);
        assert!(s.ledger_error < 1e-6, "{backend:?}: {:e}", s.ledger_error);
    }
}

// The ledger detects one sphere whose energy is not booked.
#[test]
fn an_edit_restarts_the_ledger_and_a_source_does_not() {
    let mut simulation = on(Backend::Cpu, hopper(0.0));
    for _ in 0..240 {
        simulation.step().unwrap();
    }
    let before = simulation.summary().clone();
    assert!(before.total_energy > 0.0 && before.ledger_error < 1e-5);
    simulation.step().unwrap();
    assert_eq!(simulation.summary().poured, simulation.sphere_count() as u64);
    let id = simulation.spheres()[0].id;
    simulation.remove(id).unwrap();
    simulation.step().unwrap();
    assert!(simulation.summary().ledger_error < 1e-5);
    assert!(simulation.summary().poured > simulation.sphere_count() as u64);
}
