//! The scene: a block of spheres, a little disordered, that falls into an open box.

use glam::DVec3;

/// Diameter of all spheres.
pub const DIAMETER: f64 = 1.0;
/// Restitution, also of the box.
pub const RESTITUTION: f64 = 0.3;
/// Coefficient of friction, also of the box.
pub const FRICTION: f64 = 0.5;
/// Acceleration of gravity, along -z.
pub const GRAVITY: f64 = 9.81;
/// Distance of neighbours in the block, in diameters.
const SPACING: f64 = 1.1;
/// Largest displacement from the sites of the lattice along each axis, in diameters.
const JITTER: f64 = 0.04;

/// The start of every engine.
#[derive(Clone)]
pub struct Drop {
    pub centers: Vec<DVec3>,
    /// Edge of the floor, which begins at the origin. The walls are higher than the block.
    pub width: f64,
    pub height: f64,
    /// Length of a step, in seconds.
    pub dt: f64,
}

impl Drop {
    /// A cubic block with `edge` spheres along each axis.
    pub fn new(edge: usize, dt: f64) -> Self {
        let mut rng = fastrand::Rng::with_seed(7);
        let mut jitter = || JITTER * (2.0 * rng.f64() - 1.0);
        let mut centers = vec![];
        for k in 0..edge.pow(3) {
            let site = DVec3::new((k % edge) as f64, (k / edge % edge) as f64, (k / edge / edge) as f64);
            centers.push(SPACING * (site + 0.5) + DVec3::new(jitter(), jitter(), jitter()));
        }
        let width = SPACING * edge as f64;
        Self { centers, width, height: 2.0 * width, dt }
    }
}

impl Drop {
    /// Floor and walls as boxes of thickness `2 half` for engines without infinite planes: centre and half edges of each.
    pub fn slabs(&self, half: f64) -> [(DVec3, DVec3); 5] {
        let (w, h) = (0.5 * self.width, 0.5 * self.height);
        let across = DVec3::new(half, w + 2.0 * half, h);
        let along = DVec3::new(w + 2.0 * half, half, h);
        [
            (DVec3::new(w, w, -half), DVec3::new(w + 2.0 * half, w + 2.0 * half, half)),
            (DVec3::new(-half, w, h), across),
            (DVec3::new(2.0 * w + half, w, h), across),
            (DVec3::new(w, -half, h), along),
            (DVec3::new(w, 2.0 * w + half, h), along),
        ]
    }
}
