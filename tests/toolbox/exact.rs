//! Tests the sweep with rational arithmetic, which does not round.

use carom::toolbox::{Scalar, Vector, first_contact, first_contact_within, passage};
use dashu::rational::Relaxed;
use glam::{DVec2, DVec3, Vec2, Vec3};
use proptest::prelude::*;

use crate::common::{
    Draws, Outcome, SEED, cube, epsilon, for_every_vector, length, property, scalar, vector, wide,
};

pub fn rational(x: f64) -> Relaxed {
    Relaxed::try_from(x).expect("finite")
}

fn dot(a: &[Relaxed; 3], b: &[Relaxed; 3]) -> Relaxed {
    &a[0] * &b[0] + &a[1] * &b[1] + &a[2] * &b[2]
}

/// A pair without rounding.
pub struct ExactPair {
    d: [Relaxed; 3],
    w: [Relaxed; 3],
    ss: Relaxed,
    dd: Relaxed,
    b: Relaxed,
    a: Relaxed,
    radius_sum: f64,
}

impl ExactPair {
    pub fn new<V: Vector>(d: V, w: V, radius_sum: V::Scalar) -> Self {
        let (d, w) = (wide(d).map(rational), wide(w).map(rational));
        let s = rational(radius_sum.to_f64());
        Self {
            ss: &s * &s,
            dd: dot(&d, &d),
            b: dot(&d, &w),
            a: dot(&w, &w),
            d,
            w,
            radius_sum: radius_sum.to_f64(),
        }
    }

    /// Whether the spheres meet, by definition: approaching, and overlapping now or at a later time.
    pub fn meets(&self) -> bool {
        let zero = rational(0.0);
        self.b < zero && (self.dd <= self.ss || &self.b * &self.b > &self.a * (&self.dd - &self.ss))
    }

    /// `|d + w t| - s`, from an exact difference of squares.
    pub fn gap_at(&self, t: f64) -> f64 {
        let t = rational(t);
        let at: [Relaxed; 3] = std::array::from_fn(|axis| &self.d[axis] + &self.w[axis] * &t);
        let f = (dot(&at, &at) - &self.ss).to_f64_fast();
        // (|x| - s)(|x| + s) = f, without another cancellation.
        f / (self.radius_sum + (self.radius_sum * self.radius_sum + f).max(0.0).sqrt())
    }

    /// Half the rate of change of the squared distance at `t`: negative while the spheres approach.
    pub fn approach_at(&self, t: f64) -> f64 {
        (&self.b + &self.a * rational(t)).to_f64_fast()
    }

    /// Depth by which the line of motion cuts (positive) or misses (negative) the sphere, as a length.
    pub fn cut(&self) -> f64 {
        let miss = &self.dd - &self.b * &self.b / &self.a;
        let f = (&self.ss - &miss).to_f64_fast();
        f / (self.radius_sum + miss.to_f64_fast().max(0.0).sqrt())
    }
}

/// Tolerance of decisions and gaps, in rounding errors of `|d|`; see the worst cases measured below.
const ROUNDING: f64 = 4.0;

fn against_exact<V: Vector>(d: [f64; 3], w: [f64; 3], radius_sum: f64) -> Outcome {
    let (d, w, s): (V, V, _) = (vector(d), vector(w), scalar::<V>(radius_sum));
    let pair = ExactPair::new(d, w, s);
    let found = first_contact(d, w, s);
    prop_assert_eq!(found, first_contact(-d, -w, s), "not the same from the partner's side");
    let tolerance = ROUNDING * epsilon::<V>() * length(wide(d));
    if w == V::ZERO {
        prop_assert_eq!(found, None);
        return Ok(());
    }
    // Two overlapping spheres that move at a right angle to d: rounding decides the sign of d.w.
    let sideways = pair.approach_at(0.0).abs() < tolerance * length(wide(w));
    if pair.cut().abs() > tolerance && !sideways {
        prop_assert_eq!(found.is_some(), pair.meets(), "cut by {}", pair.cut());
    }
    let Some(t) = found else { return Ok(()) };
    let Some((enter, leave)) = passage(d, w, s) else {
        return Err(TestCaseError::fail("contact without passage"));
    };
    prop_assert_eq!(t, enter);
    prop_assert!(t >= V::Scalar::ZERO && t.is_finite());
    prop_assert!(leave >= enter);
    let gap = pair.gap_at(t.to_f64());
    if t > V::Scalar::ZERO {
        prop_assert!(gap.abs() <= tolerance, "gap {} at contact, allowed {}", gap, tolerance);
        // At the first root the spheres still approach; at the second they do not.
        let rate = pair.approach_at(t.to_f64());
        prop_assert!(rate <= tolerance * length(wide(w)), "moving apart at first contact, {}", rate);
    } else {
        prop_assert!(gap <= tolerance, "now, at a gap of {}", gap);
    }
    if leave > V::Scalar::ZERO {
        let travelled = length(wide(w)) * leave.to_f64();
        let tolerance = ROUNDING * epsilon::<V>() * (length(wide(d)) + travelled);
        let gap = pair.gap_at(leave.to_f64());
        prop_assert!(gap.abs() <= tolerance, "gap {} at leaving, allowed {}", gap, tolerance);
        prop_assert!(pair.approach_at(leave.to_f64()) >= -tolerance * length(wide(w)));
    }
    Ok(())
}

fn any_pair<V: Vector>() {
    // Gaps from deep overlap to a thousand diameters, aimed so that about half of the pairs meet.
    let pairs = (cube(), cube(), -2.0..3.0, 0.01..2.0f64);
    property(3000, pairs, |(d, aim, far, s)| {
        let far = 10f64.powf(far);
        let d = d.map(|x| x * far);
        let w = std::array::from_fn(|axis| 1.5 * s * aim[axis] - d[axis]);
        against_exact::<V>(d, w, s)
    });
}

fn any_direction<V: Vector>() {
    property(3000, (cube(), cube(), 0.0..3.0), |(d, w, s)| against_exact::<V>(d, w, s));
}

/// Powers of ten whose squares the type can represent, with lengths and speeds scaled independently.
fn any_scale<V: Vector>() {
    let reach: f64 = if epsilon::<V>() > 1e-10 { 17.0 } else { 150.0 };
    let strategy = (cube(), cube(), 0.5..2.0, -reach..reach, -reach..reach);
    property(2000, strategy, |(d, aim, s, length_scale, speed_scale)| {
        let (l, v) = (10f64.powf(length_scale), 10f64.powf(speed_scale));
        // Components stay well above the underflow threshold relative to the largest.
        let d = d.map(|x| 3.0 * x);
        let w: [f64; 3] = std::array::from_fn(|axis| s * aim[axis] - d[axis]);
        if length(d) < 0.1 || length(w) < 0.1 {
            return Ok(());
        }
        let (d, w, s): (V, V, _) = (vector(d.map(|x| x * l)), vector(w.map(|x| x * v)), scalar::<V>(s * l));
        // Squares of numbers like 1e150 overflow f64: test the same pair in other units. The units are powers of two,
        // so the conversion is exact.
        let (lu, vu) = (2f64.powi(l.log2() as i32), 2f64.powi(v.log2() as i32));
        let down = |x: V, unit: f64| wide(x).map(|x| x / unit);
        let pair = ExactPair::new::<DVec3>(vector(down(d, lu)), vector(down(w, vu)), s.to_f64() / lu);
        let found = first_contact(d, w, s);
        let tolerance = ROUNDING * epsilon::<V>() * length(down(d, lu));
        if pair.cut().abs() > tolerance && pair.approach_at(0.0).abs() > tolerance * 10.0 {
            prop_assert_eq!(found.is_some(), pair.meets());
        }
        if let Some(t) = found {
            let gap = pair.gap_at(t.to_f64() / lu * vu);
            prop_assert!(gap <= tolerance && (t == V::Scalar::ZERO || gap >= -tolerance), "gap {}", gap);
        }
        Ok(())
    });
}

/// The early-outs may reject a pair only if the pair certainly does not touch within the step.
fn within_a_step<V: Vector>() {
    property(3000, (cube(), cube(), 0.1..1.0f64, 0.0..3.0, 0.0..2.0), |(d, aim, s, far, stretch)| {
        let d = d.map(|x| x * 10f64.powf(far));
        let w = std::array::from_fn(|axis| s * aim[axis] - d[axis]);
        let (d, w, s): (V, V, _) = (vector(d), vector(w), scalar::<V>(s));
        let Some(t) = first_contact(d, w, s) else {
            prop_assert_eq!(first_contact_within(d, w, s, V::Scalar::INFINITY), None);
            return Ok(());
        };
        prop_assert_eq!(first_contact_within(d, w, s, V::Scalar::INFINITY), Some(t));
        let dt = t * V::Scalar::from_f64(stretch);
        let within = first_contact_within(d, w, s, dt);
        let pair = ExactPair::new(d, w, s);
        let tolerance = 2.0 * ROUNDING * epsilon::<V>() * length(wide(d));
        if t > dt {
            prop_assert_eq!(within, None);
        } else if pair.cut() > 0.0
            && pair.gap_at(dt.to_f64().min(-pair.approach_at(0.0) / length(wide(w)).powi(2))) < -tolerance
        {
            prop_assert_eq!(within, Some(t));
        } else {
            prop_assert!(within.is_none_or(|found| found == t));
        }
        Ok(())
    });
}

for_every_vector! {
    aimed_pairs_agree_with_exact_arithmetic => any_pair;
    pairs_in_any_direction_agree_with_exact_arithmetic => any_direction;
    huge_and_tiny_pairs_agree_with_exact_arithmetic => any_scale;
    early_outs_lose_no_contact => within_a_step;
}

/// Worst overlap and worst gap at the computed contact, in diameters, of pairs that start a given gap apart and are
/// aimed uniformly over the cross-section.
fn worst<V: Vector>(gap: f64, trials: u32, judge: impl Fn(V, V, V::Scalar, f64) -> f64) -> (f64, f64) {
    let mut draws = Draws(SEED);
    let (mut overlap, mut apart, mut hits) = (0f64, 0f64, 0);
    for _ in 0..trials {
        let (u, aim) = (draws.direction(V::DIMENSIONS), draws.direction(V::DIMENSIONS));
        let power = if V::DIMENSIONS == 3 { 0.5 } else { 1.0 };
        let off = draws.share().powf(power);
        let along: f64 = (0..3).map(|axis| aim[axis] * u[axis]).sum();
        let side: [f64; 3] = std::array::from_fn(|axis| aim[axis] - along * u[axis]);
        let scale = off / length(side).max(1e-9);
        let d: V = vector(u.map(|x| x * (1.0 + gap)));
        let speed = 0.5 + draws.share();
        let w: V = vector(std::array::from_fn(|axis| {
            speed * (scale * side[axis] - u[axis] * (1.0 + gap)) / (1.0 + gap)
        }));
        let s = V::Scalar::ONE;
        if let Some(t) = first_contact(d, w, s) {
            let left = judge(d, w, s, t.to_f64());
            (overlap, apart, hits) = (overlap.max(-left), apart.max(left), hits + 1);
        }
    }
    assert!(hits > trials * 9 / 10, "only {hits} of {trials} aimed pairs met");
    (overlap, apart)
}

/// In f64 the gap of an f32 pair is accurate to 1e-13 of its distance, a millionth of the measured gaps.
fn gap_in_f64<V: Vector>(d: V, w: V, s: V::Scalar, t: f64) -> f64 {
    let (d, w) = (wide(d), wide(w));
    length(std::array::from_fn(|axis| d[axis] + w[axis] * t)) - s.to_f64()
}

fn gap_by_rationals<V: Vector>(d: V, w: V, s: V::Scalar, t: f64) -> f64 {
    ExactPair::new(d, w, s).gap_at(t)
}

/// Initial gap and worst overlap at contact in f32, both in diameters: the known accuracy of this form of the root, to
/// the one digit given, so up to 3.5. (The textbook's root: 7e-7, 3e-5, 2.5e-3.)
const TABLE: [(f64, f64); 3] = [(1.0, 3.5e-7), (10.0, 3.5e-6), (100.0, 3.5e-5)];

#[test]
fn overlap_at_first_contact_stays_within_the_table_in_f32() {
    for (gap, allowed) in TABLE {
        for (overlap, apart) in
            [worst::<Vec3>(gap, 400_000, gap_in_f64), worst::<Vec2>(gap, 400_000, gap_in_f64)]
        {
            println!("f32, gap {gap}: overlap {overlap:.2e}, gap left {apart:.2e}");
            assert!(overlap <= allowed, "gap {gap}: overlap {overlap:.2e}, allowed {allowed:.2e}");
            let early = ROUNDING * f64::from(f32::EPSILON) * (1.0 + gap);
            assert!(apart <= early, "gap {gap}: gap left {apart:.2e}, allowed {early:.2e}");
        }
    }
}

#[test]
fn f32_pairs_are_judged_alike_in_f64_and_by_rationals() {
    let (a, b) = (worst::<Vec3>(10.0, 3000, gap_in_f64), worst::<Vec3>(10.0, 3000, gap_by_rationals));
    assert!((a.0 - b.0).abs() < 1e-12 && (a.1 - b.1).abs() < 1e-12, "{a:?} {b:?}");
}

#[test]
fn overlap_at_first_contact_is_five_hundred_million_times_smaller_in_f64() {
    // The table times the ratio of the two types' precisions.
    let ratio = f64::EPSILON / f64::from(f32::EPSILON);
    for (gap, allowed) in TABLE {
        let allowed = allowed * ratio;
        for (overlap, apart) in
            [worst::<DVec3>(gap, 20_000, gap_by_rationals), worst::<DVec2>(gap, 20_000, gap_by_rationals)]
        {
            println!("f64, gap {gap}: overlap {overlap:.2e}, gap left {apart:.2e}");
            let early = ROUNDING * f64::EPSILON * (1.0 + gap);
            assert!(overlap <= allowed && apart <= early, "gap {gap}: {overlap:.2e}, {apart:.2e}");
        }
    }
}

#[test]
fn the_check_notices_a_contact_that_is_a_millionth_late() {
    let (d, w) = (DVec3::new(11.0, 0.3, 0.0), DVec3::new(-1.0, 0.0, 0.0));
    let t = first_contact(d, w, 1.0).unwrap();
    let pair = ExactPair::new(d, w, 1.0);
    assert!(pair.gap_at(t).abs() < 1e-14);
    assert!(pair.gap_at(t * (1.0 + 1e-6)) < -9e-6);
    assert!(pair.meets() && !ExactPair::new(d, -w, 1.0).meets());
}
