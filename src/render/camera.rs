//! The camera of a picture.

use glam::{DMat3, DVec3};

use super::render_world::extent;
use crate::{Dimensions, System, scene::View};

/// Default vertical field of view (degrees): about that of a 50 mm lens.
const FOV: f64 = 30.0;

/// Margin on each side of a framed scene, as a fraction of the picture.
const MARGIN: f64 = 0.04;

/// Position and direction of the camera. Up is +z, in 2D +y.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Camera {
    /// Position of the camera (length).
    pub eye: DVec3,
    /// Point in the middle of the picture (length); differs from `eye`.
    pub target: DVec3,
    /// Direction that points up in the picture; any length > 0, not parallel to the line of sight.
    pub up: DVec3,
    /// Vertical field of view (degrees), in 1..=170.
    pub fov: f64,
}

impl Camera {
    /// Frames the whole box (on open axes the spheres) in a picture that is at least as wide as high. The camera looks
    /// from slightly above and to the right, in 2D from straight above.
    pub fn framing(system: &System) -> Self {
        match system.dimensions {
            Dimensions::Two => Self::framing_from(system, DVec3::Z, DVec3::Y),
            Dimensions::Three => Self::framing_from(system, DVec3::new(0.55, -1.0, 0.46), DVec3::Z),
        }
    }

    /// Frames the scene as [`framing`](Self::framing) does, from a given direction: `from` points from the scene to the
    /// camera.
    pub fn framing_from(system: &System, from: DVec3, up: DVec3) -> Self {
        let (low, high) = extent(system);
        let target = 0.5 * (low + high);
        let half = 0.5 * (high - low);
        let mut camera = Self { eye: target + from.normalize(), target, up, fov: FOV };
        let basis = camera.basis();
        let slope = (1.0 - 2.0 * MARGIN) * (0.5 * FOV.to_radians()).tan();
        // A corner at depth t before the target is in the picture if the distance is at least t + |x| / slope.
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

    /// The camera that a scene requests; unspecified values are those of [`framing`](Self::framing).
    pub fn of_view(view: &View, system: &System) -> Self {
        let framed = Self::framing(system);
        let target = view.target.unwrap_or(framed.target);
        let eye = view.eye.unwrap_or(target + (framed.eye - framed.target));
        Self { eye, target, up: framed.up, fov: view.fov.unwrap_or(framed.fov) }
    }

    /// Origin (length) and unit direction of the ray through a pixel. `x` and `y` are pixels from the upper left
    /// corner; the centre of the first pixel is at (0.5, 0.5).
    pub fn ray(&self, x: f64, y: f64, size: [u32; 2]) -> (DVec3, DVec3) {
        let [width, height] = size.map(|n| f64::from(n.max(1)));
        let slope = self.slope();
        let (u, v) = ((2.0 * x - width) / height * slope, (1.0 - 2.0 * y / height) * slope);
        (self.eye, (self.basis() * DVec3::new(u, v, 1.0)).normalize())
    }

    /// Projects a point into the picture: pixels from the upper left corner, and the depth along the line of sight
    /// (length). `None` for points behind the camera.
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

    /// Right, up and forward of the picture in world space, as columns.
    pub(super) fn basis(&self) -> DMat3 {
        let forward = (self.target - self.eye).try_normalize().unwrap_or(DVec3::Y);
        let right =
            forward.cross(self.up).try_normalize().unwrap_or_else(|| forward.any_orthonormal_vector());
        DMat3::from_cols(right, right.cross(forward), forward)
    }
}
