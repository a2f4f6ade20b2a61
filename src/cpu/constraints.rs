//! Contact constraints of resting contacts. A constraint acts on the velocities at the end of the substep: the two
//! surfaces approach by no more than their gap, slide with Coulomb friction, and resist rolling and twisting.

mod find;
mod past;

use crate::state::constants::{COLOURS, CONSTRAINT_COLOURS, SHOCK, TOUCHING};
use std::{
    cell::Cell,
    mem::{replace, swap, take},
    ops::Range,
};

use glam::{Vec3, Vec4};

use self::{find::Finder, past::Former};
pub use crate::state::warm_start::ContactImpulse;
use crate::{
    cpu::{
        bits::Pressed,
        blocks::{Block, Blocks},
        collide::Push,
        crew::{Crew, Job},
        event::View,
        order::Order,
        parallel::{Disjoint, Outputs, for_ranges},
        rest::LANES,
        walls::Site,
    },
    state::{
        constants::{WALL, wall_of},
        grid::CODES,
    },
    step::driver::WallSum,
};

/// Up to this many constraints one thread counts faster than several.
const SERIAL: usize = 8192;

thread_local! {
    /// Former constraints of a task, whose memory the next task reuses.
    static SPARE: Cell<Vec<ContactConstraint>> = const { Cell::new(vec![]) };
}

/// One contact constraint, in scaled units. The solver loads eight floats from `normal` on. It derives
/// arms, inertia, friction and resistance from the radii and the surface.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct ContactConstraint {
    /// Unit vector from j to i.
    pub normal: Vec3,
    /// Approach speed that closes the gap by the end of the substep, >= 0. A negative value means a bounce; its magnitude is the
    /// speed of separation.
    pub closing: f32,
    pub impulse: ContactImpulse,
    /// Reduced mass along the normal.
    pub mass: f32,
    /// Distance over the radius sum; it scales the radii to the arms of the contact point. 1 for walls.
    pub share: f32,
    /// Owner of the constraint: the sphere with the smaller id, so that constraints follow the order of cells and ids.
    pub i: u32,
    /// The other sphere, or a wall with [`WALL`] set: planes first, then wall features.
    pub j: u32,
    /// Index of the surface in the world; [`UNKNOWN`] if only the impulse was restored.
    pub surface: u32,
    /// Of two spheres: the cells from i to the image of j, encoded as in a candidate. Of a moving wall: the index of its velocity within the
    /// task. Of another wall: [`STANDS`].
    pub image: u32,
}

/// An empty place in the solving order.
pub const EMPTY: u32 = u32::MAX;

/// Mark of a constraint without a colour, because neither partner moves.
const UNCOLOURED: u8 = u8::MAX;

/// Image of a constraint with a wall that does not move.
pub const STANDS: u32 = u32::MAX;

/// Surface of a constraint of which only the impulse was restored.
pub const UNKNOWN: u32 = u32::MAX;

/// Surface velocity and spin of a wall at a contact; the last lanes are 0.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct WallVelocity(pub [Vec4; 2]);

/// Approach speed that closes a gap between surfaces within a time. Gaps of the size of rounding count as closed, so that
/// spheres at rest stand still.
#[inline]
pub fn closing_speed(gap: f32, diameter: f32, time: f32) -> f32 {
    if gap > TOUCHING * diameter { gap / time } else { 0.0 }
}

impl ContactConstraint {
    /// A constraint that does nothing.
    pub const NONE: Self = Self {
        normal: Vec3::ZERO,
        closing: 0.0,
        impulse: ContactImpulse { normal: 0.0, tangent: Vec3::ZERO, moment: Vec3::ZERO },
        mass: 0.0,
        share: 0.0,
        i: 0,
        j: WALL,
        surface: UNKNOWN,
        image: STANDS,
    };

    /// Cells from i to the image of j, encoded as in a candidate; 0 for walls.
    pub fn code(&self) -> u32 {
        if self.j & WALL == 0 { self.image } else { 0 }
    }

    /// Index of the velocity of its wall within the task, if the wall moves.
    pub fn wall_velocity(&self) -> Option<usize> {
        (self.j & WALL != 0 && self.image != STANDS).then_some(self.image as usize)
    }

    /// Whether one of its spheres is awake and not fixed.
    fn yields(&self, view: &View) -> bool {
        view.yields(self.i as usize) || (self.j & WALL == 0 && view.yields(self.j as usize))
    }

    pub fn is_in_contact(&self) -> bool {
        self.impulse.normal > 0.0
    }

    /// Counts the contact of its spheres.
    #[inline]
    fn count(&self, pressed: &Pressed) {
        if self.j & WALL == 0 {
            pressed.add(self.i as usize);
            pressed.add(self.j as usize);
        } else {
            pressed.add_wall(self.i as usize);
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
    /// Indices of the constraints with walls.
    with_walls: Vec<u32>,
    /// Whether any of the spheres is awake and not fixed.
    pub yields: bool,
    /// Whether all its spheres stay quiet, so that the constraints are those of the previous substep.
    stays: bool,
    /// Whether the last [`find`](ContactConstraints::find) found its constraints, and therefore changed the slots of its spheres. A task
    /// that neither stays nor is filled has woken since.
    is_filled: bool,
    /// Whether it may have a constraint of a sphere that was woken, so that it has to be looked at again.
    is_woken: bool,
    /// Indices of the constraints with a sphere that is awake and not fixed, within each block where others do not have one.
    yielding: Vec<u32>,
    /// Of the block whose constraints are being pushed: the first constraint, and how many yield.
    begin: usize,
    yielding_in_block: usize,
    /// Contacts made of impacts in the last call, and whether any partners bounce.
    converted: u64,
    bounces: bool,
    /// Spheres that begin to bounce, each with the time from its first bounce to the end of the substep.
    flights: Vec<(u32, f32)>,
    /// Sums over the contacts with each wall, by the number of the wall, the work of all walls, and whether they belong to the present
    /// constraints. A task that stays keeps them: neither its spheres nor its walls move.
    wall_sums: Vec<(u32, WallSum)>,
    wall_work: f64,
    is_summed: bool,
    /// The blocks with constraints.
    blocks: Vec<BlockRange>,
    /// The impulses that [`take_back`](ContactConstraints::take_back) restores; empty in a task that stays.
    former: Former,
    /// Indices of the constraints to be solved, within each block, in solving order; each bundle of lanes is filled up with [`EMPTY`].
    order: Vec<u32>,
    /// Whether `order` belongs to the present constraints.
    is_ordered: bool,
}

/// The constraints of a block in its task.
#[derive(Clone, Copy)]
struct BlockRange {
    number: u32,
    /// Index of the block in solving order.
    place: u32,
    end: usize,
    /// Whether any of the spheres is awake and not fixed.
    yields: bool,
    /// End of its part of `yielding`; the part is empty if all of its constraints yield, or none.
    end_of_yielding: usize,
    /// End of its part of `order`.
    end_of_order: usize,
}

/// The contact constraints of a block, in solving order.
pub struct BlockOfTask<'t> {
    pub number: u32,
    /// Index of the block in solving order.
    pub place: u32,
    /// Whether any of the spheres is awake and not fixed.
    pub yields: bool,
    /// Indices of the constraints to be solved, in bundles of one colour.
    pub order: &'t [u32],
    pub constraints: &'t mut [ContactConstraint],
    pub wall_velocities: &'t [WallVelocity],
}

/// Range of the contact constraints of one sphere.
#[derive(Clone, Copy, Default)]
struct Slot {
    task: u32,
    first: u32,
    count: u32,
}

/// Copies of the constraints of those spheres that have come to a task from other tasks.
#[derive(Default)]
struct Arrivals {
    /// Sphere by sphere, in the order of the task.
    constraints: Vec<ContactConstraint>,
    /// Number of past constraints of all spheres of the task.
    expected: usize,
}

/// All contact constraints of this substep. Task by task they replace those of the previous substep, whose impulses they begin with.
#[derive(Default)]
pub struct ContactConstraints {
    pub tasks: Outputs<Task>,
    slots: Vec<Slot>,
    /// Length of the substep of the constraints.
    h: f32,
    /// Whether the constraints were restored: they warm-start the next substep, but lack all except impulses.
    is_restored: bool,
    /// Whether spheres have changed their index or their task since the last [`find`](Self::find).
    is_reordered: bool,
    /// Of the constraints that the last [`find`](Self::find) replaced: the number of tasks, the slots in the tasks that it filled, the
    /// length of the substep, and the tasks of each colour. The slots are also the buffer of a change of order.
    former_count: usize,
    former_slots: Vec<Slot>,
    former_h: f32,
    former_colours: [Range<usize>; COLOURS],
    arrivals: Outputs<Arrivals>,
    /// Pressed contacts of each sphere in the previous substep.
    rested: Pressed,
    /// Tasks of each colour.
    colours: [Range<usize>; COLOURS],
    /// Spheres whose contacts are counted one by one.
    counted: Vec<u32>,
    crew: Crew,
    pub count: usize,
    /// Approach speed from which a contact constraint is an impact.
    pub shock: f32,
}

impl ContactConstraints {
    /// Finds the resting contacts at the start of a substep and warm-starts them.
    pub fn find(&mut self, view: &View, blocks: &Blocks) {
        self.former_h = replace(&mut self.h, view.frame.h);
        let stays = !take(&mut self.is_restored) && self.former_h == self.h;
        let slow = view.world.slow_speed(self.h);
        self.shock = SHOCK * slow;
        self.slots.resize(view.state.len(), Slot::default());
        let Self { tasks, slots, colours, rested, counted, .. } = self;
        count_in_contact(view, (tasks, slots), colours, (rested, counted));
        self.former_colours = replace(&mut self.colours, blocks.colours.clone());
        let scale = if self.former_h > 0.0 { self.h / self.former_h } else { 0.0 };
        self.fill(view, blocks, (slow, stays), scale);
    }

    /// Finds the constraints of some spheres again after the rounds: existing ones stay, pairs that impacts converted and
    /// pairs that constraints push together are added. `renews` says for the number of a block whether some of its spheres may have
    /// new constraints, and for a sphere of such a block whether it may.
    pub fn find_after_rounds(
        &mut self,
        view: &View,
        blocks: &Blocks,
        renews: (impl Fn(u32) -> bool + Sync, impl Fn(usize) -> bool + Sync),
    ) {
        let Self { tasks, rested, .. } = self;
        let slots = Disjoint::new(&mut self.slots);
        let find = |k: usize, task: &mut Task| {
            task.converted = 0;
            task.flights.clear();
            let places = blocks.tasks[k].clone();
            let blocks_of_task = &blocks.all[places.clone()];
            let renews_any = |block: &Block| {
                renews.0(block.number) && blocks.owners_of(block).any(|i| renews.1(i as usize))
            };
            if !blocks_of_task.iter().any(renews_any) {
                return;
            }
            let mut before = SPARE.take();
            swap(&mut task.constraints, &mut before);
            task.begin();
            make_room(&mut task.constraints, before.len());
            for (block, place) in blocks_of_task.iter().zip(places) {
                let is_renewed = renews.0(block.number);
                for i in blocks.owners_of(block) {
                    // SAFETY: a sphere is in one task.
                    let slot = unsafe { slots.get(i as usize) };
                    let past = &before[slot.range()];
                    let first = task.constraints.len();
                    if is_renewed && renews.1(i as usize) {
                        Finder { view, i: i as usize, slow: None, past, scale: 1.0, rested }.run(task);
                    } else {
                        past.iter().for_each(|constraint| task.push(*constraint, constraint.yields(view)));
                    }
                    // SAFETY: as above.
                    unsafe { slots.set(i as usize, Slot::of(k, first, task)) };
                }
                task.end_block(block.number, place);
            }
            SPARE.set(before);
        };
        run_tasks(&mut self.crew, tasks, blocks, |_| true, find);
        self.count = self.tasks.iter().map(|task| task.constraints.len()).sum();
    }

    // With `stays`, quiet spheres keep their constraints unchanged.
    fn fill(&mut self, view: &View, blocks: &Blocks, (slow, stays): (f32, bool), scale: f32) {
        let (before, count) = (self.tasks.iter().count(), blocks.tasks.len());
        self.former_count = before;
        self.tasks.use_slots(before.max(count));
        self.former_slots.resize(view.state.len(), Slot::default());
        self.find_staying(view, blocks, stays);
        self.find_arrivals(blocks);
        self.tasks.for_each_of(count..before.max(count), |task| {
            task.keep_former();
            task.begin();
            (task.stays, task.is_filled) = (false, true);
        });
        let Self { crew, tasks, arrivals, rested, .. } = self;
        let (slots, former_slots) = (Disjoint::new(&mut self.slots), Disjoint::new(&mut self.former_slots));
        let find = |k: usize, task: &mut Task| {
            let Arrivals { constraints: arrived, expected } = arrivals.get(k);
            let (mut arrived, places) = (arrived.as_slice(), blocks.tasks[k].clone());
            task.wall_velocities.clear();
            task.flights.clear();
            (task.yields, task.converted, task.bounces) = (false, 0, false);
            task.keep_former();
            let mut before = SPARE.take();
            swap(&mut task.constraints, &mut before);
            task.begin();
            make_room(&mut task.constraints, *expected);
            make_room(&mut task.partners, *expected);
            for (block, place) in blocks.all[places.clone()].iter().zip(places) {
                for i in blocks.owners_of(block) {
                    let first = task.constraints.len();
                    // SAFETY: a sphere is in one task.
                    let slot = unsafe { slots.get(i as usize) };
                    let past = if slot.count == 0 {
                        &[]
                    } else if slot.task as usize == k {
                        &before[slot.range()]
                    } else {
                        let past;
                        (past, arrived) = arrived.split_at(slot.count as usize);
                        past
                    };
                    if stays && view.sleep.stays_quiet(i as usize) {
                        task.push_all(past);
                    } else {
                        Finder { view, i: i as usize, slow: Some(slow), past, scale, rested }.run(task);
                    }
                    // SAFETY: as above.
                    unsafe {
                        former_slots.set(i as usize, slot);
                        slots.set(i as usize, Slot::of(k, first, task));
                    }
                }
                task.end_block(block.number, place);
            }
            SPARE.set(before);
        };
        run_tasks(crew, tasks, blocks, |task| !task.stays, find);
        arrivals.for_each(|arrivals| *arrivals = Arrivals::default());
        self.count = tasks.iter().map(|task| task.constraints.len()).sum();
    }

    // Finds the tasks all of whose spheres stay quiet, so that all of their constraints stay.
    fn find_staying(&mut self, view: &View, blocks: &Blocks, stays: bool) {
        let is_reordered = take(&mut self.is_reordered);
        let Self { crew, tasks, slots, .. } = self;
        let count = blocks.tasks.len();
        tasks.use_slots(count);
        let stays = stays && view.sleep.quiet().is_some();
        tasks.for_each(|task| task.stays = stays);
        if stays && is_reordered {
            let slots = Disjoint::new(slots);
            let stays_quiet = |i: usize| view.sleep.stays_quiet(i);
            run_tasks(
                crew,
                tasks,
                blocks,
                |_| true,
                |k, task| {
                    // SAFETY: a sphere is in one task.
                    task.stays = unsafe { keeps_slots(task, &slots, (blocks, k), stays_quiet) };
                },
            );
        } else if stays {
            // The slot of every sphere names its task.
            let tasks = tasks.some(0..count);
            view.sleep.for_unsteady(0..slots.len(), |i| tasks[slots[i].task as usize].stays = false);
        }
        tasks.for_each(|task| {
            task.is_filled = !task.stays;
            if task.stays {
                (task.yields, task.converted) = (false, 0);
                task.flights.clear();
                task.former = Former::default();
            }
        });
    }

    // Copies the past constraints of the spheres that come from another task, because that task will lose them.
    fn find_arrivals(&mut self, blocks: &Blocks) {
        let Self { tasks, slots, arrivals, .. } = self;
        arrivals.run(blocks.tasks.len(), 1, |range, found| {
            let k = range.start;
            if tasks.get(k).stays {
                return;
            }
            let owners = blocks.all[blocks.tasks[k].clone()].iter().flat_map(|block| blocks.owners_of(block));
            for slot in owners.map(|i| slots[i as usize]).filter(|slot| slot.count > 0) {
                found.expected += slot.count as usize;
                if slot.task as usize != k {
                    found
                        .constraints
                        .extend_from_slice(&tasks.get(slot.task as usize).constraints[slot.range()]);
                }
            }
        });
    }

    /// Contacts that the last [`find_after_rounds`](Self::find_after_rounds) made of impacts.
    pub fn converted(&self) -> u64 {
        self.tasks.iter().map(|task| task.converted).sum()
    }

    /// Spheres that begin to bounce by the last [`find_after_rounds`](Self::find_after_rounds), each with the time from its
    /// first bounce to the end of the substep.
    pub fn flights(&self) -> Vec<(u32, f32)> {
        let mut flights: Vec<_> = self.tasks.iter().flat_map(|task| task.flights.iter().copied()).collect();
        flights.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)));
        flights.dedup_by_key(|flight| flight.0);
        flights
    }

    /// Counts the constraints with an impulse of every sphere.
    pub fn count_in_contact(&mut self, view: &View, pressed: &mut Pressed) {
        let Self { tasks, slots, colours, counted, .. } = self;
        count_in_contact(view, (tasks, slots), colours, (pressed, counted));
    }

    /// Forgets the impulses of bounces, which end with the substep.
    pub fn end_bounces(&mut self) {
        self.tasks.for_each(|task| {
            if task.bounces {
                let bouncing = task.constraints.iter_mut().filter(|constraint| constraint.closing < 0.0);
                bouncing.for_each(|constraint| constraint.impulse = ContactImpulse::default());
            }
        });
    }

    /// Finds again which constraints have spheres that can move: in the tasks with constraints of `woken` spheres, or in all of them.
    pub fn renew_yields(&mut self, view: &View, woken: Option<&[u32]>) {
        let count = self.tasks.iter().count();
        let tasks = self.tasks.some(0..count);
        tasks.iter_mut().for_each(|task| task.is_woken = woken.is_none());
        for &i in woken.unwrap_or_default() {
            // A constraint belongs to one of its spheres, and these are candidates of each other.
            let others = view.lists.of(i as usize).iter().map(|candidate| candidate.index());
            for slot in others.chain([i as usize]).map(|k| self.slots[k]).filter(|slot| slot.count > 0) {
                tasks[slot.task as usize].is_woken = true;
            }
        }
        self.tasks.for_each(|task| {
            if take(&mut task.is_woken) {
                task.renew_yields(view);
            }
        });
        // The solver is about to change constraints that are those of the previous substep.
        self.tasks.for_each(|task| {
            if task.stays && task.yields {
                let partners = task.partners.clone();
                task.keep_former();
                task.partners = partners;
                task.stays = false;
            }
        });
    }

    /// Forgets what only [`take_back`](Self::take_back) of an earlier substep could have used.
    #[cfg(test)]
    pub fn forget_former(&mut self) {
        self.former_slots.clear();
    }

    /// Numbers of the tasks that stay and of those that have woken since the last [`find`](Self::find).
    #[cfg(test)]
    pub fn staying(&self) -> [usize; 2] {
        let count =
            |stays: bool| self.tasks.iter().filter(|task| !task.is_filled && task.stays == stays).count();
        [true, false].map(count)
    }

    /// Orders the constraints anew before they are solved again.
    pub fn forget_order(&mut self) {
        self.tasks.for_each(|task| task.is_ordered = false);
    }

    /// Contact constraints that a sphere owns.
    pub fn of(&self, i: usize) -> &[ContactConstraint] {
        if self.count == 0 { &[] } else { owned(&self.tasks, &self.slots, i as u32) }
    }

    /// Wall velocity at a contact constraint of a sphere, if the wall moves.
    #[cfg(feature = "gpu")]
    pub fn wall_velocity_of(&self, i: usize, constraint: &ContactConstraint) -> Option<Vec3> {
        let wall_velocities = &self.tasks.get(self.slots[i].task as usize).wall_velocities;
        constraint.wall_velocity().map(|at| wall_velocities[at].0[0].truncate())
    }

    /// Whether a contact constraint holds a sphere and a partner: another sphere, or a wall with [`WALL`] set.
    #[inline]
    pub fn contains(&self, ids: &[u32], i: usize, partner: u32) -> bool {
        let is_theirs = partner & WALL == 0 && ids[partner as usize] < ids[i];
        let (owner, other) = if is_theirs { (partner as usize, i as u32) } else { (i, partner) };
        self.partners(owner).contains(&other)
    }

    /// Partners of the contact constraints that a sphere owns.
    #[inline]
    pub fn partners(&self, i: usize) -> &[u32] {
        if self.count == 0 {
            return &[];
        }
        let Slot { task, first, count } = self.slots[i];
        if count == 0 {
            return &[];
        }
        &self.tasks.get(task as usize).partners[first as usize..(first + count) as usize]
    }

    /// All contact constraints with an impulse, each with the length of its substep.
    pub fn in_contact(&self) -> impl Iterator<Item = (&ContactConstraint, f32)> {
        let present = self.tasks.iter().take(if self.count > 0 { usize::MAX } else { 0 });
        present.flat_map(Task::all_in_contact).map(|constraint| (constraint, self.h))
    }

    /// Sums the impulses of walls on resting spheres. Returns the work of the walls. `length` is the unit of length.
    pub fn sum_wall_impulses(&mut self, view: &View, length: f64) -> f64 {
        let site = Site { grid: view.grid, features: &view.world.features, length };
        self.tasks.for_each(|task| {
            if task.stays && task.is_summed {
                debug_assert!(task.has_wall_sums(view, &site), "the sums are not those of the constraints");
            } else {
                task.sum_wall_impulses(view, &site);
            }
        });
        self.tasks.iter().map(|task| task.wall_work).sum()
    }

    /// The sums of [`sum_wall_impulses`](Self::sum_wall_impulses), one for each task and wall.
    pub fn wall_sums(&self) -> impl Iterator<Item = &(u32, WallSum)> {
        let tasks = self.tasks.iter().take(if self.count > 0 { usize::MAX } else { 0 });
        tasks.flat_map(|task| &task.wall_sums)
    }

    pub fn bytes(&self) -> usize {
        let tasks = self.tasks.all().iter();
        tasks
            .map(|t| {
                size_of::<ContactConstraint>() * t.constraints.capacity()
                    + 4 * (t.partners.capacity()
                        + t.with_walls.capacity()
                        + t.yielding.capacity()
                        + t.order.capacity())
                    + t.former.bytes()
                    + size_of::<BlockRange>() * t.blocks.capacity()
                    + size_of::<WallVelocity>() * t.wall_velocities.capacity()
                    + size_of::<(u32, WallSum)>() * t.wall_sums.capacity()
            })
            .sum::<usize>()
            + size_of::<Slot>() * (self.slots.capacity() + self.former_slots.capacity())
            + 4 * self.counted.capacity()
            + self.rested.bytes()
            + self.crew.bytes()
    }
}

// Runs `work` with the number of each task that is wanted, and its constraints, in any order.
fn run_tasks(
    crew: &mut Crew,
    tasks: &mut Outputs<Task>,
    blocks: &Blocks,
    is_wanted: impl Fn(&Task) -> bool,
    work: impl Fn(usize, &mut Task) + Sync,
) {
    let count = blocks.tasks.len();
    tasks.use_slots(count);
    let tasks = tasks.some(0..count).iter_mut().zip(&blocks.tasks).enumerate();
    let wanted = tasks.filter(|(_, (task, _))| is_wanted(task));
    let jobs = wanted.map(|(k, (task, places))| Job {
        places: places.clone(),
        home: blocks.home(places.start),
        item: (k, task),
    });
    let work = |_, (k, task): &mut (usize, &mut Task)| work(*k, task);
    crew.run(jobs.collect(), |_| &[], 1, |_| true, work);
}

// Counts the constraints with an impulse of every sphere. The counts of spheres that stay quiet remain. Tasks of one colour
// have no sphere in common; if no colour has tasks, one thread counts.
fn count_in_contact(
    view: &View,
    (tasks, slots): (&Outputs<Task>, &[Slot]),
    colours: &[Range<usize>],
    (pressed, list): (&mut Pressed, &mut Vec<u32>),
) {
    if !pressed.begin(view.state.len(), view.sleep.lasting(), view.sleep.order(), list) {
        let count = |task: &Task| task.all_in_contact().for_each(|constraint| constraint.count(pressed));
        let constraints: usize = tasks.iter().map(|task| task.constraints.len()).sum();
        if constraints <= SERIAL || colours.iter().all(Range::is_empty) {
            tasks.iter().for_each(count);
        } else {
            colours.iter().for_each(|colour| tasks.look_at(colour.clone(), count));
        }
        return;
    }
    for_ranges(list.len(), 64, |range| {
        for &i in &list[range] {
            let (mut spheres, mut on_wall) = (0, false);
            let of = |i: u32| owned(tasks, slots, i);
            for_contacts(view, of, i as usize, |constraint, _| {
                if constraint.is_in_contact() {
                    spheres = (spheres + u8::from(constraint.j & WALL == 0)).min(64);
                    on_wall |= constraint.j & WALL != 0;
                }
            });
            pressed.set(i as usize, spheres, on_wall);
        }
    });
}

/// Calls `visit` with the contact constraints of a sphere, and 1 if it is their first sphere, otherwise -1. `of` returns the
/// constraints that a sphere owns.
pub fn for_contacts<'c>(
    view: &View,
    of: impl Fn(u32) -> &'c [ContactConstraint],
    i: usize,
    mut visit: impl FnMut(&ContactConstraint, f32),
) {
    let ids = view.state.id;
    of(i as u32).iter().for_each(|constraint| visit(constraint, 1.0));
    for candidate in view.lists.of(i).iter().filter(|candidate| ids[candidate.index()] < ids[i]) {
        // Across a short period a sphere may touch several images of another one.
        let with_i = |of: &&ContactConstraint| of.j == i as u32 && of.image + candidate.code() == CODES - 1;
        of(candidate.index() as u32).iter().filter(with_i).for_each(|constraint| visit(constraint, -1.0));
    }
}

/// Appends to `order` the constraints of a block to be solved, in bundles of one colour; see [`Task::order`].
///
/// # Safety
/// No other thread may use the masks of the same moving spheres at the same time.
pub unsafe fn order_block(
    constraints: &[ContactConstraint],
    masks: &Disjoint<u32>,
    moves: &impl Fn(usize) -> bool,
    colours: &mut Vec<u8>,
    order: &mut Vec<u32>,
) {
    let partners = |constraint: &ContactConstraint| {
        let (i, j) = (constraint.i as usize, constraint.j as usize);
        let moving = |k: usize| moves(k).then_some(k);
        [moving(i), if constraint.j & WALL == 0 { moving(j) } else { None }]
    };
    // SAFETY: guaranteed by the caller.
    for k in constraints.iter().flat_map(partners).flatten() {
        unsafe { masks.set(k, 0) };
    }
    let mut counts = [0; CONSTRAINT_COLOURS + 1];
    colours.clear();
    for constraint in constraints {
        let partners = partners(constraint);
        let colour = if partners == [None; 2] {
            UNCOLOURED
        } else {
            let mask = partners.into_iter().flatten().fold(0, |mask, k| mask | unsafe { masks.get(k) });
            let colour = mask.trailing_ones();
            if colour < CONSTRAINT_COLOURS as u32 {
                for k in partners.into_iter().flatten() {
                    unsafe { masks.set(k, masks.get(k) | 1 << colour) };
                }
            }
            counts[colour as usize] += 1;
            colour as u8
        };
        colours.push(colour);
    }
    // Every colour begins with a new bundle; the constraints of the last one have a bundle each.
    let mut starts = [0; CONSTRAINT_COLOURS + 1];
    let mut end = order.len();
    for (start, (colour, count)) in starts.iter_mut().zip(counts.into_iter().enumerate()) {
        *start = end;
        end +=
            if colour < CONSTRAINT_COLOURS { usize::next_multiple_of(count, LANES) } else { count * LANES };
    }
    order.resize(end, EMPTY);
    for (at, &colour) in colours.iter().enumerate().filter(|(_, colour)| **colour != UNCOLOURED) {
        let start = &mut starts[usize::from(colour)];
        order[*start] = at as u32;
        *start += if usize::from(colour) < CONSTRAINT_COLOURS { 1 } else { LANES };
    }
}

// Makes an empty array as large as it will probably need to be for as many constraints as `before` and some new ones. An array that only
// grows, by doubling, would keep the size of the most spheres that its task ever had, and tasks exchange their arrays.
fn make_room<T>(array: &mut Vec<T>, before: usize) {
    let room = before + before / 16 + 8;
    if array.capacity() > room + room / 8 {
        array.shrink_to(room);
    }
    if array.capacity() < before {
        array.reserve_exact(room);
    }
}

// Makes room for some more values. Doubling would leave half of the array empty.
#[cold]
fn grow<T>(array: &mut Vec<T>) {
    array.reserve_exact(array.len() / 8 + 8);
}

// Whether all spheres of task `k` stay quiet and own the constraints that it has, in the same order and blocks. On the way the function
// enters the task in the slots of the spheres without constraints, and updates the places of the blocks with constraints; both mean
// nothing if it returns false.
//
// # Safety
// No other thread may read or write the slots of these spheres at the same time.
unsafe fn keeps_slots(
    task: &mut Task,
    slots: &Disjoint<Slot>,
    (blocks, k): (&Blocks, usize),
    stays_quiet: impl Fn(usize) -> bool,
) -> bool {
    let (mut end, mut ranges) = (0, task.blocks.iter_mut());
    let of_task = blocks.tasks[k].clone();
    let are_of = blocks.all[of_task.clone()].iter().zip(of_task).all(|(block, place)| {
        let begin = end;
        let are_of_block = blocks.owners_of(block).all(|i| {
            // SAFETY: guaranteed by the caller.
            let slot = unsafe { slots.get(i as usize) };
            let is_next = slot.count == 0 || (slot.task as usize, slot.first) == (k, end);
            if slot.count == 0 {
                // SAFETY: as above.
                unsafe { slots.set(i as usize, Slot { task: k as u32, ..slot }) };
            }
            end += slot.count;
            is_next && stays_quiet(i as usize)
        });
        let is_same = end == begin
            || ranges.next().is_some_and(|range| {
                range.place = place as u32;
                (range.number, range.end) == (block.number, end as usize)
            });
        are_of_block && is_same
    });
    are_of && end as usize == task.constraints.len()
}

// The constraints that a sphere owns.
fn owned<'t>(tasks: &'t Outputs<Task>, slots: &[Slot], i: u32) -> &'t [ContactConstraint] {
    // No constraint was found yet for spheres without a slot.
    let slot = slots.get(i as usize).copied().unwrap_or_default();
    if slot.count == 0 {
        return &[];
    }
    &tasks.get(slot.task as usize).constraints[slot.range()]
}

impl Push {
    // The impulse of a constraint with a wall.
    fn of(view: &View, constraint: &ContactConstraint) -> Self {
        let (i, wall) = (constraint.i as usize, wall_of(constraint.j));
        let feature = view.feature(wall);
        Self {
            wall: feature.map_or_else(|| view.world.walls[wall].number, |feature| feature.wall),
            impulse: constraint.normal * constraint.impulse.normal + constraint.impulse.tangent,
            turn: constraint.impulse.moment,
            cell: view.cell(i),
            offset: view.state.offset(i) - constraint.normal * view.state.radius(i),
        }
    }
}

impl Slot {
    fn range(self) -> Range<usize> {
        self.first as usize..(self.first + self.count) as usize
    }

    // The constraints of a task from `first` on.
    fn of(task: usize, first: usize, of: &Task) -> Self {
        Self { task: task as u32, first: first as u32, count: (of.constraints.len() - first) as u32 }
    }
}

impl Task {
    // Forgets the blocks and partners, before constraints are pushed.
    fn begin(&mut self) {
        self.constraints.clear();
        self.partners.clear();
        self.with_walls.clear();
        self.blocks.clear();
        self.yielding.clear();
        self.wall_sums.clear();
        (self.begin, self.yielding_in_block, self.is_ordered) = (0, 0, false);
        (self.wall_work, self.is_summed) = (0.0, false);
    }

    fn sum_wall_impulses(&mut self, view: &View, site: &Site) {
        let mut sums = take(&mut self.wall_sums);
        self.wall_work = self.add_wall_impulses(view, site, &mut sums);
        (self.wall_sums, self.is_summed) = (sums, true);
    }

    // Whether the sums are those of the present constraints.
    fn has_wall_sums(&self, view: &View, site: &Site) -> bool {
        let mut sums = vec![];
        self.add_wall_impulses(view, site, &mut sums) == self.wall_work && sums == self.wall_sums
    }

    // Sets `wall_sums` to the sums over the contacts with each wall. Returns the work of the walls.
    fn add_wall_impulses(&self, view: &View, site: &Site, wall_sums: &mut Vec<(u32, WallSum)>) -> f64 {
        let Self { constraints, with_walls, wall_velocities, .. } = self;
        wall_sums.clear();
        let mut wall_work = 0.0;
        let on_walls = with_walls.iter().map(|&at| &constraints[at as usize]);
        for constraint in on_walls.filter(|constraint| constraint.is_in_contact()) {
            let push = Push::of(view, constraint);
            if let Some(at) = constraint.wall_velocity() {
                let [velocity, spin] = wall_velocities[at].0.map(|v| v.truncate().as_dvec3());
                wall_work += push.impulse.as_dvec3().dot(velocity) + push.turn.as_dvec3().dot(spin);
            }
            let place = wall_sums.iter().position(|(wall, _)| *wall == push.wall).unwrap_or_else(|| {
                wall_sums.push((push.wall, WallSum::default()));
                wall_sums.len() - 1
            });
            site.add(&mut wall_sums[place].1, &push);
        }
        wall_work
    }

    /// Divides the constraints of each block into colours, in their order: the first colour that no earlier constraint of the
    /// same moving spheres has. `masks` holds the colours of each sphere; `moves` tells whether a sphere moves.
    ///
    /// # Safety
    /// No other thread may use the masks of the same moving spheres at the same time.
    pub unsafe fn order(&mut self, masks: &Disjoint<u32>, moves: impl Fn(usize) -> bool) {
        if std::mem::replace(&mut self.is_ordered, true) {
            return;
        }
        self.order.clear();
        let mut begin = 0;
        let mut colours = vec![];
        for block in &mut self.blocks {
            let constraints = &self.constraints[std::mem::replace(&mut begin, block.end)..block.end];
            if block.yields {
                // SAFETY: guaranteed by the caller.
                unsafe { order_block(constraints, masks, &moves, &mut colours, &mut self.order) };
            }
            block.end_of_order = self.order.len();
        }
    }

    // Ends a block, if it has constraints.
    fn end_block(&mut self, number: u32, place: usize) {
        self.close_block(number, place as u32, self.constraints.len());
    }

    fn close_block(&mut self, number: u32, place: u32, end: usize) {
        if end > self.begin {
            let yields = std::mem::take(&mut self.yielding_in_block) > 0;
            self.begin = end;
            let end_of_yielding = self.yielding.len();
            self.blocks.push(BlockRange { number, place, end, yields, end_of_yielding, end_of_order: 0 });
        }
    }

    // Notes whether a constraint of the open block has a sphere that is awake and not fixed. Constraints are listed from the
    // first one on that has none.
    #[inline]
    fn note_yields(&mut self, at: usize, yields: bool) {
        let all_yield = self.yielding_in_block == at;
        if yields {
            self.yields = true;
            self.yielding_in_block += 1;
            if !all_yield {
                self.yielding.push(at as u32);
            }
        } else if all_yield {
            self.yielding.extend(0..at as u32);
        }
    }

    // Finds again which constraints have spheres that are awake.
    fn renew_yields(&mut self, view: &View) {
        let blocks = std::mem::take(&mut self.blocks);
        self.yielding.clear();
        (self.begin, self.yielding_in_block, self.yields, self.is_ordered) = (0, 0, false, false);
        for block in &blocks {
            let begin = self.begin;
            for at in begin..block.end {
                self.note_yields(at - begin, self.constraints[at].yields(view));
            }
            self.close_block(block.number, block.place, block.end);
        }
    }

    /// The blocks with constraints, in solving order.
    pub fn blocks(&mut self) -> impl Iterator<Item = BlockOfTask<'_>> {
        let Self { constraints, wall_velocities, blocks, order, .. } = self;
        let (mut rest, mut begin, mut first) = (constraints.as_mut_slice(), 0, 0);
        let (wall_velocities, order) = (wall_velocities.as_slice(), order.as_slice());
        blocks.iter().map(move |&BlockRange { number, place, end, yields, end_of_order, .. }| {
            let (constraints, after) = std::mem::take(&mut rest).split_at_mut(end - begin);
            let order = &order[std::mem::replace(&mut first, end_of_order)..end_of_order];
            (rest, begin) = (after, end);
            BlockOfTask { number, place, yields, order, constraints, wall_velocities }
        })
    }

    /// Constraints with a sphere that is awake and not fixed.
    pub fn yielding(&self) -> impl Iterator<Item = &ContactConstraint> {
        self.yielding_in(|_| true)
    }

    /// Constraints with a sphere that is awake and not fixed, in some of the blocks, by their numbers.
    pub fn yielding_in(&self, is_of: impl Fn(u32) -> bool) -> impl Iterator<Item = &ContactConstraint> {
        let (mut begin, mut first) = (0, 0);
        self.blocks.iter().filter(|_| self.yields).flat_map(move |block| {
            let range = std::mem::replace(&mut begin, block.end)..block.end;
            let end = block.end_of_yielding;
            let yielding = &self.yielding[std::mem::replace(&mut first, end)..end];
            let is_wanted = block.yields && is_of(block.number);
            let all = if is_wanted && yielding.is_empty() { range.clone() } else { 0..0 };
            let some =
                if is_wanted { yielding } else { &[] }.iter().map(move |&at| range.start + at as usize);
            all.chain(some).map(|at| &self.constraints[at])
        })
    }

    fn all_in_contact(&self) -> impl Iterator<Item = &ContactConstraint> {
        self.constraints.iter().filter(|constraint| constraint.is_in_contact())
    }

    // Renumbers the spheres after a change of order: the partners, and the owners if `owners` is set.
    fn renumber(&mut self, order: &Order, owners: bool) {
        debug_assert_eq!(self.constraints.len(), self.partners.len());
        for (constraint, partner) in self.constraints.iter_mut().zip(&mut self.partners) {
            if *partner & WALL == 0 {
                let to = order.new_index(*partner);
                if to != *partner {
                    (*partner, constraint.j) = (to, to);
                }
            }
            if owners {
                constraint.i = order.new_index(constraint.i);
            }
        }
    }

    // Appends constraints of spheres that all sleep.
    fn push_all(&mut self, constraints: &[ContactConstraint]) {
        let first = self.constraints.len();
        if !constraints.is_empty() {
            self.note_yields(first - self.begin, false);
        }
        self.partners.extend(constraints.iter().map(|constraint| constraint.j));
        let with_walls = (first..).zip(constraints).filter(|(_, constraint)| constraint.j & WALL != 0);
        self.with_walls.extend(with_walls.map(|(at, _)| at as u32));
        if self.constraints.capacity() < first + constraints.len() {
            self.constraints.reserve_exact(constraints.len() + first / 8);
        }
        self.constraints.extend_from_slice(constraints);
    }

    #[inline(always)]
    fn push(&mut self, constraint: ContactConstraint, yields: bool) {
        self.note_yields(self.constraints.len() - self.begin, yields);
        self.bounces |= constraint.closing < 0.0;
        if constraint.j & WALL != 0 {
            self.with_walls.push(self.constraints.len() as u32);
        }
        if self.constraints.len() == self.constraints.capacity() {
            grow(&mut self.constraints);
            grow(&mut self.partners);
        }
        self.partners.push(constraint.j);
        self.constraints.push(constraint);
    }
}
