//! The clip plane that the user moves through the scene.

use glam::DVec3;

use crate::render::{Camera, Clip};

/// Share of the scene by which a key moves the plane.
pub const STRIDE: f64 = 0.04;

/// Direction of the clip plane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClipAxis {
    /// No clip plane.
    #[default]
    Off,
    /// Normal to the x axis.
    X,
    /// Normal to the y axis.
    Y,
    /// Normal to the z axis.
    Z,
    /// Normal to the line of sight.
    View,
}

impl ClipAxis {
    /// All directions.
    pub const ALL: [Self; 5] = [Self::Off, Self::X, Self::Y, Self::Z, Self::View];

    /// Name in the panel and in the event log.
    pub fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::X => "x",
            Self::Y => "y",
            Self::Z => "z",
            Self::View => "view",
        }
    }

    /// The next direction, cyclically.
    pub fn next(self) -> Self {
        let place = Self::ALL.iter().position(|&axis| axis == self).unwrap_or(0);
        Self::ALL[(place + 1) % Self::ALL.len()]
    }
}

/// Direction and position of the clip plane.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClipControl {
    /// Direction of the plane.
    pub axis: ClipAxis,
    /// Part of the scene in front of the plane, 0 to 1.
    pub part: f64,
    /// Hides the side of smaller coordinates instead of the other side.
    pub is_low: bool,
}

impl Default for ClipControl {
    /// No plane; the first plane is in the middle of the scene.
    fn default() -> Self {
        Self { axis: ClipAxis::Off, part: 0.5, is_low: false }
    }
}

impl ClipControl {
    /// Chooses a direction. The hidden side is the side of the camera.
    pub fn choose(&mut self, axis: ClipAxis, (low, high): (DVec3, DVec3), camera: &Camera) {
        self.axis = axis;
        self.is_low = self.along().is_some_and(|along| (camera.eye - 0.5 * (low + high)).dot(along) < 0.0);
    }

    /// Moves the plane by a part of the scene.
    pub fn shift(&mut self, part: f64) {
        self.part = (self.part + part).clamp(0.0, 1.0);
    }

    /// The plane in a scene with these corners.
    pub fn plane(&self, (low, high): (DVec3, DVec3), camera: &Camera) -> Option<Clip> {
        let normal = match self.along() {
            Some(along) if self.is_low => -along,
            Some(along) => along,
            None if self.axis == ClipAxis::View => (camera.eye - camera.target).try_normalize()?,
            None => return None,
        };
        let (middle, half) = (0.5 * (low + high), 0.5 * (high - low));
        let reach = normal.abs().dot(half);
        Some(Clip { normal, offset: normal.dot(middle) + reach * (1.0 - 2.0 * self.part) })
    }

    fn along(&self) -> Option<DVec3> {
        match self.axis {
            ClipAxis::X => Some(DVec3::X),
            ClipAxis::Y => Some(DVec3::Y),
            ClipAxis::Z => Some(DVec3::Z),
            ClipAxis::Off | ClipAxis::View => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CORNERS: (DVec3, DVec3) = (DVec3::new(0.0, -1.0, 0.0), DVec3::new(10.0, 1.0, 4.0));

    fn camera(eye: DVec3) -> Camera {
        Camera { eye, target: DVec3::new(5.0, 0.0, 2.0), up: DVec3::Z, fov: 30.0 }
    }

    #[test]
    fn the_side_of_the_camera_is_hidden() {
        for eye in [DVec3::new(-20.0, -30.0, 40.0), DVec3::new(30.0, 40.0, -50.0)] {
            for axis in &ClipAxis::ALL[1..] {
                let mut control = ClipControl::default();
                control.choose(*axis, CORNERS, &camera(eye));
                let clip = control.plane(CORNERS, &camera(eye)).unwrap();
                assert!(clip.hides(eye) && !clip.hides(2.0 * camera(eye).target - eye), "{axis:?} {eye}");
            }
        }
    }

    #[test]
    fn the_plane_passes_the_whole_scene_and_stays_in_it() {
        let eye = DVec3::new(20.0, 0.0, 2.0);
        let mut control = ClipControl::default();
        assert_eq!(control.plane(CORNERS, &camera(eye)), None);
        control.choose(ClipAxis::X, CORNERS, &camera(eye));
        for (shift, offset) in [(0.0, 5.0), (-9.0, 10.0), (0.25, 7.5), (9.0, 0.0)] {
            control.shift(shift);
            assert_eq!(control.plane(CORNERS, &camera(eye)), Some(Clip { normal: DVec3::X, offset }));
        }
        control.is_low = true;
        control.part = 0.25;
        assert_eq!(control.plane(CORNERS, &camera(eye)), Some(Clip { normal: DVec3::NEG_X, offset: -2.5 }));
    }
}
