//! What is there is seen.

use carom::gpu::Context;
use carom::render::{Camera, Scenery, Spheres, Studio, Style};
use carom::{Sphere, System};

#[test]
fn a_sphere_is_seen_before_the_background() {
    let context = Context::open(None).unwrap();
    let system = System { spheres: vec![Sphere::default()], ..System::default() };
    let spheres = Spheres::upload(&context, &system.spheres, &system, None);
    let (scenery, camera) = (Scenery::of(&system), Camera::framing(&system));
    let mut studio = Studio::new(&context, [64, 48]).unwrap();
    let style = Style { flat: true, legend: false, ground: false, ..Style::default() };
    let image = studio.picture(&spheres, &scenery, &camera, &style).unwrap();
    assert_eq!((image.width, image.height, image.rgba.len()), (64, 48, 4 * 64 * 48));
    assert_ne!(image.pixel(32, 24), image.pixel(1, 24));
}
