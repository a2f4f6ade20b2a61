//! Spheres that come to rest on walls.

use std::{f64::consts::PI, sync::Arc};

use carom::{Materials, Mesh, Rotation, Sphere, Surface, System, WallMotion, WallShape};
use glam::{DQuat, DVec3};

use crate::support::{ball, rng, simulate, sphere, wall};
use rand::RngExt;

fn grains(surface: Surface) -> System {
    let mut system = System {
        dt: 1.0 / 60.0,
        gravity: DVec3::NEG_Z * 9.81,
        materials: Materials::empty(),
        ..System::default()
    };
    system.materials.add("grain", surface, 1.0);
    system
}

const GRAIN: Surface = Surface {
    restitution: 0.5,
    friction: 0.5,
    rolling_friction: 0.0,
    twisting_friction: 0.0,
    restitution_threshold: 0.0,
};

// Fills a vessel with spheres.
fn fill(system: &mut System, radius: f64, height: f64, count: usize) {
    let mut rng = rng(4);
    let (mut level, side) = (1.1, (radius / 1.45).floor() as i32);
    while system.spheres.len() < count {
        for (i, j) in (-side..=side).flat_map(|i| (-side..=side).map(move |j| (i, j))) {
            let jolt = DVec3::from_array([0; 3].map(|_| rng.random_range(-0.04..0.04)));
            let x = DVec3::new(f64::from(i), f64::from(j), 0.0) * 1.1;
            if x.length() + 0.6 < radius && system.spheres.len() < count {
                let id = system.spheres.len() as u32;
                system.spheres.push(sphere(id, x + jolt + DVec3::Z * (height + level), DVec3::ZERO, 0.5));
            }
        }
        level += 1.1;
    }
    system.dt = 0.05;
    system.gravity = DVec3::NEG_Z;
}

#[test]
pub fn vessels_of_every_shape_carry_the_weight_of_their_contents() {
    let sheet = |size: f64, n: i32| {
        // A bowl of triangles.
        let at = |i: i32, j: i32| {
            let (x, y) = (f64::from(i) / f64::from(n) * size, f64::from(j) / f64::from(n) * size);
            DVec3::new(x, y, 0.08 * (x * x + y * y))
        };
        let mut vertices = vec![];
        for (i, j) in (-n..n).flat_map(|i| (-n..n).map(move |j| (i, j))) {
            let [a, b, c, d] = [at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)];
            vertices.extend([a, b, c, a, c, d]);
        }
        let triangles = (0..vertices.len() as u32 / 3).map(|k| [3 * k, 3 * k + 1, 3 * k + 2]).collect();
        Mesh::new(vertices, triangles).unwrap()
    };
    let up = |z: f64| DVec3::Z * z;
    let vessels = [
        WallShape::Box { center: up(10.0), size: DVec3::new(10.0, 10.0, 20.0), turn: DVec3::ZERO },
        WallShape::Cone { from: up(0.0), to: up(20.0), radii: [5.0; 2], closed: [true, false] },
        WallShape::Cone { from: up(0.0), to: up(20.0), radii: [0.3, 14.0], closed: [true, false] },
        WallShape::Sphere { center: up(8.0), radius: 8.0, axis: DVec3::NEG_Z, angle: 0.5 * PI },
        WallShape::Mesh(Arc::new(sheet(12.0, 10))),
        WallShape::Mesh(Arc::new(ball(up(9.0), 9.0, 2))),
    ];
    for shape in vessels {
        let mut system = grains(GRAIN);
        // A funnel is wider higher up.
        let is_funnel = matches!(shape, WallShape::Cone { radii: [a, b], .. } if a < b);
        fill(&mut system, 4.8, if is_funnel { 9.0 } else { 3.0 }, 150);
        system.walls.push(wall(shape.clone(), WallMotion::default()));
        let mut simulation = simulate(system);
        let mut deepest: f64 = 0.0;
        for _ in 0..2000 {
            deepest = deepest.max(simulation.step().unwrap().deepest_overlap);
        }
        let kind = shape.kind();
        let summary = simulation.summary();
        let load = simulation.wall_loads()[0];
        let kinetic = simulation.report().kinetic_energy / 150.0;
        println!(
            "{kind}: deepest {deepest:.4}, {kinetic:.1e} each, force {}, ledger {:.1e}",
            load.force, summary.ledger_error
        );
        assert!(deepest < 0.03, "{kind}: {deepest}");
        assert!(kinetic < 1e-5, "{kind}: {kinetic:e}");
        assert!((load.force - DVec3::NEG_Z * 150.0).length() < 1.5, "{kind}: {load:?}");
        assert!(summary.ledger_error < 1e-5, "{kind}: {:e}", summary.ledger_error);
        assert_eq!((summary.stopped, summary.unresolved), (0, 0));
    }
}

// A sphere rolls over flat triangles as over a plane, undisturbed by edges.
#[test]
pub fn a_ball_rolls_over_the_edges_of_flat_triangles_as_over_a_plane() {
    let mut rng = rng(8);
    let n = 30;
    let mut at = vec![];
    for i in 0..=n {
        for j in 0..=n {
            let jolt = |k: i32, x: f64| if k == 0 || k == n { 0.0 } else { x };
            let (a, b) = (rng.random_range(-0.3..0.3), rng.random_range(-0.3..0.3));
            at.push(DVec3::new(f64::from(i) + jolt(i, a) - 2.0, f64::from(j) + jolt(j, b) - 15.0, 0.0));
        }
    }
    let mut triangles = vec![];
    for (i, j) in (0..n).flat_map(|i| (0..n).map(move |j| (i, j))) {
        let v = |i: i32, j: i32| (i * (n + 1) + j) as u32;
        triangles.extend([[v(i, j), v(i + 1, j), v(i + 1, j + 1)], [v(i, j), v(i + 1, j + 1), v(i, j + 1)]]);
    }
    // Tilted, so that no coordinate is a round number.
    let tilt = DQuat::from_scaled_axis(DVec3::new(0.4, -0.3, 0.2));
    let mesh = Mesh::new(at, triangles).unwrap().transformed(1.0, tilt, DVec3::new(3.3, 1.1, -0.7)).unwrap();
    let place = |x: DVec3| tilt * x + DVec3::new(3.3, 1.1, -0.7);
    for (restitution, friction) in [(0.5, 0.5), (0.5, 0.0), (1.0, 0.0)] {
        let surface = Surface { restitution, friction, ..Surface::default() };
        let mut ends = vec![];
        let plane = WallShape::Plane { point: place(DVec3::ZERO), normal: tilt * DVec3::Z };
        for shape in [plane, WallShape::Mesh(Arc::new(mesh.clone()))] {
            let mut system = grains(surface);
            system.gravity = tilt * DVec3::new(1.0, 0.1, -9.0);
            let v = tilt * DVec3::new(2.0, 0.3, 0.0);
            let spin = (tilt * DVec3::Z).cross(v) / 0.5 * if friction > 0.0 { 1.0 } else { 0.0 };
            system.spheres.push(Sphere { spin, ..sphere(0, place(DVec3::Z * 0.5), v, 0.5) });
            system.walls.push(wall(shape, WallMotion::default()));
            let mut simulation = simulate(system);
            for _ in 0..240 {
                simulation.step().unwrap();
            }
            let end = simulation.spheres()[0];
            println!("e {restitution}, mu {friction}: {} {}", end.position, end.velocity);
            ends.push(end);
        }
        let apart = ends[0].position.distance(ends[1].position);
        assert!(
            apart < 5e-4,
            "e {restitution}, mu {friction}: {apart} apart after {}",
            ends[0].position.length()
        );
        // A bouncing sphere may be anywhere in a bounce.
        let apart = (ends[0].velocity - ends[1].velocity).reject_from(tilt * DVec3::Z).length();
        assert!(apart < 1e-3, "e {restitution}, mu {friction}: velocities {apart} apart");
    }
}

// Without friction nothing drives the sphere upwards.
#[test]
pub fn a_ball_stays_at_the_bottom_of_a_turning_drum() {
    let shape = WallShape::Cone { from: -DVec3::Y, to: DVec3::Y, radii: [5.0; 2], closed: [true; 2] };
    let rotation = Some(Rotation { point: DVec3::ZERO, axis: DVec3::Y, speed: 2.0 });
    for friction in [0.0, 0.5] {
        let mut system = grains(Surface { friction, ..GRAIN });
        system.walls.push(wall(shape.clone(), WallMotion { rotation, ..WallMotion::default() }));
        // With friction the sphere rolls in place above the turning drum.
        let spin = if friction > 0.0 { DVec3::Y * 20.0 } else { DVec3::ZERO };
        system.spheres.push(Sphere { spin, ..sphere(0, DVec3::Z * -4.5, DVec3::ZERO, 0.5) });
        let mut simulation = simulate(system);
        for _ in 0..600 {
            simulation.step().unwrap();
        }
        let s = simulation.spheres()[0];
        println!("mu {friction}: {} {} {}", s.position, s.velocity, s.spin);
        assert!(s.position.distance(DVec3::Z * -4.5) < 1e-3, "mu {friction}: {s:?}");
        assert!((s.spin - spin).length() < 1e-3, "mu {friction}: {s:?}");
    }
}

// Spheres of a stack: more than wake at once beside a sphere that wakes.
const HIGH: u32 = 6;

// Two stacks sleep, one of them on a wall that disappears: a disc, then a plane. The other one, 8 d away, sleeps on.
#[test]
pub fn a_wall_that_disappears_wakes_only_what_lies_on_it() {
    let disc = |x: f64, z: f64| {
        let normal = DVec3::Z;
        wall(
            WallShape::Disc { center: DVec3::new(x, 0.0, z), normal, radius: 2.0, hole: 0.0 },
            WallMotion::default(),
        )
    };
    let plane =
        |z: f64| wall(WallShape::Plane { point: DVec3::Z * z, normal: DVec3::Z }, WallMotion::default());
    let vanishing = 300;
    for (name, walls) in [
        ("a disc", [disc(0.0, 3.0), disc(8.0, 3.0), plane(0.0)]),
        ("a plane", [plane(3.0), disc(8.0, 5.0), plane(0.0)]),
    ] {
        let mut system = grains(Surface { restitution: 0.3, ..GRAIN });
        (system.dt, system.gravity) = (0.05, DVec3::NEG_Z);
        system.walls = walls.into();
        system.walls[0].span[1] = (f64::from(vanishing) - 0.5) * system.dt;
        let bottom = |wall: &carom::Wall| match wall.shape {
            WallShape::Disc { center, .. } => center.z,
            _ => 3.0,
        };
        let bottoms = [0, 1].map(|k| bottom(&system.walls[k]));
        for id in 0..2 * HIGH {
            let (stack, level) = ((id / HIGH) as usize, f64::from(id % HIGH));
            let at = DVec3::new(8.0 * stack as f64, 0.0, bottoms[stack] + 0.5 + level);
            system.spheres.push(sphere(id, at, DVec3::ZERO, 0.5));
        }
        let mut simulation = simulate(system);
        for step in 1..=2 * vanishing {
            let asleep = simulation.step().unwrap().asleep;
            let [least, most] = match step {
                _ if step < vanishing - 1 => [0, 2 * HIGH],
                _ if step < vanishing => [2 * HIGH; 2],
                // The waking passes up the stack.
                _ if step < vanishing + 10 => [HIGH, 2 * HIGH - 1],
                _ if step < vanishing + 40 => [HIGH; 2],
                _ => [HIGH, 2 * HIGH],
            };
            let range = u64::from(least)..=u64::from(most);
            assert!(range.contains(&asleep), "{name}: step {step}, {asleep} asleep");
        }
        for s in simulation.spheres() {
            let (stack, level) = ((s.id / HIGH) as usize, f64::from(s.id % HIGH));
            let falls = if stack == 0 { -3.0 } else { 0.0 };
            let there = bottoms[stack] + 0.5 + level + falls;
            assert!((s.position.z - there).abs() < 0.02, "{name}: {s:?}, expected at a height of {there}");
        }
    }
}
