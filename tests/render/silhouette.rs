//! Outlines agree with the projection of a sphere, which is an ellipse.

use carom::render::{Camera, Image};
use glam::DVec3;

use super::tools::{bare, camera, difference, open, picture, sphere, system};

const SIZE: [u32; 2] = [320, 240];

// Whether the ray through a point of the picture hits the sphere: the definition, in f64.
fn meets(camera: &Camera, x: f64, y: f64, centre: DVec3, radius: f64) -> bool {
    let (eye, direction) = camera.ray(x, y, SIZE);
    let along = (centre - eye).dot(direction);
    along > 0.0 && (centre - eye - along * direction).length() <= radius
}

// Coverage of a row by the sphere, in pixels. With smooth edges the sum of the pixel coverages is the length of the
// chord.
fn chord(image: &Image, empty: &Image, inside: [u8; 4], row: u32) -> f64 {
    let part = |x: u32| {
        let [seen, without, full] =
            [image.pixel(x, row), empty.pixel(x, row), inside].map(|p| f64::from(p[0]));
        (seen - without) / (full - without)
    };
    (0..SIZE[0]).map(part).sum()
}

// Largest difference between drawn and true chords over all rows of the sphere.
fn error(image: &Image, empty: &Image, camera: &Camera, centre: DVec3, radius: f64) -> f64 {
    let (x, y, _) = camera.project(centre, SIZE).unwrap();
    let inside = image.pixel(x as u32, y as u32);
    let [width, height] = SIZE;
    let fine = 16;
    let (mut worst, mut crossed) = (0.0_f64, 0);
    for row in 0..height {
        let truth = (0..width * fine)
            .filter(|k| {
                meets(camera, (f64::from(*k) + 0.5) / f64::from(fine), f64::from(row) + 0.5, centre, radius)
            })
            .count() as f64
            / f64::from(fine);
        // Near the top and bottom a chord grows by many pixels within one row.
        if truth > 0.3 * f64::from(height) {
            worst = worst.max((chord(image, empty, inside, row) - truth).abs());
            crossed += 1;
        }
    }
    assert!(crossed > 30, "only {crossed} rows");
    worst
}

#[test]
fn outlines_are_those_of_the_projected_sphere() {
    let context = open();
    // In the middle; far off the axis, where the ellipse is long; near enough for a strong perspective.
    for (offset, radius, distance, fov) in [
        (DVec3::ZERO, 1.0, 5.0, 40.0),
        (DVec3::new(3.4, 0.3, 1.1), 1.4, 4.0, 100.0),
        (DVec3::new(-0.2, 0.1, 0.1), 1.0, 1.9, 90.0),
    ] {
        let target = DVec3::new(0.3, -0.2, 0.1);
        let camera = camera(target, distance, fov);
        let centre = target + offset;
        let image = picture(&context, &system(vec![sphere(1, centre, radius)]), &camera, &bare(), SIZE);
        let empty = picture(&context, &system(vec![]), &camera, &bare(), SIZE);
        let worst = error(&image, &empty, &camera, centre, radius);
        println!("{offset}: chords within {worst:.3} pixels");
        // Both ends of a chord are accurate to half a pixel.
        assert!(worst < 0.5, "{offset}: a chord is off by {worst} pixels");
        // The comparison can fail: it detects a slightly larger sphere.
        let wrong = error(&image, &empty, &camera, centre, radius * 1.03);
        assert!(wrong > 0.5, "{wrong}");
    }
}

#[test]
fn both_ends_of_a_chord_are_where_they_should_be() {
    let context = open();
    let camera = camera(DVec3::ZERO, 4.0, 60.0);
    let (centre, radius) = (DVec3::new(0.7, 0.4, -0.3), 0.9);
    let image = picture(&context, &system(vec![sphere(1, centre, radius)]), &camera, &bare(), SIZE);
    let (x, y, _) = camera.project(centre, SIZE).unwrap();
    let inside = image.pixel(x as u32, y as u32);
    let half = |inside: [u8; 4], outside: [u8; 4]| (f64::from(inside[0]) + f64::from(outside[0])) / 2.0;
    let mut checked = 0;
    for row in (y as u32 - 40)..(y as u32 + 40) {
        let (outside, level) = (image.pixel(0, row), half(inside, image.pixel(0, row)));
        assert!(difference(inside, outside) > 60, "nothing to tell apart");
        let covered = |x: u32| f64::from(image.pixel(x, row)[0]) < level;
        let truth = |x: u32| meets(&camera, f64::from(x) + 0.5, f64::from(row) + 0.5, centre, radius);
        let ends = |is_in: &dyn Fn(u32) -> bool| {
            let first = (0..SIZE[0]).find(|&x| is_in(x)).unwrap();
            (first, (first..SIZE[0]).find(|&x| !is_in(x)).unwrap())
        };
        let (seen, right) = (ends(&covered), ends(&truth));
        // A half covered pixel may count either way.
        assert!(seen.0.abs_diff(right.0) <= 1 && seen.1.abs_diff(right.1) <= 1, "{row}: {seen:?} {right:?}");
        checked += 1;
    }
    assert_eq!(checked, 80);
}

#[test]
fn a_sphere_below_a_pixel_is_seen_wherever_it_is() {
    let context = open();
    let camera = camera(DVec3::ZERO, 1000.0, 30.0);
    // 2.2 pixels per unit: radii of a fiftieth of a pixel.
    let spheres: Vec<_> = (0..100)
        .map(|k| {
            let (column, row) = (f64::from(k % 10), f64::from(k / 10));
            sphere(k, DVec3::new(7.13 * (column - 4.5), 0.0, 7.19 * (row - 4.5)), 0.01)
        })
        .collect();
    let image = picture(&context, &system(spheres.clone()), &camera, &bare(), SIZE);
    let empty = picture(&context, &system(vec![]), &camera, &bare(), SIZE);
    for sphere in &spheres {
        let (x, y, _) = camera.project(sphere.position, SIZE).unwrap();
        let near = |x: u32, y: u32| difference(image.pixel(x, y), empty.pixel(x, y));
        let seen = (-1..=1)
            .flat_map(|dx| (-1..=1).map(move |dy| (dx, dy)))
            .map(|(dx, dy)| near((x as i32 + dx) as u32, (y as i32 + dy) as u32))
            .max()
            .unwrap();
        assert!(seen > 8, "the sphere at ({x:.2}, {y:.2}) changes its pixels by {seen}");
    }
    // The spheres appear as points, not as discs of a full pixel.
    let changed = super::tools::different(&image, &empty, 8);
    assert!((100..=400).contains(&changed), "{changed} pixels for 100 spheres");
}
