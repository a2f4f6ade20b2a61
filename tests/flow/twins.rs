//! The GPU and the CPU engines add and remove the same spheres.

use carom::{Backend, Bounds, Options, Side, Simulation, Sink, Source, System};
use glam::DVec3;

use crate::support::ids;

// Few spheres far apart, so that rounding never decides about a position.
fn drizzle() -> System {
    let mut system = System { dt: 0.05, gravity: DVec3::NEG_Z * 9.81, ..System::default() };
    system.bounds = Bounds {
        max: DVec3::new(12.0, 12.0, 20.0),
        sides: [Side::Wall, Side::Wall, Side::Open],
        ..Bounds::default()
    };
    let source = Source::new(DVec3::new(0.0, 0.0, 15.0), DVec3::new(12.0, 12.0, 18.0), 30.0);
    system.sources.push(Source {
        velocity: DVec3::NEG_Z * 5.0,
        diameters: vec![(1.0, 0.5), (0.6, 0.5)],
        ..source
    });
    system.sinks.push(Sink::new(DVec3::new(-1.0, -1.0, -9.0), DVec3::new(13.0, 13.0, 0.0), "below"));
    system
}

#[test]
fn a_device_pours_and_drains_the_same_spheres() {
    let run = |backend: Backend, at_once: bool| {
        let mut system = drizzle();
        system.sources[0].count = Some(70);
        let options = Options { backend, ..Options::default() };
        let mut simulation = Simulation::new(system, options).unwrap_or_else(|e| panic!("{e}"));
        let mut told = vec![];
        let mut see = |report: &carom::StepReport| told.push((report.poured, report.waiting, report.removed));
        if at_once {
            let each = |report: &carom::StepReport| {
                see(report);
                std::ops::ControlFlow::Continue(())
            };
            simulation.run(80, each).unwrap();
        } else {
            (0..80).for_each(|_| see(simulation.step().unwrap()));
        }
        let summary = simulation.summary();
        assert!(summary.ledger_error < 1e-5, "{backend:?}: {}", summary.ledger_error);
        (told, ids(&simulation), simulation.state_hash())
    };
    let (told, present, _) = run(Backend::Cpu, true);
    assert_eq!(told.iter().map(|t| t.0).sum::<u64>(), 70);
    assert!(told.iter().map(|t| t.2).sum::<u64>() > 20);
    let device = run(Backend::Gpu, true);
    assert_eq!((device.0.clone(), device.1.clone()), (told, present));
    // Identical bits step by step or in one run.
    assert_eq!(run(Backend::Gpu, false), device);
}

#[test]
fn a_device_starts_empty_and_is_emptied() {
    let mut system = drizzle();
    system.sources[0].count = Some(3);
    system.sources[0].from = 0.2;
    let options = Options { backend: Backend::Gpu, ..Options::default() };
    let mut simulation = Simulation::new(system, options).unwrap_or_else(|e| panic!("{e}"));
    for _ in 0..100 {
        simulation.step().unwrap();
    }
    let summary = simulation.summary();
    assert_eq!((summary.poured, summary.removed, simulation.sphere_count()), (3, 3, 0));
}
