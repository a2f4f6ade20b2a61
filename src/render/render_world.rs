//! The world around the spheres, prepared for drawing.

use std::sync::Arc;

use glam::DVec3;

use super::{
    style::Style,
    walls::{Walls, reach},
};
use crate::{Dimensions, Side, System, Wall, WallShape};

/// Most walls and floors in a picture.
pub const SURFACES: usize = 16;

/// Most lines in a picture: the 12 edges of a box, or in 2D the 4 edges of a rectangle and 8 planes.
pub const LINES: usize = 12;

/// Extent of floors and planes, in radii of the scene; at this distance they have faded out.
const SPREAD: f64 = 3.5;

/// Bounds, walls, dimensions and materials of a [`System`] at one time. Clones are cheap.
///
/// ```
/// use carom::render::RenderWorld;
/// use carom::{System, Wall, WallMotion, WallShape};
/// use glam::DVec3;
///
/// let mut lift = Wall::new(
///     WallShape::Disc { center: DVec3::ZERO, normal: DVec3::Z, radius: 1.0, hole: 0.0 },
///     0,
///     "lift",
/// );
/// lift.motion = WallMotion { velocity: DVec3::Z, ..WallMotion::default() };
/// let scenery = RenderWorld::of(&System { walls: vec![lift], ..System::default() });
/// // For a picture of what there is after 3 units of time.
/// assert_eq!((scenery.time(), scenery.at(3.0).time()), (0.0, 3.0));
/// ```
#[derive(Clone, Debug)]
pub struct RenderWorld {
    pub(super) dimensions: Dimensions,
    /// Corners of the box; on open axes, of the initial extent of the spheres (length).
    low: DVec3,
    high: DVec3,
    sides: [Side; 3],
    planes: Arc<[Wall]>,
    walls: Arc<Walls>,
    pub(super) materials: Arc<[String]>,
    time: f64,
}

/// A rectangle in the world.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rectangle {
    pub middle: DVec3,
    pub normal: DVec3,
    /// From the middle to the edges.
    pub across: DVec3,
    pub along: DVec3,
    /// Distance from the middle at which the rectangle has faded out; 0 = no fading.
    pub fade: f64,
}

impl RenderWorld {
    /// The world of a system at time 0. On open axes the bounds enclose the spheres of the system and the permanent
    /// walls.
    pub fn of(system: &System) -> Self {
        Self::with(system, Arc::new(Walls::of(system)))
    }

    /// The world of another system at the same time. Unchanged walls are not rebuilt, because rebuilding large meshes
    /// takes time.
    pub fn of_changed(&self, system: &System) -> Self {
        let walls = if self.walls.are_of(system) { self.walls.clone() } else { Arc::new(Walls::of(system)) };
        Self::with(system, walls).at(self.time)
    }

    /// The same world at another time, with the walls that exist then at their positions.
    pub fn at(&self, time: f64) -> Self {
        Self { time, ..self.clone() }
    }

    /// The time that this world shows.
    pub fn time(&self) -> f64 {
        self.time
    }

    fn with(system: &System, walls: Arc<Walls>) -> Self {
        let (low, high) = extent(system);
        let is_plane = |wall: &&Wall| matches!(wall.shape, WallShape::Plane { .. });
        Self {
            dimensions: system.dimensions,
            low,
            high,
            sides: system.bounds.sides,
            planes: system.walls.iter().filter(is_plane).cloned().collect(),
            walls,
            materials: (0..system.materials.len())
                .map(|k| system.materials.name(k as u16).to_owned())
                .collect(),
            time: 0.0,
        }
    }

    /// The walls other than planes.
    pub(super) fn walls(&self) -> &Arc<Walls> {
        &self.walls
    }

    // Point and normal of the planes that exist at this time.
    fn planes(&self) -> impl Iterator<Item = (DVec3, DVec3)> {
        self.planes.iter().filter(|wall| wall.is_there(self.time)).filter_map(|wall| match wall.shape {
            WallShape::Plane { point, normal } => {
                Some((wall.motion.carry(point, self.time), wall.motion.turn(self.time) * normal))
            }
            _ => None,
        })
    }

    /// Half the diagonal of the visible bounds (length).
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
            // The floor that the spheres lie on.
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
            for (point, normal) in self.planes() {
                let middle = self.middle() - normal * (self.middle() - point).dot(normal);
                made.push(self.spread(middle, normal, SPREAD * self.radius()));
            }
        }
        made.into_iter()
    }

    // A part of a plane that is large compared with the scene.
    fn spread(&self, middle: DVec3, normal: DVec3, fade: f64) -> Rectangle {
        let reach = if fade > 0.0 { fade } else { 50.0 * self.radius() };
        let across = normal.any_orthonormal_vector();
        Rectangle { middle, normal, across: across * reach, along: normal.cross(across) * reach, fade }
    }

    /// Edges of the box, and the planes of a 2D world, which are seen edge on.
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
            for (point, normal) in self.planes() {
                let along = DVec3::new(-normal.y, normal.x, 0.0) * reach;
                let middle = self.middle() - normal * (self.middle() - point).dot(normal);
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
    /// Returns the vector with one coordinate taken from `other`.
    fn with_axis(self, axis: usize, other: Self) -> Self;
}

impl WithAxis for DVec3 {
    fn with_axis(mut self, axis: usize, other: Self) -> Self {
        self[axis] = other[axis];
        self
    }
}

/// Corners of the box; on open axes, bounds of the spheres and of the permanent walls except planes, over all their
/// rotations and oscillations. [`Camera::framing`](super::Camera::framing) frames these bounds; never empty.
pub fn extent(system: &System) -> (DVec3, DVec3) {
    let (mut low, mut high) = (DVec3::INFINITY, DVec3::NEG_INFINITY);
    for sphere in &system.spheres {
        low = low.min(sphere.position - sphere.radius);
        high = high.max(sphere.position + sphere.radius);
    }
    let is_open = |axis: usize| system.bounds.sides[axis] == Side::Open;
    if (0..system.dimensions.count()).any(is_open)
        && let Some([l, h]) = reach(system)
    {
        // In 2D walls extend vertically without limit; their visible part lies in the plane.
        let is_flat = system.dimensions == Dimensions::Two;
        let [l, h] = [l, h].map(|corner| if is_flat { corner.with_z(0.0) } else { corner });
        (low, high) = (low.min(l), high.max(h));
    }
    if low.cmpgt(high).any() {
        (low, high) = (DVec3::splat(-1.0), DVec3::splat(1.0));
    }
    for axis in 0..system.dimensions.count() {
        if !is_open(axis) {
            (low[axis], high[axis]) = (system.bounds.min[axis], system.bounds.max[axis]);
        }
    }
    (low, high)
}
