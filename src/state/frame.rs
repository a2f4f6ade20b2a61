//! The reference frame of a substep. The frame falls freely, and paths are measured relative to the drift of the bulk.
//!
//! In a freely falling frame, spheres in flight move on straight lines: with t from the start of the substep,
//! y = x - g t^2/2 and u = v - g t. Gravity appears only in the motion relative to planes and fixed spheres.

use glam::Vec3;

/// One substep in scaled units.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// Length of the substep.
    pub h: f32,
    pub gravity: Vec3,
    /// Velocity of the bulk at the start of the substep, as the broad phase assumed it.
    pub drift: Vec3,
    /// Displacement of the bulk since the broad phase, at the start of the substep.
    pub drifted: Vec3,
}

impl Frame {
    /// Length of the path from time `t` to the end of the substep, relative to the drift, of a sphere with velocity `u`
    /// in the falling frame. Fixed spheres rest in the lab frame.
    #[inline]
    pub fn path(&self, u: Vec3, inverse_mass: f32, t: f32) -> f32 {
        let left = self.h - t;
        if inverse_mass > 0.0 {
            (u - self.drift).length() * left
        } else {
            self.drift.length() * left + 0.5 * self.gravity.length() * (self.h * self.h - t * t)
        }
    }
}
