//! Overlap of two spheres at rest: test, depth, and displacements that remove the overlap.

use super::shape::Still;
use super::vector::{Scalar, Vector, unit};

/// Whether two spheres overlap: squared distance of the centres against the squared `radius_sum`, no square
/// root.
///
/// Touching is not overlapping, and two points (`radius_sum` 0) never overlap. False for NaN anywhere. `d` is
/// the vector between the centres, either way. Distances whose squares overflow or underflow (see
/// [`first_contact`](super::first_contact)) count as infinite or as 0.
///
/// ```
/// use carom::toolbox::overlaps;
/// use glam::Vec2;
///
/// assert!(overlaps(Vec2::new(3.0, 4.0), 5.1));
/// assert!(!overlaps(Vec2::new(3.0, 4.0), 5.0));
/// ```
#[inline]
pub fn overlaps<V: Vector>(d: V, radius_sum: V::Scalar) -> bool {
    d.dot(d) < radius_sum * radius_sum
}

/// Gap between two spheres (length): 0 where they touch, negative where they overlap.
#[inline]
pub fn separation<V: Vector>(d: V, radius_sum: V::Scalar) -> V::Scalar {
    d.dot(d).sqrt() - radius_sum
}

/// Displacements `(first, second)` that remove the overlap of two spheres along the line of centres.
///
/// `d` points from the second centre to the first. The first sphere moves by the share
/// `mobility_a / (mobility_a + mobility_b)` of the overlap, the second by the rest; mobilities are finite and >= 0.
/// - Inverse masses as mobilities leave the centre of mass where it is; 0 is a sphere that is not to be moved.
/// - Radii as mobilities leave the [`contact_point`](super::contact_point) where it is.
///
/// Afterwards the two touch, to rounding. Nothing is displaced where they do not overlap, where both mobilities
/// are 0, and for NaN anywhere. Where the centres coincide the first moves along `+x` ([`Vector::X`]) and the
/// second along `-x`.
///
/// ```
/// use carom::toolbox::push_apart;
/// use glam::DVec2;
///
/// // Overlapping by 1; the second is fixed, so the first gives way alone.
/// let (first, second) = push_apart(DVec2::new(0.0, 3.0), 4.0, 1.0, 0.0);
/// assert_eq!((first, second), (DVec2::new(0.0, 1.0), DVec2::ZERO));
/// ```
pub fn push_apart<V: Vector>(
    d: V,
    radius_sum: V::Scalar,
    mobility_a: V::Scalar,
    mobility_b: V::Scalar,
) -> (V, V) {
    let none = (V::ZERO, V::ZERO);
    let total = mobility_a + mobility_b;
    if !(overlaps(d, radius_sum) && total > V::Scalar::ZERO && total.is_finite()) {
        return none;
    }
    let depth = -separation(d, radius_sum);
    if !(depth > V::Scalar::ZERO && depth.is_finite()) {
        return none;
    }
    let shift = unit(d) * depth;
    (shift * (mobility_a / total), -shift * (mobility_b / total))
}

/// Applies [`push_apart`] to a pair: moves both in place.
///
/// The result does not depend on the order of the two, unless the centres coincide: then the first moves along `+x`.
pub fn separate<V: Vector>(a: &mut Still<V>, b: &mut Still<V>, mobility_a: V::Scalar, mobility_b: V::Scalar) {
    let (first, second) = push_apart(a.position - b.position, a.radius + b.radius, mobility_a, mobility_b);
    a.position = a.position + first;
    b.position = b.position + second;
}
