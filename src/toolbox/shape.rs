//! Arguments of the toolbox: spheres, at rest or moving, and half spaces.

use super::vector::{Scalar, Vector, unit};

/// A sphere that stands still; in 2D a disc.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Still<V: Vector> {
    /// Centre (length).
    pub position: V,
    /// Radius (length), finite and >= 0; 0 is a point.
    pub radius: V::Scalar,
}

impl<V: Vector> Still<V> {
    /// The same sphere in motion.
    #[inline]
    pub fn with_velocity(self, velocity: V) -> Moving<V> {
        Moving { position: self.position, velocity, radius: self.radius }
    }
}

/// A sphere in straight motion.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moving<V: Vector> {
    /// Centre at the start (length).
    pub position: V,
    /// Velocity (length/time).
    pub velocity: V,
    /// Radius (length), finite and >= 0; 0 is a point.
    pub radius: V::Scalar,
}

impl<V: Vector> Moving<V> {
    /// The sphere `time` later.
    #[inline]
    pub fn advanced(self, time: V::Scalar) -> Self {
        Self { position: self.position + self.velocity * time, ..self }
    }

    /// The sphere as it is at the start.
    #[inline]
    pub fn still(self) -> Still<V> {
        Still { position: self.position, radius: self.radius }
    }
}

/// Everything behind a plane is solid: a floor, a wall. Spheres touch it from where the normal points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HalfSpace<V: Vector> {
    point: V,
    normal: V,
}

impl<V: Vector> HalfSpace<V> {
    /// A half space by a point on its surface and a vector out of the solid, of any length: it is normalised
    /// here, so distances come out in the unit of length.
    ///
    /// `None` for a normal that is zero and for anything that is not finite.
    pub fn new(point: V, normal: V) -> Option<Self> {
        (point.is_finite() && normal.is_finite() && normal != V::ZERO)
            .then(|| Self { point, normal: unit(normal) })
    }

    /// A point on the surface.
    #[inline]
    pub fn point(&self) -> V {
        self.point
    }

    /// Unit vector out of the solid.
    #[inline]
    pub fn normal(&self) -> V {
        self.normal
    }

    /// Distance of a sphere's surface from the solid (length); negative where it overlaps. It is the distance
    /// of the centre less the radius, so a sphere wholly inside the solid overlaps it by more than its
    /// diameter.
    #[inline]
    pub fn separation(&self, position: V, radius: V::Scalar) -> V::Scalar {
        (position - self.point).dot(self.normal) - radius
    }
}

/// Where two spheres touch, weighted by the radii: `x_a r_b/(r_a + r_b) + x_b r_a/(r_a + r_b)`.
///
/// Where they overlap it lies on the line of centres and shares the overlap in proportion to the radii; where
/// they are apart it divides the gap likewise. Two points (both radii 0) share the midpoint.
///
/// ```
/// use carom::toolbox::{Still, contact_point};
/// use glam::Vec2;
///
/// let large = Still { position: Vec2::ZERO, radius: 3.0 };
/// let small = Still { position: Vec2::new(4.0, 0.0), radius: 1.0 };
/// assert_eq!(contact_point(&large, &small), Vec2::new(3.0, 0.0));
/// ```
pub fn contact_point<V: Vector>(a: &Still<V>, b: &Still<V>) -> V {
    let radius_sum = a.radius + b.radius;
    let share = if radius_sum > V::Scalar::ZERO { b.radius / radius_sum } else { V::Scalar::from_f64(0.5) };
    b.position + (a.position - b.position) * share
}
