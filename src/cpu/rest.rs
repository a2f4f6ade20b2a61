//! Stage `rest`: solves the contact constraints of resting contacts, before the sweep and again after the rounds.
//! In a Gauss-Seidel iteration a block comes after the blocks next to it whose colour has a smaller number; several threads solve
//! blocks that are not next to each other. Within a block, constraints that share no moving sphere are solved side by side, eight at
//! a time.
//!
//! Contact constraints act on V, the velocity of a sphere in the lab frame at the end of the substep. A supported sphere
//! moves with V during the whole substep, because its constraints already include gravity. In the falling frame its path
//! is a parabola, which the engine replaces by its chord with velocity u = V - g h/2, so V = u + g h/2. A sphere in flight
//! has V = u + g h. `rested` is the part of the substep during which a sphere is supported; in general
//! V = u + g (h - rested/2).

mod lanes;
mod number;
mod solve;

pub use number::LANES;

use crate::state::constants::{ACTIVE_REACH, DEEP, ITERATION_BATCHES, SETTLED, SHORTEST, UNSETTLED};
use crate::state::constants::{ITERATIONS_AFTER, ITERATIONS_BEFORE, SWEEPS};
use std::{
    mem::swap,
    sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed},
};

use glam::{DVec3, Vec3, Vec4};

use self::{
    lanes::Method,
    solve::{Bodies, Body},
};
use crate::{
    cpu::{
        bits::{Bits, Lasting, Pressed},
        blocks::{self, Block, Blocks},
        constraints::{BlockOfTask, ContactConstraint, ContactConstraints, Task, closing_speed},
        core::Core,
        crew::{Crew, Job},
        event::View,
        order::Order,
        pairs::{for_lanes, wide},
        parallel::{Disjoint, Outputs, TASK, fill, for_ranges},
        sleep::{Imbalance, given_velocity, imbalance},
    },
    state::{
        constants::{WALL, side_of, wall_bit, wall_of},
        frame::Frame,
    },
    walls::world::Surface,
};

/// Blocks per task of a loop over blocks, at most.
const BLOCKS_OF_TASK: usize = 64;

/// If at most this share of the blocks is active, one in `FEW_BLOCKS`, the spheres outside are left out of the solve.
const FEW_BLOCKS: usize = 16;

/// Buffers of the stage.
#[derive(Default)]
pub struct Rest {
    /// V and spin of each sphere, and the spheres whose values stay because they stay quiet.
    lab: Vec<Body>,
    buffer: Vec<Body>,
    /// Colours of the constraints of each sphere, one bit each, while constraints are ordered.
    masks: Vec<u32>,
    lasting: Lasting,
    /// Motion and spin at the start of the substep.
    start: Vec<(Vec4, Vec4)>,
    /// Pressed contacts of each sphere after the first solve.
    in_contact: Pressed,
    /// Largest velocity change by a constraint of each block in the last sweep of the first solve, as the bits of a float; during
    /// the first solve, in the last sweep of each iteration.
    changes: Vec<AtomicU32>,
    /// Blocks that the next batch of iterations solves.
    active_blocks: Bits,
    /// The active blocks and the blocks next to them.
    around_blocks: Bits,
    /// The blocks of `around_blocks` and the blocks next to those.
    counted_blocks: Bits,
    /// Spheres that no constraint of an active block can move.
    outside: Bits,
    /// Spheres whose candidates no such constraint can move either.
    uncounted: Bits,
    /// Whether the active blocks are few. Otherwise no sphere counts as outside.
    are_few: bool,
    /// Spheres with a pressed contact after a batch; undefined for those outside or asleep.
    held: Bits,
    /// Blocks whose sleeping spheres wake.
    waking_blocks: Bits,
    /// Sleeping spheres whose contacts no longer balance their weight.
    unbalanced: Bits,
    /// Velocities that such spheres receive when they wake.
    given: Vec<(usize, Vec3)>,
    losses: Outputs<f64>,
    crew: Crew,
    /// Energy that contact constraints removed from the spheres, without the work of walls.
    pub dissipated: f64,
    /// Work done by moving walls.
    pub wall_work: f64,
    /// Impacts that became contacts.
    pub crowded: u64,
}

impl Rest {
    /// Finds the contact constraints of the substep and solves them for the first time; all clocks are 0.
    pub fn before(&mut self, core: &mut Core, frame: Frame) {
        (self.dissipated, self.wall_work, self.crowded) = (0.0, 0.0, 0);
        fill(&mut core.clock, 0.0);
        core.sleep.begin(core.domain.world.sleep_ticks(frame.h), &core.lists);
        let (view, constraints, blocks) = core.split_constraints(frame);
        constraints.find(&view, blocks);
        let woken = core.sleep.wake_stirred(&core.lists);
        if !woken.is_empty() {
            let (view, constraints, _) = core.split_constraints(frame);
            constraints.renew_yields(&view, Some(&woken));
        }
        fill(&mut core.rested, 0.0);
        core.lists.forget_hits();
        core.converted.reset(core.state.len());
        if core.constraints.count > 0 {
            self.lasting.renew(core.state.len(), core.sleep.lasting(), core.sleep.order());
            self.remember(core);
            self.enter_lab(core, frame, true);
            let Core { constraints, blocks, domain, .. } = core;
            let world = (&*blocks, domain.world.surfaces.as_slice());
            self.warm(constraints, world);
            self.iterate(constraints, world, ITERATIONS_BEFORE as usize, (None, settled_speed(frame)));
            self.leave_lab(core, frame, true);
            swap(&mut self.in_contact, &mut core.pressed);
        } else {
            core.pressed.reset(core.state.len());
            self.changes.clear();
        }
    }

    /// Whether the first solve left a constraint of a block unsettled, so that the block is solved again after the rounds.
    pub fn is_unsettled(&self, block: u32, frame: Frame) -> bool {
        self.change_of(block) > unsettled_speed(frame)
    }

    /// Largest velocity change by a constraint of a block in the last sweep of the first solve.
    pub fn change_of(&self, block: u32) -> f32 {
        self.changes.get(block as usize).map_or(0.0, |change| f32::from_bits(change.load(Relaxed)))
    }

    /// Solves the contact constraints again after the rounds, over the rest of the substep. `touched` are the spheres that the rounds
    /// have changed.
    pub fn after(&mut self, core: &mut Core, frame: Frame, touched: &Bits) {
        let any_converted = core.converted.count() > 0;
        if core.constraints.count == 0 && !any_converted {
            return;
        }
        if core.is_stopped && (any_converted || core.sleep.count() > 0) {
            // As on a device: colours depend on the spheres that move.
            core.constraints.forget_order();
        }
        self.find_active(core, frame, touched);
        if core.sleep.count() > 0 {
            self.wake_struck(core, frame, touched);
        }
        for batch in 0..ITERATION_BATCHES {
            let (view, constraints, blocks) = core.split_constraints(frame);
            let active = &self.active_blocks;
            if batch > 0 {
                let is_active = |block: u32| active.contains(block as usize);
                constraints.find_after_rounds(&view, blocks, (is_active, |_| true));
            } else if any_converted {
                constraints.find_after_rounds(&view, blocks, (|_| true, |i| view.converted.contains(i)));
            }
            self.crowded += constraints.converted();
            if batch == 0 {
                constraints.tasks.for_each(|task| {
                    let is_solved =
                        |block: &BlockOfTask| block.yields && active.contains(block.number as usize);
                    for block in task.blocks().filter(is_solved) {
                        block.constraints.iter_mut().for_each(|constraint| follow(&view, constraint));
                    }
                });
                fly(core, frame);
            }
            self.give(core, frame);
            self.find_outside(core, batch);
            self.enter_lab(core, frame, false);
            let Core { constraints, blocks, domain, .. } = core;
            let world = (&*blocks, domain.world.surfaces.as_slice());
            self.order(constraints, world, |_, _| ());
            let count = (ITERATIONS_AFTER << batch) as usize;
            self.iterate(constraints, world, count, (Some(batch), settled_speed(frame)));
            self.find_held(&core.constraints, core.state.len());
            self.leave_lab(core, frame, false);
            if batch + 1 == ITERATION_BATCHES || !self.goes_on(core, frame) {
                break;
            }
            self.wake(core, frame);
        }
        if core.domain.world.is_watched {
            let length = core.domain.units.length;
            let (view, constraints, _) = core.split_constraints(frame);
            self.wall_work = constraints.sum_wall_impulses(&view, length);
        }
    }

    fn remember(&mut self, core: &Core) {
        let state = &core.state;
        self.start.resize(state.len(), (Vec4::ZERO, Vec4::ZERO));
        let start = Disjoint::new(&mut self.start);
        for_ranges(state.len(), TASK, |range| {
            // SAFETY: ranges do not overlap.
            self.lasting
                .stays()
                .for_absent(range, |i| unsafe { start.set(i, (state.motion[i], state.spin[i])) });
        });
    }

    /// Reorders what lasts for the quiet spheres.
    pub fn follow(&mut self, order: &Order) {
        self.in_contact.follow(order);
        self.lasting.follow(order);
        if self.lab.len() == order.len() {
            order.permute(&mut self.lab, &mut self.buffer);
        }
    }

    /// Undoes [`before`](Self::before).
    pub fn undo(&mut self, core: &mut Core) {
        if core.constraints.count > 0 {
            let (motion, spin) = (Disjoint::new(&mut core.state.motion), Disjoint::new(&mut core.state.spin));
            for_ranges(self.start.len(), TASK, |range| {
                for i in range {
                    // SAFETY: ranges do not overlap.
                    unsafe {
                        if self.lasting.stays().contains(i) {
                            motion.set(i, Vec4::ZERO.with_w(motion.get(i).w));
                        } else {
                            motion.set(i, self.start[i].0);
                            spin.set(i, self.start[i].1);
                        }
                    }
                }
            });
        }
        fill(&mut core.rested, 0.0);
        core.constraints.take_back();
        core.sleep.forget_quiet();
    }

    // Sets V of the spheres that the solve may move.
    fn enter_lab(&mut self, core: &Core, frame: Frame, is_first: bool) {
        self.lab.resize(core.state.len(), Body::default());
        let (view, state) = (core.view(frame), &core.state);
        let lab = Disjoint::new(&mut self.lab);
        let absent = if is_first { self.lasting.stays() } else { &self.outside };
        let body = |i: usize| {
            let (motion, spin) = (state.motion[i], state.spin[i]);
            let is_free = motion.w > 0.0 && !view.sleep.contains(i);
            let gain = frame.gravity * (frame.h - 0.5 * view.rested[i]);
            let spin = spin.truncate().extend(state.radius(i));
            Body { motion: if is_free { motion + gain.extend(0.0) } else { Vec4::ZERO }, spin }
        };
        for_ranges(state.len(), TASK, |range| {
            // SAFETY: ranges do not overlap.
            absent.for_absent(range, |i| unsafe { lab.set(i, body(i)) });
        });
    }

    // Orders the constraints and applies the warm-start impulses.
    fn warm(&mut self, constraints: &mut ContactConstraints, world: (&Blocks, &[Surface])) {
        self.order(constraints, world, |task, bodies| {
            // SAFETY: `order` calls this only for tasks that have no moving sphere in common at the same time.
            task.yielding().for_each(|constraint| unsafe { bodies.push(constraint, &task.wall_velocities) });
        });
    }

    // Orders the constraints of the tasks that have changed. Calls `then` for each task with constraints to be solved.
    fn order(
        &mut self,
        constraints: &mut ContactConstraints,
        (blocks, surfaces): (&Blocks, &[Surface]),
        then: impl Fn(&Task, &Bodies) + Sync,
    ) {
        self.masks.resize(self.lab.len(), 0);
        let masks = Disjoint::new(&mut self.masks);
        let bodies = Bodies { all: Disjoint::new(&mut self.lab), surfaces };
        let count = blocks.tasks.len();
        let tasks = constraints.tasks.some(0..count).iter_mut().zip(&blocks.tasks);
        let jobs = tasks
            .filter(|(task, _)| task.yields)
            .map(|(task, places)| Job { places: places.clone(), home: blocks.home(places.start), item: task })
            .collect();
        let order = |_, task: &mut &mut Task| {
            // SAFETY: at the same time run only tasks that have no moving sphere in common. An impulse changes no inverse
            // mass, so other tasks do not change whether a fixed sphere moves.
            unsafe { task.order(&masks, |i| bodies.all.get(i).motion.w > 0.0) };
            then(task, &bodies);
        };
        self.crew.run(jobs, |place| blocks.earlier(place), 1, |_| true, order);
    }

    /// Runs iterations until no constraint changes a velocity by more than `settled`, at most `count`: over all blocks if
    /// `batch` is absent, otherwise over the active ones.
    fn iterate(
        &mut self,
        constraints: &mut ContactConstraints,
        (blocks, surfaces): (&Blocks, &[Surface]),
        count: usize,
        (batch, settled): (Option<u32>, f32),
    ) {
        let is_first = batch.is_none();
        let numbers = blocks.numbers().count();
        if is_first {
            self.changes.clear();
            self.changes.resize_with(count * numbers, AtomicU32::default);
        }
        let active = &self.active_blocks;
        let tasks = constraints.tasks.some(0..blocks.tasks.len()).iter_mut();
        // Largest velocity change by a constraint in the last sweep of each iteration, as the bits of a float.
        let most: Vec<AtomicU32> = (0..count).map(|_| AtomicU32::new(0)).collect();
        // Bit patterns of positive floats are ordered like their values, and those of NaN come last.
        let goes_on = |ended: usize| most[ended - 1].load(Relaxed) > settled.to_bits();
        // The last iteration of the last batch removes the oscillations that over-relaxation leaves.
        let is_last = |iteration: usize| batch == Some(ITERATION_BATCHES - 1) && iteration + 1 == count;
        let over_relaxes = |iteration: usize| batch.is_some_and(|batch| batch > 0) && !is_last(iteration);
        let (changes, bodies) = (&self.changes, Bodies { all: Disjoint::new(&mut self.lab), surfaces });
        let solve = |iteration: usize, block: &mut BlockOfTask| {
            // SAFETY: at the same time run only blocks that have no moving sphere in common.
            let change = unsafe {
                lanes::solve_block(
                    &bodies,
                    block,
                    Method { sweeps: SWEEPS, over_relaxes: over_relaxes(iteration) },
                )
            };
            if is_first {
                changes[iteration * numbers + block.number as usize].fetch_max(change.to_bits(), Relaxed);
            }
            if change.to_bits() > most[iteration].load(Relaxed) {
                most[iteration].fetch_max(change.to_bits(), Relaxed);
            }
        };
        let jobs = tasks
            .filter(|task| task.yields)
            .flat_map(Task::blocks)
            .filter(|block| block.yields && (is_first || active.contains(block.number as usize)))
            .map(|item| {
                let place = item.place as usize;
                debug_assert_eq!(item.number, blocks.all[place].number);
                Job { places: place..place + 1, home: blocks.home(place), item }
            })
            .collect();
        self.crew.run(jobs, |place| blocks.earlier(place), count, goes_on, solve);
        if is_first {
            // Only the changes of the last iteration count.
            let taken = (1..count).find(|&ended| !goes_on(ended)).unwrap_or(count);
            self.changes.drain(..(taken - 1) * numbers);
            self.changes.truncate(numbers);
        }
    }

    // Finds the blocks to solve again after the rounds: those that the first solve left unsettled, and those near spheres that the
    // rounds have changed or that sleep near a moving wall.
    fn find_active(&mut self, core: &Core, frame: Frame, touched: &Bits) {
        let (view, numbers) = (core.view(frame), core.blocks.numbers());
        self.active_blocks.reset(numbers.count());
        let active = &self.active_blocks;
        let unsettled = (0..numbers.count() as u32).filter(|&block| self.is_unsettled(block, frame));
        unsettled.for_each(|block| active.insert(block as usize));
        let test = |i: usize| {
            // An impact at the very start leaves the clock at 0, so the time of the last contact is tested too.
            let is_changed = view.clock[i] > 0.0 || view.state.spin[i].w >= 0.0 || view.converted.contains(i);
            if is_changed || (view.sleep.contains(i) && view.lists.is_near_moving_wall(i)) {
                let wakes = view.sleep.count() > 0 && view.sleep.is_struck(view.state.spin, i);
                let reach = if wakes { blocks::EDGE } else { ACTIVE_REACH };
                numbers.near(view.grid, view.cell(i), reach, |block| active.insert(block as usize));
            }
        };
        for_ranges(view.state.len(), TASK, |range| {
            view.sleep.for_restless(range.clone(), test);
            if view.sleep.quiet().is_some() {
                touched.for_members(range.clone(), test);
                view.converted.for_members(range, test);
            }
        });
    }

    // Finds the spheres that no constraint of an active block can move, and the blocks whose constraints decide which of the
    // others are in contact. After the first batch the look ahead covers all spheres that are not quiet, because no earlier look
    // ahead has seen what the first solve left.
    fn find_outside(&mut self, core: &Core, batch: u32) {
        let Self { active_blocks, around_blocks, counted_blocks, outside, uncounted, .. } = self;
        let (blocks, count) = (&core.blocks, core.state.len());
        let is_active = |block: &&Block| active_blocks.contains(block.number as usize);
        self.are_few = blocks.all.iter().filter(is_active).count() <= blocks.all.len() / FEW_BLOCKS;
        if self.are_few {
            spread(core, active_blocks, around_blocks);
            spread(core, around_blocks, counted_blocks);
            leave_out(core, around_blocks, outside);
        } else {
            outside.reset(count);
        }
        if self.are_few && batch > 0 {
            leave_out(core, counted_blocks, uncounted);
        } else {
            uncounted.reset(count);
        }
        if let Some(quiet) = core.sleep.quiet() {
            outside.unite(quiet);
            uncounted.unite(quiet);
        }
    }

    // Finds which spheres that are awake and not outside have a pressed contact.
    fn find_held(&mut self, constraints: &ContactConstraints, count: usize) {
        self.held.reset(count);
        let Self { held, counted_blocks, are_few, .. } = &*self;
        constraints.tasks.look(|task| {
            let counts = |block: u32| !are_few || counted_blocks.contains(block as usize);
            for constraint in task.yielding_in(counts).filter(|constraint| constraint.is_in_contact()) {
                held.insert(constraint.i as usize);
                if constraint.j & WALL == 0 {
                    held.insert(constraint.j as usize);
                }
            }
        });
    }

    // Wakes the sleeping spheres of the blocks around impacts.
    fn wake_struck(&mut self, core: &mut Core, frame: Frame, touched: &Bits) {
        let (view, _, blocks) = core.split_constraints(frame);
        let numbers = blocks.numbers();
        self.waking_blocks.reset(numbers.count());
        let (state, waking_blocks) = (view.state, &self.waking_blocks);
        for_ranges(state.len(), TASK, |range| {
            touched.for_members(range, |i| {
                if view.sleep.is_struck(state.spin, i) {
                    numbers.near(view.grid, view.cell(i), blocks::EDGE, |block| {
                        waking_blocks.insert(block as usize)
                    });
                }
            });
        });
        self.wake(core, frame);
    }

    // Wakes the sleeping spheres that are marked or belong to marked blocks.
    fn wake(&self, core: &mut Core, frame: Frame) {
        let waking = |block: &&Block| self.waking_blocks.contains(block.number as usize);
        for block in core.blocks.all.iter().filter(waking) {
            core.blocks.owners_of(block).for_each(|i| core.sleep.mark_alone(i as usize));
        }
        let woken = core.sleep.wake_marked(&core.lists);
        if !woken.is_empty() {
            // Spheres that the rounds have stopped may be anywhere.
            let woken = (!core.is_stopped).then_some(&*woken);
            let (view, constraints, _) = core.split_constraints(frame);
            constraints.renew_yields(&view, woken);
        }
    }

    /// Whether another batch follows, because the velocities drive supported spheres deep into others or the contacts of
    /// sleeping spheres no longer balance their weight. Marks the blocks around them, and the spheres that wake.
    fn goes_on(&mut self, core: &mut Core, frame: Frame) -> bool {
        let (view, constraints, blocks) = core.split_constraints(frame);
        let numbers = blocks.numbers();
        self.active_blocks.reset(numbers.count());
        self.waking_blocks.reset(numbers.count());
        self.unbalanced.reset(view.state.len());
        let Self { active_blocks, waking_blocks, unbalanced, uncounted, .. } = &*self;
        let state = view.state;
        let mark = |i: usize| {
            numbers.near(view.grid, view.cell(i), ACTIVE_REACH, |block| active_blocks.insert(block as usize));
        };
        let in_contact = |i: usize| view.rested[i] > 0.0;
        let found = AtomicBool::new(false);
        let shifts = wide(view.shifts);
        for_ranges(state.len(), TASK, |range| {
            // A pair of an uncounted sphere is as the last look ahead found it, or both sleep.
            uncounted.for_absent_runs(range.clone(), |run| {
                view.lists.for_fours(run, |four, lanes| {
                    for_lanes(lanes & !four.stays_clear(&view, &shifts, DEEP), |lane| {
                        let (i, j, code) = four.pair(lane);
                        if (in_contact(i) || in_contact(j)) && view.deepens(i, j, code) {
                            found.store(true, Relaxed);
                            mark(i);
                            mark(j);
                        }
                    });
                });
            });
            uncounted.for_absent(range, |i| {
                let carries = in_contact(i);
                let imbalance = imbalance(&view, constraints, i);
                if imbalance > Imbalance::None {
                    found.store(true, Relaxed);
                    view.sleep.mark(i, view.lists);
                    unbalanced.insert(i);
                    mark(i);
                }
                if imbalance == Imbalance::Strong {
                    numbers.near(view.grid, view.cell(i), blocks::EDGE, |block| {
                        waking_blocks.insert(block as usize);
                        active_blocks.insert(block as usize);
                    });
                }
                let walls = view.lists.walls(i);
                if walls != 0 && carries {
                    for plane in (0..view.world.walls.len()).filter(|&plane| walls & wall_bit(plane) != 0) {
                        if view.overlap_of_wall_ahead(i, plane).deepens() {
                            found.store(true, Relaxed);
                            mark(i);
                        }
                    }
                }
                if carries {
                    view.for_listed_features(i, |_, feature| {
                        if view.overlap_of_feature_ahead(i, feature).deepens() {
                            found.store(true, Relaxed);
                            mark(i);
                        }
                    });
                }
            });
        });
        let mut list = vec![];
        unbalanced.list(&mut list);
        let velocity = |&i: &u32| (i as usize, given_velocity(&view, constraints, i as usize));
        self.given = list.iter().map(velocity).collect();
        found.into_inner()
    }

    // Gives the spheres that wake the velocities that the impulses on them amount to, so that no momentum is lost.
    fn give(&mut self, core: &mut Core, frame: Frame) {
        for (i, velocity) in self.given.drain(..) {
            core.state.motion[i] += velocity.extend(0.0);
            let gained = 0.5 * velocity.as_dvec3().length_squared();
            let way = velocity * (frame.h - core.clock[i]);
            let fall = frame.gravity.as_dvec3().dot(way.as_dvec3());
            self.dissipated += (fall - gained) / f64::from(core.state.inverse_mass(i));
        }
    }

    /// Converts V back to the falling frame: along the chord for a supported sphere, otherwise for flight.
    fn leave_lab(&mut self, core: &mut Core, frame: Frame, is_first: bool) {
        let (view, constraints, _) = core.split_constraints(frame);
        if is_first {
            constraints.count_in_contact(&view, &mut self.in_contact);
        }
        let Self { lab, in_contact, held, lasting, outside, losses, .. } = self;
        let is_in_contact = |i: usize| if is_first { in_contact.any(i) } else { held.contains(i) };
        let (sleep, world) = (&core.sleep, &core.domain.world);
        let (clock, place) = (&core.clock, &core.state.place);
        let motion = Disjoint::new(&mut core.state.motion);
        let spin = Disjoint::new(&mut core.state.spin);
        let rested = Disjoint::new(&mut core.rested);
        let stays = if is_first { lasting.stays() } else { outside };
        let at_rest = frame.velocity_at_rest();
        losses.run_evenly(lab.len(), TASK, |range, loss| {
            *loss = 0.0;
            if is_first {
                // SAFETY: ranges do not overlap.
                stays.for_members(range.clone(), |i| unsafe {
                    let inverse_mass = motion.get(i).w;
                    if inverse_mass > 0.0 {
                        motion.set(i, at_rest.extend(inverse_mass));
                        rested.set(i, frame.h);
                    }
                });
            }
            stays.for_absent(range, |i| {
                // SAFETY: as above.
                let (before, spin_before, was) = unsafe { (motion.get(i), spin.get(i), rested.get(i)) };
                if before.w == 0.0 {
                    return;
                }
                let sleeps = sleep.contains(i);
                let now = lab[i].motion.truncate();
                let mut spin_now = lab[i].spin.truncate();
                let rims = [spin_before.truncate(), spin_now].map(|spin| spin * place[i].w);
                if sleeps && !world.is_fast(rims[0]) {
                    spin_now = Vec3::ZERO;
                }
                let (time, u) = if sleeps || is_in_contact(i) {
                    let time = if was > 0.0 { was } else { frame.h - clock[i] };
                    (time, now - frame.gravity * (frame.h - 0.5 * time))
                } else if was > 0.0 {
                    (0.0, now - frame.gravity * frame.h)
                } else {
                    // In flight for the whole substep: every bit stays the same.
                    return;
                };
                if !sleeps {
                    sleep.turn(i, rims, world.sleep_speed);
                }
                // SAFETY: as above.
                unsafe {
                    rested.set(i, time);
                    motion.set(i, u.extend(before.w));
                    spin.set(i, spin_now.extend(spin_before.w));
                }
                if sleeps && is_first && before.truncate() == Vec3::ZERO {
                    // At rest before and after: the terms below cancel, but for their rounding.
                    return;
                }
                let gravity = frame.gravity.as_dvec3();
                let begin = if was > 0.0 || !is_first {
                    (before.truncate() + frame.gravity * (frame.h - 0.5 * was)).as_dvec3()
                } else {
                    // The exact end velocity of a flight, without rounding.
                    before.truncate().as_dvec3() + gravity * f64::from(frame.h)
                };
                let ends = (begin, (u + frame.gravity * (frame.h - 0.5 * time)).as_dvec3());
                let spins = (spin_before.truncate(), spin_now);
                let way = (u - before.truncate()) * (frame.h - clock[i]);
                *loss += lost(before.w, place[i].w, ends, spins)
                    + gravity.dot(way.as_dvec3()) / f64::from(before.w);
            });
        });
        self.dissipated += self.losses.iter().sum::<f64>();
    }

    pub fn bytes(&self) -> usize {
        size_of::<Body>() * (self.lab.capacity() + self.buffer.capacity())
            + 4 * self.masks.capacity()
            + 32 * self.start.capacity()
            + self.in_contact.bytes()
            + self.lasting.bytes()
            + 4 * self.changes.capacity()
            + self.crew.bytes()
            + [
                &self.active_blocks,
                &self.around_blocks,
                &self.counted_blocks,
                &self.waking_blocks,
                &self.outside,
                &self.uncounted,
                &self.held,
                &self.unbalanced,
            ]
            .map(Bits::bytes)
            .iter()
            .sum::<usize>()
    }
}

// Sets `around` to the blocks of a set and all blocks next to them.
fn spread(core: &Core, set: &Bits, around: &mut Bits) {
    let (blocks, grid) = (&core.blocks, &core.domain.grid);
    let numbers = blocks.numbers();
    around.reset(numbers.count());
    let around = &*around;
    for_ranges(blocks.all.len(), BLOCKS_OF_TASK, |range| {
        for block in blocks.all[range].iter().filter(|block| set.contains(block.number as usize)) {
            let cell = core.state.cell[blocks.owners[block.owners.start] as usize].truncate();
            numbers.near(grid, cell, blocks::EDGE, |block| around.insert(block as usize));
        }
    });
}

// Sets `others` to the spheres that are in no block of a set.
fn leave_out(core: &Core, set: &Bits, others: &mut Bits) {
    let blocks = &core.blocks;
    others.fill(core.state.len());
    let others = &*others;
    for_ranges(blocks.all.len(), BLOCKS_OF_TASK, |range| {
        for block in blocks.all[range].iter().filter(|block| set.contains(block.number as usize)) {
            blocks.owners_of(block).for_each(|i| others.remove(i as usize));
        }
    });
}

// Velocity change by a contact constraint up to which iterations end.
fn settled_speed(frame: Frame) -> f32 {
    SETTLED * frame.gravity.length() * frame.h
}

// Velocity change by a contact constraint above which its block is solved again after the rounds.
pub fn unsettled_speed(frame: Frame) -> f32 {
    UNSETTLED * frame.gravity.length() * frame.h
}

// Moves spheres that begin to bounce to the place and time of their first bounce.
fn fly(core: &mut Core, frame: Frame) {
    for (i, left) in core.constraints.flights() {
        let i = i as usize;
        let time = frame.h - left - core.clock[i];
        if time > 0.0 && core.state.inverse_mass(i) > 0.0 {
            let path = core.state.velocity(i) * time;
            core.state.place[i] += path.extend(0.0);
            core.motion_margin[i] -= (path - frame.drift * time).length();
            core.clock[i] = frame.h - left;
        }
    }
}

// Kinetic energy lost between two velocities and two spins.
fn lost(inverse_mass: f32, radius: f32, ends: (DVec3, DVec3), spins: (Vec3, Vec3)) -> f64 {
    let inertia = 0.4 * f64::from(radius) * f64::from(radius);
    let spun = spins.0.as_dvec3().length_squared() - spins.1.as_dvec3().length_squared();
    0.5 / f64::from(inverse_mass) * (ends.0.length_squared() - ends.1.length_squared() + inertia * spun)
}

/// Updates a contact constraint after the rounds, to the later clock of its partners. Later batches do not repeat this: the velocities
/// of spheres with an earlier clock have not converged, and would place these spheres anywhere at that time.
fn follow(view: &View, constraint: &mut ContactConstraint) {
    let i = constraint.i as usize;
    let (gap, diameter, now) = if constraint.j & WALL != 0 {
        let wall = wall_of(constraint.j);
        let now = view.clock[i];
        match view.feature(wall) {
            // Without an impact, gap and normal are those of the start.
            Some(_) if now == 0.0 => return,
            Some(feature) => {
                // If the sphere has left the pipe, the constraint stays unchanged.
                let Some(touch) = view.touch_side(feature, &view.instant(i, now), side_of(constraint.j))
                else {
                    return;
                };
                if touch.is_shadowed {
                    // The sphere crosses an edge to a neighbouring face. The old face counts as extended, because the
                    // impulse acted along its normal.
                    return;
                }
                constraint.normal = touch.normal;
                constraint.impulse.tangent -=
                    constraint.normal * constraint.normal.dot(constraint.impulse.tangent);
                (touch.gap, 2.0 * view.state.radius(i), now)
            }
            None => (super::sweep::wall_gap(view, i, wall).0, 2.0 * view.state.radius(i), now),
        }
    } else {
        let j = constraint.j as usize;
        if view.clock[i] == 0.0 && view.clock[j] == 0.0 {
            // Without an impact, gap and normal are those of the start.
            return;
        }
        let (d, _, now) = view.in_lab(i, j, view.shift(constraint.image));
        let distance = d.length();
        if distance > 0.0 {
            constraint.normal = d / distance;
            constraint.impulse.tangent -=
                constraint.normal * constraint.normal.dot(constraint.impulse.tangent);
        }
        let diameter = view.state.radius(i) + view.state.radius(j);
        (distance - diameter, diameter, now)
    };
    if constraint.closing < 0.0 {
        return;
    }
    let left = (view.frame.h - now).max(SHORTEST * view.frame.h);
    constraint.closing = closing_speed(gap, diameter, left);
}
