//! Shapes, spheres and random numbers.

use std::{cell::RefCell, f64::consts::PI, sync::Arc};

use carom::{Mesh, Options, Oscillation, Rotation, Simulation, Sphere, System, Wall, WallMotion, WallShape};
use glam::DVec3;
use rand::{Rng, RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

pub fn rng(seed: u64) -> Pcg64Mcg {
    Pcg64Mcg::seed_from_u64(seed)
}

/// A point in the cube from -1 to 1.
pub fn cube(rng: &mut impl Rng) -> DVec3 {
    DVec3::from_array([0; 3].map(|_| rng.random_range(-1.0..1.0)))
}

/// A ball of triangles; their number is 20 times four to the power of `level`.
pub fn ball(center: DVec3, radius: f64, level: u32) -> Mesh {
    let golden = 0.5 * (1.0 + 5.0f64.sqrt());
    let mut corners = vec![];
    for (s, t) in [(1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)] {
        for axis in 0..3 {
            let mut v = DVec3::ZERO;
            v[axis] = s;
            v[(axis + 1) % 3] = t * golden;
            corners.push(v.normalize());
        }
    }
    let edge = 1.1 * 2.0 / (1.0 + golden * golden).sqrt();
    let mut faces = vec![];
    for i in 0..12 {
        for j in i + 1..12 {
            for k in j + 1..12 {
                let near = |a: usize, b: usize| corners[a].distance(corners[b]) < edge;
                if near(i, j) && near(j, k) && near(k, i) {
                    faces.push([corners[i], corners[j], corners[k]]);
                }
            }
        }
    }
    assert_eq!(faces.len(), 20);
    for _ in 0..level {
        faces = faces
            .iter()
            .flat_map(|&[a, b, c]| {
                let (ab, bc, ca) = ((a + b).normalize(), (b + c).normalize(), (c + a).normalize());
                [[a, ab, ca], [ab, b, bc], [ca, bc, c], [ab, bc, ca]]
            })
            .collect();
    }
    let vertices: Vec<_> = faces.iter().flatten().map(|&v| center + v * radius).collect();
    let triangles = (0..faces.len() as u32).map(|k| [3 * k, 3 * k + 1, 3 * k + 2]).collect();
    Mesh::new(vertices, triangles).unwrap()
}

/// A star whose corners are sharp, outwards and inwards.
pub fn star(center: DVec3, radius: f64) -> Mesh {
    let round = ball(DVec3::ZERO, 1.0, 1);
    let mut vertices = round.vertices().to_vec();
    let mut triangles = vec![];
    for t in round.triangles() {
        let middle = t.iter().map(|&k| round.vertices()[k as usize]).sum::<DVec3>() / 3.0;
        let tip = vertices.len() as u32;
        vertices.push(middle * if tip.is_multiple_of(2) { 1.6 } else { 0.7 });
        triangles.extend([[t[0], t[1], tip], [t[1], t[2], tip], [t[2], t[0], tip]]);
    }
    Mesh::new(vertices.iter().map(|&v| center + v * radius).collect(), triangles).unwrap()
}

/// Number of closed shapes. They come first in the list of all shapes other than planes, which have about this size and
/// surround `center`.
pub const CLOSED: usize = 7;

pub fn shapes(center: DVec3, size: f64) -> Vec<WallShape> {
    let axis = DVec3::new(0.2, 0.4, 1.0).normalize() * size;
    let (from, to) = (center - axis, center + axis);
    vec![
        WallShape::Box { center, size: DVec3::new(1.6, 2.0, 1.2) * size, turn: DVec3::new(0.3, -0.5, 1.0) },
        WallShape::Cone { from, to, radii: [size; 2], closed: [true; 2] },
        WallShape::Cone { from, to, radii: [1.4 * size, 0.3 * size], closed: [true; 2] },
        WallShape::Cone { from, to, radii: [0.0, size], closed: [false, true] },
        WallShape::Sphere { center, radius: 1.2 * size, axis, angle: PI },
        WallShape::Mesh(Arc::new(ball(center, 1.2 * size, 2))),
        WallShape::Mesh(Arc::new(star(center, size))),
        WallShape::Cone { from, to, radii: [size; 2], closed: [false; 2] },
        WallShape::Cone { from, to, radii: [1.4 * size, 0.3 * size], closed: [false; 2] },
        WallShape::Disc { center, normal: axis, radius: 1.2 * size, hole: 0.4 * size },
        WallShape::Disc { center, normal: axis, radius: 1.2 * size, hole: 0.0 },
        WallShape::Sphere { center, radius: 1.2 * size, axis: -axis, angle: 1.0 },
        WallShape::Sphere { center, radius: 1.2 * size, axis: -axis, angle: 2.4 },
    ]
}

/// Motions: at rest, translation, oscillation, rotation, and all combined.
pub fn motions(center: DVec3, speed: f64) -> Vec<WallMotion> {
    let velocity = DVec3::new(1.0, 0.3, -0.5) * speed;
    let oscillation =
        Some(Oscillation { amplitude: DVec3::new(0.2, -0.3, 0.4), frequency: speed, phase: 0.7 });
    let rotation = Some(Rotation { point: center + 0.3, axis: DVec3::new(1.0, -2.0, 0.5), speed });
    let still = WallMotion::default();
    vec![
        still,
        WallMotion { velocity, ..still },
        WallMotion { oscillation, ..still },
        WallMotion { rotation, ..still },
        WallMotion { velocity, oscillation, rotation },
    ]
}

pub fn wall(shape: WallShape, motion: WallMotion) -> Wall {
    let name = shape.kind();
    Wall { motion, ..Wall::new(shape.clone(), 0, name) }
}

thread_local! {
    static OPTIONS: RefCell<Options> = RefCell::new(Options::default());
}

/// Starts a simulation on the CPU, or with the options of [`with`].
pub fn simulate(system: System) -> Simulation {
    let options = OPTIONS.with_borrow(Clone::clone);
    Simulation::new(system, Options { record_impacts: true, ..options }).unwrap_or_else(|e| panic!("{e}"))
}

/// Runs `test`, whose calls of [simulate](simulate) use these options.
#[cfg(feature = "gpu")]
pub fn with(options: Options, test: impl FnOnce()) {
    OPTIONS.set(options);
    test();
}

pub fn sphere(id: u32, position: DVec3, velocity: DVec3, radius: f64) -> Sphere {
    Sphere { id, position, velocity, radius, ..Sphere::default() }
}
