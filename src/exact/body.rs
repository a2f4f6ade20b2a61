//! The state of one sphere between two of its events.

use glam::DVec3;

use crate::Sphere;

/// The motion of a sphere at the time of its last event; between events it is in free flight.
///
/// A search reads only this of the spheres nearby: it fills one cache line.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(super) struct Body {
    /// Centre at `clock`, relative to the origin of the world, inside the periods.
    pub position: DVec3,
    /// Velocity at `clock`.
    pub velocity: DVec3,
    /// Time of position and velocity, from the start of the step.
    pub clock: f64,
    pub radius: f64,
}

/// The properties of a sphere that only its own events need.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub(super) struct Properties {
    /// 0 for a fixed sphere.
    pub inverse_mass: f64,
    /// Number of impacts so far. A prediction for another number is void.
    pub impacts: u32,
    /// Length of the present series of immediate impacts.
    pub hasty: u32,
    pub id: u32,
    /// Rank of the id.
    pub number: u32,
    pub material: u16,
}

/// State of a sphere to which a failed step returns.
#[derive(Clone, Copy)]
pub(super) struct Before {
    pub sphere: u32,
    pub body: Body,
    pub last_contact: f64,
}

impl Properties {
    pub fn new(sphere: &Sphere, number: u32) -> Self {
        Self {
            inverse_mass: sphere.inverse_mass(),
            impacts: 0,
            hasty: 0,
            id: sphere.id,
            number,
            material: sphere.material,
        }
    }

    pub fn fixed(&self) -> bool {
        self.inverse_mass == 0.0
    }
}

impl Body {
    pub fn new(sphere: &Sphere, origin: DVec3) -> Self {
        Self {
            position: sphere.position - origin,
            velocity: if sphere.fixed { DVec3::ZERO } else { sphere.velocity },
            clock: 0.0,
            radius: sphere.radius,
        }
    }

    /// Position and velocity at `time`; `gravity` is 0 for a fixed sphere.
    pub fn at(&self, time: f64, gravity: DVec3) -> (DVec3, DVec3) {
        let t = time - self.clock;
        if gravity == DVec3::ZERO {
            return (self.position + self.velocity * t, self.velocity);
        }
        (self.position + self.velocity * t + gravity * (0.5 * t * t), self.velocity + gravity * t)
    }

    /// Moves the sphere to `time`; `gravity` is 0 for a fixed sphere.
    pub fn advance(&mut self, time: f64, gravity: DVec3) {
        (self.position, self.velocity) = self.at(time, gravity);
        self.clock = time;
    }

    /// Whether sweeps can compute with the sphere: the squares of its speed and distance must be finite too.
    pub fn finite(&self) -> bool {
        self.velocity.length_squared().is_finite() && self.position.length_squared().is_finite()
    }
}
