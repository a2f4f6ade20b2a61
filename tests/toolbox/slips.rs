//! Errors from well-known listings. Each test shows where the error has effect, and that the toolbox is correct.

use carom::toolbox::{
    Moving, Still, bounce, closest_on_segment, contact_point, first_contact, first_contact_within, passage,
    push_apart, separate, separation, sweep,
};
use glam::{DVec2, Vec2, Vec3};

/// 3 kg at (2, 1) onto 1 kg at (-1, 0.5), the line of centres at 3-4-5.
const D: DVec2 = DVec2::new(-0.6, -0.8);
const V1: DVec2 = DVec2::new(2.0, 1.0);
const V2: DVec2 = DVec2::new(-1.0, 0.5);
const M1: f64 = 3.0;
const M2: f64 = 1.0;

fn momentum(a: DVec2, b: DVec2) -> DVec2 {
    a * M1 + b * M2
}

fn energy(a: DVec2, b: DVec2) -> f64 {
    0.5 * M1 * a.length_squared() + 0.5 * M2 * b.length_squared()
}

#[test]
fn own_mass_where_the_others_belongs_loses_momentum() {
    let (a, b) = bounce(D, V1, V2, 1.0 / M1, 1.0 / M2, 1.0);
    assert!((momentum(a, b) - momentum(V1, V2)).length() < 1e-14);
    assert!((energy(a, b) - energy(V1, V2)).abs() < 1e-14);

    let closing = (V1 - V2).dot(D);
    let slip = (V1 - D * (2.0 * M1 / (M1 + M2) * closing), V2 + D * (2.0 * M2 / (M1 + M2) * closing));
    assert!((momentum(slip.0, slip.1) - momentum(V1, V2)).length() > 1.0);
    // The heavier sphere changes its velocity less.
    assert!((a - V1).length() < (b - V2).length());
}

#[test]
fn second_component_takes_its_own_velocity_not_the_other_spheres() {
    // A head-on hit along x keeps both y velocities.
    let (v1, v2) = (Vec2::new(2.0, 7.0), Vec2::new(-1.0, -5.0));
    let (a, b) = bounce(Vec2::NEG_X, v1, v2, 1.0, 1.0, 1.0);
    assert_eq!((a, b), (Vec2::new(-1.0, 7.0), Vec2::new(2.0, -5.0)));
    let (slip_a, slip_b) = (Vec2::new(a.x, v2.y), Vec2::new(b.x, v1.y));
    assert!(slip_a != a && slip_b != b);
}

#[test]
fn bounce_acts_along_the_normal_not_axis_by_axis() {
    // The error: per axis, equal masses exchange their velocities, independent of the contact point.
    let (slip_a, slip_b) = (V2, V1);
    let (a, b) = bounce(D, V1, V2, 1.0, 1.0, 1.0);
    assert!((a - slip_a).length() > 0.5 && (b - slip_b).length() > 0.5);
    // The tangential component is unchanged.
    let tangent = D.perp();
    assert!(((a - V1).dot(tangent)).abs() < 1e-15 && ((b - V2).dot(tangent)).abs() < 1e-15);
    // Head-on along an axis both methods agree.
    let (a, b) = bounce(DVec2::NEG_X, DVec2::X * 2.0, DVec2::NEG_X, 1.0, 1.0, 1.0);
    assert!((a - DVec2::NEG_X).length() < 1e-15 && (b - DVec2::X * 2.0).length() < 1e-15);
}

#[test]
fn normal_need_not_be_normalised_by_the_caller() {
    let reference = bounce(D, V1, V2, 1.0 / M1, 1.0 / M2, 0.7);
    for length in [1e-3, 0.5, 7.0, 1e6] {
        let (a, b) = bounce(D * length, V1, V2, 1.0 / M1, 1.0 / M2, 0.7);
        assert!((a - reference.0).length() < 1e-14 && (b - reference.1).length() < 1e-14);
    }
    // The error: the formula for a unit normal with the difference of the centres.
    let d = D * 7.0;
    let closing = (V1 - V2).dot(d);
    let slip = V1 - d * (2.0 * M2 / (M1 + M2) * closing);
    assert!(energy(slip, V2) > 100.0 * energy(V1, V2));
    // A sweep returns a unit normal for all radii.
    let a = Moving { position: DVec2::new(-50.0, 0.0), velocity: DVec2::X, radius: 20.0 };
    let b = Moving { position: DVec2::ZERO, velocity: DVec2::ZERO, radius: 10.0 };
    assert_eq!(sweep(&a, &b, 100.0).unwrap().normal, DVec2::NEG_X);
}

#[test]
fn roots_outside_the_step_are_no_contact() {
    let d = Vec2::new(10.0, 0.0);
    // Contact after the step, at 4.5 of a step of 1.
    assert_eq!(first_contact_within(d, Vec2::new(-2.0, 0.0), 1.0, 1.0), None);
    assert_eq!(first_contact_within(d, Vec2::new(-2.0, 0.0), 1.0, 5.0), Some(4.5));
    // Contact before the step, at -4.5.
    assert_eq!(first_contact_within(d, Vec2::new(2.0, 0.0), 1.0, 5.0), None);
    // The roots exist, but outside the step.
    let f = |t: f32| (d.x - 2.0 * t).abs() - 1.0;
    assert_eq!((f(4.5), f(5.5)), (0.0, 0.0));
    let a = Moving { position: d, velocity: Vec2::new(-2.0, 0.0), radius: 0.5 };
    let b = Moving { position: Vec2::ZERO, velocity: Vec2::ZERO, radius: 0.5 };
    assert_eq!(sweep(&a, &b, 1.0), None);
    assert!((0.0..=1.0).contains(&sweep(&a, &b, 5.0).unwrap().fraction));
}

#[test]
fn equal_velocities_divide_by_nothing() {
    // The error: (-b - sqrt(b b - a c)) / a with a = b = 0.
    let (a, b, c) = (0.0f32, 0.0f32, 3.0f32);
    assert!(((-b - (b * b - a * c).sqrt()) / a).is_nan());
    for distance in [0.0, 0.3, 1.0, 2.0] {
        let (d, w) = (Vec3::X * distance, Vec3::splat(0.25) - Vec3::splat(0.25));
        assert_eq!(first_contact(d, w, 1.0), None);
        assert_eq!(passage(d, w, 1.0), None);
    }
}

#[test]
fn overlapping_start_gives_no_negative_distance() {
    // Half a diameter deep and still approaching: the true entry was at t = -0.5.
    let (d, w) = (Vec2::new(0.5, 0.0), Vec2::new(-1.0, 0.0));
    let c: f32 = 0.25 - 1.0;
    let (a, b) = (1.0, -0.5);
    assert!((-b - (b * b - a * c).sqrt()) / a < 0.0);
    assert_eq!(first_contact(d, w, 1.0), Some(0.0));
    assert_eq!(first_contact(d, -w, 1.0), None);
    let mover = Still { position: d, radius: 0.5 };
    let clipped = carom::toolbox::clip_motion(&mover, w, &[Still { position: Vec2::ZERO, radius: 0.5 }]);
    assert_eq!(clipped.displacement, Vec2::ZERO);
}

#[test]
fn closest_point_is_clamped_to_the_segment() {
    let (start, end) = (Vec2::ZERO, Vec2::new(2.0, 0.0));
    for (x, expected) in [(-3.0, start), (-0.1, start), (2.1, end), (50.0, end)] {
        let p = Vec2::new(x, 1.0);
        // The error: the foot on the infinite line.
        let foot = start + (end - start) * ((p - start).dot(end - start) / (end - start).length_squared());
        assert_eq!(foot, Vec2::new(x, 0.0));
        assert_eq!(closest_on_segment(p, start, end).0, expected);
    }
    // A sphere beside the end of a wall does not touch the wall.
    let p = Vec2::new(3.0, 0.5);
    assert!((p - closest_on_segment(p, start, end).0).length() > 1.0);
}

#[test]
fn overlap_of_unequal_radii_is_not_separated_about_the_midpoint() {
    let mut large = Still { position: DVec2::ZERO, radius: 3.0 };
    let mut small = Still { position: DVec2::new(3.0, 0.0), radius: 1.0 };
    let point = contact_point(&large, &small);
    // The error: each centre is moved to its own radius from the midpoint, which lies deep inside the large sphere.
    let midpoint = (large.position + small.position) * 0.5;
    let slip = (midpoint - DVec2::X * large.radius, midpoint + DVec2::X * small.radius);
    assert_eq!(separation(slip.0 - slip.1, 4.0), 0.0);
    assert_eq!((slip.0 - large.position, slip.1 - small.position), (DVec2::X * -1.5, DVec2::X * -0.5));

    separate(&mut large, &mut small, 3.0, 1.0);
    // The overlap of 1 is shared 3 to 1, and each sphere moves away from the other; the error dragged the small sphere
    // backwards.
    assert!((large.position - DVec2::new(-0.75, 0.0)).length() < 1e-15);
    assert!((small.position - DVec2::new(3.25, 0.0)).length() < 1e-15);
    assert!((contact_point(&large, &small) - point).length() < 1e-15);
    let (first, second) = push_apart(DVec2::new(-3.0, 0.0), 4.0, 1.0, 1.0);
    assert_eq!((first, second), (DVec2::new(-0.5, 0.0), DVec2::new(0.5, 0.0)));
}

#[test]
fn bounced_spheres_need_no_extra_move_to_get_unstuck() {
    let (a, b) = (
        Moving { position: DVec2::new(0.0, 0.0), velocity: DVec2::new(3.0, 0.0), radius: 0.5 },
        Moving { position: DVec2::new(2.0, 0.1), velocity: DVec2::new(-1.0, 0.0), radius: 0.5 },
    );
    let dt = 1.0;
    let contact = sweep(&a, &b, dt).unwrap();
    let (mut a, mut b) = (a.advanced(contact.time), b.advanced(contact.time));
    assert!(separation(a.position - b.position, 1.0).abs() < 1e-15);
    (a.velocity, b.velocity) = bounce(a.position - b.position, a.velocity, b.velocity, 1.0, 1.0, 1.0);
    // Touching and already separating: the sweep reports no contact and no push follows.
    assert_eq!(sweep(&a, &b, dt), None);
    assert_eq!(first_contact_within(a.position - b.position, a.velocity - b.velocity, 1.0 + 1e-12, dt), None);

    let rest = dt - contact.time;
    let (end_a, end_b) = (a.advanced(rest), b.advanced(rest));
    assert!(separation(end_a.position - end_b.position, 1.0) > 1.0);
    // The centre of mass at the end of the step is (1, .05) + (1, 0) dt. The error moves each sphere along its new
    // velocity a second time, and so misplaces the centre of mass.
    let center = |a: Moving<DVec2>, b: Moving<DVec2>| (a.position + b.position) * 0.5;
    assert!((center(end_a, end_b) - DVec2::new(2.0, 0.05)).length() < 1e-15);
    let slip = (a.advanced(dt).advanced(rest), b.advanced(dt).advanced(rest));
    assert!((center(slip.0, slip.1) - DVec2::new(2.0, 0.05)).length() > 0.9);
}
