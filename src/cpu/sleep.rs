//! Sleeping spheres: contacts of spheres that have not moved for a while are not solved again. A sleeping sphere keeps its
//! exact state and its contact impulses; other spheres treat it as an ordinary sphere.
//!
//! Each sphere has a sleep timer. The timer advances while the sphere is supported, almost at rest and without impacts; a
//! sphere sleeps when its timer reaches a limit. A timer may exceed the timer of a touching sphere by one substep at most.
//! A moving sphere therefore holds back the timers around it, one contact further in each substep, and an island falls
//! asleep as a whole.
//!
//! An impact on a sleeping sphere must act on its whole island within the substep. Islands are not tracked, so the
//! impact wakes all sleeping spheres everywhere. Undisturbed spheres sleep again after half of the limit. A sleeping
//! sphere acts as a wall on a touching sphere that is awake, provided that the timer of the latter has reached half of
//! the limit; otherwise the contact wakes all sleeping spheres.

use crate::state::constants::{SLEEP, STILL};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

use rayon::prelude::*;

use crate::{
    cpu::{
        bits::Bits,
        event::View,
        neighbors::Lists,
        parallel::{Disjoint, TASK, for_ranges},
    },
    state::{columns::State, constants::WALL},
};

/// Sleep timers of all spheres and the sets of sleeping spheres.
#[derive(Default)]
pub struct Sleep {
    /// Sleep timer of each sphere in ticks.
    pub sleep_timer: Vec<u32>,
    back: Vec<u32>,
    next: Vec<AtomicU32>,
    asleep: Bits,
    /// Sleeping spheres all of whose candidates sleep too, in this substep and the previous one.
    quiet: Bits,
    was_quiet: Bits,
    /// Number of sleeping spheres when the substep began.
    count: u64,
    /// Ticks of the substep; 0 = sleep is off.
    step: u32,
    all_woken: bool,
}

impl Sleep {
    /// Wakes all spheres.
    pub fn new(count: usize) -> Self {
        let mut sleep = Self { sleep_timer: vec![0; count], ..Self::default() };
        [&mut sleep.asleep, &mut sleep.quiet, &mut sleep.was_quiet]
            .into_iter()
            .for_each(|set| set.reset(count));
        sleep
    }

    /// Selects the sleeping spheres of a substep of `step` ticks.
    pub fn begin(&mut self, step: u32, lists: &Lists) {
        if self.all_woken {
            self.forget_quiet();
        }
        std::mem::swap(&mut self.quiet, &mut self.was_quiet);
        self.quiet.reset(self.sleep_timer.len());
        (self.step, self.count, self.all_woken) = (step, 0, false);
        if step == 0 {
            return;
        }
        self.asleep.reset(self.sleep_timer.len());
        let asleep = &self.asleep;
        for_ranges(self.sleep_timer.len(), TASK, |range| {
            for i in range.filter(|&i| (SLEEP..STILL).contains(&self.sleep_timer[i])) {
                asleep.insert(i);
            }
        });
        self.count = self.asleep.count();
        if self.count > 0 {
            let quiet = &self.quiet;
            for_ranges(self.sleep_timer.len(), TASK, |range| {
                for i in range.filter(|&i| asleep.contains(i)) {
                    if !lists.is_near_moving_wall(i)
                        && lists
                            .of(i)
                            .iter()
                            .all(|of| asleep.contains(of.index()) || self.sleep_timer[of.index()] == STILL)
                    {
                        quiet.insert(i);
                    }
                }
            });
        }
    }

    /// Whether a sphere and all its candidates sleep.
    #[inline]
    pub fn is_quiet(&self, i: usize) -> bool {
        self.count > 0 && !self.all_woken && self.quiet.contains(i)
    }

    /// Whether a sphere is quiet in this substep and was quiet in the previous one.
    #[inline]
    pub fn stays_quiet(&self, i: usize) -> bool {
        self.is_quiet(i) && self.was_quiet.contains(i)
    }

    /// Wakes all spheres before the substep has begun.
    pub fn wake_all(&mut self) {
        (self.count, self.all_woken) = (0, true);
    }

    /// Whether the substep woke all spheres.
    pub fn all_are_woken(&self) -> bool {
        self.all_woken
    }

    /// Whether the sleep timer of a sphere has reached half of its limit.
    #[inline]
    fn is_nearly_asleep(&self, i: usize) -> bool {
        self.sleep_timer[i] >= SLEEP / 2
    }

    /// Whether a contact of two spheres wakes all: one sleeps and the other has moved recently.
    #[inline]
    pub fn is_stirred(&self, i: usize, j: usize) -> bool {
        self.contains(i) != self.contains(j) && !(self.is_nearly_asleep(i) && self.is_nearly_asleep(j))
    }

    /// Wakes all if an impact of the substep involved a sphere that sleeps or may touch a sleeping sphere.
    pub fn wake_struck(&mut self, state: &State) {
        // A nearly asleep sphere had its last contact before this substep: the time of that contact is negative.
        let is_struck = |i: usize| self.is_nearly_asleep(i) && state.spin[i].w >= 0.0;
        if self.count > 0
            && !self.all_woken
            && (0..state.len()).into_par_iter().with_min_len(TASK).any(is_struck)
        {
            self.all_woken = true;
        }
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
        self.count > 0 && !self.all_woken && self.asleep.contains(i)
    }

    /// Advances each sphere's sleep timer at the end of a substep.
    pub fn advance_timers(&mut self, view: &View) {
        let step = self.step;
        if step == 0 {
            return;
        }
        let Self { sleep_timer, next, .. } = self;
        next.resize_with(sleep_timer.len(), AtomicU32::default);
        let own = |i: usize| match (view.state.inverse_mass(i) == 0.0, view.moves(i)) {
            (true, _) => STILL,
            (_, true) => 0,
            // Below the value that marks fixed spheres.
            _ => (sleep_timer[i] + step).min(STILL - 1),
        };
        let (next, any) = (&*next, AtomicBool::new(false));
        for_ranges(next.len(), TASK, |range| {
            let mut most = 0;
            for i in range {
                let count = own(i);
                next[i].store(count, Relaxed);
                most = most.max(if count == STILL { 0 } else { count });
            }
            if most > step {
                any.store(true, Relaxed);
            }
        });
        // If no timer exceeds one substep, no neighbour can lower another timer.
        let constraints = &view.constraints.tasks;
        if any.into_inner() {
            constraints.look(|task| {
                for constraint in task.constraints.iter().filter(|constraint| constraint.j & WALL == 0) {
                    let (i, j) = (constraint.i as usize, constraint.j as usize);
                    let counts = [own(i), own(j)];
                    // Fixed spheres do not limit the timers of their neighbours.
                    if counts[0] > counts[1] + step && counts[0] < STILL {
                        next[i].fetch_min(counts[1] + step, Relaxed);
                    }
                    if counts[1] > counts[0] + step && counts[1] < STILL {
                        next[j].fetch_min(counts[0] + step, Relaxed);
                    }
                }
            });
        }
        let most = if self.all_woken { SLEEP / 2 } else { STILL };
        let sleep_timer = Disjoint::new(sleep_timer);
        // SAFETY: ranges do not overlap.
        for_ranges(next.len(), TASK, |range| {
            range.for_each(|i| unsafe { sleep_timer.set(i, next[i].load(Relaxed).min(most)) });
        });
    }

    /// Forgets the quiet spheres, because the substep is repeated.
    pub fn forget_quiet(&mut self) {
        self.quiet.reset(self.sleep_timer.len());
    }

    /// Reorders the timers with the spheres; `order` holds the previous index of each sphere.
    pub fn follow(&mut self, order: &[u32]) {
        self.forget_quiet();
        let Self { sleep_timer, back, .. } = self;
        back.clear();
        back.extend(order.iter().map(|&i| sleep_timer[i as usize]));
        std::mem::swap(sleep_timer, back);
    }

    pub fn bytes(&self) -> usize {
        4 * (self.sleep_timer.capacity() + self.back.capacity() + self.next.capacity())
            + 3 * self.asleep.bytes()
    }
}
