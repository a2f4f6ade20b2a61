//! Worlds with sources and sinks.

use carom::{
    Backend, Bounds, Materials, Options, Side, Simulation, Sink, Source, Sphere, Surface, System, Wall,
    WallShape,
};
use glam::DVec3;

pub fn on(backend: Backend, system: System) -> Simulation {
    Simulation::new(system, Options { backend, ..Options::default() }).unwrap_or_else(|e| panic!("{e}"))
}

/// An open, empty world without gravity, with a source box high up that has free space.
pub fn shower(rate: f64, dt: f64) -> System {
    let mut system = System { dt, ..System::default() };
    let velocity = DVec3::NEG_Z * 12.0;
    system.sources.push(Source { velocity, ..Source::new(DVec3::ZERO, DVec3::new(10.0, 10.0, 3.0), rate) });
    system
}

/// A box with a floor onto which grains fall, with a hole of width `hole` above a sink.
pub fn hopper(hole: f64) -> System {
    let mut system = System {
        dt: 1.0 / 120.0,
        gravity: DVec3::NEG_Z * 9.81,
        materials: Materials::empty(),
        bounds: Bounds {
            min: DVec3::new(0.0, 0.0, -4.0),
            max: DVec3::new(6.0, 6.0, 14.0),
            sides: [Side::Wall, Side::Wall, Side::Open],
            material: 0,
        },
        ..System::default()
    };
    let surface = Surface { restitution: 0.5, friction: 0.3, ..Surface::default() };
    system.materials.add("grain", surface, 1.0);
    let floor = WallShape::Disc {
        center: DVec3::new(3.0, 3.0, 0.0),
        normal: DVec3::Z,
        radius: 6.0,
        hole: 0.5 * hole,
    };
    system.walls.push(Wall::new(floor, 0, "floor"));
    system.sources.push(Source {
        diameters: vec![(1.0, 0.5), (0.7, 0.5)],
        velocity: DVec3::NEG_Z * 4.0,
        spread: 0.3,
        ..Source::new(DVec3::new(0.0, 0.0, 10.0), DVec3::new(6.0, 6.0, 13.0), 60.0)
    });
    let below = (DVec3::new(-1.0, -1.0, -8.0), DVec3::new(7.0, 7.0, -2.0));
    system.sinks.push(Sink::new(below.0, below.1, "drain"));
    system
}

/// A sphere of diameter 1 at rest.
pub fn sphere(id: u32, position: DVec3) -> Sphere {
    Sphere { id, position, ..Sphere::default() }
}

pub fn ids(simulation: &Simulation) -> Vec<u32> {
    simulation.spheres().iter().map(|sphere| sphere.id).collect()
}
