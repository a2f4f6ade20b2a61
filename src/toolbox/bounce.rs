//! Velocities after an impact.

use super::vector::{Scalar, Vector};

/// Impulse of an impact without friction: `+` on the first, `-` on the second (mass * length/time).
///
/// `d` and `w` are centre and velocity of the first relative to the second at the time of contact; the impulse
/// is along `d`, whose length does not matter. Masses are given as inverses; 0 stands for a wall or a
/// fixed sphere. `restitution` is in 0..=1: 1 keeps the energy, 0 takes all relative velocity along
/// `d`.
///
/// The impulse is 0 where the two do not approach (`d.w >= 0`; also where the centres coincide), where both
/// masses are infinite, and for NaN anywhere. The squares of `|d|` and `|w|` have to be representable, as in
/// [`first_contact`](super::first_contact).
///
/// The function divides by `d.d` instead of using a unit normal, so that the rounding of a normal does not affect the energy. For
/// a restitution of 1 it corrects the remaining energy error: energy is conserved to the rounding of the velocities,
/// without drift.
///
/// ```
/// use carom::toolbox::bounce_impulse;
/// use glam::DVec2;
///
/// // Equal masses, head-on, elastic: velocities are exchanged, so the impulse is the whole momentum.
/// let (d, w) = (DVec2::new(1.0, 0.0), DVec2::new(-3.0, 0.0));
/// assert_eq!(bounce_impulse(d, w, 1.0, 1.0, 1.0), DVec2::new(3.0, 0.0));
/// ```
#[inline]
pub fn bounce_impulse<V: Vector>(
    d: V,
    w: V,
    inverse_mass_a: V::Scalar,
    inverse_mass_b: V::Scalar,
    restitution: V::Scalar,
) -> V {
    let one = V::Scalar::ONE;
    let elastic = restitution == one;
    // For centres one unit apart, the most common case, squares of f32 distances cluster around 1, and quotients by them
    // round to one side: -6e-10 of the energy per impact, 6e-6 after 10,000 impacts per sphere. A factor away from powers of
    // two leaves at most 1e-10; with 1.5 a head-on exchange stays exact.
    let d = if elastic { d * V::Scalar::from_f64(1.5) } else { d };
    let b = d.dot(w);
    let inverse_mass = inverse_mass_a + inverse_mass_b;
    if !(b < V::Scalar::ZERO && inverse_mass > V::Scalar::ZERO) {
        return V::ZERO;
    }
    // k d is the change of the relative velocity, k d / inverse_mass the impulse, both with the sign turned.
    let mut k = (one + restitution) * (b / d.dot(d));
    if elastic {
        // Energy gained per reduced mass: u.u/2 - u.w, which is 0 for the exact k.
        let u = d * k;
        k = k - (u.dot(u) * V::Scalar::from_f64(0.5) - u.dot(w)) / b;
    }
    let impulse = d * (-k / inverse_mass);
    if impulse.is_finite() { impulse } else { V::ZERO }
}

/// Velocities of the first and the second sphere after an impact; unchanged where [`bounce_impulse`] is 0.
///
/// `d` points from the second centre to the first at the time of contact.
///
/// ```
/// use carom::toolbox::bounce;
/// use glam::Vec3;
///
/// // A sphere dropped on something that does not move comes back with the restitution's share of its speed.
/// let (up, down) = (Vec3::Z, Vec3::new(1.0, 0.0, -4.0));
/// assert_eq!(bounce(up, down, Vec3::ZERO, 1.0, 0.0, 0.5), (Vec3::new(1.0, 0.0, 2.0), Vec3::ZERO));
/// ```
#[inline]
pub fn bounce<V: Vector>(
    d: V,
    velocity_a: V,
    velocity_b: V,
    inverse_mass_a: V::Scalar,
    inverse_mass_b: V::Scalar,
    restitution: V::Scalar,
) -> (V, V) {
    let impulse = bounce_impulse(d, velocity_a - velocity_b, inverse_mass_a, inverse_mass_b, restitution);
    (velocity_a + impulse * inverse_mass_a, velocity_b - impulse * inverse_mass_b)
}
