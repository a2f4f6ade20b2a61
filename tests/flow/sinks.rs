//! Sinks remove each sphere once, and no other spheres disappear.

use carom::{Backend, Error, Partner, Sink, Sphere, System};
use glam::DVec3;

use crate::support::{hopper, ids, on, shower, sphere};

#[test]
fn every_poured_sphere_is_present_or_removed() {
    let mut simulation = on(Backend::Cpu, hopper(3.5));
    let (mut poured, mut removed, mut seen) = (0, 0, std::collections::BTreeSet::new());
    for _ in 0..900 {
        let report = simulation.step().unwrap();
        poured += report.poured;
        removed += report.removed;
        assert_eq!(report.removed_by_sink, [report.removed]);
        let present = ids(&simulation);
        assert!(present.is_sorted());
        assert_eq!(poured, present.len() as u64 + removed);
        seen.extend(present);
    }
    assert!(removed > 100, "{removed} of {poured} were drained");
    // Every id appeared once, in order.
    assert!(seen.into_iter().eq(0..poured as u32));
    let count = simulation.sink_counts()[0];
    assert_eq!((count.removed, simulation.summary().removed), (removed, removed));
    // No sphere is left in the sink.
    assert!(simulation.spheres().iter().all(|s| s.position.z >= -2.0));
    let volume = |d: f64| std::f64::consts::PI / 6.0 * d * d * d;
    let mean = count.mass / removed as f64;
    assert!(mean > volume(0.7) && mean < volume(1.0), "{mean}");
}

#[test]
fn every_sink_counts_its_own_spheres() {
    for backend in [Backend::Cpu, Backend::Exact] {
        let mut system = System { dt: 1.0, ..System::default() };
        for id in 0..10 {
            let velocity = if id < 7 { DVec3::X } else { DVec3::NEG_X };
            let mass = f64::from(id + 1);
            system.spheres.push(Sphere { velocity, mass, ..sphere(id, DVec3::Y * 3.0 * f64::from(id)) });
        }
        let (low, high) = (DVec3::new(3.5, -1e3, -1.0), DVec3::new(5.5, 1e3, 1.0));
        system.sinks.push(Sink::new(low, high, "right"));
        // A second, identical sink: the first one takes every sphere.
        system.sinks.push(Sink::new(low, high, "behind"));
        system.sinks.push(Sink { every: 4, ..Sink::new(-high, -low, "left") });
        let mut simulation = on(backend, system);
        let mut told = vec![];
        for _ in 0..8 {
            told.push(simulation.step().unwrap().removed_by_sink.clone());
        }
        let none = vec![0, 0, 0];
        let mut expected = vec![none; 8];
        expected[3] = vec![7, 0, 3];
        assert_eq!(told, expected, "{backend:?}");
        let counts = simulation.sink_counts();
        assert_eq!(counts.iter().map(|c| c.mass).collect::<Vec<_>>(), [28.0, 0.0, 27.0]);
        assert_eq!(simulation.sphere_count(), 0);
    }
}

#[test]
fn a_removed_sphere_is_in_no_report_and_no_edit() {
    let mut system = System { dt: 0.5, ..System::default() };
    system.spheres.push(Sphere { velocity: DVec3::X, ..sphere(4, DVec3::ZERO) });
    system.spheres.push(Sphere { velocity: DVec3::NEG_X, ..sphere(5, DVec3::Y * 9.0) });
    system.sinks.push(Sink::new(DVec3::new(0.4, -1.0, -1.0), DVec3::splat(1.0), "drain"));
    let mut simulation = on(Backend::Cpu, system);
    let generation = simulation.generation();
    let report = simulation.step().unwrap();
    assert_eq!((report.removed, report.kinetic_energy, report.momentum), (1, 0.5, DVec3::NEG_X));
    assert_eq!((ids(&simulation), simulation.sphere_count()), (vec![5], 1));
    assert_ne!(simulation.generation(), generation);
    assert!(matches!(simulation.remove(4), Err(Error::NoSuchSphere(4))));
    assert!(matches!(simulation.apply_impulse(4, DVec3::X), Err(Error::NoSuchSphere(4))));
    simulation.apply_impulse(5, DVec3::X).unwrap();
    // The user can reuse the id, but no source assigns it again.
    simulation.add(sphere(4, DVec3::Y * 20.0)).unwrap();
    simulation.step().unwrap();
    assert_eq!(ids(&simulation), [4, 5]);
    assert_eq!(simulation.spheres()[1].velocity, DVec3::ZERO);
}

#[test]
fn contacts_of_removed_spheres_are_gone_and_the_others_stay() {
    let mut system = hopper(0.0);
    system.sources.clear();
    for k in 0..3 {
        system.spheres.push(sphere(k, DVec3::new(1.5 + 1.5 * f64::from(k), 3.0, 0.5)));
    }
    system.sinks[0] =
        Sink { every: 50, ..Sink::new(DVec3::new(2.5, 0.0, 0.0), DVec3::new(3.5, 6.0, 1.0), "one") };
    let mut simulation = on(Backend::Cpu, system);
    for _ in 0..49 {
        simulation.step().unwrap();
    }
    assert_eq!(simulation.contacts().unwrap().len(), 3);
    simulation.step().unwrap();
    let left = simulation.contacts().unwrap();
    assert_eq!(left.iter().map(|c| c.sphere).collect::<Vec<_>>(), [0, 2]);
    assert!(left.iter().all(|c| matches!(c.partner, Partner::Wall(_))));
    // The contacts keep their impulses, and no sphere has moved.
    simulation.step().unwrap();
    let weight = 9.81;
    for contact in simulation.contacts().unwrap() {
        assert!((contact.force.z / weight - 1.0).abs() < 1e-4, "{contact:?}");
    }
    assert!(
        simulation.spheres().iter().all(|s| s.velocity.length() < 1e-6 && (s.position.z - 0.5).abs() < 1e-6)
    );
}

#[test]
fn fixed_spheres_stay() {
    let mut system = shower(10.0, 0.1);
    system.spheres.push(Sphere { fixed: true, ..sphere(0, DVec3::new(5.0, 5.0, -5.0)) });
    system.sinks.push(Sink::new(DVec3::new(-9.0, -9.0, -9.0), DVec3::new(19.0, 19.0, -3.0), "below"));
    let mut simulation = on(Backend::Cpu, system);
    for _ in 0..40 {
        simulation.step().unwrap();
    }
    assert!(simulation.summary().removed > 10);
    assert_eq!(ids(&simulation)[0], 0);
}
