//! The legend explains the colours.

use carom::gpu::wgpu;
use carom::render::{Camera, Colour, Frame, Map, Range, RenderWorld, Renderer, Spheres, Studio, Style};
use carom::scene::{Fill, Scene};
use glam::DVec3;

use super::tools::{camera, difference, different, open, picture, sphere, system};

const SIZE: [u32; 2] = [400, 300];

#[test]
fn a_legend_is_drawn_in_its_corner_and_says_the_range() {
    let context = open();
    let system = Scene::new(0.01)
        .periodic()
        .fill(Fill::random(100).volume_fraction(0.1).temperature(1.0))
        .build()
        .unwrap();
    let spheres = Spheres::upload(&context, &system.spheres, &system, None);
    let (render_world, camera) = (RenderWorld::of(&system), Camera::framing(&system));
    let mut studio = Studio::new(&context, SIZE).unwrap();
    let mut draw = |legend, range, colour| {
        let style = Style { legend, range, colour, map: Map::Turbo, ..Style::default() };
        studio.picture(&spheres, &render_world, &camera, &style).unwrap()
    };
    let locked = |high| Range::Locked(0.0, high);
    let without = draw(false, locked(3.0), Colour::Speed);
    let with = draw(true, locked(3.0), Colour::Speed);
    // The bar contains the whole map.
    for part in [0.1, 0.5, 0.9] {
        let [r, g, b] = Map::Turbo.colour(part).map(|c| (255.0 * c).round() as u8);
        let pixels = with.rgba.chunks_exact(4).map(|p| <[u8; 4]>::try_from(p).unwrap());
        assert!(pixels.filter(|&p| difference(p, [r, g, b, 255]) <= 6).count() >= 8, "{part} is missing");
    }
    // The legend covers only the lower left corner.
    for y in 0..SIZE[1] {
        for x in 0..SIZE[0] {
            if x > 240 || y < 200 {
                assert_eq!(with.pixel(x, y), without.pixel(x, y), "({x}, {y})");
            }
        }
    }
    assert!(different(&with, &without, 10) > 3000);
    // Two pictures that differ only in the range differ in the numbers of the legend, because no sphere has a colour of
    // the map.
    let a = draw(true, locked(3.0), Colour::Material);
    assert!(different(&a, &with, 10) > 1000, "names of materials instead of a bar");
    // Automatic range: the device computes the numbers.
    let automatic = draw(true, Range::Automatic, Colour::Radius);
    let plain = draw(false, Range::Automatic, Colour::Radius);
    assert!(different(&automatic, &plain, 10) > 3000);
}

#[test]
fn numbers_of_an_automatic_range_come_late_without_a_wait() {
    let context = open();
    let system = Scene::new(0.01)
        .periodic()
        .fill(Fill::random(100).volume_fraction(0.1).temperature(1.0))
        .build()
        .unwrap();
    let spheres = Spheres::upload(&context, &system.spheres, &system, None);
    let (render_world, camera) = (RenderWorld::of(&system), Camera::framing(&system));
    let format = wgpu::TextureFormat::Rgba8Unorm;
    let texture = context.device.create_texture(&wgpu::TextureDescriptor {
        label: None,
        size: wgpu::Extent3d { width: SIZE[0], height: SIZE[1], depth_or_array_layers: 1 },
        mip_level_count: 1,
        sample_count: 1,
        dimension: wgpu::TextureDimension::D2,
        format,
        usage: wgpu::TextureUsages::RENDER_ATTACHMENT,
        view_formats: &[],
    });
    let view = texture.create_view(&wgpu::TextureViewDescriptor::default());
    let mut renderer = Renderer::new(&context, format);
    let frame =
        Frame { spheres: &spheres, render_world: &render_world, camera: &camera, style: &Style::default() };
    let mut frames = 0;
    while renderer.range().is_none() {
        let mut encoder = context.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        renderer.draw(&mut encoder, &view, SIZE, frame);
        context.queue.submit([encoder.finish()]);
        frames += 1;
        assert!(frames < 10_000, "the range never came");
    }
    assert!(frames > 1, "the first picture cannot know");
    let [low, high] = renderer.range().unwrap();
    let fastest = system.spheres.iter().map(|s| s.velocity.length()).fold(0.0, f64::max);
    assert_eq!(low, 0.0);
    assert!(high <= fastest * 1.000_001 && high > 0.5 * fastest, "{high} of {fastest}");
    assert_eq!(context.check(), Ok(()));
}

#[test]
fn pictures_too_small_for_letters_have_no_legend() {
    let context = open();
    let system = system(vec![sphere(1, DVec3::ZERO, 0.5)]);
    let camera = camera(DVec3::ZERO, 4.0, 40.0);
    for size in [[1, 1], [32, 20], [63, 400], [400, 63]] {
        let draw = |legend| picture(&context, &system, &camera, &Style { legend, ..Style::default() }, size);
        assert_eq!(different(&draw(true), &draw(false), 0), 0, "{size:?}");
    }
}
