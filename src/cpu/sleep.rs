//! Spheres that sleep: where nothing has moved for a while, contacts are not solved again. A sphere that sleeps stands
//! still to the bit and bears what its contacts bore; to whatever comes along it is a sphere like any other.
//!
//! Each sphere counts for how long it has been calm: it was carried and all but stood, struck nothing, and so did
//! all that it touches, those they touch, and so on, one contact further with each substep. So an island falls
//! asleep as a whole.
//!
//! What is struck hands on what it gets within the substep, through all of its island. Which spheres that are nobody knows
//! without following contact by contact: all that sleep are woken, wherever they are. Those that it does not concern are calm
//! still, and asleep again after half of the time. What touches spheres that sleep and is itself not yet calm for long enough is
//! held by them as by walls: it has all but stood for half of the time, or all wake.

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

/// See the module.
#[derive(Default)]
pub struct Sleep {
    /// Ticks for which each sphere has been calm.
    pub sleep_timer: Vec<u32>,
    back: Vec<u32>,
    next: Vec<AtomicU32>,
    asleep: Bits,
    /// Spheres that sleep among others that do: nothing that they could meet moves. In this substep and the one before.
    quiet: Bits,
    was_quiet: Bits,
    /// How many there were when the substep began.
    count: u64,
    /// Ticks of the substep; 0 = nobody ever sleeps.
    step: u32,
    all_woken: bool,
}

impl Sleep {
    /// All are awake.
    pub fn new(count: usize) -> Self {
        let mut sleep = Self { sleep_timer: vec![0; count], ..Self::default() };
        [&mut sleep.asleep, &mut sleep.quiet, &mut sleep.was_quiet]
            .into_iter()
            .for_each(|set| set.reset(count));
        sleep
    }

    /// Says who sleeps in a substep of so many ticks.
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

    /// Whether it was so in the substep before too.
    #[inline]
    pub fn stays_quiet(&self, i: usize) -> bool {
        self.is_quiet(i) && self.was_quiet.contains(i)
    }

    /// All wake before the substep has begun.
    pub fn wake_all(&mut self) {
        (self.count, self.all_woken) = (0, true);
    }

    /// Whether all were woken in the substep.
    pub fn all_are_woken(&self) -> bool {
        self.all_woken
    }

    /// Whether a sphere has been calm for half of the time that it takes.
    #[inline]
    fn is_nearly_asleep(&self, i: usize) -> bool {
        self.sleep_timer[i] >= SLEEP / 2
    }

    /// Whether a contact of two spheres wakes all: one sleeps, and the other has moved of late.
    #[inline]
    pub fn is_stirred(&self, i: usize, j: usize) -> bool {
        self.contains(i) != self.contains(j) && !(self.is_nearly_asleep(i) && self.is_nearly_asleep(j))
    }

    /// Wakes all if in the substep any has been struck that sleeps or may touch what does.
    pub fn wake_struck(&mut self, state: &State) {
        // What is drowsy has long had no contact: before, the time of the last one is negative.
        let is_struck = |i: usize| self.is_nearly_asleep(i) && state.spin[i].w >= 0.0;
        if self.count > 0
            && !self.all_woken
            && (0..state.len()).into_par_iter().with_min_len(TASK).any(is_struck)
        {
            self.all_woken = true;
        }
    }

    /// Whether all that could move, so many, slept in the last substep and nothing has woken them: nothing will ever happen
    /// here by itself.
    pub fn is_all(&self, movable: usize) -> bool {
        self.count > 0
            && self.count == movable as u64
            && self.sleep_timer.iter().all(|&sleep_timer| sleep_timer >= SLEEP)
    }

    /// Spheres that sleep in the substep, or did when it began.
    pub fn count(&self) -> u64 {
        self.count
    }

    #[inline]
    pub fn contains(&self, i: usize) -> bool {
        self.count > 0 && !self.all_woken && self.asleep.contains(i)
    }

    /// Counts on at the end of a substep.
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
            // Not as what is fixed.
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
        // Where none has been calm for longer than a substep none can hand on less.
        let constraints = &view.constraints.tasks;
        if any.into_inner() {
            constraints.look(|task| {
                for constraint in task.constraints.iter().filter(|constraint| constraint.j & WALL == 0) {
                    let (i, j) = (constraint.i as usize, constraint.j as usize);
                    let counts = [own(i), own(j)];
                    // Fixed spheres hand nothing on.
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

    /// What was quiet is no longer known: the substep is done again.
    pub fn forget_quiet(&mut self) {
        self.quiet.reset(self.sleep_timer.len());
    }

    /// Follows the spheres into their new order; `order` says where each came from.
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
