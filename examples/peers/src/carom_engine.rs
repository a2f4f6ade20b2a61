//! A case in carom.

use carom::{Backend, Bounds, Materials, Options, Side, Simulation, Sphere, Surface, System};
use glam::DVec3;

use crate::{
    Engine,
    case::{Case, DIAMETER},
};

pub struct Carom(Simulation);

impl Carom {
    /// `Backend::Exact` runs on one thread, whatever `threads` is.
    pub fn new(case: &Case, threads: usize, backend: Backend) -> Self {
        let mut system = System {
            dt: case.dt,
            gravity: DVec3::NEG_Z * case.gravity,
            materials: Materials::empty(),
            ..System::default()
        };
        system.solver.sleeping = false;
        let surface =
            Surface { restitution: case.restitution, friction: case.friction, ..Surface::default() };
        system.materials.add("default", surface, case.density);
        // carom closes every box; the lid of an open box is out of reach.
        let highest = case.centers.iter().map(|center| center.z).fold(0.0, f64::max);
        let top = if case.has_lid { case.height } else { highest + DIAMETER };
        system.bounds = Bounds {
            max: DVec3::new(case.width, case.width, top),
            sides: [Side::Wall; 3],
            ..Bounds::default()
        };
        for (id, (&position, &velocity)) in case.centers.iter().zip(&case.velocities).enumerate() {
            let (id, radius) = (id as u32, 0.5 * DIAMETER);
            system.spheres.push(Sphere { id, position, velocity, radius, ..Sphere::default() });
        }
        let options = Options { backend, threads, ..Options::default() };
        Self(Simulation::new(system, options).expect("a valid system"))
    }
}

impl Engine for Carom {
    fn step(&mut self) {
        self.0.step().expect("a step");
    }

    fn state(&self, centers: &mut Vec<DVec3>, velocities: &mut Vec<DVec3>) {
        centers.clear();
        velocities.clear();
        for sphere in self.0.spheres() {
            centers.push(sphere.position);
            velocities.push(sphere.velocity);
        }
    }
}
