//! The eye.

use glam::{DMat3, DVec3};

use super::render_world::extent;
use crate::{Dimensions, System, scene::View};

/// Vertical field of view where none is given (degree): that of a 50 mm lens, near enough.
const FOV: f64 = 30.0;

/// Part of the picture that is left free on each side when a scene is framed.
const MARGIN: f64 = 0.04;

/// Where the eye is and where it looks. Up is +z, in 2D +y.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Camera {
    /// Where the eye is (length).
    pub eye: DVec3,
    /// What is in the middle of the picture (length); not the eye.
    pub target: DVec3,
    /// What is up in the picture; any length, not along the line of sight.
    pub up: DVec3,
    /// Vertical field of view (degree), in 1..=170.
    pub fov: f64,
}

impl Camera {
    /// All of the box, or of the spheres where it is open, in a picture that is at least as wide as high; from a
    /// little above and to the right, in 2D from straight above.
    pub fn framing(system: &System) -> Self {
        match system.dimensions {
            Dimensions::Two => Self::framing_from(system, DVec3::Z, DVec3::Y),
            Dimensions::Three => Self::framing_from(system, DVec3::new(0.55, -1.0, 0.46), DVec3::Z),
        }
    }

    /// As [`framing`](Self::framing), seen from a direction: `from` points from the scene to the eye.
    pub fn framing_from(system: &System, from: DVec3, up: DVec3) -> Self {
        let (low, high) = extent(system);
        let target = 0.5 * (low + high);
        let half = 0.5 * (high - low);
        let mut camera = Self { eye: target + from.normalize(), target, up, fov: FOV };
        let basis = camera.basis();
        let slope = (1.0 - 2.0 * MARGIN) * (0.5 * FOV.to_radians()).tan();
        // A corner at depth t before the target is in the picture from a distance of t + |x| / slope on.
        let mut distance: f64 = 0.0;
        for corner in 0..8 {
            let sign =
                DVec3::from_array(std::array::from_fn(|a| if corner >> a & 1 == 0 { -1.0 } else { 1.0 }));
            let seen = basis.transpose() * (sign * half);
            distance = distance.max(seen.x.abs().max(seen.y.abs()) / slope - seen.z);
        }
        camera.eye = target + from.normalize() * distance.max(1e-9 * target.length()).max(f64::MIN_POSITIVE);
        camera
    }

    /// The camera that a scene asks for; what it leaves open is as in [`framing`](Self::framing).
    pub fn of_view(view: &View, system: &System) -> Self {
        let framed = Self::framing(system);
        let target = view.target.unwrap_or(framed.target);
        let eye = view.eye.unwrap_or(target + (framed.eye - framed.target));
        Self { eye, target, up: framed.up, fov: view.fov.unwrap_or(framed.fov) }
    }

    /// Where a ray begins, and its unit direction. `x` and `y` are pixels from the upper left corner; the centre of the
    /// first pixel is at (0.5, 0.5).
    pub fn ray(&self, x: f64, y: f64, size: [u32; 2]) -> (DVec3, DVec3) {
        let [width, height] = size.map(|n| f64::from(n.max(1)));
        let slope = self.slope();
        let (u, v) = ((2.0 * x - width) / height * slope, (1.0 - 2.0 * y / height) * slope);
        (self.eye, (self.basis() * DVec3::new(u, v, 1.0)).normalize())
    }

    /// Where a point is in the picture: pixels from the upper left corner, and its depth along the line of sight
    /// (length). `None` for what is not before the eye.
    pub fn project(&self, point: DVec3, size: [u32; 2]) -> Option<(f64, f64, f64)> {
        let [width, height] = size.map(|n| f64::from(n.max(1)));
        let seen = self.basis().transpose() * (point - self.eye);
        let scale = 0.5 * height / (self.slope() * seen.z);
        (seen.z > 0.0).then_some((0.5 * width + seen.x * scale, 0.5 * height - seen.y * scale, seen.z))
    }

    /// Tangent of half the field of view.
    pub(super) fn slope(&self) -> f64 {
        (0.5 * self.fov.clamp(1.0, 170.0).to_radians()).tan()
    }

    /// Right, up and forward in the picture, as columns.
    pub(super) fn basis(&self) -> DMat3 {
        let forward = (self.target - self.eye).try_normalize().unwrap_or(DVec3::Y);
        let right =
            forward.cross(self.up).try_normalize().unwrap_or_else(|| forward.any_orthonormal_vector());
        DMat3::from_cols(right, right.cross(forward), forward)
    }
}
