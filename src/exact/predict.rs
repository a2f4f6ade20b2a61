//! Predicts the next event of a sphere.

use glam::DVec3;

use super::{
    ExactEngine,
    ahead::prefetch,
    grid::{Near, Neighborhood},
    slot::{Alone, Meeting},
    sweep::{closing_time, falling_time, may_touch, noise, touching_time},
};

impl ExactEngine {
    /// Predicts all events of a sphere whose motion has just changed. A fixed sphere predicts nothing: its partners do.
    pub(super) fn predict(&mut self, i: usize) {
        if self.properties[i].fixed() {
            return;
        }
        self.slot(i).clear();
        self.predict_pairs(i, Neighborhood::All);
        self.predict_alone(i);
        self.enqueue(i);
    }

    /// Predicts all events of a sphere that continues its flight at `time`.
    pub(super) fn predict_again(&mut self, i: usize, time: f64) {
        self.advance(i, time);
        self.predict(i);
    }

    /// Predicts the impacts of a sphere in the cells that came into reach, and its next crossing.
    pub(super) fn predict_layer(&mut self, i: usize, axis: usize, way: i64) {
        self.predict_pairs(i, Neighborhood::Layer(axis, way));
        self.predict_alone(i);
        self.enqueue(i);
    }

    pub(super) fn enqueue(&mut self, i: usize) {
        self.queue.set(i, self.slots[i].key(self.properties[i].number));
    }

    // Adds to the slot; the body is at the time of the prediction.
    fn predict_pairs(&mut self, i: usize, which: Neighborhood) {
        let mut near = std::mem::take(&mut self.near);
        self.grid.visit(i, which, &mut near);
        let gravity = self.world.gravity;
        if gravity == DVec3::ZERO {
            self.keep_approaching(i, &mut near);
            near.iter().for_each(|near| prefetch(&self.properties[near.sphere as usize]));
        }
        let body = self.bodies[i];
        let number = self.properties[i].number;
        let speed = body.velocity.length();
        let slot = &mut self.slots[i];
        for &Near { sphere, shift } in &near {
            let other = &self.bodies[sphere as usize];
            let fixed = gravity != DVec3::ZERO && self.properties[sphere as usize].fixed();
            let (position, velocity) = other.at(body.clock, if fixed { DVec3::ZERO } else { gravity });
            let d = body.position - (position + shift);
            let w = body.velocity - velocity;
            let radius_sum = body.radius + other.radius;
            let delay = if fixed {
                falling_time(d, w, gravity, radius_sum, noise(speed))
            } else {
                touching_time(d, w, radius_sum, speed)
            };
            if let Some(delay) = delay {
                let partner = &self.properties[sphere as usize];
                let meeting = Meeting {
                    time: body.clock + delay,
                    partner: sphere,
                    partner_number: partner.number,
                    partner_impacts: partner.impacts,
                };
                slot.insert(meeting, number);
            }
        }
        self.near = near;
    }

    // Removes the spheres that cannot touch, without gravity. The loop has no branch, so that the processor loads many spheres
    // at the same time: most are not in the cache.
    fn keep_approaching(&self, i: usize, near: &mut Vec<Near>) {
        let body = self.bodies[i];
        let mut kept = 0;
        for k in 0..near.len() {
            let candidate = near[k];
            let other = &self.bodies[candidate.sphere as usize];
            let (position, velocity) = other.at(body.clock, DVec3::ZERO);
            let d = body.position - (position + candidate.shift);
            near[kept] = candidate;
            kept += usize::from(may_touch(d, body.velocity - velocity, body.radius + other.radius));
        }
        near.truncate(kept);
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
