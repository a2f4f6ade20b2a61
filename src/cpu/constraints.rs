//! Contact constraints of resting contacts. A constraint acts on the velocities at the end of the substep: the two
//! surfaces approach by no more than their gap, slide with Coulomb friction, and resist rolling and twisting.

mod find;
mod past;

use crate::state::constants::{COLOURS, CONSTRAINT_COLOURS, SHOCK, TOUCHING};
use std::{
    cell::Cell,
    mem::{swap, take},
    ops::Range,
};

use glam::{Vec3, Vec4};

use self::find::Finder;
pub use crate::state::warm_start::ContactImpulse;
use crate::{
    cpu::{
        bits::Pressed,
        blocks::{Block, Blocks},
        crew::{Crew, Job},
        event::View,
        order::Order,
        parallel::{Disjoint, Outputs, for_ranges},
        rest::LANES,
    },
    state::{constants::WALL, grid::CODES},
};

/// Up to this many constraints one thread counts faster than several.
const SERIAL: usize = 8192;

thread_local! {
    /// Former constraints of a task, whose memory the next task reuses.
    static SPARE: Cell<Vec<ContactConstraint>> = const { Cell::new(vec![]) };
}

/// One contact constraint, in scaled units. The solver loads eight floats from `normal` on and eight from `arms` on.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct ContactConstraint {
    /// Unit vector from j to i.
    pub normal: Vec3,
    /// Approach speed that closes the gap by the end of the substep, >= 0. A negative value means a bounce; its magnitude is the
    /// speed of separation.
    pub closing: f32,
    pub impulse: ContactImpulse,
    /// From each centre to the point of contact.
    pub arms: [f32; 2],
    /// 5/2 over each radius; 0 for walls, and for spheres if only the impulse was restored.
    pub turns: [f32; 2],
    /// Reduced mass along the normal and in the contact plane.
    pub masses: [f32; 2],
    pub friction: f32,
    /// Resistance to rolling and to twisting, times the reduced radius.
    pub resistance: [f32; 2],
    /// Owner of the constraint: the sphere with the smaller id, so that constraints follow the order of cells and ids.
    pub i: u32,
    /// The other sphere, or a wall with [`WALL`] set: planes first, then wall features.
    pub j: u32,
    /// Cells from i to the image of j, encoded as in a candidate.
    pub code: u32,
    /// Index of the wall velocity within the task; [`STANDS`] if the partner is not a moving wall.
    pub wall_velocity: u32,
    /// Distance over the radius sum; it scales the radii to the arms of the contact point.
    #[cfg(feature = "gpu")]
    pub share: f32,
}

/// An empty place in the solving order.
pub const EMPTY: u32 = u32::MAX;

/// Mark of a constraint without a colour, because neither partner moves.
const UNCOLOURED: u8 = u8::MAX;

/// Wall velocity index of a constraint whose partner is not a moving wall.
pub const STANDS: u32 = u32::MAX;

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
        arms: [0.0; 2],
        turns: [0.0; 2],
        masses: [0.0; 2],
        friction: 0.0,
        resistance: [0.0; 2],
        i: 0,
        j: WALL,
        code: 0,
        wall_velocity: STANDS,
        #[cfg(feature = "gpu")]
        share: 0.0,
    };

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
    /// The blocks with constraints.
    blocks: Vec<BlockRange>,
    /// If all spheres of the task with this number stay quiet: the present indices in solving order of its blocks with constraints. The
    /// exchange of past and present tasks moves this list to the past task.
    places: Vec<u32>,
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
    /// Pressed contacts of each sphere in the previous substep.
    rested: Pressed,
    /// Tasks of each colour, for the constraints of this substep and of the previous one.
    colours: [Range<usize>; COLOURS],
    past_colours: [Range<usize>; COLOURS],
    buffer: Vec<Slot>,
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
        let is_ready = std::mem::take(&mut self.is_past_ready);
        if !is_ready {
            swap(&mut self.tasks, &mut self.past);
            swap(&mut self.slots, &mut self.past_slots);
            swap(&mut self.colours, &mut self.past_colours);
            self.past_h = self.h;
        }
        let stays = !is_ready && self.past_h == view.frame.h;
        self.h = view.frame.h;
        let slow = view.world.slow_speed(self.h);
        self.shock = SHOCK * slow;
        let count = view.state.len();
        self.slots.resize(count, Slot::default());
        self.past_slots.resize(count, Slot::default());
        self.colours.clone_from(&blocks.colours);
        let Self { past, past_slots, past_colours, rested, counted, .. } = self;
        count_in_contact(view, (past, past_slots), past_colours, (rested, counted));
        let scale = if self.past_h > 0.0 { self.h / self.past_h } else { 0.0 };
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
        run_tasks(&mut self.crew, tasks, blocks, |k, task| {
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
            for (block, place) in blocks_of_task.iter().zip(places) {
                let is_renewed = renews.0(block.number);
                for i in blocks.owners_of(block) {
                    // SAFETY: a sphere is in one task.
                    let slot = unsafe { slots.get(i as usize) };
                    let past = &before[slot.first as usize..(slot.first + slot.count) as usize];
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
        });
        self.count = self.tasks.iter().map(|task| task.constraints.len()).sum();
    }

    // With `stays`, quiet spheres keep their constraints unchanged.
    fn fill(&mut self, view: &View, blocks: &Blocks, (slow, stays): (f32, bool), scale: f32) {
        let Self { tasks, past, past_slots, slots, .. } = self;
        let (present, slots) = (past.iter().count(), Disjoint::new(slots));
        run_tasks(&mut self.crew, tasks, blocks, |k, task| {
            let stays_quiet = |i: usize| view.sleep.stays_quiet(i);
            task.stays = stays
                && k < present
                // SAFETY: a sphere is in one task.
                && unsafe { keeps_slots(past.get(k), (past_slots, &slots), blocks, (k, &mut task.places), stays_quiet) };
        });
        self.swap_those_that_stay();
        let Self { tasks, past, past_slots, rested, .. } = self;
        let slots = Disjoint::new(&mut self.slots);
        for (task, past) in tasks.some(0..blocks.tasks.len()).iter_mut().zip(past.all()) {
            if task.stays {
                // The places were found before the exchange.
                assert_eq!(task.blocks.len(), past.places.len());
                let blocks = task.blocks.iter_mut().zip(&past.places);
                blocks.for_each(|(block, &place)| block.place = place);
            }
        }
        run_tasks(&mut self.crew, tasks, blocks, |k, task| {
            if task.stays {
                return;
            }
            let places = blocks.tasks[k].clone();
            task.wall_velocities.clear();
            task.flights.clear();
            (task.yields, task.converted, task.bounces) = (false, 0, false);
            task.begin();
            let owners = blocks.all[places.clone()].iter().flat_map(|block| blocks.owners_of(block));
            let before: u32 = owners.map(|i| past_slots[i as usize].count).sum();
            make_room(&mut task.constraints, before as usize);
            for (block, place) in blocks.all[places.clone()].iter().zip(places) {
                for i in blocks.owners_of(block) {
                    let first = task.constraints.len();
                    let past = past_of(past, past_slots, i);
                    if stays && view.sleep.stays_quiet(i as usize) {
                        task.push_all(past);
                    } else {
                        Finder { view, i: i as usize, slow: Some(slow), past, scale, rested }.run(task);
                    }
                    // SAFETY: a sphere is in one task.
                    unsafe { slots.set(i as usize, Slot::of(k, first, task)) };
                }
                task.end_block(block.number, place);
            }
        });
        self.count = tasks.iter().map(|task| task.constraints.len()).sum();
    }

    // Exchanges the past and the present constraints of the tasks that stay.
    fn swap_those_that_stay(&mut self) {
        let count = self.tasks.iter().count();
        let staying = self.tasks.some(0..count).iter_mut().zip(self.past.some_of_all(count));
        for (task, past) in staying.filter(|(task, _)| task.stays) {
            swap(task, past);
            (task.yields, task.stays, task.converted) = (false, true, 0);
            task.flights.clear();
        }
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
        let tasks = self.tasks.some(0..count).iter_mut().zip(self.past.some_of_all(count));
        for (task, past) in tasks.filter(|(task, _)| task.stays && task.yields) {
            past.constraints.clone_from(&task.constraints);
            past.partners.clone_from(&task.partners);
            task.stays = false;
        }
    }

    /// Orders the constraints anew before they are solved again.
    pub fn forget_order(&mut self) {
        self.tasks.for_each(|task| task.is_ordered = false);
    }

    /// Undoes the last [`find`](Self::find), because the substep is repeated.
    pub fn take_back(&mut self) {
        self.swap_those_that_stay();
        self.is_past_ready = true;
        self.count = 0;
    }

    /// Contact constraints that a sphere owns.
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

    /// Wall contact constraints with an impulse, in task order, each with its wall velocity.
    pub fn on_walls(&self) -> impl Iterator<Item = (&ContactConstraint, Option<WallVelocity>)> {
        let tasks = self.tasks.iter().take(if self.count > 0 { usize::MAX } else { 0 });
        tasks.flat_map(|task| {
            let wall_velocity = |constraint: &ContactConstraint| {
                task.wall_velocities.get(constraint.wall_velocity as usize).copied()
            };
            let with_walls = task.with_walls.iter().map(|&at| &task.constraints[at as usize]);
            with_walls
                .filter(|constraint| constraint.is_in_contact())
                .map(move |constraint| (constraint, wall_velocity(constraint)))
        })
    }

    pub fn bytes(&self) -> usize {
        let tasks = self.tasks.all().iter().chain(self.past.all());
        tasks
            .map(|t| {
                size_of::<ContactConstraint>() * t.constraints.capacity()
                    + 4 * (t.partners.capacity()
                        + t.with_walls.capacity()
                        + t.yielding.capacity()
                        + t.order.capacity()
                        + t.places.capacity())
                    + size_of::<BlockRange>() * t.blocks.capacity()
                    + size_of::<WallVelocity>() * t.wall_velocities.capacity()
            })
            .sum::<usize>()
            + size_of::<Slot>() * (self.slots.capacity() + self.past_slots.capacity())
            + size_of::<Slot>() * self.buffer.capacity()
            + 4 * self.counted.capacity()
            + self.rested.bytes()
            + self.crew.bytes()
    }
}

// Runs `work` with the number of each task and its constraints, in any order.
fn run_tasks(
    crew: &mut Crew,
    tasks: &mut Outputs<Task>,
    blocks: &Blocks,
    work: impl Fn(usize, &mut Task) + Sync,
) {
    let count = blocks.tasks.len();
    tasks.use_slots(count);
    let tasks = tasks.some(0..count).iter_mut().zip(&blocks.tasks).enumerate();
    let jobs = tasks.map(|(k, (task, places))| Job {
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
            let of = |i: u32| past_of(tasks, slots, i);
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
        let with_i = |of: &&ContactConstraint| of.j == i as u32 && of.code + candidate.code() == CODES - 1;
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
// grows, by doubling, would keep the size of the most spheres that its task ever had.
fn make_room(constraints: &mut Vec<ContactConstraint>, before: usize) {
    let room = before + before / 8 + 16;
    if constraints.capacity() > 2 * room {
        constraints.shrink_to(room);
    }
    if constraints.capacity() < before {
        constraints.reserve_exact(room);
    }
}

// Whether all spheres of task `k` stay quiet and own the constraints of a past task, in the same order and blocks. On the way the function
// copies the slots of these spheres from `past_slots` to `slots`, and lists the places of the blocks with constraints; both mean
// nothing if it returns false.
//
// # Safety
// No other thread may read or write these elements of `slots` at the same time.
unsafe fn keeps_slots(
    past: &Task,
    (past_slots, slots): (&[Slot], &Disjoint<Slot>),
    blocks: &Blocks,
    (k, places): (usize, &mut Vec<u32>),
    stays_quiet: impl Fn(usize) -> bool,
) -> bool {
    places.clear();
    let mut end = 0;
    let of_task = blocks.tasks[k].clone();
    let are_of = blocks.all[of_task.clone()].iter().zip(of_task).all(|(block, place)| {
        let begin = end;
        let are_of_block = blocks.owners_of(block).all(|i| {
            let slot = past_slots[i as usize];
            let is_next = slot.count == 0 || (slot.task as usize, slot.first) == (k, end);
            end += slot.count;
            // SAFETY: guaranteed by the caller.
            unsafe { slots.set(i as usize, slot) };
            is_next && stays_quiet(i as usize)
        });
        if end > begin {
            let is_of_past = |of: &BlockRange| (of.number, of.end) == (block.number, end as usize);
            let is_same = past.blocks.get(places.len()).is_some_and(is_of_past);
            places.push(place as u32);
            return are_of_block && is_same;
        }
        are_of_block
    });
    are_of && end as usize == past.constraints.len()
}

fn past_of<'a>(past: &'a Outputs<Task>, slots: &[Slot], i: u32) -> &'a [ContactConstraint] {
    // No constraint was found yet for spheres without a slot.
    let Slot { task, first, count } = slots.get(i as usize).copied().unwrap_or_default();
    if count == 0 {
        return &[];
    }
    &past.get(task as usize).constraints[first as usize..(first + count) as usize]
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
        (self.begin, self.yielding_in_block, self.is_ordered) = (0, 0, false);
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
        self.constraints.extend_from_slice(constraints);
    }

    #[inline(always)]
    fn push(&mut self, constraint: ContactConstraint, yields: bool) {
        self.note_yields(self.constraints.len() - self.begin, yields);
        self.bounces |= constraint.closing < 0.0;
        if constraint.j & WALL != 0 {
            self.with_walls.push(self.constraints.len() as u32);
        }
        self.partners.push(constraint.j);
        self.constraints.push(constraint);
    }
}
