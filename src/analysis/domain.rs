//! The region that is analysed: a box, periodic on some axes.

use glam::DVec3;

use crate::{Dimensions, Error, System};

/// A box with sides along the axes. In 2D, `z` is not used.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Domain {
    /// Lower corner (length).
    pub min: DVec3,
    /// Upper corner (length), above `min` on every used axis.
    pub max: DVec3,
    /// Axes on which a sphere that leaves at one end enters at the other.
    pub periodic: [bool; 3],
    /// 2D or 3D.
    pub dimensions: Dimensions,
}

impl Domain {
    /// A box that is periodic on every axis.
    pub fn periodic(min: DVec3, max: DVec3, dimensions: Dimensions) -> Self {
        Self { min, max, periodic: [true, true, dimensions == Dimensions::Three], dimensions }
    }

    /// The smallest box that holds these points, without periodic axes. It spans zero length on an axis on which all points
    /// agree, which [`check`](Self::check) refuses.
    pub fn around(positions: &[DVec3], dimensions: Dimensions) -> Self {
        let none = (DVec3::splat(f64::INFINITY), DVec3::splat(f64::NEG_INFINITY));
        let (min, max) = positions.iter().fold(none, |(low, high), p| (low.min(*p), high.max(*p)));
        Self { min, max, periodic: [false; 3], dimensions }
    }

    /// The box of a system; on open axes the extent of its spheres.
    pub fn of(system: &System) -> Self {
        let mut domain =
            Self { min: system.bounds.min, max: system.bounds.max, ..Self::around(&[], system.dimensions) };
        for axis in 0..3 {
            domain.periodic[axis] = system.period(axis).is_some();
            if system.bounds.sides[axis] == crate::Side::Open {
                let ends = |sign: f64| system.spheres.iter().map(move |s| s.position[axis] + sign * s.radius);
                domain.min[axis] = ends(-1.0).fold(f64::INFINITY, f64::min);
                domain.max[axis] = ends(1.0).fold(f64::NEG_INFINITY, f64::max);
            }
        }
        domain
    }

    /// Checks that the box has a finite volume above 0.
    ///
    /// # Errors
    /// [`Error::Invalid`] names the axis.
    pub fn check(&self) -> Result<(), Error> {
        for axis in self.axes() {
            let (low, high) = (self.min[axis], self.max[axis]);
            if !(low.is_finite() && high.is_finite() && low < high) {
                let letter = ["x", "y", "z"][axis];
                return Err(Error::Invalid(format!(
                    "the box reaches from {letter} = {low} to {high}; expected finite ends, the lower one first"
                )));
            }
        }
        Ok(())
    }

    /// Volume; in 2D the area.
    pub fn volume(&self) -> f64 {
        self.axes().map(|axis| self.max[axis] - self.min[axis]).product()
    }

    /// The shortest vector from `b` to `a` among the periodic images; in 2D with z = 0.
    pub fn separation(&self, a: DVec3, b: DVec3) -> DVec3 {
        let mut d = self.flat(a - b);
        for axis in self.axes().filter(|axis| self.periodic[*axis]) {
            let period = self.max[axis] - self.min[axis];
            d[axis] -= period * (d[axis] / period).round();
        }
        d
    }

    /// The image of a point inside the box on the periodic axes; in 2D with z = 0.
    pub fn wrap(&self, p: DVec3) -> DVec3 {
        let mut p = self.flat(p);
        for axis in self.axes().filter(|axis| self.periodic[*axis]) {
            let (low, period) = (self.min[axis], self.max[axis] - self.min[axis]);
            if !(p[axis] >= low && p[axis] < self.max[axis]) {
                p[axis] = low + (p[axis] - low).rem_euclid(period);
                // A tiny negative remainder rounds up to the period itself.
                if p[axis] >= self.max[axis] {
                    p[axis] = low;
                }
            }
        }
        p
    }

    /// The axes in use that are not periodic.
    pub fn axes_without_period(&self) -> impl Iterator<Item = usize> + '_ {
        self.axes().filter(|axis| !self.periodic[*axis])
    }

    /// The axes in use.
    pub(super) fn axes(&self) -> std::ops::Range<usize> {
        0..self.dimensions.count()
    }

    fn flat(&self, mut p: DVec3) -> DVec3 {
        if self.dimensions == Dimensions::Two {
            p.z = 0.0;
        }
        p
    }

    /// Checks the box and that all positions are finite.
    pub(super) fn check_positions(&self, positions: &[DVec3]) -> Result<(), Error> {
        self.check()?;
        match positions.iter().position(|p| !p.is_finite()) {
            Some(k) => Err(Error::Invalid(format!(
                "sphere {k} of the slice is at {}; expected a finite position",
                positions[k]
            ))),
            None => Ok(()),
        }
    }

    /// The largest distance below which a pair has a single image: half of the smallest period; infinite without periods.
    pub(super) fn half_period(&self) -> f64 {
        let periods = self.axes().filter(|axis| self.periodic[*axis]);
        periods.map(|axis| 0.5 * (self.max[axis] - self.min[axis])).fold(f64::INFINITY, f64::min)
    }
}
