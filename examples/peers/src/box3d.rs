//! The drop in Box3D with its default parameters and four substeps.

use boxddd_sys::ffi;
use glam::DVec3;

use crate::{
    Engine,
    drop::{DIAMETER, Drop, FRICTION, GRAVITY, RESTITUTION},
};

/// Substeps that the documentation of Box3D recommends.
const SUBSTEPS: i32 = 4;

/// Half the thickness of the floor and the walls.
const HALF: f64 = 1.0;

pub struct Box3d {
    world: ffi::b3WorldId,
    spheres: Vec<ffi::b3BodyId>,
    dt: f32,
}

fn vector(v: DVec3) -> ffi::b3Vec3 {
    ffi::b3Vec3 { x: v.x as f32, y: v.y as f32, z: v.z as f32 }
}

impl Box3d {
    pub fn new(drop: &Drop, threads: usize) -> Self {
        // SAFETY: definitions come from Box3D's own defaults, ids from the calls that create them, and pointers outlive the calls.
        unsafe {
            let mut def = ffi::b3DefaultWorldDef();
            def.gravity = vector(DVec3::NEG_Z * GRAVITY);
            def.enableSleep = false;
            def.workerCount = threads as u32;
            let world = ffi::b3CreateWorld(&def);
            let mut shape = ffi::b3DefaultShapeDef();
            shape.density = 1.0;
            shape.baseMaterial.friction = FRICTION as f32;
            shape.baseMaterial.restitution = RESTITUTION as f32;
            for (center, half) in drop.slabs(HALF) {
                let mut body = ffi::b3DefaultBodyDef();
                body.position = vector(center);
                let body = ffi::b3CreateBody(world, &body);
                let half = vector(half);
                let hull = ffi::b3MakeBoxHull(half.x, half.y, half.z);
                ffi::b3CreateHullShape(body, &shape, &hull.base);
            }
            let ball = ffi::b3Sphere { center: vector(DVec3::ZERO), radius: 0.5 * DIAMETER as f32 };
            let add = |&center: &DVec3| {
                let mut body = ffi::b3DefaultBodyDef();
                body.type_ = ffi::b3BodyType_b3_dynamicBody;
                body.position = vector(center);
                let body = ffi::b3CreateBody(world, &body);
                ffi::b3CreateSphereShape(body, &shape, &ball);
                body
            };
            let spheres = drop.centers.iter().map(add).collect();
            Self { world, spheres, dt: drop.dt as f32 }
        }
    }
}

impl Engine for Box3d {
    fn step(&mut self) {
        // SAFETY: the world lives until `self` is dropped.
        unsafe { ffi::b3World_Step(self.world, self.dt, SUBSTEPS) }
    }

    fn centers(&self, centers: &mut Vec<DVec3>) {
        centers.clear();
        centers.extend(self.spheres.iter().map(|&body| {
            // SAFETY: bodies live as long as their world.
            let center = unsafe { ffi::b3Body_GetPosition(body) };
            DVec3::new(f64::from(center.x), f64::from(center.y), f64::from(center.z))
        }));
    }
}

impl std::ops::Drop for Box3d {
    fn drop(&mut self) {
        // SAFETY: nothing uses the world any more.
        unsafe { ffi::b3DestroyWorld(self.world) }
    }
}
