//! A scene looks the same for every location of its spheres: in the engine's buffers, copied, uploaded, far from the
//! origin.

use carom::render::{Camera, Range, RenderWorld, Spheres, Studio, Style};
use carom::scene::{Fill, Scene};
use carom::{Backend, Options, Simulation, Sphere, System};
use glam::DVec3;

use super::tools::{bare, different, open};

const SIZE: [u32; 2] = [200, 150];

fn gas() -> System {
    let gas = Fill::random(500).volume_fraction(0.2).temperature(3.0);
    Scene::new(1.0 / 60.0).periodic().fill(gas).build().unwrap()
}

#[test]
fn a_state_on_the_device_a_copy_of_it_and_uploaded_spheres_look_alike() {
    let context = open();
    let system = gas();
    let options = Options { backend: Backend::Gpu, context: Some(context.clone()), ..Options::default() };
    let mut simulation = Simulation::new(system.clone(), options).unwrap();
    let mut studio = Studio::new(&context, SIZE).unwrap();
    let (render_world, camera) = (RenderWorld::of(&system), Camera::framing(&system));
    // An automatic range depends on previous pictures.
    let style = Style { legend: false, range: Range::Locked(0.0, 5.0), ..Style::default() };
    let state = simulation.state_buffers().unwrap();
    let mut there = Spheres::of_state(&context, &state, &system);
    let mut copy = Spheres::upload(&context, &system.spheres, &system, None);
    let before = studio.picture(&there, &render_world, &camera, &style).unwrap();
    for _ in 0..20 {
        simulation.step().unwrap();
    }
    let state = simulation.state_buffers().unwrap();
    there.follow(&state);
    copy.snapshot(&context, &state);
    let uploaded = Spheres::upload(&context, &simulation.spheres(), &system, None);
    assert_eq!([there.count(), copy.count(), uploaded.count()], [500; 3]);
    let mut draw = |spheres: &Spheres| studio.picture(spheres, &render_world, &camera, &style).unwrap();
    let (a, b, c) = (draw(&there), draw(&copy), draw(&uploaded));
    assert_eq!(different(&a, &b, 0), 0, "a copy looks different");
    // Positions differ in the last bits: an edge may fall on the other side of a sample, a shadow on another texel.
    let off = different(&a, &c, 24);
    assert!(off < 60, "{off} pixels differ");
    assert!(different(&a, &before, 24) > 2000, "twenty steps change nothing");
}

#[test]
fn uploaded_spheres_are_replaced_by_others() {
    let context = open();
    let system = gas();
    let mut studio = Studio::new(&context, SIZE).unwrap();
    let (render_world, camera) = (RenderWorld::of(&system), Camera::framing(&system));
    let few = &system.spheres[..100];
    let mut spheres = Spheres::upload(&context, few, &system, None);
    let mut draw = |spheres: &Spheres| studio.picture(spheres, &render_world, &camera, &bare()).unwrap();
    let sparse = draw(&spheres);
    spheres.update(&context, &system.spheres, None);
    let full = draw(&spheres);
    assert_eq!(full, draw(&Spheres::upload(&context, &system.spheres, &system, None)));
    spheres.update(&context, few, None);
    assert_eq!(sparse, draw(&spheres));
    assert!(different(&sparse, &full, 10) > 1000);
}

#[test]
fn far_from_the_origin_looks_like_near_it() {
    let context = open();
    let near = gas();
    let draw = |shift: DVec3| {
        let mut system = near.clone();
        system.bounds.min += shift;
        system.bounds.max += shift;
        for sphere in &mut system.spheres {
            sphere.position += shift;
        }
        let spheres = Spheres::upload(&context, &system.spheres, &system, None);
        let style = Style { legend: false, ..Style::default() };
        let mut studio = Studio::new(&context, SIZE).unwrap();
        studio.picture(&spheres, &RenderWorld::of(&system), &Camera::framing(&system), &style).unwrap()
    };
    let here = draw(DVec3::ZERO);
    for distance in [1e4, 1e7] {
        let there = draw(DVec3::new(distance, -distance, 0.7 * distance));
        let off = different(&here, &there, 24);
        assert!(off < 60, "{distance}: {off} pixels differ");
    }
    let moved = draw(DVec3::ZERO);
    assert_eq!(here, moved, "the same picture twice");
}

#[test]
fn spheres_that_left_a_periodic_box_are_drawn_inside_it() {
    let context = open();
    let mut system = gas();
    let mut studio = Studio::new(&context, SIZE).unwrap();
    let (render_world, camera) = (RenderWorld::of(&system), Camera::framing(&system));
    let mut draw = |spheres: &[Sphere]| {
        let spheres = Spheres::upload(&context, spheres, &system, None);
        studio.picture(&spheres, &render_world, &camera, &bare()).unwrap()
    };
    let inside = draw(&system.spheres);
    let period = system.period(0).unwrap();
    let mut spheres = system.spheres.clone();
    for (k, sphere) in spheres.iter_mut().enumerate() {
        sphere.position += period * DVec3::new([-2.0, 0.0, 1.0][k % 3], 1.0, -3.0);
    }
    let off = different(&inside, &draw(&spheres), 24);
    assert!(off < 60, "{off} pixels differ");
    system.bounds.sides = [carom::Side::Open; 3];
    let mut studio = Studio::new(&context, SIZE).unwrap();
    let open = Spheres::upload(&context, &spheres, &system, None);
    let elsewhere = studio.picture(&open, &render_world, &camera, &bare()).unwrap();
    assert!(different(&inside, &elsewhere, 24) > 1000, "nothing had left");
}
