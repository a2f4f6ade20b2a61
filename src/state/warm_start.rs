//! Impulses of contact constraints, and the cache that warm-starts the next substep.

use std::collections::HashSet;

use glam::{DVec3, Vec3};

use crate::{Partner, state::units::Units};

/// Impulse of a contact on the first sphere during a substep; the second sphere receives the opposite.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub struct ContactImpulse {
    /// Along the normal, >= 0.
    pub normal: f32,
    /// Friction, in the plane of contact.
    pub tangent: Vec3,
    /// Angular impulse against rolling (in the plane) and twisting (along the normal).
    pub moment: Vec3,
}

/// Impulses of all resting contacts for the next substep, in the user's units, and the sleep timers. The cache can outlive its engine.
#[derive(Clone, Debug, Default)]
pub struct WarmStartCache {
    /// Length of the substep in which these impulses acted.
    pub h: f64,
    pub kept: Vec<CachedImpulse>,
    /// Ids of the spheres whose sleep timers run, each with its ticks.
    pub sleep_timers: Vec<(u32, u32)>,
}

impl WarmStartCache {
    /// Restarts the sleep timers of the `disturbed` spheres, which may be absent by now, and of all spheres that touched them.
    pub fn wake(&mut self, disturbed: impl Fn(u32) -> bool) {
        let mut woken = HashSet::new();
        for kept in &self.kept {
            if let Partner::Sphere(partner) = kept.partner {
                if disturbed(partner) {
                    woken.insert(kept.sphere);
                }
                if disturbed(kept.sphere) {
                    woken.insert(partner);
                }
            }
        }
        self.sleep_timers.retain(|(id, _)| !disturbed(*id) && !woken.contains(id));
    }
}

/// One cached contact impulse.
#[derive(Clone, Copy, Debug)]
pub struct CachedImpulse {
    /// Id of the sphere; for a pair the smaller id.
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

    /// The impulse in scaled units, or `None` if it is not finite because the sphere's state was not.
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
