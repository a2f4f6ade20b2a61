//! Sources: number, time and kind of the spheres.

use carom::{Backend, Options, Simulation, Source, System};
use glam::DVec3;

use crate::support::{hopper, ids, on, shower, sphere};

const BACKENDS: [Backend; 2] = [Backend::Cpu, Backend::Exact];

#[test]
fn as_many_spheres_have_appeared_as_were_due() {
    for (rate, dt) in [(100.0, 0.01), (37.3, 0.013), (1000.0 / 7.0, 0.001), (0.9, 0.1), (300.0, 1.0 / 60.0)] {
        let mut simulation = on(Backend::Cpu, shower(rate, dt));
        let mut came = 0;
        for k in 1..=300 {
            let report = simulation.step().unwrap().clone();
            came += report.poured;
            let due = (rate * report.time + 1e-6).floor() as u64;
            assert_eq!(report.waiting, 0, "{rate} {dt}: step {k}");
            assert_eq!(came, due, "{rate} {dt}: step {k}");
            assert_eq!((simulation.sphere_count() as u64, simulation.spheres().len() as u64), (due, due));
            assert_eq!(simulation.source_counts(), [due]);
        }
        assert_eq!((simulation.summary().poured, simulation.summary().removed), (came, 0));
        assert_eq!(simulation.summary().sphere_count as u64, came);
    }
}

#[test]
fn a_source_keeps_to_its_time_and_its_count() {
    for backend in BACKENDS {
        let mut system = shower(100.0, 0.01);
        (system.sources[0].from, system.sources[0].until) = (0.1, 0.3);
        let until = on(backend, system.clone());
        system.sources[0].count = Some(7);
        let counted = on(backend, system);
        for (mut simulation, most) in [(until, 20), (counted, 7)] {
            for k in 1..=50u64 {
                let came = simulation.step().unwrap().poured;
                assert_eq!(came, u64::from(k > 10 && k <= 10 + most), "{backend:?}: step {k}");
            }
            assert_eq!(simulation.sphere_count() as u64, most);
        }
    }
}

#[test]
fn spheres_have_the_properties_of_their_source() {
    let mut system = shower(2000.0, 0.1);
    system.sources[0].max = DVec3::splat(40.0);
    system.sources[0].velocity = DVec3::ZERO;
    system.sources[0].spread = 0.5;
    system.sources[0].diameters = vec![(1.0, 0.25), (0.5, 0.75)];
    system.materials.push("steel", 1.0, 3.0);
    system.sources[0].material = 1;
    let mut simulation = on(Backend::Exact, system);
    simulation.step().unwrap();
    simulation.step().unwrap();
    let spheres = simulation.spheres();
    assert_eq!(spheres.len(), 400);
    let large = spheres.iter().filter(|s| s.radius == 0.5).count();
    // 400 spheres with a chance of 1/4: 100 on average, standard deviation 9.
    assert!((70..130).contains(&large), "{large}");
    for s in &spheres {
        assert!(s.radius == 0.5 || s.radius == 0.25);
        let volume = 4.0 / 3.0 * std::f64::consts::PI * s.radius.powi(3);
        assert!((s.mass / (3.0 * volume) - 1.0).abs() < 1e-12 && s.material == 1 && !s.fixed);
    }
    let square = spheres.iter().map(|s| s.velocity.length_squared()).sum::<f64>() / 400.0;
    assert!((square / 0.75 - 1.0).abs() < 0.25, "{square}");
}

#[test]
fn ids_continue_after_the_largest_ever_used() {
    for backend in BACKENDS {
        let mut system = shower(10.0, 0.1);
        system.spheres.push(sphere(41, DVec3::splat(50.0)));
        let mut simulation = on(backend, system);
        simulation.step().unwrap();
        assert_eq!(ids(&simulation), [41, 42]);
        simulation.remove(42).unwrap();
        simulation.add(sphere(60, DVec3::splat(60.0))).unwrap();
        simulation.step().unwrap();
        simulation.remove(60).unwrap();
        simulation.step().unwrap();
        assert_eq!(ids(&simulation), [41, 61, 62], "{backend:?}");
    }
}

#[test]
fn threads_order_and_repetition_do_not_matter() {
    let mut system = hopper(3.5);
    system.spheres = (0..9)
        .map(|k| sphere(3 * k, DVec3::new(1.0 + 2.0 * f64::from(k % 3), 1.0 + 2.0 * f64::from(k / 3), 3.0)))
        .collect();
    let run = |system: System, threads: usize| {
        let mut simulation = Simulation::new(system, Options { threads, ..Options::default() }).unwrap();
        let mut told = vec![];
        simulation
            .run(400, |report| {
                told.push((report.poured, report.waiting, report.removed));
                std::ops::ControlFlow::Continue(())
            })
            .unwrap();
        (simulation.state_hash(), ids(&simulation), told)
    };
    let one = run(system.clone(), 1);
    assert_eq!(run(system.clone(), 1), one);
    assert_eq!(run(system.clone(), 2), one);
    assert_eq!(run(system.clone(), 3), one);
    system.spheres.reverse();
    system.spheres.swap(1, 5);
    assert_eq!(run(system.clone(), 2), one);
    system.seed = 2;
    assert_ne!(run(system, 2).0, one.0);
    assert!(one.2.iter().map(|told| told.2).sum::<u64>() > 20, "hardly anything was drained");
}

#[test]
fn a_source_waits_for_free_space_and_reports_it() {
    for backend in BACKENDS {
        // Spheres at rest without gravity fill the box.
        let mut system = shower(100.0, 0.1);
        system.sources[0].velocity = DVec3::ZERO;
        system.sources[0].max = DVec3::splat(4.0);
        let mut simulation = on(backend, system);
        let (mut came, mut waited) = (0, 0);
        for k in 1..=20 {
            let report = simulation.step().unwrap();
            came += report.poured;
            waited = report.waiting;
            assert_eq!(came + waited, 10 * k, "{backend:?}: step {k}");
        }
        assert!(came > 20 && waited > 50, "{backend:?}: {came} came, {waited} wait");
        assert_eq!(simulation.summary().waiting, waited);
        for s in simulation.spheres() {
            assert!(s.position.min_element() > 0.5 && s.position.max_element() < 3.5);
        }
        let before = ids(&simulation);
        for &id in &before[10..] {
            simulation.remove(id).unwrap();
        }
        let report = simulation.step().unwrap();
        assert!(report.poured > 8, "{backend:?}: {}", report.poured);
        let (poured, waiting) = (report.poured, report.waiting);
        assert_eq!(came + poured + waiting, 210);
        // Ids are consecutive, without gaps.
        let after = ids(&simulation);
        assert_eq!(after[..10], before[..10]);
        let next = before.last().unwrap() + 1;
        assert_eq!(after[10..], (next..next + poured as u32).collect::<Vec<_>>());
    }
}

#[test]
fn waiting_spheres_appear_also_after_the_source_has_ended() {
    let mut system = shower(1000.0, 0.1);
    system.sources[0].max = DVec3::splat(3.0);
    system.sources[0].velocity = DVec3::NEG_Z * 6.0;
    system.sources[0].until = 0.1;
    let mut simulation = on(Backend::Cpu, system);
    let mut steps = 0;
    while simulation.summary().poured < 100 {
        simulation.step().unwrap();
        steps += 1;
        assert!(steps < 1000, "{} came", simulation.summary().poured);
    }
    assert!(steps > 5);
    assert_eq!((simulation.report().waiting, simulation.step().unwrap().poured), (0, 0));
}

#[test]
fn several_sources_pour_into_one_box() {
    let mut system = shower(200.0, 0.05);
    let second = Source { name: "second".into(), ..system.sources[0].clone() };
    system.sources.push(Source { diameters: vec![(0.5, 1.0)], ..second });
    let mut simulation = on(Backend::Cpu, system);
    for _ in 0..10 {
        simulation.step().unwrap();
        assert!(simulation.report().deepest_overlap < 1e-6);
    }
    let counts = simulation.source_counts();
    assert_eq!(counts.iter().sum::<u64>(), simulation.sphere_count() as u64);
    assert_eq!(counts.iter().sum::<u64>() + simulation.report().waiting, 200);
}

#[test]
fn a_world_may_start_empty_and_be_emptied() {
    for backend in BACKENDS {
        let mut system = System { dt: 0.02, gravity: DVec3::NEG_Z * 10.0, ..System::default() };
        let source = Source::new(DVec3::ZERO, DVec3::splat(2.0), 1.0);
        system.sources.push(Source { diameters: vec![(1e-2, 1.0)], from: 0.1, count: Some(1), ..source });
        system.sinks.push(carom::Sink::new(DVec3::splat(-1e9), DVec3::new(1e9, 1e9, -3.0), "below"));
        let mut simulation = on(backend, system);
        assert_eq!((simulation.sphere_count(), simulation.spheres().len()), (0, 0));
        for _ in 0..54 {
            let report = simulation.step().unwrap();
            assert_eq!((report.poured, report.kinetic_energy, report.substeps), (0, 0.0, 0));
        }
        let mut removed = 0;
        for _ in 0..100 {
            let report = simulation.step().unwrap();
            removed += report.removed;
        }
        assert_eq!(
            (simulation.summary().poured, removed, simulation.sphere_count()),
            (1, 1, 0),
            "{backend:?}"
        );
        let summary = simulation.summary();
        assert_eq!((summary.kinetic_energy, summary.total_energy), (0.0, 0.0));
        assert!(summary.ledger_error < 1e-5, "{backend:?}: {}", summary.ledger_error);
        assert_eq!((summary.energy_error, summary.momentum_error), (None, None));
        // The free space is filled again.
        simulation.add(sphere(9, DVec3::ZERO)).unwrap();
        simulation.step().unwrap();
        assert_eq!(ids(&simulation), [9]);
    }
}

#[test]
fn a_source_pours_into_a_plane_world() {
    let mut system = System { dt: 0.05, dimensions: carom::Dimensions::Two, ..System::default() };
    let source = Source::new(DVec3::ZERO, DVec3::new(10.0, 4.0, 0.0), 40.0);
    system.sources.push(Source { velocity: DVec3::Y * -9.0, spread: 0.3, ..source });
    let mut simulation = on(Backend::Cpu, system);
    for _ in 0..40 {
        simulation.step().unwrap();
    }
    assert_eq!(simulation.sphere_count() as u64 + simulation.report().waiting, 80);
    assert!(simulation.spheres().iter().all(|s| s.position.z == 0.0 && s.velocity.z == 0.0));
}

#[test]
fn a_run_continues_on_another_backend() {
    let mut simulation = on(Backend::Cpu, shower(50.0, 0.02));
    for _ in 0..10 {
        simulation.step().unwrap();
    }
    simulation.switch(Options { backend: Backend::Exact, ..Options::default() }).unwrap();
    for _ in 0..10 {
        simulation.step().unwrap();
    }
    assert_eq!(ids(&simulation), (0..20).collect::<Vec<_>>());
}
