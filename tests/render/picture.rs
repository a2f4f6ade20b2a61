//! Image files, and the errors of a studio.

use carom::gpu::{Context, wgpu};
use carom::render::{Camera, Clip, Image, Range, RenderWorld, Spheres, Studio, Style};
use carom::scene::{Fill, Scene};
use carom::{Dimensions, Error, Side, System};
use glam::DVec3;

use super::tools::{camera, difference, different, open, picture, sphere, system};

#[test]
fn a_png_comes_back_with_its_pixels_and_texts() {
    let rgba = (0..4 * 7 * 5).map(|k| if k % 4 == 3 { 255 } else { (37 * k % 251) as u8 }).collect();
    let image = Image { width: 7, height: 5, rgba };
    let mut file = vec![];
    image.write_png(&mut file, &[("Title", "a gas"), ("Software", "carom"), ("Comment", "θ = 1")]).unwrap();
    let mut reader = png::Decoder::new(std::io::Cursor::new(&file)).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    assert_eq!((info.width, info.height, info.color_type), (7, 5, png::ColorType::Rgba));
    assert_eq!(pixels, image.rgba);
    let texts: Vec<_> = reader
        .info()
        .uncompressed_latin1_text
        .iter()
        .map(|t| (t.keyword.as_str(), t.text.as_str()))
        .collect();
    assert_eq!(texts, [("Title", "a gas"), ("Software", "carom")]);
    assert_eq!(reader.info().utf8_text[0].get_text().unwrap(), "θ = 1");
    assert!(image.write_png(&mut vec![], &[("", "no keyword")]).is_err());
}

#[test]
fn impossible_sizes_are_refused_and_a_lost_device_is_an_error() {
    let context = open();
    for size in [[0, 10], [10, 0], [1 << 30, 10]] {
        match Studio::new(&context, size) {
            Err(Error::Unsupported(text)) => assert!(text.contains("pixels"), "{text}"),
            other => panic!("{size:?}: {:?}", other.err()),
        }
    }
    let system = system(vec![sphere(1, DVec3::ZERO, 1.0)]);
    let spheres = Spheres::upload(&context, &system.spheres, &system, None);
    let mut studio = Studio::new(&context, [16, 16]).unwrap();
    context.report_lost("the cable was pulled");
    let (render_world, camera) = (RenderWorld::of(&system), Camera::framing(&system));
    match studio.picture(&spheres, &render_world, &camera, &Style::default()) {
        Err(Error::DeviceLost(text)) => assert!(text.contains("the cable was pulled"), "{text}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_smallest_limits_that_carom_runs_with_are_enough() {
    let context = Context::open_with_limits(None, wgpu::Limits::default()).unwrap();
    let system = system(vec![sphere(1, DVec3::ZERO, 1.0), sphere(2, DVec3::X * 3.0, 1.0)]);
    let image = picture(&context, &system, &Camera::framing(&system), &Style::default(), [64, 48]);
    let empty = System { spheres: vec![], ..system.clone() };
    let without = picture(&context, &empty, &Camera::framing(&system), &Style::default(), [64, 48]);
    assert!(different(&image, &without, 20) > 100);
}

#[test]
fn a_framed_scene_is_all_in_the_picture_and_fills_it() {
    let gas = Fill::random(300).volume_fraction(0.3);
    for (system, size) in [
        (Scene::new(0.01).walled().fill(gas.clone()).build().unwrap(), [640, 480]),
        (Scene::new(0.01).flat().walled().fill(gas).build().unwrap(), [480, 480]),
        (system(vec![sphere(1, DVec3::splat(1e4), 3.0), sphere(2, DVec3::splat(1.001e4), 1.0)]), [300, 200]),
    ] {
        let camera = Camera::framing(&system);
        let (mut low, mut high) = (DVec3::INFINITY, DVec3::NEG_INFINITY);
        for s in &system.spheres {
            let (x, y, depth) = camera.project(s.position, size).expect("before the eye");
            assert!(depth > 0.0);
            (low, high) = (low.min(DVec3::new(x, y, 0.0)), high.max(DVec3::new(x, y, 0.0)));
        }
        let [width, height] = size.map(f64::from);
        assert!(low.min_element() >= 0.0 && high.x <= width && high.y <= height, "{low} {high}");
        assert!(high.y - low.y > 0.4 * height || high.x - low.x > 0.4 * width, "{low} {high} is small");
        if system.dimensions == Dimensions::Two {
            assert!((camera.eye - camera.target).normalize().distance(DVec3::Z) < 1e-12);
        }
    }
}

#[test]
fn rays_and_projections_are_each_other_s_inverse() {
    let camera = Camera {
        eye: DVec3::new(3.0, -7.0, 2.0),
        target: DVec3::new(0.1, 0.2, 0.3),
        up: DVec3::Z,
        fov: 50.0,
    };
    let size = [333, 222];
    for (x, y) in [(0.5, 0.5), (100.0, 200.0), (332.0, 1.0), (166.5, 111.0)] {
        let (eye, direction) = camera.ray(x, y, size);
        let (u, v, depth) = camera.project(eye + 5.0 * direction, size).unwrap();
        assert!((u - x).abs() < 1e-9 && (v - y).abs() < 1e-9 && depth > 0.0 && depth <= 5.0);
        assert_eq!(camera.project(eye - direction, size), None);
    }
    let (_, ahead) = camera.ray(166.5, 111.0, size);
    assert!((ahead - (camera.target - camera.eye).normalize()).length() < 1e-12);
    // Up is up, and right is right.
    let (_, y, _) = camera.project(camera.target + DVec3::Z, size).unwrap();
    assert!(y < 111.0);
}

#[test]
fn walls_floor_shadows_and_occlusion_are_drawn_on_request() {
    let context = open();
    let mut system = system(vec![]);
    for k in 0..27 {
        let place = DVec3::new(f64::from(k % 3), f64::from(k / 3 % 3), f64::from(k / 9));
        system.spheres.push(sphere(k, place * 1.05 + 1.0, 0.5));
    }
    system.bounds.max = DVec3::splat(4.2);
    system.bounds.sides = [Side::Wall; 3];
    let camera = Camera::framing(&system);
    let all = Style { legend: false, ..Style::default() };
    let reference = picture(&context, &system, &camera, &all, [160, 120]);
    for (style, what) in [
        (Style { bounds: false, ..all }, "walls"),
        (Style { ground: false, ..all }, "floor"),
        (Style { shadow: false, ..all }, "shadow"),
        (Style { ambient_occlusion: false, ..all }, "occlusion"),
    ] {
        let other = picture(&context, &system, &camera, &style, [160, 120]);
        let changed = different(&reference, &other, 6);
        assert!(changed > 200, "{what}: {changed} pixels");
        if what == "shadow" || what == "occlusion" {
            // Shadows and occlusion only remove light.
            let sum = |image: &Image| image.rgba.iter().map(|&c| u64::from(c)).sum::<u64>();
            assert!(sum(&other) > sum(&reference), "{what}");
        }
    }
}

#[test]
fn a_clip_plane_hides_the_spheres_in_front_of_it_and_no_others() {
    let context = open();
    // Far from the origin, so that positions relative to the plane lose digits if they are computed carelessly.
    let centre = DVec3::new(3e5, -2e5, 1e5);
    let at = |id: u32, x: f64| sphere(id, centre + DVec3::new(x, 0.0, 0.0), 0.5);
    let all = system((0..6).map(|k| at(k, f64::from(k) - 2.5)).collect());
    let camera = camera(centre, 20.0, 24.0);
    let style = Style {
        clip: Some(Clip { normal: DVec3::X * 3.0, offset: 3.0 * (centre.x + 0.51) }),
        ..Style::default()
    };
    let size = [320, 120];
    let clipped = picture(&context, &all, &camera, &Style { legend: false, ..style }, size);
    let fewer = system(all.spheres[..4].to_vec());
    let is_hidden = |x: f64| {
        let (px, py, _) = camera.project(centre + DVec3::X * x, size).unwrap();
        let empty =
            picture(&context, &system(vec![]), &camera, &Style { legend: false, ..Style::default() }, size);
        difference(clipped.pixel(px as u32, py as u32), empty.pixel(px as u32, py as u32)) < 8
    };
    // The centre at 0.5 is just behind the plane.
    assert_eq!([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5].map(is_hidden), [false, false, false, false, true, true]);
    // Hidden spheres cast no shadows either: the picture is that of the others alone, in colours of a fixed range.
    let fixed =
        Style { range: Range::Locked(0.0, 1.0), legend: false, ground: false, bounds: false, ..style };
    let [hidden, gone] = [(&all, fixed), (&fewer, Style { clip: None, ..fixed })]
        .map(|(system, style)| picture(&context, system, &camera, &style, size));
    assert!(different(&hidden, &gone, 3) < 20, "{}", different(&hidden, &gone, 3));
}
