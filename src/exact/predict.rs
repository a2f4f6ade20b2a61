//! Predicts the next event of a sphere.

use glam::DVec3;

use super::{
    ExactEngine,
    grid::Neighborhood,
    slot::{Alone, Meeting, Slot},
    sweep::{closing_time, falling_time, noise, touching_time},
};

impl ExactEngine {
    /// Predicts all events of a sphere whose motion has just changed. A fixed sphere predicts nothing: its partners do.
    pub(super) fn predict(&mut self, i: usize) {
        if self.bodies[i].fixed() {
            return;
        }
        self.slots[i] = Slot::default();
        self.predict_pairs(i, Neighborhood::All);
        self.predict_alone(i);
        self.enqueue(i);
    }

    /// Predicts all events of a sphere that continues its flight at `time`.
    pub(super) fn predict_again(&mut self, i: usize, time: f64) {
        self.bodies[i].advance(time, self.world.gravity);
        self.predict(i);
    }

    /// Predicts the impacts of a sphere in the cells that came into reach, and its next crossing.
    pub(super) fn predict_layer(&mut self, i: usize, axis: usize, way: i64) {
        self.predict_pairs(i, Neighborhood::Layer(axis, way));
        self.predict_alone(i);
        self.enqueue(i);
    }

    pub(super) fn enqueue(&mut self, i: usize) {
        self.queue.set(i, self.slots[i].key(self.bodies[i].number));
    }

    // Adds to the slot; the body is at the time of the prediction.
    fn predict_pairs(&mut self, i: usize, which: Neighborhood) {
        let body = self.bodies[i];
        let gravity = self.world.gravity;
        let speed = body.velocity.length();
        let mut slot = self.slots[i];
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
                falling_time(d, w, gravity, radius_sum, noise(speed))
            } else {
                touching_time(d, w, radius_sum, speed)
            };
            if let Some(delay) = delay {
                let meeting = Meeting {
                    time: body.clock + delay,
                    partner: j as u32,
                    partner_number: other.number,
                    partner_impacts: other.impacts,
                };
                slot.insert(meeting, body.number);
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
            take(Alone::Cross(axis as u8, -1), closing_time(low.max(0.0), v, g, 0.0));
            take(Alone::Cross(axis as u8, 1), closing_time(high.max(0.0), -v, -g, 0.0));
        }
        let noise = noise(body.velocity.length());
        for (wall, plane) in self.world.planes.iter().enumerate() {
            let gap = plane.gap(body.position, body.radius);
            take(
                Alone::Wall(wall as u32),
                closing_time(gap, plane.normal.dot(body.velocity), plane.normal.dot(gravity), noise),
            );
        }
    }
}
