//! Statistics of the set of spheres.

use glam::DVec3;

#[cfg(feature = "gpu")]
use crate::Sphere;
use crate::{
    Side, System,
    state::{
        levels::{CLASSES, Class},
        units::{self, Units},
    },
    system::limits::LEAST_STRIDE,
};

/// In a system so dilute that a sphere has at most this many candidates, motion margins may be longer.
const LONG_LIST: f64 = 12.0;

/// Statistics of the set of spheres, in scaled units. Edits change them, and sinks and sources.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "files", derive(serde::Deserialize, serde::Serialize))]
pub struct SystemStatistics {
    pub count: usize,
    /// Spheres that are not fixed.
    pub movable: usize,
    pub radius_max: f64,
    pub radius_min: f64,
    pub mean_diameter: f64,
    /// The spheres by size class, the largest first.
    #[cfg_attr(feature = "files", serde(with = "class_list"))]
    pub classes: [Class; CLASSES],
    /// Volume of the box; on open axes, of the spheres' bounding box.
    pub volume: f64,
    /// Sum of the masses of spheres that are not fixed.
    pub mass: f64,
    /// Smallest and largest motion margin for which cells may be made.
    pub margin_least: f64,
    pub margin_most: f64,
}

impl SystemStatistics {
    /// Computes the statistics of a system.
    pub fn new(system: &System, units: &Units) -> Self {
        let count = system.spheres.len();
        let radius_max = system.spheres.iter().map(|s| s.radius).fold(0.0, f64::max) / units.length;
        let radius_min = system.spheres.iter().map(|s| s.radius).fold(f64::INFINITY, f64::min) / units.length;
        let mean_diameter = units::mean(system, |s| 2.0 * s.radius) / units.length;
        // The density within the spheres' bounding box: a cloud in an open world is not dilute.
        let low = system.spheres.iter().map(|s| s.position - s.radius).reduce(DVec3::min).unwrap_or_default();
        let high =
            system.spheres.iter().map(|s| s.position + s.radius).reduce(DVec3::max).unwrap_or_default();
        let dimensions = system.dimensions.count();
        let volume: f64 = (0..dimensions)
            .map(|axis| match system.bounds.sides[axis] {
                Side::Open => (high[axis] - low[axis]) / units.length,
                _ => (system.bounds.max[axis] - system.bounds.min[axis]) / units.length,
            })
            .product();
        Self {
            count,
            movable: system.spheres.iter().filter(|s| !s.fixed).count(),
            radius_max,
            radius_min: if radius_min.is_finite() { radius_min } else { radius_max },
            mean_diameter,
            classes: classes(system, radius_max, units),
            volume,
            mass: system.spheres.iter().filter(|s| !s.fixed).map(|s| s.mass).sum::<f64>() / units.mass,
            margin_least: 0.02 * mean_diameter,
            margin_most: margin_most(volume, count, dimensions, radius_max, mean_diameter),
        }
    }

    /// [`margin_most`](Self::margin_most) in a box of another volume.
    pub fn margin_most_in(&self, volume: f64, dimensions: usize) -> f64 {
        margin_most(volume, self.count, dimensions, self.radius_max, self.mean_diameter)
    }
}

// A quarter of a diameter for each sphere, so half a diameter of skin. More if lists stay short, as long as offsets in a cell stay
// precise: up to 4 diameters they are rounded to 1e-7.
fn margin_most(volume: f64, count: usize, dimensions: usize, radius_max: f64, mean_diameter: f64) -> f64 {
    let within = LONG_LIST * volume / count.max(1) as f64;
    let reach = if dimensions == 2 {
        (within / std::f64::consts::PI).sqrt()
    } else {
        (within * 0.75 / std::f64::consts::PI).cbrt()
    };
    (0.5 * reach - radius_max).clamp(LEAST_STRIDE * mean_diameter, 1.5 * mean_diameter)
}

impl SystemStatistics {
    /// Updates the number and the mass of the spheres after some that were not fixed have gone and others have come. The other
    /// figures remain.
    #[cfg(feature = "gpu")]
    pub fn exchange(&mut self, gone: &[Sphere], come: &[Sphere], units: &Units) {
        let mass = |spheres: &[Sphere]| spheres.iter().map(|s| s.mass).sum::<f64>() / units.mass;
        self.count = self.count - gone.len() + come.len();
        self.movable = self.movable - gone.len() + come.len();
        self.mass += mass(come) - mass(gone);
    }
}

// Two classes for each factor of two.
fn classes(system: &System, radius_max: f64, units: &Units) -> [Class; CLASSES] {
    let mut classes = [Class::default(); CLASSES];
    for sphere in &system.spheres {
        let radius = sphere.radius / units.length;
        let class = &mut classes[((2.0 * (radius_max / radius).log2()) as usize).min(CLASSES - 1)];
        class.count += 1;
        class.radius = class.radius.max(radius);
    }
    classes
}

// As a list, because serde derives nothing for arrays of this length.
#[cfg(feature = "files")]
mod class_list {
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    use super::{CLASSES, Class};

    pub fn serialize<S: Serializer>(classes: &[Class; CLASSES], serializer: S) -> Result<S::Ok, S::Error> {
        classes.as_slice().serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<[Class; CLASSES], D::Error> {
        let classes = Vec::<Class>::deserialize(deserializer)?;
        let count = classes.len();
        classes.try_into().map_err(|_| D::Error::custom(format!("{count} size classes instead of {CLASSES}")))
    }
}
