//! Impulses of contact constraints, and the cache that warm-starts the next substep.

use glam::{DVec3, Vec3};

use crate::{Partner, state::units::Units};

/// What a contact does to the first sphere in a substep; the opposite to the second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub struct ContactImpulse {
    /// Along the normal, >= 0.
    pub normal: f32,
    /// Friction, in the plane of contact.
    pub tangent: Vec3,
    /// Angular unit against rolling (in the plane) and twisting (along the normal).
    pub moment: Vec3,
}

/// What all contacts that rest hand on to the next substep, in the user's units: it outlives an engine.
#[derive(Clone, Debug, Default)]
pub struct WarmStartCache {
    /// Length of the substep that they are of.
    pub h: f64,
    pub kept: Vec<CachedImpulse>,
}

/// One of them.
#[derive(Clone, Copy, Debug)]
pub struct CachedImpulse {
    /// Id; of two spheres the smaller.
    pub sphere: u32,
    pub partner: Partner,
    normal: f64,
    tangent: DVec3,
    moment: DVec3,
}

impl CachedImpulse {
    pub fn new(sphere: u32, partner: Partner, impulse: ContactImpulse, units: &Units) -> Self {
        let unit = units.mass * units.velocity();
        Self {
            sphere,
            partner,
            normal: f64::from(impulse.normal) * unit,
            tangent: impulse.tangent.as_dvec3() * unit,
            moment: impulse.moment.as_dvec3() * (unit * units.length),
        }
    }

    /// None if it is not finite: it is of a sphere that was not.
    pub fn load(&self, units: &Units) -> Option<ContactImpulse> {
        let unit = units.mass * units.velocity();
        let normal = (self.normal / unit) as f32;
        let tangent = (self.tangent / unit).as_vec3();
        let moment = (self.moment / (unit * units.length)).as_vec3();
        (normal.is_finite() && tangent.is_finite() && moment.is_finite()).then_some(ContactImpulse {
            normal,
            tangent,
            moment,
        })
    }
}
