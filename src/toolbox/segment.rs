//! The point of a segment that is nearest to another point.

use super::vector::{Scalar, Vector};

/// The point of the segment from `start` to `end` that is nearest to `point`, and how far along it lies: 0 at
/// `start`, 1 at `end`, never beyond.
///
/// A segment of no length (or whose squared length underflows or overflows), and NaN anywhere, give `start` and
/// 0.
///
/// ```
/// use carom::toolbox::closest_on_segment;
/// use glam::Vec2;
///
/// let (start, end) = (Vec2::ZERO, Vec2::new(4.0, 0.0));
/// assert_eq!(closest_on_segment(Vec2::new(1.0, 7.0), start, end), (Vec2::new(1.0, 0.0), 0.25));
/// assert_eq!(closest_on_segment(Vec2::new(9.0, 7.0), start, end), (end, 1.0));
/// ```
#[inline]
pub fn closest_on_segment<V: Vector>(point: V, start: V, end: V) -> (V, V::Scalar) {
    let along = end - start;
    let length_squared = along.dot(along);
    let u = (point - start).dot(along) / length_squared;
    if !(u > V::Scalar::ZERO && length_squared < V::Scalar::INFINITY) {
        (start, V::Scalar::ZERO)
    } else if u >= V::Scalar::ONE {
        (end, V::Scalar::ONE)
    } else {
        (start + along * u, u)
    }
}
