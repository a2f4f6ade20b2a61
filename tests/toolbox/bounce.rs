//! Impulses: closed forms, conservation without rounding, and the drift over many impacts.

use carom::toolbox::{Scalar, Vector, bounce, bounce_impulse};
use glam::{DVec2, DVec3, Vec2, Vec3};
use proptest::prelude::*;

use crate::common::{Draws, SEED, cube, epsilon, for_every_vector, length, property, scalar, vector, wide};
use crate::exact::rational;

fn impulse<V: Vector>(d: [f64; 3], w: [f64; 3], inverse_masses: [f64; 2], restitution: f64) -> V {
    let [a, b] = inverse_masses.map(|x| scalar::<V>(x));
    bounce_impulse(vector::<V>(d), vector(w), a, b, scalar::<V>(restitution))
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn laws_of_impact<V: Vector>() {
    let strategy = (cube(), cube(), cube(), -3.0..3.0, -3.0..3.0, 0.0..=1.0f64);
    property(3000, strategy, |(d, va, vb, ma, mb, restitution)| {
        let (d, va, vb): (V, V, V) = (vector(d), vector(va), vector(vb));
        let (ia, ib) = (scalar::<V>(10f64.powf(ma)), scalar::<V>(10f64.powf(mb)));
        let e = scalar::<V>(restitution);
        let j = bounce_impulse(d, va - vb, ia, ib, e);
        let w = wide(va - vb);
        if dot(wide(d), w) >= 0.0 || length(wide(d)) < 1e-3 {
            prop_assert!(j == V::ZERO || length(wide(d)) < 1e-3);
            return Ok(());
        }
        // The partner computes the same impulse with opposite sign.
        prop_assert_eq!(bounce_impulse(-d, vb - va, ib, ia, e), -j);
        let eps = epsilon::<V>();
        let unit = wide(d).map(|x| x / length(wide(d)));
        let total = ia.to_f64() + ib.to_f64();
        let after: [f64; 3] = std::array::from_fn(|axis| w[axis] + wide(j)[axis] * total);
        let (before_n, after_n) = (dot(w, unit), dot(after, unit));
        let scale = 16.0 * eps * length(w);
        prop_assert!((after_n + e.to_f64() * before_n).abs() <= scale, "{} became {}", before_n, after_n);
        for axis in 0..3 {
            let sideways = |v: [f64; 3], n: f64| v[axis] - n * unit[axis];
            prop_assert!((sideways(after, after_n) - sideways(w, before_n)).abs() <= scale, "friction");
        }
        let (na, nb) = bounce(d, va, vb, ia, ib, e);
        let size = |before: V, after: V| length(wide(before)) + length(wide(after));
        for axis in 0..V::DIMENSIONS {
            let p = |a: V, b: V| {
                rational(wide(a)[axis]) / rational(ia.to_f64())
                    + rational(wide(b)[axis]) / rational(ib.to_f64())
            };
            let gained = (p(na, nb) - p(va, vb)).to_f64_fast();
            let scale = size(va, na) / ia.to_f64() + size(vb, nb) / ib.to_f64();
            prop_assert!(gained.abs() <= 4.0 * eps * scale, "momentum {} of {}", gained, scale);
        }
        Ok(())
    });
}

/// Energy of the relative motion after an elastic impulse, without rounding after the impulse.
fn elastic_impulse_keeps_energy<V: Vector>() {
    property(3000, (cube(), cube(), -3.0..3.0, -3.0..3.0), |(d, w, ma, mb)| {
        let (d, w): (V, V) = (vector(d), vector(w));
        let (ia, ib) = (scalar::<V>(10f64.powf(ma)), scalar::<V>(10f64.powf(mb)));
        let j = wide(bounce_impulse(d, w, ia, ib, V::Scalar::ONE)).map(rational);
        let w = wide(w).map(rational);
        let product = |a: &[dashu::rational::Relaxed; 3], b: &[dashu::rational::Relaxed; 3]| {
            &a[0] * &b[0] + &a[1] * &b[1] + &a[2] * &b[2]
        };
        let gained = product(&j, &w)
            + product(&j, &j) * (rational(ia.to_f64()) + rational(ib.to_f64())) * rational(0.5);
        let size = |v| product(v, v).to_f64_fast().sqrt();
        let scale = size(&j) * size(&w);
        prop_assert!(
            gained.to_f64_fast().abs() <= 3.0 * epsilon::<V>() * scale,
            "{}",
            gained.to_f64_fast() / scale
        );
        Ok(())
    });
}

fn equal_masses_swap<V: Vector>() {
    let (va, vb): (V, V) = (vector([2.0, 1.0, 0.0]), vector([-3.0, 5.0, 0.0]));
    let one = V::Scalar::ONE;
    let (na, nb) = bounce(-V::X, va, vb, one, one, one);
    assert_eq!((na, nb), (vector([-3.0, 1.0, 0.0]), vector([2.0, 5.0, 0.0])));
}

fn unequal_masses<V: Vector>() {
    // m = 1 at 4 onto m = 3 at rest, head-on: v1' = v1 - (1+e) m2/(m1+m2) v, v2' = (1+e) m1/(m1+m2) v.
    for (restitution, first, second) in [(1.0, -2.0, 2.0), (0.5, -0.5, 1.5), (0.0, 1.0, 1.0)] {
        let (one, third) = (V::Scalar::ONE, scalar::<V>(1.0 / 3.0));
        let (na, nb) = bounce(-V::X, V::X * scalar::<V>(4.0), V::ZERO, one, third, scalar::<V>(restitution));
        assert!(length(wide(na - V::X * scalar::<V>(first))) <= 8.0 * epsilon::<V>());
        assert!(length(wide(nb - V::X * scalar::<V>(second))) <= 8.0 * epsilon::<V>());
    }
}

fn infinite_masses<V: Vector>() {
    let (d, w) = ([0.0, 2.0, 0.0], [3.0, -4.0, 0.0]);
    // Against a wall: reflected, whichever of the two is the wall.
    assert_eq!(impulse::<V>(d, w, [0.5, 0.0], 1.0), vector([0.0, 16.0, 0.0]));
    assert_eq!(impulse::<V>(d, w, [0.0, 0.5], 1.0), vector([0.0, 16.0, 0.0]));
    assert_eq!(impulse::<V>(d, w, [0.0, 0.0], 1.0), V::ZERO);
    let (na, nb) = bounce(vector::<V>(d), vector(w), V::X, V::Scalar::ONE, V::Scalar::ZERO, V::Scalar::ONE);
    assert_eq!((na, nb), (vector([3.0, 4.0, 0.0]), V::X));
}

fn no_impulse<V: Vector>() {
    let equal = [1.0, 1.0];
    assert_eq!(impulse::<V>([1.0, 0.0, 0.0], [2.0, -1.0, 0.0], equal, 1.0), V::ZERO, "separating");
    assert_eq!(impulse::<V>([1.0, 0.0, 0.0], [0.0, -1.0, 0.0], equal, 1.0), V::ZERO, "sliding past");
    assert_eq!(impulse::<V>([0.0; 3], [1.0, 0.0, 0.0], equal, 1.0), V::ZERO, "coincident");
    assert_eq!(impulse::<V>([1.0, 0.0, 0.0], [0.0; 3], equal, 1.0), V::ZERO, "at rest");
    let good = impulse::<V>([1.0, 0.0, 0.0], [-1.0, 0.0, 0.0], equal, 1.0);
    assert_eq!(good, V::X);
    let nan = f64::NAN;
    assert_eq!(impulse::<V>([nan, 0.0, 0.0], [-1.0, 0.0, 0.0], equal, 1.0), V::ZERO);
    assert_eq!(impulse::<V>([1.0, 0.0, 0.0], [-1.0, nan, 0.0], equal, 1.0), V::ZERO);
    assert_eq!(impulse::<V>([1.0, 0.0, 0.0], [-1.0, 0.0, 0.0], [nan, 1.0], 1.0), V::ZERO);
    assert_eq!(impulse::<V>([1.0, 0.0, 0.0], [-1.0, 0.0, 0.0], equal, nan), V::ZERO);
}

for_every_vector! {
    impacts_obey_restitution_and_conserve_momentum => laws_of_impact;
    elastic_impulse_keeps_the_energy_without_rounding => elastic_impulse_keeps_energy;
    equal_spheres_swap_normal_velocity_when_elastic => equal_masses_swap;
    unequal_spheres_follow_the_closed_form => unequal_masses;
    infinite_masses_reflect_and_do_not_move => infinite_masses;
    separating_pairs_and_nan_get_no_impulse => no_impulse;
}

#[test]
fn extreme_magnitudes_keep_the_impulse_finite() {
    for scale in [1e-18f32, 1e18] {
        for speed in [1e-18f32, 1e18] {
            let j = bounce_impulse(Vec2::X * scale, Vec2::new(-speed, 0.0), 1.0, 1.0, 1.0);
            assert!((j.x / speed - 1.0).abs() < 1e-6 && j.y == 0.0, "{scale} {speed}: {j}");
        }
    }
    for mass in [1e-18f32, 1e18] {
        let j = bounce_impulse(Vec3::X, Vec3::NEG_X, 1.0 / mass, 1.0 / mass, 1.0);
        assert!((j.x / mass - 1.0).abs() < 1e-6);
    }
    assert_eq!(bounce_impulse(DVec2::new(1e200, 0.0), DVec2::new(-1.0, 0.0), 1.0, 1.0, 1.0), DVec2::ZERO);
}

#[test]
fn mass_ratio_of_a_million_keeps_momentum_in_f32() {
    let (va, vb) = bounce(Vec3::new(0.6, 0.8, 0.0), Vec3::new(-1.0, -2.0, 0.5), Vec3::X, 1e6, 1.0, 1.0);
    let before = DVec3::new(-1.0, -2.0, 0.5) * 1e-6 + DVec3::X;
    let after = va.as_dvec3() / f64::from(1e6f32) + vb.as_dvec3();
    // 1e-7 is the rounding error of the heavy sphere's velocity.
    assert!((after - before).length() < 1.2e-7, "{}", (after - before).length());
}

/// Mean relative change of a pair's energy over many elastic impacts with the velocity update `change`.
fn mean_drift(draws: u32, change: impl Fn(Vec3, Vec3, Vec3) -> (Vec3, Vec3)) -> f64 {
    let mut random = Draws(SEED);
    let mut sum = 0.0;
    let mut count = 0;
    for _ in 0..draws {
        let mut draw = || Vec3::new(random.signed() as f32, random.signed() as f32, random.signed() as f32);
        let (va, vb) = (draw(), draw());
        // Unit length in f32: squares crowd around 1, where roots and quotients round to one side.
        let d: Vec3 = random.direction(3).map(|x| x as f32).into();
        if va.dot(d) >= vb.dot(d) {
            continue;
        }
        let (na, nb) = change(d, va, vb);
        let energy = |v: Vec3| v.as_dvec3().length_squared();
        sum += (energy(na) + energy(nb)) / (energy(va) + energy(vb)) - 1.0;
        count += 1;
    }
    sum / f64::from(count)
}

#[test]
fn elastic_impacts_do_not_drift_in_energy_where_a_rounded_normal_does() {
    let draws = 4_000_000;
    let ours = mean_drift(draws, |d, va, vb| bounce(d, va, vb, 1.0, 1.0, 1.0));
    let by_normal = mean_drift(draws, |d, va, vb| {
        let n = d / d.length();
        let j = n * -(va - vb).dot(n);
        (va + j, vb - j)
    });
    println!("mean dE/E per impact in f32: {ours:.1e}, with a unit normal {by_normal:.1e}");
    // Standard error of the mean: about 4e-8 / sqrt(2e6) = 3e-11.
    assert!(ours.abs() < 3e-10, "{ours:.2e}");
    assert!(by_normal.abs() > 10.0 * ours.abs(), "{by_normal:.2e} is no worse than {ours:.2e}");
}
