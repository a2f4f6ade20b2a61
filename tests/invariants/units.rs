//! Results in other units of length, time and mass.

use carom::{
    Backend, Oscillation, Simulation, Sphere, Surface, System, WallMotion, WallShape,
    scene::{Fill, Scene, Wall},
};
use glam::DVec3;

use crate::support::{gas, options};

on_each_backend!(a_gas_is_the_same_in_other_units);
on_each_engine!(a_pour_is_the_same_in_other_units);

/// Powers of two of the units of length, time and mass. They change exponents only, so no result may change in any other bit. A marble in
/// metres, a colloid in metres, a slow motion, and a heap of planets.
const UNITS: [[i32; 3]; 4] = [[-6, -3, -5], [-20, -10, -40], [0, 9, 0], [23, 3, 80]];

// The same system with other units.
fn in_units(system: &System, [length, time, mass]: [f64; 3]) -> System {
    let speed = length / time;
    let mut system = system.clone();
    system.gravity *= speed / time;
    system.dt *= time;
    system.bounds.min *= length;
    system.bounds.max *= length;
    let mut surface = *system.materials.surface(0, 0);
    surface.restitution_threshold *= speed;
    system.materials.set_surface(0, 0, surface);
    for wall in &mut system.walls {
        wall.shape = wall.shape.scaled(DVec3::ZERO, length).unwrap();
        wall.span = wall.span.map(|at| at * time);
        wall.motion.velocity *= speed;
        if let Some(Oscillation { amplitude, frequency, .. }) = &mut wall.motion.oscillation {
            *amplitude *= length;
            *frequency /= time;
        }
    }
    for sphere in &mut system.spheres {
        sphere.position *= length;
        sphere.velocity *= speed;
        sphere.spin /= time;
        sphere.radius *= length;
        sphere.mass *= mass;
    }
    system
}

// The spheres after some steps, in the units of the original.
fn after(system: &System, units: [f64; 3], backend: Backend, steps: u32) -> (Vec<Sphere>, [u64; 3]) {
    let mut simulation = Simulation::new(in_units(system, units), options(backend)).unwrap();
    for _ in 0..steps {
        simulation.step().unwrap();
    }
    let [length, time, mass] = units.map(f64::recip);
    let mut spheres = simulation.spheres();
    for sphere in &mut spheres {
        sphere.position *= length;
        sphere.velocity *= length / time;
        sphere.spin /= time;
        sphere.radius *= length;
        sphere.mass *= mass;
    }
    let s = simulation.summary();
    (spheres, [s.pair_impacts, s.crowded, s.substeps])
}

fn compare(system: &System, backend: Backend, steps: u32) {
    let (spheres, counts) = after(system, [1.0; 3], backend, steps);
    println!("{backend:?}: impacts, crowded, substeps {counts:?}");
    assert!(counts[0] > 500, "too few impacts to tell: {}", counts[0]);
    for powers in UNITS {
        let (others, their_counts) = after(system, powers.map(|power| 2_f64.powi(power)), backend, steps);
        assert_eq!(counts, their_counts, "units of 2^{powers:?}");
        assert_eq!(spheres.len(), others.len());
        for (one, other) in spheres.iter().zip(&others) {
            assert_eq!(one, other, "units of 2^{powers:?}");
        }
    }
}

fn a_gas_is_the_same_in_other_units(backend: Backend) {
    compare(&gas(500, 71), backend, 20);
}

// Grains of two sizes in a box slide down a plane onto a floor that shakes, through a funnel that disappears.
fn a_pour_is_the_same_in_other_units(backend: Backend) {
    let fill =
        Fill::random(300).diameters([(0.8, 0.5), (1.2, 0.5)]).region([0.0, 0.0, 6.0], [8.0, 8.0, 16.0]);
    let surface = Surface {
        restitution: 0.3,
        friction: 0.5,
        rolling_friction: 0.02,
        twisting_friction: 0.01,
        restitution_threshold: 0.1,
    };
    let funnel = WallShape::Cone {
        from: DVec3::new(4.0, 4.0, 2.0),
        to: DVec3::new(4.0, 4.0, 5.0),
        radii: [1.5, 6.0],
        closed: [false; 2],
    };
    let floor =
        WallShape::Disc { center: DVec3::new(4.0, 4.0, 1.0), normal: DVec3::Z, radius: 3.0, hole: 0.0 };
    let shakes = WallMotion {
        velocity: DVec3::Z * 0.02,
        oscillation: Some(Oscillation { amplitude: DVec3::Z * 0.2, frequency: 0.5, phase: 0.0 }),
        ..WallMotion::default()
    };
    let system = Scene::new(0.05)
        .seed(72)
        .gravity([0.0, 0.0, -1.0])
        .bounds([0.0; 3], [8.0, 8.0, 16.0])
        .walled()
        .surface("default", surface, 1.0)
        .wall([0.0, 0.0, 1.0], [0.5, 0.2, 1.0], "default")
        .surface_wall(Wall::new(funnel, "default").there(0.0, 4.0))
        .surface_wall(Wall::new(floor, "default").moving(shakes))
        .fill(fill)
        .build()
        .unwrap();
    compare(&system, backend, 120);
}
