//! The tree against a test of every sphere: the same answers to the bit.

use carom::toolbox::{Hit, Moving, Scalar, SphereTree, Still, Vector, clip_motion, overlaps, sweep_still};
use glam::{DVec3, Vec2, Vec3};
use proptest::prelude::*;

use crate::common::{Draws, SEED, cube, for_every_vector, property, scalar, still, vector};

fn overlapping_by_brute_force<V: Vector>(scene: &[Still<V>], probe: &Still<V>) -> Vec<usize> {
    (0..scene.len())
        .filter(|&i| overlaps(probe.position - scene[i].position, probe.radius + scene[i].radius))
        .collect()
}

fn cast_by_brute_force<V: Vector>(scene: &[Still<V>], sphere: &Moving<V>, dt: V::Scalar) -> Option<Hit<V>> {
    let mut best: Option<Hit<V>> = None;
    for (index, other) in scene.iter().enumerate() {
        if let Some(contact) = sweep_still(sphere, other, dt)
            && best.is_none_or(|best| contact.time < best.contact.time)
        {
            best = Some(Hit { index, contact });
        }
    }
    best
}

/// Scenes of several kinds: radii of one size or over seven decades, scattered, in clusters, on a lattice (ties,
/// grazing), on a line, all at one point.
fn scene<V: Vector>(seed: u64) -> Vec<Still<V>> {
    let mut draws = Draws(seed);
    let count = [0, 1, 2, 4, 5, 9, 40, 150, 400][draws.next() as usize % 9];
    let layout = draws.next() % 5;
    let sizes = draws.next() % 3;
    let far = if draws.next().is_multiple_of(4) { 1000.0 } else { 0.0 };
    (0..count)
        .map(|i| {
            let free = [draws.signed(), draws.signed(), draws.signed()];
            let place = match layout {
                0 => free.map(|x| 10.0 * x),
                1 => free.map(|x| 10.0 * x.powi(7)),
                2 => [i % 7, (i / 7) % 7, i / 49].map(|k| f64::from(k) * 2.0 - 6.0),
                3 => [10.0 * free[0], 0.0, 0.0],
                _ => [1.0, 2.0, 3.0],
            };
            let radius = match sizes {
                0 => 1.0,
                1 => 10f64.powf(5.0 * draws.share() - 4.5),
                // Every hundredth sphere is very large.
                _ => {
                    if i % 100 == 7 {
                        30.0
                    } else {
                        0.3 * draws.share()
                    }
                }
            };
            still(place.map(|x| x + far), radius)
        })
        .collect()
}

/// A position around the scene; every second time on the lattice, moving along an axis.
fn probe<V: Vector>(draws: &mut Draws, scene: &[Still<V>]) -> Moving<V> {
    let snapped = draws.next().is_multiple_of(2);
    let snap = |x: f64| if snapped { x.round() } else { x };
    let around = scene.first().map_or(V::ZERO, |first| first.position);
    let offset: V = vector(std::array::from_fn(|_| snap(12.0 * draws.signed())));
    let velocity = if snapped {
        let mut v = [0.0; 3];
        v[draws.next() as usize % V::DIMENSIONS] = if draws.next().is_multiple_of(2) { 2.0 } else { -2.0 };
        v
    } else {
        std::array::from_fn(|_| 10.0 * draws.signed())
    };
    let radius = [0.0, 0.5, 1.0, draws.share(), 5.0 * draws.share()][draws.next() as usize % 5];
    still::<V>([0.0; 3], radius).with_velocity(vector(velocity)).displaced(around + offset)
}

trait Displaced<V> {
    fn displaced(self, by: V) -> Self;
}

impl<V: Vector> Displaced<V> for Moving<V> {
    fn displaced(self, by: V) -> Self {
        Self { position: self.position + by, ..self }
    }
}

fn same_as_brute_force<V: Vector>() {
    let mut hits = 0;
    for seed in 0..250 {
        let scene = scene::<V>(SEED + seed);
        let tree = SphereTree::new(&scene);
        assert_eq!((tree.len(), tree.is_empty()), (scene.len(), scene.is_empty()));
        let mut draws = Draws(SEED ^ seed);
        for _ in 0..40 {
            let probe = probe(&mut draws, &scene);
            let expected = overlapping_by_brute_force(&scene, &probe.still());
            assert_eq!(tree.overlapping(&probe.still()), expected, "seed {seed}: {probe:?}");
            assert_eq!(tree.overlaps_any(&probe.still()), !expected.is_empty(), "seed {seed}: {probe:?}");
            let dt = scalar::<V>([0.0, 1.0, 100.0, f64::INFINITY][draws.next() as usize % 4]);
            let expected = cast_by_brute_force(&scene, &probe, dt);
            assert_eq!(tree.cast_sphere(&probe, dt), expected, "seed {seed}: {probe:?} {dt:?}");
            let ray = Moving { radius: V::Scalar::ZERO, ..probe };
            let expected_ray = cast_by_brute_force(&scene, &ray, dt);
            assert_eq!(
                tree.cast_ray(ray.position, ray.velocity, dt),
                expected_ray,
                "seed {seed}: {ray:?} {dt:?}"
            );
            hits += u32::from(expected.is_some()) + u32::from(expected_ray.is_some());
        }
        let mut pairs = Vec::new();
        for (i, sphere) in scene.iter().enumerate() {
            pairs.extend(
                overlapping_by_brute_force(&scene, sphere).into_iter().filter(|&j| j > i).map(|j| (i, j)),
            );
        }
        assert_eq!(tree.overlapping_pairs(), pairs, "seed {seed}");
    }
    assert!(hits > 1000, "only {hits} casts hit anything");
}

/// Rays aimed at the rim of a sphere, where a rounding error decides.
fn grazing_rays<V: Vector>() {
    let strategy = (cube(), cube(), -1.0..1.0f64, 0.0..9.0f64);
    property(3000, strategy, |(aim, side, nudge, far)| {
        let scene: Vec<Still<V>> =
            (0..30).map(|i| still([3.0 * f64::from(i % 6), 3.0 * f64::from(i / 6), 0.0], 1.0)).collect();
        let tree = SphereTree::new(&scene);
        let target: [f64; 3] = [6.0, 6.0, 0.0];
        let l = crate::common::length(aim).max(1e-3);
        let u = aim.map(|x| x / l);
        let along: f64 = (0..V::DIMENSIONS).map(|axis| side[axis] * u[axis]).sum();
        let mut across: [f64; 3] = std::array::from_fn(|axis| side[axis] - along * u[axis]);
        across[2] = if V::DIMENSIONS == 2 { 0.0 } else { across[2] };
        let l = crate::common::length(across).max(1e-3);
        let distance = 10f64.powf(far);
        let epsilon = crate::common::epsilon::<V>();
        let rim = 1.0 + 4.0 * nudge * epsilon * distance;
        let origin: V =
            vector(std::array::from_fn(|axis| target[axis] - distance * u[axis] + rim * across[axis] / l));
        let ray: Moving<V> = Moving { position: origin, velocity: vector(u), radius: V::Scalar::ZERO };
        let found = tree.cast_ray(ray.position, ray.velocity, V::Scalar::INFINITY);
        prop_assert_eq!(found, cast_by_brute_force(&scene, &ray, V::Scalar::INFINITY));
        Ok(())
    });
}

fn extremes<V: Vector>() {
    let mut scene: Vec<Still<V>> = (0..20).map(|i| still([f64::from(i), 0.0, 0.0], 0.25)).collect();
    scene[3].position = vector([f64::NAN, 0.0, 0.0]);
    scene[5].position = vector([0.0, f64::INFINITY, 0.0]);
    scene[7].radius = scalar::<V>(f64::NAN);
    scene[9].radius = V::Scalar::INFINITY;
    scene[11].radius = scalar::<V>(-1.0);
    scene[13].radius = V::Scalar::ZERO;
    let tree = SphereTree::new(&scene);
    assert_eq!(tree.len(), 20);
    let all = tree.overlapping(&still([10.0, 0.0, 0.0], 1000.0));
    assert_eq!(all, [0, 1, 2, 4, 6, 8, 10, 12, 13, 14, 15, 16, 17, 18, 19]);
    let up: V = vector([0.0, 1.0, 0.0]);
    for (index, hit) in [(3.0, None), (4.0, Some(4)), (9.0, None), (11.0, None), (13.0, None)] {
        let found = tree.cast_ray(vector([index, -5.0, 0.0]), up, V::Scalar::INFINITY);
        assert_eq!(found.map(|hit| hit.index), hit, "{index}");
    }
    // Invalid queries.
    let nan = scalar::<V>(f64::NAN);
    assert_eq!(tree.cast_ray(V::X * nan, up, V::Scalar::ONE), None);
    assert_eq!(tree.cast_ray(V::ZERO, up * nan, V::Scalar::ONE), None);
    assert_eq!(tree.cast_ray(vector([4.0, -1.0, 0.0]), up, nan), None);
    assert_eq!(tree.cast_ray(vector([4.0, -1.0, 0.0]), up, -V::Scalar::ONE), None);
    assert_eq!(tree.cast_ray(vector([4.0, -1.0, 0.0]), V::ZERO, V::Scalar::INFINITY), None);
    assert!(tree.overlapping(&Still { position: V::ZERO, radius: nan }).is_empty());
    assert!(!tree.overlaps_any(&Still { position: V::X * nan, radius: V::Scalar::ONE }));
}

/// Rays almost parallel to an axis along the face of the box around a whole wall of spheres, from far away: the face is
/// as near as the rims, and only the tree's rounding allowance keeps the hits.
fn rays_along_a_wall<V: Vector>() {
    let strategy = (cube(), -1.0..1.0f64, -1.0..9.0f64, 0.3..3.0f64);
    property(4000, strategy, |(tilt, nudge, far, size)| {
        let scene: Vec<Still<V>> =
            (0..40).map(|i| still([2.3 * size * f64::from(i), 0.0, 0.0], size)).collect();
        let tree = SphereTree::new(&scene);
        let distance = size * 10f64.powf(far);
        let error = crate::common::epsilon::<V>() * distance / size;
        let tilt = tilt.map(|x| 0.1 * error * x);
        let rim = size * (1.0 + 2.0 * error * nudge);
        let ray: Moving<V> =
            still([-distance, rim, 0.0], 0.0).with_velocity(vector([1.0, -tilt[1].abs(), tilt[2]]));
        let found = tree.cast_ray(ray.position, ray.velocity, V::Scalar::INFINITY);
        prop_assert_eq!(found, cast_by_brute_force(&scene, &ray, V::Scalar::INFINITY));
        // Head-on at a wall of equal spheres: all contacts are simultaneous up to rounding.
        let wall: Vec<Still<V>> =
            (0..40).map(|i| still([0.0, 2.3 * size * f64::from(i), 0.0], size)).collect();
        let board = still([distance + 2.0 * size, 46.0 * size, 0.0], 50.0 * size);
        let board: Moving<V> = board.with_velocity(vector([-nudge.abs() - 0.01, tilt[1], 0.0]));
        let found = SphereTree::new(&wall).cast_sphere(&board, V::Scalar::INFINITY);
        prop_assert_eq!(found, cast_by_brute_force(&wall, &board, V::Scalar::INFINITY));
        Ok(())
    });
}

/// Radii that double from one sphere to the next: splits that separate a single sphere must not make the tree deep.
fn doubling_radii<V: Vector>() {
    let top = if crate::common::epsilon::<V>() > 1e-10 { 60 } else { 500 };
    let scene: Vec<Still<V>> = (0..top).map(|i| still([0.0; 3], 2f64.powi(i - top / 2))).collect();
    let tree = SphereTree::new(&scene);
    let probe = still::<V>([1.0, 0.0, 0.0], 0.0);
    assert_eq!(tree.overlapping(&probe), overlapping_by_brute_force(&scene, &probe));
    let ray = still::<V>([5.0, 0.5, 0.0], 0.0).with_velocity(vector([-1.0, 0.0, 0.0]));
    let found = tree.cast_ray(ray.position, ray.velocity, V::Scalar::INFINITY);
    assert_eq!(found, cast_by_brute_force(&scene, &ray, V::Scalar::INFINITY));
    assert!(found.is_some());
}

for_every_vector! {
    overlaps_rays_and_casts_agree_with_brute_force => same_as_brute_force;
    rays_along_the_rim_agree_with_brute_force => grazing_rays;
    rays_along_a_wall_of_spheres_agree_with_brute_force => rays_along_a_wall;
    spheres_that_are_not_finite_are_never_met => extremes;
    radii_over_hundreds_of_doublings_are_searched => doubling_radii;
}

#[test]
fn casts_and_clipped_motion_agree() {
    let scene = scene::<DVec3>(SEED + 8);
    let tree = SphereTree::new(&scene);
    let mut draws = Draws(SEED);
    for _ in 0..500 {
        let probe = probe(&mut draws, &scene);
        let clipped = clip_motion(&probe.still(), probe.velocity, &scene);
        assert_eq!(tree.cast_sphere(&probe, 1.0), clipped.hit);
    }
}

#[test]
fn equal_times_name_the_lowest_index() {
    let at = |x, y| Still { position: Vec2::new(x, y), radius: 1.0 };
    let mut scene = vec![at(50.0, 50.0); 30];
    scene.extend([at(5.0, 1.0), at(5.0, -1.0)]);
    scene.extend(vec![at(-50.0, 50.0); 30]);
    let walker = Moving { position: Vec2::ZERO, velocity: Vec2::X, radius: 1.0 };
    assert_eq!(SphereTree::new(&scene).cast_sphere(&walker, 100.0).unwrap().index, 30);
    scene.reverse();
    assert_eq!(SphereTree::new(&scene).cast_sphere(&walker, 100.0).unwrap().index, 30);
}

#[test]
fn a_ray_sees_the_nearest_of_a_row_and_starts_inside_as_documented() {
    let row: Vec<_> = (0..100).map(|i| Still { position: Vec3::X * (5.0 * i as f32), radius: 1.0 }).collect();
    let tree = SphereTree::new(&row);
    let hit = tree.cast_ray(Vec3::new(-3.0, 0.0, 0.0), Vec3::X * 2.0, 100.0).unwrap();
    assert_eq!((hit.index, hit.contact.time, hit.contact.leave), (0, 1.0, 2.0));
    assert_eq!((hit.contact.point, hit.contact.normal), (Vec3::NEG_X, Vec3::NEG_X));
    let hit = tree.cast_ray(Vec3::new(2.0, 0.0, 0.0), Vec3::X, 100.0).unwrap();
    assert_eq!((hit.index, hit.contact.time), (1, 2.0));
    // Inside, towards the centre: an immediate hit. Inside, away from the centre: the next sphere.
    let inward = tree.cast_ray(Vec3::new(-0.5, 0.0, 0.0), Vec3::X, 100.0).unwrap();
    assert_eq!((inward.index, inward.contact.time), (0, 0.0));
    let outward = tree.cast_ray(Vec3::new(0.5, 0.0, 0.0), Vec3::X, 100.0).unwrap();
    assert_eq!((outward.index, outward.contact.time), (1, 3.5));
    assert_eq!(tree.cast_ray(Vec3::new(-3.0, 0.0, 0.0), Vec3::X, 1.9), None);
}
