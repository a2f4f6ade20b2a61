//! The wall tests on a device.

use std::sync::OnceLock;

use carom::{Backend, Options, Oscillation, Rotation, WallMotion, WallShape, gpu::Context, verify::Lockstep};
use glam::DVec3;

use crate::support::{cube, rng, simulate, sphere, wall, with};

// One context for all tests of the process.
fn context() -> Context {
    static CONTEXT: OnceLock<Context> = OnceLock::new();
    CONTEXT.get_or_init(|| Context::open(None).unwrap_or_else(|e| panic!("{e}"))).clone()
}

fn on_device(test: impl FnOnce()) {
    with(Options { backend: Backend::Gpu, context: Some(context()), ..Options::default() }, test);
}

macro_rules! on_device {
    ($($module:ident::$name:ident $(($tier:ident $time:literal))?),* $(,)?) => {
        $(tier!($($tier $time:)? $name = on_device(crate::$module::$name));)*
    };
}

on_device!(
    bullets::bullets_pass_no_shape_whether_it_stands_or_moves (long "4 min"),
    bullets::ten_thousand_bullets_pass_no_shape_whether_it_stands_or_moves (campaign "an hour"),
    bullets::elastic_bullets_keep_their_energy_in_every_closed_shape (long "4 min"),
    bullets::a_bullet_from_the_mouth_of_a_bowl_meets_its_bottom,
    bullets::a_sphere_that_slides_inside_a_spherical_wall_stays_inside (long "2 to 8 min"),
    bullets::a_blade_strikes_also_where_one_substep_is_asked_for,
    work::the_work_of_moving_walls_is_the_energy_that_spheres_gain (long "2 to 8 min"),
    work::a_moving_wall_turns_a_sphere_back_by_twice_its_speed (long "27 s"),
    work::a_swinging_floor_throws_as_fast_as_it_moves,
    work::a_ball_on_a_turntable_goes_round_at_two_sevenths_of_its_speed (long "2 to 8 min"),
    work::walls_that_come_and_go_are_there_in_their_time_alone,
    work::the_force_on_a_bombarded_wall_is_the_momentum_it_reflects,
    work::a_wall_is_named_only_where_one_crushes,
    work::a_wall_that_crushes_spheres_is_named (long "3 min"),
    work::walls_that_close_on_elastic_spheres_let_every_step_end (long "2 to 8 min"),
    rest::vessels_of_every_shape_carry_the_weight_of_their_contents (long "2 to 8 min"),
    rest::a_ball_rolls_over_the_edges_of_flat_triangles_as_over_a_plane (long "2 to 8 min"),
    rest::a_ball_stays_at_the_bottom_of_a_turning_drum (long "2 to 8 min"),
    rest::a_wall_that_disappears_wakes_only_what_lies_on_it,
);

// A shaking box around a cylinder that rotates about its own axis, with grains in between.
fn shaken() -> carom::System {
    let mut system = carom::System { dt: 0.05, gravity: DVec3::NEG_Z, ..carom::System::default() };
    system.materials = carom::Materials::empty();
    let surface = carom::Surface { restitution: 0.5, friction: 0.4, ..carom::Surface::default() };
    system.materials.add("grain", surface, 1.0);
    let cuboid = WallShape::Box { center: DVec3::ZERO, size: DVec3::splat(12.0), turn: DVec3::splat(0.1) };
    let swing = Oscillation { amplitude: DVec3::new(0.2, 0.0, 0.4), frequency: 0.3, phase: 0.5 };
    system.walls.push(wall(cuboid, WallMotion { oscillation: Some(swing), ..WallMotion::default() }));
    let pipe = WallShape::Cone {
        from: DVec3::new(-4.0, 0.0, -1.0),
        to: DVec3::new(4.0, 0.0, 1.0),
        radii: [1.0, 1.5],
        closed: [true; 2],
    };
    let rotation = Some(Rotation { point: DVec3::ZERO, axis: DVec3::Z, speed: 1.0 });
    system.walls.push(wall(pipe, WallMotion { rotation, ..WallMotion::default() }));
    let mut rng = rng(3);
    while system.spheres.len() < 300 {
        let x = 5.0 * cube(&mut rng);
        let apart = |other: &carom::Sphere| other.position.distance(x) > 1.02;
        if system.walls.iter().all(|wall| wall.distance(x, 0.0) > 0.52) && system.spheres.iter().all(apart) {
            system.spheres.push(sphere(system.spheres.len() as u32, x, 0.5 * cube(&mut rng), 0.5));
        }
    }
    system
}

#[test]
fn walls_that_move_give_the_same_bits_in_every_run_one_by_one_and_at_once() {
    give_the_same_bits(25);
}

tier!(long "60 s": walls_that_move_for_long_give_the_same_bits = give_the_same_bits(80));

fn give_the_same_bits(steps: u64) {
    on_device(move || {
        let run = |at_once: bool| {
            let mut simulation = simulate(shaken());
            if at_once {
                simulation.run(steps, |_| std::ops::ControlFlow::Continue(())).unwrap();
            } else {
                (0..steps).for_each(|_| drop(simulation.step().unwrap().clone()));
            }
            let loads = simulation.wall_loads();
            assert!(loads[1].torque.length() > 0.0 && loads[0].power != 0.0, "{loads:?}");
            let summary = simulation.summary();
            assert!(summary.ledger_error < 1e-5, "{}", summary.ledger_error);
            (simulation.state_hash(), format!("{loads:?}"))
        };
        let first = run(true);
        assert_eq!(run(true), first);
        assert_eq!(run(false), first);
    });
}

// Forces on walls and motion of walls agree on both engines up to rounding, step by step from the same start. The steps
// may be short, and the impulses of a wall in one step correspondingly small.
#[test]
fn a_device_and_the_cpu_agree_on_the_work_and_the_loads_of_walls() {
    for (dt, steps) in [(0.05, 3), (1e-3, 150)] {
        let felt = |options: Options| {
            let mut system = shaken();
            system.dt = dt;
            let mut simulation = carom::Simulation::new(system, options).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(simulation.wall_loads(), [carom::WallLoad::default(); 2]);
            let mut felt = vec![];
            for _ in 0..steps {
                let power = simulation.step().unwrap().wall_work / dt;
                felt.push((power, simulation.wall_loads()));
            }
            felt
        };
        let cpu = felt(Options::default());
        let device = felt(Options { backend: Backend::Gpu, context: Some(context()), ..Options::default() });
        let all = || cpu.iter().flat_map(|(_, loads)| loads);
        let most = |of: fn(&carom::WallLoad) -> f64| all().map(of).fold(0.0, f64::max);
        let (force, torque) = (most(|load| load.force.length()), most(|load| load.torque.length()));
        let power = most(|load| load.power.abs());
        assert!(force > 0.0 && torque > 0.0 && power > 0.0, "{force} {torque} {power}");
        for ((work, loads), (other, others)) in cpu.iter().zip(&device) {
            assert!((work - other).abs() < 1e-4 * power, "{dt}: {work} {other}");
            for (a, b) in loads.iter().zip(others) {
                assert!((a.force - b.force).length() < 1e-4 * force, "{dt}: {a:?} {b:?}");
                assert!((a.torque - b.torque).length() < 1e-4 * torque, "{dt}: {a:?} {b:?}");
                assert!((a.power - b.power).abs() < 1e-4 * power, "{dt}: {a:?} {b:?}");
            }
        }
    }
}

#[test]
fn both_engines_agree_step_by_step_where_walls_move() {
    let mut system = shaken();
    for s in &mut system.spheres {
        s.velocity *= 10.0;
    }
    let mut lockstep = Lockstep::new(system, context(), 0, Lockstep::ROUNDING).unwrap();
    let mut impacts = 0;
    for _ in 0..4 {
        let agreement = lockstep.step().unwrap().unwrap_or_else(|mismatch| panic!("{mismatch}"));
        impacts += agreement.impacts;
    }
    assert!(impacts > 30, "{impacts} impacts");
}
