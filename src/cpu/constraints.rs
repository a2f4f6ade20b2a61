//! Contact constraints of resting contacts. A constraint acts on the velocities at the end of the substep: the two
//! surfaces approach by no more than their gap, slide with Coulomb friction, and resist rolling and twisting.

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

/// One contact constraint, in scaled units. The field order places values that four lanes load together side by side.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct ContactConstraint {
    /// Owner of the constraint: the sphere with the smaller id, so that constraints follow the order of cells and ids.
    pub i: u32,
    /// The other sphere, or a wall with [`WALL`] set: planes first, then wall features.
    pub j: u32,
    /// Cells from i to the image of j, encoded as in a candidate.
    pub code: u32,
    /// Index of the wall velocity within the task; [`STANDS`] if the partner is not a moving wall.
    pub wall_velocity: u32,
    /// Unit vector from j to i.
    pub normal: Vec3,
    /// Approach speed that closes the gap by the end of the substep, >= 0.
    pub closing: f32,
    /// From each centre to the point of contact.
    pub arms: [f32; 2],
    /// 5/2 over each radius; 0 for walls, and for spheres if only the impulse was restored.
    pub turns: [f32; 2],
    /// Reduced mass along the normal and in the contact plane.
    pub masses: [f32; 2],
    pub friction: f32,
    /// Resistance to rolling and to twisting, times the reduced radius.
    pub resistance: [f32; 2],
    pub impulse: ContactImpulse,
    /// Distance over the radius sum; it scales the radii to the arms of the contact point.
    #[cfg(feature = "gpu")]
    pub share: f32,
}

/// Wall velocity index of a constraint whose partner is not a moving wall.
pub const STANDS: u32 = u32::MAX;

/// Surface velocity and spin of a wall at a contact; the last lanes are 0.
#[derive(Clone, Copy, Debug)]
pub struct WallVelocity(pub [Vec4; 2]);

impl ContactConstraint {
    /// Inserts its spheres into `set`.
    #[inline]
    pub fn mark(&self, set: &Flags) {
        set.insert(self.i as usize);
        if self.j & WALL == 0 {
            set.insert(self.j as usize);
        }
    }
}

/// Contact constraints of one task, in solving order.
#[derive(Default)]
pub struct Task {
    pub constraints: Vec<ContactConstraint>,
    /// Wall velocities at the contacts with moving walls.
    pub wall_velocities: Vec<WallVelocity>,
    /// Partner of each constraint, repeated here because a compact array keeps the frequent searches in cache.
    partners: Vec<u32>,
    /// Whether a sleeping sphere touches one that has moved recently.
    wakes: bool,
    /// Whether any of the spheres is awake and not fixed.
    pub yields: bool,
}

/// Range of the contact constraints of one sphere.
#[derive(Clone, Copy, Default)]
struct Slot {
    task: u32,
    first: u32,
    count: u32,
}

/// All contact constraints of this substep and the previous one.
#[derive(Default)]
pub struct ContactConstraints {
    pub tasks: Outputs<Task>,
    slots: Vec<Slot>,
    past: Outputs<Task>,
    past_slots: Vec<Slot>,
    /// Length of this substep and of the previous one.
    h: f32,
    past_h: f32,
    /// Whether `past` already holds the warm start of the next substep.
    is_past_ready: bool,
    /// Spheres that a contact constraint supported in the previous substep.
    rested: Flags,
    /// New index of each sphere, and the end of its past constraints, while they are reordered.
    places: Vec<u32>,
    ends: Vec<AtomicU32>,
    pub count: usize,
    /// Approach speed from which a contact constraint is an impact.
    pub shock: f32,
}

impl ContactConstraints {
    /// Finds the resting contacts at the start of a substep and warm-starts them.
    pub fn find(&mut self, view: &View, blocks: &Blocks) {
        let is_ready = std::mem::take(&mut self.is_past_ready);
        if !is_ready {
            swap(&mut self.tasks, &mut self.past);
            swap(&mut self.slots, &mut self.past_slots);
            self.past_h = self.h;
        }
        let stays = !is_ready && self.past_h == view.frame.h;
        self.h = view.frame.h;
        // Many impacts shorten the substeps. Shorter substeps must not turn more contacts into impacts.
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

    /// Adds pairs that collided too often in the substep, and pairs that contact constraints push together.
    pub fn find_after_rounds(&mut self, view: &View, blocks: &Blocks) {
        swap(&mut self.tasks, &mut self.past);
        swap(&mut self.slots, &mut self.past_slots);
        if self.count == 0 {
            self.past_slots.iter_mut().for_each(|slot| *slot = Slot::default());
        }
        self.fill(view, blocks, (None, false), 1.0);
    }

    // Without a slow speed, existing constraints stay and converted pairs are added. With `stays`, quiet spheres keep their
    // constraints unchanged.
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

    /// Whether any sleeping sphere touches one that has moved recently.
    pub fn wakes_any(&self) -> bool {
        self.tasks.iter().any(|task| task.wakes)
    }

    /// Undoes the last [`find`](Self::find), because the substep is repeated.
    pub fn take_back(&mut self) {
        self.is_past_ready = true;
        self.count = 0;
    }

    /// Contact constraints of a sphere.
    #[cfg(feature = "gpu")]
    pub fn of(&self, i: usize) -> &[ContactConstraint] {
        if self.count == 0 { &[] } else { past_of(&self.tasks, &self.slots, i as u32) }
    }

    /// Wall velocity at a contact constraint of a sphere, if the wall moves.
    #[cfg(feature = "gpu")]
    pub fn wall_velocity_of(&self, i: usize, constraint: &ContactConstraint) -> Option<Vec3> {
        let wall_velocities = &self.tasks.get(self.slots[i].task as usize).wall_velocities;
        wall_velocities
            .get(constraint.wall_velocity as usize)
            .map(|wall_velocity| wall_velocity.0[0].truncate())
    }

    /// Whether a contact constraint holds a sphere and a partner: another sphere, or a wall with [`WALL`] set.
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

    /// All contact constraints with an impulse, each with the length of its substep.
    pub fn in_contact(&self) -> impl Iterator<Item = (&ContactConstraint, f32)> {
        let present = self.tasks.iter().take(if self.count > 0 { usize::MAX } else { 0 });
        present.flat_map(Task::in_contact).map(|constraint| (constraint, self.h))
    }

    /// Wall contact constraints with an impulse, in task order, each with its wall velocity.
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
