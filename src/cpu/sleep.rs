//! Sleeping spheres: contacts of spheres that have not moved for a while are not solved again. A sleeping sphere keeps its
//! exact state and its contact impulses; other spheres treat it as an ordinary sphere.
//!
//! Each sphere has a sleep timer. The timer advances while the sphere is supported, almost at rest and without impacts; a
//! sphere sleeps when its timer reaches a limit. The timers of the spheres that touch a moving one are at most three quarters
//! of the limit, those of the next spheres a sixteenth more, and so on. A moving sphere therefore keeps all spheres awake that four
//! contacts or fewer connect to it. A sphere that merely creeps, or whose spin changes in place, keeps only itself awake.
//!
//! Where nothing resists twisting, a sphere can spin in place for ever. It then falls asleep and keeps its spin. It wakes in the next
//! substep if a touching sphere that is awake moves or changes its spin.
//!
//! A sleeping sphere acts as a wall on the touching spheres that are awake. It wakes within the substep
//! - with its candidates, if a sphere that has moved recently comes to rest on it;
//! - with all spheres of the blocks around it, if an impact involves it or its neighbour;
//! - with its candidates, if the contacts with spheres that are awake change so far that its contacts no longer balance
//!   its weight, and with all spheres of the blocks around it, if the imbalance is strong. It then receives the velocity
//!   that the impulses on it amount to, and the next batch of iterations solves the contacts around it again. In this manner
//!   an impact acts on all that it moves.
//!
//! In the step in which a wall appears or disappears, every substep begins with the spheres awake that touch it.
//!
//! A sphere that wakes without moving sleeps again after a sixteenth of the limit.

use std::{
    ops::Range,
    sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed},
};

use glam::{IVec3, Vec3, Vec4};

use crate::{
    cpu::{
        bits::Bits,
        constraints::{ContactConstraints, ContactImpulse, for_contacts},
        event::{Unrest, View},
        neighbors::Lists,
        order::Order,
        parallel::{Disjoint, TASK, for_ranges},
    },
    state::constants::{
        BESIDE_MOVING, MOST_STEPS, SLEEP, SPREAD, STEPS_OF_WEIGHT, STILL, STRONG, WAKE_SHARE, WALL,
    },
};

/// Mark of a timer whose sphere moves or creeps.
const RESTLESS: u32 = 1 << 31;

/// Sleep timers of all spheres and the sets of sleeping spheres.
#[derive(Default)]
pub struct Sleep {
    /// Sleep timer of each sphere in ticks.
    pub sleep_timer: Vec<u32>,
    /// Timer of each sphere at the end of the substep by its own motion alone, marked [`RESTLESS`] if it moves or creeps; stale for quiet
    /// spheres. `follow` uses it as a buffer.
    own: Vec<u32>,
    next: Vec<AtomicU32>,
    asleep: Bits,
    fixed: Bits,
    /// Sleeping and fixed spheres all of whose candidates sleep or are fixed too, in this substep and the previous one.
    quiet: Bits,
    was_quiet: Bits,
    /// Spheres that may have moved since the last broad phase: those that were awake in a substep, and those that [`disturb`] named. Every
    /// change of the place of a sleeping sphere must go through it, because a broad phase looks at no other spheres.
    ///
    /// [`disturb`]: Self::disturb
    moved: Bits,
    left: Bits,
    list: Vec<u32>,
    /// Spheres that are awake and whose spin the contacts of the substep have changed.
    turned: Bits,
    /// Number of times that the quiet spheres were forgotten.
    order: u64,
    /// Number of sleeping spheres when the substep began.
    count: u64,
    /// Ticks of the substep; 0 = sleep is off.
    step: u32,
    /// Spheres that the substep woke.
    woken: Bits,
    /// Whether no sphere counts as quiet, so that no pass skips any.
    #[cfg(test)]
    pub has_no_quiet: bool,
}

impl Sleep {
    /// Wakes all spheres.
    pub fn new(count: usize) -> Self {
        let mut sleep = Self { sleep_timer: vec![0; count], ..Self::default() };
        let Self { asleep, fixed, quiet, was_quiet, moved, woken, turned, .. } = &mut sleep;
        [asleep, fixed, quiet, was_quiet, moved, woken, turned].into_iter().for_each(|set| set.reset(count));
        sleep
    }

    /// Continues from these timers after a substep in which `count` spheres slept.
    pub fn resume(&mut self, timers: impl Iterator<Item = (usize, u32)>, count: u64) {
        for (i, ticks) in timers {
            self.sleep_timer[i] = ticks;
            match ticks {
                STILL => self.fixed.insert(i),
                SLEEP.. => self.asleep.insert(i),
                _ => {}
            }
        }
        self.count = count;
    }

    /// Selects the sleeping spheres of a substep of `step` ticks.
    pub fn begin(&mut self, step: u32, lists: &Lists) {
        let count = self.sleep_timer.len();
        self.was_quiet.copy_from(&self.quiet);
        self.woken.reset(count);
        self.turned.reset(count);
        (self.step, self.count) = (step, 0);
        if step == 0 {
            self.quiet.reset(count);
            return;
        }
        self.left.reset(count);
        let Self { sleep_timer, asleep, fixed, quiet, left, .. } = &*self;
        for_ranges(count, TASK, |range| {
            quiet.for_absent(range, |i| match sleep_timer[i] {
                STILL => fixed.insert(i),
                SLEEP.. => asleep.insert(i),
                _ if asleep.contains(i) => {
                    asleep.remove(i);
                    left.insert(i);
                }
                _ => {}
            });
        });
        let mut list = std::mem::take(&mut self.list);
        self.left.list(&mut list);
        for &i in &list {
            lists.of(i as usize).iter().for_each(|candidate| self.quiet.remove(candidate.index()));
        }
        self.list = list;
        self.count = self.asleep.count();
        if self.count > 0 {
            let quiet = &self.quiet;
            for_ranges(count, TASK, |range| {
                quiet.for_absent(range, |i| {
                    if self.holds(i) && self.is_among_held(i, lists) {
                        quiet.insert(i);
                    }
                });
            });
        }
        #[cfg(test)]
        if self.has_no_quiet {
            self.quiet.reset(count);
        }
    }

    // Whether a sphere sleeps or is fixed.
    fn holds(&self, i: usize) -> bool {
        self.asleep.contains(i) || self.fixed.contains(i)
    }

    // Whether all candidates of a sphere sleep or are fixed, and no moving wall is near.
    fn is_among_held(&self, i: usize, lists: &Lists) -> bool {
        !lists.is_near_moving_wall(i) && lists.of(i).iter().all(|candidate| self.holds(candidate.index()))
    }

    /// Calls `visit` with the longest ranges within a range whose spheres are not quiet.
    #[inline]
    pub fn for_restless_runs(&self, range: Range<usize>, mut visit: impl FnMut(Range<usize>)) {
        match self.quiet() {
            Some(quiet) => quiet.for_absent_runs(range, visit),
            None => visit(range),
        }
    }

    /// Divides a range into parts of at most 64 spheres, or leaves it whole if no sphere is quiet. Calls `visit` with each part and
    /// whether all its spheres are quiet.
    #[inline]
    pub fn for_parts(&self, range: Range<usize>, mut visit: impl FnMut(Range<usize>, bool)) {
        match self.quiet() {
            Some(quiet) => quiet.for_parts(range, visit),
            None => visit(range, false),
        }
    }

    /// Divides a range as [`for_parts`](Self::for_parts) does. Calls `visit` with each part and whether all its spheres
    /// [stay quiet](Self::stays_quiet).
    #[inline]
    pub fn for_lasting_parts(&self, range: Range<usize>, mut visit: impl FnMut(Range<usize>, bool)) {
        self.for_parts(range, |part, are_quiet| {
            let are_lasting = are_quiet && self.was_quiet.has_all(part.clone());
            visit(part, are_lasting);
        });
    }

    /// Calls `visit` with the spheres of a range that do not [stay quiet](Self::stays_quiet), in ascending order.
    pub fn for_unsteady(&self, range: Range<usize>, mut visit: impl FnMut(usize)) {
        self.for_lasting_parts(range, |part, are_lasting| {
            if !are_lasting {
                part.filter(|&i| !self.stays_quiet(i)).for_each(&mut visit);
            }
        });
    }

    /// Calls `visit` with the spheres of a range that are not quiet, in ascending order.
    #[inline]
    pub fn for_restless(&self, range: Range<usize>, visit: impl FnMut(usize)) {
        match self.quiet() {
            Some(quiet) => quiet.for_absent(range, visit),
            None => range.for_each(visit),
        }
    }

    /// The quiet spheres, if any sphere sleeps.
    pub fn quiet(&self) -> Option<&Bits> {
        (self.count > 0).then_some(&self.quiet)
    }

    /// The quiet spheres of this substep and those of the previous one, if any sphere sleeps.
    pub fn lasting(&self) -> Option<[&Bits; 2]> {
        self.quiet().map(|quiet| [quiet, &self.was_quiet])
    }

    /// Changes whenever the quiet spheres are forgotten.
    pub fn order(&self) -> u64 {
        self.order
    }

    /// Spheres that may have moved since [`settle`](Self::settle).
    pub fn moved(&self) -> &Bits {
        &self.moved
    }

    /// The lists hold the present places, so no sphere counts as moved. `lasts` says whether the quiet spheres are still known;
    /// `renewed` are the spheres with new lists; if absent, all lists are new.
    pub fn settle(&mut self, lasts: bool, renewed: Option<&Bits>, lists: &Lists) {
        self.moved.reset(self.sleep_timer.len());
        if !lasts {
            self.forget_quiet();
            return;
        }
        let Self { quiet, sleep_timer, .. } = &*self;
        let test = |i: usize| {
            if quiet.contains(i) && !self.is_among_held(i, lists) {
                quiet.remove(i);
            }
        };
        for_ranges(sleep_timer.len(), TASK, |range| match renewed {
            Some(renewed) => renewed.for_members(range, test),
            None => range.for_each(test),
        });
    }

    /// Whether a sphere and all its candidates sleep or are fixed.
    #[inline]
    pub fn is_quiet(&self, i: usize) -> bool {
        self.count > 0 && self.quiet.contains(i)
    }

    /// Whether a sphere is quiet in this substep and was quiet in the previous one.
    #[inline]
    pub fn stays_quiet(&self, i: usize) -> bool {
        self.is_quiet(i) && self.was_quiet.contains(i)
    }

    /// Lets a sphere be awake in the substep that is about to begin.
    pub fn rouse(&mut self, i: usize, lists: &Lists) {
        if self.sleep_timer[i] != STILL {
            self.sleep_timer[i] = 0;
            self.disturb(i, lists);
        }
    }

    /// Marks a sphere and its candidates for [`wake_stirred`](Self::wake_stirred).
    pub fn mark(&self, i: usize, lists: &Lists) {
        self.woken.insert(i);
        lists.of(i).iter().for_each(|candidate| self.woken.insert(candidate.index()));
    }

    /// Notes that one solve has changed the spin of a sphere that is awake: `rims` are the velocities of a point of its surface around its
    /// centre before and after. A change does not count if the same change in every substep would add up to at most `sleep_speed` in the
    /// time after which spheres sleep.
    #[inline]
    pub fn turn(&self, i: usize, rims: [Vec3; 2], sleep_speed: f32) {
        let least = sleep_speed * (self.step as f32 / SLEEP as f32);
        if self.step > 0 && (rims[1] - rims[0]).length_squared() > least * least {
            self.turned.insert(i);
        }
    }

    /// Whether the contacts of the substep have changed the spin of a sphere that is awake.
    #[cfg(feature = "gpu")]
    pub fn has_turned(&self, i: usize) -> bool {
        self.turned.contains(i)
    }

    /// Marks a sphere that sleeps.
    pub fn mark_alone(&self, i: usize) {
        if self.contains(i) {
            self.woken.insert(i);
        }
    }

    /// Whether the substep wakes a sphere, or would if it slept.
    #[cfg(feature = "gpu")]
    pub fn is_woken(&self, i: usize) -> bool {
        self.woken.contains(i)
    }

    /// Wakes the marked spheres that sleep, at the start of the substep, and returns them.
    pub fn wake_stirred(&mut self, lists: &Lists) -> Vec<u32> {
        let woken = self.wake_marked(lists);
        self.count -= woken.len() as u64;
        woken
    }

    /// Wakes the marked spheres that sleep, and returns them.
    pub fn wake_marked(&mut self, lists: &Lists) -> Vec<u32> {
        let mut list = vec![];
        self.woken.list(&mut list);
        list.retain(|&i| self.asleep.contains(i as usize));
        for &i in &list {
            self.asleep.remove(i as usize);
            self.disturb(i as usize, lists);
        }
        list
    }

    /// Whether the sleep timer of a sphere has reached half of its limit.
    #[inline]
    fn is_nearly_asleep(&self, i: usize) -> bool {
        self.sleep_timer[i] >= SLEEP / 2
    }

    /// Whether a contact of two spheres wakes one: it sleeps and the other has moved recently.
    #[inline]
    pub fn is_stirred(&self, i: usize, j: usize) -> bool {
        self.contains(i) != self.contains(j) && !(self.is_nearly_asleep(i) && self.is_nearly_asleep(j))
    }

    /// Whether an impact of the substep involved a sphere that sleeps or may touch a sleeping one.
    pub fn is_struck(&self, spins: &[Vec4], i: usize) -> bool {
        // A nearly asleep sphere had its last contact before this substep: the time of that contact is negative.
        self.is_nearly_asleep(i) && spins[i].w >= 0.0
    }

    /// Whether all `movable` spheres slept in the last substep and nothing has woken them: without outside action the
    /// state never changes again.
    pub fn is_all(&self, movable: usize) -> bool {
        self.count > 0
            && self.count == movable as u64
            && self.sleep_timer.iter().all(|&sleep_timer| sleep_timer >= SLEEP)
    }

    /// Spheres that sleep in the substep or slept when it began.
    pub fn count(&self) -> u64 {
        self.count
    }

    #[inline]
    pub fn contains(&self, i: usize) -> bool {
        self.count > 0 && self.asleep.contains(i)
    }

    /// Advances each sphere's sleep timer at the end of a substep.
    pub fn advance_timers(&mut self, view: &View) {
        let step = self.step;
        if step == 0 {
            self.asleep.reset(self.sleep_timer.len());
        }
        self.moved.insert_all_but(&self.asleep, &self.fixed, self.sleep_timer.len());
        if step == 0 {
            return;
        }
        let Self { sleep_timer, own, next, woken, quiet, turned, .. } = self;
        let (quiet, turned) = (&*quiet, &*turned);
        own.resize(sleep_timer.len(), 0);
        next.resize_with(sleep_timer.len(), AtomicU32::default);
        let timer = |i: usize| {
            if view.state.inverse_mass(i) == 0.0 {
                return STILL;
            }
            match view.unrest(i, turned.contains(i)) {
                Unrest::Moves => RESTLESS,
                Unrest::Creeps => (sleep_timer[i] + step).min(SLEEP - SPREAD) | RESTLESS,
                Unrest::None => (sleep_timer[i] + step).min(SLEEP),
            }
        };
        let (next, any) = (&*next, AtomicBool::new(false));
        let timers = Disjoint::new(own);
        for_ranges(next.len(), TASK, |range| {
            let mut most = 0;
            quiet.for_absent(range, |i| {
                let timer = timer(i);
                let count = timer & !RESTLESS;
                // SAFETY: ranges do not overlap.
                unsafe { timers.set(i, timer) };
                next[i].store(count, Relaxed);
                most = most.max(if count == STILL { 0 } else { count });
            });
            if most > BESIDE_MOVING {
                any.store(true, Relaxed);
            }
        });
        // Timers up to `BESIDE_MOVING` are never lowered by a neighbour.
        let (own, constraints) = (&*own, &view.constraints.tasks);
        if any.into_inner() {
            constraints.look(|task| {
                // Spheres that sleep do not limit the timers of their neighbours.
                let awake = task.yielding();
                for constraint in awake.filter(|constraint| constraint.j & WALL == 0) {
                    let pair = [constraint.i as usize, constraint.j as usize];
                    debug_assert!(
                        pair.iter().all(|&k| !quiet.contains(k)),
                        "the partner of a sphere awake is not quiet"
                    );
                    for [k, other] in [pair, [pair[1], pair[0]]] {
                        let (timer, its) = (own[k] & !RESTLESS, own[other] & !RESTLESS);
                        // Fixed spheres do not limit the timers of their neighbours.
                        let is_touched = own[other] & RESTLESS != 0 && view.spins(k);
                        let most = most_beside(its).min(if is_touched { SLEEP - SPREAD } else { STILL });
                        if timer > most && timer < STILL {
                            next[k].fetch_min(most, Relaxed);
                        }
                    }
                }
            });
        }
        let limited = |i: usize, ticks: u32| match woken.contains(i) && ticks < STILL {
            true => ticks.min(SLEEP - SPREAD),
            false => ticks,
        };
        let sleep_timer = Disjoint::new(sleep_timer);
        // SAFETY: ranges do not overlap.
        for_ranges(next.len(), TASK, |range| {
            quiet.for_absent(range, |i| unsafe { sleep_timer.set(i, limited(i, next[i].load(Relaxed))) });
        });
    }

    /// A sphere has changed: it and its candidates are no longer quiet.
    pub fn disturb(&self, i: usize, lists: &Lists) {
        self.moved.insert(i);
        if self.count > 0 {
            self.quiet.remove(i);
            lists.of(i).iter().for_each(|candidate| self.quiet.remove(candidate.index()));
        }
    }

    /// Forgets the quiet spheres.
    pub fn forget_quiet(&mut self) {
        self.quiet.reset(self.sleep_timer.len());
        self.order += 1;
    }

    /// Reorders timers and sets with the spheres.
    pub fn follow(&mut self, order: &Order) {
        order.permute(&mut self.sleep_timer, &mut self.own);
        let Self { asleep, fixed, quiet, moved, .. } = self;
        [asleep, fixed, quiet, moved].into_iter().for_each(|set| set.follow(order));
    }

    pub fn bytes(&self) -> usize {
        4 * (self.sleep_timer.capacity() + self.own.capacity() + self.next.capacity())
            + 4 * self.list.capacity()
            + 8 * self.asleep.bytes()
    }
}

/// Largest sleep timer of the neighbours of a sphere.
fn most_beside(timer: u32) -> u32 {
    timer.max(BESIDE_MOVING - SPREAD) + SPREAD
}

/// How far the contacts of a sphere are from balancing its weight.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Imbalance {
    None,
    Slight,
    Strong,
}

/// Imbalance of a sleeping sphere that has a candidate awake.
pub fn imbalance(view: &View, constraints: &ContactConstraints, i: usize) -> Imbalance {
    let is_beside_others =
        view.sleep.count > 0 && view.sleep.asleep.contains(i) && !view.sleep.quiet.contains(i);
    if !is_beside_others {
        return Imbalance::None;
    }
    let state = view.state;
    let weight = view.frame.gravity.length() * view.frame.h;
    let scale = STEPS_OF_WEIGHT * state.inverse_mass(i) / weight;
    let (mut push, mut load) = (IVec3::ZERO, 0);
    for_contacts(
        view,
        |k| constraints.of(k as usize),
        i,
        |constraint, sign| {
            let ContactImpulse { normal, tangent, .. } = constraint.impulse;
            let steps = (constraint.normal * normal + tangent) * (sign * scale);
            let steps = steps.clamp(Vec3::splat(-MOST_STEPS), Vec3::splat(MOST_STEPS));
            // Sums wrap around as they do on a device.
            push = push.wrapping_add(steps.map(|steps| (steps + 0.5).floor()).as_ivec3());
            load = i32::wrapping_add(load, ((normal * scale).min(MOST_STEPS) + 0.5).floor() as i32);
        },
    );
    let left = push.as_vec3() / STEPS_OF_WEIGHT + view.frame.gravity / view.frame.gravity.length();
    let most = WAKE_SHARE * (1.0 + load as f32 / STEPS_OF_WEIGHT);
    match left.length_squared() {
        square if square > STRONG * STRONG => Imbalance::Strong,
        square if square > most * most => Imbalance::Slight,
        _ => Imbalance::None,
    }
}

/// Velocity that the contact impulses give to a sphere which they no longer hold at rest.
pub fn given_velocity(view: &View, constraints: &ContactConstraints, i: usize) -> Vec3 {
    let mut push = Vec3::ZERO;
    for_contacts(
        view,
        |k| constraints.of(k as usize),
        i,
        |constraint, sign| {
            push += (constraint.normal * constraint.impulse.normal + constraint.impulse.tangent) * sign;
        },
    );
    push * view.state.inverse_mass(i) + view.frame.gravity * view.frame.h
}
