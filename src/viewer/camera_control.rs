//! Camera control: orbit, pan, zoom, fly.

use glam::{DQuat, DVec2, DVec3};

use crate::render::Camera;

/// Rotation for a drag over the full height of the picture (radians): half a turn.
const TURN: f64 = std::f64::consts::PI;
/// Least angle between the line of sight and the vertical (radians): at a smaller angle the up direction is undefined.
const POLE: f64 = 0.02;
/// Factor on the distance for one notch of the wheel.
const NOTCH: f64 = 0.88;
/// Flight speed in distances to the target per second; three times as fast with shift.
const FLIGHT: f64 = 0.7;
/// Range of the distance to the target, in sizes of the scene: nearer is inside a sphere, farther shows nothing.
const NEAREST: f64 = 1e-5;
const FARTHEST: f64 = 1e3;

/// Flight keys that are held, -1 to 1 per direction.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Flight {
    /// Right, up and forward in the picture.
    pub direction: DVec3,
    /// Shift is held.
    pub fast: bool,
}

/// A camera that the user moves. Positions in the picture are pixels from its upper left corner.
#[derive(Clone, Copy, Debug)]
pub struct CameraControl {
    camera: Camera,
    /// Size of the scene (length): distance of the camera at which the whole scene is framed.
    scale: f64,
}

impl CameraControl {
    /// Starts with this camera.
    pub fn new(camera: Camera) -> Self {
        Self { camera, scale: (camera.target - camera.eye).length() }
    }

    /// The current camera.
    pub fn camera(&self) -> &Camera {
        &self.camera
    }

    /// Orbits about the target by a drag (pixels) in a picture of this height.
    pub fn orbit(&mut self, drag: DVec2, height: f64) {
        let up = self.camera.up.normalize();
        let back = self.camera.eye - self.camera.target;
        let around = DQuat::from_axis_angle(up, -drag.x / height * TURN) * back;
        let polar = around.angle_between(up);
        let wanted = (polar - drag.y / height * TURN).clamp(POLE, std::f64::consts::PI - POLE);
        // A line of sight along `up` defines no tilt axis; any level axis serves.
        let axis = up.cross(around).try_normalize().unwrap_or_else(|| up.any_orthonormal_vector());
        self.camera.eye = self.camera.target + DQuat::from_axis_angle(axis, wanted - polar) * around;
    }

    /// Shifts the picture by a drag (pixels): points at the distance of the target follow the cursor.
    pub fn pan(&mut self, drag: DVec2, height: f64) {
        let [right, up, _] = self.axes();
        let pixel = 2.0 * self.distance() * (0.5 * self.camera.fov.to_radians()).tan() / height;
        let shift = (up * drag.y - right * drag.x) * pixel;
        self.camera.eye += shift;
        self.camera.target += shift;
    }

    /// Moves nearer by a number of notches of the wheel (farther if negative); the point under the cursor, at the
    /// distance of the target, stays fixed.
    pub fn zoom(&mut self, notches: f64, cursor: DVec2, size: [u32; 2]) {
        let distance = self.distance();
        let wanted = (distance * NOTCH.powf(notches)).clamp(NEAREST * self.scale, FARTHEST * self.scale);
        let scale = wanted / distance;
        let (eye, ray) = self.camera.ray(cursor.x, cursor.y, size);
        let [_, _, forward] = self.axes();
        let pivot = eye + ray * (distance / ray.dot(forward));
        self.camera.eye = pivot + (self.camera.eye - pivot) * scale;
        self.camera.target = pivot + (self.camera.target - pivot) * scale;
    }

    /// Flies for this time (seconds).
    pub fn fly(&mut self, flight: Flight, seconds: f64) {
        let [right, up, forward] = self.axes();
        let speed = FLIGHT * self.distance() * if flight.fast { 3.0 } else { 1.0 };
        let d = flight.direction;
        let way = (right * d.x + up * d.y + forward * d.z) * (speed * seconds);
        self.camera.eye += way;
        self.camera.target += way;
    }

    /// Distance to the target (length).
    fn distance(&self) -> f64 {
        (self.camera.target - self.camera.eye).length()
    }

    // Right, up and forward in the picture.
    fn axes(&self) -> [DVec3; 3] {
        let forward = (self.camera.target - self.camera.eye).normalize();
        let right =
            forward.cross(self.camera.up).try_normalize().unwrap_or_else(|| forward.any_orthonormal_vector());
        [right, right.cross(forward), forward]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: [u32; 2] = [800, 600];

    fn eye() -> CameraControl {
        CameraControl::new(Camera {
            eye: DVec3::new(3.0, -8.0, 5.0),
            target: DVec3::new(1.0, 2.0, 0.5),
            up: DVec3::Z,
            fov: 30.0,
        })
    }

    fn seen(eye: &CameraControl, point: DVec3) -> DVec2 {
        let (x, y, _) = eye.camera().project(point, SIZE).expect("before the eye");
        DVec2::new(x, y)
    }

    #[test]
    fn an_orbit_keeps_the_distance_and_never_tips_over() {
        let mut eye = eye();
        let (before, target) = (eye.distance(), eye.camera().target);
        for drag in [DVec2::new(130.0, 40.0), DVec2::new(-20.0, 4000.0), DVec2::new(7.0, -9000.0)] {
            eye.orbit(drag, 600.0);
            assert!((eye.distance() / before - 1.0).abs() < 1e-12);
            assert_eq!(eye.camera().target, target);
            let polar = (eye.camera().eye - target).angle_between(DVec3::Z);
            assert!((POLE - 1e-9..=std::f64::consts::PI - POLE + 1e-9).contains(&polar), "{polar}");
        }
        // The scene follows the cursor: to the right, then down (the camera rises).
        let mut right = self::eye();
        let near = self::eye().camera().target - self::eye().axes()[2];
        let start = seen(&right, near);
        right.orbit(DVec2::new(40.0, 0.0), 600.0);
        assert!(seen(&right, near).x > start.x + 1.0);
        let mut down = self::eye();
        down.orbit(DVec2::new(0.0, 40.0), 600.0);
        assert!(seen(&down, near).y > start.y + 1.0 && down.camera().eye.z > self::eye().camera().eye.z);
        // The camera can leave a pole again.
        let mut above =
            CameraControl::new(Camera { eye: DVec3::new(1.0, 2.0, 9.0), ..*self::eye().camera() });
        above.orbit(DVec2::new(0.0, -60.0), 600.0);
        assert!(above.camera().eye.is_finite() && above.camera().eye.z < 9.0);
    }

    #[test]
    fn a_pan_moves_the_target_with_the_hand() {
        let mut eye = eye();
        let target = eye.camera().target;
        let drag = DVec2::new(90.0, -35.0);
        let start = seen(&eye, target);
        eye.pan(drag, f64::from(SIZE[1]));
        assert!((seen(&eye, target) - start - drag).length() < 1e-6);
    }

    #[test]
    fn a_zoom_leaves_what_is_under_the_cursor_there() {
        for notches in [3.0, -5.0] {
            let mut eye = eye();
            let cursor = DVec2::new(610.0, 140.0);
            let (from, ray) = eye.camera().ray(cursor.x, cursor.y, SIZE);
            let point = from + ray * (eye.distance() / ray.dot(eye.axes()[2]));
            let before = eye.distance();
            eye.zoom(notches, cursor, SIZE);
            assert!((seen(&eye, point) - cursor).length() < 1e-6);
            assert!((eye.distance() / before - NOTCH.powf(notches)).abs() < 1e-12);
        }
        // The distance has limits.
        let mut eye = eye();
        (0..100).for_each(|_| eye.zoom(1000.0, DVec2::new(400.0, 300.0), SIZE));
        assert!(eye.distance() >= 0.99 * NEAREST * eye.scale && eye.camera().eye.is_finite());
        (0..100).for_each(|_| eye.zoom(-1000.0, DVec2::new(400.0, 300.0), SIZE));
        assert!(eye.distance() <= 1.01 * FARTHEST * eye.scale);
    }

    #[test]
    fn flight_goes_where_it_looks() {
        let mut eye = eye();
        let (before, forward, distance) = (*eye.camera(), eye.axes()[2], eye.distance());
        eye.fly(Flight { direction: DVec3::Z, fast: false }, 0.5);
        let way = eye.camera().eye - before.eye;
        assert!((way - forward * (FLIGHT * distance * 0.5)).length() < 1e-9);
        assert!((eye.camera().target - before.target - way).length() < 1e-9);
        let mut fast = self::eye();
        fast.fly(Flight { direction: DVec3::X, fast: true }, 0.5);
        assert!(((fast.camera().eye - before.eye).length() - 1.5 * FLIGHT * distance).abs() < 1e-9);
    }
}
