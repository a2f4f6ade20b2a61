//! A simulation watched while it runs: watching costs nothing and changes nothing, and the viewer may change the world
//! and the backend during the run.

use std::ops::ControlFlow;

use carom::{Backend, Error, Simulation, Sphere, System};
use glam::DVec3;

use crate::support::{gas, options, simulate, sphere};

on_each_backend!(
    the_state_between_steps_is_the_reported_one,
    the_world_may_be_changed_between_steps,
    an_invalid_change_changes_nothing,
    a_run_continues_on_another_backend,
);

fn kinetic(spheres: &[Sphere]) -> f64 {
    spheres.iter().map(|s| 0.5 * s.mass * s.velocity.length_squared()).sum()
}

fn the_state_between_steps_is_the_reported_one(backend: Backend) {
    let system = gas(1500, 61);
    let [mut watched, mut alone] = [0, 1].map(|_| Simulation::new(system.clone(), options(backend)).unwrap());
    let mut seen = vec![];
    watched
        .run_watched(8, |simulation| {
            seen.push((simulation.report().step, simulation.try_state_hash().unwrap()));
            ControlFlow::Continue(())
        })
        .unwrap();
    for (step, hash) in seen {
        assert_eq!(alone.step().unwrap().step, step);
        assert_eq!(alone.state_hash(), hash, "step {step}");
    }
    assert_eq!(watched.steps(), 8);
}

fn the_world_may_be_changed_between_steps(backend: Backend) {
    let mut system = System { dt: 0.5, ..System::default() };
    system.spheres = vec![sphere(3, [0.0; 3], [1.0, 0.0, 0.0])];
    let mut simulation = simulate(&system, backend);
    simulation.step().unwrap();
    simulation
        .edit(|system| {
            system.gravity = DVec3::new(0.0, 0.0, -2.0);
            system.dt = 1.0;
        })
        .unwrap();
    let report = simulation.step().unwrap().clone();
    assert_eq!((report.step, report.time), (2, 1.5));
    // Half a unit of straight motion, then half a unit of free fall.
    let fallen = simulation.spheres()[0];
    assert!((fallen.position - DVec3::new(1.5, 0.0, -1.0)).length() < 1e-6, "{fallen:?}");
    assert!((fallen.velocity - DVec3::new(1.0, 0.0, -2.0)).length() < 1e-6, "{fallen:?}");
    // A changed restitution too: a plastic impact with the next partner takes all relative speed.
    simulation
        .edit(|system| {
            system.gravity = DVec3::ZERO;
            system.materials.set_restitution(0, 0, 0.0);
            let ahead = system.spheres[0].position + system.spheres[0].velocity.normalize() * 2.0;
            system.spheres.push(Sphere { id: 1, position: ahead, ..Sphere::default() });
        })
        .unwrap();
    simulation.step().unwrap();
    let [struck, striker] = simulation.spheres()[..] else { panic!() };
    assert_eq!((struck.id, striker.id), (1, 3));
    assert!((struck.velocity - striker.velocity).length() < 1e-5, "{struck:?} {striker:?}");
}

fn an_invalid_change_changes_nothing(backend: Backend) {
    let system = gas(300, 62);
    let [mut changed, mut left] = [0, 1].map(|_| simulate(&system, backend));
    for simulation in [&mut changed, &mut left] {
        simulation.step().unwrap();
    }
    // Gravity along a periodic axis.
    let refused = changed.edit(|system| system.gravity = DVec3::new(0.0, 0.0, -1.0));
    assert!(matches!(refused, Err(Error::Invalid(_))), "{refused:?}");
    assert!(changed.edit(|system| system.dt = f64::NAN).is_err());
    for simulation in [&mut changed, &mut left] {
        simulation.step().unwrap();
    }
    assert_eq!(changed.system().gravity, DVec3::ZERO);
    assert_eq!(changed.state_hash(), left.state_hash());
}

fn a_run_continues_on_another_backend(backend: Backend) {
    let mut simulation = Simulation::new(gas(400, 63), options(Backend::Cpu)).unwrap();
    (0..5).for_each(|_| drop(simulation.step().unwrap().clone()));
    let (before, momentum) = (simulation.spheres(), simulation.report().momentum);
    simulation.switch(options(backend)).unwrap();
    assert_eq!(simulation.backend(), backend);
    assert_eq!((simulation.steps(), simulation.sphere_count()), (5, before.len()));
    // The same spheres, up to the position rounding of the backend.
    for (a, b) in simulation.spheres().iter().zip(&before) {
        assert_eq!(a.id, b.id);
        assert!((a.position - b.position).length() < 1e-5, "{a:?} {b:?}");
        assert!((a.velocity - b.velocity).length() < 1e-5, "{a:?} {b:?}");
    }
    (0..5).for_each(|_| drop(simulation.step().unwrap().clone()));
    let report = simulation.report();
    assert_eq!(report.step, 10);
    assert!((report.kinetic_energy / kinetic(&before) - 1.0).abs() < 1e-6, "{report:?}");
    assert!((report.momentum - momentum).length() < 1e-3, "{report:?}");
}

// Copies the state on the device after every step, as a window does.
#[cfg(feature = "gpu")]
#[test]
fn a_copy_on_the_device_is_the_reported_state_without_a_wait() {
    use carom::StepReport;
    use carom::gpu::{Body, wgpu};

    const STEPS: usize = 30;
    // Every step loses some energy, so that each state is distinguishable.
    let mut system = gas(4000, 64);
    system.materials.set_restitution(0, 0, 0.9);
    let mass = system.spheres[0].mass;
    let options = options(Backend::Gpu);
    let context = options.context.clone().unwrap();
    let [mut watched, mut alone] = [0, 1].map(|_| Simulation::new(system.clone(), options.clone()).unwrap());
    let (mut copies, mut reports) = (vec![], vec![]);
    watched
        .run_watched(STEPS as u64, |simulation| {
            let state = simulation.state_buffers().expect("buffers between steps");
            let bytes = u64::from(state.sphere_count) * size_of::<Body>() as u64;
            let copy = context.device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("copy"),
                size: bytes,
                usage: wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ,
                mapped_at_creation: false,
            });
            let mut encoder = context.device.create_command_encoder(&Default::default());
            encoder.copy_buffer_to_buffer(&state.bodies, 0, &copy, 0, bytes);
            context.queue.submit([encoder.finish()]);
            copies.push((copy, state.unit_of_velocity));
            reports.push(simulation.report().clone());
            ControlFlow::Continue(())
        })
        .unwrap();
    for (report, (copy, unit)) in reports.iter().zip(&copies) {
        copy.map_async(wgpu::MapMode::Read, .., |result| result.unwrap());
        context.device.poll(wgpu::PollType::wait_indefinitely()).unwrap();
        let bodies: Vec<Body> = bytemuck::pod_collect_to_vec(&copy.get_mapped_range(..).unwrap());
        let squares: f64 = bodies.iter().map(|b| b.velocity.as_dvec3().length_squared()).sum();
        let energy = 0.5 * mass * squares * unit * unit;
        let off = (energy / report.kinetic_energy - 1.0).abs();
        assert!(off < 1e-6, "step {}: {energy} in the copy, {} reported", report.step, report.kinetic_energy);
    }
    let each_its_own = |pair: &[StepReport]| pair[1].kinetic_energy < 0.999 * pair[0].kinetic_energy;
    assert!(reports.windows(2).all(each_its_own), "the states could be taken for one another");
    // No step is in flight after the last one of a run.
    for report in &reports[..STEPS - 1] {
        assert_eq!((report.overflow, report.redone), (0, 0), "not a steady run: {report:?}");
        assert_eq!(report.blocking_reads, 0, "{report:?}");
    }
    (0..STEPS).for_each(|_| drop(alone.step().unwrap().clone()));
    assert_eq!(watched.state_hash(), alone.state_hash());
}
