//! What does not move: gravity, planes and materials, in scaled units and f32.

use glam::{DVec3, IVec3, Vec3};

use super::{grid::Grid, units::Units};
use crate::System;

/// A plane relative to a point of its own, so that it is as sharp far from the origin as near it.
#[derive(Clone, Copy, Debug)]
pub struct Wall {
    pub normal: Vec3,
    /// Cell of a point of the plane.
    pub cell: IVec3,
    /// Offset of that point in its cell.
    pub offset: Vec3,
    /// Gravity along the normal: the acceleration of a sphere in flight relative to the plane.
    pub acceleration: f32,
    pub material: usize,
}

/// Everything that is the same for all spheres.
#[derive(Clone, Debug, Default)]
pub struct World {
    pub gravity: Vec3,
    pub has_gravity: bool,
    pub walls: Vec<Wall>,
    pub material_count: usize,
    /// Restitution of every pair of materials, row by row.
    pub restitution: Vec<f32>,
    /// t_c of the TC model.
    pub contact_time: f32,
    /// Overlaps up to this are rounding: 1e-5 of the mean diameter. Larger hides order errors, smaller counts
    /// rounding as one.
    pub slop: f32,
}

impl World {
    /// `middle` of the spheres, contact time and mean diameter are in scaled units.
    pub fn new(
        system: &System,
        units: &Units,
        grid: &Grid,
        middle: DVec3,
        contact_time: f64,
        mean_diameter: f64,
    ) -> Self {
        let gravity = (system.gravity / units.acceleration()).as_vec3();
        let walls = system
            .planes()
            .iter()
            .map(|plane| {
                // The point of the plane nearest to the middle of the spheres: on an oblique plane the error
                // grows with the distance from this point.
                let point = plane.point / units.length;
                let foot = middle - plane.normal * plane.normal.dot(middle - point);
                let (cell, offset) = grid.locate_freely(foot);
                let normal = plane.normal.as_vec3();
                Wall {
                    normal,
                    cell,
                    offset,
                    acceleration: normal.dot(gravity),
                    material: usize::from(plane.material),
                }
            })
            .collect();
        Self {
            gravity,
            has_gravity: gravity != Vec3::ZERO,
            walls,
            material_count: system.materials.len(),
            restitution: system.materials.restitution_table().iter().map(|&e| e as f32).collect(),
            contact_time: contact_time as f32,
            slop: (1e-5 * mean_diameter) as f32,
        }
    }
}
