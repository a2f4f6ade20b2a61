//! Changes of gravity between steps.

use carom::{Backend, Error, Side, System};
use glam::DVec3;

use crate::support::{hopper, on, sphere};

#[test]
fn varying_gravity_accelerates_and_its_work_is_in_the_ledger() {
    for backend in [Backend::Cpu, Backend::Exact] {
        let mut system = System { dt: 0.01, ..System::default() };
        system.spheres.push(sphere(0, DVec3::ZERO));
        system.spheres.push(sphere(1, DVec3::X * 5.0));
        let mut simulation = on(backend, system);
        let mut expected = DVec3::ZERO;
        for k in 0..200 {
            let angle = 0.05 * f64::from(k);
            let field = 2.0 * DVec3::new(angle.cos(), 0.0, angle.sin());
            simulation.set_gravity(field).unwrap();
            expected += field * 0.01;
            simulation.step().unwrap();
            let velocity = simulation.spheres()[0].velocity;
            assert!((velocity - expected).length() < 1e-5, "{backend:?}: {velocity}, expected {expected}");
        }
        let s = simulation.summary();
        assert!((s.steps, s.energy_error) == (200, None) && s.ledger_error < 1e-5, "{}", s.ledger_error);
    }
}

#[test]
fn spheres_at_rest_stay_at_rest_in_weaker_gravity() {
    let mut system = hopper(0.0);
    (system.sources, system.sinks) = (vec![], vec![]);
    for k in 0..4 {
        system.spheres.push(sphere(k, DVec3::new(3.0, 3.0, 0.5 + f64::from(k))));
        system.spheres[k as usize].position.x += 0.0;
    }
    let mut simulation = on(Backend::Cpu, system);
    for _ in 0..60 {
        simulation.step().unwrap();
    }
    simulation.set_gravity(DVec3::NEG_Z * 5.0).unwrap();
    for _ in 0..60 {
        simulation.step().unwrap();
    }
    let force = simulation.contacts().unwrap().iter().map(|c| c.force.z).fold(0.0, f64::max);
    assert!((force / 20.0 - 1.0).abs() < 1e-3, "{force}");
    assert_eq!((simulation.summary().steps, simulation.system().gravity.z), (120, -5.0));
    assert!(simulation.summary().ledger_error < 1e-5);
}

#[test]
fn invalid_gravity_is_refused_and_nothing_changes() {
    let mut system = hopper(0.0);
    system.bounds.sides[0] = Side::Periodic;
    let mut simulation = on(Backend::Cpu, system);
    for wrong in [DVec3::new(0.0, f64::NAN, 0.0), DVec3::X] {
        assert!(matches!(simulation.set_gravity(wrong), Err(Error::Invalid(_))));
    }
    assert_eq!(simulation.system().gravity, DVec3::NEG_Z * 9.81);
    simulation.step().unwrap();
}
