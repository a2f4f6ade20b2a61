//! Work of moving walls on spheres, and forces on walls.

use std::f64::consts::PI;

use carom::{Materials, Oscillation, Plane, Rotation, Sphere, Surface, System, Wall, WallMotion, WallShape};
use glam::DVec3;
use rand::RngExt;

use crate::{
    oracle::distance,
    support::{CLOSED, cube, motions, rng, shapes, simulate, sphere, wall},
};

fn gas(count: u32, radius: f64, speed: f64, surface: Surface, clear: impl Fn(DVec3) -> bool) -> System {
    let mut rng = rng(11);
    let mut system = System { dt: 0.02, materials: Materials::empty(), ..System::default() };
    system.materials.add("grain", surface, 1.0);
    while system.spheres.len() < count as usize {
        let x = 8.0 * cube(&mut rng);
        if clear(x) && system.spheres.iter().all(|other| other.position.distance(x) > 2.1 * radius) {
            let v = cube(&mut rng) * speed;
            system.spheres.push(sphere(system.spheres.len() as u32, x, v, radius));
        }
    }
    system
}

#[test]
pub fn the_work_of_moving_walls_is_the_energy_that_spheres_gain() {
    let surfaces = [Surface::default(), Surface { restitution: 0.8, friction: 0.3, ..Surface::default() }];
    for shape in shapes(DVec3::ZERO, 4.0).into_iter().take(CLOSED) {
        for (k, surface) in surfaces.into_iter().enumerate() {
            for (m, motion) in motions(DVec3::ZERO, 1.0).into_iter().enumerate().skip(1) {
                let wall = wall(shape.clone(), motion);
                let mut system =
                    gas(150, 0.2, 1.0, surface, |x| distance(&wall, x, 0.0) > 0.25 && x.length() < 4.0);
                system.walls.push(wall.clone());
                let mut simulation = simulate(system);
                let mut power = 0.0;
                for _ in 0..60 {
                    simulation.step().unwrap();
                    power += simulation.wall_loads()[0].power * 0.02;
                }
                let (name, s) = (wall.shape.kind(), simulation.summary());
                assert!(s.wall_impacts > 5, "{name} {k} {m}: {} impacts", s.wall_impacts);
                assert!(s.ledger_error < 1e-5, "{name} {k} {m}: ledger off by {:e}", s.ledger_error);
                assert_eq!(s.energy_error, None);
                let gained = s.total_energy;
                assert!(power.is_finite() && gained > 0.0);
            }
        }
    }
}

// A piston that approaches at constant speed reflects elastic spheres faster by twice its speed.
#[test]
pub fn a_moving_wall_turns_a_sphere_back_by_twice_its_speed() {
    let disc = WallShape::Disc { center: DVec3::ZERO, normal: DVec3::X, radius: 3.0, hole: 0.0 };
    let plane = WallShape::Plane { point: DVec3::ZERO, normal: DVec3::X };
    for shape in [disc, plane] {
        let velocity = DVec3::X * 2.0;
        let mut system = System { dt: 0.1, ..System::default() };
        system.walls.push(wall(shape, WallMotion { velocity, ..WallMotion::default() }));
        system.spheres.push(sphere(0, DVec3::new(3.0, 0.2, -0.1), DVec3::new(-1.0, 0.5, 0.0), 0.5));
        let mut simulation = simulate(system);
        for _ in 0..20 {
            simulation.step().unwrap();
        }
        let after = simulation.spheres()[0];
        assert!((after.velocity - DVec3::new(5.0, 0.5, 0.0)).length() < 1e-5, "{after:?}");
        // They meet after (3 - .5) / 3.
        let at = 2.5 / 3.0;
        assert!((after.position.x - (3.0 - at + 5.0 * (2.0 - at))).abs() < 1e-5, "{after:?}");
        let summary = simulation.summary();
        assert!(summary.ledger_error < 1e-6, "{}", summary.ledger_error);
    }
}

// An oscillating piston reflects a sphere with the piston's velocity at the impact.
#[test]
pub fn a_swinging_floor_throws_as_fast_as_it_moves() {
    let swing = Oscillation { amplitude: DVec3::Z * 0.1, frequency: 2.0, phase: 0.0 };
    let motion = WallMotion { oscillation: Some(swing), ..WallMotion::default() };
    let mut system = System { dt: 1e-3, ..System::default() };
    system.walls.push(wall(WallShape::Plane { point: DVec3::ZERO, normal: DVec3::Z }, motion));
    system.spheres.push(sphere(0, DVec3::Z * 0.55, DVec3::NEG_Z * 0.1, 0.5));
    let mut simulation = simulate(system);
    for _ in 0..200 {
        simulation.step().unwrap();
        if let Some(impact) = simulation.impacts().first() {
            let omega = 4.0 * PI;
            let speed = 0.1 * omega * (omega * impact.time).cos();
            let height = 0.1 * (omega * impact.time).sin();
            assert!((impact.point.z - height).abs() < 1e-5, "{impact:?}: the floor is at {height}");
            let v = simulation.spheres()[0].velocity.z;
            assert!(
                (v - (0.1 + 2.0 * speed)).abs() < omega * 1e-3 * 0.1 * omega,
                "{v}, the floor has {speed}"
            );
            return;
        }
    }
    panic!("they did not meet");
}

// A ball on a turntable, rolling off its axis, moves in a circle with 2/7 of the angular velocity of the table. (K.
// Weltner, Am. J. Phys. 47, 984, 1979.)
#[test]
pub fn a_ball_on_a_turntable_goes_round_at_two_sevenths_of_its_speed() {
    let disc = WallShape::Disc { center: DVec3::ZERO, normal: DVec3::Z, radius: 30.0, hole: 0.0 };
    let plane = WallShape::Plane { point: DVec3::ZERO, normal: DVec3::Z };
    for shape in [disc, plane] {
        let omega = 2.0;
        let rotation = Some(Rotation { point: DVec3::ZERO, axis: DVec3::Z, speed: omega });
        let mut system = System {
            dt: 1.0 / 60.0,
            gravity: DVec3::NEG_Z * 9.81,
            materials: Materials::empty(),
            ..System::default()
        };
        let surface = Surface { restitution: 0.5, friction: 1.0, ..Surface::default() };
        system.materials.add("rubber", surface, 1.0);
        system.walls.push(wall(shape, WallMotion { rotation, ..WallMotion::default() }));
        // Rolling: r spin x n = v - omega x x, with the table's velocity omega x x.
        let (x, v) = (DVec3::new(4.0, 0.0, 0.5), DVec3::new(0.0, 2.0, 0.0));
        let table = DVec3::new(0.0, omega * x.x, 0.0);
        // v + spin x (-n r) = table, so spin = n x (v - table) / r.
        let spin = DVec3::Z.cross(v - table) / 0.5;
        system.spheres.push(Sphere { spin, ..sphere(0, x, v, 0.5) });
        let mut simulation = simulate(system);
        // The velocity rotates at 2/7 of the table's rate: after one revolution of the velocity the ball is back at its
        // start.
        let period = 2.0 * PI / (omega * 2.0 / 7.0);
        let steps = (period * 60.0).round() as u32;
        let mut far: f64 = 0.0;
        for _ in 0..steps {
            simulation.step().unwrap();
            far = far.max(simulation.spheres()[0].position.distance(x));
        }
        let end = simulation.spheres()[0];
        let radius = v.length() * 3.5 / omega;
        assert!((far / (2.0 * radius) - 1.0).abs() < 0.01, "{far} across, expected {}", 2.0 * radius);
        assert!(end.position.distance(x) < 0.02 * radius, "{end:?} is not back at {x}");
    }
}

#[test]
pub fn walls_that_come_and_go_are_there_in_their_time_alone() {
    let disc = WallShape::Disc { center: DVec3::ZERO, normal: DVec3::X, radius: 3.0, hole: 0.0 };
    let plane = WallShape::Plane { point: DVec3::ZERO, normal: DVec3::X };
    for shape in [disc, plane] {
        for (span, passes) in
            [([0.0, 2.5], false), ([0.0, 1.5], true), ([2.6, 9.0], true), ([1.5, 9.0], false)]
        {
            let mut system = System { dt: 0.05, ..System::default() };
            system.walls.push(Wall { span, ..wall(shape.clone(), WallMotion::default()) });
            system.spheres.push(sphere(0, DVec3::new(2.5, 0.2, -0.1), -DVec3::X, 0.5));
            if passes && matches!(shape, WallShape::Plane { .. }) && span[1] > 3.0 {
                // A plane that appears at the position of the sphere would eject it.
                continue;
            }
            let mut simulation = simulate(system);
            for _ in 0..64 {
                simulation.step().unwrap();
            }
            let v = simulation.spheres()[0].velocity.x;
            assert_eq!(v, if passes { -1.0 } else { 1.0 }, "{} {span:?}", shape.kind());
        }
    }
}

#[test]
pub fn the_force_on_a_bombarded_wall_is_the_momentum_it_reflects() {
    // Bullets of mass m and speed v, reflected at a given rate: the force is 2 m v times the rate.
    let mut system = System { dt: 1.0, ..System::default() };
    let disc = WallShape::Disc { center: DVec3::ZERO, normal: DVec3::X, radius: 5.0, hole: 0.0 };
    system.walls.push(wall(disc, WallMotion::default()));
    system
        .walls
        .push(Plane { point: DVec3::X * -50.0, normal: DVec3::X, material: 0, name: "behind".into() }.into());
    let mut rng = rng(3);
    let mut torque = DVec3::ZERO;
    for id in 0..40 {
        // Side by side, so that no returning bullet hits an incoming one.
        let jolt = rng.random_range(0.0..0.2);
        let place =
            DVec3::new(3.0 + 0.5 * f64::from(id), f64::from(id % 7) - 3.0 + jolt, f64::from(id / 7) - 3.0);
        system.spheres.push(sphere(id, place, DVec3::X * -30.0, 0.1));
        torque += place.with_x(0.0).cross(DVec3::X * -60.0);
    }
    let mut simulation = simulate(system);
    simulation.step().unwrap();
    let load = simulation.wall_loads()[0];
    assert!((load.force - DVec3::X * -60.0 * 40.0).length() < 0.01, "{load:?}");
    assert!((load.torque - torque).length() < 0.05, "{load:?}, expected {torque}");
    assert_eq!((load.power, simulation.wall_loads()[1].force), (0.0, DVec3::ZERO));
}

// One press is a plane, the other has another shape. A sphere that permanently overlaps the floor is not crushed.
#[test]
pub fn a_wall_is_named_only_where_one_crushes() {
    let floor = || Wall::new(WallShape::Plane { point: DVec3::ZERO, normal: DVec3::Z }, 0, "floor");
    let press = |shape| {
        let velocity = DVec3::NEG_Z * 2.0;
        Wall { name: "press".into(), ..wall(shape, WallMotion { velocity, ..WallMotion::default() }) }
    };
    let plane = WallShape::Plane { point: DVec3::Z * 1.1, normal: DVec3::NEG_Z };
    let disc = WallShape::Disc { center: DVec3::Z * 1.1, normal: DVec3::Z, radius: 9.0, hole: 0.0 };
    for shape in [plane, disc] {
        let mut system = System {
            dt: 0.05,
            gravity: DVec3::NEG_Z,
            walls: vec![floor(), press(shape)],
            ..System::default()
        };
        system.materials = Materials::empty();
        system.materials.add("grain", Surface { restitution: 0.3, ..Surface::default() }, 1.0);
        system
            .spheres
            .extend((0..3).map(|k| sphere(k, DVec3::new(2.0 * f64::from(k), 0.0, 0.5), DVec3::ZERO, 0.5)));
        let held = sphere(3, DVec3::new(-4.0, 0.0, 0.0), DVec3::ZERO, 0.5);
        system.spheres.push(Sphere { fixed: true, ..held });
        let mut simulation = simulate(system);
        let mut named = vec![];
        for _ in 0..4 {
            let report = simulation.step().unwrap();
            let (crushed, overlap) = (report.crushed_by, report.deepest_overlap);
            // The gap is 1 at time .05, and .8 at .15.
            let time = simulation.time();
            assert!(
                if time < 0.07 { crushed.is_none() } else { crushed.is_some() || time < 0.12 },
                "{time}: {overlap}"
            );
            let walls = simulation.system().all_walls();
            let deepest = crushed.map(|(wall, depth)| (walls[wall as usize].name.clone(), depth));
            named.extend(deepest);
        }
        assert!(
            named.iter().all(|(name, depth)| (name == "press" || name == "floor") && *depth > 0.05),
            "{named:?}"
        );
    }
}

// A press that leaves too little space: the overlap is reported with the wall's name, the run does not hang, and all
// values stay finite.
#[test]
pub fn a_wall_that_crushes_spheres_is_named() {
    let surface = Surface { restitution: 0.3, friction: 0.3, ..Surface::default() };
    for (gravity, what) in [(0.0, "a press in free fall"), (1.0, "a press with gravity")] {
        let mut system = System {
            dt: 0.05,
            gravity: DVec3::NEG_Z * gravity,
            materials: Materials::empty(),
            ..System::default()
        };
        system.materials.add("grain", surface, 1.0);
        let room =
            WallShape::Cone { from: DVec3::ZERO, to: DVec3::Z * 6.0, radii: [3.0; 2], closed: [true, false] };
        system.walls.push(wall(room, WallMotion::default()));
        let velocity = DVec3::NEG_Z * 0.3;
        let press = WallShape::Plane { point: DVec3::Z * 6.0, normal: DVec3::NEG_Z };
        let press = wall(press, WallMotion { velocity, ..WallMotion::default() });
        system.walls.push(Wall { name: "press".into(), ..press });
        for k in 0..60 {
            let place =
                DVec3::new(f64::from(k % 4) - 1.5, f64::from(k / 4 % 4) - 1.5, f64::from(k / 16) + 0.6);
            system.spheres.push(sphere(k as u32, place, DVec3::ZERO, 0.45));
        }
        let mut simulation = simulate(system);
        let mut crushed = None;
        // At time 15 the press is at 1.5, where one layer has space.
        let mut steps_left = 320;
        while steps_left > 0 {
            let report = simulation.step().unwrap();
            if report.crushed_by.is_some() && crushed.is_none() {
                (crushed, steps_left) = (report.crushed_by, 10);
            }
            assert_eq!(report.nonfinite, 0);
            steps_left -= 1;
        }
        let (wall, depth) = crushed.expect(what);
        let name = &simulation.system().all_walls()[wall as usize].name;
        assert!(name == "press" || name == "cylinder", "{name}");
        assert!(depth > 0.01 && simulation.spheres().iter().all(|s| s.position.is_finite()));
    }
}

// Lossless spheres bounce faster as the gap shrinks, so the impacts of a step never end. The step still ends and
// reports this.
#[test]
pub fn walls_that_close_on_elastic_spheres_let_every_step_end() {
    for side in [1u32, 2] {
        let mut system = System { dt: 0.05, ..System::default() };
        let length = 1.5 * f64::from(side);
        for (k, axis) in DVec3::AXES.into_iter().enumerate() {
            for (name, point, normal) in
                [("low", DVec3::ZERO, axis), ("high", DVec3::splat(length), DVec3::NEG_ONE * axis)]
            {
                let velocity = if k == 2 { normal * 0.2 * length } else { DVec3::ZERO };
                let motion = WallMotion { velocity, ..WallMotion::default() };
                let name = format!("{name} {k}");
                system.walls.push(Wall { name, ..wall(WallShape::Plane { point, normal }, motion) });
            }
        }
        let mut rng = rng(5);
        for k in 0..side.pow(3) {
            let cell =
                DVec3::new(f64::from(k % side), f64::from(k / side % side), f64::from(k / side / side));
            system.spheres.push(sphere(k, (cell + 0.5) * 1.5, cube(&mut rng), 0.5));
        }
        let count = u64::from(side.pow(3));
        let mut simulation = simulate(system);
        let (mut crushed, mut unresolved) = (0, 0);
        // Layers touch the walls after a third of the path, at time .83.
        while crushed < 3 {
            let report = simulation.step().unwrap();
            let impacts = report.pair_impacts + report.wall_impacts;
            assert!(report.substeps <= 2 * 4096, "{report:?}");
            assert!(impacts <= (1 << 18) + (1228 + 16 * 8192) * count, "{report:?}");
            unresolved += report.unresolved;
            if let Some((wall, _)) = report.crushed_by {
                let name = &simulation.system().all_walls()[wall as usize].name;
                assert!(name.ends_with('2'), "{name}");
                crushed += 1;
            }
            let spheres = simulation.spheres();
            assert!(spheres.iter().all(|s| s.position.is_finite() && s.velocity.is_finite()));
            assert!(simulation.time() < 2.0, "{side}: nobody was crushed");
        }
        assert!(unresolved > 0);
    }
}
