//! Near spheres hide far ones.

use carom::Sphere;
use carom::render::{Colour, Map, Range, Style};
use glam::DVec3;

use super::tools::{bare, camera, difference, different, open, picture, sphere, system};

const SIZE: [u32; 2] = [160, 120];

fn by_id() -> Style {
    Style { colour: Colour::Id, map: Map::Turbo, range: Range::Locked(1.0, 4.0), ..bare() }
}

fn colour(id: u32) -> [u8; 4] {
    let [r, g, b] = Map::Turbo.colour(f64::from(id - 1) / 3.0).map(|c| (255.0 * c).round() as u8);
    [r, g, b, 255]
}

#[test]
fn the_nearer_of_two_spheres_is_seen_in_either_order() {
    let context = open();
    let camera = camera(DVec3::ZERO, 10.0, 30.0);
    let (near, far) = (DVec3::new(0.3, -1.2, 0.0), DVec3::new(-0.3, 1.2, 0.0));
    for (a, b) in [(near, far), (far, near)] {
        let spheres = vec![sphere(1, a, 1.0), sphere(2, b, 1.0)];
        let swapped: Vec<Sphere> = spheres.iter().rev().copied().collect();
        let front = if a == near { 1 } else { 2 };
        let image = picture(&context, &system(spheres), &camera, &by_id(), SIZE);
        // A point that both cover, left of the middle of the nearer sphere.
        let (x, y, _) = camera.project(DVec3::new(-0.2, 0.0, 0.0), SIZE).unwrap();
        assert!(difference(image.pixel(x as u32, y as u32), colour(front)) <= 2, "{front} is not in front");
        assert!(difference(image.pixel(x as u32, y as u32), colour(3 - front)) > 50);
        let other = picture(&context, &system(swapped), &camera, &by_id(), SIZE);
        assert_eq!(different(&image, &other, 0), 0, "the order of drawing shows");
    }
}

#[test]
fn every_pixel_shows_the_sphere_that_its_ray_meets_first() {
    let context = open();
    // A small sphere in front of, beside and behind large ones without overlap: sorting by centres alone would fail.
    let spheres = vec![
        sphere(1, DVec3::new(0.0, 0.0, 0.0), 2.0),
        sphere(2, DVec3::new(1.7, -1.5, 0.4), 0.35),
        sphere(3, DVec3::new(-2.3, 2.2, 0.5), 1.2),
        sphere(4, DVec3::new(0.2, -2.9, -1.4), 0.9),
    ];
    let camera = camera(DVec3::new(0.0, 0.0, 0.2), 8.0, 50.0);
    let image = picture(&context, &system(spheres.clone()), &camera, &by_id(), SIZE);
    let first = |x: f64, y: f64| {
        let (eye, direction) = camera.ray(x, y, SIZE);
        let hit = |s: &Sphere| {
            let c = s.position - eye;
            let along = c.dot(direction);
            let deep = s.radius * s.radius - (c - along * direction).length_squared();
            (deep >= 0.0).then(|| (along - deep.sqrt(), s.id))
        };
        spheres.iter().filter_map(hit).min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, id)| id)
    };
    let mut seen = [0; 5];
    for y in 0..SIZE[1] {
        for x in 0..SIZE[0] {
            let (u, v) = (f64::from(x) + 0.5, f64::from(y) + 0.5);
            let corners = [(-0.5, -0.5), (0.5, -0.5), (-0.5, 0.5), (0.5, 0.5)];
            let all: Vec<_> = corners.iter().map(|(dx, dy)| first(u + dx, v + dy)).collect();
            // Pixels on an outline contain both sides.
            if all.iter().any(|id| *id != all[0]) {
                continue;
            }
            if let Some(id) = all[0] {
                let off = difference(image.pixel(x, y), colour(id));
                assert!(off <= 2, "({x}, {y}) should show {id}: {:?}", image.pixel(x, y));
                seen[id as usize] += 1;
            }
        }
    }
    assert!(seen[1..].iter().all(|&n| n > 30), "{seen:?}");
}
