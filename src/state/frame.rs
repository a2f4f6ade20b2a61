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

    /// Velocity in the falling frame of a sphere that contacts hold at rest during the whole substep.
    #[inline]
    pub fn velocity_at_rest(&self) -> Vec3 {
        Vec3::ZERO - self.gravity * (self.h - 0.5 * self.h)
    }

    /// Longest path in the substep, relative to the drift, of a sphere at rest: fixed, held by contacts, or with no contact yet.
    pub fn path_at_rest(&self) -> f32 {
        let free = [Vec3::ZERO, self.velocity_at_rest()].map(|u| self.path(u, 1.0, 0.0));
        free.into_iter().fold(self.path(Vec3::ZERO, 0.0, 0.0), f32::max)
    }
}
