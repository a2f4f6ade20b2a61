//! Colours by contacts, forces and spin, and the force chains.

use std::sync::Arc;

use carom::render::{
    Camera, Colour, ContactNetwork, Differences, Image, Map, Range, RenderWorld, Spheres, Studio, Style,
};
use carom::{Backend, Materials, Options, Plane, Simulation, Sphere, Surface, System};
use glam::DVec3;

use super::tools::{bare, camera, difference, open, picture, sphere, system};

const SIZE: [u32; 2] = [240, 160];

// A column of three spheres at rest on a floor, and one sphere that touches nothing.
fn column(backend: Backend, context: &carom::gpu::Context) -> Simulation {
    let mut system =
        System { gravity: -DVec3::Z, dt: 0.05, materials: Materials::empty(), ..System::default() };
    system.materials.add("stone", Surface { restitution: 0.5, friction: 0.5, ..Surface::default() }, 1.0);
    let floor = Plane { point: DVec3::ZERO, normal: DVec3::Z, material: 0, name: "floor".into() };
    system.walls.push(floor.into());
    system.spheres = (0..3).map(|id| sphere(2 * id, DVec3::Z * (f64::from(id) + 0.5), 0.5)).collect();
    system.spheres.push(Sphere { fixed: true, ..sphere(9, DVec3::new(2.0, 0.0, 1.5), 0.5) });
    let options = Options { backend, context: Some(context.clone()), ..Options::default() };
    let mut simulation = Simulation::new(system, options).unwrap();
    for _ in 0..40 {
        simulation.step().unwrap();
    }
    simulation
}

fn drawn(context: &carom::gpu::Context, simulation: &Simulation, camera: &Camera, style: &Style) -> Image {
    let (all, system) = (simulation.spheres(), simulation.system());
    let mut spheres = match simulation.state_buffers() {
        Some(state) => Spheres::of_state(context, &state, system),
        None => Spheres::upload(context, &all, system, None),
    };
    let network = ContactNetwork::of(&simulation.contacts().unwrap(), &all, system);
    spheres.set_contacts(context, &Arc::new(network));
    Studio::new(context, SIZE)
        .and_then(|mut studio| studio.picture(&spheres, &RenderWorld::of(system), camera, style))
        .unwrap()
}

fn at(image: &Image, camera: &Camera, point: DVec3) -> [u8; 4] {
    let (x, y, _) = camera.project(point, SIZE).unwrap();
    image.pixel(x as u32, y as u32)
}

fn of_map(value: f64) -> [u8; 4] {
    let [r, g, b] = Map::Viridis.colour(value).map(|c| (255.0 * c).round() as u8);
    [r, g, b, 255]
}

#[test]
fn spheres_have_the_colours_of_their_contacts_and_forces() {
    let context = open();
    let camera = camera(DVec3::new(1.0, 0.0, 1.5), 12.0, 24.0);
    for backend in [Backend::Cpu, Backend::Gpu] {
        let simulation = column(backend, &context);
        // From below: the floor carries 3 weights, the sphere on top 1.
        for (colour, most, values) in
            [(Colour::Contacts, 4.0, [2.0, 2.0, 1.0, 0.0]), (Colour::Force, 8.0, [5.0, 3.0, 1.0, 0.0])]
        {
            let style = Style { colour, range: Range::Locked(0.0, most), ..bare() };
            let image = drawn(&context, &simulation, &camera, &style);
            for (sphere, value) in simulation.spheres().iter().zip(values) {
                let (seen, right) = (at(&image, &camera, sphere.position), of_map(value / most));
                assert!(
                    difference(seen, right) <= 3,
                    "{backend:?}, {colour:?} of {}: {seen:?}, not {right:?}",
                    sphere.id
                );
            }
        }
    }
}

#[test]
fn a_known_spin_has_the_colour_that_the_map_gives_it() {
    let context = open();
    let spinning =
        |id: u32, spin: DVec3| Sphere { spin, ..sphere(id, DVec3::X * (1.2 * f64::from(id) - 1.2), 0.5) };
    let mut system = system(vec![
        spinning(0, DVec3::ZERO),
        spinning(1, DVec3::new(0.0, 3.0, -4.0)),
        spinning(2, DVec3::X * 8.0),
    ]);
    // The unit of velocity is not 1.
    system.spheres[0].velocity = DVec3::X * 37.0;
    let camera = camera(DVec3::ZERO, 8.0, 30.0);
    let style = Style { colour: Colour::Spin, range: Range::Locked(0.0, 10.0), ..bare() };
    let image = picture(&context, &system, &camera, &style, SIZE);
    for (sphere, spin) in system.spheres.iter().zip([0.0, 5.0, 8.0]) {
        let (seen, right) = (at(&image, &camera, sphere.position), of_map(spin / 10.0));
        assert!(difference(seen, right) <= 3, "spin {spin}: {seen:?}, not {right:?}");
    }
}

#[test]
fn a_known_difference_has_the_colour_of_its_power_of_ten() {
    let context = open();
    let all = system((0..3).map(|k| sphere(k, DVec3::X * (1.2 * f64::from(k) - 1.2), 0.5)).collect());
    let camera = camera(DVec3::ZERO, 8.0, 30.0);
    let mut spheres = Spheres::upload(&context, &all.spheres, &all, None);
    spheres.set_differences(&context, &Arc::new(Differences::of(&[0.0, 1e-6, 1.0])));
    let style = Style { colour: Colour::Difference, range: Range::Automatic, ..bare() };
    let image = Studio::new(&context, SIZE)
        .and_then(|mut studio| studio.picture(&spheres, &RenderWorld::of(&all), &camera, &style))
        .unwrap();
    for (sphere, share) in all.spheres.iter().zip([0.0, 3.0 / 9.0, 1.0]) {
        let (seen, right) = (at(&image, &camera, sphere.position), of_map(share));
        assert!(difference(seen, right) <= 3, "{}: {seen:?}, not {right:?}", sphere.id);
    }
}

#[test]
fn chains_join_the_centres_and_are_wider_where_the_force_is_larger() {
    let context = open();
    let camera = camera(DVec3::new(1.0, 0.0, 1.5), 12.0, 24.0);
    let simulation = column(Backend::Cpu, &context);
    let plain = drawn(&context, &simulation, &camera, &bare());
    let chains = drawn(&context, &simulation, &camera, &Style { chains: true, ..bare() });
    // Number of pixels across the column that differ at this height.
    let width = |z: f64| {
        let (_, y, _) = camera.project(DVec3::Z * z, SIZE).unwrap();
        (0..SIZE[0]).filter(|&x| difference(plain.pixel(x, y as u32), chains.pixel(x, y as u32)) > 20).count()
    };
    let widths = [0.25, 1.0, 2.0].map(width);
    assert!(widths[0] > widths[1] && widths[1] > widths[2] && widths[2] > 0, "{widths:?}");
    // A link ends at the centre of the sphere on top, and the free sphere has none.
    assert_eq!(width(2.8), 0);
    let free = DVec3::new(2.0, 0.0, 1.5);
    assert_eq!(at(&plain, &camera, free), at(&chains, &camera, free));
}
