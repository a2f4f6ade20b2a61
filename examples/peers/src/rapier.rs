//! A case in Rapier with its default parameters.
//!
//! Rapier has no threshold of restitution: every contact with a restitution of 1 bounces. By default it sweeps fast bodies against
//! fixed ones, such as the faces of the box, but not against each other.

use glam::DVec3;
use rapier3d::prelude::{ColliderBuilder, PhysicsWorld, RigidBodyBuilder, RigidBodyHandle, Vector};

use crate::{
    Engine,
    case::{Case, DIAMETER},
};

pub struct Rapier {
    world: PhysicsWorld,
    spheres: Vec<RigidBodyHandle>,
}

/// Half the thickness of the faces of the box.
const HALF: f64 = 1.0;

fn vector(v: DVec3) -> Vector {
    Vector::new(v.x as f32, v.y as f32, v.z as f32)
}

fn from_vector(v: Vector) -> DVec3 {
    DVec3::new(f64::from(v.x), f64::from(v.y), f64::from(v.z))
}

impl Rapier {
    /// With `ccd`, spheres are also swept against each other.
    pub fn new(case: &Case, threads: usize, ccd: bool) -> Self {
        let mut world = PhysicsWorld::new();
        world.gravity = vector(DVec3::NEG_Z * case.gravity);
        world.integration_parameters.dt = case.dt as f32;
        world.physics_pipeline.configure_thread_pool(threads).expect("a thread pool");
        let (friction, restitution) = (case.friction as f32, case.restitution as f32);
        for (center, half) in case.slabs(HALF) {
            let half = vector(half);
            let slab = ColliderBuilder::cuboid(half.x, half.y, half.z)
                .translation(vector(center))
                .friction(friction)
                .restitution(restitution);
            world.colliders.insert(slab);
        }
        let add = |(&center, &velocity): (&DVec3, &DVec3)| {
            let body = RigidBodyBuilder::dynamic()
                .translation(vector(center))
                .linvel(vector(velocity))
                .can_sleep(false)
                .ccd_enabled(ccd);
            let ball = ColliderBuilder::ball(0.5 * DIAMETER as f32)
                .density(case.density as f32)
                .friction(friction)
                .restitution(restitution);
            world.insert(body, ball).0
        };
        let spheres = case.centers.iter().zip(&case.velocities).map(add).collect();
        Self { world, spheres }
    }
}

impl Engine for Rapier {
    fn step(&mut self) {
        self.world.step();
    }

    fn state(&self, centers: &mut Vec<DVec3>, velocities: &mut Vec<DVec3>) {
        centers.clear();
        velocities.clear();
        for &handle in &self.spheres {
            let body = &self.world.bodies[handle];
            centers.push(from_vector(body.translation()));
            velocities.push(from_vector(body.linvel()));
        }
    }
}
