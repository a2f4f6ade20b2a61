//! Friction in an impact: Coulomb's law for impulses (Walton, in Particulate Two-Phase Flow, 1993). One coefficient serves
//! sliding and sticking, and there is no tangential restitution.

use glam::Vec3;

use super::{Body, Counts};

/// Friction part of an impact.
pub struct Friction {
    /// Impulse on the first sphere, perpendicular to the line of centres; the second sphere gets the opposite.
    pub impulse: Vec3,
    /// Twist. Times inverse mass over radius, it gives the spin change of each sphere.
    pub twist: Vec3,
    /// Energy dissipated by friction.
    pub loss: f64,
}

impl Friction {
    /// `d` and `w` are centre and velocity of the first relative to the second; `spin` is the mean of the two spins,
    /// weighted by the radii, whose sum is `radius_sum`; `limit` is the coefficient of friction times the normal
    /// impulse.
    ///
    /// The contact point divides `d` in the ratio of the radii, even with a gap or an overlap, so the arms are r |d| / s.
    /// Angular momentum is conserved: the spins lose what the orbit gains. The slip at the contact is the part of
    /// `w - spin x d` perpendicular to `d`. A unit impulse changes the slip by 1/m_i + 1/m_j directly, and through the spins
    /// (inertia 2/5 m r^2) by another 5/2 (|d|/s)^2 times as much; at contact the total is 7/2. Hence an impulse of 2/7 of
    /// the reduced mass times the slip stops the slip, and a larger one would reverse it.
    pub fn new(d: Vec3, w: Vec3, spin: Vec3, radius_sum: f32, inverse_mass: f32, limit: f32) -> Option<Self> {
        let square = d.length_squared();
        let surfaces = w - spin.cross(d);
        let slip = surfaces - d * (surfaces.dot(d) / square);
        let speed = slip.length();
        let rate = inverse_mass * (1.0 + 2.5 * (square / (radius_sum * radius_sum)));
        let size = limit.min(speed / rate);
        let impulse = slip * (-size / speed);
        if !(speed > 0.0 && impulse.is_finite()) {
            return None;
        }
        let twist = impulse.cross(d) * (2.5 / radius_sum);
        // The impulse times the mean of the slips before and after.
        let (size, speed, rate) = (f64::from(size), f64::from(speed), f64::from(rate));
        Some(Self { impulse, twist, loss: size * (speed - 0.5 * rate * size) })
    }
}

/// Applies friction for the normal impulse `j` to the spins of an impact, and returns the total impulse on the first
/// sphere. `contact` holds the offset and velocity of the first sphere relative to the second or to a fixed partner, and
/// the radius sum.
pub(super) fn rub(
    coefficient: f32,
    j: Vec3,
    contact: (Vec3, Vec3, f32),
    a: &mut Body,
    b: Option<&mut Body>,
    counts: &mut Counts,
) -> Vec3 {
    if coefficient == 0.0 {
        return j;
    }
    let (d, w, radius_sum) = contact;
    let (mut rim, mut inverse_mass) = (a.rim(), a.inverse_mass());
    if let Some(b) = &b {
        rim += b.rim();
        inverse_mass += b.inverse_mass();
    }
    let limit = coefficient * j.length();
    let Some(friction) = Friction::new(d, w, rim / radius_sum, radius_sum, inverse_mass, limit) else {
        return j;
    };
    a.turn(friction.twist);
    if let Some(b) = b {
        b.turn(friction.twist);
    }
    counts.dissipated += friction.loss;
    j + friction.impulse
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{toolbox::bounce_impulse, walls::world::delta_v_bound};

    // Justifies `World::delta_v_bound`: for any spins, no velocity changes by more than the bound of the causality test.
    #[test]
    fn friction_keeps_to_the_bound_on_a_jolt_whatever_the_spins() {
        let mut seed = 17_u64;
        let mut draw = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 40) as f32 / (1 << 23) as f32 - 1.0
        };
        let (mut nearest, mut struck) = (0.0f32, 0);
        for k in 0..20_000 {
            let mut vector = |size: f32| Vec3::new(draw(), draw(), draw()) * size;
            let (d, w, spin) = (vector(1.0), vector(2.0), vector([0.0, 1.0, 100.0][k % 3]));
            let (inverse_i, inverse_j) = ([1.0, 0.1, 5.0][k % 3], [1.0, 0.0, 0.3, 20.0][k % 4]);
            let coefficient = [0.1, 0.5, 2.0, 50.0][k / 3 % 4];
            let j = bounce_impulse(d, w, inverse_i, inverse_j, 1.0);
            let friction =
                Friction::new(d, w, spin, d.length(), inverse_i + inverse_j, coefficient * j.length());
            let approach = -d.dot(w) / d.length();
            let Some(friction) = friction.filter(|_| approach > 0.0) else { continue };
            let change = (j + friction.impulse).length() * inverse_i;
            let bound =
                delta_v_bound(f64::from(coefficient)) * approach * inverse_i / (inverse_i + inverse_j);
            // In a grazing impact the speed is mostly rounding.
            let slack = 1e-5 * bound + 1e-6 * bound / approach * w.length();
            assert!(change <= bound + slack, "{d} {w} {spin}: {change} of {bound}");
            nearest = nearest.max(change / (bound + slack));
            struck += 1;
        }
        // If the whole contact slides, the bound is met.
        assert!(struck > 5000 && nearest > 0.999, "{struck} {nearest}");
    }
}
