//! The part of the world that a random fill occupies.

use glam::DVec3;

use crate::{Dimensions, Plane, System};

/// Gap left between surfaces when positions are drawn, in radii or mean diameters: large enough that engines in f32 see no
/// overlap, too small to affect statistics.
pub(crate) const MARGIN: f64 = 1e-6;

/// A box of the world.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Region {
    pub low: DVec3,
    pub high: DVec3,
    /// Whether the region spans a periodic axis, so that spheres may cross the boundary.
    spans: [bool; 3],
    dimensions: Dimensions,
}

impl Region {
    pub(crate) fn new(system: &System, corners: Option<(DVec3, DVec3)>) -> Self {
        let (mut low, mut high) = corners.unwrap_or((system.bounds.min, system.bounds.max));
        if system.dimensions == Dimensions::Two {
            (low.z, high.z) = (0.0, 0.0);
        }
        let spans = [0, 1, 2].map(|axis| {
            system.period(axis).is_some()
                && low[axis] == system.bounds.min[axis]
                && high[axis] == system.bounds.max[axis]
        });
        Self { low, high, spans, dimensions: system.dimensions }
    }

    /// Volume, in 2D area; not positive where an axis has no extent.
    pub(crate) fn volume(&self) -> f64 {
        let extent = self.high - self.low;
        let axes = 0..self.dimensions.count();
        if axes.clone().any(|axis| extent[axis] <= 0.0) {
            return 0.0;
        }
        axes.map(|axis| extent[axis]).product()
    }

    /// Share of another region's volume that lies in this region, 0..=1.
    pub(crate) fn share_of(&self, other: &Self) -> f64 {
        let common = Self { low: self.low.max(other.low), high: self.high.min(other.high), ..*self };
        common.volume() / other.volume()
    }

    pub(crate) fn contains(&self, p: DVec3) -> bool {
        (0..self.dimensions.count()).all(|axis| p[axis] >= self.low[axis] && p[axis] < self.high[axis])
    }

    /// Limits for moving centres that start between `low` and `high`: infinite along an axis that the region spans.
    pub(crate) fn limits(&self, mut low: DVec3, mut high: DVec3) -> (DVec3, DVec3) {
        for axis in 0..3 {
            if self.spans[axis] {
                (low[axis], high[axis]) = (f64::NEG_INFINITY, f64::INFINITY);
            }
        }
        (low, high)
    }

    /// Lowest and highest centre of a sphere of this radius; `None` if the sphere does not fit.
    pub(crate) fn centers(&self, radius: f64) -> Option<(DVec3, DVec3)> {
        let (mut low, mut high) = (self.low, self.high);
        for axis in 0..self.dimensions.count() {
            if !self.spans[axis] {
                low[axis] += radius * (1.0 + MARGIN);
                high[axis] -= radius * (1.0 + MARGIN);
            }
            if low[axis] > high[axis] {
                return None;
            }
        }
        Some((low, high))
    }
}

/// Volume of a sphere, in 2D area of its disc.
pub(crate) fn content(dimensions: Dimensions, radius: f64) -> f64 {
    match dimensions {
        Dimensions::Two => std::f64::consts::PI * radius * radius,
        Dimensions::Three => mass(1.0, radius),
    }
}

/// Mass of a sphere. This order of the factors gives exactly 1 for diameter 1 and density 6/pi.
pub(crate) fn mass(density: f64, radius: f64) -> f64 {
    let diameter = 2.0 * radius;
    density * std::f64::consts::PI * (diameter * diameter * diameter) / 6.0
}

/// Distance of a sphere's surface from the nearest plane; negative if the sphere penetrates the plane.
pub(crate) fn clearance(planes: &[Plane], center: DVec3, radius: f64) -> f64 {
    planes.iter().map(|plane| (center - plane.point).dot(plane.normal) - radius).fold(f64::INFINITY, f64::min)
}
