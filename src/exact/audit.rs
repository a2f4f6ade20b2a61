//! Measures the state at the start of the next step: sums over all spheres, and the deepest overlaps.

use glam::DVec3;

use super::ExactEngine;
use crate::Measure;

// Present position of a sphere.
#[derive(Clone, Copy)]
struct Place {
    position: DVec3,
    radius: f64,
    sphere: u32,
    fixed: bool,
}

impl ExactEngine {
    pub(super) fn audit(&self) -> Measure {
        let mut measure = Measure { kinetic_energy: self.spin_energy, ..Measure::default() };
        let mut places = Vec::with_capacity(self.bodies.len());
        for (i, body) in self.bodies.iter().enumerate() {
            let (position, velocity) = body.at(0.0, self.world.gravity);
            places.push(Place { position, radius: body.radius, sphere: i as u32, fixed: body.fixed() });
            if !body.fixed() {
                let mass = 1.0 / body.inverse_mass;
                measure.kinetic_energy += 0.5 * mass * velocity.length_squared();
                measure.potential_energy -= mass * self.world.gravity.dot(position - self.world.reference);
                measure.momentum += velocity * mass;
            }
        }
        measure.deepest_overlap = self.deepest_pair(&places).max(self.deepest_wall(&places));
        measure
    }

    fn deepest_wall(&self, places: &[Place]) -> f64 {
        let mut deepest = 0.0f64;
        for place in places.iter().filter(|place| !place.fixed) {
            for plane in &self.world.planes {
                deepest = deepest.max(-plane.gap(place.position, place.radius) / (2.0 * place.radius));
            }
        }
        deepest
    }

    // Fixed spheres may overlap each other: they often form walls.
    fn deepest_pair(&self, places: &[Place]) -> f64 {
        // A counting sort into buckets: traversing the lists of the grid takes three times as long.
        let mut ends = vec![0u32; self.grid.bucket_count() + 1];
        for i in 0..places.len() {
            ends[self.grid.bucket_of(i)] += 1;
        }
        let mut end = 0;
        for count in &mut ends {
            end += *count;
            *count = end;
        }
        let mut sorted = places.to_vec();
        for (i, place) in places.iter().enumerate() {
            let slot = &mut ends[self.grid.bucket_of(i)];
            *slot -= 1;
            sorted[*slot as usize] = *place;
        }
        // The former end of a bucket is now its start.
        let mut deepest = 0.0f64;
        for a in &sorted {
            self.grid.visit_half(a.sphere as usize, |buckets, shift| {
                for b in &sorted[ends[buckets.start] as usize..ends[buckets.end] as usize] {
                    let radius_sum = a.radius + b.radius;
                    let squared = (a.position - (b.position + shift)).length_squared();
                    if squared < radius_sum * radius_sum && a.sphere != b.sphere && !(a.fixed && b.fixed) {
                        deepest = deepest.max(1.0 - squared.sqrt() / radius_sum);
                    }
                }
            });
        }
        deepest
    }

    /// Returns to the start of the step; [`read`](crate::step::engine::Engine::read) then gives the spheres of that time.
    pub(super) fn restore(&mut self) {
        for (body, before) in self.bodies.iter_mut().zip(&self.start) {
            body.go_back(before);
        }
        self.start_over();
    }
}
