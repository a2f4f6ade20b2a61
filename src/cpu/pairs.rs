//! Tests of candidate pairs, four pairs at a time. A sphere owns about three pairs: with a loop for each
//! sphere, mispredicted branches and horizontal sums took most of the time.

use glam::{Mat4, Vec3, Vec4};

use crate::cpu::{event::View, neighbors::Candidate};

/// Pairs that are tested together.
pub const LANES: usize = 4;

/// Four pairs: the sphere that each belongs to, and its candidate.
pub struct Four<'a> {
    pub spheres: [usize; LANES],
    pub candidates: &'a [Candidate; LANES],
}

/// Four vectors by component.
#[derive(Clone, Copy)]
pub struct Vectors([Vec4; 3]);

impl Vectors {
    #[inline(always)]
    pub fn new(of: impl Fn(usize) -> Vec4) -> Self {
        let Mat4 { x_axis, y_axis, z_axis, .. } = Mat4::from_cols(of(0), of(1), of(2), of(3)).transpose();
        Self([x_axis, y_axis, z_axis])
    }

    /// The scalar products, with the same order of operations as for one vector.
    #[inline(always)]
    pub fn dot(&self, other: &Self) -> Vec4 {
        let ([x, y, z], [a, b, c]) = (self.0, other.0);
        x * a + y * b + z * c
    }

    /// The sums with multiples of other vectors.
    #[inline(always)]
    pub fn plus(&self, other: &Self, factor: f32) -> Self {
        let ([x, y, z], [a, b, c]) = (self.0, other.0);
        Self([x + a * factor, y + b * factor, z + c * factor])
    }
}

/// The shift vectors of all candidate codes, as four floats each.
#[inline]
pub fn wide(shifts: &[Vec3; 32]) -> [Vec4; 32] {
    std::array::from_fn(|code| shifts[code].extend(0.0))
}

impl Four<'_> {
    /// Sphere, partner and candidate code of a pair.
    #[inline(always)]
    pub fn pair(&self, lane: usize) -> (usize, usize, u32) {
        let candidate = self.candidates[lane];
        (self.spheres[lane], candidate.index(), candidate.code())
    }

    /// One number of each pair.
    #[inline(always)]
    pub fn each(&self, of: impl Fn(usize, usize) -> f32) -> Vec4 {
        let at = |lane: usize| of(self.spheres[lane], self.candidates[lane].index());
        Vec4::new(at(0), at(1), at(2), at(3))
    }

    /// Offsets of the spheres from their partners, from the stored positions.
    #[inline(always)]
    pub fn offsets(&self, view: &View, shifts: &[Vec4; 32]) -> Vectors {
        let place = view.state.place;
        Vectors::new(|lane| {
            let (i, j, code) = self.pair(lane);
            (place[i] - place[j]) - shifts[code as usize]
        })
    }

    /// The sums of the radii.
    #[inline(always)]
    pub fn radius_sums(&self, view: &View) -> Vec4 {
        let place = view.state.place;
        self.each(|i, j| place[i].w + place[j].w)
    }

    /// Velocities of the spheres relative to their partners.
    #[inline(always)]
    pub fn velocities(&self, view: &View) -> Vectors {
        let motion = view.state.motion;
        Vectors::new(|lane| {
            let (i, j, _) = self.pair(lane);
            motion[i] - motion[j]
        })
    }

    /// Pairs whose overlap at the end of the substep is surely at most `depth`, one bit each; no pair with a fixed sphere.
    /// Decides as [`View::stays_clear`] does.
    #[inline(always)]
    pub fn stays_clear(&self, view: &View, shifts: &[Vec4; 32], depth: f32) -> u32 {
        let (place, motion, clock) = (view.state.place, view.state.motion, view.clock);
        let end = Vectors::new(|lane| {
            let (i, j, code) = self.pair(lane);
            let t = clock[i].max(clock[j]);
            let (here, there) =
                (place[i] + motion[i] * (t - clock[i]), place[j] + motion[j] * (t - clock[j]));
            (here - there) - shifts[code as usize] + (motion[i] - motion[j]) * (view.frame.h - t)
        });
        let near = self.radius_sums(view) * (1.0 - depth);
        end.dot(&end).cmpgt(near * near * (1.0 + 1e-5)).bitmask() & !self.fixed(view)
    }

    /// Pairs of which one sphere may be fixed, one bit each: the product of its inverse masses is 0.
    #[inline(always)]
    pub fn fixed(&self, view: &View) -> u32 {
        let motion = view.state.motion;
        self.each(|i, j| motion[i].w * motion[j].w).cmpeq(Vec4::ZERO).bitmask()
    }
}

/// Calls `visit` for each member of a set of lanes.
#[inline(always)]
pub fn for_lanes(mut set: u32, mut visit: impl FnMut(usize)) {
    while set != 0 {
        visit(set.trailing_zeros() as usize);
        set &= set - 1;
    }
}

#[cfg(test)]
mod tests {
    use glam::{DVec3, Vec3A};
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64;

    use super::*;
    use crate::{
        Bounds, Materials, Side, Sphere, Surface, System,
        cpu::{Stepper, core::Core, event::Deepening, relax::Relax, rest::Rest, rounds::Rounds, sweep},
        state::{
            columns::NEVER,
            constants::{DEEP, RELAX_FROM},
            frame::Frame,
        },
    };

    const SIDES: [[Side; 3]; 3] =
        [[Side::Wall; 3], [Side::Periodic, Side::Periodic, Side::Wall], [Side::Periodic; 3]];

    // A block of 648 spheres of mixed sizes, a large one above it and a bullet; every ninth sphere is fixed if `fixes`.
    fn block(seed: u64, sides: [Side; 3], fixes: bool) -> System {
        let mut rng = Pcg64::seed_from_u64(seed);
        let mut system = System { dt: 0.02, materials: Materials::empty(), ..System::default() };
        if sides[2] == Side::Wall {
            system.gravity = DVec3::NEG_Z * 5.0;
        }
        let surface = Surface { restitution: 0.3, friction: 0.5, ..Surface::default() };
        system.materials.add("stone", surface, 1.0);
        for k in 0..648_u32 {
            let site = glam::UVec3::new(k % 9, k / 9 % 9, k / 81).as_dvec3() + 0.5;
            let mut draw = || 2.0 * rng.random::<f64>() - 1.0;
            let position = site + 0.02 * DVec3::new(draw(), draw(), draw());
            let velocity = 0.3 * DVec3::new(draw(), draw(), draw());
            let radius = 0.4 + 0.08 * draw();
            // Ids in no order, so that either sphere of a pair may own it.
            let id = k * 389 % 648;
            let fixed = fixes && k % 9 == 4;
            system.spheres.push(Sphere { id, position, velocity, radius, fixed, ..Sphere::default() });
        }
        let large =
            Sphere { id: 700, position: DVec3::new(4.5, 4.5, 10.5), radius: 2.0, ..Sphere::default() };
        let bullet = Sphere {
            id: 701,
            position: DVec3::new(1.0, 1.0, 13.0),
            velocity: DVec3::new(2.0, 3.0, -60.0),
            radius: 0.3,
            ..Sphere::default()
        };
        system.spheres.extend([large, bullet]);
        system.bounds = Bounds { max: DVec3::new(9.0, 9.0, 14.0), sides, ..Bounds::default() };
        system
    }

    // The engine after some steps.
    fn after(system: &System, steps: u32) -> Stepper {
        let mut stepper = Stepper::new(system, |_| NEVER, 0.0).unwrap();
        for k in 0..steps {
            stepper.step(f64::from(k) * system.dt, None, false).unwrap();
        }
        stepper
    }

    // The engines that the tests look at: while the block falls apart and when it has come to rest.
    fn cases() -> impl Iterator<Item = (String, Stepper)> {
        let all = SIDES.into_iter().flat_map(|sides| [(sides, false), (sides, true)]);
        all.zip(1..).flat_map(|((sides, fixes), seed)| {
            [3, 30, 90].map(|steps| {
                let what = format!("{sides:?}, fixed {fixes}, {steps} steps");
                (what, after(&block(seed, sides, fixes), steps))
            })
        })
    }

    // Adds random velocities.
    fn stir(core: &mut Core, most: f32) {
        let mut rng = Pcg64::seed_from_u64(8);
        for motion in core.state.motion.iter_mut().filter(|motion| motion.w > 0.0) {
            let velocity =
                Vec3::from(std::array::from_fn::<f32, 3, _>(|_| most * (2.0 * rng.random::<f32>() - 1.0)));
            *motion += velocity.extend(0.0);
        }
    }

    fn frame_of(core: &Core, h: f32) -> Frame {
        Frame { h, gravity: core.domain.world.gravity, drift: Vec3::ZERO, drifted: Vec3::ZERO }
    }

    fn pairs_of(core: &Core, range: std::ops::Range<usize>) -> Vec<(usize, Candidate)> {
        let mut pairs = vec![];
        core.lists.for_fours(range, |four, lanes| {
            for_lanes(lanes, |lane| pairs.push((four.spheres[lane], four.candidates[lane])));
        });
        pairs
    }

    fn check_own(what: &str, core: &Core) {
        let (ids, count) = (&core.state.id, core.state.len());
        let mut all = vec![];
        for i in 0..count {
            let owned = core.lists.of(i).iter().filter(|other| ids[other.index()] > ids[i]);
            let own: Vec<_> = owned.copied().collect();
            assert_eq!(core.lists.own(i), own, "{what}, sphere {i}");
            all.extend(own.into_iter().map(|other| (i, other)));
        }
        // Every pair is listed twice and owned once.
        let listed: usize = (0..count).map(|i| core.lists.of(i).len()).sum();
        assert_eq!(2 * all.len(), listed, "{what}");
        for range in [0..count, 1..count - 1, 255..257, 200..600, 7..8, 9..9] {
            let expected: Vec<_> = all.iter().filter(|(i, _)| range.contains(i)).copied().collect();
            assert_eq!(pairs_of(core, range.clone()), expected, "{what}, {range:?}");
        }
    }

    #[test]
    fn each_pair_is_owned_once() {
        let mut longest = 0;
        for (what, stepper) in cases() {
            let core = &stepper.engine.core;
            check_own(&what, core);
            longest = longest.max((0..core.state.len()).map(|i| core.lists.of(i).len()).max().unwrap());
        }
        assert!(longest > 8, "{longest}");
    }

    // Where spheres sleep, the broad phase keeps most lists.
    #[test]
    fn each_pair_is_owned_once_where_spheres_sleep() {
        let mut system = block(3, SIDES[1], false);
        system.spheres.truncate(648);
        system.spheres[640].velocity.z = 6.0;
        let mut stepper = Stepper::new(&system, |_| NEVER, 0.0).unwrap();
        let mut slept = 0;
        for k in 0..600 {
            stepper.step(f64::from(k) * system.dt, None, false).unwrap();
            let core = &stepper.engine.core;
            let count = core.sleep.count();
            if count > 0 && count < 648 {
                slept += 1;
                check_own(&format!("step {k}, {count} asleep"), core);
            }
        }
        assert!(slept > 20, "{slept} steps with sleeping and moving spheres");
    }

    #[test]
    fn the_sweep_finds_each_sphere_with_an_impact() {
        let (mut found, mut converted) = (0, 0);
        for ((what, mut stepper), before) in cases().zip([true, false].into_iter().cycle()) {
            let core = &mut stepper.engine.core;
            let frame = frame_of(core, 0.01);
            if before {
                // Close pairs that approach too fast for a new constraint collide.
                stir(core, 0.3);
            }
            if core.domain.world.rests {
                Rest::default().before(core, frame);
            }
            if !before {
                stir(core, 1.0);
            }
            let mut rounds = Rounds::new(core.state.len());
            rounds.launch(core, frame).unwrap();
            rounds.sweep(core, frame);
            let (view, conversions) = (core.view(frame), core.converted.count());
            for i in 0..core.state.len() {
                let event = sweep::sweep(&view, i);
                assert_eq!(rounds.pending.contains(i), event.is_some(), "{what}, sphere {i}: {event:?}");
                assert_eq!(rounds.events[i], event, "{what}, sphere {i}");
                found += u32::from(event.is_some());
            }
            // The sweep of a sphere converts impacts that the first sweep missed.
            assert_eq!(core.converted.count(), conversions, "{what}");
            converted += conversions;
        }
        assert!(found > 500 && converted > 20, "{found} impacts, {converted} spheres with converted ones");
    }

    #[test]
    fn four_pairs_stay_clear_and_deepen_as_one_does() {
        let (mut told, mut deep) = (0, 0);
        for (what, mut stepper) in cases() {
            let core = &mut stepper.engine.core;
            stir(core, 1.0);
            // So long that gravity changes the depth of pairs that were stopped.
            let frame = frame_of(core, (5.0 * core.domain.dt) as f32);
            core.clock.iter_mut().enumerate().for_each(|(k, t)| *t = [0.0, 0.4, 0.7][k % 3] * frame.h);
            // Spheres that were stopped.
            core.state.motion.iter_mut().step_by(2).for_each(|motion| *motion = Vec4::ZERO);
            let view = core.view(frame);
            let shifts = wide(view.shifts);
            view.lists.for_fours(0..core.state.len(), |four, lanes| {
                let clear = four.stays_clear(&view, &shifts, DEEP);
                for_lanes(lanes, |lane| {
                    let (i, j, code) = four.pair(lane);
                    let shift = view.shifts[code as usize];
                    let expected = view.stays_clear(i, j, Vec3A::from(shift), DEEP);
                    assert_eq!(clear >> lane & 1 != 0, expected, "{what}, {i} and {j}");
                    told += u32::from(expected);
                    // The sphere of smaller index decides.
                    let mut candidates = view.lists.of(i.min(j)).iter();
                    let other = candidates.find(|other| other.index() == i.max(j)).unwrap();
                    let shift = view.shifts[other.code() as usize];
                    let depth: Deepening = view.overlap_ahead(i.min(j), i.max(j), shift);
                    assert_eq!(view.deepens(i, j, code), depth.deepens(), "{what}, {i} and {j}");
                    deep += u32::from(depth.deepens());
                });
            });
        }
        assert!(told > 1000 && deep > 100, "{told} clear and {deep} deep pairs");
    }

    #[test]
    fn the_deepest_overlap_is_that_of_all_pairs() {
        let mut rng = Pcg64::seed_from_u64(9);
        for (what, mut stepper) in cases().filter(|(what, _)| !what.contains("Wall")) {
            let core = &mut stepper.engine.core;
            for place in &mut core.state.place {
                let draw = |_| 0.4 * (rng.random::<f32>() - 0.5);
                *place += Vec3::from(std::array::from_fn::<f32, 3, _>(draw)).extend(0.0);
            }
            let view = core.view(frame_of(core, 0.01));
            let (mut deepest, mut deep) = (0.0_f32, vec![false; core.state.len()]);
            for (i, &other) in (0..deep.len()).flat_map(|i| view.lists.of(i).iter().map(move |c| (i, c))) {
                let j = other.index();
                let shift = view.shifts[other.code() as usize];
                let d = (view.state.offset(i) - view.state.offset(j)) - shift;
                let sum = view.state.radius(i) + view.state.radius(j);
                let depth = (sum - d.length()) / sum;
                deepest = deepest.max(depth);
                deep[i] |= depth > RELAX_FROM;
            }
            let mut relax = Relax::default();
            assert_eq!(relax.deepest(&view), deepest, "{what}");
            assert!(deepest > RELAX_FROM && deep.contains(&false), "{what}: {deepest}");
            let pushed: Vec<_> =
                relax.pushes(&view).filter(|(_, push)| *push != Vec3::ZERO).map(|(i, _)| i).collect();
            let movable = |i: usize| view.state.inverse_mass(i) > 0.0;
            let expected: Vec<_> = (0..deep.len()).filter(|&i| deep[i] && movable(i)).collect();
            assert_eq!(pushed, expected, "{what}");
        }
    }
}
