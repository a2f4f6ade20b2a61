//! Quantities that engines derive at the start: the reference point of the potential energy, and the contact time.

use glam::DVec3;

use crate::{Dimensions, Side, System, Wall};

/// The TC model's contact time in mean free times (Luding & McNamara, Granular Matter 1, 113, 1998). With a longer time,
/// ordinary impacts of a fluid become elastic; with a shorter time, an inelastic collapse takes more impacts to end.
const CONTACT_IN_FREE_TIMES: f64 = 1e-3;

impl Dimensions {
    // Enskog's collision rate of spheres or discs of diameter `d` whose velocity components have this thermal width.
    fn enskog_rate(self, density: f64, d: f64, width: f64) -> f64 {
        let pi = std::f64::consts::PI;
        // The formulas diverge above fluid densities.
        match self {
            Self::Three => {
                let filled = (density * pi / 6.0 * d.powi(3)).min(0.6);
                let contact = (1.0 - 0.5 * filled) / (1.0 - filled).powi(3);
                4.0 * pi.sqrt() * density * d * d * contact * width
            }
            Self::Two => {
                let filled = (density * pi / 4.0 * d * d).min(0.8);
                let contact = (1.0 - 7.0 / 16.0 * filled) / (1.0 - filled).powi(2);
                2.0 * pi.sqrt() * density * d * contact * width
            }
        }
    }

    /// Path of a sphere, at the root mean square of the velocities, in the mean free time of
    /// [`contact_time`](System::contact_time) without gravity.
    pub(crate) fn free_path(self, density: f64, d: f64) -> f64 {
        let width = 1.0 / (self.count() as f64).sqrt();
        (1.0 / self.enskog_rate(density, d, width)).min(d)
    }
}

impl System {
    /// A point at which the potential energy is 0; only its height along gravity matters.
    ///
    /// It is the lowest corner of the box if walls bound it along gravity; else a point of the highest plane that
    /// faces straight up; else the centre of the lowest sphere. Without spheres or gravity, and with sources or sinks, it
    /// is the lower corner of the bounds. It depends on the current spheres; an engine asks for it when it starts.
    /// set up.
    pub fn gravity_reference(&self) -> DVec3 {
        let bounds = &self.bounds;
        if self.gravity == DVec3::ZERO {
            return bounds.min;
        }
        let pulled = |axis: usize| self.gravity[axis] != 0.0;
        if (0..3).all(|axis| !pulled(axis) || bounds.sides[axis] == Side::Wall) {
            let mut corner = bounds.min;
            for axis in 0..3 {
                if self.gravity[axis] > 0.0 {
                    corner[axis] = bounds.max[axis];
                }
            }
            return corner;
        }
        let up = -self.gravity.normalize();
        let planes: Vec<_> = self.walls.iter().filter_map(Wall::as_plane).collect();
        let floors = planes.iter().filter(|plane| plane.normal.dot(up) > 1.0 - 1e-9).map(|plane| plane.point);
        let lowest = || {
            let lasting = if self.has_flow() { &[][..] } else { &self.spheres };
            let centers = lasting.iter().map(|sphere| sphere.position);
            centers.min_by(|a, b| a.dot(up).total_cmp(&b.dot(up)))
        };
        floors.max_by(|a, b| a.dot(up).total_cmp(&b.dot(up))).or_else(lowest).unwrap_or(bounds.min)
    }

    /// The contact time t_c of the TC model (time): the solver's value, else 1e-3 of the mean free time; finite and > 0
    /// unless the solver's value is 0, which turns the model off.
    ///
    /// The mean free time is the smallest of the available estimates: Enskog's, from the spread of the velocities and the
    /// density in a box that is closed or periodic on every axis; sqrt(d/g) under gravity; and d divided by the spread of
    /// the velocities. d is the mean diameter. Without motion and gravity it is dt.
    pub fn contact_time(&self) -> f64 {
        let free = || {
            let times = [self.enskog_time(), self.fall_time(), self.crossing_time()];
            let known = times.into_iter().flatten().filter(|time| *time > 0.0 && time.is_finite());
            known.reduce(f64::min).unwrap_or(self.dt)
        };
        self.solver.contact_time.unwrap_or_else(|| (CONTACT_IN_FREE_TIMES * free()).max(f64::MIN_POSITIVE))
    }

    /// The inverse of the collision rate per sphere (time), from Enskog's rate with the contact value of Carnahan & Starling
    /// (1969), in 2D of Henderson (1975).
    pub(super) fn enskog_time(&self) -> Option<f64> {
        let dimensions = self.dimensions.count();
        let closed = (0..dimensions).all(|axis| self.bounds.sides[axis] != Side::Open);
        if !closed || self.spheres.is_empty() {
            return None;
        }
        let extent = self.bounds.max - self.bounds.min;
        let room: f64 = (0..dimensions).map(|axis| extent[axis]).product();
        let density = self.spheres.len() as f64 / room;
        let d = self.mean_diameter();
        // Thermal width of one velocity component, sqrt(kT/m).
        let width = self.velocity_spread() / (dimensions as f64).sqrt();
        Some(1.0 / self.dimensions.enskog_rate(density, d, width))
    }

    fn fall_time(&self) -> Option<f64> {
        (!self.spheres.is_empty()).then(|| (self.mean_diameter() / self.gravity.length()).sqrt())
    }

    fn crossing_time(&self) -> Option<f64> {
        (!self.spheres.is_empty()).then(|| self.mean_diameter() / self.velocity_spread())
    }

    fn mean_diameter(&self) -> f64 {
        self.spheres.iter().map(|s| 2.0 * s.radius).sum::<f64>() / self.spheres.len() as f64
    }

    /// Root mean square of the velocities about their mean, without fixed spheres.
    pub(super) fn velocity_spread(&self) -> f64 {
        let moving = || self.spheres.iter().filter(|s| !s.fixed).map(|s| s.velocity);
        let count = moving().count().max(1) as f64;
        let mean = moving().sum::<DVec3>() / count;
        (moving().map(|v| (v - mean).length_squared()).sum::<f64>() / count).sqrt()
    }
}
