//! The world around the spheres, prepared for drawing.

use glam::DVec3;

use super::style::Style;
use crate::{Dimensions, Plane, Side, System, Wall};

/// Most walls and floors that are drawn.
pub const SURFACES: usize = 16;

/// Most lines: the edges of a box, or those of a rectangle and as many planes.
pub const LINES: usize = 12;

/// How far floors and planes reach, in radii of the scene; there they have faded out.
const SPREAD: f64 = 3.5;

/// Bounds, planes, dimensions and materials of a [`System`].
#[derive(Clone, Debug)]
pub struct Scenery {
    pub(super) dimensions: Dimensions,
    /// Corners of the box, or of what the spheres filled at the start where it is open (length).
    low: DVec3,
    high: DVec3,
    sides: [Side; 3],
    walls: Vec<Plane>,
    pub(super) materials: Vec<String>,
}

/// A rectangle in the world.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rectangle {
    pub middle: DVec3,
    pub normal: DVec3,
    /// From the middle to the edges.
    pub across: DVec3,
    pub along: DVec3,
    /// Distance from the middle at which it has faded out; 0 = it does not.
    pub fade: f64,
}

impl Scenery {
    /// That of a system. On open axes it reaches as far as the spheres do that the system holds.
    pub fn of(system: &System) -> Self {
        let (low, high) = extent(system);
        Self {
            dimensions: system.dimensions,
            low,
            high,
            sides: system.bounds.sides,
            walls: system.walls.iter().filter_map(Wall::as_plane).collect(),
            materials: (0..system.materials.len())
                .map(|k| system.materials.name(k as u16).to_owned())
                .collect(),
        }
    }

    /// Half the diagonal of what is to be seen (length).
    pub(super) fn radius(&self) -> f64 {
        0.5 * (self.high - self.low).length()
    }

    pub(super) fn middle(&self) -> DVec3 {
        0.5 * (self.low + self.high)
    }

    /// Walls and floors.
    pub(super) fn surfaces(&self, style: &Style) -> impl Iterator<Item = Rectangle> {
        let mut made = vec![];
        let is_flat = self.dimensions == Dimensions::Two;
        let below = DVec3::new(self.middle().x, self.middle().y, self.low.z);
        if style.ground && is_flat {
            // The table that the spheres lie on.
            made.push(self.spread(below, DVec3::Z, 0.0));
        } else if style.ground && self.sides[2] != Side::Open {
            made.push(self.spread(below, DVec3::Z, SPREAD * self.radius()));
        }
        if style.bounds && !is_flat {
            for axis in (0..3).filter(|&axis| self.sides[axis] == Side::Wall) {
                let half = 0.5 * (self.high - self.low);
                for sign in [1.0, -1.0] {
                    if axis == 2 && sign > 0.0 && style.ground {
                        continue;
                    }
                    let normal = sign * DVec3::AXES[axis];
                    let (u, v) = (DVec3::AXES[(axis + 1) % 3], DVec3::AXES[(axis + 2) % 3]);
                    made.push(Rectangle {
                        middle: self.middle() - normal * half[axis],
                        normal,
                        across: u * u.dot(half),
                        along: v * v.dot(half),
                        fade: 0.0,
                    });
                }
            }
            for plane in &self.walls {
                let middle = self.middle() - plane.normal * (self.middle() - plane.point).dot(plane.normal);
                made.push(self.spread(middle, plane.normal, SPREAD * self.radius()));
            }
        }
        made.into_iter()
    }

    // A part of a plane that is large beside the scene.
    fn spread(&self, middle: DVec3, normal: DVec3, fade: f64) -> Rectangle {
        let reach = if fade > 0.0 { fade } else { 50.0 * self.radius() };
        let across = normal.any_orthonormal_vector();
        Rectangle { middle, normal, across: across * reach, along: normal.cross(across) * reach, fade }
    }

    /// Edges of the box, and planes of a 2D world, which are seen edge on.
    pub(super) fn lines(&self, style: &Style) -> impl Iterator<Item = [DVec3; 2]> {
        let mut made = vec![];
        let is_flat = self.dimensions == Dimensions::Two;
        let closed = |axis: usize| self.sides[axis] != Side::Open;
        if style.bounds && is_flat {
            let (low, high) = (self.low.with_z(0.0), self.high.with_z(0.0));
            for axis in (0..2).filter(|&axis| closed(1 - axis)) {
                made.push([low, low.with_axis(axis, high)]);
                made.push([high.with_axis(axis, low), high]);
            }
            let reach = SPREAD * self.radius();
            for plane in &self.walls {
                let along = DVec3::new(-plane.normal.y, plane.normal.x, 0.0) * reach;
                let middle = self.middle() - plane.normal * (self.middle() - plane.point).dot(plane.normal);
                made.push([(middle - along).with_z(0.0), (middle + along).with_z(0.0)]);
            }
        } else if style.bounds && (0..3).all(closed) {
            for axis in 0..3 {
                for corner in 0..4 {
                    let mut from = self.low;
                    for (k, other) in [(axis + 1) % 3, (axis + 2) % 3].into_iter().enumerate() {
                        if corner >> k & 1 == 1 {
                            from[other] = self.high[other];
                        }
                    }
                    made.push([from, from.with_axis(axis, self.high)]);
                }
            }
        }
        made.into_iter()
    }
}

trait WithAxis {
    /// With one coordinate of another.
    fn with_axis(self, axis: usize, other: Self) -> Self;
}

impl WithAxis for DVec3 {
    fn with_axis(mut self, axis: usize, other: Self) -> Self {
        self[axis] = other[axis];
        self
    }
}

/// Corners of the box, on open axes of what the spheres fill; never empty.
pub(super) fn extent(system: &System) -> (DVec3, DVec3) {
    let (mut low, mut high) = (DVec3::INFINITY, DVec3::NEG_INFINITY);
    for sphere in &system.spheres {
        low = low.min(sphere.position - sphere.radius);
        high = high.max(sphere.position + sphere.radius);
    }
    if system.spheres.is_empty() {
        (low, high) = (DVec3::splat(-1.0), DVec3::splat(1.0));
    }
    for axis in 0..system.dimensions.count() {
        if system.bounds.sides[axis] != Side::Open {
            (low[axis], high[axis]) = (system.bounds.min[axis], system.bounds.max[axis]);
        }
    }
    (low, high)
}
