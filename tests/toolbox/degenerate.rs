//! Cases at the edge of the definition: each has one finite answer.

use carom::toolbox::{
    Moving, Scalar, Still, Vector, first_contact, first_contact_within, passage, sweep, sweep_still,
};
use glam::{DVec2, DVec3, Vec2, Vec3};

use crate::common::{for_every_vector, scalar, still, vector};

fn contact<V: Vector>(d: [f64; 3], w: [f64; 3], radius_sum: f64) -> Option<f64> {
    let (d, w, s): (V, V, _) = (vector(d), vector(w), scalar::<V>(radius_sum));
    first_contact(d, w, s).map(Scalar::to_f64)
}

fn grazing<V: Vector>() {
    // The gap shrinks to exactly 0: no contact. Slightly nearer: contact; slightly farther: none.
    assert_eq!(contact::<V>([-5.0, 2.0, 0.0], [1.0, 0.0, 0.0], 2.0), None);
    assert!(contact::<V>([-5.0, 1.999, 0.0], [1.0, 0.0, 0.0], 2.0).is_some());
    assert_eq!(contact::<V>([-5.0, 2.001, 0.0], [1.0, 0.0, 0.0], 2.0), None);
}

fn collinear<V: Vector>() {
    assert_eq!(contact::<V>([6.0, 8.0, 0.0], [-3.0, -4.0, 0.0], 5.0), Some(1.0));
    assert_eq!(contact::<V>([6.0, 8.0, 0.0], [3.0, 4.0, 0.0], 5.0), None);
    let (d, w): (V, V) = (vector([6.0, 8.0, 0.0]), vector([-3.0, -4.0, 0.0]));
    let (enter, leave) = passage(d, w, scalar::<V>(5.0)).unwrap();
    assert_eq!((enter.to_f64(), leave.to_f64()), (1.0, 3.0));
}

fn equal_velocities<V: Vector>() {
    for distance in [0.0, 0.5, 1.0, 4.0] {
        assert_eq!(contact::<V>([distance, 0.0, 0.0], [0.0; 3], 1.0), None);
    }
}

fn overlapping<V: Vector>() {
    let (d, s) = ([0.5, 0.0, 0.0], 1.0);
    assert_eq!(contact::<V>(d, [-1.0, 0.0, 0.0], s), Some(0.0));
    assert_eq!(contact::<V>(d, [1.0, 0.0, 0.0], s), None);
    // Sideways motion only increases the distance.
    assert_eq!(contact::<V>(d, [0.0, 1.0, 0.0], s), None);
    // `enter` is now; `leave` is on the far side, 1.5 away.
    let (enter, leave) = passage::<V>(vector(d), vector([-1.0, 0.0, 0.0]), scalar::<V>(s)).unwrap();
    assert_eq!((enter.to_f64(), leave.to_f64()), (0.0, 1.5));
    assert_eq!(passage::<V>(vector(d), vector([1.0, 0.0, 0.0]), scalar::<V>(s)), None);

    let a: Moving<V> = still::<V>(d, 0.5).with_velocity(vector([-1.0, 0.0, 0.0]));
    let b: Still<V> = still([0.0; 3], 0.5);
    let contact = sweep_still(&a, &b, V::Scalar::ONE).unwrap();
    assert_eq!((contact.time, contact.fraction), (V::Scalar::ZERO, V::Scalar::ZERO));
    assert_eq!((contact.normal, contact.point), (V::X, vector([0.25, 0.0, 0.0])));
}

fn touching<V: Vector>() {
    assert_eq!(contact::<V>([3.0, 4.0, 0.0], [-1.0, 0.0, 0.0], 5.0), Some(0.0));
    assert_eq!(contact::<V>([3.0, 4.0, 0.0], [1.0, 0.0, 0.0], 5.0), None);
    // Tangential motion: contact of zero duration.
    assert_eq!(contact::<V>([3.0, 4.0, 0.0], [4.0, -3.0, 0.0], 5.0), None);
}

fn coincident_centres<V: Vector>() {
    // The spheres separate in every direction.
    assert_eq!(contact::<V>([0.0; 3], [1.0, 0.0, 0.0], 1.0), None);
    assert_eq!(contact::<V>([0.0; 3], [0.0; 3], 1.0), None);
}

fn points<V: Vector>() {
    assert_eq!(contact::<V>([2.0, 0.0, 0.0], [-1.0, 0.0, 0.0], 0.0), None);
    assert_eq!(contact::<V>([0.0; 3], [-1.0, 0.0, 0.0], 0.0), None);
    // A point and a sphere meet like any pair.
    assert_eq!(contact::<V>([2.0, 0.0, 0.0], [-1.0, 0.0, 0.0], 1.0), Some(1.0));
}

fn steps_of_no_length<V: Vector>() {
    let within = |x: f64, v: f64, dt: f64| {
        let (d, w): (V, V) = (vector([x, 0.0, 0.0]), vector([v, 0.0, 0.0]));
        first_contact_within(d, w, V::Scalar::ONE, scalar::<V>(dt)).map(Scalar::to_f64)
    };
    assert_eq!(within(1.0, -1.0, 0.0), Some(0.0));
    assert_eq!(within(0.5, -1.0, 0.0), Some(0.0));
    assert_eq!(within(0.5, 1.0, 0.0), None);
    assert_eq!(within(1.5, -1.0, 0.0), None);
    assert_eq!(within(0.5, -1.0, -1.0), None);
    assert_eq!(within(0.5, -1.0, f64::NAN), None);
    assert_eq!(within(1001.0, -1.0, f64::INFINITY), Some(1000.0));

    let a: Moving<V> = still::<V>([1.0, 0.0, 0.0], 0.5).with_velocity(vector([-1.0, 0.0, 0.0]));
    let b = still::<V>([0.0; 3], 0.5);
    for dt in [0.0, f64::INFINITY] {
        let contact = sweep_still(&a, &b, scalar::<V>(dt)).unwrap();
        assert_eq!((contact.time, contact.fraction), (V::Scalar::ZERO, V::Scalar::ZERO));
    }
}

fn not_numbers<V: Vector>() {
    let good = [[2.0, 0.5, 0.0], [-1.0, 0.0, 0.0]];
    assert!(contact::<V>(good[0], good[1], 1.0).is_some());
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        for which in 0..2 {
            for axis in 0..V::DIMENSIONS {
                let mut pair = good;
                pair[which][axis] = bad;
                assert_eq!(contact::<V>(pair[0], pair[1], 1.0), None, "{bad} in {which} {axis}");
            }
        }
    }
    assert_eq!(contact::<V>(good[0], good[1], f64::NAN), None);
    let (d, w): (V, V) = (vector(good[0]), vector(good[1]));
    assert_eq!(first_contact_within(d, w, scalar::<V>(f64::NAN), V::Scalar::ONE), None);
    let a = Moving { position: d, velocity: w, radius: scalar::<V>(f64::NAN) };
    assert_eq!(
        sweep(&a, &Moving { position: V::ZERO, velocity: V::ZERO, radius: V::Scalar::ONE }, V::Scalar::ONE),
        None
    );
}

for_every_vector! {
    grazing_is_no_contact => grazing;
    collinear_motion_meets_head_on_only => collinear;
    equal_velocities_never_meet => equal_velocities;
    overlapping_pairs_meet_now_or_not_at_all => overlapping;
    touching_pairs_meet_now_if_they_approach => touching;
    coincident_centres_only_part => coincident_centres;
    two_points_never_meet => points;
    zero_negative_and_infinite_steps_are_defined => steps_of_no_length;
    nan_and_infinity_are_no_contact => not_numbers;
}

#[test]
fn magnitudes_up_to_1e18_work_in_f32_and_beyond_there_is_no_contact() {
    for scale in [1e-18f32, 1e-9, 1.0, 1e9, 1e18] {
        for speed in [1e-18f32, 1e-9, 1.0, 1e9, 1e18] {
            let (d, w) = (Vec3::new(4.0 * scale, 0.0, 0.0), Vec3::new(-speed, 0.0, 0.0));
            let t = first_contact(d, w, 2.0 * scale).unwrap();
            let expected = 2.0 * f64::from(scale) / f64::from(speed);
            assert!((f64::from(t) / expected - 1.0).abs() < 1e-6, "{scale} {speed}: {t}");
        }
    }
    // Squares overflow.
    let away = Vec3::new(1e20, 0.0, 0.0);
    assert_eq!(first_contact(away, Vec3::new(-1.0, 0.0, 0.0), 1.0), None);
    assert_eq!(first_contact(away, Vec3::new(-1.0, 0.0, 0.0), 2e20), None);
    assert_eq!(first_contact(Vec3::X * 2.0, Vec3::new(-1e20, 0.0, 0.0), 1.0), None);
    // The square of the speed underflows: the pair counts as stationary, even in overlap.
    assert_eq!(first_contact(Vec3::X * 2.0, Vec3::new(-1e-20, 0.0, 0.0), 1.0), None);
    assert_eq!(first_contact(Vec3::X * 0.5, Vec3::new(-1e-20, 0.0, 0.0), 1.0), None);
}

#[test]
fn magnitudes_up_to_1e153_work_in_f64_and_beyond_there_is_no_contact() {
    for scale in [1e-153, 1.0, 1e153] {
        for speed in [1e-153, 1.0, 1e153] {
            let (d, w) = (DVec3::new(0.0, 4.0 * scale, 0.0), DVec3::new(0.0, -speed, 0.0));
            let t = first_contact(d, w, 2.0 * scale).unwrap();
            assert!((t / (2.0 * scale / speed) - 1.0).abs() < 1e-14, "{scale} {speed}: {t}");
        }
    }
    assert_eq!(first_contact(DVec2::new(1e155, 0.0), DVec2::new(-1.0, 0.0), 1.0), None);
    assert_eq!(first_contact(DVec2::new(2.0, 0.0), DVec2::new(-1e-155, 0.0), 1.0), None);
}

#[test]
fn a_tiny_sphere_meets_a_huge_one() {
    let (d, w) = (Vec2::new(1e6 + 1.0, 0.0), Vec2::new(-0.5, 0.0));
    assert_eq!(first_contact(d, w, 1e6 + 1e-6), Some(2.0));
}

#[test]
fn nothing_that_is_no_number_comes_out_of_any_mixture_of_extremes() {
    let values = [0.0, -0.0, 1.0, -1.0, 1e-45, 1e-38, -1e-20, 1e18, -1e19, f32::MAX, f32::MIN];
    let mut contacts = 0;
    for x in values {
        for y in values {
            for u in values {
                for v in values {
                    for s in [0.0, 1e-45, 1e-19, 1.0, 1e19, f32::MAX] {
                        let (d, w) = (Vec2::new(x, y), Vec2::new(u, v));
                        if let Some((enter, leave)) = passage(d, w, s) {
                            contacts += 1;
                            assert!(enter.is_finite() && enter >= 0.0, "{d} {w} {s}: enter {enter}");
                            assert!(leave >= enter, "{d} {w} {s}: leave {leave}");
                        }
                    }
                }
            }
        }
    }
    assert!(contacts > 1000, "{contacts}");
}
