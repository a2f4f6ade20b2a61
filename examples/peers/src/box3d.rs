//! A case in Box3D with its default parameters and four substeps, but for the threshold of restitution in the gas.
//!
//! By default Box3D sweeps fast bodies against static ones, such as the faces of the box, but not against each other.

use boxddd_sys::ffi;
use glam::DVec3;

use crate::{
    Engine,
    case::{Case, DIAMETER},
};

/// Substeps that the documentation of Box3D recommends.
const SUBSTEPS: i32 = 4;

/// Half the thickness of the faces of the box.
const HALF: f64 = 1.0;

pub struct Box3d {
    world: ffi::b3WorldId,
    spheres: Vec<ffi::b3BodyId>,
    dt: f32,
}

fn vector(v: DVec3) -> ffi::b3Vec3 {
    ffi::b3Vec3 { x: v.x as f32, y: v.y as f32, z: v.z as f32 }
}

fn from_vector(v: ffi::b3Vec3) -> DVec3 {
    DVec3::new(f64::from(v.x), f64::from(v.y), f64::from(v.z))
}

impl Box3d {
    /// With `ccd`, all spheres are bullets. Box3D sweeps a bullet against dynamic bodies except other bullets, so the spheres are
    /// not swept against each other even then.
    pub fn new(case: &Case, threads: usize, ccd: bool) -> Self {
        // SAFETY: definitions come from Box3D's own defaults, ids from the calls that create them, and pointers outlive the calls.
        unsafe {
            let mut def = ffi::b3DefaultWorldDef();
            def.gravity = vector(DVec3::NEG_Z * case.gravity);
            def.enableSleep = false;
            def.workerCount = threads as u32;
            if case.restitution == 1.0 {
                // The default of 1 m/s makes slower impacts inelastic.
                def.restitutionThreshold = 0.0;
            }
            let world = ffi::b3CreateWorld(&def);
            let mut shape = ffi::b3DefaultShapeDef();
            shape.density = case.density as f32;
            shape.baseMaterial.friction = case.friction as f32;
            shape.baseMaterial.restitution = case.restitution as f32;
            for (center, half) in case.slabs(HALF) {
                let mut body = ffi::b3DefaultBodyDef();
                body.position = vector(center);
                let body = ffi::b3CreateBody(world, &body);
                let half = vector(half);
                let hull = ffi::b3MakeBoxHull(half.x, half.y, half.z);
                ffi::b3CreateHullShape(body, &shape, &hull.base);
            }
            let ball = ffi::b3Sphere { center: vector(DVec3::ZERO), radius: 0.5 * DIAMETER as f32 };
            let add = |(&center, &velocity): (&DVec3, &DVec3)| {
                let mut body = ffi::b3DefaultBodyDef();
                body.type_ = ffi::b3BodyType_b3_dynamicBody;
                body.position = vector(center);
                body.linearVelocity = vector(velocity);
                body.isBullet = ccd;
                let body = ffi::b3CreateBody(world, &body);
                ffi::b3CreateSphereShape(body, &shape, &ball);
                body
            };
            let spheres = case.centers.iter().zip(&case.velocities).map(add).collect();
            Self { world, spheres, dt: case.dt as f32 }
        }
    }
}

impl Engine for Box3d {
    fn step(&mut self) {
        // SAFETY: the world lives until `self` is dropped.
        unsafe { ffi::b3World_Step(self.world, self.dt, SUBSTEPS) }
    }

    fn state(&self, centers: &mut Vec<DVec3>, velocities: &mut Vec<DVec3>) {
        centers.clear();
        velocities.clear();
        for &body in &self.spheres {
            // SAFETY: bodies live as long as their world.
            unsafe {
                centers.push(from_vector(ffi::b3Body_GetPosition(body)));
                velocities.push(from_vector(ffi::b3Body_GetLinearVelocity(body)));
            }
        }
    }
}

impl Drop for Box3d {
    fn drop(&mut self) {
        // SAFETY: nothing uses the world any more.
        unsafe { ffi::b3DestroyWorld(self.world) }
    }
}
