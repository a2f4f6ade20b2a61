//! The drop in carom.

use carom::{Backend, Bounds, Materials, Options, Side, Simulation, Sphere, Surface, System};
use glam::DVec3;

use crate::{
    Engine,
    drop::{DIAMETER, Drop, FRICTION, GRAVITY, RESTITUTION},
};

pub struct Carom(Simulation);

impl Carom {
    pub fn new(drop: &Drop, threads: usize) -> Self {
        let mut system = System {
            dt: drop.dt,
            gravity: DVec3::NEG_Z * GRAVITY,
            materials: Materials::empty(),
            ..System::default()
        };
        system.solver.sleeping = false;
        let surface = Surface { restitution: RESTITUTION, friction: FRICTION, ..Surface::default() };
        system.materials.add("default", surface, 1.0);
        // The lid is out of reach.
        let top = drop.centers.iter().map(|center| center.z).fold(0.0, f64::max) + DIAMETER;
        system.bounds =
            Bounds { max: DVec3::new(drop.width, drop.width, top), sides: [Side::Wall; 3], ..Bounds::default() };
        for (id, &position) in drop.centers.iter().enumerate() {
            let radius = 0.5 * DIAMETER;
            system.spheres.push(Sphere { id: id as u32, position, radius, ..Sphere::default() });
        }
        let options = Options { backend: Backend::Cpu, threads, ..Options::default() };
        Self(Simulation::new(system, options).expect("a valid system"))
    }
}

impl Engine for Carom {
    fn step(&mut self) {
        self.0.step().expect("a step");
    }

    fn centers(&self, centers: &mut Vec<DVec3>) {
        centers.clear();
        centers.extend(self.0.spheres().iter().map(|sphere| sphere.position));
    }
}
