//! Drag of a medium at rest. Half of the drag of a step acts before the step and half after, each by its exact decay factor.
//!
//! With this splitting the relative error of a terminal velocity is (drag dt)^2 / 24 (Strang, SIAM J. Numer. Anal. 5, 506,
//! 1968). If all of the drag acted after the step, the relative error would be drag dt / 2.

use glam::Vec4;
use rayon::prelude::*;

use super::parallel::TASK;

/// Multiplies every velocity by `factor` and returns the energy lost. The fourth component of `motion` is the inverse mass.
pub fn slow(motion: &mut [Vec4], factor: f64) -> f64 {
    if factor == 1.0 {
        return 0.0;
    }
    let slow = |motion: &mut Vec4| {
        let before = motion.truncate().as_dvec3();
        let after = (before * factor).as_vec3();
        let inverse_mass = motion.w;
        if inverse_mass == 0.0 {
            return 0.0;
        }
        *motion = after.extend(inverse_mass);
        0.5 / f64::from(inverse_mass) * (before.length_squared() - after.as_dvec3().length_squared())
    };
    // Summed task by task, so that the order of the sum does not depend on the number of threads.
    let lost: Vec<f64> = motion.par_chunks_mut(TASK).map(|task| task.iter_mut().map(slow).sum()).collect();
    lost.iter().sum()
}
