//! A device removes and adds spheres without copies of the state to the host.

use carom::{
    Backend, Bounds, Materials, Side, Simulation, Sink, Source, Sphere, StepReport, Surface, System,
};
use glam::DVec3;

use crate::support::{hopper, ids, on, sphere};

const BACKENDS: [Backend; 2] = [Backend::Cpu, Backend::Gpu];

// A lattice of slow spheres, of which the sink takes those with x < 10 in step 5.
fn lattice() -> System {
    let mut system = System { dt: 0.02, ..System::default() };
    for k in 0..1500u32 {
        let [x, y, z] = [k / 100, k / 10 % 10, k % 10].map(|i| 1.5 * f64::from(i));
        let jitter = DVec3::new(f64::from(k % 7) - 3.0, f64::from(k % 5) - 2.0, f64::from(k % 3) - 1.0);
        let mass = 1.0 + f64::from(k % 11);
        // Ids in no order.
        let id = k * 7919 % 1500 * 3;
        let position = DVec3::new(x, y, z);
        system.spheres.push(Sphere { mass, velocity: 0.3 * jitter, ..sphere(id, position) });
    }
    let low = DVec3::new(f64::NEG_INFINITY, -99.0, -99.0);
    system.sinks.push(Sink { every: 5, ..Sink::new(low, DVec3::new(14.3, 99.0, 99.0), "left") });
    system
}

#[test]
fn a_thousand_spheres_are_removed_in_one_step() {
    let run = |backend: Backend| {
        let mut simulation = on(backend, lattice());
        let mut told = vec![];
        for _ in 0..9 {
            let report = simulation.step().unwrap();
            told.push((report.removed, report.pair_impacts));
            if backend == Backend::Gpu {
                // The host waits for the report alone.
                assert_eq!((report.blocking_reads, report.downloads), (1, 0), "{report:?}");
            }
            assert!(simulation.summary().ledger_error < 1e-6, "{}", simulation.summary().ledger_error);
        }
        (told, ids(&simulation), simulation.sink_counts(), simulation.spheres())
    };
    let [cpu, gpu] = BACKENDS.map(run);
    assert_eq!(cpu.0.iter().map(|told| told.0).collect::<Vec<_>>(), [0, 0, 0, 0, 1000, 0, 0, 0, 0]);
    assert_eq!((&gpu.0, &gpu.1, &gpu.2), (&cpu.0, &cpu.1, &cpu.2));
    for (a, b) in gpu.3.iter().zip(&cpu.3) {
        assert!((a.position - b.position).length() < 1e-5 && a.mass == b.mass, "{a:?} {b:?}");
    }
}

#[test]
fn more_spheres_than_a_report_holds_are_removed() {
    let run = |backend: Backend| {
        let mut system = lattice();
        for k in 0..1500u32 {
            let other = system.spheres[k as usize];
            let position = other.position - DVec3::X * 30.0;
            system.spheres.push(Sphere { id: other.id + 1, position, ..other });
        }
        let mut simulation = on(backend, system);
        let removed: Vec<u64> = (0..7).map(|_| simulation.step().unwrap().removed).collect();
        (removed, ids(&simulation), simulation.sink_counts())
    };
    let [cpu, gpu] = BACKENDS.map(run);
    assert_eq!(cpu.0, [0, 0, 0, 0, 2500, 0, 0]);
    assert_eq!(gpu, cpu);
}

// Steps until the spheres pass, then counts the waits of 100 steps.
fn waits_in_a_flow(system: System, warm_up: u64) -> (Vec<StepReport>, Simulation) {
    let mut simulation = on(Backend::Gpu, system);
    for _ in 0..warm_up {
        simulation.step().unwrap();
    }
    let reports = (0..100).map(|_| simulation.step().unwrap().clone()).collect();
    (reports, simulation)
}

// A column of grains above a hole, poured from above and drained below.
#[test]
fn a_hopper_flows_without_copies_of_the_state() {
    let mut system = hopper(3.5);
    for k in 0..150u32 {
        let [x, y, z] = [k % 5, k / 5 % 5, k / 25].map(|i| 1.0 + 1.05 * f64::from(i));
        system.spheres.push(sphere(k, DVec3::new(x, y, z)));
        system.spheres.last_mut().unwrap().radius = if k % 2 == 0 { 0.5 } else { 0.35 };
    }
    let (reports, simulation) = waits_in_a_flow(system, 60);
    let (poured, removed) =
        reports.iter().fold((0, 0), |(a, b), report| (a + report.poured, b + report.removed));
    assert!(poured >= 49 && removed > 20, "{poured} poured, {removed} removed");
    // New cells need a copy of the state, in few steps.
    for report in reports.iter().filter(|report| report.downloads > 0) {
        println!("{report:?}");
    }
    let copied = reports.iter().filter(|report| report.downloads > 0).count();
    let waits: u64 = reports.iter().map(|report| report.blocking_reads).sum();
    let seconds: f64 = reports.iter().map(|report| report.wall_seconds).sum();
    println!("{:.1} ms a step", 10.0 * seconds);
    println!("{waits} waits in 100 steps, {copied} steps with copies");
    assert!(copied <= 3, "{copied} of 100 steps copied the state");
    let summary = simulation.summary();
    assert!(summary.ledger_error < 2e-5, "{}", summary.ledger_error);
    assert_eq!(150 + summary.poured - summary.removed, simulation.sphere_count() as u64);
}

// Every id appears once, in ascending order, and disappears once, while ranks are renumbered many times.
#[test]
fn spheres_keep_their_ids_while_others_come_and_go() {
    let mut system = System { dt: 0.05, gravity: DVec3::NEG_Z * 9.81, ..System::default() };
    system.materials = Materials::empty();
    for (name, restitution) in [("rubber", 0.9), ("clay", 0.1)] {
        system.materials.add(name, Surface { restitution, ..Surface::default() }, 1.0);
    }
    system.bounds =
        Bounds { max: DVec3::splat(12.0), sides: [Side::Wall, Side::Wall, Side::Open], ..Bounds::default() };
    for material in 0..2 {
        let low = DVec3::new(6.0 * f64::from(material), 0.0, 9.0);
        let source = Source::new(low, low + DVec3::new(6.0, 12.0, 3.0), 20.0);
        system.sources.push(Source { material, velocity: DVec3::NEG_Z * 4.0, ..source });
    }
    system.sinks.push(Sink::new(DVec3::new(-1.0, -1.0, -9.0), DVec3::new(13.0, 13.0, 2.0), "below"));
    let run = |backend: Backend| {
        let mut simulation = on(backend, system.clone());
        let (mut told, mut poured) = (vec![], 0);
        for _ in 0..100 {
            let report = simulation.step().unwrap();
            poured += report.poured;
            told.push((report.poured, report.waiting, report.removed));
        }
        let spheres = simulation.spheres();
        assert!(spheres.iter().map(|s| s.id).is_sorted());
        assert_eq!(spheres.len() as u64, poured - simulation.summary().removed);
        let error = simulation.summary().ledger_error;
        assert!(error < 1e-5, "{backend:?}: {error}");
        let kinds: Vec<_> = spheres.iter().map(|s| (s.id, s.material)).collect();
        (told, kinds, simulation.sink_counts()[0].removed)
    };
    let [cpu, gpu] = BACKENDS.map(run);
    assert!(cpu.2 > 100, "{} removed", cpu.2);
    assert_eq!(gpu, cpu);
}

// The materials of the spheres that stay follow their new ranks.
#[test]
fn spheres_keep_their_materials_after_a_removal() {
    let run = |backend: Backend| {
        let mut system = System { dt: 0.02, gravity: DVec3::NEG_Z * 10.0, ..System::default() };
        system.materials = Materials::empty();
        for (name, restitution) in [("rubber", 1.0), ("clay", 0.2)] {
            system.materials.add(name, Surface { restitution, ..Surface::default() }, 1.0);
        }
        system.bounds = Bounds {
            max: DVec3::new(60.0, 4.0, 9.0),
            sides: [Side::Open, Side::Open, Side::Wall],
            ..Bounds::default()
        };
        for k in 0..20 {
            let position = DVec3::new(2.0 + 2.5 * f64::from(k), 2.0, 3.0);
            system.spheres.push(Sphere { material: (k % 3 == 0).into(), ..sphere(k, position) });
        }
        // Spheres that are taken at once.
        system.sinks.push(Sink::new(DVec3::new(14.0, 0.0, 0.0), DVec3::new(30.0, 4.0, 9.0), "middle"));
        let mut simulation = on(backend, system);
        for _ in 0..60 {
            simulation.step().unwrap();
        }
        simulation.spheres()
    };
    let [cpu, gpu] = BACKENDS.map(run);
    assert_eq!(gpu.len(), cpu.len());
    assert!(cpu.len() < 16);
    let heights: std::collections::BTreeSet<i64> = cpu.iter().map(|s| (s.position.z * 10.0) as i64).collect();
    assert!(heights.len() > 1, "the materials do not differ");
    for (a, b) in gpu.iter().zip(&cpu) {
        assert_eq!((a.id, a.material), (b.id, b.material));
        assert!((a.position - b.position).length() < 1e-3, "{a:?} {b:?}");
    }
}

// The lower sphere of a stack disappears while both sleep.
#[test]
fn a_sleeping_sphere_above_a_removed_one_wakes() {
    for backend in BACKENDS {
        let mut system = hopper(0.0);
        system.dt = 1.0 / 30.0;
        system.sources.clear();
        for (id, z) in [(3, 0.5), (1, 1.5), (7, 0.5), (9, 1.5)] {
            let x = if id < 5 { 2.0 } else { 4.0 };
            system.spheres.push(sphere(id, DVec3::new(x, 3.0, z)));
        }
        let (low, high) = (DVec3::new(0.0, 0.0, 0.0), DVec3::new(6.0, 6.0, 1.0));
        system.sinks = vec![Sink { every: 110, ..Sink::new(low, high, "lower") }];
        let mut simulation = on(backend, system);
        let mut asleep = 0;
        for _ in 0..110 {
            asleep = simulation.step().unwrap().asleep;
        }
        assert_eq!((asleep, ids(&simulation)), (4, vec![1, 9]), "{backend:?}");
        for _ in 0..12 {
            simulation.step().unwrap();
        }
        // The one with the smaller id owned its contact, the one with the larger id did not.
        for s in simulation.spheres() {
            assert!(s.position.z < 1.0, "{backend:?}: {s:?}");
        }
    }
}

// Spheres arrive for a while; later, only the sink takes some. Steps that begin before the sink is checked are then called off.
#[test]
fn runs_with_flow_repeat_to_the_bit() {
    let run = |at_once: bool, reversed: bool| {
        let mut system = hopper(3.5);
        system.sinks[0].max.z = 1.2;
        system.sources[0].count = Some(6);
        system.spheres = (0..9)
            .map(|k| {
                let [x, y] = [k % 3, k / 3].map(|i| 1.0 + 2.0 * f64::from(i));
                sphere(3 * k, DVec3::new(x, y, 3.0 + 0.4 * f64::from(k)))
            })
            .collect();
        if reversed {
            system.spheres.reverse();
        }
        let mut simulation = on(Backend::Gpu, system);
        let (mut told, mut waits) = (vec![], 0);
        let mut see = |report: &StepReport| {
            told.push((report.poured, report.removed));
            waits += report.blocking_reads;
        };
        if at_once {
            let each = |report: &StepReport| {
                see(report);
                std::ops::ControlFlow::Continue(())
            };
            simulation.run(130, each).unwrap();
        } else {
            (0..130).for_each(|_| see(simulation.step().unwrap()));
        }
        assert!(told.iter().map(|told| told.1).sum::<u64>() > 5, "{told:?}");
        (waits, simulation.state_hash(), ids(&simulation), told)
    };
    let (singly, hash, present, told) = run(false, false);
    for reversed in [false, true] {
        let (ahead, other_hash, other_present, other_told) = run(true, reversed);
        println!("{ahead} waits instead of {singly}");
        assert!(ahead < 80 && singly >= 130, "{ahead} {singly}");
        assert_eq!((&other_present, &other_told), (&present, &told));
        assert_eq!(other_hash, hash);
    }
}

// Marbles drop one by one onto pins, and sinks take them below. In most steps nothing comes or goes.
#[cfg(feature = "files")]
#[test]
fn a_galton_board_runs_ahead_while_no_marble_comes_or_goes() {
    let mut system = carom::files::builtin("galton").unwrap().load(&[]).unwrap().build().unwrap();
    // Without the posts. The sink is below the first two rows of pins.
    system.spheres.retain(|sphere| sphere.position.y > 67.0);
    system.sinks.push(Sink::new(DVec3::new(-50.0, 0.0, 0.0), DVec3::new(50.0, 67.0, 0.0), "below"));
    let mut simulation = on(Backend::Gpu, system);
    let mut reports = vec![];
    let each = |report: &StepReport| {
        reports.push(report.clone());
        std::ops::ControlFlow::Continue(())
    };
    simulation.run(700, each).unwrap();
    let last = &reports[600..];
    let sum = |count: fn(&StepReport) -> u64| last.iter().map(count).sum::<u64>();
    let (waits, copies, on_cpu) = (sum(|r| r.blocking_reads), sum(|r| r.downloads), sum(|r| r.cpu_steps));
    let summary = simulation.summary();
    println!("{} poured, {} removed in all", summary.poured, summary.removed);
    println!("{waits} waits in 100 steps, {copies} copies, {on_cpu} on the CPU");
    assert!(summary.poured > 2 && summary.removed > 0, "{} {}", summary.poured, summary.removed);
    assert!(waits < 20, "{waits}");
}

// Spheres cross the periodic boundary, beside which both boxes lie.
#[test]
fn boxes_at_a_periodic_boundary_find_the_same_spheres() {
    let run = |backend: Backend| {
        let mut system = System { dt: 0.1, ..System::default() };
        system.bounds =
            Bounds { max: DVec3::new(12.0, 9.0, 9.0), sides: [Side::Periodic; 3], ..Bounds::default() };
        for k in 0..40u32 {
            let [x, y, z] = [k % 5, k / 5 % 4, k / 20].map(|i| 0.6 + 2.2 * f64::from(i));
            let velocity = DVec3::new(if k % 2 == 0 { 2.0 } else { -2.0 }, 0.0, 0.0);
            system.spheres.push(Sphere { velocity, radius: 0.3, ..sphere(k, DVec3::new(x, y, z)) });
        }
        let source = Source::new(DVec3::new(0.0, 0.0, 6.0), DVec3::new(2.0, 9.0, 9.0), 10.0);
        system.sources.push(Source { diameters: vec![(0.6, 1.0)], velocity: DVec3::NEG_X, ..source });
        let (low, high) = (DVec3::new(11.4, 0.0, 0.0), DVec3::new(12.0, 9.0, 9.0));
        system.sinks.push(Sink { every: 3, ..Sink::new(low, high, "right") });
        let mut simulation = on(backend, system);
        let mut told = vec![];
        for _ in 0..20 {
            let report = simulation.step().unwrap();
            told.push((report.poured, report.waiting, report.removed));
        }
        assert!(simulation.summary().ledger_error < 1e-5);
        (told, ids(&simulation), simulation.sink_counts()[0].removed)
    };
    let [cpu, gpu] = BACKENDS.map(run);
    assert!(cpu.2 > 5, "{} removed", cpu.2);
    assert_eq!(gpu, cpu);
}
