//! The world around the spheres, prepared for drawing.

use glam::DVec3;

use crate::{Dimensions, Plane, Side, System};

/// Bounds, planes, dimensions and materials of a [`System`].
#[derive(Clone, Debug)]
pub struct Scenery {
    pub(super) dimensions: Dimensions,
    /// Corners of the box, or of what the spheres filled at the start where it is open (length).
    pub(super) low: DVec3,
    pub(super) high: DVec3,
    pub(super) sides: [Side; 3],
    /// Walls of the box and planes.
    pub(super) planes: Vec<Plane>,
    pub(super) has_gravity: bool,
    pub(super) materials: Vec<String>,
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
            planes: system.planes(),
            has_gravity: system.gravity != DVec3::ZERO,
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
