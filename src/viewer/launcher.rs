//! Finds the initial position and velocity of a sphere that the user shoots into the scene.

use glam::DVec3;

use crate::{Dimensions, Side, Sphere, System};

/// Least distance between the camera and the start of a shot, in radii of the shot, so that the sphere is visible.
const MUZZLE: f64 = 2.5;
/// Least gap between the new sphere and existing ones, in radii of the new one: more than the rounding error of an
/// impact.
const GAP: f64 = 0.01;

/// Factor on the radius after each attempt without free space; attempts end at a tenth of the radius.
const SMALLER: f64 = 0.8;
const SMALLEST: f64 = 0.1;

/// Size, speed and line of a shot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shot {
    /// Origin of the line of sight (length).
    pub eye: DVec3,
    /// Unit direction of the line of sight.
    pub direction: DVec3,
    /// Radius (length), > 0.
    pub radius: f64,
    /// Speed (length/time).
    pub speed: f64,
}

impl Shot {
    /// The sphere at the first free position along the line; smaller if there is no free position, and `None` if even
    /// the smallest does not fit. `system` holds the current spheres.
    pub fn sphere(&self, system: &System) -> Option<Sphere> {
        let sizes = std::iter::successors(Some(1.0), |size| Some(size * SMALLER));
        let mut shots = sizes
            .take_while(|size| *size >= SMALLEST)
            .map(|size| Self { radius: self.radius * size, ..*self });
        shots.find_map(|shot| shot.fit(system))
    }

    fn fit(&self, system: &System) -> Option<Sphere> {
        let flat = system.dimensions == Dimensions::Two;
        let (mut from, mut direction) = (self.eye, self.direction);
        if flat {
            // Starts below the camera, in the plane.
            from.z = 0.0;
            direction.z = 0.0;
        }
        let direction = direction.try_normalize().unwrap_or(DVec3::X);
        let (near, far) = self.span(system, from, direction)?;
        let id = system.spheres.iter().map(|s| s.id).max().map_or(Some(0), |id| id.checked_add(1))?;
        let density = system.materials.density(0);
        let radius = self.radius;
        let position = self.room(system, from, direction, near, far)?;
        Some(Sphere {
            id,
            position,
            velocity: direction * self.speed,
            radius,
            mass: density * 4.0 / 3.0 * std::f64::consts::PI * radius.powi(3),
            ..Sphere::default()
        })
    }

    // The part of the line on which the sphere is inside the box and in front of all planes.
    fn span(&self, system: &System, from: DVec3, direction: DVec3) -> Option<(f64, f64)> {
        let (mut near, mut far) = (MUZZLE * self.radius, f64::INFINITY);
        let mut cut = |distance: f64, rate: f64| {
            // The sphere is `distance` in front of the plane and approaches by `-rate` per unit of length.
            let at = -distance / rate;
            match rate {
                _ if rate > 0.0 => near = near.max(at),
                _ if rate < 0.0 => far = far.min(at),
                _ if distance < 0.0 => far = f64::NEG_INFINITY,
                _ => {}
            }
        };
        for axis in 0..system.dimensions.count() {
            if system.bounds.sides[axis] == Side::Periodic {
                cut(from[axis] - system.bounds.min[axis], direction[axis]);
                cut(system.bounds.max[axis] - from[axis], -direction[axis]);
            }
        }
        for plane in system.planes() {
            let clear = self.radius * (1.0 + GAP);
            cut((from - plane.point).dot(plane.normal) - clear, direction.dot(plane.normal));
        }
        (near < far).then_some((near, far))
    }

    // The first position from `near` to `far` where the sphere is clear of all others.
    fn room(&self, system: &System, from: DVec3, direction: DVec3, near: f64, far: f64) -> Option<DVec3> {
        // The parts of the line on which the centre is too close to another sphere.
        let mut taken = vec![];
        for sphere in &system.spheres {
            let reach = (sphere.radius + self.radius) * (1.0 + GAP);
            for image in images(system, sphere.position, reach) {
                let to = image - from;
                let along = to.dot(direction);
                let half = reach * reach - (to - direction * along).length_squared();
                if half > 0.0 {
                    taken.push((along - half.sqrt(), along + half.sqrt()));
                }
            }
        }
        taken.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut at = near;
        for (start, end) in taken {
            if start > at {
                break;
            }
            at = at.max(end);
        }
        (at <= far).then(|| from + direction * at)
    }
}

// A point of the box and its periodic images within `reach` of the box.
fn images(system: &System, point: DVec3, reach: f64) -> Vec<DVec3> {
    let mut images = vec![point];
    for axis in 0..3 {
        let Some(period) = system.period(axis) else { continue };
        let (low, high) = (system.bounds.min[axis], system.bounds.max[axis]);
        for k in 0..images.len() {
            let place = images[k];
            for (is_near, shift) in
                [(place[axis] < low + reach, period), (place[axis] > high - reach, -period)]
            {
                if is_near {
                    images.push(place + DVec3::AXES[axis] * shift);
                }
            }
        }
    }
    images
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::{Fill, Scene};

    fn shot(eye: [f64; 3], direction: [f64; 3]) -> Shot {
        Shot { eye: eye.into(), direction: DVec3::from(direction).normalize(), radius: 0.7, speed: 5.0 }
    }

    fn fits(system: &System, sphere: Sphere) {
        let mut with = system.clone();
        with.solver.max_initial_overlap = 0.0;
        with.spheres.push(sphere);
        with.validate().unwrap();
    }

    #[test]
    fn a_shot_begins_before_the_eye_where_nothing_is_in_the_way() {
        let system = System::default();
        let sphere = shot([1.0, 2.0, 3.0], [0.0, 0.0, -2.0]).sphere(&system).unwrap();
        assert_eq!((sphere.id, sphere.position), (0, DVec3::new(1.0, 2.0, 3.0 - MUZZLE * 0.7)));
        assert_eq!((sphere.velocity, sphere.radius), (DVec3::new(0.0, 0.0, -5.0), 0.7));
        // The sphere has the first material, with mass 1 at diameter 1.
        assert!((sphere.mass - 1.4f64.powi(3)).abs() < 1e-9);
    }

    #[test]
    fn a_shot_from_outside_begins_inside_the_walls_and_beside_the_spheres() {
        let system = Scene::new(0.01).walled().fill(Fill::random(300).volume_fraction(0.3)).build().unwrap();
        let middle = 0.5 * system.bounds.max;
        for (k, from) in
            [DVec3::new(40.0, 3.0, 5.0), DVec3::new(-9.0, -30.0, 20.0), middle].into_iter().enumerate()
        {
            let direction = if k == 2 { DVec3::X } else { (middle - from).normalize() };
            let shot = Shot { eye: from, direction, radius: 0.3, speed: 1.0 };
            let sphere = shot.sphere(&system).unwrap();
            assert_eq!(sphere.id, 300);
            // The sphere lies on the line, ahead of the camera.
            let way = sphere.position - from;
            assert!(way.cross(direction).length() < 1e-9 && way.dot(direction) >= 0.0);
            fits(&system, sphere);
        }
        // A shot that misses the box, points away from it, or is too large for it finds no free position.
        let past = Shot { eye: DVec3::new(-9.0, -9.0, 0.0), direction: DVec3::X, radius: 0.3, speed: 1.0 };
        assert_eq!(past.sphere(&system), None);
        assert_eq!(Shot { direction: DVec3::NEG_X, ..past }.sphere(&system), None);
        let huge = Shot { eye: middle, radius: 1000.0, ..past };
        assert_eq!(huge.sphere(&system), None);
        // A sphere that is too large is replaced by a smaller one.
        let smaller = Shot { radius: 2.0, ..huge }.sphere(&system).unwrap();
        assert!((0.2..2.0).contains(&smaller.radius), "{smaller:?}");
        fits(&system, smaller);
    }

    #[test]
    fn in_a_plane_a_shot_stays_in_it() {
        let system =
            Scene::new(0.01).flat().periodic().fill(Fill::random(100).volume_fraction(0.2)).build().unwrap();
        let middle = 0.5 * system.bounds.max;
        let eye = middle + DVec3::new(0.0, 0.0, 50.0);
        let sphere = shot(eye.to_array(), [0.3, 0.1, -1.0]).sphere(&system).unwrap();
        assert_eq!((sphere.position.z, sphere.velocity.z), (0.0, 0.0));
        assert!((sphere.velocity.length() - 5.0).abs() < 1e-12);
        fits(&system, sphere);
        // A line straight down has no direction in the plane; any direction serves.
        let down = Shot { radius: 0.1, ..shot(eye.to_array(), [0.0, 0.0, -1.0]) };
        let sphere = down.sphere(&system).unwrap();
        assert_eq!((sphere.position.z, sphere.velocity.length()), (0.0, 5.0));
    }

    #[test]
    fn ids_that_are_used_up_leave_no_room() {
        let mut system = System::default();
        system.spheres.push(Sphere { id: u32::MAX, position: DVec3::splat(90.0), ..Sphere::default() });
        assert_eq!(shot([0.0; 3], [1.0, 0.0, 0.0]).sphere(&system), None);
    }
}
