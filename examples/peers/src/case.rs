//! The cases: a block of spheres that falls into an open box, and a gas in a closed box.

use std::{fs::File, io, io::Write, path::Path};

use carom::scene::{Fill, Scene};
use glam::DVec3;

/// Diameter of all spheres.
pub const DIAMETER: f64 = 1.0;

/// Restitution of the drop.
const DROP_RESTITUTION: f64 = 0.3;
/// Coefficient of friction of the drop.
const DROP_FRICTION: f64 = 0.5;
/// Acceleration of gravity of the drop, along -z.
const DROP_GRAVITY: f64 = 9.81;
/// Distance of neighbours in the block of the drop, in diameters.
const SPACING: f64 = 1.1;
/// Largest displacement from the sites of the lattice along each axis, in diameters.
const JITTER: f64 = 0.04;

/// kT of the gas.
const TEMPERATURE: f64 = 3.0;

/// The start of every engine.
#[derive(Clone)]
pub struct Case {
    pub centers: Vec<DVec3>,
    /// Velocities of the spheres; none of them spins.
    pub velocities: Vec<DVec3>,
    /// Edge of the floor, which begins at the origin.
    pub width: f64,
    /// Height of the walls.
    pub height: f64,
    /// Whether a lid closes the box.
    pub has_lid: bool,
    /// Acceleration of gravity, along -z.
    pub gravity: f64,
    /// Restitution, also of the box.
    pub restitution: f64,
    /// Coefficient of friction, also of the box.
    pub friction: f64,
    /// Mass/volume of the spheres.
    pub density: f64,
    /// Length of a step, in seconds.
    pub dt: f64,
}

impl Case {
    /// A cubic block with `edge` spheres along each axis, a little disordered, above the floor of an open box.
    pub fn drop(edge: usize, dt: f64) -> Self {
        let mut rng = fastrand::Rng::with_seed(7);
        let mut jitter = || JITTER * (2.0 * rng.f64() - 1.0);
        let mut centers = vec![];
        for k in 0..edge.pow(3) {
            let site = DVec3::new((k % edge) as f64, (k / edge % edge) as f64, (k / edge / edge) as f64);
            centers.push(SPACING * (site + 0.5) + DVec3::new(jitter(), jitter(), jitter()));
        }
        let width = SPACING * edge as f64;
        Self {
            velocities: vec![DVec3::ZERO; centers.len()],
            centers,
            width,
            // The walls are higher than the block.
            height: 2.0 * width,
            has_lid: false,
            gravity: DROP_GRAVITY,
            restitution: DROP_RESTITUTION,
            friction: DROP_FRICTION,
            density: 1.0,
            dt,
        }
    }

    /// `edge`^3 smooth elastic spheres of mass 1 at random positions in a closed cube, with speeds of Maxwell's distribution.
    ///
    /// # Errors
    /// If carom's scene builder refuses the volume fraction.
    pub fn gas(edge: usize, volume_fraction: f64, dt: f64) -> Result<Self, carom::Error> {
        let spheres = Fill::random(edge.pow(3) as u64)
            .diameter(DIAMETER)
            .volume_fraction(volume_fraction)
            .temperature(TEMPERATURE);
        let system = Scene::new(dt).walled().fill(spheres).build()?;
        Ok(Self {
            centers: system.spheres.iter().map(|sphere| sphere.position).collect(),
            velocities: system.spheres.iter().map(|sphere| sphere.velocity).collect(),
            width: system.bounds.max.x,
            height: system.bounds.max.z,
            has_lid: true,
            gravity: 0.0,
            restitution: 1.0,
            friction: 0.0,
            density: system.materials.density(0),
            dt,
        })
    }

    /// The faces of the box as boxes of thickness `2 half` for engines without infinite planes: centre and half edges of each.
    pub fn slabs(&self, half: f64) -> Vec<(DVec3, DVec3)> {
        let (w, h) = (0.5 * self.width, 0.5 * self.height);
        let flat = DVec3::new(w + 2.0 * half, w + 2.0 * half, half);
        let across = DVec3::new(half, w + 2.0 * half, h);
        let along = DVec3::new(w + 2.0 * half, half, h);
        let mut slabs = vec![
            (DVec3::new(w, w, -half), flat),
            (DVec3::new(-half, w, h), across),
            (DVec3::new(2.0 * w + half, w, h), across),
            (DVec3::new(w, -half, h), along),
            (DVec3::new(w, 2.0 * w + half, h), along),
        ];
        if self.has_lid {
            slabs.push((DVec3::new(w, w, 2.0 * h + half), flat));
        }
        slabs
    }

    /// Writes the start as CSV, with a row for each sphere.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write_start(&self, path: &Path) -> io::Result<()> {
        let mut file = io::BufWriter::new(File::create(path)?);
        writeln!(file, "id,x,y,z,vx,vy,vz")?;
        for (id, (x, v)) in self.centers.iter().zip(&self.velocities).enumerate() {
            writeln!(file, "{id},{},{},{},{},{},{}", x.x, x.y, x.z, v.x, v.y, v.z)?;
        }
        file.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::f64::consts::PI;

    use super::*;

    #[test]
    fn the_gas_has_mass_1_and_the_stated_fraction_and_temperature() {
        let gas = Case::gas(8, 0.2, 0.1).unwrap();
        assert!((gas.density * PI / 6.0 - 1.0).abs() < 1e-12);
        assert!((512.0 * PI / 6.0 / gas.width.powi(3) - 0.2).abs() < 1e-12);
        assert_eq!(gas.width, gas.height);
        let twice: f64 = gas.velocities.iter().map(|v| v.length_squared()).sum();
        assert!((twice / (3.0 * 512.0) - TEMPERATURE).abs() < 1e-12);
    }

    #[test]
    fn slabs_touch_the_box_and_stay_outside() {
        for case in [Case::drop(4, 0.1), Case::gas(4, 0.2, 0.1).unwrap()] {
            let size = DVec3::new(case.width, case.width, case.height);
            let slabs = case.slabs(1.0);
            assert_eq!(slabs.len(), if case.has_lid { 6 } else { 5 });
            for (center, half) in slabs {
                let gap = (center - half - size).max(-(center + half));
                assert!(gap.max_element().abs() < 1e-12, "{center} {half}");
            }
        }
    }
}
