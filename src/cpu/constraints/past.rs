//! Warm start: passes the impulses of a substep's contact constraints to the next substep.

use std::{
    mem::swap,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
};

use super::{ContactConstraint, ContactConstraints, ContactImpulse, STANDS, Slot, past_of};
use crate::{
    cpu::parallel::{Disjoint, TASK, for_ranges},
    state::constants::WALL,
};

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
        } else {
            self.past_h = self.h;
        }
        let Self { tasks, past, past_slots, places, ends, .. } = self;
        places.resize(order.len(), 0);
        let to = Disjoint::new(places);
        for_ranges(order.len(), TASK, |range| {
            // SAFETY: an order names each sphere once.
            range.for_each(|k| unsafe { to.set(order[k] as usize, k as u32) });
        });
        let (places, tasks) = (&*places, &*tasks);
        ends.clear();
        ends.resize_with(order.len(), AtomicU32::default);
        tasks.look(|task| {
            for constraint in &task.constraints {
                ends[places[constraint.i as usize] as usize].fetch_add(1, Relaxed);
            }
        });
        past_slots.clear();
        let mut sum = 0;
        past_slots.extend(ends.iter_mut().map(|end| {
            let (first, count) = (sum, *end.get_mut());
            (sum, *end.get_mut()) = (sum + count, first);
            Slot { task: 0, first, count }
        }));
        past.run(1, 1, |_, task| {
            task.partners.clear();
            task.constraints.resize(sum as usize, ContactConstraint::default());
            let constraints = Disjoint::new(&mut task.constraints);
            // The constraints of a sphere are unordered; lookups search by partner.
            tasks.look(|task| {
                for constraint in &task.constraints {
                    let mut constraint = *constraint;
                    constraint.i = places[constraint.i as usize];
                    if constraint.j & WALL == 0 {
                        constraint.j = places[constraint.j as usize];
                    }
                    let place = ends[constraint.i as usize].fetch_add(1, Relaxed);
                    // SAFETY: every cursor yields each index once.
                    unsafe { constraints.set(place as usize, constraint) };
                }
            });
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
        (if i < slots.len() { past_of(tasks, slots, i as u32) } else { &[] }, h)
    }
}
