//! Sets the initial velocities of a group of spheres.

use glam::DVec3;

use super::{Motion, rng::SeededRng};
use crate::{Dimensions, Sphere};

/// Sets the velocities of a group. Fixed spheres are set to rest and left out of the sums.
pub(crate) fn set_in_motion(
    motion: Motion,
    dimensions: Dimensions,
    spheres: &mut [Sphere],
    rng: &mut SeededRng,
) {
    let axes = dimensions.count();
    match motion {
        Motion::Kept => {}
        Motion::Velocity(velocity) => spheres.iter_mut().for_each(|s| s.velocity = velocity),
        Motion::Speed(speed) => spheres.iter_mut().for_each(|s| s.velocity = speed * rng.direction(axes)),
        Motion::Temperature(temperature) => {
            for sphere in spheres.iter_mut() {
                let width = (temperature / sphere.mass).sqrt();
                sphere.velocity = DVec3::ZERO;
                for axis in 0..axes {
                    sphere.velocity[axis] = width * rng.normal();
                }
            }
            to_temperature(temperature, axes, spheres);
        }
    }
    spheres.iter_mut().filter(|s| s.fixed).for_each(|s| s.velocity = DVec3::ZERO);
}

// Removes the momentum and scales the rest; a single sphere would end at rest, so it is left alone.
fn to_temperature(temperature: f64, axes: usize, spheres: &mut [Sphere]) {
    let moving = || spheres.iter().filter(|s| !s.fixed);
    let count = moving().count();
    if count < 2 || temperature == 0.0 {
        return;
    }
    let mass: f64 = moving().map(|s| s.mass).sum();
    let mean = moving().map(|s| s.mass * s.velocity).sum::<DVec3>() / mass;
    let twice: f64 = moving().map(|s| s.mass * (s.velocity - mean).length_squared()).sum();
    let factor = (axes as f64 * count as f64 * temperature / twice).sqrt();
    spheres.iter_mut().for_each(|s| s.velocity = factor * (s.velocity - mean));
}
