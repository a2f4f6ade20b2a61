//! Overlap of stationary spheres, its removal, and the midpoint.

use carom::toolbox::{
    Scalar, Still, Vector, contact_point, overlaps, push_apart, separate, separation, unit,
};
use glam::{DVec2, Vec2, Vec3};
use proptest::prelude::*;

use crate::common::{cube, epsilon, for_every_vector, length, property, scalar, still, vector, wide};

fn squared_distance<V: Vector>() {
    let d: V = vector([3.0, 4.0, 0.0]);
    assert!(overlaps(d, scalar::<V>(5.01)));
    assert!(!overlaps(d, scalar::<V>(5.0)), "touching");
    assert!(!overlaps(d, scalar::<V>(4.99)));
    assert!(!overlaps(V::ZERO, V::Scalar::ZERO), "two points");
    assert!(overlaps(V::ZERO, V::Scalar::ONE), "coincident");
    assert!(!overlaps(vector::<V>([f64::NAN, 0.0, 0.0]), V::Scalar::ONE));
    assert!(!overlaps(d, scalar::<V>(f64::NAN)));
    assert_eq!(separation(d, scalar::<V>(3.0)).to_f64(), 2.0);
    assert_eq!(separation(d, scalar::<V>(6.0)).to_f64(), -1.0);
}

fn removal<V: Vector>() {
    let strategy = (cube(), cube(), 0.01..1.5f64, 0.01..1.5f64, 0.0..3.0f64, 0.0..3.0f64);
    property(3000, strategy, |(xa, xb, ra, rb, ma, mb)| {
        let (a, b): (Still<V>, Still<V>) = (still(xa, ra), still(xb, rb));
        let (ma, mb) = (scalar::<V>(ma), scalar::<V>(mb));
        let s = a.radius + b.radius;
        let d = a.position - b.position;
        let (first, second) = push_apart(d, s, ma, mb);
        prop_assert_eq!(push_apart(-d, s, mb, ma), (second, first), "not the same from the partner's side");
        if !overlaps(d, s) {
            prop_assert_eq!((first, second), (V::ZERO, V::ZERO));
            return Ok(());
        }
        let tolerance = 16.0 * epsilon::<V>();
        let left = separation(d + first - second, s).to_f64();
        prop_assert!(left.abs() <= tolerance, "{} left", left);
        let (l1, l2) = (length(wide(first)), length(wide(second)));
        prop_assert!((l1 * mb.to_f64() - l2 * ma.to_f64()).abs() <= tolerance, "shares");
        Ok(())
    });
}

fn weighted_by_masses<V: Vector>() {
    property(1000, (cube(), cube(), 0.1..10.0f64, 0.1..10.0f64), |(xa, xb, ma, mb)| {
        let (mut a, mut b): (Still<V>, Still<V>) = (still(xa, 1.0), still(xb, 1.5));
        let center = |a: &Still<V>, b: &Still<V>| -> [f64; 3] {
            let (a, b) = (wide(a.position), wide(b.position));
            std::array::from_fn(|axis| (ma * a[axis] + mb * b[axis]) / (ma + mb))
        };
        let before = center(&a, &b);
        separate(&mut a, &mut b, scalar::<V>(1.0 / ma), scalar::<V>(1.0 / mb));
        let after = center(&a, &b);
        let moved = length(std::array::from_fn(|axis| after[axis] - before[axis]));
        prop_assert!(moved <= 8.0 * epsilon::<V>(), "centre of mass moved by {}", moved);
        Ok(())
    });
}

fn weighted_by_radii<V: Vector>() {
    property(1000, (cube(), cube(), 0.1..2.0f64, 0.1..2.0f64), |(xa, xb, ra, rb)| {
        let (mut a, mut b): (Still<V>, Still<V>) = (still(xa, ra), still(xb, rb));
        let before = contact_point(&a, &b);
        let (ma, mb) = (a.radius, b.radius);
        separate(&mut a, &mut b, ma, mb);
        let moved = length(wide(contact_point(&a, &b) - before));
        prop_assert!(moved <= 16.0 * epsilon::<V>(), "contact point moved by {}", moved);
        Ok(())
    });
}

fn special_weights<V: Vector>() {
    let (zero, one) = (V::Scalar::ZERO, V::Scalar::ONE);
    let d: V = vector([0.0, 1.0, 0.0]);
    let s = scalar::<V>(3.0);
    let (fixed, free) = push_apart(d, s, zero, one);
    assert_eq!((fixed, free), (V::ZERO, vector([0.0, -2.0, 0.0])));
    assert_eq!(push_apart(d, s, zero, zero), (V::ZERO, V::ZERO));
    let nan = scalar::<V>(f64::NAN);
    assert_eq!(push_apart(d, s, nan, one), (V::ZERO, V::ZERO));
    assert_eq!(push_apart(d, nan, one, one), (V::ZERO, V::ZERO));
    assert_eq!(push_apart(d * nan, s, one, one), (V::ZERO, V::ZERO));
    assert_eq!(push_apart(d, s, V::Scalar::INFINITY, one), (V::ZERO, V::ZERO));
    // Coincident centres: the first sphere moves along +x, the second along -x.
    let quarter = scalar::<V>(0.25);
    let shares = push_apart(V::ZERO, one, one, scalar::<V>(3.0));
    assert_eq!(shares, (V::X * quarter, -V::X * scalar::<V>(0.75)));
}

fn point_between<V: Vector>() {
    property(1000, (cube(), cube(), 0.1..2.0f64, 0.1..2.0f64), |(xa, xb, ra, rb)| {
        let (a, b): (Still<V>, Still<V>) = (still(xa, ra), still(xb, rb));
        let p = contact_point(&a, &b);
        let (a, b, p) =
            ((wide(a.position), a.radius.to_f64()), (wide(b.position), b.radius.to_f64()), wide(p));
        for (axis, &found) in p.iter().enumerate() {
            let expected = (a.0[axis] * b.1 + b.0[axis] * a.1) / (a.1 + b.1);
            prop_assert!((found - expected).abs() <= 8.0 * epsilon::<V>());
        }
        Ok(())
    });
    let points: [Still<V>; 2] = [still([1.0, 0.0, 0.0], 0.0), still([3.0, 0.0, 0.0], 0.0)];
    assert_eq!(contact_point(&points[0], &points[1]), vector([2.0, 0.0, 0.0]));
}

for_every_vector! {
    overlap_is_decided_by_squares_and_touching_is_none => squared_distance;
    removed_overlap_leaves_touching_spheres_in_the_given_shares => removal;
    inverse_masses_as_weights_keep_the_centre_of_mass => weighted_by_masses;
    radii_as_weights_keep_the_contact_point => weighted_by_radii;
    fixed_coincident_and_nan_pairs_are_defined => special_weights;
    contact_point_is_weighted_by_the_radii => point_between;
}

#[test]
fn directions_survive_any_magnitude() {
    for scale in [1e-45f32, 1e-40, 1e-30, 1e-19, 1.0, 1e19, 1e38] {
        let u = unit(Vec2::new(0.0, -scale));
        assert_eq!(u, Vec2::NEG_Y, "{scale}");
    }
    let u = unit(Vec3::new(3e-30, 0.0, 4e-30));
    assert!((u - Vec3::new(0.6, 0.0, 0.8)).length() < 2e-7);
    assert_eq!(unit(DVec2::ZERO), DVec2::X);
    assert_eq!(unit(DVec2::new(f64::NAN, 1.0)), DVec2::X);
    assert_eq!(unit(DVec2::new(f64::INFINITY, 1.0)), DVec2::X);
}
