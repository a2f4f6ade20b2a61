//! Spheres at rest sleep, cost little, and wake when touched or when they lose their support.

use carom::{Backend, Materials, Plane, Side, Simulation, Solver, Sphere, Surface, System};
use glam::DVec3;

use crate::support::{options, simulate_silently};

on_each_engine!(
    spheres_at_rest_sleep_until_struck (gpu: long "a minute or two"),
    an_impact_acts_on_a_whole_row_that_sleeps (gpu: long "a minute or two"),
    a_sphere_that_loses_its_support_falls (gpu: long "a minute or two"),
    an_island_sleeps_while_others_move (gpu: long "a minute or two"),
    a_world_that_sleeps_does_not_change_and_wakes_for_an_edit (gpu: long "a minute or two"),
    spheres_that_must_not_sleep_stay_awake (gpu: long "a minute or two"),
    a_sphere_that_spins_in_place_sleeps_with_its_spin,
    a_spin_that_changes_keeps_touching_spins_awake (gpu: long "a minute or two"),
    a_spin_that_is_slowed_weakly_does_not_sleep (gpu: long "a minute or two"),
    no_edit_before_a_switch_leaves_a_sphere_in_the_air (gpu: long "a minute or two"),
    a_floor_that_disappears_in_a_long_step_lets_its_spheres_fall (gpu: long "a minute or two"),
);

// Diameter, mass and gravity 1; sleep starts after 10 units of time. A floor, and spheres of `grain` and of `ice`.
fn floor(dt: f64) -> System {
    let mut system = System { gravity: -DVec3::Z, dt, ..System::default() };
    system.materials = Materials::empty();
    let density = 6.0 / std::f64::consts::PI;
    let grain = Surface {
        restitution: 0.5,
        friction: 0.5,
        rolling_friction: 0.05,
        twisting_friction: 0.05,
        ..Surface::default()
    };
    let grain = system.materials.add("grain", grain, density);
    let ice = system.materials.add("ice", Surface { restitution: 0.5, ..Surface::default() }, density);
    // Without this override the pair would have the mean friction of the two materials.
    let smooth = Surface { restitution: 0.5, ..Surface::default() };
    system.materials.set_surface(grain, ice, smooth);
    system
        .walls
        .push(Plane { point: DVec3::ZERO, normal: DVec3::Z, material: grain, name: "floor".into() }.into());
    system
}

fn add(system: &mut System, material: u16, position: DVec3, velocity: DVec3) {
    let id = system.spheres.len() as u32;
    system.spheres.push(Sphere { id, position, velocity, material, ..Sphere::default() });
}

const GRAIN: u16 = 0;
const ICE: u16 = 1;

// Steps until `done`, at most for `time`.
fn until(simulation: &mut Simulation, time: f64, done: impl Fn(&Simulation) -> bool) {
    while !done(simulation) {
        simulation.step().unwrap();
        assert!(simulation.time() < time, "{:?}", simulation.report());
    }
}

fn kinetic(spheres: &[Sphere]) -> f64 {
    spheres.iter().map(|s| 0.5 * s.mass * s.velocity.length_squared()).sum()
}

fn spheres_at_rest_sleep_until_struck(backend: Backend) {
    let energies = strike_a_row(4, backend);
    assert!((energies[0] - energies[1]).abs() < 1e-3 * energies[1], "{energies:?}");
}

// The row is longer than what wakes at once.
fn an_impact_acts_on_a_whole_row_that_sleeps(backend: Backend) {
    let energies = strike_a_row(12, backend);
    // Between a row that moves as one and the row that was awake.
    let plastic = 0.5 * 0.5 * 0.5 / 13.0;
    assert!(energies[0] > plastic && energies[0] < 1.02 * energies[1], "{energies:?}");
}

// Kinetic energies after a ball has slid along the floor into a row of spheres at rest, with sleep and without.
fn strike_a_row(count: u32, backend: Backend) -> [f64; 2] {
    let mut system = floor(0.05);
    for k in 0..count {
        add(&mut system, ICE, DVec3::new(f64::from(k), 0.0, 0.5), DVec3::ZERO);
    }
    add(&mut system, ICE, DVec3::new(-8.0, 0.0, 0.5), 0.5 * DVec3::X);
    [true, false].map(|sleeping| {
        system.solver.sleeping = sleeping;
        let mut simulation = simulate_silently(&system, backend);
        // The ball arrives after 14.
        until(&mut simulation, 13.0, |s| s.time() > 12.5);
        assert_eq!(simulation.report().asleep, if sleeping { count.into() } else { 0 });
        let before = simulation.spheres();
        until(&mut simulation, 20.0, |s| s.report().pair_impacts > 0);
        simulation.step().unwrap();
        let report = simulation.report();
        assert_eq!(report.asleep, 0, "{report:?}");
        let after = simulation.spheres();
        // Momentum passes along the row, whether the spheres slept or not.
        let momentum = |spheres: &[Sphere]| spheres.iter().map(|s| s.velocity.x).sum::<f64>();
        println!("{sleeping}: momentum {} to {}", momentum(&before), momentum(&after));
        assert!((momentum(&after) - 0.5).abs() < 1e-5 && after[count as usize].velocity.x < 0.3);
        assert!(simulation.summary().ledger_error < 1e-5);
        kinetic(&after)
    })
}

// A pile of two; the lower sphere is shot away from under the upper one.
fn a_sphere_that_loses_its_support_falls(backend: Backend) {
    let mut system = floor(0.05);
    add(&mut system, ICE, DVec3::new(0.0, 0.0, 0.5), DVec3::ZERO);
    add(&mut system, ICE, DVec3::new(0.0, 0.0, 1.5), DVec3::ZERO);
    add(&mut system, ICE, DVec3::new(-14.0, 0.0, 0.5), DVec3::X);
    let mut simulation = simulate_silently(&system, backend);
    until(&mut simulation, 12.5, |s| s.time() > 12.0);
    assert_eq!(simulation.report().asleep, 2);
    until(&mut simulation, 30.0, |s| s.time() > 25.0);
    let spheres = simulation.spheres();
    assert!(spheres[1].position.z < 0.51 && spheres[0].position.x > 2.0, "{spheres:?}");
}

// A pyramid at rest, beside a ball that slides permanently.
fn an_island_sleeps_while_others_move(backend: Backend) {
    let mut system = floor(0.05);
    let side = 0.5 / 3f64.sqrt();
    for k in 0..3 {
        let angle = std::f64::consts::TAU / 3.0 * f64::from(k);
        add(
            &mut system,
            GRAIN,
            2.0 * side * DVec3::new(angle.cos(), angle.sin(), 0.0) + 0.5 * DVec3::Z,
            DVec3::ZERO,
        );
    }
    add(&mut system, GRAIN, DVec3::Z * (0.5 + (2.0f64 / 3.0).sqrt()), DVec3::ZERO);
    add(&mut system, ICE, DVec3::new(-20.0, 3.0, 0.5), DVec3::X);
    let mut simulation = simulate_silently(&system, backend);
    // The grains may fall asleep a substep apart.
    until(&mut simulation, 20.0, |s| s.report().asleep == 4);
    let asleep = simulation.spheres();
    let contacts = simulation.contacts().unwrap();
    until(&mut simulation, 40.0, |s| s.time() > 25.0);
    assert_eq!(simulation.report().asleep, 4);
    let later = simulation.spheres();
    assert_eq!(asleep[..4], later[..4], "what sleeps stands still to the bit");
    assert!((later[4].velocity.x - 1.0).abs() < 1e-6 && later[4].position.x > asleep[4].position.x + 1.0);
    // The contacts still carry the same impulses.
    let carried = |contacts: &[carom::Contact]| {
        contacts
            .iter()
            .filter(|c| matches!(c.partner, carom::Partner::Wall(_)))
            .map(|c| c.force.z)
            .sum::<f64>()
    };
    let forces = [carried(&contacts), carried(&simulation.contacts().unwrap())];
    assert!((forces[0] - 5.0).abs() < 0.01 && (forces[1] - forces[0]).abs() < 1e-5, "{forces:?}");
}

fn a_world_that_sleeps_does_not_change_and_wakes_for_an_edit(backend: Backend) {
    let mut system = floor(0.05);
    system.bounds.sides = [Side::Open; 3];
    for k in 0..8 {
        let place = DVec3::new(f64::from(k % 2), f64::from(k / 2 % 2), f64::from(k / 4));
        add(&mut system, GRAIN, 1.01 * place + 0.5 * DVec3::Z, DVec3::ZERO);
    }
    let mut simulation = simulate_silently(&system, backend);
    until(&mut simulation, 60.0, |s| s.report().asleep == 8);
    for _ in 0..3 {
        simulation.step().unwrap();
    }
    let (hash, time) = (simulation.state_hash(), simulation.time());
    for _ in 0..100 {
        let report = simulation.step().unwrap();
        assert_eq!((report.asleep, report.substeps, report.kinetic_energy), (8, 0, 0.0), "{report:?}");
    }
    assert_eq!(simulation.state_hash(), hash);
    assert!((simulation.time() - time - 5.0).abs() < 1e-9);
    simulation.apply_impulse(7, DVec3::X).unwrap();
    let report = simulation.step().unwrap();
    assert!(report.asleep == 0 && report.kinetic_energy > 0.1, "{report:?}");
    until(&mut simulation, 200.0, |s| s.report().asleep == 8);
}

// No sphere sleeps while moving, without a dissipative surface, or with sleeping disabled.
fn spheres_that_must_not_sleep_stay_awake(backend: Backend) {
    let cases: [fn(&mut System); 3] = [
        |system| system.solver = Solver { sleeping: false, ..Solver::default() },
        |system| system.materials = Materials::default(),
        // The sphere rolls slowly.
        |system| system.spheres[0].velocity = 0.01 * DVec3::Y,
    ];
    for change in cases {
        let mut system = floor(0.1);
        add(&mut system, 0, 0.5 * DVec3::Z, DVec3::ZERO);
        let surface = Surface { restitution: 0.5, friction: 0.5, ..Surface::default() };
        system.materials.set_surface(GRAIN, GRAIN, surface);
        change(&mut system);
        let mut simulation = simulate_silently(&system, backend);
        for _ in 0..150 {
            assert_eq!(simulation.step().unwrap().asleep, 0);
        }
    }
}

// Nothing resists the spin of the sphere in the middle of a row.
fn a_sphere_that_spins_in_place_sleeps_with_its_spin(backend: Backend) {
    let mut system = floor(0.1);
    for k in -3..=3 {
        add(&mut system, ICE, DVec3::new(f64::from(k), 0.0, 0.5), DVec3::ZERO);
    }
    system.spheres[3].spin = DVec3::Z;
    let mut simulation = simulate_silently(&system, backend);
    until(&mut simulation, 20.0, |s| s.report().asleep == 7);
    let energy = simulation.report().kinetic_energy;
    assert!((energy - 0.05).abs() < 1e-6, "{energy}");
    simulation.apply_impulse(0, DVec3::NEG_X).unwrap();
    until(&mut simulation, 22.0, |s| s.time() > 21.0);
    let report = simulation.report();
    assert!(report.asleep == 6 && (report.kinetic_energy - energy - 0.5).abs() < 1e-5, "{report:?}");
    let spheres = simulation.spheres();
    assert!(spheres[3].spin == DVec3::Z && spheres[3].position.x.abs() < 1e-3, "{spheres:?}");
}

// Three spheres in a row that touch without friction: the floor slows the spin of the first one, not that of the second one. The
// third one has none.
fn a_spin_that_changes_keeps_touching_spins_awake(backend: Backend) {
    let mut system = floor(0.1);
    for (k, material) in [GRAIN, ICE, ICE].into_iter().enumerate() {
        add(&mut system, material, DVec3::new(k as f64, 0.0, 0.5), DVec3::ZERO);
    }
    system.spheres[0].spin = 30.0 * DVec3::Z;
    system.spheres[1].spin = DVec3::Z;
    let mut simulation = simulate_silently(&system, backend);
    until(&mut simulation, 20.0, |s| s.time() > 15.0);
    let first = simulation.spheres()[0].spin.z;
    assert!((1.0..29.0).contains(&first), "{first}");
    assert_eq!(simulation.asleep().unwrap(), [false, false, true]);
    until(&mut simulation, 200.0, |s| s.report().asleep == 3);
    let spins: Vec<_> = simulation.spheres().iter().map(|sphere| sphere.spin).collect();
    assert_eq!(spins, [DVec3::ZERO, DVec3::Z, DVec3::ZERO]);
}

fn a_spin_that_is_slowed_weakly_does_not_sleep(backend: Backend) {
    let mut system = floor(0.05);
    let surface = Surface { restitution: 0.5, friction: 0.5, twisting_friction: 1e-3, ..Surface::default() };
    system.materials.set_surface(GRAIN, GRAIN, surface);
    add(&mut system, GRAIN, 0.5 * DVec3::Z, DVec3::ZERO);
    system.spheres[0].spin = 0.2 * DVec3::Z;
    let mut simulation = simulate_silently(&system, backend);
    until(&mut simulation, 20.0, |s| s.time() > 15.0);
    let spin = simulation.spheres()[0].spin.z;
    assert!(simulation.report().asleep == 0 && (0.01..0.19).contains(&spin), "{spin}");
    until(&mut simulation, 100.0, |s| s.report().asleep == 1);
    assert_eq!(simulation.spheres()[0].spin, DVec3::ZERO);
}

// Name of an edit, the edit, and a test of the spheres some time after it.
type Edit = (&'static str, fn(&mut Simulation), fn(&[Sphere]) -> bool);

// A sleeping stack of three, and a sphere that slides far from it, so that the world as a whole does not sleep.
fn no_edit_before_a_switch_leaves_a_sphere_in_the_air(backend: Backend) {
    let mut system = floor(0.05);
    for k in 0..3 {
        add(&mut system, GRAIN, DVec3::Z * (f64::from(k) + 0.5), DVec3::ZERO);
    }
    add(&mut system, ICE, DVec3::new(-50.0, 20.0, 0.5), DVec3::X);
    let edits: [Edit; 4] = [
        (
            "a removal",
            |s| {
                s.remove(0).unwrap();
            },
            |s| s[0].position.z < 1.0 && s[1].position.z < 1.6,
        ),
        (
            "the removal of a sphere that comes back elsewhere",
            |s| {
                let sphere = s.remove(0).unwrap();
                s.add(Sphere { position: DVec3::new(5.0, 0.0, 4.0), ..sphere }).unwrap();
            },
            // It bounces to 1.4 at most.
            |s| s[0].position.z < 1.5 && s[1].position.z < 1.0,
        ),
        ("a push", |s| s.apply_impulse(2, DVec3::X).unwrap(), |s| s[2].position.x > 0.2),
        (
            "another gravity",
            |s| s.edit(|system| system.gravity = DVec3::new(0.7, 0.0, -0.7)).unwrap(),
            |s| s[2].position.x > 0.2,
        ),
    ];
    for (what, edit, is_right) in edits {
        for switches in [false, true] {
            let mut simulation = simulate_silently(&system, backend);
            until(&mut simulation, 20.0, |s| s.report().asleep == 3);
            edit(&mut simulation);
            if switches {
                simulation.switch(options(backend)).unwrap();
            }
            let end = simulation.time() + 6.0;
            until(&mut simulation, end + 1.0, |s| s.time() > end);
            let spheres = simulation.spheres();
            assert!(is_right(&spheres), "{what}, switched: {switches}: {spheres:?}");
        }
    }
}

// The spheres fall asleep in the step in which the floor disappears.
fn a_floor_that_disappears_in_a_long_step_lets_its_spheres_fall(backend: Backend) {
    let mut system = floor(20.0);
    system.walls[0].span[1] = 14.93;
    for k in 0..3 {
        add(&mut system, GRAIN, DVec3::new(2.0 * f64::from(k), 0.0, 0.5), DVec3::ZERO);
    }
    let mut simulation = simulate_silently(&system, backend);
    simulation.step().unwrap();
    simulation.step().unwrap();
    let spheres = simulation.spheres();
    assert!(spheres.iter().all(|sphere| sphere.position.z < -100.0), "{spheres:?}");
}
