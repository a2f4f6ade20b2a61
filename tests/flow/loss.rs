//! Sources and sinks after the loss of a device.

use std::ops::ControlFlow;

use carom::{Backend, OnLoss, Options, Simulation, gpu::Context};
use glam::DVec3;

use crate::support::{hopper, ids};

#[test]
fn sources_and_sinks_go_on_on_the_cpu() {
    let context = Context::open(None).expect("an adapter");
    let options = Options {
        backend: Backend::Gpu,
        context: Some(context.clone()),
        on_loss: OnLoss::Cpu,
        ..Options::default()
    };
    let mut simulation = Simulation::new(hopper(2.0), options).unwrap();
    simulation.run(40, |_| ControlFlow::Continue(())).unwrap();
    // Repeated steps must not see the gravity of before.
    simulation.set_gravity(DVec3::NEG_Z * 9.0).unwrap();
    let (mut poured, mut removed) = (simulation.summary().poured, simulation.summary().removed);
    let mut steps = vec![];
    simulation
        .run(200, |report| {
            steps.push(report.step);
            poured += report.poured;
            removed += report.removed;
            if report.step == 100 {
                context.report_lost("the cable was pulled");
            }
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(steps, (41..=240).collect::<Vec<_>>());
    assert_eq!((simulation.backend(), simulation.system().gravity.z), (Backend::Cpu, -9.0));
    let summary = simulation.summary();
    // The copy is from the change of gravity.
    assert_eq!((summary.steps, summary.cpu_steps), (240, 200));
    let taken: u64 = simulation.sink_counts().iter().map(|count| count.removed).sum();
    assert_eq!(taken, summary.removed);
    assert!(
        summary.poured > 50 && summary.removed > 0,
        "{} poured, {} removed",
        summary.poured,
        summary.removed
    );
    assert_eq!(summary.poured - summary.removed, simulation.sphere_count() as u64);
    let mut unique = ids(&simulation);
    unique.dedup();
    assert_eq!(unique.len(), simulation.sphere_count());
    assert!(summary.ledger_error < 2e-5, "{}", summary.ledger_error);
    // What was reported before the loss came from the device, so its counts may differ by a few spheres.
    assert!(poured.abs_diff(summary.poured) <= 2 && removed.abs_diff(summary.removed) <= 5);
}
