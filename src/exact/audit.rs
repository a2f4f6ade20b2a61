//! Measures the state at the start of the next step: sums over all spheres, and the deepest overlaps.

use std::ops::Range;

use glam::{DVec3, Mat4, Vec4};

use super::{ExactEngine, body::Before};
use crate::Measure;

// Spheres that the search for overlaps tests at once.
const LANES: usize = 4;

/// The spheres sorted by the buckets of the grid, for the search for overlaps; kept between steps for their memory.
#[derive(Default)]
pub(super) struct Sorted {
    // Coordinates and radii in units of a cell, rounded to f32: in memory order, and in the order of the buckets.
    places: Vec<Vec4>,
    by_bucket: Vec<Vec4>,
    // Start of each bucket in the arrays that are in the order of the buckets, and the end of the last.
    starts: Vec<u32>,
    spheres: Vec<u32>,
    buckets: Vec<u32>,
    // More than the rounding of a distance and two radii.
    slack: f32,
}

impl ExactEngine {
    pub(super) fn audit(&self, sorted: &mut Sorted) -> Measure {
        let mut measure = Measure { kinetic_energy: self.spin_energy, ..Measure::default() };
        let scale = 1.0 / self.grid.edge().max_element();
        let mut farthest = self.world.periods;
        sorted.places.clear();
        sorted.starts.clear();
        sorted.starts.resize(self.grid.bucket_count() + 1, 0);
        for (i, (body, properties)) in self.bodies.iter().zip(&self.properties).enumerate() {
            let (position, velocity) = body.at(0.0, self.gravity_of(i));
            if !properties.fixed() {
                let mass = 1.0 / properties.inverse_mass;
                measure.kinetic_energy += 0.5 * mass * velocity.length_squared();
                measure.potential_energy -= mass * self.world.gravity.dot(position - self.world.reference);
                measure.momentum += velocity * mass;
            }
            farthest = farthest.max(position.abs());
            let scaled = (position * scale).as_vec3();
            sorted.places.push(scaled.extend((body.radius * scale) as f32));
            sorted.starts[self.grid.bucket_of(i)] += 1;
        }
        // Coordinates and shifts are off by at most half of the first part, a radius by far less than the second.
        sorted.slack = (farthest.max_element() * scale) as f32 * (8.0 * f32::EPSILON) + 1e-6;
        self.sort(sorted);
        measure.deepest_overlap = self.deepest_pair(sorted, scale).max(self.deepest_wall());
        measure
    }

    fn position(&self, i: usize) -> DVec3 {
        self.bodies[i].at(0.0, self.gravity_of(i)).0
    }

    fn deepest_wall(&self) -> f64 {
        let mut deepest = 0.0f64;
        if self.world.planes.is_empty() {
            return deepest;
        }
        for (i, body) in self.bodies.iter().enumerate() {
            if !self.properties[i].fixed() {
                let position = self.position(i);
                for plane in &self.world.planes {
                    deepest = deepest.max(-plane.gap(position, body.radius) / (2.0 * body.radius));
                }
            }
        }
        deepest
    }

    // Fixed spheres may overlap each other: they often form walls.
    fn deepest_pair(&self, sorted: &Sorted, scale: f64) -> f64 {
        let starts = &sorted.starts;
        let mut deepest = 0.0f64;
        let mut check = |place: usize, close: bool| {
            if close {
                deepest = deepest.max(self.deepest_of(sorted, sorted.spheres[place] as usize));
            }
        };
        // Whether a sphere at the end of a row is close to another.
        let at_end = |place: usize| {
            let (mut close, own) = (false, sorted.buckets[place] as usize);
            self.grid.visit_half(sorted.spheres[place] as usize, |bucket, shift| {
                let is_own = bucket == own && shift == DVec3::ZERO;
                let first = if is_own { place as u32 + 1 } else { starts[bucket] };
                let shift = (shift * scale).as_vec3();
                close |=
                    sorted.any_close(sorted.by_bucket[place] - shift.extend(0.0), first..starts[bucket + 1]);
            });
            close
        };
        for row in self.grid.rows() {
            let [all, interior] =
                [&row.buckets, &row.interior].map(|buckets| starts[buckets.start]..starts[buckets.end]);
            for place in (all.start..interior.start).chain(interior.end..all.end) {
                check(place as usize, at_end(place as usize));
            }
            let beside = row.beside.map(|(offset, shift)| (offset, (shift * scale).as_vec3().extend(0.0)));
            for place in interior {
                let own = sorted.buckets[place as usize] as usize;
                let here = sorted.by_bucket[place as usize];
                let mut close = sorted.any_close(here, place + 1..starts[own + 2]);
                for &(offset, shift) in &beside[1..row.count] {
                    let middle = own.wrapping_add_signed(offset);
                    let here = here - shift;
                    close |= sorted.any_close(here, starts[middle - 1]..starts[middle + 2]);
                }
                check(place as usize, close);
            }
        }
        deepest
    }

    // Deepest overlap of a sphere with those in half of the cells around it.
    fn deepest_of(&self, sorted: &Sorted, i: usize) -> f64 {
        let mut deepest = 0.0f64;
        let position = self.position(i);
        self.grid.visit_half(i, |bucket, shift| {
            let places = sorted.starts[bucket] as usize..sorted.starts[bucket + 1] as usize;
            for &j in &sorted.spheres[places] {
                let j = j as usize;
                let radius_sum = self.bodies[i].radius + self.bodies[j].radius;
                let squared = (position - (self.position(j) + shift)).length_squared();
                let both_fixed = || self.properties[i].fixed() && self.properties[j].fixed();
                if squared < radius_sum * radius_sum && i != j && !both_fixed() {
                    deepest = deepest.max(1.0 - squared.sqrt() / radius_sum);
                }
            }
        });
        deepest
    }

    // A counting sort into buckets, whose sizes are counted already: traversing the lists of the grid takes longer.
    fn sort(&self, sorted: &mut Sorted) {
        let Sorted { places, by_bucket, starts, spheres, buckets, .. } = sorted;
        let count = places.len();
        let mut end = 0;
        for start in starts.iter_mut() {
            end += *start;
            *start = end;
        }
        spheres.resize(count, 0);
        buckets.resize(count, 0);
        // The last test goes beyond the end.
        by_bucket.resize(count + LANES, Vec4::MAX);
        by_bucket[count..].fill(Vec4::MAX);
        for (i, &place) in places.iter().enumerate() {
            let bucket = self.grid.bucket_of(i);
            starts[bucket] -= 1;
            let target = starts[bucket] as usize;
            spheres[target] = i as u32;
            buckets[target] = bucket as u32;
            by_bucket[target] = place;
        }
    }

    /// Returns to the start of the step; [`read`](crate::step::engine::Engine::read) then gives the spheres of that time.
    pub(super) fn restore(&mut self) {
        // A sphere may be recorded twice at time 0; the first record is that of the start.
        while let Some(Before { sphere, body, last_contact }) = self.journal.pop() {
            self.bodies[sphere as usize] = body;
            self.slot(sphere as usize).last_contact = last_contact;
        }
        for properties in &mut self.properties {
            properties.hasty = 0;
        }
        self.start_over();
    }
}

impl Sorted {
    pub fn memory_bytes(&self) -> usize {
        let words = [&self.starts, &self.spheres, &self.buckets].map(Vec::capacity).iter().sum::<usize>();
        (self.places.capacity() + self.by_bucket.capacity()) * size_of::<Vec4>() + words * size_of::<u32>()
    }

    // Whether a sphere may overlap one of the sorted others; true if the rounding leaves it open. The test covers a few
    // spheres after them too: nearly all runs end within its width, so that it needs no branch.
    #[inline(always)]
    fn any_close(&self, sphere: Vec4, others: Range<u32>) -> bool {
        // The difference of the last components is the reach.
        let sphere = sphere.truncate().extend(-(sphere.w + self.slack));
        let test = |first: usize| {
            let others = &self.by_bucket[first..first + LANES];
            let squares = [0, 1, 2, 3].map(|lane| {
                let d = others[lane] - sphere;
                d * d
            });
            let [x, y, z, reach] = squares;
            let Mat4 { x_axis: x, y_axis: y, z_axis: z, w_axis: reach } =
                Mat4::from_cols(x, y, z, reach).transpose();
            // False if a coordinate is not a number.
            !(x + y + z).cmpge(reach).all()
        };
        let (first, end) = (others.start as usize, others.end as usize);
        let mut close = test(first);
        for first in (first + LANES..end).step_by(LANES) {
            close |= test(first);
        }
        close
    }
}

#[cfg(test)]
mod tests {
    use glam::UVec3;
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64;

    use super::*;
    use crate::{Bounds, Dimensions, Side, Sphere, System};

    fn random_system(rng: &mut Pcg64, axes: usize, count: u32) -> System {
        let edge = if axes == 3 { 9.0 } else { 25.0 };
        // Some axes are only one or two cells long.
        let size = DVec3::from_array([0; 3].map(|_| if rng.random_bool(0.2) { 2.2 } else { edge }));
        let mut bounds = Bounds { min: DVec3::splat(-3.0), max: size - 3.0, ..Bounds::default() };
        for side in &mut bounds.sides[..axes] {
            *side = [Side::Periodic, Side::Wall, Side::Open][rng.random_range(0..3)];
        }
        let dimensions = if axes == 3 { Dimensions::Three } else { Dimensions::Two };
        let mut system = System { bounds, dimensions, dt: 0.1, ..System::default() };
        for id in 0..count {
            let radius = rng.random_range(0.1..0.5);
            let mut sphere = Sphere { id, radius, fixed: rng.random_bool(0.2), ..Sphere::default() };
            for axis in 0..axes {
                sphere.position[axis] = rng.random_range(radius - 3.0..size[axis] - 3.0 - radius);
            }
            system.spheres.push(sphere);
        }
        system
    }

    // The deepest overlap that the audit finds and that of all pairs.
    fn deepest(system: &System) -> [f64; 2] {
        let engine = ExactEngine::new(system).unwrap();
        let mut deepest = 0.0f64;
        for (k, a) in system.spheres.iter().enumerate() {
            for b in system.spheres[..k].iter().filter(|b| !(a.fixed && b.fixed)) {
                let distance = engine.world.nearest_image(a.position - b.position).length();
                deepest = deepest.max(1.0 - distance / (a.radius + b.radius));
            }
        }
        [engine.audit(&mut Sorted::default()).deepest_overlap, deepest]
    }

    #[test]
    fn the_deepest_overlap_is_that_of_all_pairs() {
        let mut rng = Pcg64::seed_from_u64(1);
        let mut overlapping = 0;
        for case in 0..400 {
            let system = random_system(&mut rng, 2 + case % 2, [3, 10, 30, 100, 300][case / 2 % 5]);
            let [found, expected] = deepest(&system);
            assert!((found - expected).abs() < 1e-12, "case {case}: {found} instead of {expected}");
            overlapping += usize::from(expected > 0.0);
        }
        assert!((100..400).contains(&overlapping), "{overlapping}");
    }

    #[test]
    fn a_single_overlap_is_found_anywhere_also_across_the_ends_of_periods() {
        let (edge, spacing) = (6, 1.5);
        let high = DVec3::splat(f64::from(edge) * spacing);
        for sides in [[Side::Periodic; 3], [Side::Periodic, Side::Open, Side::Periodic]] {
            let bounds = Bounds { max: high, sides, ..Bounds::default() };
            let mut system = System { bounds, ..System::default() };
            for id in 0..edge * edge * edge {
                let site = UVec3::new(id % edge, id / edge % edge, id / (edge * edge)).as_dvec3();
                system.spheres.push(Sphere { id, position: spacing * site + 0.1, ..Sphere::default() });
            }
            let mut overlapping = 0;
            for (k, axis, way) in (0..216).flat_map(|k| (0..6).map(move |n| (k, n / 2, n % 2))) {
                let before = system.spheres[k].position;
                system.spheres[k].position[axis] += if way == 0 { -0.6 } else { 0.6 };
                let [found, expected] = deepest(&system);
                assert!((found - expected).abs() < 1e-12, "{sides:?} {k} {axis} {way}: {found}, {expected}");
                overlapping += usize::from(expected > 0.0);
                system.spheres[k].position = before;
            }
            // The outer layers along the open axis have nothing beyond them.
            let missing = if sides[1] == Side::Open { 2 * 36 } else { 0 };
            assert_eq!(overlapping, 6 * 216 - missing);
        }
    }
}
