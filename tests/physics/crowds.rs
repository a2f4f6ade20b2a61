//! Impacts in a crowd are solved as resting contacts: a sphere in flight still bounces off a held one, a heap reports no
//! collision out of order, and its energy is accounted for.

use carom::{Backend, Bounds, Materials, Plane, Side, Sphere, Surface, System};
use glam::DVec3;

use crate::support::{simulate, simulate_silently};

on_each_engine!(
    a_ball_bounces_off_a_held_one,
    a_late_impact_becomes_a_contact_unless_it_is_fast,
    a_contact_made_of_a_late_impact_holds_no_fast_sphere,
    no_impact_is_late_where_fast_spheres_strike_a_heap,
    a_fixed_sphere_half_in_a_floor_costs_no_pushes,
    a_block_that_falls_becomes_a_heap (gpu: long "some minutes"),
);

// No push changes the overlap of the fixed sphere, so that the engines do not try for long.
fn a_fixed_sphere_half_in_a_floor_costs_no_pushes(backend: Backend) {
    let mut system = system(Surface { restitution: 0.3, friction: 0.5, ..Surface::default() });
    system.dt = 0.05;
    system.bounds = Bounds {
        max: DVec3::new(8.0, 8.0, 6.0),
        sides: [Side::Periodic, Side::Periodic, Side::Wall],
        ..Bounds::default()
    };
    for id in 0..49 {
        let bump = id == 24;
        let height = if bump { 0.0 } else { 0.52 };
        let position = DVec3::new(f64::from(id % 7) * 1.1 + 0.7, f64::from(id / 7) * 1.1 + 0.7, height);
        system.spheres.push(Sphere { id, position, fixed: bump, ..Sphere::default() });
    }
    let mut simulation = simulate_silently(&system, backend);
    for _ in 0..60 {
        simulation.step().unwrap();
    }
    let report = simulation.report();
    assert!((0.49..0.51).contains(&report.deepest_overlap), "{report:?}");
    assert!(report.kinetic_energy < 1e-6 && report.relax_work.abs() < 1e-6, "{report:?}");
    // All pushes would take three dispatches each, 192 in a substep.
    assert!(report.dispatches < 150 * u64::from(report.substeps), "{report:?}");
}

// A heap grows under falling spheres: half of the world moves relative to the other half, and the speeds are those of two
// steps ago. Substeps are not halved for it, and impacts only take energy.
#[test]
fn a_dense_block_that_falls_takes_no_further_substeps() {
    let mut system = system(Surface { restitution: 0.3, friction: 0.5, ..Surface::default() });
    let (side, layers, spacing) = (8_u32, 16_u32, 1.02);
    let edge = spacing * 2.0_f64.sqrt();
    system.bounds = Bounds {
        max: edge * DVec3::new(side.into(), side.into(), f64::from(layers) + 3.0),
        sides: [Side::Periodic, Side::Periodic, Side::Wall],
        ..Bounds::default()
    };
    let corners =
        [DVec3::ZERO, DVec3::new(0.5, 0.5, 0.0), DVec3::new(0.5, 0.0, 0.5), DVec3::new(0.0, 0.5, 0.5)];
    for k in 0..side * side * layers {
        let cell = DVec3::new((k % side).into(), (k / side % side).into(), (k / side / side).into());
        for (corner, id) in corners.into_iter().zip(4 * k..) {
            let position = edge * (cell + corner) + DVec3::splat(0.52);
            // Uneven, so that the layers do not land on top of each other.
            let velocity = 0.03 * DVec3::new((id % 7).into(), (id % 5).into(), (id % 3).into());
            system.spheres.push(Sphere { id, position, velocity, ..Sphere::default() });
        }
    }
    let mut simulation = simulate_silently(&system, Backend::Cpu);
    let (mut halved, mut energy, mut crowded) = (0, f64::INFINITY, 0);
    for step in 0..30 {
        let report = simulation.step().unwrap();
        let now = report.kinetic_energy + report.potential_energy;
        assert!(now <= energy + 1e-6 * energy.abs(), "step {step}: the energy rises from {energy} to {now}");
        (halved, energy, crowded) = (halved + report.redone, now, crowded + report.crowded);
    }
    assert!(crowded > 1000, "{crowded} crowded: the block does not fall onto itself");
    assert_eq!(halved, 0, "halved substeps");
}

fn system(surface: Surface) -> System {
    let mut system = System { dt: 0.05, gravity: -DVec3::Z, ..System::default() };
    system.materials = Materials::empty();
    system.materials.add("ball", surface, 1.0);
    system
}

// Three fixed balls hold one, and another one falls on it from half a diameter. All diameters are 1.
fn a_ball_bounces_off_a_held_one(backend: Backend) {
    for restitution in [0.3, 0.8] {
        let mut system = system(Surface { restitution, ..Surface::default() });
        let corner = |k: u32| {
            let angle = f64::from(k) * std::f64::consts::TAU / 3.0;
            DVec3::new(angle.cos(), angle.sin(), 0.0) / 3.0_f64.sqrt()
        };
        let held = (2.0_f64 / 3.0).sqrt();
        for id in 0..3 {
            system.spheres.push(Sphere { id, position: corner(id), fixed: true, ..Sphere::default() });
        }
        for (id, height) in [(3, held), (4, held + 1.5)] {
            system.spheres.push(Sphere { id, position: height * DVec3::Z, ..Sphere::default() });
        }
        let mut simulation = simulate(&system, backend);
        let (mut highest, mut first) = (0.0_f64, None);
        // The ball arrives at time 1 with speed 1 and returns to the held one 2 e later.
        for _ in 0..(20.0 * (1.0 + 1.9 * restitution)) as u32 {
            let report = simulation.step().unwrap();
            let events = (report.crowded, report.pair_impacts);
            if events != (0, 0) {
                first.get_or_insert(events);
            }
            let height = simulation.spheres()[4].position.z - held - 1.0;
            if simulation.time() > 1.1 {
                highest = highest.max(height);
            }
        }
        let expected = 0.5 * restitution * restitution;
        let moved = simulation.spheres()[3].position.distance(held * DVec3::Z);
        println!(
            "e {restitution}: rises {highest:.4}, expected {expected:.4}; the held ball moved by {moved:.4}"
        );
        assert_eq!(first, Some((1, 0)), "crowded contacts and impacts of the first step that has any");
        // A bounce begins up to a substep too early.
        assert!((highest - expected).abs() <= 0.02 * expected + 0.01, "{highest}");
        assert!(moved <= 5e-3, "the held ball moved by {moved}");
    }
}

// Two balls overlap a little while they fall, and separate too fast for a resting contact. A small one strikes the first of them in the
// middle of a substep, towards the second.
fn a_late_impact_becomes_a_contact_unless_it_is_fast(backend: Backend) {
    // The path that is left in the substep is .008, .4 and .6 diameters.
    for (speed, expected) in [(12.0, (1, 1, 0)), (600.0, (1, 1, 0)), (900.0, (2, 0, 1))] {
        let mut system = system(Surface { restitution: 0.5, ..Surface::default() });
        (system.dt, system.solver.substeps) = (0.01, 1);
        let ball = |id: u32, x: f64, speed: f64| Sphere {
            id,
            position: x * DVec3::X,
            velocity: speed * DVec3::X,
            ..Sphere::default()
        };
        let striker = Sphere { radius: 0.25, mass: 0.125, ..ball(0, -0.75 - 0.006 * speed, speed) };
        system.spheres.extend([striker, ball(1, 0.0, 0.0), ball(2, 0.996, 0.05)]);
        let mut simulation = simulate_silently(&system, backend);
        let report = simulation.step().unwrap();
        let counts = (report.pair_impacts, report.crowded, report.late);
        assert_eq!(counts, expected, "impacts, crowded, late at speed {speed}");
        let spheres = simulation.spheres();
        let [a, b, c] = [0, 1, 2].map(|k: usize| spheres[k].velocity.x);
        // Both kinds of contact keep the restitution.
        let struck = 1.5 * speed / 9.0;
        let passed_on = 0.75 * (struck - 0.05);
        let expected = [speed - 8.0 * struck, struck - passed_on, 0.05 + passed_on];
        let error = [a, b, c].iter().zip(expected).map(|(v, w)| (v - w).abs()).fold(0.0, f64::max);
        assert!(error <= 1e-5 * speed, "{a} {b} {c}, not {expected:?}");
    }
}

// After the late impact has become a contact, a fast ball strikes the same ball from aside. The path that is left is then .7 diameters.
fn a_contact_made_of_a_late_impact_holds_no_fast_sphere(backend: Backend) {
    let mut system = system(Surface { restitution: 0.5, ..Surface::default() });
    (system.dt, system.solver.substeps) = (0.01, 1);
    let ball =
        |id: u32, position: DVec3, velocity: DVec3| Sphere { id, position, velocity, ..Sphere::default() };
    let striker =
        |id, position, velocity| Sphere { radius: 0.25, mass: 0.125, ..ball(id, position, velocity) };
    let aside = DVec3::new(0.5_f64.sqrt(), 0.5_f64.sqrt(), 0.0);
    let (slow, fast) = (12.0 * DVec3::X, 3000.0 * aside);
    system.spheres.extend([
        striker(0, -0.75 * DVec3::X - 0.006 * slow, slow),
        ball(1, DVec3::ZERO, DVec3::ZERO),
        ball(2, 0.996 * DVec3::X, 0.05 * DVec3::X),
        striker(3, 0.004 * DVec3::X - 0.75 * aside - 0.008 * fast, fast),
    ]);
    let mut simulation = simulate_silently(&system, backend);
    let report = simulation.step().unwrap();
    assert_eq!((report.pair_impacts, report.late), (3, 1), "impacts, late");
    // The struck ball passes 3/4 of its speed along x on, as in an impact.
    let passed_on = simulation.spheres()[2].velocity.x;
    assert!((260.0..270.0).contains(&passed_on), "{passed_on}");
}

// 48 spheres fly at 20 sqrt(g d) into a block that begins to collapse.
fn no_impact_is_late_where_fast_spheres_strike_a_heap(backend: Backend) {
    for restitution in [0.5, 0.9] {
        let mut system = system(Surface { restitution, friction: 0.5, ..Surface::default() });
        system.bounds = Bounds {
            max: DVec3::new(8.24, 8.24, 40.0),
            sides: [Side::Periodic, Side::Periodic, Side::Wall],
            ..Bounds::default()
        };
        for id in 0..512 {
            let site = DVec3::new((id % 8).into(), (id / 8 % 8).into(), (id / 64).into());
            let position = 1.03 * (site + 0.5);
            system.spheres.push(Sphere { id, position, ..Sphere::default() });
        }
        for k in 0..48 {
            let site = DVec3::new((k % 4).into(), (k / 4 % 4).into(), 0.0);
            let aside = DVec3::new(f64::from(k * 7 % 5) - 2.0, f64::from(k * 3 % 7) - 3.0, 0.0) / 10.0;
            let height = 10.0 + 4.0 * f64::from(k / 16) + 0.25 * f64::from(k * 5 % 11);
            let position = 2.06 * (site + DVec3::new(0.5, 0.5, 0.0)) + aside + height * DVec3::Z;
            let velocity = DVec3::new(5.0, 3.0, -20.0);
            system.spheres.push(Sphere { id: 512 + k, position, velocity, ..Sphere::default() });
        }
        let mut simulation = simulate_silently(&system, backend);
        simulation.run(20, |_| std::ops::ControlFlow::Continue(())).unwrap();
        let summary = simulation.summary();
        assert!(summary.pair_impacts > 4000 && summary.crowded > 500, "{summary:?}");
        assert_eq!(summary.late, 0, "late at restitution {restitution}");
        assert!(summary.deepest_overlap <= 0.02, "{}", summary.deepest_overlap);
        assert!(summary.ledger_error <= 2e-5, "{:e}", summary.ledger_error);
    }
}

fn a_block_that_falls_becomes_a_heap(backend: Backend) {
    let edge = 12_u32;
    let mut system = system(Surface { restitution: 0.3, friction: 0.5, ..Surface::default() });
    let side = 1.1 * f64::from(edge);
    let plane = |point, normal| Plane { point, normal, material: 0, name: "wall".into() }.into();
    system.walls.push(plane(DVec3::ZERO, DVec3::Z));
    for axis in [DVec3::X, DVec3::Y] {
        system.walls.extend([plane(DVec3::ZERO, axis), plane(axis * side, -axis)]);
    }
    for id in 0..edge * edge * edge {
        let place = DVec3::new((id % edge).into(), (id / edge % edge).into(), (id / edge / edge).into());
        // Uneven, so that the layers do not land on top of each other.
        let lean = 0.02 * DVec3::new(place.z % 3.0 - 1.0, place.z % 2.0 - 0.5, 0.0);
        let position = 1.1 * (place + DVec3::splat(0.5)) + lean;
        system.spheres.push(Sphere { id, position, ..Sphere::default() });
    }
    let mut simulation = simulate_silently(&system, backend);
    simulation.run(400, |_| std::ops::ControlFlow::Continue(())).unwrap();
    let summary = simulation.summary();
    let (deepest, kinetic) = (summary.deepest_overlap, summary.kinetic_energy);
    println!(
        "{} impacts, {} crowded, {} late, deepest {deepest:.4}, ledger {:e}, kinetic {kinetic:e}",
        summary.impacts(),
        summary.crowded,
        summary.late,
        summary.ledger_error
    );
    assert!(summary.crowded > 0, "nothing was crowded");
    assert_eq!(summary.late, 0, "late");
    assert!(deepest <= 0.02, "{deepest}");
    assert!(summary.ledger_error <= 2e-5, "{:e}", summary.ledger_error);
}
