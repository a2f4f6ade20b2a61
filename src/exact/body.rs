//! The state of one sphere between two of its events.

use glam::DVec3;

use crate::Sphere;

/// A sphere at the time of its last event; between events it is in free flight.
///
/// The fields that a sweep reads fill the first cache line.
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
    /// Time of the last impact, from the start of the step; -infinity before the first.
    pub last_contact: f64,
    /// 0 for a fixed sphere.
    pub inverse_mass: f64,
    /// Number of impacts so far. A prediction for another number is void.
    pub impacts: u32,
    /// Length of the present series of immediate impacts.
    pub hasty: u32,
    /// Rank of the id.
    pub number: u32,
    pub material: u16,
}

/// State of a body to which a failed step returns.
#[derive(Clone, Copy)]
pub(super) struct Before {
    position: DVec3,
    velocity: DVec3,
    clock: f64,
    last_contact: f64,
}

impl Body {
    pub fn before(&self) -> Before {
        let Self { position, velocity, clock, last_contact, .. } = *self;
        Before { position, velocity, clock, last_contact }
    }

    pub fn go_back(&mut self, before: &Before) {
        let Before { position, velocity, clock, last_contact } = *before;
        *self = Self { position, velocity, clock, last_contact, hasty: 0, ..*self };
    }

    pub fn new(sphere: &Sphere, number: u32, origin: DVec3) -> Self {
        Self {
            position: sphere.position - origin,
            velocity: if sphere.fixed { DVec3::ZERO } else { sphere.velocity },
            clock: 0.0,
            last_contact: f64::NEG_INFINITY,
            radius: sphere.radius,
            inverse_mass: sphere.inverse_mass(),
            impacts: 0,
            hasty: 0,
            number,
            material: sphere.material,
        }
    }

    pub fn fixed(&self) -> bool {
        self.inverse_mass == 0.0
    }

    /// Position and velocity at `time`.
    pub fn at(&self, time: f64, gravity: DVec3) -> (DVec3, DVec3) {
        let t = time - self.clock;
        if gravity == DVec3::ZERO {
            return (self.position + self.velocity * t, self.velocity);
        }
        if self.fixed() {
            return (self.position, DVec3::ZERO);
        }
        (self.position + self.velocity * t + gravity * (0.5 * t * t), self.velocity + gravity * t)
    }

    /// Moves the sphere to `time`.
    pub fn advance(&mut self, time: f64, gravity: DVec3) {
        (self.position, self.velocity) = self.at(time, gravity);
        self.clock = time;
    }

    /// Whether sweeps can compute with the sphere: the squares of its speed and distance must be finite too.
    pub fn finite(&self) -> bool {
        self.velocity.length_squared().is_finite() && self.position.length_squared().is_finite()
    }
}
