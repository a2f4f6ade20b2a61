//! Walls: position, lifetime and occlusion.

use std::sync::Arc;

use carom::gpu::Context;
use carom::render::{Camera, Image, RenderWorld, Spheres, Studio, Style, extent};
use carom::{Dimensions, Mesh, Oscillation, Rotation, Side, Sphere, System, Wall, WallMotion, WallShape};
use glam::{DVec3, swizzles::Vec3Swizzles};

use super::tools::{bare, camera, difference, different, open, sphere, system};

const SIZE: [u32; 2] = [160, 120];

fn style() -> Style {
    Style { bounds: true, ..bare() }
}

fn with(spheres: Vec<Sphere>, walls: impl IntoIterator<Item = WallShape>) -> System {
    let walls = walls.into_iter().map(|shape| Wall::new(shape, 0, "wall")).collect();
    System { walls, ..system(spheres) }
}

fn at(context: &Context, system: &System, time: f64, camera: &Camera, style: &Style) -> Image {
    let spheres = Spheres::upload(context, &system.spheres, system, None);
    let render_world = RenderWorld::of(system).at(time);
    Studio::new(context, SIZE).unwrap().picture(&spheres, &render_world, camera, style).unwrap()
}

fn drum() -> WallShape {
    WallShape::Cone { from: DVec3::X * -1.5, to: DVec3::X * 1.5, radii: [1.0; 2], closed: [true; 2] }
}

fn block() -> WallShape {
    WallShape::Box { center: DVec3::ZERO, size: DVec3::new(2.0, 1.5, 1.0), turn: DVec3::ZERO }
}

// A square in the plane z = 0, of two oppositely oriented triangles.
fn sheet(half: f64) -> WallShape {
    let corners = [[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]];
    let corners = corners.map(|[x, y]| half * DVec3::new(x, y, 0.0)).to_vec();
    WallShape::Mesh(Arc::new(Mesh::new(corners, vec![[0, 1, 2], [0, 3, 2]]).unwrap()))
}

// Whether the ray through a point of the picture hits the shape: the definition, in f64.
fn meets(shape: &WallShape, camera: &Camera, x: f64, y: f64) -> bool {
    let (eye, direction) = camera.ray(x, y, SIZE);
    // Tests the distance in small steps along the ray.
    (0..4000).any(|step| {
        let p = eye + direction * (6.0 + 8.0 * f64::from(step) / 4000.0);
        match *shape {
            WallShape::Box { size, .. } => p.abs().cmple(0.5 * size).all(),
            WallShape::Cone { from, to, radii, .. } => {
                let part = (p.x - from.x) / (to.x - from.x);
                (0.0..=1.0).contains(&part) && p.yz().length() <= radii[0] + (radii[1] - radii[0]) * part
            }
            WallShape::Sphere { radius, angle, .. } => {
                p.length() <= radius && (angle > 3.0 || p.z <= radius * -angle.cos())
            }
            WallShape::Disc { radius, .. } => p.y.abs() < 1e-3 && p.length() <= radius,
            WallShape::Plane { .. } | WallShape::Mesh(_) => unreachable!("not among those asked for"),
        }
    })
}

#[test]
fn every_shape_is_seen_where_it_is_and_nowhere_else() {
    let context = open();
    let camera = camera(DVec3::ZERO, 10.0, 30.0);
    let empty = at(&context, &system(vec![]), 0.0, &camera, &style());
    let cone =
        WallShape::Cone { from: DVec3::X * -1.5, to: DVec3::X * 1.5, radii: [1.5, 0.4], closed: [false; 2] };
    let ball = |angle| WallShape::Sphere { center: DVec3::ZERO, radius: 1.7, axis: DVec3::NEG_Z, angle };
    let disc = WallShape::Disc { center: DVec3::ZERO, normal: DVec3::Y, radius: 1.2, hole: 0.0 };
    for shape in [block(), drum(), cone, ball(std::f64::consts::PI), disc] {
        let seen = at(&context, &with(vec![], [shape.clone()]), 0.0, &camera, &style());
        let (mut inside, mut wrong) = (0, 0);
        for (x, y) in (0..SIZE[1]).flat_map(|y| (0..SIZE[0]).map(move |x| (x, y))) {
            let corner = |dx: f64, dy: f64| meets(&shape, &camera, f64::from(x) + dx, f64::from(y) + dy);
            // Lines at the outline are about a pixel wide.
            let around = [corner(-1.5, 0.5), corner(2.5, 0.5), corner(0.5, -1.5), corner(0.5, 2.5)];
            if around.iter().any(|&hit| hit != around[0]) {
                continue;
            }
            inside += usize::from(around[0]);
            wrong += usize::from((difference(seen.pixel(x, y), empty.pixel(x, y)) > 1) != around[0]);
        }
        assert!(inside > 500 && wrong == 0, "{}: {wrong} of {inside}", shape.kind());
    }
    // A bowl is invisible at its open end.
    let bowl = at(&context, &with(vec![], [ball(1.2)]), 0.0, &camera, &style());
    let changed = |z: f64| {
        let (x, y, _) = camera.project(DVec3::new(0.0, 0.0, z), SIZE).unwrap();
        difference(bowl.pixel(x as u32, y as u32), empty.pixel(x as u32, y as u32))
    };
    assert!(changed(-1.2) > 12 && changed(1.2) == 0 && changed(0.0) == 0);
}

#[test]
fn a_sphere_in_a_closed_wall_is_seen() {
    let context = open();
    let camera = camera(DVec3::ZERO, 10.0, 30.0);
    let spheres = vec![sphere(1, DVec3::ZERO, 0.4)];
    let whole =
        WallShape::Sphere { center: DVec3::ZERO, radius: 1.2, axis: DVec3::Z, angle: std::f64::consts::PI };
    for shape in [block(), drum(), whole] {
        let lone = at(&context, &system(spheres.clone()), 0.0, &camera, &style());
        let held = at(&context, &with(spheres.clone(), [shape.clone()]), 0.0, &camera, &style());
        let [own, seen] = [&lone, &held].map(|image| image.pixel(SIZE[0] / 2, SIZE[1] / 2));
        let beside = held.pixel(SIZE[0] / 2 + 16, SIZE[1] / 2);
        assert!(difference(own, seen) < 40, "{}: {own:?} becomes {seen:?}", shape.kind());
        assert!(difference(seen, beside) > 80, "{}: {seen:?} beside {beside:?}", shape.kind());
    }
}

#[test]
fn a_closed_wall_with_nothing_inside_hides_what_is_behind() {
    let context = open();
    let camera = camera(DVec3::ZERO, 10.0, 30.0);
    let behind = at(&context, &with(vec![sphere(1, DVec3::Y * 3.0, 0.4)], [drum()]), 0.0, &camera, &style());
    let beside = at(&context, &with(vec![sphere(1, DVec3::Z * 50.0, 0.4)], [drum()]), 0.0, &camera, &style());
    assert_eq!(different(&behind, &beside, 3), 0);
    // In front of the wall the sphere is completely visible: a wall that the sphere touches does not cut into it.
    let radius = 0.4;
    let near = vec![sphere(1, DVec3::Y * -(1.0 + radius), radius)];
    let alone = at(&context, &system(near.clone()), 0.0, &camera, &style());
    let empty = at(&context, &system(vec![]), 0.0, &camera, &style());
    let before = at(&context, &with(near, [drum()]), 0.0, &camera, &style());
    let middle = alone.pixel(SIZE[0] / 2, SIZE[1] / 2);
    let shown = |image: &Image| image.rgba.chunks_exact(4).filter(|p| **p == middle).count();
    assert!(different(&alone, &empty, 3) > 300);
    assert_eq!(shown(&before), shown(&alone));
}

#[test]
fn a_sheet_hides_what_is_below_and_not_what_is_above() {
    let context = open();
    let eye = DVec3::new(0.0, -6.0, 8.0);
    let camera = Camera { eye, target: DVec3::ZERO, up: DVec3::Z, fov: 30.0 };
    let bare = at(&context, &with(vec![], [sheet(2.0)]), 0.0, &camera, &style());
    let below = with(vec![sphere(1, DVec3::Z * -0.5, 0.4)], [sheet(2.0)]);
    assert_eq!(different(&at(&context, &below, 0.0, &camera, &style()), &bare, 3), 0);
    let above = with(vec![sphere(1, DVec3::Z * 0.4, 0.4)], [sheet(2.0)]);
    assert!(different(&at(&context, &above, 0.0, &camera, &style()), &bare, 20) > 200);
    // With light the sphere above casts a shadow on the wall, and the wall casts one on a sphere below.
    let lit = Style { flat: false, ambient_occlusion: false, ..style() };
    let dark = |shadow, spheres: Vec<Sphere>, camera: &Camera| {
        let system = with(spheres, [sheet(2.0)]);
        let picture = at(&context, &system, 0.0, camera, &Style { shadow, ..lit });
        picture.rgba.iter().map(|&c| u64::from(c)).sum::<u64>()
    };
    let above = vec![sphere(1, DVec3::Z * 0.4, 0.4)];
    let [shaded, bright] = [true, false].map(|shadow| dark(shadow, above.clone(), &camera));
    assert!(shaded + 5_000 < bright, "{shaded} {bright}");
    let under = Camera { eye: DVec3::new(0.0, -10.0, -1.0), ..camera };
    let below = vec![sphere(1, DVec3::Z * -0.5, 0.4)];
    let [shaded, bright] = [true, false].map(|shadow| dark(shadow, below.clone(), &under));
    assert!(shaded + 5_000 < bright, "{shaded} {bright}");
}

#[test]
fn walls_are_drawn_where_they_are_at_the_time() {
    let context = open();
    let camera = camera(DVec3::ZERO, 10.0, 30.0);
    let turning = Rotation { point: DVec3::ZERO, axis: DVec3::Y, speed: 1.0 };
    let moving = |shape: WallShape, motion: WallMotion| {
        let mut system = with(vec![], [shape]);
        system.walls[0].motion = motion;
        system
    };
    let picture = |system: &System, time: f64| at(&context, system, time, &camera, &style());
    let system = moving(block(), WallMotion { rotation: Some(turning), ..WallMotion::default() });
    let start = picture(&system, 0.0);
    assert!(different(&start, &picture(&system, 0.5), 12) > 300);
    assert!(different(&start, &picture(&system, std::f64::consts::PI), 12) < 20, "half a turn later");
    // The rotation of a round wall about its axis is visible.
    let about = Rotation { axis: DVec3::X, ..turning };
    let system = moving(drum(), WallMotion { rotation: Some(about), ..WallMotion::default() });
    assert!(different(&picture(&system, 0.0), &picture(&system, 0.3), 6) > 100);
    let swing = Oscillation { amplitude: DVec3::Z, frequency: 1.0, phase: 0.0 };
    let motion = WallMotion { velocity: DVec3::X, oscillation: Some(swing), rotation: None };
    let moved = picture(&moving(block(), motion), 0.25);
    let shifted = WallShape::Box {
        center: motion.displacement(0.25),
        size: DVec3::new(2.0, 1.5, 1.0),
        turn: DVec3::ZERO,
    };
    assert_eq!(different(&moved, &picture(&with(vec![], [shifted]), 0.0), 2), 0);
    // The same for a plane that sinks.
    let plane = WallShape::Plane { point: DVec3::NEG_Z, normal: DVec3::Z };
    let sinking = moving(plane, WallMotion { velocity: DVec3::NEG_Z, ..WallMotion::default() });
    assert!(different(&picture(&sinking, 0.0), &picture(&sinking, 1.0), 3) > 300);
}

#[test]
fn a_wall_is_drawn_while_it_is_there() {
    let context = open();
    let camera = camera(DVec3::ZERO, 10.0, 30.0);
    let empty = at(&context, &system(vec![]), 0.0, &camera, &style());
    let mut system = with(vec![], [block(), WallShape::Plane { point: DVec3::NEG_Z, normal: DVec3::Z }]);
    system.walls.iter_mut().for_each(|wall| wall.span = [1.0, 2.0]);
    for (time, is_there) in [(0.5, false), (1.0, true), (1.99, true), (2.0, false)] {
        let seen = different(&at(&context, &system, time, &camera, &style()), &empty, 0);
        assert_eq!(seen > 1000, is_there, "{seen} pixels at {time}");
        assert!(is_there || seen == 0, "{seen} pixels at {time}");
    }
    let hidden = Style { bounds: false, ..style() };
    assert_eq!(different(&at(&context, &system, 1.5, &camera, &hidden), &empty, 0), 0);
}

#[test]
fn in_the_plane_walls_are_outlines() {
    let context = open();
    let camera = Camera { eye: DVec3::Z * 10.0, target: DVec3::ZERO, up: DVec3::Y, fov: 30.0 };
    let pillar = WallShape::Cone { from: DVec3::NEG_Z, to: DVec3::Z, radii: [1.5; 2], closed: [false; 2] };
    let flat = |walls: Vec<WallShape>| System { dimensions: Dimensions::Two, ..with(vec![], walls) };
    let empty = at(&context, &flat(vec![]), 0.0, &camera, &style());
    let image = at(&context, &flat(vec![pillar]), 0.0, &camera, &style());
    let changed = |x: f64, y: f64| {
        let (x, y, _) = camera.project(DVec3::new(x, y, 0.0), SIZE).unwrap();
        let near = |dx: i32| ((x as i32 + dx) as u32, y as u32);
        (-1..=1)
            .map(|dx| difference(image.pixel(near(dx).0, near(dx).1), empty.pixel(near(dx).0, near(dx).1)))
            .max()
    };
    assert!(changed(1.5, 0.0) > Some(20) && changed(-1.5, 0.0) > Some(20));
    assert_eq!((changed(0.0, 0.0), changed(1.0, 0.0)), (Some(0), Some(0)));
}

#[test]
fn a_scene_of_walls_is_framed_and_one_of_planes_as_before() {
    let close = |(low, high): (DVec3, DVec3), l: DVec3, h: DVec3| {
        assert!(low.distance(l) < 0.01 && high.distance(h) < 0.01, "{low} {high}");
    };
    close(extent(&with(vec![], [drum()])), DVec3::new(-1.5, -1.0, -1.0), DVec3::new(1.5, 1.0, 1.0));
    let near = vec![sphere(1, DVec3::Z * 3.0, 0.5)];
    close(extent(&with(near.clone(), [drum()])), DVec3::new(-1.5, -1.0, -1.0), DVec3::new(1.5, 1.0, 3.5));
    let plane = WallShape::Plane { point: DVec3::Z * -9.0, normal: DVec3::Z };
    close(extent(&with(near.clone(), [plane])), DVec3::new(-0.5, -0.5, 2.5), DVec3::new(0.5, 0.5, 3.5));
    let mut boxed = with(near, [drum()]);
    boxed.bounds.sides = [Side::Wall; 3];
    boxed.bounds.max = DVec3::splat(4.0);
    close(extent(&boxed), DVec3::ZERO, DVec3::splat(4.0));
    close(extent(&with(vec![], [])), DVec3::splat(-1.0), DVec3::splat(1.0));
}
