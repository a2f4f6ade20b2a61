//! Many spheres that converge and dissipate their energy, and clusters of touching spheres that are struck.

use carom::{
    Backend, Bounds, Dimensions, Materials, Options, Plane, Side, Simulation, Sphere, Surface, System, Wall,
    WallMotion,
    scene::{Fill, Scene},
};
use glam::DVec3;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};
use rand_pcg::Pcg64;

use crate::support::{options, simulate_silently};

on_each_backend!(
    plastic_clumps_end_every_step (gpu: long "half a minute"),
    lossy_clumps_end_every_step (gpu: long "half a minute"),
);
on_each_engine!(
    a_blast_in_a_gas_leaves_the_rest_of_the_world_alone (gpu: long "a minute"),
    struck_clusters_have_the_impacts_of_exact (gpu: long "a minute"),
    struck_clusters_keep_energy_and_order_in_other_worlds (gpu: long "a minute"),
);

// A thousand spheres on a loose lattice, all moving towards the middle, without gravity.
fn clump(restitution: f64, seed: u64, backend: Backend) {
    let mut system = System { dt: 1.0 / 60.0, ..System::default() };
    system.materials = Materials::empty();
    system.materials.push("clay", restitution, 1.0);
    let mut rng = Pcg64::seed_from_u64(seed);
    for k in 0..1000u32 {
        let place = DVec3::new(f64::from(k % 10), f64::from(k / 10 % 10), f64::from(k / 100)) - 4.5;
        let noise: [f64; 3] = std::array::from_fn(|_| StandardNormal.sample(&mut rng));
        system.spheres.push(Sphere {
            id: k,
            position: place * 1.6,
            velocity: -place + DVec3::from_array(noise) * 0.3,
            ..Sphere::default()
        });
    }
    let mut simulation = simulate_silently(&system, backend);
    let start = simulation.summary().kinetic_energy;
    for step in 0..240 {
        let report = simulation.step().unwrap_or_else(|e| panic!("seed {seed}, step {step}: {e}"));
        assert_eq!((report.stopped, report.unresolved), (0, 0), "seed {seed}: {report:?}");
    }
    let summary = simulation.summary();
    println!(
        "{backend:?} e={restitution}: {} impacts, {} softened, {:.3}% of the energy left, rounds {}, substeps {}, late {}, \
         overlap {:e}, ledger {:e}, {:.1} s",
        summary.pair_impacts,
        summary.contact_time_impacts,
        100.0 * summary.kinetic_energy / start,
        summary.rounds_max,
        summary.substeps,
        summary.late,
        summary.deepest_overlap,
        summary.ledger_error,
        summary.wall_seconds,
    );
    assert!(summary.kinetic_energy < 0.2 * start, "the clump forms");
    assert!(summary.ledger_error <= 1e-5, "{}", summary.ledger_error);
    assert!(summary.momentum_error.unwrap() <= 1e-5, "{:?}", summary.momentum_error);
}

fn plastic_clumps_end_every_step(backend: Backend) {
    clump(0.0, 5, backend);
}

fn lossy_clumps_end_every_step(backend: Backend) {
    clump(0.3, 6, backend);
}

fn sphere(position: DVec3, velocity: DVec3, radius: f64) -> Sphere {
    Sphere { position, velocity, radius, mass: 8.0 * radius.powi(3), ..Sphere::default() }
}

// Spheres at rest that touch, and spheres that strike them.
fn struck(name: &str, restitution: f64) -> System {
    let mut rng = Pcg64::seed_from_u64(7);
    let bullets = |rng: &mut Pcg64, count: u32, edge: f64, height: f64| -> Vec<Sphere> {
        let mut place = |k: u32| {
            let [x, y] = [0; 2].map(|_| rng.random_range(0.0..edge));
            sphere(DVec3::new(x, y, height + 1.2 * f64::from(k)), -20.0 * DVec3::Z, 0.5)
        };
        (0..count).map(&mut place).collect()
    };
    let lattice = |counts: [u32; 3], place: fn(DVec3) -> DVec3| -> Vec<Sphere> {
        let [x, y, z] = counts;
        let site = |k: u32| DVec3::new((k % x).into(), (k / x % y).into(), (k / x / y).into());
        (0..x * y * z).map(|k| sphere(place(site(k)), DVec3::ZERO, 0.5)).collect()
    };
    let close_packed = |site: DVec3| {
        let odd = 0.5 * (site.z % 2.0);
        DVec3::new(site.x + odd, site.y + odd, site.z * 0.5_f64.sqrt())
    };
    let mut system = System { dt: 0.02, ..System::default() };
    let spheres = match name {
        "layers" => [lattice([20, 20, 2], |site| site), bullets(&mut rng, 40, 19.0, 3.0)].concat(),
        "cubic" => [lattice([8, 8, 8], |site| site), bullets(&mut rng, 10, 7.0, 9.0)].concat(),
        "close-packed" => [lattice([8, 8, 8], close_packed), bullets(&mut rng, 10, 7.0, 7.0)].concat(),
        "chain" => {
            let ends = [
                sphere(DVec3::new(-3.0, 0.3, 0.0), 10.0 * DVec3::X, 0.5),
                sphere(DVec3::new(303.0, -0.2, 0.1), -12.0 * DVec3::X, 0.5),
            ];
            [lattice([300, 1, 1], |site| site), ends.to_vec()].concat()
        }
        "rack" => {
            system.dt = 0.001;
            let rows = (0..5).flat_map(|row| (0..=row).map(move |k| (f64::from(row), f64::from(k))));
            let place = |(row, k): (f64, f64)| DVec3::new(row * 0.75_f64.sqrt(), k - 0.5 * row, 0.0);
            let mut rack: Vec<_> = rows.map(|at| sphere(place(at), DVec3::ZERO, 0.5)).collect();
            rack.push(sphere(DVec3::new(-2.0, 0.05, 0.0), 1000.0 * DVec3::X, 0.5));
            rack
        }
        "sizes" => {
            let large = (0..4).map(|k| {
                let place =
                    DVec3::new(8.0 * f64::from(k % 2) + 3.5, 8.0 * f64::from(k / 2) + 3.5, -4.5 - 1e-6);
                sphere(place, DVec3::ZERO, 4.0)
            });
            [large.collect(), lattice([16, 16, 1], |site| site), bullets(&mut rng, 10, 15.0, 3.0)].concat()
        }
        _ => unreachable!("{name}"),
    };
    // Gaps of the size of f32 rounding: perfect columns of spheres have impacts that no rounded start has.
    let mut nudge = || DVec3::from_array([0; 3].map(|_| rng.random_range(-5e-8..5e-8)));
    let nudged = |(id, sphere): (u32, Sphere)| Sphere {
        id,
        position: sphere.position * (1.0 + 3e-7) + nudge(),
        ..sphere
    };
    system.spheres = (0..).zip(spheres).map(nudged).collect();
    system.materials = Materials::empty();
    system.materials.push("ball", restitution, 1.0);
    let (min, max) = (DVec3::splat(-20.0), DVec3::new(330.0, 40.0, 60.0));
    system.bounds = Bounds { min, max, sides: [Side::Wall; 3], ..Bounds::default() };
    system
}

// In a cluster of touching elastic spheres each impact depends on the one before it. Both engines must resolve about as many
// of them, and nothing may stop, be out of order or overlap.
fn struck_clusters_have_the_impacts_of_exact(backend: Backend) {
    for (name, restitution) in ["layers", "cubic", "close-packed", "chain", "rack", "sizes"]
        .into_iter()
        .flat_map(|name| [(name, 1.0), (name, 0.99)])
    {
        let system = struck(name, restitution);
        let summary = |backend| {
            let mut simulation = simulate_silently(&system, backend);
            simulation.run(40, |_| std::ops::ControlFlow::Continue(())).unwrap();
            simulation.summary().clone()
        };
        let (exact, ours) = (summary(Backend::Exact), summary(backend));
        println!(
            "{name}, e {restitution}: {} impacts, exact {}; one by one {}, late {}, stopped {}, overlap {:.1e}, \
             energy {:.1e}, ledger {:.1e}, {:.2} s, exact {:.2} s",
            ours.pair_impacts,
            exact.pair_impacts,
            ours.event_driven,
            ours.late,
            ours.stopped,
            ours.deepest_overlap,
            ours.energy_error.unwrap_or(0.0),
            ours.ledger_error,
            ours.wall_seconds,
            exact.wall_seconds,
        );
        // A device applies no impacts one by one itself. It may leave a step to the CPU that then needs none.
        match backend {
            Backend::Cpu => assert_eq!(ours.cpu_steps, 0, "{name}"),
            _ => assert!(ours.cpu_steps > 0 || ours.event_driven == 0, "{name}"),
        }
        let is_long = name != "rack" && backend == Backend::Cpu;
        assert!(!is_long || ours.event_driven > 0, "{name}: no chain is long");
        assert!(2 * ours.pair_impacts <= 3 * exact.pair_impacts, "{name}");
        assert!(3 * ours.pair_impacts >= 2 * exact.pair_impacts, "{name}");
        assert_eq!((ours.stopped, ours.unresolved), (0, 0), "{name}");
        assert!(ours.late as f64 <= 1e-5 * ours.pair_impacts as f64, "{name}: {}", ours.late);
        // In the cells of large spheres, places are rounded to 5e-7 of a small diameter, in every substep.
        let rounding = if name == "sizes" { 1e-5 } else { 2e-6 };
        assert!(ours.deepest_overlap <= rounding, "{name}: {}", ours.deepest_overlap);
        assert!(ours.ledger_error <= 1e-6, "{name}: {}", ours.ledger_error);
        if restitution == 1.0 {
            assert!(ours.energy_error.unwrap().abs() <= 1e-6, "{name}: {:?}", ours.energy_error);
        }
    }
}

// The same where impacts one by one have to find other partners: images across a face, fixed spheres, a floor under gravity, a
// wall that moves, rough spheres, and two dimensions.
fn struck_clusters_keep_energy_and_order_in_other_worlds(backend: Backend) {
    for name in ["periodic", "fixed", "falling", "falling on fixed", "moving wall", "rough", "flat"] {
        let mut system = struck(if name == "flat" { "rack" } else { "close-packed" }, 1.0);
        match name {
            "periodic" => {
                // The block reaches across two faces.
                let (min, max) = (DVec3::new(-15.0, -15.0, -20.0), DVec3::new(4.25, 4.25, 60.0));
                system.bounds = Bounds { min, max, sides: [Side::Periodic; 3], ..Bounds::default() };
            }
            "fixed" => system.spheres.iter_mut().step_by(17).for_each(|sphere| sphere.fixed = true),
            "falling" | "falling on fixed" => {
                system.gravity = -10.0 * DVec3::Z;
                system.bounds.min.z = -0.501;
                if name == "falling on fixed" {
                    system.spheres.iter_mut().take(64).for_each(|sphere| sphere.fixed = true);
                }
            }
            "moving wall" => {
                let plane =
                    Plane { point: -0.6 * DVec3::Z, normal: DVec3::Z, material: 0, name: "piston".into() };
                let mut piston = Wall::from(plane);
                piston.motion = WallMotion { velocity: 3.0 * DVec3::Z, ..WallMotion::default() };
                system.walls.push(piston);
            }
            "rough" => {
                system.materials = Materials::empty();
                system.materials.add(
                    "rubber",
                    Surface { restitution: 0.95, friction: 0.5, ..Surface::default() },
                    1.0,
                );
            }
            _ => {
                system.dimensions = Dimensions::Two;
                system.bounds.sides[2] = Side::Open;
                system.spheres.iter_mut().for_each(|sphere| sphere.position.z = 0.0);
            }
        }
        let run = |threads| {
            let options = Options { record_impacts: true, threads, ..options(backend) };
            let mut simulation = Simulation::new(system.clone(), options).unwrap();
            let mut recorded = 0;
            for _ in 0..20 {
                simulation.step().unwrap();
                let impacts = simulation.impacts();
                assert!(impacts.windows(2).all(|pair| pair[0].time <= pair[1].time), "{name}");
                recorded += impacts.len() as u64;
            }
            (simulation.summary().clone(), simulation.state_hash(), recorded)
        };
        let (ours, hash, recorded) = run(1);
        println!(
            "{name}: {} and {} impacts, one by one {}, late {}, stopped {}, overlap {:.1e}, ledger {:.1e}",
            ours.pair_impacts,
            ours.wall_impacts,
            ours.event_driven,
            ours.late,
            ours.stopped,
            ours.deepest_overlap,
            ours.ledger_error,
        );
        assert_eq!(recorded, ours.pair_impacts + ours.wall_impacts, "{name}");
        assert_eq!((ours.stopped, ours.unresolved, ours.late), (0, 0, 0), "{name}");
        let is_long = name != "flat" && backend == Backend::Cpu;
        assert!(!is_long || ours.event_driven > 0, "{name}: no chain is long");
        assert!(ours.deepest_overlap <= 1e-5, "{name}: {}", ours.deepest_overlap);
        assert!(ours.ledger_error <= 2e-6, "{name}: {}", ours.ledger_error);
        if backend == Backend::Cpu {
            assert_eq!(run(2).1, hash, "{name}: the result depends on the number of threads");
            // An engine that does not know the last step begins with rounds. The CPU takes single steps so for a device.
            let mut system = system.clone();
            for step in 0..6 {
                let mut simulation = simulate_silently(&system, backend);
                let report = simulation.step().unwrap();
                let failed = (report.stopped, report.unresolved, report.late);
                assert_eq!(failed, (0, 0, 0), "{name}, single step {step}");
                system.spheres = simulation.spheres();
            }
        }
    }
}

// A bullet in a gas starts a blast. The impacts that wait for it are applied one by one; the rounds apply all others.
fn a_blast_in_a_gas_leaves_the_rest_of_the_world_alone(backend: Backend) {
    let fill = Fill::random(60_000).volume_fraction(0.2).temperature(3.0);
    let mut system = Scene::new(1.0 / 60.0).seed(4).periodic().fill(fill).build().unwrap();
    // Twenty diameters a step.
    system.spheres[30_000].velocity = 1200.0 * DVec3::new(0.8, 0.5, 0.3).normalize();
    let mut all = [Backend::Exact, backend].map(|backend| simulate_silently(&system, backend));
    let mut serial_steps = 0;
    for step in 0..8 {
        let [exact, ours] = all.each_mut().map(|simulation| simulation.step().unwrap());
        println!(
            "{step}: {} impacts, exact {}; one by one {}, fast {}, {} rounds",
            ours.pair_impacts, exact.pair_impacts, ours.event_driven, ours.fast, ours.rounds
        );
        assert_eq!((ours.late, ours.stopped, ours.unresolved, ours.redone), (0, 0, 0, 0), "{step}");
        assert!(ours.deepest_overlap <= 1e-6, "{step}: {}", ours.deepest_overlap);
        // The trajectories part as in any gas.
        let most = if step < 4 { 10 } else { exact.pair_impacts / 50 };
        assert!(ours.pair_impacts.abs_diff(exact.pair_impacts) <= most, "{step}");
        // Until one sphere in twenty is fast.
        if backend == Backend::Cpu && step < 4 {
            assert!(4 * ours.event_driven < ours.pair_impacts, "{step}: {}", ours.event_driven);
        }
        serial_steps += u32::from(ours.event_driven == ours.pair_impacts);
    }
    let summaries = all.each_ref().map(Simulation::summary);
    let [exact, ours] = summaries.map(|summary| summary.energy_error.unwrap());
    assert!(ours.abs() <= 1e-6 && exact.abs() <= 1e-12, "{ours:e} {exact:e}");
    if backend == Backend::Cpu {
        let some = summaries[1].event_driven;
        assert!(some > 0 && serial_steps > 0, "{some} impacts one by one, all in {serial_steps} steps");
    }
}
