//! The next event of a sphere.

use glam::DVec3;

use super::{
    ExactEngine,
    grid::Neighborhood,
    queue::Key,
    sweep::{closing_time, falling_time, touching_time},
};

/// What a sphere does by itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Alone {
    Nothing,
    /// Goes to the next cell along an axis, up (1) or down (-1).
    Cross(u8, i8),
    /// Strikes a plane.
    Wall(u32),
}

/// The earliest events that a sphere knows of.
///
/// The pair event is the earliest among those that were predicted from this sphere's side. A later change of
/// the other sphere voids it (`impacts` differs), and then its time is still a lower bound. An event that only
/// the other side has found is in the other's slot. So the first of all slots is never too late.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    pub pair_time: f64,
    pub partner: u32,
    /// `Body::impacts` of the partner when the event was predicted.
    pub partner_impacts: u32,
    pub alone: Alone,
    pub alone_time: f64,
}

impl Default for Slot {
    fn default() -> Self {
        Self {
            pair_time: f64::INFINITY,
            partner: u32::MAX,
            partner_impacts: 0,
            alone: Alone::Nothing,
            alone_time: f64::INFINITY,
        }
    }
}

const WALL: u64 = 1 << 31;

impl Slot {
    /// Order of a pair event: time, smaller index, larger index. Indices are in the order of the ids.
    pub fn pair_key(&self, sphere: usize) -> Key {
        if self.partner == u32::MAX {
            return Key::NEVER;
        }
        let (low, high) =
            (u64::from(self.partner).min(sphere as u64), u64::from(self.partner).max(sphere as u64));
        Key { time: self.pair_time, rank: low << 32 | high }
    }

    /// Order of what it does alone: crossings before impacts, so that at any impact every sphere is in its
    /// cell; walls after the spheres that the same sphere strikes.
    pub fn alone_key(&self, sphere: usize) -> Key {
        let rank = match self.alone {
            Alone::Nothing => return Key::NEVER,
            Alone::Cross(..) => 0,
            Alone::Wall(wall) => (sphere as u64) << 32 | WALL | u64::from(wall),
        };
        Key { time: self.alone_time, rank }
    }
}

impl ExactEngine {
    /// Predicts everything for a sphere that has just changed. A fixed one never changes: whatever comes to it
    /// knows.
    pub(super) fn predict(&mut self, i: usize) {
        if self.bodies[i].fixed() {
            return;
        }
        self.slots[i] = Slot::default();
        self.predict_pairs(i, Neighborhood::All);
        self.predict_alone(i);
        self.enqueue(i);
    }

    /// Predicts the pair events again, for a sphere whose partner has gone another way, and at `time`.
    pub(super) fn predict_again(&mut self, i: usize, time: f64) {
        self.bodies[i].advance(time, self.world.gravity);
        self.predict(i);
    }

    /// Predicts what a sphere meets in the cells that came into reach, and its next crossing.
    pub(super) fn predict_layer(&mut self, i: usize, axis: usize, way: i64) {
        self.predict_pairs(i, Neighborhood::Layer(axis, way));
        self.predict_alone(i);
        self.enqueue(i);
    }

    fn enqueue(&mut self, i: usize) {
        let (pair, alone) = (self.slots[i].pair_key(i), self.slots[i].alone_key(i));
        self.queue.set(i, if pair.before(alone) { pair } else { alone });
    }

    // Adds to the slot; the body is at the time of the prediction.
    fn predict_pairs(&mut self, i: usize, which: Neighborhood) {
        let body = self.bodies[i];
        let gravity = self.world.gravity;
        let mut slot = self.slots[i];
        let mut best = slot.pair_key(i);
        self.grid.visit(i, which, |j, shift| {
            let other = &self.bodies[j];
            if j == i {
                return;
            }
            let (position, velocity) = other.at(body.clock, gravity);
            let d = body.position - (position + shift);
            let w = body.velocity - velocity;
            let radius_sum = body.radius + other.radius;
            let delay = if other.fixed() && gravity != DVec3::ZERO {
                falling_time(d, w, gravity, radius_sum)
            } else {
                touching_time(d, w, radius_sum)
            };
            if let Some(delay) = delay {
                let found = Slot {
                    pair_time: body.clock + delay,
                    partner: j as u32,
                    partner_impacts: other.impacts,
                    ..slot
                };
                let key = found.pair_key(i);
                if key.before(best) {
                    best = key;
                    slot = found;
                }
            }
        });
        self.slots[i] = slot;
    }

    fn predict_alone(&mut self, i: usize) {
        let body = &self.bodies[i];
        let slot = &mut self.slots[i];
        (slot.alone, slot.alone_time) = (Alone::Nothing, f64::INFINITY);
        let gravity = self.world.gravity;
        let mut take = |event, delay: Option<f64>| {
            if let Some(delay) = delay
                && body.clock + delay < slot.alone_time
            {
                (slot.alone, slot.alone_time) = (event, body.clock + delay);
            }
        };
        for axis in 0..self.world.axes {
            let (x, v, g) = (body.position[axis], body.velocity[axis], gravity[axis]);
            let (low, high) = (x - self.grid.low(i, axis), self.grid.high(i, axis) - x);
            take(Alone::Cross(axis as u8, -1), closing_time(low.max(0.0), v, g));
            take(Alone::Cross(axis as u8, 1), closing_time(high.max(0.0), -v, -g));
        }
        for (wall, plane) in self.world.planes.iter().enumerate() {
            let gap = plane.gap(body.position, body.radius);
            take(
                Alone::Wall(wall as u32),
                closing_time(gap, plane.normal.dot(body.velocity), plane.normal.dot(gravity)),
            );
        }
    }
}
