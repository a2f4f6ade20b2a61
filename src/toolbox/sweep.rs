//! Sweep of two spheres in straight motion: when and where they touch, and when they separate again.

use super::shape::{Moving, Still};
use super::vector::{Scalar, Vector, unit};

/// When and where one thing first touches another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contact<V: Vector> {
    /// Time of first contact from the start of the step, `0 <= time <= dt`. 0 where the two touch or overlap at
    /// the start and approach: the true entry is then in the past and is not reported as a negative time.
    pub time: V::Scalar,
    /// Time at which the two would be apart again if they passed through one another, `>= time` to rounding.
    /// Not limited by `dt`; infinite where that never happens.
    pub leave: V::Scalar,
    /// `time / dt`, in 0..=1; 0 for a step of no length or of infinite length.
    pub fraction: V::Scalar,
    /// Where they touch. Of two that overlap at the start: see [`contact_point`](super::contact_point).
    pub point: V,
    /// Unit vector from the second to the first at that time.
    pub normal: V,
}

/// The line of relative motion through the sphere of radius `radius_sum`.
struct Chord<S> {
    /// w.w
    a: S,
    /// -d.w, > 0
    closing: S,
    /// |d|^2 - radius_sum^2 without cancellation
    c: S,
    /// Square root of the quarter discriminant, closing^2 - a c
    root: S,
}

#[inline(always)]
fn chord<V: Vector>(d: V, w: V, radius_sum: V::Scalar) -> Option<Chord<V::Scalar>> {
    let zero = V::Scalar::ZERO;
    let b = d.dot(w);
    let a = w.dot(w);
    if !(b < zero && a >= V::Scalar::MIN_POSITIVE) {
        return None;
    }
    let dd = d.dot(d);
    let ss = radius_sum * radius_sum;
    let p = d - w * (b / a);
    let mut h = ss - p.dot(p);
    if !(h > zero) {
        // Of two that overlap the line of motion always cuts the sphere, whatever rounding says.
        if !(dd <= ss) {
            return None;
        }
        h = zero;
    }
    let distance = dd.sqrt();
    let c = (distance - radius_sum) * (distance + radius_sum);
    let q = a * h;
    // q is of fourth order: it leaves the range of the type long before the squares do.
    let root =
        if q >= V::Scalar::MIN_POSITIVE && q <= V::Scalar::MAX { q.sqrt() } else { a.sqrt() * h.sqrt() };
    Some(Chord { a, closing: -b, c, root })
}

impl<S: Scalar> Chord<S> {
    #[inline(always)]
    fn enter(&self) -> Option<S> {
        if self.c <= S::ZERO {
            return Some(S::ZERO);
        }
        let t = self.c / (self.closing + self.root);
        (t < S::INFINITY).then_some(t)
    }

    #[inline(always)]
    fn leave(&self) -> S {
        (self.closing + self.root) / self.a
    }
}

/// Time at which two spheres in straight motion first touch.
///
/// `d` and `w` are centre and velocity of the first relative to the second, `radius_sum >= 0`. The time is from
/// the moment that `d` belongs to, in the unit of time that `w` is in; it is finite and `>= 0`.
///
/// - `Some(0)`: the two touch or overlap, and approach.
/// - `None`: they move apart (`d.w >= 0`, also while they overlap), stand still to each other, pass by, or only
///   graze: their gap comes down to 0 and no further. Two points (`radius_sum` 0) never meet.
/// - NaN anywhere gives `None`.
///
/// Exchanging the two (`-d`, `-w`) gives the same bits.
///
/// Range: the squares of `|d|`, `|w|` and `radius_sum` have to be representable, roughly `1e-18..1e18` in `f32`
/// and `1e-153..1e153` in `f64`. A relative speed whose square underflows counts as standing still; where
/// squares overflow the answer is `None`.
///
/// Accuracy: with first contact computed as `c / (-b + sqrt(q))`, `q = a (s^2 - p.p)` and `p` the offset at
/// closest approach, nothing large is subtracted from anything large; the gap left at the computed time is a
/// few rounding errors of `|d|`. (The textbook's `(-b - sqrt(b^2 - a c)) / a` is off by a hundred times that
/// from a hundred diameters away.)
///
/// ```
/// use carom::toolbox::first_contact;
/// use glam::Vec3;
///
/// // Two spheres of radius 1, five apart, closing at 2 per second: a gap of 3 lasts 1.5 s.
/// let (d, w) = (Vec3::new(5.0, 0.0, 0.0), Vec3::new(-2.0, 0.0, 0.0));
/// assert_eq!(first_contact(d, w, 2.0), Some(1.5));
/// assert_eq!(first_contact(d, -w, 2.0), None);
/// ```
#[inline]
pub fn first_contact<V: Vector>(d: V, w: V, radius_sum: V::Scalar) -> Option<V::Scalar> {
    chord(d, w, radius_sum)?.enter()
}

/// [`first_contact`] in `0..=dt`: most pairs that do not meet are turned away before any division or square
/// root.
///
/// `None` too for a `dt` that is negative or NaN. With `dt = 0` only those are found that touch or overlap, and
/// approach.
#[inline]
pub fn first_contact_within<V: Vector>(
    d: V,
    w: V,
    radius_sum: V::Scalar,
    dt: V::Scalar,
) -> Option<V::Scalar> {
    if !may_touch_within(d, w, radius_sum, dt) {
        return None;
    }
    first_contact(d, w, radius_sum).filter(|&t| t <= dt)
}

/// False only if two spheres surely do not touch within `dt`: the cheap part of the sweep.
#[inline]
fn may_touch_within<V: Vector>(d: V, w: V, radius_sum: V::Scalar, dt: V::Scalar) -> bool {
    let b = d.dot(w);
    if !(b < V::Scalar::ZERO && dt >= V::Scalar::ZERO) {
        return false;
    }
    let step = w.dot(w) * dt;
    if -b > step {
        // Still closing in at the end of the step: the gap there is the smallest of the step. |w| dt < |d|
        // here, so all rounding is within 16 EPSILON of d.d.
        let dd = d.dot(d);
        let end = (dd - radius_sum * radius_sum) + dt * (b + b + step);
        if end > V::Scalar::from_f64(16.0) * V::Scalar::EPSILON * dd {
            return false;
        }
    }
    true
}

/// Both roots: the times `(enter, leave)` between which two spheres in straight motion would overlap if they
/// passed through one another.
///
/// `None` exactly where [`first_contact`] gives `None`, so two that separate have no passage ahead of them,
/// even while they overlap. Of two that overlap and approach `enter` is 0, not the negative time of the true
/// entry, and `leave` is when they come out on the other side. `leave` is infinite where it overflows.
#[inline]
pub fn passage<V: Vector>(d: V, w: V, radius_sum: V::Scalar) -> Option<(V::Scalar, V::Scalar)> {
    let chord = chord(d, w, radius_sum)?;
    let enter = chord.enter()?;
    // Where a line barely cuts the sphere the two roots are one to rounding and may come out in either order.
    Some((enter, chord.leave().max(enter)))
}

/// First contact of two moving spheres within a step of length `dt`, both times included.
///
/// `None` where [`first_contact`] says so or where the contact lies beyond `dt`. For a `dt` of 0 only two that
/// touch or overlap and approach are in contact; a `dt` that is negative or NaN finds none; an infinite one
/// sets no limit.
///
/// ```
/// use carom::toolbox::{Moving, sweep};
/// use glam::DVec2;
///
/// let a = Moving { position: DVec2::new(0.0, 0.0), velocity: DVec2::new(4.0, 0.0), radius: 1.0 };
/// let b = Moving { position: DVec2::new(6.0, 0.0), velocity: DVec2::new(-4.0, 0.0), radius: 3.0 };
/// let contact = sweep(&a, &b, 0.5).unwrap();
/// assert_eq!((contact.time, contact.fraction), (0.25, 0.5));
/// assert_eq!(contact.point, DVec2::new(2.0, 0.0));
/// assert_eq!(contact.normal, DVec2::new(-1.0, 0.0));
/// assert_eq!(contact.leave, 1.25);
/// ```
pub fn sweep<V: Vector>(a: &Moving<V>, b: &Moving<V>, dt: V::Scalar) -> Option<Contact<V>> {
    let d = a.position - b.position;
    let w = a.velocity - b.velocity;
    let radius_sum = a.radius + b.radius;
    if !may_touch_within(d, w, radius_sum, dt) {
        return None;
    }
    let (time, leave) = passage(d, w, radius_sum)?;
    if !(time <= dt) {
        return None;
    }
    let d = d + w * time;
    let point = b.position + b.velocity * time + d * (b.radius / radius_sum);
    Some(Contact { time, leave, fraction: fraction(time, dt), point, normal: unit(d) })
}

/// [`sweep`] of a moving sphere against one that stands still.
pub fn sweep_still<V: Vector>(a: &Moving<V>, b: &Still<V>, dt: V::Scalar) -> Option<Contact<V>> {
    sweep(a, &b.with_velocity(V::ZERO), dt)
}

/// `time / dt` of a time in `0..=dt`.
pub(super) fn fraction<S: Scalar>(time: S, dt: S) -> S {
    if dt > S::ZERO { time / dt } else { S::ZERO }
}
