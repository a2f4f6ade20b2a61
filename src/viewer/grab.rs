//! A sphere that the user pulls with the mouse: a critically damped spring moves its centre towards the cursor, in the plane
//! through the centre that is parallel to the screen.

use glam::DVec3;

/// Factor on the distance to the cursor per step, in the long run: within about 20 steps the sphere is where the cursor is. A
/// smaller factor throws spheres about; a larger one lags.
const DECAY: f64 = 0.78;

/// A ray through the cursor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ray {
    /// Position of the camera (length).
    pub from: DVec3,
    /// Unit direction through the cursor.
    pub direction: DVec3,
    /// Unit direction through the middle of the picture.
    pub forward: DVec3,
}

impl Ray {
    // The point at this depth before the camera.
    fn at(&self, depth: f64) -> DVec3 {
        self.from + self.direction * (depth / self.direction.dot(self.forward))
    }
}

/// A grabbed sphere.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Grab {
    /// Id of the sphere.
    pub id: u32,
    /// Where the centre is pulled to (length).
    pub target: DVec3,
    /// Depth of the plane before the camera (length).
    depth: f64,
    /// From the point under the cursor to the centre (length).
    offset: DVec3,
}

impl Grab {
    /// Grabs the sphere with this id and centre, which the ray hits.
    pub fn new(id: u32, center: DVec3, ray: &Ray) -> Self {
        let depth = (center - ray.from).dot(ray.forward);
        Self { id, target: center, depth, offset: center - ray.at(depth) }
    }

    /// Pulls to the point under the cursor.
    pub fn pull(&mut self, ray: &Ray) {
        self.target = ray.at(self.depth) + self.offset;
    }

    /// The velocity for the next step of a sphere that is displaced from its target by `displacement` (length) and has this
    /// velocity. The hand also carries the weight.
    pub fn velocity(displacement: DVec3, velocity: DVec3, gravity: DVec3, dt: f64) -> DVec3 {
        // With the mean velocity u of a step, y' = y + u' dt and u' = a u - b y / dt. Both roots of this recursion are
        // DECAY, which is critical damping, if a = DECAY^2 and b = (1 - DECAY)^2. Gravity changes the velocity by half a
        // step's share from the middle of a step to its end.
        let half = 0.5 * dt * gravity;
        let mean = (velocity - half) * DECAY.powi(2) - displacement * ((1.0 - DECAY).powi(2) / dt);
        mean - half
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sphere_keeps_its_place_under_the_cursor() {
        let forward = DVec3::Y;
        let ray = |x: f64| Ray {
            from: DVec3::new(0.0, -10.0, 0.0),
            direction: DVec3::new(x, 10.0, 0.0).normalize(),
            forward,
        };
        let mut grab = Grab::new(3, DVec3::new(1.0, 0.0, 0.4), &ray(0.9));
        assert_eq!((grab.id, grab.target), (3, DVec3::new(1.0, 0.0, 0.4)));
        grab.pull(&ray(2.9));
        assert!((grab.target - DVec3::new(3.0, 0.0, 0.4)).length() < 1e-12, "{}", grab.target);
    }

    #[test]
    fn the_spring_does_not_overshoot_and_holds_against_gravity() {
        let (gravity, dt) = (DVec3::new(0.0, 0.0, -9.81), 0.01);
        let (mut place, mut velocity) = (DVec3::X * 4.0, DVec3::ZERO);
        for _ in 0..60 {
            velocity = Grab::velocity(place, velocity, gravity, dt);
            place += velocity * dt + 0.5 * dt * dt * gravity;
            velocity += gravity * dt;
            // In the first step the sphere is at rest, not in fall.
            assert!(place.x > 0.0 && place.z.abs() < 1e-3, "{place}");
        }
        assert!(
            place.length() < 1e-3 && (velocity - 0.5 * dt * gravity).length() < 1e-2,
            "{place} {velocity}"
        );
    }
}
