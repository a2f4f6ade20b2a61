//! The drop in Rapier with its default parameters.

use glam::DVec3;
use rapier3d::prelude::{ColliderBuilder, PhysicsWorld, RigidBodyBuilder, RigidBodyHandle, Vector};

use crate::{
    Engine,
    drop::{DIAMETER, Drop, FRICTION, GRAVITY, RESTITUTION},
};

pub struct Rapier {
    world: PhysicsWorld,
    spheres: Vec<RigidBodyHandle>,
}

/// Half the thickness of the floor and the walls.
const HALF: f64 = 1.0;

fn vector(v: DVec3) -> Vector {
    Vector::new(v.x as f32, v.y as f32, v.z as f32)
}

impl Rapier {
    pub fn new(drop: &Drop, threads: usize) -> Self {
        let mut world = PhysicsWorld::new();
        world.gravity = vector(DVec3::NEG_Z * GRAVITY);
        world.integration_parameters.dt = drop.dt as f32;
        world.physics_pipeline.configure_thread_pool(threads).expect("a thread pool");
        let (friction, restitution) = (FRICTION as f32, RESTITUTION as f32);
        for (center, half) in drop.slabs(HALF) {
            let half = vector(half);
            let slab = ColliderBuilder::cuboid(half.x, half.y, half.z)
                .translation(vector(center))
                .friction(friction)
                .restitution(restitution);
            world.colliders.insert(slab);
        }
        let add = |&center: &DVec3| {
            let body = RigidBodyBuilder::dynamic().translation(vector(center)).can_sleep(false);
            let ball =
                ColliderBuilder::ball(0.5 * DIAMETER as f32).friction(friction).restitution(restitution);
            world.insert(body, ball).0
        };
        let spheres = drop.centers.iter().map(add).collect();
        Self { world, spheres }
    }
}

impl Engine for Rapier {
    fn step(&mut self) {
        self.world.step();
    }

    fn centers(&self, centers: &mut Vec<DVec3>) {
        centers.clear();
        centers.extend(self.spheres.iter().map(|&handle| {
            let center = self.world.bodies[handle].translation();
            DVec3::new(f64::from(center.x), f64::from(center.y), f64::from(center.z))
        }));
    }
}
