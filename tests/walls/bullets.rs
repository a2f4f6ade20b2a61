//! No sphere passes a wall at any speed.

use std::collections::HashMap;

use carom::{Simulation, System, Wall, WallShape};
use glam::{DQuat, DVec3};
use rand::RngExt;

use crate::{
    oracle::distance,
    support::{CLOSED, cube, motions, rng, shapes, simulate, sphere, wall},
};

// Bullets so few and small that they rarely hit each other.
fn bullets(
    count: u32,
    radius: f64,
    speed: f64,
    seed: u64,
    targets: &[DVec3],
    clear: impl Fn(DVec3) -> bool,
) -> System {
    let mut rng = rng(seed);
    let mut system = System { dt: 0.05, ..System::default() };
    while system.spheres.len() < count as usize {
        let x = 8.0 * cube(&mut rng);
        let apart = |other: &carom::Sphere| other.position.distance(x) > 2.1 * radius;
        if clear(x) && system.spheres.iter().all(apart) {
            // One in three aims at an edge or a corner, to within a radius.
            let aim = match targets.get(system.spheres.len() / 3 % targets.len().max(1)) {
                Some(&target) if system.spheres.len().is_multiple_of(3) => target + radius * cube(&mut rng),
                _ => 3.0 * cube(&mut rng),
            };
            let v = (aim - x).normalize() * speed * rng.random_range(0.3..3.0);
            system.spheres.push(sphere(system.spheres.len() as u32, x, v, radius));
        }
    }
    system
}

// Asserts that the paths of all spheres between impacts never come nearer to the wall than their radius; returns the
// least distance and the number of impacts.
fn follow(simulation: &mut Simulation, wall: &Wall, radius: f64, steps: u32) -> (f64, usize) {
    let (mut nearest, mut struck) = (f64::INFINITY, 0);
    for _ in 0..steps {
        let begin = simulation.time();
        let before = simulation.spheres();
        simulation.step().unwrap();
        let after = simulation.spheres();
        let mut ways: HashMap<u32, Vec<(f64, DVec3)>> =
            before.iter().map(|s| (s.id, vec![(begin, s.position)])).collect();
        for impact in simulation.impacts() {
            match impact.partner {
                carom::Partner::Wall(_) => {
                    struck += 1;
                    ways.get_mut(&impact.sphere)
                        .unwrap()
                        .push((impact.time, impact.point + impact.normal * radius));
                }
                carom::Partner::Sphere(other) => {
                    let half = impact.normal * radius;
                    ways.get_mut(&impact.sphere).unwrap().push((impact.time, impact.point + half));
                    ways.get_mut(&other).unwrap().push((impact.time, impact.point - half));
                }
            }
        }
        for s in &after {
            ways.get_mut(&s.id).unwrap().push((simulation.time(), s.position));
        }
        let fastest = wall.motion.top_speed(20.0);
        for way in ways.values() {
            for leg in way.windows(2) {
                let [(t, a), (u, b)] = [leg[0], leg[1]];
                let span = u - t;
                let speed = if span > 0.0 { a.distance(b) / span } else { 0.0 } + fastest;
                let mut at = 0.0;
                while at < span {
                    let gap = distance(wall, a.lerp(b, at / span), t + at) - radius;
                    nearest = nearest.min(gap);
                    at += gap.max(0.02 * radius) / speed;
                }
            }
        }
    }
    (nearest, struck)
}

// Edges and corners.
fn targets(shape: &WallShape) -> Vec<DVec3> {
    match shape {
        WallShape::Mesh(mesh) => {
            let corner = |k: u32| mesh.vertices()[k as usize];
            let middles = mesh.triangles().iter().map(|t| 0.5 * (corner(t[0]) + corner(t[1])));
            mesh.vertices().iter().copied().chain(middles).collect()
        }
        WallShape::Box { center, size, turn } => {
            let turn = DQuat::from_scaled_axis(*turn);
            let at = |k: i32| DVec3::new((k % 3 - 1) as f64, (k / 3 % 3 - 1) as f64, (k / 9 - 1) as f64);
            (0..27).map(|k| *center + turn * (0.5 * *size * at(k))).collect()
        }
        WallShape::Cone { from, to, radii, .. } => {
            let out = (*to - *from).any_orthonormal_vector();
            let around = |k: i32| DQuat::from_axis_angle((*to - *from).normalize(), f64::from(k)) * out;
            (0..10).flat_map(|k| [*from + around(k) * radii[0], *to + around(k) * radii[1]]).collect()
        }
        WallShape::Disc { center, normal, radius, hole } => {
            let out = normal.any_orthonormal_vector();
            let around = |k: i32| DQuat::from_axis_angle(normal.normalize(), f64::from(k)) * out;
            (0..10).flat_map(|k| [*center + around(k) * *radius, *center + around(k) * *hole]).collect()
        }
        WallShape::Sphere { center, radius, axis, angle } => {
            let out = axis.any_orthonormal_vector();
            let around = |k: i32| DQuat::from_axis_angle(axis.normalize(), f64::from(k)) * out;
            (0..10)
                .map(|k| *center + (around(k) * angle.sin() + axis.normalize() * angle.cos()) * *radius)
                .collect()
        }
        WallShape::Plane { .. } => vec![],
    }
}

fn shoot(shape: WallShape, count: u32, k: usize) {
    let radius = 0.02;
    let mut total = 0;
    for (m, motion) in motions(DVec3::ZERO, 2.0).into_iter().enumerate() {
        let wall = wall(shape.clone(), motion);
        let clear = |x: DVec3| distance(&wall, x, 0.0) > 1.5 * radius;
        let mut system = bullets(count, radius, 60.0, (10 * k + m) as u64, &targets(&shape), clear);
        system.walls.push(wall.clone());
        let mut simulation = simulate(system);
        let (nearest, struck) = follow(&mut simulation, &wall, radius, 5);
        println!("{} {m}: nearest {nearest:.2e}, {struck} impacts", wall.shape.kind());
        // Moving walls follow chords of their paths.
        let slack = if motion.is_still() { 1e-4 } else { 0.05 };
        assert!(nearest > -slack * 2.0 * radius, "{} {m}: one is {nearest} near", wall.shape.kind());
        total += struck;
    }
    assert!(total > count as usize, "{total} impacts");
}

#[test]
pub fn bullets_pass_no_shape_whether_it_stands_or_moves() {
    for (k, shape) in shapes(DVec3::ZERO, 4.0).into_iter().enumerate() {
        shoot(shape, 100, k);
    }
}

tier!(long "about 3 min": ten_thousand_bullets_pass_no_shape_whether_it_stands_or_moves);
pub fn ten_thousand_bullets_pass_no_shape_whether_it_stands_or_moves() {
    for (k, shape) in shapes(DVec3::ZERO, 4.0).into_iter().enumerate() {
        shoot(shape, 2000, 100 + k);
    }
}

#[test]
pub fn elastic_bullets_keep_their_energy_in_every_closed_shape() {
    for shape in shapes(DVec3::ZERO, 4.0).into_iter().take(CLOSED) {
        let still = wall(shape, Default::default());
        let clear = |x: DVec3| distance(&still, x, 0.0) > 0.1 && x.length() < 2.0;
        let mut system = bullets(60, 0.05, 20.0, 5, &[], clear);
        system.walls.push(still.clone());
        let mut simulation = simulate(system);
        for _ in 0..100 {
            simulation.step().unwrap();
        }
        let summary = simulation.summary();
        let error = summary.energy_error.unwrap();
        let kind = still.shape.kind();
        println!("{kind}: {error:.1e}, {} impacts on it", summary.wall_impacts);
        assert!(error.abs() < 2e-6, "{kind}: {error:e}");
        assert!(summary.wall_impacts > 300, "{kind}: {}", summary.wall_impacts);
    }
}

// A sphere almost as large as the bowl, in its mouth, still hits the bottom.
#[test]
pub fn a_bullet_from_the_mouth_of_a_bowl_meets_its_bottom() {
    for (radius, height, speed) in [(3.0, 7.5, 100.0), (0.5, 9.8, 300.0), (0.5, 9.8, 20.0)] {
        let bowl = WallShape::Sphere { center: DVec3::ZERO, radius: 10.0, axis: DVec3::NEG_Z, angle: 2.2 };
        let mut system = System { dt: 0.27, ..System::default() };
        system.walls.push(wall(bowl, Default::default()));
        system.spheres.push(sphere(0, DVec3::Z * height, DVec3::NEG_Z * speed, radius));
        let mut simulation = simulate(system);
        for _ in 0..4 {
            simulation.step().unwrap();
            let z = simulation.spheres()[0].position.z;
            assert!(z >= -(10.0 - radius) - 1e-4, "radius {radius}: at {z}");
        }
    }
}

// The sphere stays in contact without approaching: only the curvature of the wall deflects it.
#[test]
pub fn a_sphere_that_slides_inside_a_spherical_wall_stays_inside() {
    for gravity in [0.0, 1.0] {
        let shell = WallShape::Sphere {
            center: DVec3::ZERO,
            radius: 10.0,
            axis: DVec3::NEG_Z,
            angle: std::f64::consts::PI,
        };
        let mut system = System { dt: 0.01, gravity: DVec3::NEG_Z * gravity, ..System::default() };
        system.walls.push(wall(shell, Default::default()));
        system.spheres.push(sphere(0, DVec3::X * 9.5, DVec3::Y * 100.0, 0.5));
        let mut simulation = simulate(system);
        for step in 0..300 {
            simulation.step().unwrap();
            let s = simulation.spheres()[0];
            assert!(s.position.length() < 9.5 + 1e-3, "step {step}: {s:?}");
            assert!((s.velocity.length() / 100.0 - 1.0).abs() < 5e-3, "step {step}: {s:?}");
        }
        assert!(simulation.summary().energy_error.unwrap().abs() < 1e-4);
    }
}

// For any number of substeps, a blade that makes a full turn in a step hits the spheres in its path.
#[test]
pub fn a_blade_strikes_also_where_one_substep_is_asked_for() {
    let blade = WallShape::Box { center: DVec3::X * 3.0, size: DVec3::new(5.0, 0.2, 2.0), turn: DVec3::ZERO };
    let rotation = Some(carom::Rotation { point: DVec3::ZERO, axis: DVec3::Z, speed: 6.0 });
    let motion = carom::WallMotion { rotation, ..Default::default() };
    let mut system = System { dt: 1.0, ..System::default() };
    system.solver.substeps = 1;
    system.walls.push(wall(blade, motion));
    system.spheres.push(sphere(0, DVec3::Y * 3.0, DVec3::ZERO, 0.5));
    let mut simulation = simulate(system);
    let report = simulation.step().unwrap();
    assert!(report.substeps >= 60 && report.wall_impacts > 0 && report.wall_work > 100.0, "{report:?}");
}

#[test]
pub fn walls_whose_motion_cannot_be_resolved_are_refused() {
    let plane = WallShape::Plane { point: DVec3::ZERO, normal: DVec3::Z };
    let swing = carom::Oscillation { amplitude: DVec3::Z, frequency: 1e6, phase: 0.0 };
    let fast = carom::WallMotion { oscillation: Some(swing), ..Default::default() };
    let drifting = carom::WallMotion { velocity: DVec3::X, ..Default::default() };
    for (motion, what) in [(fast, "choose a smaller world.dt"), (drifting, "x is periodic")] {
        let mut system = System { dt: 0.01, ..System::default() };
        system.bounds.max = DVec3::splat(10.0);
        system.bounds.sides[0] = carom::Side::Periodic;
        system.walls.push(wall(plane.clone(), motion));
        let error = system.validate().unwrap_err().to_string();
        assert!(error.contains(what), "{error}");
    }
}
