//! Warm start: passes the impulses of a substep's contact constraints to the next substep, or back if that substep is repeated.

use std::mem::{swap, take};

use glam::{Vec3, Vec4};

use super::{ContactConstraint, ContactConstraints, ContactImpulse, STANDS, Slot, Task, make_room, owned};
use crate::{
    cpu::order::Order,
    state::{constants::WALL, grid::CODES},
};

/// Up to this many spheres of a new index, their constraints are renumbered one by one.
const FEW_MOVED: usize = 4096;

/// The partners and impulses of the constraints of a task, from which [`take_back`](ContactConstraints::take_back) restores them.
#[derive(Default)]
pub(super) struct Former {
    partners: Vec<u32>,
    codes: Vec<u8>,
    /// Tangential impulses, each with the normal impulse.
    impulses: Vec<Vec4>,
    /// Angular impulses; none if all are 0.
    moments: Vec<Vec3>,
}

const _: () = assert!(CODES <= 256);

impl ContactConstraint {
    // A constraint that is sufficient for a warm start.
    fn restored((i, j, code): (u32, u32, u8), impulse: ContactImpulse) -> Self {
        let image = if j & WALL == 0 { code.into() } else { STANDS };
        Self { i, j, image, impulse, ..Self::NONE }
    }
}

impl Former {
    pub(super) fn bytes(&self) -> usize {
        4 * self.partners.capacity()
            + self.codes.capacity()
            + size_of::<Vec4>() * self.impulses.capacity()
            + size_of::<Vec3>() * self.moments.capacity()
    }
}

impl Task {
    /// Keeps what [`restore_former`](Self::restore_former) needs. Takes `partners` away: those that it leaves are of no use.
    pub(super) fn keep_former(&mut self) {
        let Self { constraints, partners, former, .. } = self;
        swap(partners, &mut former.partners);
        let Former { codes, impulses, moments, .. } = former;
        let count = constraints.len();
        fit(codes, count);
        fit(impulses, count);
        // One pass, because the constraints do not fit into the nearest cache.
        let mut turned = 0;
        for constraint in constraints.iter() {
            let impulse = constraint.impulse;
            codes.push(constraint.code() as u8);
            impulses.push(impulse.tangent.extend(impulse.normal));
            turned |= impulse.moment.to_array().into_iter().fold(0, |bits, x| bits | x.to_bits());
        }
        fit(moments, if turned == 0 { 0 } else { count });
        if turned != 0 {
            moments.extend(constraints.iter().map(|constraint| constraint.impulse.moment));
        }
    }

    // Restores the former constraints without their owners.
    fn restore_former(&mut self) {
        self.begin();
        let Self { constraints, partners, former, .. } = self;
        swap(partners, &mut former.partners);
        let Former { codes, impulses, moments, .. } = former;
        let moments = moments.iter().copied().chain(std::iter::repeat(Vec3::ZERO));
        let all = partners.iter().zip(codes.iter()).zip(impulses.iter()).zip(moments);
        constraints.extend(all.map(|(((&j, &code), push), moment)| {
            let impulse = ContactImpulse { normal: push.w, tangent: push.truncate(), moment };
            ContactConstraint::restored((0, j, code), impulse)
        }));
    }
}

// Empties an array and makes room for so many values.
fn fit<T>(array: &mut Vec<T>, count: usize) {
    array.clear();
    if count == 0 {
        *array = vec![];
    } else {
        make_room(array, count);
    }
}

impl ContactConstraints {
    /// Reorders the constraints that warm-start the next [`find`](Self::find) after their spheres.
    pub fn follow(&mut self, order: &Order) {
        (self.count, self.is_reordered) = (0, true);
        self.rested.follow(order);
        let Self { tasks, slots, former_slots, .. } = self;
        slots.resize(order.len(), Slot::default());
        order.permute(slots, former_slots);
        let moved = order.range();
        let are_few = moved.len() <= FEW_MOVED;
        tasks.for_each(|task| task.renumber(order, !are_few));
        if are_few {
            self.renumber_owners(moved);
        }
    }

    // Sets the owner of the constraints of some spheres.
    fn renumber_owners(&mut self, spheres: std::ops::Range<usize>) {
        let count = self.tasks.iter().count();
        let tasks = self.tasks.some(0..count);
        for (i, slot) in spheres.clone().zip(&self.slots[spheres]).filter(|(_, slot)| slot.count > 0) {
            let owned = &mut tasks[slot.task as usize].constraints[slot.range()];
            owned.iter_mut().for_each(|constraint| constraint.i = i as u32);
        }
    }

    /// Undoes the last [`find`](Self::find), because the substep is repeated.
    pub fn take_back(&mut self) {
        for (slot, former) in self.slots.iter_mut().zip(&self.former_slots) {
            if self.tasks.get(slot.task as usize).is_filled {
                *slot = *former;
            }
        }
        swap(&mut self.colours, &mut self.former_colours);
        self.tasks.use_slots(self.former_count.max(self.tasks.iter().count()));
        self.tasks.for_each(|task| {
            // Constraints that stay are the former ones.
            if !take(&mut task.stays) {
                task.restore_former();
            }
        });
        self.renumber_owners(0..self.slots.len());
        (self.is_restored, self.h, self.count) = (true, self.former_h, 0);
    }

    /// Warm-starts the next [`find`](Self::find) from impulses (owner, partner, impulse) of a substep of length `h`,
    /// sorted by owner.
    pub fn restore(&mut self, count: usize, impulses: &[(u32, u32, ContactImpulse)], h: f32) {
        self.tasks.for_each(Task::begin);
        self.tasks.run(1, 1, |_, task| {
            task.partners.extend(impulses.iter().map(|&(_, j, _)| j));
            let restored = |&(i, j, impulse): &_| ContactConstraint::restored((i, j, 0), impulse);
            task.constraints.extend(impulses.iter().map(restored));
        });
        self.slots.clear();
        self.slots.resize(count, Slot::default());
        for (first, &(i, ..)) in (0..).zip(impulses) {
            let slot = &mut self.slots[i as usize];
            *slot = Slot {
                task: 0,
                first: if slot.count == 0 { first } else { slot.first },
                count: slot.count + 1,
            };
        }
        (self.is_restored, self.h, self.count) = (true, h, 0);
        // These constraints are in no order of colours.
        self.colours = Default::default();
    }

    /// Warm start of the next [`find`](Self::find): the constraints of a sphere, and the length of their substep.
    pub fn handed_on(&self, i: usize) -> (&[ContactConstraint], f32) {
        (owned(&self.tasks, &self.slots, i as u32), self.h)
    }
}
