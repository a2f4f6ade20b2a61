//! Helpers shared by the picture tests.

use carom::gpu::Context;
use carom::render::{Camera, Image, RenderWorld, Spheres, Studio, Style};
use carom::{Sphere, System};
use glam::DVec3;

/// Opens the device; without one the test fails.
pub fn open() -> Context {
    Context::open(None).expect("pictures need an adapter; a software one will do")
}

/// Style with nothing but spheres in the colours of the map.
pub fn bare() -> Style {
    Style { flat: true, legend: false, ground: false, bounds: false, ..Style::default() }
}

pub fn sphere(id: u32, position: impl Into<DVec3>, radius: f64) -> Sphere {
    Sphere { id, position: position.into(), radius, ..Sphere::default() }
}

pub fn system(spheres: Vec<Sphere>) -> System {
    System { spheres, ..System::default() }
}

/// A camera at `distance` along -y, z up.
pub fn camera(target: DVec3, distance: f64, fov: f64) -> Camera {
    Camera { eye: target - DVec3::Y * distance, target, up: DVec3::Z, fov }
}

/// A picture of the spheres of a system.
pub fn picture(context: &Context, system: &System, camera: &Camera, style: &Style, size: [u32; 2]) -> Image {
    let spheres = Spheres::upload(context, &system.spheres, system, None);
    Studio::new(context, size)
        .and_then(|mut studio| studio.picture(&spheres, &RenderWorld::of(system), camera, style))
        .expect("a picture")
}

/// Largest difference of a channel between two pixels.
pub fn difference(a: [u8; 4], b: [u8; 4]) -> u8 {
    a.iter().zip(b).map(|(a, b)| a.abs_diff(b)).max().unwrap()
}

/// Number of pixels with a channel that differs by more than `slack`.
pub fn different(a: &Image, b: &Image, slack: u8) -> usize {
    assert_eq!((a.width, a.height), (b.width, b.height));
    let pixels =
        |image: &Image| image.rgba.chunks_exact(4).map(|p| p.try_into().unwrap()).collect::<Vec<_>>();
    pixels(a).into_iter().zip(pixels(b)).filter(|&(a, b)| difference(a, b) > slack).count()
}
