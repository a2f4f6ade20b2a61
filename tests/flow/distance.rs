//! Distances from walls against independently written formulas.

use std::{f64::consts::PI, sync::Arc};

use carom::{Mesh, Oscillation, Rotation, Wall, WallMotion, WallShape};
use glam::DVec3;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::oracle::distance;

#[test]
fn distances_from_walls_agree_with_independent_formulas() {
    let mut rng = Pcg64Mcg::seed_from_u64(5);
    let mut cube = |size: f64| DVec3::from_array([0; 3].map(|_| rng.random_range(-size..size)));
    let soup: Vec<DVec3> = (0..60).map(|_| cube(2.0)).collect();
    let triangles = (0..20).map(|k| [3 * k, 3 * k + 1, 3 * k + 2]).collect();
    let center = DVec3::new(0.3, -0.2, 0.5);
    let axis = DVec3::new(0.2, 0.4, 1.0);
    let mut shapes = vec![
        WallShape::Plane { point: center, normal: axis.normalize() },
        WallShape::Box { center, size: DVec3::new(1.6, 2.0, 1.2), turn: DVec3::new(0.3, -0.5, 1.0) },
        WallShape::Disc { center, normal: axis, radius: 1.2, hole: 0.4 },
        WallShape::Disc { center, normal: axis, radius: 1.2, hole: 0.0 },
        WallShape::Mesh(Arc::new(Mesh::new(soup, triangles).unwrap())),
    ];
    for (radii, closed) in [([1.0; 2], [false; 2]), ([1.4, 0.3], [true, false]), ([0.0, 1.0], [true; 2])] {
        shapes.push(WallShape::Cone { from: center - axis, to: center + axis, radii, closed });
    }
    for angle in [PI, 2.4, 0.5 * PI, 0.7] {
        shapes.push(WallShape::Sphere { center, radius: 1.3, axis, angle });
    }
    let moves = WallMotion {
        velocity: DVec3::new(0.1, 0.2, -0.3),
        oscillation: Some(Oscillation { amplitude: DVec3::splat(0.3), frequency: 0.7, phase: 1.0 }),
        rotation: Some(Rotation { point: DVec3::ONE, axis: DVec3::new(1.0, 2.0, -1.0), speed: 1.7 }),
    };
    for shape in shapes {
        for motion in [WallMotion::default(), moves] {
            let wall = Wall { motion, ..Wall::new(shape.clone(), 0, "wall") };
            for k in 0..3000 {
                let (x, time) = (cube(3.0), 0.01 * f64::from(k));
                let (found, expected) = (wall.distance(x, time), distance(&wall, x, time));
                // Near a rim the oracle takes the square root of a rounding error.
                assert!(
                    (found - expected).abs() < 1e-7,
                    "{} at {x}: {found}, expected {expected}",
                    wall.shape.kind()
                );
            }
        }
    }
}
