//! Warm start: passes the impulses of a substep's contact constraints to the next substep.

use std::mem::swap;

use super::{ContactConstraint, ContactConstraints, ContactImpulse, STANDS, Slot, past_of};
use crate::{
    cpu::parallel::{Disjoint, TASK, for_ranges},
    state::constants::WALL,
};

/// Spheres whose past constraints are in one task, about as many as the constraints of a task belong to otherwise: then the
/// allocations of past and present tasks serve in turn.
const PAST_TASK: usize = 256;

impl ContactConstraints {
    /// Reorders past constraints after their spheres; `order` holds the previous index of each sphere.
    pub fn follow(&mut self, order: &[u32]) {
        if self.tasks.iter().all(|task| task.constraints.is_empty()) && !self.is_past_ready {
            // Drop older constraints: their indices belong to another order.
            self.past_slots.iter_mut().for_each(|slot| *slot = Slot::default());
            self.past.for_each(|task| task.constraints.clear());
            (self.is_past_ready, self.past_h, self.count) = (true, self.h, 0);
            return;
        }
        if self.is_past_ready {
            swap(&mut self.tasks, &mut self.past);
            swap(&mut self.slots, &mut self.past_slots);
        } else {
            self.past_h = self.h;
        }
        let Self { tasks, past, slots, past_slots, places, .. } = self;
        places.resize(order.len(), 0);
        let to = Disjoint::new(places);
        for_ranges(order.len(), TASK, |range| {
            // SAFETY: an order names each sphere once.
            range.for_each(|k| unsafe { to.set(order[k] as usize, k as u32) });
        });
        let (places, tasks, slots) = (&*places, &*tasks, &*slots);
        past_slots.resize(order.len(), Slot::default());
        let past_slots = Disjoint::new(past_slots);
        past.run(order.len(), PAST_TASK, |range, task| {
            task.begin();
            for k in range.clone() {
                let first = task.constraints.len();
                let renumbered = |constraint: &ContactConstraint| ContactConstraint {
                    i: k as u32,
                    j: if constraint.j & WALL == 0 { places[constraint.j as usize] } else { constraint.j },
                    ..*constraint
                };
                task.constraints.extend(past_of(tasks, slots, order[k]).iter().map(renumbered));
                // SAFETY: ranges do not overlap.
                unsafe { past_slots.set(k, Slot::of(range.start / PAST_TASK, first, task)) };
            }
        });
        (self.is_past_ready, self.count) = (true, 0);
    }

    /// Warm-starts the next [`find`](Self::find) from impulses (owner, partner, impulse) of a substep of length `h`,
    /// sorted by owner.
    pub fn restore(&mut self, count: usize, impulses: &[(u32, u32, ContactImpulse)], h: f32) {
        self.past.run(1, 1, |_, task| {
            task.constraints.clear();
            task.partners.clear();
            task.constraints.extend(impulses.iter().map(|&(i, j, impulse)| ContactConstraint {
                i,
                j,
                impulse,
                wall_velocity: STANDS,
                ..ContactConstraint::default()
            }));
        });
        self.past_slots.clear();
        self.past_slots.resize(count, Slot::default());
        for (first, &(i, ..)) in (0..).zip(impulses) {
            let slot = &mut self.past_slots[i as usize];
            *slot = Slot {
                task: 0,
                first: if slot.count == 0 { first } else { slot.first },
                count: slot.count + 1,
            };
        }
        (self.is_past_ready, self.past_h, self.count) = (true, h, 0);
    }

    /// Warm start of the next [`find`](Self::find): the constraints of a sphere, and the length of their substep.
    pub fn handed_on(&self, i: usize) -> (&[ContactConstraint], f32) {
        let (tasks, slots, h) = if self.is_past_ready {
            (&self.past, &self.past_slots, self.past_h)
        } else {
            (&self.tasks, &self.slots, self.h)
        };
        (past_of(tasks, slots, i as u32), h)
    }
}
