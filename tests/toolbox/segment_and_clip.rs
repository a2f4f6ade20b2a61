//! Closest points of segments, and clipped motion.

use carom::toolbox::{Scalar, Still, Vector, clip_motion, closest_on_segment, overlaps, separation};
use glam::{DVec3, Vec2, Vec3};
use proptest::prelude::*;

use crate::common::{cube, epsilon, for_every_vector, length, property, scalar, still, vector, wide};

fn nearest_of_the_segment<V: Vector>() {
    property(3000, (cube(), cube(), cube()), |(p, start, end)| {
        let (p, start, end): (V, V, V) = (vector(p), vector(start), vector(end));
        let (found, u) = closest_on_segment(p, start, end);
        prop_assert!(u >= V::Scalar::ZERO && u <= V::Scalar::ONE);
        let tolerance = 16.0 * epsilon::<V>();
        let on = start + (end - start) * u;
        prop_assert!(length(wide(found - on)) <= tolerance);
        let distance = length(wide(p - found));
        for k in 0..=32 {
            let other = start + (end - start) * scalar::<V>(f64::from(k) / 32.0);
            prop_assert!(distance <= length(wide(p - other)) + tolerance, "nearer at {}/32", k);
        }
        Ok(())
    });
}

fn ends_and_degenerate_segments<V: Vector>() {
    let (start, end): (V, V) = (vector([1.0, 1.0, 0.0]), vector([3.0, 1.0, 0.0]));
    let (zero, one) = (V::Scalar::ZERO, V::Scalar::ONE);
    assert_eq!(
        closest_on_segment(vector([2.0, 5.0, 0.0]), start, end),
        (vector([2.0, 1.0, 0.0]), scalar::<V>(0.5))
    );
    assert_eq!(closest_on_segment(vector([-4.0, 5.0, 0.0]), start, end), (start, zero));
    assert_eq!(closest_on_segment(vector([9.0, 5.0, 0.0]), start, end), (end, one));
    assert_eq!(closest_on_segment(start, start, end), (start, zero));
    assert_eq!(closest_on_segment(end, start, end), (end, one));
    // A segment of zero length: its only point.
    assert_eq!(closest_on_segment(vector([9.0, 5.0, 0.0]), start, start), (start, zero));
    assert_eq!(closest_on_segment(start, start, start), (start, zero));
    let nan = vector::<V>([f64::NAN, 0.0, 0.0]);
    assert_eq!(closest_on_segment(nan, start, end), (start, zero));
    assert_eq!(closest_on_segment(start, start, nan), (start, zero));
}

fn clipped_motion_stops_at_the_first<V: Vector>() {
    let others = proptest::collection::vec((cube(), 0.05..0.4f64), 0..12);
    property(2000, (cube(), 0.01..0.3f64, cube(), others), |(x, r, step, others)| {
        let sphere: Still<V> = still(x, r);
        let displacement: V = vector(step.map(|x| 2.0 * x));
        let others: Vec<Still<V>> = others.into_iter().map(|(x, r)| still(x.map(|x| 2.0 * x), r)).collect();
        let clipped = clip_motion(&sphere, displacement, &others);
        let tolerance = 32.0 * epsilon::<V>();
        let gap =
            |at: V, other: &Still<V>| separation(at - other.position, sphere.radius + other.radius).to_f64();
        let end = sphere.position + clipped.displacement;
        for other in &others {
            // The motion may leave an initial overlap but not enter a new one.
            let start = gap(sphere.position, other).min(0.0);
            prop_assert!(gap(end, other) >= start - tolerance, "{} deep", gap(end, other));
        }
        let Some(hit) = clipped.hit else {
            prop_assert_eq!(clipped.displacement, displacement);
            return Ok(());
        };
        prop_assert!(gap(end, &others[hit.index]) <= tolerance, "stopped short");
        prop_assert_eq!(hit.contact.time, hit.contact.fraction);
        prop_assert_eq!(clipped.displacement, displacement * hit.contact.fraction);
        Ok(())
    });
}

for_every_vector! {
    closest_point_is_nearest_among_the_segments_points => nearest_of_the_segment;
    ends_degenerate_segments_and_nan_are_defined => ends_and_degenerate_segments;
    clipped_motion_ends_touching_and_never_inside => clipped_motion_stops_at_the_first;
}

#[test]
fn overlapping_start_may_leave_but_not_go_deeper() {
    let sphere = Still { position: Vec2::new(1.5, 0.0), radius: 1.0 };
    let other = Still { position: Vec2::ZERO, radius: 1.0 };
    assert!(overlaps(sphere.position - other.position, 2.0));
    let inward = clip_motion(&sphere, Vec2::new(-5.0, 0.0), &[other]);
    assert_eq!((inward.displacement, inward.hit.unwrap().contact.time), (Vec2::ZERO, 0.0));
    let outward = clip_motion(&sphere, Vec2::new(5.0, 0.0), &[other]);
    assert_eq!((outward.displacement, outward.hit), (Vec2::new(5.0, 0.0), None));
}

#[test]
fn of_two_reached_together_the_first_in_the_list_is_named() {
    let sphere = Still { position: Vec3::ZERO, radius: 1.0 };
    let pair =
        [Vec3::new(4.0, 1.0, 0.0), Vec3::new(4.0, -1.0, 0.0)].map(|position| Still { position, radius: 1.0 });
    let clipped = clip_motion(&sphere, Vec3::X * 10.0, &pair);
    assert_eq!(clipped.hit.unwrap().index, 0);
    assert_eq!(clip_motion(&sphere, Vec3::X * 10.0, &[]).displacement, Vec3::X * 10.0);
}

#[test]
fn standing_still_is_never_clipped() {
    let sphere = Still { position: DVec3::X, radius: 1.0 };
    let other = Still { position: DVec3::ZERO, radius: 1.0 };
    assert_eq!(clip_motion(&sphere, DVec3::ZERO, &[other]).hit, None);
}
