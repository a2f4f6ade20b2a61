//! The drop in carom.

use carom::{Backend, Materials, Options, Simulation, Sphere, Surface, System, Wall, WallShape};
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
        let far = DVec3::new(drop.width, drop.width, 0.0);
        for (name, point, normal) in [
            ("floor", DVec3::ZERO, DVec3::Z),
            ("left", DVec3::ZERO, DVec3::X),
            ("front", DVec3::ZERO, DVec3::Y),
            ("right", far, DVec3::NEG_X),
            ("back", far, DVec3::NEG_Y),
        ] {
            system.walls.push(Wall::new(WallShape::Plane { point, normal }, 0, name));
        }
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
