//! Guarantees of the GPU backend besides the results: no idle waits, no more memory than reported, and device faults
//! become errors.

use std::{ops::ControlFlow, time::Duration};

use carom::{
    Backend, Error, Materials, OnLoss, Options, Side, Simulation, Solver, Sphere, System,
    gpu::{Context, wgpu},
    scene::{Fill, Scene},
};
use glam::DVec3;

use crate::support::{gas, options, simulate, sphere};

// Inelastic spheres that fall into a box.
fn falling() -> System {
    Scene::new(1.0 / 60.0)
        .seed(97)
        .material("default", 0.3, 1.0)
        .gravity([0.0, 0.0, -9.81])
        .bounds([0.0; 3], [10.0; 3])
        .walled()
        .fill(Fill::random(300).region([0.0; 3], [10.0, 10.0, 4.0]).temperature(1.0))
        .build()
        .unwrap()
}

fn start(system: &System) -> Simulation {
    Simulation::new(system.clone(), options(Backend::Gpu)).unwrap()
}

// A separate device, for faults that would affect the other simulations of a test.
fn start_alone(system: &System) -> (Context, Simulation) {
    let context = Context::open(None).expect("an adapter");
    let options = Options { context: Some(context.clone()), ..options(Backend::Gpu) };
    (context, Simulation::new(system.clone(), options).unwrap())
}

// As `start_alone`, for a run that goes on on the CPU.
fn start_to_recover(system: &System) -> (Context, Simulation) {
    let context = Context::open(None).expect("an adapter");
    let options = Options { context: Some(context.clone()), on_loss: OnLoss::Cpu, ..options(Backend::Gpu) };
    (context, Simulation::new(system.clone(), options).unwrap())
}

#[test]
fn a_steady_run_submits_once_a_step_and_never_waits() {
    let (context, mut simulation) = start_alone(&gas(4000, 91));
    // On a busy machine a step may take long enough to be divided.
    context.limit_submits(Duration::MAX);
    let mut reports = vec![];
    simulation
        .run(101, |report| {
            reports.push(report.clone());
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(reports.len(), 101);
    let dispatches: Vec<u64> = reports.iter().map(|r| r.dispatches).collect();
    println!(
        "dispatches per step: {} to {}",
        dispatches.iter().min().unwrap(),
        dispatches.iter().max().unwrap()
    );
    assert!(dispatches.iter().all(|&count| count > 0));
    for report in &reports[..100] {
        assert_eq!((report.overflow, report.redone), (0, 0), "not a steady run: {report:?}");
        assert_eq!(report.blocking_reads, 0, "{report:?}");
    }
    // The first report comes with the submission of two steps, the last report with no submission.
    let submits: Vec<u64> = reports.iter().map(|r| r.submits).collect();
    assert_eq!(submits.iter().sum::<u64>(), 101, "{submits:?}");
    assert!(submits[1..].iter().all(|&count| count <= 1), "{submits:?}");
}

// A gas, one step ahead; and spheres that come to rest, whose steps have several substeps.
#[test]
fn a_long_step_is_divided_into_submits_and_keeps_its_bits() {
    for (name, system) in [("gas", gas(4000, 91)), ("falling", falling())] {
        let [whole, divided] = [Duration::MAX, Duration::from_micros(100)].map(|longest| {
            let (context, mut simulation) = start_alone(&system);
            context.limit_submits(longest);
            let mut submits = vec![];
            let report = |report: &carom::StepReport| {
                submits.push((report.submits, report.dispatches));
                ControlFlow::Continue(())
            };
            simulation.run(12, report).unwrap();
            (simulation.state_hash(), submits)
        });
        println!("{name}: (submits, dispatches) {:?}, divided {:?}", whole.1, divided.1);
        assert_eq!(whole.0, divided.0, "{name}");
        let total = |of: &[(u64, u64)]| of.iter().map(|(submits, _)| submits).sum::<u64>();
        assert!(total(&divided.1) > 8 * total(&whole.1), "{name}");
    }
}

#[test]
fn running_ahead_changes_no_bit() {
    let system = gas(2000, 92);
    let (mut ahead, mut singly) = (start(&system), start(&system));
    let mut reported = 0;
    ahead
        .run(10, |report| {
            reported += report.pair_impacts;
            ControlFlow::Continue(())
        })
        .unwrap();
    let stepped: u64 = (0..10).map(|_| singly.step().unwrap().pair_impacts).sum();
    assert_eq!((ahead.steps(), reported), (10, stepped));
    assert_eq!(ahead.state_hash(), singly.state_hash());
    // A step that had begun before the stop is finished and reported.
    let mut seen = vec![];
    ahead
        .run(10, |report| {
            seen.push(report.step);
            if report.step == 13 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
        .unwrap();
    assert_eq!((seen, ahead.steps()), (vec![11, 12, 13, 14], 14));
    (0..4).for_each(|_| drop(singly.step().unwrap().clone()));
    assert_eq!(ahead.state_hash(), singly.state_hash());
    // The run continues from there, step by step or after an edit.
    for simulation in [&mut ahead, &mut singly] {
        simulation.step().unwrap();
        simulation.remove(100).unwrap();
        simulation.apply_impulse(101, glam::DVec3::X).unwrap();
        simulation.step().unwrap();
    }
    assert_eq!(ahead.state_hash(), singly.state_hash());
}

#[test]
fn a_sphere_of_a_gas_takes_at_most_three_hundred_bytes() {
    let count = 32_768;
    let mut simulation = start(&gas(count, 93));
    simulation.run(4, |_| ControlFlow::Continue(())).unwrap();
    let bytes = simulation.memory_bytes() as f64 / count as f64;
    println!("{bytes:.1} bytes per sphere");
    assert!(bytes <= 300.0, "{bytes} bytes per sphere");
}

#[test]
fn more_spheres_than_the_device_can_bind_are_refused_with_the_number_that_fits() {
    let limits = wgpu::Limits { max_storage_buffer_binding_size: 1 << 20, ..wgpu::Limits::default() };
    let context = Context::open_with_limits(None, limits).expect("an adapter");
    let limited = || Options { context: Some(context.clone()), ..options(Backend::Gpu) };
    let buffers = || context.device.get_internal_counters().hal.buffers.read();
    let before = buffers();
    let text = match Simulation::new(gas(100_000, 94), limited()).map(|_| ()) {
        Err(Error::Capacity(text)) => text,
        other => panic!("{other:?}"),
    };
    assert_eq!(buffers(), before, "something was allocated");
    assert!(text.contains("100000 spheres") && text.contains("1048576"), "{text}");
    let most: u64 = text.split("at most ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    println!("{text}");
    // The stated number of spheres fits; a few more do not.
    let mut simulation = Simulation::new(gas(most, 94), limited()).unwrap();
    simulation.step().unwrap();
    assert!(Simulation::new(gas(most + most / 50, 94), limited()).is_err());
    assert_eq!(context.check(), Ok(()));
}

#[test]
fn spheres_that_do_not_fit_can_be_removed_again() {
    let limits = wgpu::Limits { max_storage_buffer_binding_size: 1 << 20, ..wgpu::Limits::default() };
    let context = Context::open_with_limits(None, limits).expect("an adapter");
    let options = Options { context: Some(context), ..options(Backend::Gpu) };
    let mut system = gas(1000, 96);
    system.bounds.sides = [Side::Open; 3];
    let mut simulation = Simulation::new(system, options).unwrap();
    simulation.step().unwrap();
    let far = |k: u32| sphere(k, [3.0 * f64::from(k), 1e4, 0.0], [0.0; 3]);
    (1000..60_000).for_each(|id| simulation.add(far(id)).unwrap());
    let refused = simulation.step().unwrap_err();
    assert!(matches!(refused, Error::Capacity(_)), "{refused:?}");
    (1000..60_000).for_each(|id| assert_eq!(simulation.remove(id).unwrap().id, id));
    simulation.step().unwrap();
    assert_eq!((simulation.steps(), simulation.sphere_count()), (2, 1000));
}

#[test]
fn a_lost_device_is_an_error_of_the_next_step_and_no_panic() {
    let system = gas(500, 95);
    type Lose = fn(&Context);
    let ways: [(&str, Lose); 2] = [
        ("said", |context| context.report_lost("the cable was pulled")),
        ("destroyed", |context| context.device.destroy()),
    ];
    for (way, lose) in ways {
        for under_way in [false, true] {
            let (context, mut simulation) = start_alone(&system);
            let name = context.info().name.clone();
            simulation.step().unwrap();
            let lost = if under_way {
                // While the next step is on the device.
                simulation
                    .run(10, |report| {
                        if report.step == 4 {
                            lose(&context);
                        }
                        ControlFlow::Continue(())
                    })
                    .unwrap_err()
            } else {
                lose(&context);
                simulation.step().map(|_| ()).unwrap_err()
            };
            println!("{way}, under way {under_way}: {lost}");
            assert!(matches!(&lost, Error::DeviceLost(text) if text.contains(&name)), "{way}: {lost:?}");
            assert_eq!(simulation.steps(), if under_way { 4 } else { 1 }, "{way}: a failed step counts");
            // No later call panics.
            assert!(matches!(simulation.try_spheres(), Err(Error::DeviceLost(_))), "{way}");
            assert_eq!(simulation.spheres().len(), 500);
            let _ = simulation.state_hash();
            assert!(matches!(simulation.step(), Err(Error::DeviceLost(_))), "{way}");
            assert!(matches!(simulation.add(sphere(1000, [0.0; 3], [0.0; 3])), Err(Error::DeviceLost(_))));
            assert!(matches!(simulation.remove(3), Err(Error::DeviceLost(_))), "{way}");
            assert_eq!(simulation.sphere_count(), 500);
            drop(simulation);
        }
    }
    // Another device is unaffected.
    start(&system).step().unwrap();
}

// The step is so long that the device cannot finish it before the host waits.
#[test]
fn a_device_that_takes_too_long_counts_as_lost() {
    let system = gas(20_000, 95);
    let (context, mut simulation) = start_alone(&system);
    simulation.step().unwrap();
    context.limit_waits(Duration::from_micros(1));
    let late = simulation.step().unwrap_err();
    println!("{late}");
    assert!(matches!(&late, Error::DeviceLost(text) if text.contains("has not finished its work in")));
    assert_eq!(simulation.steps(), 1);
    let (context, mut simulation) = start_to_recover(&system);
    simulation.step().unwrap();
    context.limit_waits(Duration::from_micros(1));
    simulation.step().unwrap();
    assert_eq!((simulation.steps(), simulation.backend()), (2, Backend::Cpu));
    assert!(simulation.device_loss().is_some());
}

// Loses the device in the middle of a run that goes on on the CPU; returns the simulation after `steps` steps.
fn lose_in_the_middle(system: &System, steps: u64, at: u64, lose: impl Fn(&Context)) -> Simulation {
    let (context, mut simulation) = start_to_recover(system);
    let mut reported = vec![];
    simulation
        .run(steps, |report| {
            reported.push(report.step);
            if report.step == at {
                lose(&context);
            }
            ControlFlow::Continue(())
        })
        .unwrap();
    // Every step is reported once and in order, although the CPU repeats some.
    assert_eq!(reported, (1..=steps).collect::<Vec<_>>());
    simulation
}

#[test]
fn a_run_goes_on_on_the_cpu_after_the_loss_of_the_device() {
    let system = gas(500, 95);
    type Lose = fn(&Context);
    let ways: [Lose; 2] =
        [|context| context.report_lost("the cable was pulled"), |context| context.device.destroy()];
    for lose in ways {
        let simulation = lose_in_the_middle(&system, 20, 7, lose);
        assert_eq!((simulation.steps(), simulation.backend()), (20, Backend::Cpu));
        assert!(simulation.device_loss().is_some());
        let summary = simulation.summary();
        // The copy is from the start of the run, so the CPU took all steps.
        assert_eq!((summary.steps, summary.cpu_steps), (20, 20));
        assert!(
            (summary.time - 20.0 * system.dt).abs() < 1e-9 && (simulation.time() - summary.time).abs() < 1e-9
        );
        assert!(summary.energy_error.unwrap().abs() < 1e-6 && summary.momentum_error.unwrap() < 1e-6);
        // Repeated steps leave nothing of the first attempt: the end is that of a run on the CPU.
        let mut cpu = Simulation::new(system.clone(), options(Backend::Cpu)).unwrap();
        cpu.run(20, |_| ControlFlow::Continue(())).unwrap();
        assert_eq!(simulation.state_hash(), cpu.state_hash());
        assert_eq!(summary.impacts(), cpu.summary().impacts());
    }
}

#[test]
fn an_edit_after_the_loss_of_the_device_goes_on_on_the_cpu() {
    let (context, mut simulation) = start_to_recover(&gas(300, 97));
    (0..3).for_each(|_| drop(simulation.step().unwrap().clone()));
    context.report_lost("the cable was pulled");
    let gone = simulation.remove(3).unwrap();
    assert_eq!((gone.id, simulation.sphere_count()), (3, 299));
    simulation.step().unwrap();
    assert_eq!((simulation.steps(), simulation.backend()), (4, Backend::Cpu));
    assert_eq!(simulation.spheres().len(), 299);
    // A loss between an edit and the next step keeps the edit.
    let (context, mut simulation) = start_to_recover(&gas(300, 97));
    simulation.step().unwrap();
    simulation.apply_impulse(5, DVec3::new(1e3, 0.0, 0.0)).unwrap();
    context.report_lost("the cable was pulled");
    simulation.step().unwrap();
    assert_eq!((simulation.steps(), simulation.backend()), (2, Backend::Cpu));
    assert!(simulation.report().kinetic_energy > 1e5, "the impulse is lost");
}

#[test]
fn a_loss_before_the_first_step_and_after_the_last_is_recovered() {
    let system = gas(300, 98);
    let (context, mut simulation) = start_to_recover(&system);
    context.report_lost("the cable was pulled");
    simulation.step().unwrap();
    assert_eq!((simulation.steps(), simulation.summary().cpu_steps), (1, 1));

    let (context, mut simulation) = start_to_recover(&system);
    (0..5).for_each(|_| drop(simulation.step().unwrap().clone()));
    context.report_lost("the cable was pulled");
    assert!(matches!(simulation.try_spheres(), Err(Error::DeviceLost(_))));
    simulation.recover().unwrap();
    assert_eq!((simulation.steps(), simulation.try_spheres().unwrap().len()), (5, 300));
    assert!(simulation.device_loss().unwrap().contains("the cable was pulled"));

    // Without the option the loss is an error as before.
    let (context, mut simulation) = start_alone(&system);
    simulation.step().unwrap();
    context.report_lost("the cable was pulled");
    assert!(matches!(simulation.recover(), Err(Error::DeviceLost(_))));
    assert_eq!((simulation.backend(), simulation.device_loss()), (Backend::Gpu, None));
}

// Three fast spheres hit a block of nearly touching ones in one substep: the plain order fails occasionally. Under a little
// gravity, because without it the CPU takes steps with impacts out of order.
#[test]
fn strict_order_leaves_nothing_late() {
    let mut system = System { dt: 1.0 / 60.0, gravity: -1e-3 * DVec3::Z, ..System::default() };
    system.materials = Materials::empty();
    system.materials.push("ball", 0.999, 1.0);
    for k in 0..108u32 {
        let place = [k / 36, k / 6 % 6, k % 6].map(|x| f64::from(x) * 1.001);
        system.spheres.push(sphere(k, place, [0.0; 3]));
    }
    for (k, y, z) in [(108, 4.33368, 1.23816), (109, 5.22636, 5.43852), (110, 0.11904, 3.63888)] {
        let bullet = sphere(k, [105.0 - f64::from(k), y, z], [1200.0, 0.0, 0.0]);
        system.spheres.push(Sphere { radius: 0.25, mass: 2.4, ..bullet });
    }
    let late = |system: &System| {
        let mut simulation = simulate(system, Backend::Gpu);
        (0..2).for_each(|_| drop(simulation.step().unwrap().clone()));
        let s = simulation.summary();
        println!("{:?}: late {} of {}, redone {}", system.solver, s.late, s.pair_impacts, s.redone);
        assert!(s.pair_impacts > 100);
        s.late
    };
    system.solver = Solver { substeps: 1, ..Solver::default() };
    assert!(late(&system) > 0, "a case that does not need strict order");
    system.solver.strict_order = true;
    assert_eq!(late(&system), 0);
}
