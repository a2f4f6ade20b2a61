//! Sums over the state at the start of the next step.

use glam::DVec3;

use super::{ExactEngine, body::Body, grid::Neighborhood};
use crate::Measure;

impl ExactEngine {
    pub(super) fn audit(&self) -> Measure {
        let mut measure = Measure { kinetic_energy: self.spin_energy, ..Measure::default() };
        let mut places = Vec::with_capacity(self.bodies.len());
        for body in &self.bodies {
            let (position, velocity) = body.at(0.0, self.world.gravity);
            places.push((position, body.radius, body.fixed()));
            if !body.fixed() {
                let mass = 1.0 / body.inverse_mass;
                measure.kinetic_energy += 0.5 * mass * velocity.length_squared();
                measure.potential_energy -= mass * self.world.gravity.dot(position - self.world.reference);
                measure.momentum += velocity * mass;
            }
        }
        measure.deepest_overlap = self.deepest_overlap(&places);
        measure
    }

    // Fixed spheres may overlap each other: they are often walls.
    fn deepest_overlap(&self, places: &[(DVec3, f64, bool)]) -> f64 {
        let mut deepest = 0.0f64;
        for (i, &(position, radius, fixed)) in places.iter().enumerate() {
            let mut meet = |j: usize, shift: DVec3| {
                let (other, other_radius, other_fixed) = places[j];
                let radius_sum = radius + other_radius;
                let d = (position - (other + shift)).length_squared();
                if d < radius_sum * radius_sum && i != j && !(fixed && other_fixed) {
                    deepest = deepest.max(1.0 - d.sqrt() / radius_sum);
                }
            };
            self.grid.visit(i, Neighborhood::Half, &mut meet);
            self.grid.visit_own(i, |j| {
                if j > i {
                    meet(j, DVec3::ZERO);
                }
            });
            if !fixed {
                for plane in &self.world.planes {
                    deepest = deepest.max(-plane.gap(position, radius) / (2.0 * radius));
                }
            }
        }
        deepest
    }

    /// Returns to the start of the step. What [`read`](crate::simulation::Engine::read) gives is as it was.
    pub(super) fn restore(&mut self) {
        for (i, body) in self.start.iter().enumerate() {
            self.bodies[i] = Body { clock: 0.0, ..*body };
            (self.bodies[i].position, self.bodies[i].velocity) = body.at(0.0, self.world.gravity);
            self.bodies[i].position = self.world.wrap(self.bodies[i].position);
        }
        self.grid.clear();
        self.rebuild();
    }
}
