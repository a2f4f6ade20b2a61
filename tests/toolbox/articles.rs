//! Textbook cases of colliding spheres in games, in the plane and in space.

use carom::toolbox::{
    HalfSpace, Moving, Scalar, Still, Vector, bounce, contact_point, first_contact, overlaps, sweep,
    sweep_plane, sweep_still,
};

use crate::common::{Draws, SEED, epsilon, for_every_vector, length, scalar, still, vector, wide};

fn stationary<V: Vector>() {
    // Two discs of radius 5 and 3 in 3-4-5 triangles.
    let a: Still<V> = still([1.0, 1.0, 0.0], 5.0);
    for (x, y, expected) in
        [(4.0, 5.0, true), (5.0, 1.0, true), (7.0, 9.0, false), (5.8, 7.4, false), (5.7, 7.3, true)]
    {
        let b: Still<V> = still([x, y, 0.0], 3.0);
        assert_eq!(overlaps(a.position - b.position, a.radius + b.radius), expected, "{x} {y}");
    }
}

fn moving_against_stationary<V: Vector>() {
    // In 2D and 3D alike; the answer depends only on the offset of the line, here 0, 1.2 and 2 of a radius sum of 2.
    let b: Still<V> = still([10.0, 0.0, 0.0], 1.5);
    for (offset, time) in [(0.0, Some(4.0)), (1.2, Some(4.2)), (2.0, None), (2.5, None)] {
        let a: Moving<V> = still::<V>([0.0, offset, 0.0], 0.5).with_velocity(vector([2.0, 0.0, 0.0]));
        let found = sweep_still(&a, &b, scalar::<V>(10.0)).map(|c| c.time.to_f64());
        match (found, time) {
            (Some(t), Some(e)) => assert!((t - e).abs() <= 8.0 * epsilon::<V>() * e, "{offset}: {t}"),
            _ => assert_eq!(found, time, "{offset}"),
        }
    }
}

fn moving_against_moving<V: Vector>() {
    // Crossing paths at right angles: the spheres meet before either reaches the crossing.
    let a: Moving<V> = still::<V>([-10.0, 0.0, 0.0], 1.0).with_velocity(vector([10.0, 0.0, 0.0]));
    let b: Moving<V> = still::<V>([0.0, -10.0, 0.0], 1.0).with_velocity(vector([0.0, 10.0, 0.0]));
    let contact = sweep(&a, &b, V::Scalar::ONE).unwrap();
    let expected = 1.0 - 0.1 * 2f64.sqrt();
    assert!((contact.time.to_f64() - expected).abs() < 4.0 * epsilon::<V>());
    // Followers never meet, nor do spheres of which one crosses long before the other.
    let follower = Moving { position: a.position - V::X * scalar::<V>(5.0), ..a };
    assert_eq!(sweep(&a, &follower, scalar::<V>(100.0)), None);
    let late = Moving { position: b.position * scalar::<V>(2.0), ..b };
    assert_eq!(sweep(&a, &late, scalar::<V>(100.0)), None);
}

fn paths_in_space_agree_with_the_plane<V: Vector<Scalar: Into<f64>>>() {
    // Adding a common third coordinate to both spheres of a planar pair does not change the contact.
    let mut draws = Draws(SEED);
    for _ in 0..200 {
        let d = [4.0 * draws.signed(), 4.0 * draws.signed(), 0.0];
        let w = [draws.signed(), draws.signed(), 0.0];
        let here = first_contact::<V>(vector(d), vector(w), V::Scalar::ONE).map(|t| t.to_f64());
        let plane = first_contact::<glam::DVec2>(
            vector(d.map(|x| scalar::<V>(x).to_f64())),
            vector(w.map(|x| scalar::<V>(x).to_f64())),
            1.0,
        );
        match (here, plane) {
            (Some(t), Some(e)) => assert!((t - e).abs() <= 1e-3 * e.max(1.0)),
            (None, None) => (),
            // Only a grazing contact may be decided differently in another precision.
            (t, e) => {
                let (l, b) = (length(w), d[0] * w[0] + d[1] * w[1]);
                let miss = (length(d).powi(2) - (b / l).powi(2)).max(0.0).sqrt();
                assert!((miss - 1.0).abs() < 1e-5, "{t:?} {e:?} {miss}");
            }
        }
    }
}

fn billiards<V: Vector>() {
    // A half-ball hit: the cue ball leaves at a right angle to the object ball, which moves along the line of centres.
    let (root, half) = (3f64.sqrt() / 2.0, 0.5);
    let d: V = vector([-root, half, 0.0]);
    let one = V::Scalar::ONE;
    let (cue, object) = bounce(d, V::X, V::ZERO, one, one, one);
    assert!(length(wide(object - vector::<V>([0.75, -root * half, 0.0]))) < 4.0 * epsilon::<V>());
    assert!(length(wide(cue - vector::<V>([0.25, root * half, 0.0]))) < 4.0 * epsilon::<V>());
    assert!(cue.dot(object).to_f64().abs() < 4.0 * epsilon::<V>());
}

fn weighted_point<V: Vector>() {
    // (x1 r2 + x2 r1)/(r1 + r2)
    let (a, b): (Still<V>, Still<V>) = (still([0.0, 0.0, 0.0], 6.0), still([0.0, 8.0, 0.0], 2.0));
    assert_eq!(contact_point(&a, &b), vector([0.0, 6.0, 0.0]));
}

/// Time and sphere of the earliest impact within `limit`, the other sphere (`None`: a wall), and the normal.
fn earliest_impact<V: Vector>(
    spheres: &[Moving<V>],
    walls: &[HalfSpace<V>],
    limit: V::Scalar,
) -> Option<(V::Scalar, usize, Option<usize>, V)> {
    let mut first: Option<(V::Scalar, usize, Option<usize>, V)> = None;
    for i in 0..spheres.len() {
        let limit = first.map_or(limit, |first| first.0);
        for wall in walls {
            if let Some(c) = sweep_plane(&spheres[i], V::ZERO, wall, limit)
                && first.is_none_or(|first| c.time < first.0)
            {
                first = Some((c.time, i, None, c.normal));
            }
        }
        for j in i + 1..spheres.len() {
            if let Some(c) = sweep(&spheres[i], &spheres[j], limit)
                && first.is_none_or(|first| c.time < first.0)
            {
                first = Some((c.time, i, Some(j), c.normal));
            }
        }
    }
    first
}

/// Discs or spheres of several sizes and masses in a box, with every impact in order.
fn balls_in_a_box<V: Vector>() {
    const SIDE: f64 = 10.0;
    let mut draws = Draws(SEED);
    let mut spheres: Vec<Moving<V>> = (0..9)
        .map(|i| {
            let place = [2.0 + 3.0 * f64::from(i % 3), 2.0 + 3.0 * f64::from(i / 3), 5.0];
            let velocity = [draws.signed(), draws.signed(), draws.signed()].map(|x| 3.0 * x);
            still::<V>(place, 0.4 + 0.8 * draws.share()).with_velocity(vector(velocity))
        })
        .collect();
    let inverse_mass: Vec<V::Scalar> =
        spheres.iter().map(|s| V::Scalar::ONE / (s.radius * s.radius)).collect();
    let walls: Vec<HalfSpace<V>> = (0..V::DIMENSIONS)
        .flat_map(|axis| {
            let mut unit = [0.0; 3];
            unit[axis] = 1.0;
            let normal: V = vector(unit);
            let far = HalfSpace::new(normal * scalar::<V>(SIDE), -normal).unwrap();
            [HalfSpace::new(V::ZERO, normal).unwrap(), far]
        })
        .collect();
    let energy = |spheres: &[Moving<V>]| -> f64 {
        spheres.iter().zip(&inverse_mass).map(|(s, &i)| length(wide(s.velocity)).powi(2) / i.to_f64()).sum()
    };
    let before = energy(&spheres);
    let (mut pairs, mut wall_hits) = (0, 0);
    let dt = scalar::<V>(1.0 / 60.0);
    for _ in 0..3000 {
        let mut left = dt;
        for impact in 0.. {
            assert!(impact < 100, "a step does not end");
            let first = earliest_impact(&spheres, &walls, left);
            let time = first.map_or(left, |first| first.0);
            spheres.iter_mut().for_each(|s| *s = s.advanced(time));
            left = left - time;
            let Some((_, i, partner, normal)) = first else { break };
            let one = V::Scalar::ONE;
            if let Some(j) = partner {
                let d = spheres[i].position - spheres[j].position;
                let (va, vb) = bounce(
                    d,
                    spheres[i].velocity,
                    spheres[j].velocity,
                    inverse_mass[i],
                    inverse_mass[j],
                    one,
                );
                (spheres[i].velocity, spheres[j].velocity) = (va, vb);
                pairs += 1;
            } else {
                spheres[i].velocity =
                    bounce(normal, spheres[i].velocity, V::ZERO, inverse_mass[i], V::Scalar::ZERO, one).0;
                wall_hits += 1;
            }
        }
        let slop = 200.0 * epsilon::<V>();
        for (i, a) in spheres.iter().enumerate() {
            for axis in 0..V::DIMENSIONS {
                let (x, r) = (wide(a.position)[axis], a.radius.to_f64());
                assert!(x >= r - slop && x <= SIDE - r + slop, "sphere {i} is out at {x}");
            }
            for b in &spheres[..i] {
                let gap = length(wide(a.position - b.position)) - (a.radius + b.radius).to_f64();
                assert!(gap >= -slop, "overlap {gap}");
            }
        }
    }
    assert!(pairs > 100 && wall_hits > 100, "{pairs} pairs, {wall_hits} walls");
    let error = energy(&spheres) / before - 1.0;
    println!("{pairs} pairs and {wall_hits} walls: dE/E = {error:.1e}");
    assert!(error.abs() < 20.0 * epsilon::<V>(), "energy changed by {error:.1e}");
}

for_every_vector! {
    stationary_overlap => stationary;
    moving_sphere_against_a_stationary_one => moving_against_stationary;
    moving_sphere_against_a_moving_one => moving_against_moving;
    plane_and_space_give_the_same_contacts => paths_in_space_agree_with_the_plane;
    off_centre_bounce_of_equal_spheres_parts_at_a_right_angle => billiards;
    contact_point_of_unequal_spheres => weighted_point;
    spheres_in_a_box_stay_in_it_and_keep_their_energy => balls_in_a_box;
}
