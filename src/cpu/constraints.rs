//! ContactConstraints: contacts that rest. Each is a constraint on the velocities at the end of the substep: the two surfaces do not
//! come closer than their gap, they rub with Coulomb's friction and resist rolling and twisting.

mod find;
mod past;

use crate::state::constants::{SHOCK, SLOW};
use std::{mem::swap, sync::atomic::AtomicU32};

use glam::{Vec3, Vec4};

use self::find::Finder;
pub use crate::state::warm_start::ContactImpulse;
use crate::{
    cpu::{
        bits::Flags,
        blocks::Blocks,
        event::View,
        parallel::{Disjoint, Outputs},
    },
    state::constants::WALL,
};

/// See the module. In this order most of what four lanes need of a row are four numbers side by side.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct ContactConstraint {
    /// The sphere whose row it is: the one of the smaller id, so that the order of rows is that of the cells and ids.
    pub i: u32,
    /// The other one, or a wall with [`WALL`] set: planes first, then patches.
    pub j: u32,
    /// Cells from i to the image of j, as the code of a candidate.
    pub code: u32,
    /// Place, among those of its task, of how its wall moves; [`STANDS`] for all else.
    pub wall_velocity: u32,
    /// Unit vector from j to i.
    pub normal: Vec3,
    /// Speed of approach that closes the gap by the end of the substep, >= 0.
    pub closing: f32,
    /// From each centre to the point of contact.
    pub arms: [f32; 2],
    /// 5/2 over each radius; 0 for walls, and for spheres where only the load was restored.
    pub turns: [f32; 2],
    /// Reduced mass along the normal, and along the plane of contact.
    pub masses: [f32; 2],
    pub friction: f32,
    /// Resistance to rolling and to twisting, times the reduced radius.
    pub resistance: [f32; 2],
    pub impulse: ContactImpulse,
    /// Distance over the radius sum: where on the radii the point of contact is.
    #[cfg(feature = "gpu")]
    pub share: f32,
}

/// The drive of a row on something that does not move by itself.
pub const STANDS: u32 = u32::MAX;

/// How the surface of a wall moves at a contact: velocity and spin, with 0 in the last lanes.
#[derive(Clone, Copy, Debug)]
pub struct WallVelocity(pub [Vec4; 2]);

impl ContactConstraint {
    /// Enters its spheres.
    #[inline]
    pub fn mark(&self, set: &Flags) {
        set.insert(self.i as usize);
        if self.j & WALL == 0 {
            set.insert(self.j as usize);
        }
    }
}

/// ContactConstraints of one task, in the order in which they are solved.
#[derive(Default)]
pub struct Task {
    pub constraints: Vec<ContactConstraint>,
    /// How walls move at the contacts of some.
    pub wall_velocities: Vec<WallVelocity>,
    /// Partner of each row, once more: what is looked for again and again should be near.
    partners: Vec<u32>,
    /// Whether what sleeps touches what has moved of late.
    wakes: bool,
    /// Whether any of the spheres is awake and not fixed.
    pub yields: bool,
}

/// Where the rows of a sphere are.
#[derive(Clone, Copy, Default)]
struct Slot {
    task: u32,
    first: u32,
    count: u32,
}

/// All rows of a substep, and those of the one before.
#[derive(Default)]
pub struct ContactConstraints {
    pub tasks: Outputs<Task>,
    slots: Vec<Slot>,
    past: Outputs<Task>,
    past_slots: Vec<Slot>,
    /// Length of the substep, and of the one before.
    h: f32,
    past_h: f32,
    /// Whether `past` already is what the next substep starts from.
    is_past_ready: bool,
    /// Spheres that a row carried in the substep before.
    rested: Flags,
    /// Where each sphere has moved, and where the past rows of each end, while they follow.
    places: Vec<u32>,
    ends: Vec<AtomicU32>,
    pub count: usize,
    /// Speed of approach from which a row is an impact.
    pub shock: f32,
}

impl ContactConstraints {
    /// Finds the contacts that rest at the start of a substep, with the loads that they had.
    pub fn find(&mut self, view: &View, blocks: &Blocks) {
        let is_ready = std::mem::take(&mut self.is_past_ready);
        if !is_ready {
            swap(&mut self.tasks, &mut self.past);
            swap(&mut self.slots, &mut self.past_slots);
            self.past_h = self.h;
        }
        let stays = !is_ready && self.past_h == view.frame.h;
        self.h = view.frame.h;
        // Shorter substeps, because there are many impacts, must not ask for more of them.
        let slow = SLOW * view.world.gravity.length() * self.h.max(view.world.rest_substep);
        self.shock = SHOCK * slow;
        let count = view.state.len();
        self.rested.reset(count);
        mark(&self.past, &self.rested);
        self.slots.resize(count, Slot::default());
        self.past_slots.resize(count, Slot::default());
        let scale = if self.past_h > 0.0 { self.h / self.past_h } else { 0.0 };
        self.fill(view, blocks, (Some(slow), stays), scale);
    }

    /// Adds the pairs that collided too often in the substep, and those that what the rows did drives into each other.
    pub fn find_after_rounds(&mut self, view: &View, blocks: &Blocks) {
        swap(&mut self.tasks, &mut self.past);
        swap(&mut self.slots, &mut self.past_slots);
        if self.count == 0 {
            self.past_slots.iter_mut().for_each(|slot| *slot = Slot::default());
        }
        self.fill(view, blocks, (None, false), 1.0);
    }

    // With no speed for slow those of before stay, and the demoted come in. `stays`: what is quiet keeps its rows as they are.
    fn fill(&mut self, view: &View, blocks: &Blocks, (slow, stays): (Option<f32>, bool), scale: f32) {
        let Self { tasks, past, past_slots, rested, .. } = self;
        let slots = Disjoint::new(&mut self.slots);
        tasks.run(blocks.tasks.len(), 1, |range, task| {
            task.constraints.clear();
            task.partners.clear();
            task.wall_velocities.clear();
            (task.wakes, task.yields) = (false, false);
            for &i in range.clone().flat_map(|k| &blocks.owners[blocks.tasks[k].clone()]) {
                let first = task.constraints.len() as u32;
                let finder = Finder {
                    view,
                    i: i as usize,
                    slow,
                    past: past_of(past, past_slots, i),
                    scale,
                    rested: &*rested,
                };
                if stays && view.sleep.stays_quiet(i as usize) {
                    finder.past.iter().for_each(|&constraint| task.push(constraint, false));
                } else {
                    finder.run(task);
                }
                let slot =
                    Slot { task: range.start as u32, first, count: task.constraints.len() as u32 - first };
                // SAFETY: a sphere is in one task.
                unsafe { slots.set(i as usize, slot) };
            }
        });
        self.count = tasks.iter().map(|task| task.constraints.len()).sum();
    }

    /// Whether any sphere that sleeps touches one that has moved of late.
    pub fn wakes_any(&self) -> bool {
        self.tasks.iter().any(|task| task.wakes)
    }

    /// Takes back the last [`find`](Self::find): the substep is done again.
    pub fn take_back(&mut self) {
        self.is_past_ready = true;
        self.count = 0;
    }

    /// The rows of a sphere.
    #[cfg(feature = "gpu")]
    pub fn of(&self, i: usize) -> &[ContactConstraint] {
        if self.count == 0 { &[] } else { past_of(&self.tasks, &self.slots, i as u32) }
    }

    /// Velocity of the wall at a row of a sphere, if that moves.
    #[cfg(feature = "gpu")]
    pub fn wall_velocity_of(&self, i: usize, constraint: &ContactConstraint) -> Option<Vec3> {
        let wall_velocities = &self.tasks.get(self.slots[i].task as usize).wall_velocities;
        wall_velocities
            .get(constraint.wall_velocity as usize)
            .map(|wall_velocity| wall_velocity.0[0].truncate())
    }

    /// Whether a sphere rests on a partner: another sphere, or a plane with [`WALL`] set.
    #[inline]
    pub fn contains(&self, ids: &[u32], i: usize, partner: u32) -> bool {
        if self.count == 0 {
            return false;
        }
        let is_theirs = partner & WALL == 0 && ids[partner as usize] < ids[i];
        let (owner, other) = if is_theirs { (partner as usize, i as u32) } else { (i, partner) };
        let Slot { task, first, count } = self.slots[owner];
        count > 0
            && self.tasks.get(task as usize).partners[first as usize..(first + count) as usize]
                .contains(&other)
    }

    /// All rows that carry, each with the length of its substep.
    pub fn in_contact(&self) -> impl Iterator<Item = (&ContactConstraint, f32)> {
        let present = self.tasks.iter().take(if self.count > 0 { usize::MAX } else { 0 });
        present.flat_map(Task::in_contact).map(|constraint| (constraint, self.h))
    }

    /// The rows on walls that carry, in the order of the tasks, each with how its wall moves.
    pub fn on_walls(&self) -> impl Iterator<Item = (&ContactConstraint, Option<WallVelocity>)> {
        let tasks = self.tasks.iter().take(if self.count > 0 { usize::MAX } else { 0 });
        tasks.flat_map(|task| {
            let wall_velocity = |constraint: &ContactConstraint| {
                task.wall_velocities.get(constraint.wall_velocity as usize).copied()
            };
            task.in_contact()
                .filter(|constraint| constraint.j & WALL != 0)
                .map(move |constraint| (constraint, wall_velocity(constraint)))
        })
    }

    pub fn bytes(&self) -> usize {
        let tasks = self.tasks.all().iter().chain(self.past.all());
        tasks
            .map(|t| size_of::<ContactConstraint>() * t.constraints.capacity() + 4 * t.partners.capacity())
            .sum::<usize>()
            + size_of::<Slot>() * (self.slots.capacity() + self.past_slots.capacity())
            + 4 * (self.places.capacity() + self.ends.capacity())
            + self.rested.bytes()
    }
}

fn mark(tasks: &Outputs<Task>, set: &Flags) {
    tasks.look(|task| task.in_contact().for_each(|constraint| constraint.mark(set)));
}

fn past_of<'a>(past: &'a Outputs<Task>, slots: &[Slot], i: u32) -> &'a [ContactConstraint] {
    let Slot { task, first, count } = slots[i as usize];
    if count == 0 {
        return &[];
    }
    &past.get(task as usize).constraints[first as usize..(first + count) as usize]
}

impl Task {
    fn in_contact(&self) -> impl Iterator<Item = &ContactConstraint> {
        self.constraints.iter().filter(|constraint| constraint.impulse.normal > 0.0)
    }

    fn push(&mut self, constraint: ContactConstraint, yields: bool) {
        self.yields |= yields;
        self.partners.push(constraint.j);
        self.constraints.push(constraint);
    }
}
