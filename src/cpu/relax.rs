//! Stage `relax`: finds the deepest overlap at the end of the substep, and pushes overlapping spheres apart by changing
//! positions only.

use crate::state::constants::{RELAX_FACTOR, RELAX_FROM, RELAX_SLOP, relax_weight};
use std::ops::Range;

use glam::{Vec3, Vec4};

use crate::{
    cpu::{
        bits::Bits,
        event::View,
        neighbors::Candidate,
        order::Order,
        pairs::{for_lanes, wide},
        parallel::{Disjoint, Outputs, TASK, for_ranges},
    },
    state::constants::wall_bit,
};

/// Marks an unknown depth.
const UNKNOWN: f32 = 2.0;

/// Spheres pushed by one task: few are pushed, and each checks all its candidates.
const PUSH_TASK: usize = 128;

/// Buffers of the stage.
#[derive(Default)]
pub struct Relax {
    deepest: Outputs<f32>,
    /// Spheres with an overlap deeper than [`RELAX_FROM`].
    deep: Bits,
    deep_list: Vec<u32>,
    /// Correction of each sphere in `deep_list`.
    push: Vec<Vec3>,
    /// Deepest overlap of each quiet sphere, constant until a push; more than 1 if unknown.
    quiet: Vec<f32>,
    buffer: Vec<f32>,
}

impl Relax {
    /// Deepest overlap of any pair or wall, in mean diameters of the pair.
    pub fn deepest(&mut self, view: &View) -> f32 {
        let count = view.state.len();
        self.deep.reset(count);
        let deep = &self.deep;
        self.quiet.resize(count, UNKNOWN);
        // Without quiet spheres, only those near walls and those with dynamic candidates are looked at one by one.
        let are_restless = view.sleep.quiet().is_none();
        if are_restless {
            self.quiet.fill(UNKNOWN);
        }
        let has_dynamic = !view.dynamic_candidates.spheres().is_empty();
        let quiet = Disjoint::new(&mut self.quiet);
        let shifts = wide(view.shifts);
        self.deepest.run_evenly(count, TASK, |range, deepest| {
            *deepest = 0.0;
            view.sleep.for_restless_runs(range.clone(), |run| {
                *deepest = deepest_of_pairs(view, run, *deepest, &shifts, deep);
            });
            if are_restless {
                view.for_near_walls(range, |i| *deepest = deepest_beyond(view, i, *deepest, deep));
                return;
            }
            let test = |i: usize, deepest: &mut f32| {
                let rests = view.sleep.is_quiet(i);
                let is_quiet = rests && view.dynamic_candidates.of(i).next().is_none();
                // SAFETY: ranges do not overlap.
                let known =
                    if is_quiet && view.sleep.stays_quiet(i) { unsafe { quiet.get(i) } } else { UNKNOWN };
                if known <= RELAX_FROM {
                    *deepest = deepest.max(known);
                    return;
                }
                let mut depth = if is_quiet { 0.0 } else { *deepest };
                if rests {
                    depth = deepest_of_pairs(view, i..i + 1, depth, &shifts, deep);
                }
                depth = deepest_beyond(view, i, depth, deep);
                // SAFETY: as above.
                unsafe { quiet.set(i, if is_quiet { depth } else { UNKNOWN }) };
                *deepest = deepest.max(depth);
            };
            view.sleep.for_lasting_parts(range, |part, are_lasting| {
                // SAFETY: as above.
                let depth = |i: usize| unsafe { quiet.get(i) };
                let known = if are_lasting && !has_dynamic {
                    part.clone().map(depth).fold(0.0, f32::max)
                } else {
                    UNKNOWN
                };
                if known <= RELAX_FROM {
                    *deepest = deepest.max(known);
                } else {
                    part.for_each(|i| test(i, deepest));
                }
            });
        });
        let mut deepest = self.deepest.iter().fold(0.0, |a: f32, &b| a.max(b));
        if are_restless {
            for &i in view.dynamic_candidates.spheres() {
                deepest = deepest_beyond(view, i as usize, deepest, deep);
            }
        }
        deepest
    }

    /// Reorders what is known of the quiet spheres.
    pub fn follow(&mut self, order: &Order) {
        if self.quiet.len() == order.len() {
            order.permute(&mut self.quiet, &mut self.buffer);
        }
    }

    /// Index of the wall with the deepest overlap, and that overlap in diameters.
    pub fn deepest_wall(view: &View) -> Option<(u32, f64)> {
        let of = |i: usize| {
            let mut deepest: Option<(u32, f32)> = None;
            let mut see = |wall: u32, depth: f32| {
                if depth > deepest.map_or(0.0, |(_, depth)| depth) {
                    deepest = Some((wall, depth));
                }
            };
            let at = view.at_end(i);
            for (plane, wall) in view.world.walls.iter().enumerate().filter(|(_, wall)| wall.there) {
                let gap = wall.normal.dot(view.wall_to(plane, i)) - wall.speed * at.t - at.radius;
                see(wall.number, -gap / (2.0 * at.radius));
            }
            view.for_features(i, |_, feature| {
                let touch = view.touch(feature, &at);
                if !touch.is_shadowed {
                    see(feature.wall, -touch.gap / (2.0 * at.radius));
                }
            });
            deepest
        };
        let free = (0..view.state.len()).filter(|&i| view.state.inverse_mass(i) > 0.0);
        let deepest = free.filter_map(of).max_by(|a, b| a.1.total_cmp(&b.1));
        deepest.map(|(wall, depth)| (wall, f64::from(depth)))
    }

    /// Spheres of the deep overlaps found by [`deepest`](Self::deepest), in ascending order, each with a correction that reduces them.
    pub fn pushes<'a>(&'a mut self, view: &View) -> impl Iterator<Item = (usize, Vec3)> + use<'a> {
        let Self { deep, deep_list, push, .. } = self;
        deep.list(deep_list);
        push.resize(deep_list.len(), Vec3::ZERO);
        let pushes = Disjoint::new(push);
        for_ranges(deep_list.len(), PUSH_TASK, |range| {
            for k in range {
                // SAFETY: ranges do not overlap.
                unsafe { pushes.set(k, push_of(view, deep_list[k] as usize)) };
            }
        });
        deep_list.iter().map(|&i| i as usize).zip(push.iter().copied())
    }

    pub fn bytes(&self) -> usize {
        self.push.capacity() * size_of::<Vec3>()
            + 4 * (self.deep_list.capacity() + self.quiet.capacity() + self.buffer.capacity())
            + self.deep.bytes()
    }
}

/// Result of the stage. Depths are in mean diameters.
#[derive(Clone, Copy, Debug, Default)]
pub struct Relaxed {
    /// Deepest overlap at the last measurement.
    pub deepest: f32,
    /// Whether a push followed the last measurement.
    pub pushed: bool,
    /// Work done against gravity.
    pub work: f64,
}

/// Deepest overlap in the pairs that some spheres own, at least `least`. Inserts into `deep` all spheres that overlap deeper
/// than [`RELAX_FROM`].
#[inline]
fn deepest_of_pairs(view: &View, spheres: Range<usize>, least: f32, shifts: &[Vec4; 32], deep: &Bits) -> f32 {
    let mut deepest = least;
    view.lists.for_fours(spheres, |four, lanes| {
        // Reject by squared distance: overlaps below both `RELAX_FROM` and the deepest so far do not matter. A small margin
        // covers the rounding of the root.
        let share = 1.0 - deepest.min(RELAX_FROM);
        let nearest = share * share * (1.0 + 1e-5);
        let (d, sum) = (four.offsets(view, shifts), four.radius_sums(view));
        for_lanes(lanes & d.dot(&d).cmplt(sum * sum * nearest).bitmask(), |lane| {
            let (i, j, code) = four.pair(lane);
            if let Some((_, depth)) = overlap(view, i, j, view.shifts[code as usize]) {
                deepest = deepest.max(depth);
                if depth > RELAX_FROM {
                    deep.insert(i);
                    deep.insert(j);
                }
            }
        });
    });
    deepest
}

/// Deepest overlap of a sphere with walls and dynamic candidates, at least `least`. Inserts into `deep` as
/// [`deepest_of_pairs`] does.
#[inline]
fn deepest_beyond(view: &View, i: usize, least: f32, deep: &Bits) -> f32 {
    let mut deepest = least;
    contacts_beyond(view, i, |_, other, depth| {
        if other.is_none_or(|j| i < j) {
            deepest = deepest.max(depth);
            if depth > RELAX_FROM {
                deep.insert(i);
                other.into_iter().for_each(|j| deep.insert(j));
            }
        }
    });
    deepest
}

/// Correction of sphere `i`; zero if it is fixed.
fn push_of(view: &View, i: usize) -> Vec3 {
    let state = view.state;
    let inverse = state.inverse_mass(i);
    let (mut push, mut weights) = (Vec3::ZERO, 0.0);
    if inverse > 0.0 {
        let mut visit = |normal: Vec3, other: Option<usize>, depth: f32| {
            if depth > RELAX_FROM {
                let theirs = other.map_or(0.0, |j| state.inverse_mass(j));
                let diameter = state.radius(i) + other.map_or(state.radius(i), |j| state.radius(j));
                let weight = relax_weight(depth, 2.0 * state.radius(i) / diameter);
                let way = RELAX_FACTOR * (depth - RELAX_SLOP) * diameter * inverse / (inverse + theirs);
                push += normal * (way * weight);
                weights += weight;
            }
        };
        for &candidate in view.lists.of(i) {
            let j = candidate.index();
            if let Some((normal, depth)) = overlap(view, i, j, view.shifts[candidate.code() as usize]) {
                visit(normal, Some(j), depth);
            }
        }
        contacts_beyond(view, i, visit);
    }
    if weights > 0.0 { push / weights } else { push }
}

/// Normal towards i, and depth in mean diameters, of the overlap of two spheres whose clocks are at the end of the substep.
#[inline]
fn overlap(view: &View, i: usize, j: usize, shift: Vec3) -> Option<(Vec3, f32)> {
    let state = view.state;
    let d = (state.offset(i) - state.offset(j)) - shift;
    let sum = state.radius(i) + state.radius(j);
    let square = d.length_squared();
    (square < sum * sum).then(|| {
        let distance = square.sqrt();
        // Coincident centres separate along x, the smaller index to the right.
        let side = if i < j { Vec3::X } else { Vec3::NEG_X };
        (if distance > 0.0 { d / distance } else { side }, (sum - distance) / sum)
    })
}

/// Calls `visit(normal towards i, other sphere, depth in mean diameters)` for overlaps of sphere `i` outside its list:
/// dynamic candidates and walls.
#[inline]
fn contacts_beyond(view: &View, i: usize, mut visit: impl FnMut(Vec3, Option<usize>, f32)) {
    for (_, dynamic) in view.dynamic_candidates.of(i) {
        let (j, shift) = (dynamic.other as usize, view.grid.shift(dynamic.cells));
        // The partner of a fast sphere may be in its list as well.
        let is_listed = |of: &Candidate| of.index() == j && view.shifts[of.code() as usize] == shift;
        if !view.lists.of(i).iter().any(is_listed)
            && let Some((normal, depth)) = overlap(view, i, j, shift)
        {
            visit(normal, Some(j), depth);
        }
    }
    let walls = if view.dynamic_candidates.is_fast(i) { u32::MAX } else { view.lists.walls(i) };
    if walls != 0 {
        let radius = view.state.radius(i);
        for (plane, wall) in view.world.walls.iter().enumerate() {
            if walls & wall_bit(plane) != 0 && wall.there {
                let gap = wall.normal.dot(view.wall_to(plane, i)) - wall.speed * view.frame.h - radius;
                if gap < 0.0 {
                    visit(wall.normal, None, -gap / (2.0 * radius));
                }
            }
        }
    }
    if view.state.inverse_mass(i) > 0.0 && !view.world.features.is_empty() {
        let at = view.at_end(i);
        view.for_features(i, |_, feature| {
            let touch = view.touch(feature, &at);
            if touch.gap < 0.0 && !touch.is_shadowed {
                visit(touch.normal, None, -touch.gap / (2.0 * at.radius));
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use glam::DVec3;

    use crate::{Side, Sphere, System, cpu::Stepper, state::columns::NEVER, step::engine::Engine};

    // The middle one of three spheres overlaps the first one deeply and the last one a little. By a plain mean it would move away
    // from the first one half as far.
    #[test]
    fn the_deepest_overlap_of_a_sphere_weighs_most() {
        let [deep, shallow] = [0.009, 0.0025];
        let mut system = System { dt: 0.01, ..System::default() };
        for (x, id) in [0.0, 1.0 - deep, 2.0 - deep - shallow].into_iter().zip(0..) {
            system.spheres.push(Sphere { id, position: DVec3::X * x, ..Sphere::default() });
        }
        let mut stepper = Stepper::new(&system, |_| NEVER, 0.0).unwrap();
        stepper.step(0.0, None, false).unwrap();
        let mut spheres = system.spheres.clone();
        stepper.read(&mut spheres).unwrap();
        // Each sphere of a pair moves by half of the factor.
        let correction = |depth: f64| 0.25 * (depth - 0.002);
        let weight = |depth: f64| (depth / 0.002_031_25).powi(2);
        let sum = weight(deep) * correction(deep) - weight(shallow) * correction(shallow);
        let expected = sum / (weight(deep) + weight(shallow));
        let moved = spheres[1].position.x - system.spheres[1].position.x;
        assert!((moved - expected).abs() < 2e-6, "{moved} instead of {expected}");
        assert!(expected > 1.8 * 0.5 * (correction(deep) - correction(shallow)), "{expected}");
    }

    // A small sphere lies .012 of its diameter deep in the floor and .01 of the mean diameter deep in a large one, which is five times
    // as far. Without the factor for sizes it would be pushed further into the floor.
    #[test]
    fn a_small_sphere_under_a_large_one_leaves_the_floor() {
        let mut system = System { dt: 0.01, ..System::default() };
        (system.bounds.min, system.bounds.max) = (DVec3::ZERO, DVec3::splat(30.0));
        system.bounds.sides[2] = Side::Wall;
        let height = 0.5 - 0.012;
        let place = |z: f64| DVec3::new(15.0, 15.0, z);
        let small = Sphere { id: 0, position: place(height), ..Sphere::default() };
        let large = Sphere {
            id: 1,
            position: place(height + 0.99 * 5.5),
            radius: 5.0,
            mass: 1000.0,
            ..Sphere::default()
        };
        system.spheres = vec![small, large];
        let mut stepper = Stepper::new(&system, |_| NEVER, 0.0).unwrap();
        stepper.step(0.0, None, false).unwrap();
        let mut spheres = system.spheres.clone();
        stepper.read(&mut spheres).unwrap();
        let moved = spheres[0].position.z - height;
        // Weights 34.9 of the floor and 24.2 times 2/11 of the large sphere; corrections of .005 up and .022 down.
        assert!((moved - 0.002).abs() < 1e-4, "{moved}");
    }
}
