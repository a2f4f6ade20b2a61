//! A sphere under constant acceleration and a plane.

use carom::toolbox::{HalfSpace, Moving, Scalar, Vector, plane_contact, sweep_plane};
use proptest::prelude::*;

use crate::common::{Outcome, epsilon, for_every_vector, property, scalar, still, vector};
use crate::exact::rational;

#[test]
fn each_start_has_its_documented_answer() {
    // gap, v, a, time
    let table = [
        (3.0, -2.0, 0.0, Some(1.5)),
        (3.0, 2.0, 0.0, None),
        (3.0, 0.0, 0.0, None),
        (8.0, 0.0, -4.0, Some(2.0)),
        (10.0, 5.0, -10.0, Some(2.0)),
        (10.0, -5.0, -10.0, Some(1.0)),
        // Decelerated: turns before the plane, just reaches it, passes through it.
        (3.0, -2.0, 1.0, None),
        (2.0, -2.0, 1.0, None),
        (1.5, -2.0, 1.0, Some(1.0)),
        // Touching.
        (0.0, -1.0, 0.0, Some(0.0)),
        (0.0, -1.0, 9.0, Some(0.0)),
        (0.0, 0.0, -9.8, Some(0.0)),
        (0.0, 0.0, 0.0, None),
        (0.0, 0.0, 9.8, None),
        (0.0, 5.0, -10.0, Some(1.0)),
        (0.0, 5.0, 0.0, None),
        (0.0, 5.0, 10.0, None),
        // Overlapping.
        (-1.0, -1.0, 5.0, Some(0.0)),
        (-1.0, 0.0, -1.0, Some(0.0)),
        (-1.0, 0.0, 0.0, None),
        (-1.0, 0.0, 1.0, None),
        (-1.0, 1.0, 0.0, None),
        (-1.5, 4.0, -2.0, Some((4.0 + 10f64.sqrt()) / 2.0)),
        (-9.0, 4.0, -2.0, Some(2.0)),
    ];
    for (gap, v, a, expected) in table {
        let found = plane_contact(gap, v, a);
        match (found, expected) {
            (Some(t), Some(e)) => assert!((t - e).abs() <= 4e-16 * e, "{gap} {v} {a}: {t}, expected {e}"),
            _ => assert_eq!(found, expected, "{gap} {v} {a}"),
        }
        let single = plane_contact(gap as f32, v as f32, a as f32);
        assert_eq!(single.is_some(), expected.is_some(), "f32: {gap} {v} {a}");
    }
}

/// `gap + v t + a t^2/2` without rounding, relative to the largest of its terms.
fn residual(gap: f64, v: f64, a: f64, t: f64) -> f64 {
    let (s, v, a, t) = (rational(gap), rational(v), rational(a), rational(t));
    let terms = [s, &v * &t, &a * &t * &t * rational(0.5)];
    let sum = (&terms[0] + &terms[1] + &terms[2]).to_f64_fast();
    let size = terms.iter().map(|x| x.to_f64_fast().abs()).fold(0.0, f64::max);
    if size == 0.0 { 0.0 } else { sum / size }
}

fn against_exact<S: Scalar>(gap: f64, v: f64, a: f64) -> Outcome {
    let (gap, v, a) = (S::from_f64(gap), S::from_f64(v), S::from_f64(a));
    let found = plane_contact(gap, v, a).map(Scalar::to_f64);
    let (gap, v, a) = (gap.to_f64(), v.to_f64(), a.to_f64());
    let tolerance = 8.0 * S::EPSILON.to_f64();
    let discriminant = rational(v) * rational(v) - rational(2.0) * rational(a) * rational(gap);
    let discriminant = discriminant.to_f64_fast();
    if (discriminant / (v * v)).abs() > tolerance {
        let meets = if v < 0.0 { gap <= 0.0 || a <= 0.0 || discriminant > 0.0 } else { a < 0.0 };
        prop_assert_eq!(found.is_some(), meets);
    }
    let Some(t) = found else { return Ok(()) };
    prop_assert!(t >= 0.0 && t.is_finite());
    // Excludes times after the turning point of a motion that only just reaches the plane, where two roots lie close:
    // the speed there is accurate to the square root of the precision.
    let speed = v + a * t;
    prop_assert!(speed <= tolerance.sqrt() * v.abs(), "contact at t = {} while moving away, {}", t, speed);
    if t > 0.0 && discriminant > 0.0 {
        let left = residual(gap, v, a, t);
        prop_assert!(left.abs() <= tolerance, "{} of the largest term left at contact", left);
    }
    // No earlier contact: an earlier closure of the gap would show at one of these times.
    if gap > 0.0 {
        for k in 1..16 {
            let early = t * f64::from(k) / 17.0;
            prop_assert!(residual(gap, v, a, early) > -tolerance, "closed already at {}", early);
        }
    }
    Ok(())
}

#[test]
fn plane_contacts_agree_with_exact_arithmetic() {
    let decades = -6.0..6.0;
    let sign = prop_oneof![Just(-1.0), Just(1.0)];
    let number = (decades, sign).prop_map(|(power, sign): (f64, f64)| sign * 10f64.powf(power));
    property(10_000, (number.clone(), number.clone(), number), |(gap, v, a)| {
        against_exact::<f32>(gap, v, a)?;
        against_exact::<f64>(gap, v, a)
    });
}

#[test]
fn no_magnitude_gives_a_plane_contact_that_is_no_number() {
    let sizes = [0.0, 1e-37, 1e-30, 1e-20, 1.0, 1e10, 1e20, 1e30, 3e37];
    let values: Vec<f32> = sizes.iter().flat_map(|&x| [x, -x]).collect();
    for &gap in &values {
        for &v in &values {
            for &a in &values {
                let found = plane_contact(gap, v, a).map(f64::from);
                // The same numbers, far from the limits of f64.
                let expected = plane_contact(f64::from(gap), f64::from(v), f64::from(a));
                match (found, expected) {
                    (Some(t), Some(e)) => {
                        let tolerance = 1e-5 * e + f64::from(f32::MIN_POSITIVE);
                        assert!((t - e).abs() <= tolerance, "{gap} {v} {a}: {t}, expected {e}");
                    }
                    (None, Some(e)) => assert!(e > 1e38, "{gap} {v} {a}: lost {e}"),
                    (Some(t), None) => panic!("{gap} {v} {a}: found {t}"),
                    (None, None) => (),
                }
            }
        }
    }
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        for (gap, v, a) in [(bad, -1.0, -1.0), (1.0, bad, -1.0), (1.0, -1.0, bad), (1.0, 1.0, bad)] {
            let found = plane_contact(gap, v, a);
            assert!(found.is_none_or(|t: f64| t.is_finite() && !bad.is_nan()), "{gap} {v} {a}: {found:?}");
        }
    }
}

fn dropped_sphere<V: Vector>() {
    // Centre 5.25 above the floor, radius .25, g = 10: falls 5 in 1 s and drifts 3 sideways.
    let sphere: Moving<V> = still::<V>([1.0, 7.25, 0.0], 0.25).with_velocity(vector([3.0, 0.0, 0.0]));
    let floor = HalfSpace::new(vector::<V>([9.0, 2.0, 0.0]), vector([0.0, 7.0, 0.0])).unwrap();
    let g: V = vector([0.0, -10.0, 0.0]);
    let contact = sweep_plane(&sphere, g, &floor, scalar::<V>(2.0)).unwrap();
    assert_eq!((contact.time.to_f64(), contact.fraction.to_f64()), (1.0, 0.5));
    assert_eq!(contact.leave, V::Scalar::INFINITY);
    assert_eq!((contact.point, contact.normal), (vector([4.0, 2.0, 0.0]), vector([0.0, 1.0, 0.0])));
    assert_eq!(sweep_plane(&sphere, g, &floor, scalar::<V>(0.99)), None);
    // Decelerated by the opposite acceleration: gap 1.5 at 2 down, 1 up, enters at 1 s and leaves at 3 s.
    let sphere: Moving<V> = still::<V>([0.0, 3.75, 0.0], 0.25).with_velocity(vector([0.0, -2.0, 0.0]));
    let contact = sweep_plane(&sphere, vector([0.0, 1.0, 0.0]), &floor, scalar::<V>(2.0)).unwrap();
    assert_eq!((contact.time.to_f64(), contact.leave.to_f64()), (1.0, 3.0));
}

fn resting_sphere<V: Vector>() {
    let floor = HalfSpace::new(V::ZERO, vector([0.0, 1.0, 0.0])).unwrap();
    let sphere: Moving<V> = still::<V>([0.0, 0.5, 0.0], 0.5).with_velocity(V::ZERO);
    let contact = sweep_plane(&sphere, vector([0.0, -9.8, 0.0]), &floor, V::Scalar::ONE).unwrap();
    assert_eq!((contact.time, contact.point), (V::Scalar::ZERO, V::ZERO));
    assert_eq!(sweep_plane(&sphere, V::ZERO, &floor, V::Scalar::ONE), None);
}

fn half_spaces<V: Vector>() {
    let half_space = HalfSpace::new(V::ZERO, vector([3.0, 4.0, 0.0])).unwrap();
    let distance = half_space.separation(vector([3.0, 4.0, 0.0]), V::Scalar::ONE).to_f64();
    assert!((distance - 4.0).abs() <= 8.0 * epsilon::<V>());
    let tiny = HalfSpace::new(V::ZERO, vector([1e-30, 0.0, 0.0])).unwrap();
    assert_eq!(tiny.normal(), V::X);
    assert!(HalfSpace::new(V::ZERO, V::ZERO).is_none());
    assert!(HalfSpace::new(V::ZERO, vector([f64::NAN, 1.0, 0.0])).is_none());
    assert!(HalfSpace::new(vector([f64::INFINITY, 1.0, 0.0]), V::X).is_none());
}

for_every_vector! {
    dropped_sphere_lands_at_the_closed_form_time => dropped_sphere;
    resting_sphere_is_in_contact_only_while_pressed_on => resting_sphere;
    normals_of_any_length_are_normalised => half_spaces;
}
