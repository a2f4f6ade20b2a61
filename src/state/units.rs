//! Scaled units: powers of two near the length, time and mass scales of the system. In scaled units f32 does not overflow,
//! whatever units the user chose, and the conversion to and from them is exact.

use crate::{Sphere, System};

/// Scaled units in the user's units; each is a power of two.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "files", derive(serde::Deserialize, serde::Serialize))]
pub struct Units {
    /// Near the mean diameter.
    pub length: f64,
    /// Near the outer step.
    pub time: f64,
    /// Near the mean mass.
    pub mass: f64,
}

impl Units {
    pub fn new(system: &System) -> Self {
        Self {
            length: power_of_two(mean(system, |s| 2.0 * s.radius)),
            time: power_of_two(system.dt),
            mass: power_of_two(mean(system, |s| s.mass)),
        }
    }

    /// Size of the unit of velocity.
    pub fn velocity(&self) -> f64 {
        self.length / self.time
    }

    /// Size of the unit of acceleration.
    pub fn acceleration(&self) -> f64 {
        self.length / (self.time * self.time)
    }

    /// Size of the unit of energy.
    pub fn energy(&self) -> f64 {
        self.mass * self.velocity() * self.velocity()
    }
}

/// Mean over the movable spheres, because fixed ones may have any size and mass; over all if none is movable; 1 without
/// spheres.
pub fn mean(system: &System, size: impl Fn(&Sphere) -> f64) -> f64 {
    let free = || system.spheres.iter().filter(|s| !s.fixed);
    let (count, all) = (free().count(), system.spheres.len());
    if count > 0 {
        free().map(size).sum::<f64>() / count as f64
    } else if all > 0 {
        system.spheres.iter().map(size).sum::<f64>() / all as f64
    } else {
        1.0
    }
}

// The nearest power of two on a logarithmic scale, clamped so that the square of a unit stays a normal f64.
fn power_of_two(x: f64) -> f64 {
    x.log2().round().clamp(-250.0, 250.0).exp2()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_powers_of_two_near_the_sizes_of_the_system() {
        let sphere = Sphere { radius: 2.6e-3, mass: 1.8e-4, ..Sphere::default() };
        let units = Units::new(&System { dt: 1e-3, spheres: vec![sphere], ..System::default() });
        for (unit, size) in [(units.length, 5.2e-3), (units.time, 1e-3), (units.mass, 1.8e-4)] {
            assert_eq!(unit.log2().fract(), 0.0);
            assert!((0.7..1.42).contains(&(size / unit)), "{unit} for {size}");
        }
    }
}
