//! Warm start: passes the impulses of a substep's contact constraints to the next substep.

use super::{ContactConstraint, ContactConstraints, ContactImpulse, STANDS, Slot, past_of};
use crate::cpu::order::Order;

/// Up to this many spheres of a new index, their constraints are renumbered one by one.
const FEW_MOVED: usize = 4096;

impl ContactConstraints {
    /// Reorders the constraints that warm-start the next [`find`](Self::find) after their spheres.
    pub fn follow(&mut self, order: &Order) {
        let (tasks, slots) = if self.is_past_ready {
            (&mut self.past, &mut self.past_slots)
        } else {
            (&mut self.tasks, &mut self.slots)
        };
        self.count = 0;
        self.rested.follow(order);
        slots.resize(order.len(), Slot::default());
        order.permute(slots, &mut self.buffer);
        let moved = order.range();
        let are_few = moved.len() <= FEW_MOVED;
        tasks.for_each(|task| task.renumber(order, !are_few));
        if are_few {
            let count = tasks.iter().count();
            for (i, slot) in moved.clone().zip(&slots[moved]).filter(|(_, slot)| slot.count > 0) {
                let owned = &mut tasks.some(0..count)[slot.task as usize].constraints[slot.range()];
                owned.iter_mut().for_each(|constraint| constraint.i = i as u32);
            }
        }
    }

    /// Warm-starts the next [`find`](Self::find) from impulses (owner, partner, impulse) of a substep of length `h`,
    /// sorted by owner.
    pub fn restore(&mut self, count: usize, impulses: &[(u32, u32, ContactImpulse)], h: f32) {
        self.past.run(1, 1, |_, task| {
            task.constraints.clear();
            task.partners.clear();
            task.partners.extend(impulses.iter().map(|&(_, j, _)| j));
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
        // These constraints are in no order of colours.
        self.past_colours = Default::default();
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
