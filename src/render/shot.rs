//! Cameras by name or by numbers, and their motion during a film.

use std::str::FromStr;

use glam::{DQuat, DVec3};

use super::{Camera, extent};
use crate::{Dimensions, System, scene::View};

/// Default speed of `orbit` (degrees per second of film).
const TURN: f64 = 12.0;

/// Share of the picture left free on each side.
const MARGIN: f64 = 0.04;

/// Direction from the scene to each named camera, and its up direction.
const NAMED: [(&str, [f64; 3], [f64; 3]); 7] = [
    ("iso", [1.0, -1.0, 0.8], [0.0, 0.0, 1.0]),
    ("front", [0.0, -1.0, 0.0], [0.0, 0.0, 1.0]),
    ("back", [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]),
    ("left", [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]),
    ("right", [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]),
    ("top", [0.0, 0.0, 1.0], [0.0, 1.0, 0.0]),
    ("bottom", [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]),
];

/// A requested camera. Reads `scene`, `iso`, `front`, `back`, `left`, `right`, `top`, `bottom`, `orbit`,
/// `orbit:DEGREES` and `EYE:TARGET[:FOV]`.
#[derive(Clone, Debug, PartialEq)]
pub enum CameraChoice {
    /// The camera of the scene, or a default view of the whole scene.
    Scene,
    /// A view of the whole scene from the direction of this name.
    Named(&'static str),
    /// A view of the whole scene that rotates (degrees per second of film).
    Orbit(f64),
    /// Eye, target, field of view (degrees).
    Numbers(DVec3, DVec3, Option<f64>),
}

impl FromStr for CameraChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "scene" {
            return Ok(Self::Scene);
        }
        if let Some((name, ..)) = NAMED.iter().find(|(name, ..)| *name == text) {
            return Ok(Self::Named(name));
        }
        let mut parts = text.split(':');
        let first = parts.next().unwrap_or_default();
        let rest: Vec<&str> = parts.collect();
        if first == "orbit" {
            return match rest[..] {
                [] => Ok(Self::Orbit(TURN)),
                [turn] => number(turn).map(Self::Orbit),
                _ => Err("expected orbit or orbit:DEGREES".to_owned()),
            };
        }
        if let [target] | [target, _] = rest[..] {
            let (eye, target) = (vector(first)?, vector(target)?);
            let fov = rest.get(1).map(|fov| number(fov)).transpose()?;
            if eye == target {
                return Err("the camera is at its target".to_owned());
            }
            if fov.is_some_and(|fov| !(1.0..=170.0).contains(&fov)) {
                return Err("expected a field of view of 1 to 170 degrees".to_owned());
            }
            return Ok(Self::Numbers(eye, target, fov));
        }
        let names: Vec<&str> = NAMED.iter().map(|(name, ..)| *name).collect();
        Err(format!(
            "expected scene, {}, orbit, or EYE:TARGET[:FOV] as in 9,-20,8:0,0,0:35",
            names.join(", ")
        ))
    }
}

fn number(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        _ => Err(format!("expected a finite number, not {text:?}")),
    }
}

fn vector(text: &str) -> Result<DVec3, String> {
    let values: Vec<f64> = text.split(',').map(number).collect::<Result<_, _>>()?;
    match values[..] {
        [x, y, z] => Ok(DVec3::new(x, y, z)),
        _ => Err(format!("expected three numbers as in 9,-20,8, not {text:?}")),
    }
}

/// The camera of a film.
pub struct Shot {
    camera: Camera,
    /// Rotation about the up direction (degrees per second of film).
    turn: f64,
}

impl Shot {
    /// Prepares a camera for pictures of this size.
    pub fn new(choice: &CameraChoice, view: &View, system: &System, size: [u32; 2]) -> Self {
        let (mut camera, mut turn) = (Camera::of_view(view, system), 0.0);
        let framed = Camera::framing(system);
        let framed = Camera { fov: view.fov.unwrap_or(framed.fov), ..framed };
        match choice {
            CameraChoice::Scene if view.eye.is_some() => {}
            CameraChoice::Scene => {
                let target = view.target.unwrap_or(framed.target);
                camera = fitted(Camera { target, ..framed }, framed.eye - framed.target, system, size);
            }
            CameraChoice::Named(name) => {
                let entry = NAMED.iter().find(|(known, ..)| known == name);
                let (from, up) = entry.map_or((DVec3::NEG_Y, DVec3::Z), |(_, from, up)| {
                    (DVec3::from_array(*from), DVec3::from_array(*up))
                });
                camera = fitted(Camera { up, ..framed }, from, system, size);
            }
            CameraChoice::Orbit(degrees) => {
                turn = *degrees;
                camera = fitted(framed, framed.eye - framed.target, system, size);
            }
            CameraChoice::Numbers(eye, target, fov) => {
                camera = Camera { eye: *eye, target: *target, fov: fov.unwrap_or(framed.fov), ..camera };
            }
        }
        Self { camera, turn }
    }

    /// The camera this many seconds into the film.
    pub fn at(&self, seconds: f64) -> Camera {
        let Camera { eye, target, up, .. } = self.camera;
        let turn = DQuat::from_axis_angle(up.normalize(), (self.turn * seconds).to_radians());
        // In 2D the camera is on the axis of rotation, so the up direction rotates instead.
        let is_on_axis = (eye - target).normalize_or_zero().cross(up.normalize()).length() < 1e-6;
        if is_on_axis || self.turn == 0.0 {
            return self.camera;
        }
        Camera { eye: target + turn * (eye - target), ..self.camera }
    }
}

// Moves the camera along `from` until the whole scene just fits into the picture.
fn fitted(camera: Camera, from: DVec3, system: &System, size: [u32; 2]) -> Camera {
    let (mut low, mut high) = extent(system);
    if system.dimensions == Dimensions::Two {
        (low.z, high.z) = (0.0, 0.0);
    }
    let from = from.normalize_or(DVec3::NEG_Y);
    let at = |distance: f64| Camera { eye: camera.target + from * distance, ..camera };
    let fits = |distance: f64| {
        let camera = at(distance);
        let free = size.map(|n| MARGIN * f64::from(n));
        (0..8).all(|corner| {
            let pick = |axis: usize| if corner >> axis & 1 == 0 { low[axis] } else { high[axis] };
            let point = DVec3::from_array(std::array::from_fn(pick));
            camera.project(point, size).is_some_and(|(x, y, _)| {
                x >= free[0]
                    && x <= f64::from(size[0]) - free[0]
                    && y >= free[1]
                    && y <= f64::from(size[1]) - free[1]
            })
        })
    };
    let (mut near, mut far) = (0.0, (high - low).length().max(f64::MIN_POSITIVE));
    // A factor of a hundred suffices, except for a picture of a pixel or two.
    for _ in 0..16 {
        if fits(far) {
            break;
        }
        far *= 2.0;
    }
    for _ in 0..50 {
        let middle = 0.5 * (near + far);
        if fits(middle) { far = middle } else { near = middle }
    }
    at(far)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cameras_are_named_or_given_in_numbers() {
        assert_eq!("iso".parse(), Ok(CameraChoice::Named("iso")));
        assert_eq!("orbit".parse(), Ok(CameraChoice::Orbit(TURN)));
        assert_eq!("orbit:-30".parse(), Ok(CameraChoice::Orbit(-30.0)));
        let (eye, target) = (DVec3::new(9.0, -20.0, 8.0), DVec3::ZERO);
        assert_eq!("9,-20,8:0,0,0".parse(), Ok(CameraChoice::Numbers(eye, target, None)));
        assert_eq!("9,-20,8:0,0,0:35".parse(), Ok(CameraChoice::Numbers(eye, target, Some(35.0))));
        for wrong in [
            "",
            "side",
            "1,2:0,0,0",
            "1,2,3",
            "1,2,3:1,2,3",
            "1,2,3:0,0,nan",
            "1,2,3:0,0,0:0",
            "orbit:x",
            "1,2,3:0,0,0:5:5",
        ] {
            assert!(wrong.parse::<CameraChoice>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_is_framed_fills_the_picture_and_stays_in_it() {
        let spheres = vec![
            crate::Sphere { position: DVec3::new(-20.0, 0.0, 0.0), ..crate::Sphere::default() },
            crate::Sphere { position: DVec3::new(20.0, 3.0, 1.0), ..crate::Sphere::default() },
        ];
        let system = System { spheres, ..System::default() };
        for size in [[800, 200], [300, 300], [200, 600]] {
            for choice in [
                CameraChoice::Scene,
                CameraChoice::Named("front"),
                CameraChoice::Named("top"),
                CameraChoice::Orbit(0.0),
            ] {
                let camera = Shot::new(&choice, &View::default(), &system, size).at(3.0);
                let (mut least, mut most) = (f64::INFINITY, f64::NEG_INFINITY);
                for sphere in &system.spheres {
                    let (x, _, _) = camera.project(sphere.position, size).expect("before the eye");
                    (least, most) = (least.min(x), most.max(x));
                }
                let width = f64::from(size[0]);
                assert!(least > 0.0 && most < width && most - least > 0.5 * width, "{size:?} {choice:?}");
            }
        }
    }

    #[test]
    fn an_orbit_goes_round_at_one_distance() {
        let system = System { spheres: vec![crate::Sphere::default()], ..System::default() };
        let shot = Shot::new(&CameraChoice::Orbit(90.0), &View::default(), &system, [100, 100]);
        let way = |seconds: f64| shot.at(seconds).eye - shot.at(seconds).target;
        assert!((way(0.0) - way(4.0)).length() < 1e-9 * way(0.0).length());
        assert!((way(0.0).length() - way(1.0).length()).abs() < 1e-9 * way(0.0).length());
        assert!(
            (way(1.0).z - way(0.0).z).abs() < 1e-9
                && way(0.0).truncate().dot(way(1.0).truncate()).abs() < 1e-9
        );
    }
}
