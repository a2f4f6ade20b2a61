//! All results of a sweep: times, fraction, point, normal.

use carom::toolbox::{Moving, Scalar, Still, Vector, contact_point, sweep, sweep_still};
use proptest::prelude::*;

use crate::common::{cube, epsilon, for_every_vector, length, property, scalar, vector, wide};

fn moving<V: Vector>(position: [f64; 3], velocity: [f64; 3], radius: f64) -> Moving<V> {
    Moving { position: vector(position), velocity: vector(velocity), radius: scalar::<V>(radius) }
}

fn answer_is_consistent<V: Vector>() {
    let strategy = (cube(), cube(), cube(), cube(), 0.01..0.7f64, 0.01..0.7f64, 0.0..2.0);
    property(3000, strategy, |(xa, va, xb, vb, ra, rb, dt)| {
        let a: Moving<V> = moving(xa.map(|x| 3.0 * x), va, ra);
        let b: Moving<V> = moving(xb, vb, rb);
        let dt = scalar::<V>(dt);
        let found = sweep(&a, &b, dt);
        let mirrored = sweep(&b, &a, dt);
        prop_assert_eq!(found.map(|c| (c.time, c.leave)), mirrored.map(|c| (c.time, c.leave)));
        let (Some(contact), Some(mirrored)) = (found, mirrored) else { return Ok(()) };
        prop_assert_eq!(contact.normal, -mirrored.normal);

        let near = |p: V, q: V| length(wide(p - q)) <= 32.0 * epsilon::<V>();
        prop_assert!(near(contact.point, mirrored.point));
        let (zero, one) = (V::Scalar::ZERO, V::Scalar::ONE);
        prop_assert!(contact.time >= zero && contact.time <= dt && contact.leave >= contact.time);
        prop_assert!(contact.fraction >= zero && contact.fraction <= one);
        prop_assert!((contact.fraction * dt - contact.time).abs() <= V::Scalar::EPSILON * dt);

        let (a, b) = (a.advanced(contact.time).still(), b.advanced(contact.time).still());
        let d = wide(a.position - b.position);
        let along: f64 = (0..3).map(|axis| d[axis] * wide(contact.normal)[axis]).sum();
        prop_assert!((along - length(d)).abs() <= 32.0 * epsilon::<V>(), "normal does not point along d");
        prop_assert!((length(wide(contact.normal)) - 1.0).abs() <= 4.0 * epsilon::<V>());
        prop_assert!(near(contact.point, contact_point(&a, &b)));
        if contact.time > zero {
            // The point lies on both surfaces.
            let from_a = length(wide(contact.point - a.position)) - a.radius.to_f64();
            let from_b = length(wide(contact.point - b.position)) - b.radius.to_f64();
            prop_assert!(from_a.abs() <= 32.0 * epsilon::<V>(), "{} off the first surface", from_a);
            prop_assert!(from_b.abs() <= 32.0 * epsilon::<V>(), "{} off the second surface", from_b);
        }
        Ok(())
    });
}

/// Only relative motion matters: the same pair seen from the second sphere.
fn relative_frame<V: Vector>() {
    let strategy = (cube(), cube(), cube(), cube());
    property(1000, strategy, |(xa, va, xb, vb)| {
        // Sixteenths: sums and differences are exact in both types, so the two frames must agree to the bit.
        let snap = |v: [f64; 3]| v.map(|x| (x * 64.0).round() / 16.0);
        let a: Moving<V> = moving(snap(xa), snap(va), 0.5);
        let b: Moving<V> = moving(snap(xb), snap(vb), 0.25);
        let frame = Moving { velocity: a.velocity - b.velocity, ..a };
        let (lab, seen) = (sweep(&a, &b, V::Scalar::ONE), sweep_still(&frame, &b.still(), V::Scalar::ONE));
        prop_assert_eq!(lab.map(|c| (c.time, c.leave, c.normal)), seen.map(|c| (c.time, c.leave, c.normal)));
        Ok(())
    });
}

fn both_roots_of_a_head_on_pair<V: Vector>() {
    // Radius sum 2, 10 apart, closing at 4: from 8/4 to 12/4.
    let a: Moving<V> = moving([10.0, 1.0, 1.0], [-1.0, 0.0, 0.0], 0.5);
    let b: Moving<V> = moving([0.0, 1.0, 1.0], [3.0, 0.0, 0.0], 1.5);
    let contact = sweep(&a, &b, scalar::<V>(4.0)).unwrap();
    assert_eq!((contact.time.to_f64(), contact.leave.to_f64(), contact.fraction.to_f64()), (2.0, 3.0, 0.5));
    assert_eq!(contact.normal, V::X);
    assert_eq!(contact.point, vector([7.5, 1.0, 1.0]));
}

fn both_roots_off_centre<V: Vector>() {
    // Offset 3 of a radius sum of 5: half a chord of 4, closest at t = 10.
    let a: Moving<V> = moving([-10.0, 3.0, 0.0], [1.0, 0.0, 0.0], 2.0);
    let b: Still<V> = Still { position: V::ZERO, radius: scalar::<V>(3.0) };
    let contact = sweep_still(&a, &b, scalar::<V>(12.0)).unwrap();
    assert!((contact.time.to_f64() - 6.0).abs() <= 6.0 * epsilon::<V>());
    assert!((contact.leave.to_f64() - 14.0).abs() <= 14.0 * epsilon::<V>());
    assert!(length(wide(contact.normal - vector([-0.8, 0.6, 0.0]))) < 2.0 * epsilon::<V>());
    assert!(length(wide(contact.point - vector([-2.4, 1.8, 0.0]))) < 8.0 * epsilon::<V>());
}

fn ends_of_the_step_belong_to_it<V: Vector>() {
    let a: Moving<V> = moving([3.0, 0.0, 0.0], [-1.0, 0.0, 0.0], 0.5);
    let b: Still<V> = Still { position: V::ZERO, radius: scalar::<V>(0.5) };
    assert_eq!(sweep_still(&a, &b, scalar::<V>(2.0)).unwrap().fraction, V::Scalar::ONE);
    assert_eq!(sweep_still(&a, &b, scalar::<V>(1.9999)), None);
    let touching = a.advanced(scalar::<V>(2.0));
    assert_eq!(sweep_still(&touching, &b, scalar::<V>(2.0)).unwrap().fraction, V::Scalar::ZERO);
}

for_every_vector! {
    time_fraction_point_and_normal_are_consistent => answer_is_consistent;
    only_relative_motion_counts => relative_frame;
    head_on_pair_enters_and_leaves_at_closed_form_times => both_roots_of_a_head_on_pair;
    off_centre_pair_enters_and_leaves_at_closed_form_times => both_roots_off_centre;
    contacts_at_both_ends_of_the_step_are_found => ends_of_the_step_belong_to_it;
}
