//! Periodic boxes under compression.

use std::{f64::consts::PI, ops::ControlFlow};

use carom::{
    Backend, Bounds, Compressed, Compression, CompressionStage, Error, Options, Side, Simulation, Sink,
    Sphere, Surface, System,
    scene::{Fill, Scene},
};
use glam::DVec3;

const BACKENDS: &[Backend] = &[
    Backend::Cpu,
    #[cfg(feature = "gpu")]
    Backend::Gpu,
];

fn gas(count: u64, fraction: f64, dt: f64, compression: Compression) -> System {
    let fill = Fill::random(count).volume_fraction(fraction).temperature(1.0);
    let mut system = Scene::new(dt).periodic().seed(3).fill(fill).build().unwrap();
    system.compression = Some(compression);
    system
}

fn to_fraction(rate: f64, fraction: f64) -> Compression {
    Compression { rate, fraction: Some(fraction), pressure: None }
}

fn on(backend: Backend, threads: usize, system: &System) -> Simulation {
    Simulation::new(system.clone(), Options { backend, threads, ..Options::default() }).unwrap()
}

fn go_on(simulation: &mut Simulation, steps: u64) {
    simulation.run(steps, |_| ControlFlow::Continue(())).unwrap();
}

/// Steps until the box stops shrinking.
fn squeeze(simulation: &mut Simulation, most: u32) -> Compressed {
    for _ in 0..most {
        simulation.step().unwrap();
        let now = simulation.compressed().unwrap();
        if now.stage != CompressionStage::Running {
            return now;
        }
    }
    panic!("still running: {:?}", simulation.compressed());
}

// Deepest overlap in diameters of equal spheres, from all pairs.
fn deepest(simulation: &Simulation) -> f64 {
    let spheres = simulation.spheres();
    let system = simulation.system();
    let pairs = spheres.iter().enumerate().flat_map(|(i, a)| spheres[..i].iter().map(move |b| (a, b)));
    let gaps = pairs.map(|(a, b)| system.separation(a.position, b.position).length() - a.radius - b.radius);
    -gaps.fold(f64::INFINITY, f64::min)
}

/// Carnahan & Starling, J. Chem. Phys. 51, 635, 1969.
fn carnahan_starling(fraction: f64) -> f64 {
    (1.0 + fraction + fraction * fraction - fraction.powi(3)) / (1.0 - fraction).powi(3)
}

/// Pressure at kT = 1 of spheres of diameter 1.
fn pressure(fraction: f64) -> f64 {
    carnahan_starling(fraction) * fraction * 6.0 / PI
}

fn fill_up(count: u64, backend: Backend, rate: f64) {
    let system = gas(count, 0.2, 0.02, to_fraction(rate, 0.55));
    let mut simulation = on(backend, 0, &system);
    let end = squeeze(&mut simulation, 5000);
    let s = simulation.summary().clone();
    let bounds = &simulation.system().bounds;
    let volume = (bounds.max - bounds.min).element_product();
    let fraction = count as f64 * PI / 6.0 / volume;
    println!(
        "{count} on {backend:?}: {end:?} after {} steps, {:.1} s; deepest overlap {:.2e} (ever {:.2e}), energy {:?}, momentum {:?}, late {}",
        s.steps,
        s.wall_seconds,
        deepest(&simulation),
        s.deepest_overlap,
        s.energy_error,
        s.momentum_error,
        s.late
    );
    assert_eq!(end.stage, CompressionStage::Reached);
    assert!((fraction - 0.55).abs() < 1e-6 && (end.packing_fraction - fraction).abs() < 1e-9, "{fraction}");
    assert!(deepest(&simulation) < 1e-5 && s.deepest_overlap < 1e-5);
    assert!(s.energy_error.unwrap().abs() < 1e-5, "{:?}", s.energy_error);
    assert!(s.momentum_error.unwrap() < 1e-5, "{:?}", s.momentum_error);
    // The box stops shrinking.
    simulation.step().unwrap();
    assert_eq!(simulation.compressed().unwrap().packing_fraction, end.packing_fraction);
}

#[test]
fn spheres_reach_the_requested_packing_fraction() {
    fill_up(500, Backend::Cpu, 0.2);
}

#[test]
fn spheres_reach_the_requested_packing_fraction_event_by_event() {
    fill_up(200, Backend::Exact, 0.2);
}

#[cfg(feature = "gpu")]
#[test]
fn spheres_reach_the_requested_packing_fraction_on_a_device() {
    fill_up(200, Backend::Gpu, 0.4);
}

// Neither a copy of the state nor a reload, which needs one.
#[cfg(feature = "gpu")]
#[test]
fn a_device_compresses_a_gas_without_copies_of_the_state() {
    let run = |is_ahead: bool| {
        let mut simulation = on(Backend::Gpu, 0, &gas(600, 0.2, 0.02, to_fraction(0.1, 0.5)));
        let (mut reports, mut waits) = (0, 0);
        let mut see = |report: &carom::StepReport| {
            assert_eq!((report.downloads, report.cpu_steps, report.late), (0, 0, 0), "{report:?}");
            assert!(report.deepest_overlap < 1e-5, "{report:?}");
            reports += 1;
            waits += report.blocking_reads;
        };
        if is_ahead {
            let each = |report: &carom::StepReport| {
                see(report);
                ControlFlow::Continue(())
            };
            simulation.run(100, each).unwrap();
        } else {
            (0..100).for_each(|_| see(simulation.step().unwrap()));
        }
        assert_eq!(reports, 100);
        let now = simulation.compressed().unwrap();
        println!("{waits} waits of the host in 100 steps, ahead: {is_ahead}; {now:?}");
        assert_eq!(now.stage, CompressionStage::Running);
        // The box lost 0.002 of its lengths in every step.
        assert!((now.packing_fraction / 0.2 / 0.998f64.powi(-300) - 1.0).abs() < 1e-9, "{now:?}");
        (waits, simulation.state_hash())
    };
    let ((ahead, hash), (singly, same)) = (run(true), run(false));
    assert_eq!(hash, same);
    assert!(ahead < 20 && singly >= 100, "{ahead} {singly}");
}

// Steps that begin early stop at the same step and in the same state as steps one by one.
#[test]
fn a_target_pressure_is_reached_in_the_same_step_with_steps_ahead() {
    for &backend in BACKENDS {
        let compression = Compression { rate: 0.05, fraction: None, pressure: Some(pressure(0.3)) };
        let system = gas(200, 0.28, 0.02, compression);
        let mut singly = on(backend, 0, &system);
        for _ in 0..60 {
            singly.step().unwrap();
        }
        let mut ahead = on(backend, 0, &system);
        go_on(&mut ahead, 60);
        let [a, b] = [&singly, &ahead].map(|simulation| simulation.compressed().unwrap());
        println!("{backend:?}: {a:?}");
        assert_eq!(a.stage, CompressionStage::Reached);
        assert_eq!((a, singly.state_hash()), (b, ahead.state_hash()));
    }
}

// A checkpoint in the middle of a compression, in a step with new cells or without.
#[test]
fn a_run_that_resumes_in_a_compression_takes_the_same_steps() {
    let backends = [
        (Backend::Cpu, 400),
        #[cfg(feature = "gpu")]
        (Backend::Gpu, 200),
    ];
    for (backend, count) in backends {
        let mut system = gas(count, 0.2, 0.02, to_fraction(0.3, 0.5));
        let surface = Surface { restitution: 0.9, friction: 0.2, ..Surface::default() };
        system.materials.set_surface(0, 0, surface);
        let mut simulation = on(backend, 0, &system);
        let mut checkpoints = vec![];
        for step in 1..=60 {
            simulation.step().unwrap();
            if [1, 20, 21].contains(&step) {
                checkpoints.push(simulation.checkpoint().unwrap());
            }
        }
        let end = (simulation.state_hash(), simulation.compressed().unwrap());
        for checkpoint in checkpoints {
            let step = checkpoint.steps();
            let options = Options { backend, ..Options::default() };
            let mut resumed = Simulation::resume(checkpoint, options).unwrap();
            go_on(&mut resumed, 60 - step);
            let found = (resumed.state_hash(), resumed.compressed().unwrap());
            assert_eq!(found, end, "{backend:?} from step {step}");
        }
    }
}

// The last steps before a jam lose a half, a quarter, an eighth or a 16th of the usual share.
#[test]
fn a_run_with_halved_shrinkages_takes_the_same_steps_ahead_and_after_a_checkpoint() {
    for &backend in BACKENDS {
        let mut system = gas(60, 0.5, 0.02, to_fraction(0.5, 0.74));
        system.spheres.iter_mut().for_each(|s| s.velocity = DVec3::ZERO);
        let mut singly = on(backend, 0, &system);
        let (mut halved, mut checkpoints) = (0, vec![]);
        while singly.compressed().unwrap().stage == CompressionStage::Running {
            let length = singly.system().period(0).unwrap();
            singly.step().unwrap();
            let lost = 1.0 - singly.system().period(0).unwrap() / length;
            if lost > 0.0 && lost < 0.006 {
                halved += 1;
                checkpoints.push(singly.checkpoint().unwrap());
            }
        }
        singly.step().unwrap();
        println!("{backend:?}: {halved} steps of {} with a halved shrinkage", singly.steps());
        assert!(halved > 1, "{backend:?}: {halved}");
        let end = |simulation: &Simulation| (simulation.state_hash(), simulation.compressed().unwrap());
        let mut ahead = on(backend, 0, &system);
        go_on(&mut ahead, singly.steps());
        assert_eq!(end(&ahead), end(&singly), "{backend:?}");
        for checkpoint in checkpoints {
            let steps = checkpoint.steps();
            let options = Options { backend, ..Options::default() };
            let mut resumed = Simulation::resume(checkpoint, options).unwrap();
            go_on(&mut resumed, singly.steps() - steps);
            assert_eq!(end(&resumed), end(&singly), "{backend:?} from step {steps}");
        }
    }
}

#[test]
fn spheres_of_two_sizes_and_discs_are_compressed_on_every_backend() {
    let mixed = Fill::random(150).diameters([(1.0, 0.95), (3.0, 0.05)]).volume_fraction(0.2).temperature(1.0);
    let discs = Fill::random(100).volume_fraction(0.3).temperature(1.0);
    for (name, scene, target) in [
        ("mixed", Scene::new(0.02).seed(4).periodic().fill(mixed), 0.5),
        ("discs", Scene::new(0.02).seed(5).flat().periodic().fill(discs), 0.6),
    ] {
        let mut system = scene.build().unwrap();
        system.compression = Some(to_fraction(0.4, target));
        let mut boxes = vec![];
        for &backend in BACKENDS {
            let mut singly = on(backend, 0, &system);
            let end = squeeze(&mut singly, 200);
            println!("{name} on {backend:?}: {end:?} after {} steps", singly.steps());
            assert_eq!(end.stage, CompressionStage::Reached, "{name} on {backend:?}");
            assert!((end.packing_fraction - target).abs() < 1e-9, "{name} on {backend:?}: {end:?}");
            assert!(deepest(&singly) < 1e-5, "{name} on {backend:?}: {}", deepest(&singly));
            let mut ahead = on(backend, 0, &system);
            go_on(&mut ahead, singly.steps());
            assert_eq!(ahead.state_hash(), singly.state_hash(), "{name} on {backend:?}");
            boxes.push((singly.steps(), singly.system().bounds.clone()));
        }
        assert!(boxes.iter().all(|found| *found == boxes[0]), "{name}: {boxes:?}");
    }
}

// The pushes of the two neighbours of every sphere cancel exactly: all lengths have few binary digits.
#[test]
fn a_column_that_touches_itself_through_the_period_is_not_compressed() {
    for &backend in BACKENDS {
        let centre = |k: u32| DVec3::new(f64::from(k) + 0.5, 2.5, 2.5);
        let sphere = |k: u32| Sphere { id: k, position: centre(k), radius: 0.5, ..Sphere::default() };
        let mut system =
            System { spheres: (0..5).map(sphere).collect(), dt: 1.0 / 64.0, ..System::default() };
        let sides = [Side::Periodic; 3];
        system.bounds = Bounds { min: DVec3::ZERO, max: DVec3::splat(5.0), sides, ..system.bounds };
        system.compression = Some(to_fraction(0.25, 0.1));
        let mut simulation = on(backend, 0, &system);
        simulation.step().unwrap();
        println!("{backend:?}: {:?}", simulation.compressed());
        assert_eq!(simulation.compressed().unwrap().stage, CompressionStage::Stuck, "{backend:?}");
        assert_eq!(simulation.system().bounds, system.bounds, "{backend:?}");
        assert!(deepest(&simulation) < 1e-6, "{backend:?}: {}", deepest(&simulation));
    }
}

// A sphere that crosses too many cells in a substep.
#[test]
fn a_step_that_fails_leaves_the_box_and_the_spheres_as_before() {
    for &backend in BACKENDS {
        let mut simulation = on(backend, 0, &gas(200, 0.3, 0.02, to_fraction(0.2, 0.5)));
        go_on(&mut simulation, 10);
        simulation.apply_impulse(5, DVec3::X * 1e9).unwrap();
        let (before, bounds) = (simulation.spheres(), simulation.system().bounds.clone());
        let error = simulation.step().unwrap_err();
        assert!(matches!(error, Error::NoProgress(_)), "{backend:?}: {error:?}");
        assert_eq!(simulation.system().bounds, bounds, "{backend:?}");
        for (a, b) in before.iter().zip(simulation.spheres()) {
            let moved = simulation.system().separation(a.position, b.position).length();
            assert!(a.id == b.id && moved < 1e-5, "{backend:?}: {a:?} {b:?}");
        }
        simulation.remove(5).unwrap();
        simulation.step().unwrap();
        assert!(
            simulation.system().bounds.max.x < bounds.max.x && deepest(&simulation) < 1e-5,
            "{backend:?}"
        );
    }
}

#[cfg(feature = "gpu")]
#[test]
fn a_compression_goes_on_on_the_cpu_after_the_loss_of_the_device() {
    let context = carom::gpu::Context::open(None).expect("an adapter");
    let options = Options {
        backend: Backend::Gpu,
        context: Some(context.clone()),
        on_loss: carom::OnLoss::Cpu,
        ..Options::default()
    };
    let system = gas(300, 0.2, 0.02, to_fraction(0.1, 0.5));
    let mut simulation = Simulation::new(system, options).unwrap();
    let mut fractions = vec![];
    let each = |report: &carom::StepReport| {
        fractions.push(report.packing_fraction);
        if report.step == 30 {
            context.report_lost("the cable was pulled");
        }
        ControlFlow::Continue(())
    };
    simulation.run(60, each).unwrap();
    assert_eq!((simulation.backend(), simulation.steps(), fractions.len()), (Backend::Cpu, 60, 60));
    assert!(deepest(&simulation) < 1e-5, "{}", deepest(&simulation));
    for (k, fraction) in (1..).zip(fractions) {
        let expected = 0.2 / 0.998f64.powi(3 * k);
        assert!((fraction / expected - 1.0).abs() < 1e-9, "step {k}: {fraction}, not {expected}");
    }
}

#[cfg(feature = "gpu")]
#[test]
fn a_box_that_is_jammed_on_a_device_stays_as_it_is() {
    let mut system = gas(60, 0.5, 0.02, to_fraction(0.5, 0.74));
    system.spheres.iter_mut().for_each(|s| s.velocity = DVec3::ZERO);
    let mut simulation = on(Backend::Gpu, 0, &system);
    let end = squeeze(&mut simulation, 500);
    println!("jammed at {:.4} after {} steps", end.packing_fraction, simulation.steps());
    assert_eq!(end.stage, CompressionStage::Stuck);
    assert!((0.52..0.68).contains(&end.packing_fraction), "{end:?}");
    assert!(deepest(&simulation) < 1e-5, "{}", deepest(&simulation));
}

// The bounds are not symmetric about the plane of the discs, as in files.
#[test]
fn discs_stay_in_their_plane_while_their_box_shrinks() {
    let gas = Fill::random(100).volume_fraction(0.3).temperature(1.0);
    let mut system = Scene::new(0.02).flat().periodic().fill(gas).build().unwrap();
    (system.bounds.min.z, system.bounds.max.z) = (0.0, 1.0);
    system.compression = Some(to_fraction(0.4, 0.4));
    let mut simulation = on(Backend::Cpu, 0, &system);
    let end = squeeze(&mut simulation, 1000);
    assert_eq!(end.stage, CompressionStage::Reached);
    assert!(simulation.spheres().iter().all(|s| s.position.z == 0.0));
}

// A compression so slow that a step changes almost nothing has not reached its target.
#[test]
fn a_slow_compression_keeps_running() {
    let mut system = gas(100, 0.2, 1e-3, to_fraction(1e-6, 0.3));
    system.solver.substeps = 1;
    let mut simulation = on(Backend::Cpu, 0, &system);
    simulation.step().unwrap();
    assert_eq!(simulation.compressed().unwrap().stage, CompressionStage::Running);
}

// Eight spheres would need a box of less than 2.1 diameters.
#[test]
fn a_box_that_would_be_too_small_for_its_periods_is_refused() {
    let mut few = gas(8, 0.1, 0.02, to_fraction(0.2, 0.5));
    assert!(
        Simulation::new(few.clone(), Options::default())
            .err()
            .unwrap()
            .to_string()
            .contains("take more spheres")
    );
    few.compression = Some(to_fraction(0.2, 0.2));
    assert!(Simulation::new(few, Options::default()).is_ok());
}

#[test]
fn two_thousand_spheres_reach_the_requested_packing_fraction() {
    fill_up(2000, Backend::Cpu, 0.05);
}

#[test]
fn a_gas_reaches_the_requested_pressure() {
    let target = pressure(0.4);
    let compression = Compression { rate: 0.01, fraction: None, pressure: Some(target) };
    let mut simulation = on(Backend::Cpu, 0, &gas(1000, 0.35, 0.02, compression));
    let end = squeeze(&mut simulation, 5000);
    let at_once = simulation.compressed().unwrap();
    for _ in 0..500 {
        simulation.step().unwrap();
    }
    let later = simulation.compressed().unwrap();
    println!(
        "asked for {target:.3}: stopped at {:.4} ({at_once:?}), there it is {:.3}, Carnahan and Starling {:.3}",
        end.packing_fraction,
        later.pressure,
        pressure(later.packing_fraction)
    );
    assert_eq!(later.stage, CompressionStage::Reached);
    assert_eq!(later.packing_fraction, end.packing_fraction);
    assert!((later.pressure / pressure(later.packing_fraction) - 1.0).abs() < 0.02);
    assert!((later.pressure / target - 1.0).abs() < 0.06);
}

#[test]
fn the_same_compression_gives_the_same_bits_on_any_number_of_threads() {
    let system = gas(400, 0.3, 0.02, to_fraction(0.2, 0.45));
    let hash = |threads| {
        let mut simulation = on(Backend::Cpu, threads, &system);
        for _ in 0..40 {
            simulation.step().unwrap();
        }
        assert!(simulation.compressed().unwrap().packing_fraction > 0.35);
        simulation.state_hash()
    };
    let first = hash(1);
    assert_eq!([hash(1), hash(2)], [first; 2]);
}

#[test]
fn a_box_that_is_jammed_stays_as_it_is() {
    let mut system = gas(200, 0.4, 0.02, to_fraction(0.5, 0.74));
    // Without thermal motion: relaxation alone, to the end.
    system.spheres.iter_mut().for_each(|s| s.velocity = DVec3::ZERO);
    let mut simulation = on(Backend::Cpu, 0, &system);
    let end = squeeze(&mut simulation, 2000);
    println!("jammed at {:.4} after {} steps", end.packing_fraction, simulation.steps());
    assert_eq!(end.stage, CompressionStage::Stuck);
    assert!((0.55..0.68).contains(&end.packing_fraction), "{end:?}");
    assert!(deepest(&simulation) < 1e-5, "{}", deepest(&simulation));
    simulation.step().unwrap();
    assert_eq!(simulation.compressed().unwrap().packing_fraction, end.packing_fraction);
}

#[test]
fn a_gas_that_jams_is_not_compressed_any_further() {
    let mut simulation = on(Backend::Cpu, 0, &gas(200, 0.4, 0.02, to_fraction(0.2, 0.72)));
    let end = squeeze(&mut simulation, 2000);
    println!(
        "a gas jams: {end:?} after {} steps, {:.1} s",
        simulation.steps(),
        simulation.summary().wall_seconds
    );
    assert_eq!(end.stage, CompressionStage::Stuck);
    assert!((0.6..0.72).contains(&end.packing_fraction), "{end:?}");
    assert!(deepest(&simulation) < 1e-5, "{}", deepest(&simulation));
}

#[test]
fn discs_fill_an_area() {
    let fill = Fill::random(200).volume_fraction(0.3).temperature(1.0);
    let mut system = Scene::new(0.02).flat().periodic().fill(fill).build().unwrap();
    system.compression = Some(to_fraction(0.3, 0.6));
    let mut simulation = on(Backend::Cpu, 0, &system);
    let end = squeeze(&mut simulation, 500);
    let edge = simulation.system().period(0).unwrap();
    assert_eq!(end.stage, CompressionStage::Reached);
    assert!((200.0 * PI / 4.0 / edge / edge - 0.6).abs() < 1e-6);
    assert!(simulation.spheres().iter().all(|s| s.position.z == 0.0));
}

#[test]
fn grains_that_lose_energy_are_compressed_and_the_ledger_is_closed() {
    let mut system = gas(300, 0.2, 0.02, to_fraction(0.2, 0.5));
    let surface = Surface { restitution: 0.8, friction: 0.3, ..Surface::default() };
    system.materials.set_surface(0, 0, surface);
    let mut simulation = on(Backend::Cpu, 0, &system);
    assert_eq!(squeeze(&mut simulation, 500).stage, CompressionStage::Reached);
    assert!(simulation.summary().ledger_error < 1e-5, "{}", simulation.summary().ledger_error);
    assert!(deepest(&simulation) < 1e-5);
}

#[test]
fn systems_that_cannot_be_compressed_are_refused_by_name() {
    let refused = |change: &dyn Fn(&mut System), words: &str| {
        let mut system = gas(100, 0.2, 0.02, to_fraction(0.1, 0.3));
        change(&mut system);
        let error = Simulation::new(system, Options::default()).err().expect(words).to_string();
        assert!(error.contains(words), "{error}: {words}");
    };
    let with = |rate, fraction, pressure| {
        move |system: &mut System| system.compression = Some(Compression { rate, fraction, pressure })
    };
    refused(&with(0.0, Some(0.3), None), "compression.rate is 0");
    refused(&with(-1.0, Some(0.3), None), "compression.rate is -1");
    refused(&with(f64::NAN, Some(0.3), None), "compression.rate is NaN");
    refused(&with(1.0, Some(0.3), None), "0.02 of its length in a step");
    refused(&with(0.1, None, None), "no target");
    refused(&with(0.1, Some(0.8), None), "compression.fraction is 0.8");
    refused(&with(0.1, Some(0.1), None), "spheres fill 0.2000 of the box");
    refused(&with(0.1, None, Some(0.0)), "compression.pressure is 0");
    refused(&|s| s.bounds.sides[1] = Side::Wall, "y is not periodic");
    refused(&|s| s.spheres[3].fixed = true, "sphere 3 is fixed");
    refused(&|s| s.sinks.push(Sink::new(DVec3::ZERO, DVec3::ONE, "drain")), "spheres come or go");
}

#[cfg(feature = "files")]
#[test]
fn an_error_in_a_compression_table_is_shown_at_its_position() {
    let slip = |table: &str, words: &str| {
        let text = format!(
            "[world]\ndt = 0.02\n[bounds]\nx = \"periodic\"\ny = \"periodic\"\nz = \"periodic\"\n[compression]\n{table}\n\
             [[spheres]]\nrandom = {{ count = 100, volume_fraction = 0.2 }}\n"
        );
        let scene = carom::files::parse_scene(&text, "test.toml", None, &[]);
        let error = match scene {
            Err(error) => error.to_string(),
            Ok(scene) => scene.build().expect_err(words).to_string(),
        };
        assert!(error.contains(words) && error.contains("^"), "{error}");
    };
    slip("rate = 0.1\nfractoin = 0.3", "`fraction`");
    slip("fraction = 0.3", "compression.rate is missing");
    slip("rate = 0.1", "no target");
    slip("rate = 0.1\nfraction = 0.1", "spheres fill 0.2000 of the box");
    slip("rate = -0.1\nfraction = 0.3", "compression.rate is -0.1");
}
