//! Time of impact of a sphere under constant acceleration on a plane.

use super::shape::{HalfSpace, Moving};
use super::sweep::{Contact, fraction};
use super::vector::{Scalar, Vector};

/// Time at which the gap `gap + v t + a t^2/2` is first 0 or less while it shrinks.
///
/// `gap` is the distance to the plane (negative: overlapping), `v` its rate of change (negative: approaching),
/// `a` the acceleration along the normal out of the solid (a sphere falling on a floor: `-g`). The time is
/// finite and `>= 0`.
///
/// | start | answer |
/// |---|---|
/// | `gap <= 0`, `v < 0` | 0: now |
/// | `gap <= 0`, `v = 0`, `a < 0` | 0: at rest and pressed on |
/// | `gap = 0`, `v > 0`, `a < 0` | when it comes back, `2 v / -a` |
/// | `gap < 0`, `v > 0`, `a < 0` | when it comes back in; if it never comes out, when it turns round |
/// | `gap > 0` | when it arrives; `None` if it turns before, or just reaches the plane with no speed left |
/// | anything else | `None`: at rest, or leaving for good |
///
/// NaN anywhere, and a time that overflows, gives `None`. Magnitudes up to a quarter of the largest number are
/// not limited otherwise: where `v^2` or `a gap` leaves the range of the type, the root is taken of scaled
/// values; only subnormal numbers come with fewer digits.
///
/// ```
/// use carom::toolbox::plane_contact;
///
/// // Thrown up at 5 m/s from 10 m above the floor, g = 10 m/s^2.
/// assert_eq!(plane_contact(10.0, 5.0, -10.0), Some(2.0));
/// // From the floor itself: it comes back.
/// assert_eq!(plane_contact(0.0, 5.0, -10.0), Some(1.0));
/// ```
#[inline]
pub fn plane_contact<S: Scalar>(gap: S, v: S, a: S) -> Option<S> {
    let zero = S::ZERO;
    let t = if v < zero {
        if gap <= zero {
            return a_number(a).then_some(zero);
        }
        let root = discriminant_root(gap, v, a);
        // A root of 0 under a > 0 is a graze: the sphere arrives without speed and leaves again.
        if !(root > zero || a <= zero) {
            return None;
        }
        let half = S::from_f64(0.5);
        gap / (half * root - half * v)
    } else if v >= zero && a < zero {
        let root = discriminant_root(gap, v, a);
        // Overlapping so deep that it never comes out: it approaches from where it turns.
        let root = if root > zero { root } else { a_number(gap).then_some(zero)? };
        (v + root) / -a
    } else {
        return None;
    };
    (t < S::INFINITY).then_some(t)
}

#[inline]
fn a_number<S: Scalar>(x: S) -> bool {
    x >= S::ZERO || x < S::ZERO
}

/// `sqrt(v^2 - 2 a gap)`, the speed at the plane; NaN where it is never reached.
#[inline]
fn discriminant_root<S: Scalar>(gap: S, v: S, a: S) -> S {
    let square = v * v;
    let fall = (a + a) * gap;
    let size = square.max(fall.abs());
    if size >= S::MIN_POSITIVE / S::EPSILON && size <= S::MAX * S::from_f64(0.25) {
        (square - fall).sqrt()
    } else {
        discriminant_root_scaled(gap, v, a)
    }
}

#[cold]
fn discriminant_root_scaled<S: Scalar>(gap: S, v: S, a: S) -> S {
    let speed = v.abs().max(a.abs().sqrt() * gap.abs().sqrt());
    if speed == S::ZERO {
        return S::ZERO;
    }
    let v = v / speed;
    let fall = a.abs().sqrt() * gap.abs().sqrt() / speed;
    let fall = if (a < S::ZERO) == (gap < S::ZERO) { fall * fall } else { -(fall * fall) };
    speed * (v * v - (fall + fall)).sqrt()
}

/// First contact of a sphere with a half space within `0..=dt`, the sphere under a constant `acceleration`.
///
/// The rules are those of [`plane_contact`]; a sphere that lies on the surface under an acceleration into the
/// solid is in contact at time 0. `leave` is when the acceleration would have brought the sphere out again,
/// infinite if it does not. `point` is the sphere's point nearest to, or deepest in, the solid; `normal` is the
/// half space's. For a moving plane pass velocity and acceleration relative to it.
pub fn sweep_plane<V: Vector>(
    sphere: &Moving<V>,
    acceleration: V,
    half_space: &HalfSpace<V>,
    dt: V::Scalar,
) -> Option<Contact<V>> {
    let zero = V::Scalar::ZERO;
    let half = V::Scalar::from_f64(0.5);
    let normal = half_space.normal();
    let gap = half_space.separation(sphere.position, sphere.radius);
    let v = sphere.velocity.dot(normal);
    let a = acceleration.dot(normal);
    let time = plane_contact(gap, v, a)?;
    if !(time <= dt) {
        return None;
    }
    let leave = if v < zero && a > zero {
        let root = discriminant_root(gap, v, a);
        (root / a - v / a).max(time)
    } else {
        V::Scalar::INFINITY
    };
    let center = sphere.position + (sphere.velocity + acceleration * (half * time)) * time;
    let point = center - normal * sphere.radius;
    Some(Contact { time, leave, fraction: fraction(time, dt), point, normal })
}
