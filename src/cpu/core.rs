//! The data of the CPU engine, which are columns (one per property of a sphere) and tables, and the stages that work on them.

use std::{collections::HashMap, mem::swap, sync::atomic::AtomicU32};

use glam::Vec3;
use rayon::prelude::*;

use crate::{
    Contact, Error, Partner, System,
    cpu::{
        advance,
        bin::{bin, stay},
        bits::{Bits, Pressed},
        blocks::Blocks,
        collide,
        compress::{self, Compress},
        constraints::{ContactConstraint, ContactConstraints},
        event::View,
        fast::{DynamicCandidates, Reach},
        launch::launch,
        neighbors::{Candidate, Kept, Lists, neighbors},
        order::Order,
        parallel::{self, Disjoint, TASK, fill, for_ranges},
        relax::{Relax, Relaxed},
        scan::scan,
        scatter::scatter,
        sleep::Sleep,
        sweep::from_wall,
    },
    state::{
        columns::{Columns, State},
        constants::{
            CONSTRAINT_GAP, DEEP, PUSH_PASSES, RELAX_FROM, RELAX_PATIENCE, RELAX_PUSHES, STILL, WALL, wall_of,
        },
        frame::Frame,
        warm_start::{CachedImpulse, WarmStartCache},
    },
    step::{
        contacts::{Ground, Other, sort},
        domain::Domain,
        shrinkage::PeriodicBox,
    },
    walls::{
        features::{Instant, WallFeature},
        world::{Wall, World},
    },
};

// A view of some fields of a core, while its other fields stay borrowable.
macro_rules! view {
    ($core:expr, $frame:expr, $columns:expr, $clock:expr, $support:expr, $constraints:expr, $sleep:expr) => {
        View {
            grid: &$core.domain.grid,
            world: &$core.domain.world,
            state: $columns,
            lists: &$core.lists,
            dynamic_candidates: &$core.dynamic_candidates,
            shifts: &$core.shifts,
            frame: $frame,
            clock: $clock,
            support: $support,
            constraints: $constraints,
            converted: &$core.converted,
            rested: &$core.rested,
            pressed: &$core.pressed,
            sleep: $sleep,
        }
    };
}

/// Up to this share of the spheres, one in `FEW_MOVED`, it is faster to list the candidates of those that have moved, and of all
/// that they could meet, than those of all spheres.
const FEW_MOVED: u64 = 8;

/// The columns and tables of the CPU engine.
pub struct Core {
    pub domain: Domain,
    pub state: State,
    pub lists: Lists,
    pub dynamic_candidates: DynamicCandidates,
    pub clock: Vec<f32>,
    /// Motion margin: path that each sphere may still travel before its candidate list no longer covers it.
    pub motion_margin: Vec<f32>,
    pub support: Vec<u8>,
    pub starts: Vec<u32>,
    /// Contact constraints and their solving order.
    pub constraints: ContactConstraints,
    pub blocks: Blocks,
    pub sleep: Sleep,
    /// Spheres of pairs that became resting contacts in the substep.
    pub converted: Bits,
    /// Time of the substep during which contact constraints support each sphere.
    pub rested: Vec<f32>,
    /// Pressed contacts of each sphere before the sweep; many of one that squeezes a much lighter sphere in the rounds.
    pub pressed: Pressed,
    /// Whether a sphere was stopped in the substep.
    pub is_stopped: bool,
    pub reach: Reach,
    shifts: [Vec3; 32],
    back: State,
    /// Empty constraints for the stage that finds constraints; no sleeping spheres for the stage that updates the timers.
    unconstrained: ContactConstraints,
    awake: Sleep,
    /// Bucket of each sphere before the scatter, and after it if `has_keys`.
    pub keys: Vec<u32>,
    has_keys: bool,
    /// Whether the last broad phase left all spheres in their cells, and whether the cells were those of the one before.
    keeps_order: bool,
    keeps_grid: bool,
    /// Whether `back` is the state before the last broad phase in the present order.
    has_back: bool,
    order: Order,
    pub cursors: Vec<AtomicU32>,
    partial_sums: Vec<u32>,
    launched: Bits,
    /// Spheres that have moved since the last broad phase, and spheres that need new candidate lists.
    moved: Vec<u32>,
    renewed: Bits,
}

impl Core {
    /// The core of a system. `last_contact` returns the time of the last contact of an id, relative to now.
    pub fn new(system: &System, last_contact: impl Fn(u32) -> f32) -> Result<Self, Error> {
        let count = system.spheres.len();
        if count > Candidate::MAX_SPHERES {
            return Err(Error::Capacity(format!(
                "{count} spheres, but the cpu backend holds at most {}",
                Candidate::MAX_SPHERES
            )));
        }
        let (domain, state) = Domain::new(system, last_contact);
        Ok(Self::with(domain, state))
    }

    /// The core of a domain and its spheres.
    pub fn with(domain: Domain, state: State) -> Self {
        let count = state.len();
        let mut core = Self {
            lists: Lists::default(),
            dynamic_candidates: DynamicCandidates::default(),
            clock: vec![0.0; count],
            motion_margin: vec![0.0; count],
            support: vec![0; count],
            starts: vec![],
            constraints: ContactConstraints::default(),
            blocks: Blocks::default(),
            sleep: Sleep::new(count),
            converted: Bits::default(),
            rested: vec![0.0; count],
            pressed: Pressed::default(),
            is_stopped: false,
            reach: Reach { radius_max: domain.statistics.radius_max as f32, motion_margin: 0.0 },
            shifts: domain.grid.shifts(),
            back: State::default(),
            unconstrained: ContactConstraints::default(),
            awake: Sleep::default(),
            keys: vec![0; count],
            has_keys: false,
            keeps_order: false,
            keeps_grid: false,
            has_back: false,
            order: Order::default(),
            cursors: vec![],
            partial_sums: vec![],
            launched: Bits::default(),
            moved: vec![],
            renewed: Bits::default(),
            domain,
            state,
        };
        core.back.resize(count);
        core.order.old_of_new.resize(count, 0);
        core.launched.reset(count);
        core.converted.reset(count);
        core.pressed.reset(count);
        core.lay_out();
        core
    }

    /// Rebuilds the cells for another motion margin. This rounds the positions once more.
    pub fn regrid(&mut self, motion_margin: f64) {
        self.domain.regrid(&mut self.state, motion_margin);
        self.lay_out();
    }

    /// Exchanges the box for another one, and moves the spheres with it.
    pub fn shrink(&mut self, other: &mut PeriodicBox) {
        self.swap_box(other);
        let grid = &self.domain.grid;
        compress::shrink(grid, grid.remap_from(&other.grid), &mut self.state);
    }

    /// Exchanges the box for another one. The spheres keep their cells and offsets.
    pub fn swap_box(&mut self, other: &mut PeriodicBox) {
        self.domain.swap_box(other);
        if self.domain.grid.buckets == other.grid.buckets {
            (self.shifts, self.has_keys) = (self.domain.grid.shifts(), false);
        } else {
            self.lay_out();
        }
    }

    /// Pushes apart the spheres that overlap in the smaller box. Returns whether that succeeded within the motion margins.
    pub fn push_apart(&mut self, compress: &mut Compress, frame: Frame) -> bool {
        let reach = self.reach.motion_margin;
        compress.begin(&self.view(frame));
        let mut passes = 0;
        let is_apart = loop {
            if !compress.find(&self.view(frame)) {
                break true;
            }
            passes += 1;
            if passes == PUSH_PASSES || !compress.apply(reach) {
                break false;
            }
            compress.follow(&self.view(frame));
        };
        for (i, moved) in compress.moved() {
            self.sleep.disturb(i, &self.lists);
            self.state.place[i] += moved.extend(0.0);
            self.motion_margin[i] -= moved.length();
        }
        is_apart
    }

    /// Updates everything that depends on the cells.
    fn lay_out(&mut self) {
        (self.shifts, self.has_keys) = (self.domain.grid.shifts(), false);
        self.cursors.resize_with(self.domain.grid.buckets, AtomicU32::default);
        self.cursors.shrink_to_fit();
        self.starts.resize(self.domain.grid.buckets + 1, 0);
        self.starts.shrink_to_fit();
        self.dynamic_candidates.reset(self.state.len(), self.domain.grid.buckets);
    }

    /// Lets the next broad phase find the cells and lists of all spheres.
    #[cfg(any(test, feature = "gpu"))]
    pub fn forget_cells(&mut self) {
        self.has_keys = false;
    }

    /// Finds the cells of the spheres. While any sphere sleeps, those outside [`Sleep::moved`] are exactly where the last broad phase
    /// found them. If no other one has left its cell, the order of the spheres and all tables of the cells stay.
    pub fn bin(&mut self) {
        let Self { domain: Domain { grid, .. }, state, keys, cursors, sleep, .. } = self;
        self.dynamic_candidates.clear();
        self.keeps_grid = self.has_keys;
        self.keeps_order = self.has_keys && stay(grid, state, keys, sleep.moved());
        if !self.keeps_order {
            bin(grid, state, keys, cursors);
        }
    }

    pub fn scan(&mut self) {
        if !self.keeps_order {
            scan(&self.cursors, &mut self.starts, &mut self.partial_sums);
        }
    }

    pub fn scatter(&mut self) {
        self.has_keys = self.sleep.count() > 0;
        if self.keeps_order {
            return self.keep_state();
        }
        let Self { state, back, keys, cursors, starts, order, .. } = self;
        scatter(state, back, keys, cursors, starts, &mut order.old_of_new);
        swap(state, back);
        self.has_back = false;
        if self.has_keys {
            let keys = Disjoint::new(&mut self.keys);
            for_ranges(self.cursors.len(), 16 * TASK, |range| {
                for k in range {
                    // SAFETY: buckets do not share places.
                    (self.starts[k]..self.starts[k + 1])
                        .for_each(|i| unsafe { keys.set(i as usize, k as u32) });
                }
            });
        }
    }

    // Copies the state for `step_back`, in the present order. Where the last copy is in this order too, a sphere that has not moved since is
    // where it was, in its cell; but it may have come to rest.
    fn keep_state(&mut self) {
        if !std::mem::replace(&mut self.has_back, true) {
            return self.back.copy_from(&self.state);
        }
        let (state, moved) = (&self.state, self.sleep.moved());
        let State { place, motion, spin, .. } = &mut self.back;
        let columns = (place.par_chunks_mut(TASK), motion.par_chunks_mut(TASK), spin.par_chunks_mut(TASK));
        columns.into_par_iter().enumerate().for_each(|(task, (place, motion, spin))| {
            let first = task * TASK;
            let all = first..first + place.len();
            motion.copy_from_slice(&state.motion[all.clone()]);
            spin.copy_from_slice(&state.spin[all.clone()]);
            moved.for_members(all, |i| place[i - first] = state.place[i]);
        });
    }

    /// Reorders the resting contacts after `scatter` has reordered their spheres. Returns the change for the columns that last for
    /// quiet spheres, if there is any.
    #[must_use]
    pub fn order_contacts(&mut self) -> Option<&Order> {
        if self.keeps_order {
            return None;
        }
        let keeps_quiet = self.keeps_quiet();
        let Self { constraints, sleep, pressed, blocks, order, state, domain, starts, .. } = self;
        order.complete();
        let order = &*order;
        parallel::join(
            || blocks.order(&domain.grid, starts, |i| state.cell[i].truncate(), order),
            || {
                constraints.follow(order);
                sleep.follow(order);
                if keeps_quiet {
                    pressed.follow(order);
                }
            },
        );
        keeps_quiet.then_some(order)
    }

    // Whether the quiet spheres of before the broad phase are still known.
    fn keeps_quiet(&self) -> bool {
        self.keeps_grid && self.sleep.count() > 0
    }

    /// Lists candidates for paths up to `motion_margin` relative to the drift; `drift_reach` bounds the path of the
    /// drift itself.
    pub fn neighbors(&mut self, motion_margin: f32, drift_reach: f32) {
        let lasts = self.keeps_quiet();
        let Self { domain: Domain { grid, world, .. }, state, starts, reach, lists, sleep, renewed, .. } =
            self;
        debug_assert!(motion_margin <= grid.margin_limit, "paths longer than the cells cover");
        reach.motion_margin = motion_margin;
        let are_few = sleep.moved().count() <= state.len() as u64 / FEW_MOVED;
        let stay = lasts && are_few && world.features.movers.is_empty();
        let order = (!self.keeps_order).then_some(&self.order);
        renewed.reset(state.len());
        let renewed = &*renewed;
        if stay {
            sleep.moved().list(&mut self.moved);
            if let Some(order) = order {
                for_ranges(self.moved.len(), TASK / 4, |range| {
                    let before =
                        self.moved[range].iter().flat_map(|&i| lists.of(order.old_index(i as usize)));
                    before.for_each(|candidate| {
                        renewed.insert(order.new_index(candidate.index() as u32) as usize)
                    });
                });
            }
            for_ranges(self.moved.len(), TASK / 4, |range| {
                let mut last = None;
                for &i in &self.moved[range] {
                    let cell = state.cell[i as usize].truncate();
                    if last.replace(cell) != Some(cell) {
                        grid.around(starts, cell, |spheres| spheres.for_each(|j| renewed.insert(j as usize)));
                    }
                }
            });
        }
        let kept = stay.then_some(Kept { renewed, order });
        let stay = neighbors(grid, world, state, starts, (*reach, drift_reach), kept, lists);
        sleep.settle(lasts, stay.then_some(renewed), lists);
        fill(&mut self.motion_margin, motion_margin);
    }

    pub fn advance(&mut self, frame: Frame) {
        let Self { domain: Domain { grid, world, .. }, state, clock, rested, motion_margin, .. } = self;
        let (sleep, support) = (&self.sleep, &mut self.support);
        let State { place, cell, motion, spin, .. } = state;
        let inputs = advance::Inputs { frame, grid, walls: &world.walls, sleep, clock, cell, rested };
        advance::advance(inputs, advance::Outputs { place, motion, spin, motion_margin, support });
    }

    /// Pushes overlapping spheres apart. `work` is the work that earlier pushes did against gravity.
    pub fn relax(&mut self, relax: &mut Relax, frame: Frame, work: f64) -> Relaxed {
        let mut relaxed = Relaxed { work, ..Relaxed::default() };
        let most = if self.domain.world.rests { RELAX_PUSHES } else { 1 };
        // Deepest overlap before each push.
        let mut before = [0.0; RELAX_PUSHES as usize];
        for push in 0..most as usize {
            if push == 0 || relaxed.pushed {
                relaxed.deepest = relax.deepest(&self.view(frame));
            }
            before[push] = relaxed.deepest;
            let former = push.checked_sub(RELAX_PATIENCE as usize).map(|push| before[push]);
            relaxed.pushed = relaxed.deepest > if push == 0 { RELAX_FROM } else { DEEP }
                && former.is_none_or(|former| relaxed.deepest != former);
            if relaxed.pushed {
                relaxed.work = self.push(relax, frame, relaxed.work);
            }
        }
        relaxed
    }

    // Moves overlapping spheres once. Returns `work` plus the work done against gravity.
    fn push(&mut self, relax: &mut Relax, frame: Frame, mut work: f64) -> f64 {
        let pushes = relax.pushes(&self.view(frame));
        let gravity = self.domain.world.gravity.as_dvec3();
        for (i, push) in pushes {
            if push != Vec3::ZERO {
                self.sleep.disturb(i, &self.lists);
                self.state.place[i] += push.extend(0.0);
                self.motion_margin[i] -= push.length();
                work -= gravity.dot(push.as_dvec3()) * (1.0 / f64::from(self.state.inverse_mass(i)));
            }
        }
        work
    }

    /// Advances the sleep timers at the end of a substep.
    pub fn advance_sleep_timers(&mut self, frame: Frame) {
        let columns = self.state.columns();
        let view = view!(self, frame, columns, &self.clock, &self.support, &self.constraints, &self.awake);
        self.sleep.advance_timers(&view);
        self.constraints.end_bounces();
    }

    /// Wakes the spheres that touch a wall which appears or disappears in the step. The others wake as they do beside any sphere that is
    /// awake. `path` is the reach of new lists: kept lists may reach farther, but must not decide who wakes.
    pub fn wake_near_changing_walls(&mut self, path: f32) {
        let Self { sleep, lists, domain, state, .. } = self;
        let (World { walls, features, .. }, grid) = (&domain.world, &domain.grid);
        let is_near = |i: usize| {
            let (cell, offset, radius) = (state.cell[i].truncate(), state.offset(i), state.radius(i));
            let most = (2.0 * CONSTRAINT_GAP * radius).min(path);
            let at = Instant { cell, offset, velocity: Vec3::ZERO, radius, t: 0.0 };
            let touches_plane =
                |wall: &Wall| wall.normal.dot(from_wall(grid, state.columns(), wall, i)) - radius <= most;
            let touches_feature = |feature: &WallFeature| {
                let sight = features.sight(grid, feature, &at, Vec3::ZERO);
                features.near(feature, sight.x).distance <= radius + most
            };
            let is_changing = |wall: u32| features.changing[wall as usize];
            walls.iter().any(|wall| is_changing(wall.number) && touches_plane(wall))
                || lists.features(i).iter().any(|&k| {
                    let feature = &features.all[k as usize];
                    is_changing(feature.wall) && touches_feature(feature)
                })
        };
        let near: Vec<_> = (0..state.len()).into_par_iter().filter(|&i| is_near(i)).collect();
        near.into_iter().for_each(|i| sleep.rouse(i, lists));
    }

    /// Clears all contact impulses and wakes all spheres.
    pub fn forget_contacts(&mut self) {
        self.constraints = ContactConstraints::default();
        self.sleep = Sleep::new(self.state.len());
    }

    /// Restores the spheres as they were before the last broad phase.
    pub fn step_back(&mut self) {
        swap(&mut self.state, &mut self.back);
        self.has_keys = false;
    }

    /// The spheres as they were before the last broad phase, and whether they are in the present order.
    #[cfg(test)]
    pub fn before_broad_phase(&self) -> (&State, bool) {
        (&self.back, self.has_back)
    }

    /// Resets the clocks; `fast` receives the spheres that are fast at the start of the substep.
    pub fn launch(&mut self, frame: Frame, fast: &mut Vec<u32>) {
        self.is_stopped = false;
        self.dynamic_candidates.clear();
        fill(&mut self.clock, 0.0);
        launch(&self.state, &self.sleep, &frame, &self.motion_margin, &self.launched);
        self.launched.list(fast);
        fast.iter().for_each(|&i| self.launched.remove(i as usize));
    }

    /// A view of all columns and tables that stages read.
    pub fn view(&self, frame: Frame) -> View<'_> {
        let columns = self.state.columns();
        view!(self, frame, columns, &self.clock, &self.support, &self.constraints, &self.sleep)
    }

    /// Inputs and outputs of the search for contact constraints. The view has no contact constraints.
    pub fn split_constraints(&mut self, frame: Frame) -> (View<'_>, &mut ContactConstraints, &Blocks) {
        let columns = self.state.columns();
        let view = view!(self, frame, columns, &self.clock, &self.support, &self.unconstrained, &self.sleep);
        (view, &mut self.constraints, &self.blocks)
    }

    /// Inputs and outputs of `collide`. The view's columns that `collide` writes are empty.
    pub fn split_collide(&mut self, frame: Frame) -> (View<'_>, collide::Outputs<'_>) {
        let State { place, cell, motion, spin, id } = &mut self.state;
        let columns = Columns { place: &[], cell, motion: &[], spin: &[], id };
        let view = view!(self, frame, columns, &[], &[], &self.constraints, &self.sleep);
        let outputs = collide::Outputs {
            place: Disjoint::new(place),
            motion: Disjoint::new(motion),
            spin: Disjoint::new(spin),
            clock: Disjoint::new(&mut self.clock),
            motion_margin: Disjoint::new(&mut self.motion_margin),
            support: Disjoint::new(&mut self.support),
        };
        (view, outputs)
    }

    /// Contact constraints of the last substep with an impulse, in the user's units.
    pub fn contacts(&self) -> Vec<Contact> {
        let Self { domain: Domain { units, grid, world, .. }, state, .. } = self;
        let ground = Ground { units, grid, world, state };
        let other = |j: u32| match j & WALL {
            0 => Other::Sphere(j as usize),
            _ => Other::Wall(j),
        };
        let in_contact = self.constraints.in_contact();
        let mut contacts: Vec<_> = in_contact
            .map(|(constraint, h)| {
                ground.contact(constraint.i as usize, other(constraint.j), constraint.impulse, h)
            })
            .collect();
        sort(&mut contacts);
        contacts
    }

    /// Impulses of all contacts for the warm start of the next substep.
    pub fn warm_start(&self) -> WarmStartCache {
        let mut warm_start = self.checkpoint();
        // A fixed sphere may be free in another system.
        warm_start.sleep_timers.retain(|&(_, ticks)| ticks < STILL);
        warm_start
    }

    /// The same with all sleep timers that are not 0.
    pub fn checkpoint(&self) -> WarmStartCache {
        let Self { domain: Domain { units, .. }, state, constraints, sleep, .. } = self;
        let partner = |j: u32| match j & WALL {
            0 => Partner::Sphere(state.id[j as usize]),
            _ => Partner::Wall(j & !WALL),
        };
        let of = |i: usize| constraints.handed_on(i).0.iter();
        let kept = |constraint: &ContactConstraint| {
            CachedImpulse::new(
                state.id[constraint.i as usize],
                partner(constraint.j),
                constraint.impulse,
                units,
            )
        };
        let h = f64::from(constraints.handed_on(0).1) * units.time;
        let timers = state.id.iter().copied().zip(sleep.sleep_timer.iter().copied());
        WarmStartCache {
            h,
            kept: (0..state.len()).flat_map(|i| of(i).map(kept)).collect(),
            sleep_timers: timers.filter(|&(_, ticks)| ticks > 0).collect(),
        }
    }

    /// Warm-starts from cached impulses whose spheres and walls exist.
    pub fn restore(&mut self, warm_start: &WarmStartCache) {
        if !self.domain.world.rests {
            return;
        }
        let Self { domain: Domain { units, world, .. }, state, .. } = self;
        let mut places: Vec<(u32, u32)> = state.id.iter().copied().zip(0..).collect();
        places.sort_unstable();
        let place = |id| places.binary_search_by_key(&id, |p| p.0).ok().map(|k| places[k].1);
        let known = |kept: &CachedImpulse| {
            let j = match kept.partner {
                Partner::Sphere(id) => place(id)?,
                Partner::Wall(j) => {
                    (wall_of(j) < world.walls.len() + world.features.all.len()).then_some(WALL | j)?
                }
            };
            Some((place(kept.sphere)?, j, kept.load(units)?))
        };
        let mut known: Vec<_> = warm_start.kept.iter().filter_map(known).collect();
        // Several images of a partner keep their order.
        known.sort_by_key(|&(i, ..)| i);
        self.constraints.restore(state.len(), &known, (warm_start.h / units.time) as f32);
        for &(id, ticks) in &warm_start.sleep_timers {
            if let Some(i) = place(id) {
                self.sleep.sleep_timer[i as usize] = ticks;
            }
        }
    }

    /// Continues from the contacts and the timers of another core with the same spheres, `asleep` of which slept in the last substep.
    pub fn resume(&mut self, warm_start: &WarmStartCache, asleep: u64) {
        self.restore(warm_start);
        let Self { state, sleep, .. } = self;
        let timers: HashMap<u32, u32> = warm_start.sleep_timers.iter().copied().collect();
        let places = state.id.iter().enumerate();
        sleep.resume(places.filter_map(|(i, id)| Some((i, *timers.get(id)?))), asleep);
    }

    /// Bytes of all buffers that grow with the number of spheres.
    pub fn bytes(&self) -> usize {
        let words = self.clock.capacity()
            + self.motion_margin.capacity()
            + self.starts.capacity()
            + self.keys.capacity()
            + self.cursors.capacity()
            + self.partial_sums.capacity();
        (self.state.len() + self.back.len()) * State::BYTES
            + 4 * words
            + self.support.capacity()
            + self.order.bytes()
            + self.launched.bytes()
            + self.lists.bytes()
            + self.dynamic_candidates.bytes()
            + self.constraints.bytes()
            + self.blocks.bytes()
            + self.sleep.bytes()
            + 4 * (self.rested.capacity() + self.moved.capacity())
            + self.renewed.bytes()
            + self.converted.bytes()
            + self.pressed.bytes()
            + self.domain.world.features.bytes()
    }
}

#[cfg(test)]
pub mod tests {
    use glam::{DVec3, UVec3};

    use crate::{
        Bounds, Materials, Side, Sphere, Surface, System, Wall, WallMotion, WallShape,
        cpu::Stepper,
        state::{columns::NEVER, constants::WALL},
        system::wall::Oscillation,
    };

    // Three layers at rest, on which two spheres land that were thrown high.
    pub fn layers(sides: [Side; 3]) -> System {
        let mut system = System {
            dt: 0.02,
            gravity: DVec3::NEG_Z,
            materials: Materials::empty(),
            bounds: Bounds { max: DVec3::new(24.0, 24.0, 90.0), sides, ..Bounds::default() },
            ..System::default()
        };
        let surface = Surface { restitution: 0.3, friction: 0.5, ..Surface::default() };
        system.materials.add("stone", surface, 1.0);
        let floor = WallShape::Plane { point: DVec3::ZERO, normal: DVec3::Z };
        system.walls.push(Wall::new(floor, 0, "floor"));
        for k in 0..1200_u32 {
            let position = UVec3::new(k % 20, k / 20 % 20, k / 400).as_dvec3() * 1.001 + 2.5;
            let position = position - 2.0 * DVec3::Z;
            // Ids in no order.
            let sphere = Sphere { id: k * 389 % 1200, position, ..Sphere::default() };
            system.spheres.push(Sphere { fixed: k % 100 == 7, ..sphere });
        }
        let thrown = [
            (DVec3::new(3.0, 4.0, 5.0), DVec3::new(0.5, 0.7, 9.0)),
            (DVec3::new(20.0, 9.0, 5.0), DVec3::new(-0.6, 0.1, 11.0)),
        ];
        system.spheres.extend((1200..).zip(thrown).map(|(id, (position, velocity))| Sphere {
            id,
            position,
            velocity,
            radius: 0.6,
            ..Sphere::default()
        }));
        system
    }

    // Constraints, lists and sets of the spheres that sleep outlast a broad phase that changes the order of the spheres.
    #[test]
    fn what_outlasts_a_change_of_order_has_the_bits_of_what_is_found_anew() {
        // In the last case a lid moves high above, so that every broad phase lists all candidates anew.
        let cases = [
            ([Side::Wall, Side::Periodic, Side::Wall], false),
            ([Side::Open; 3], false),
            ([Side::Open; 3], true),
        ];
        for (sides, has_lid) in cases {
            let mut system = layers(sides);
            if has_lid {
                let plane = WallShape::Plane { point: DVec3::Z * 80.0, normal: DVec3::NEG_Z };
                let mut lid = Wall::new(plane, 0, "lid");
                let swing = Oscillation { amplitude: DVec3::Z, frequency: 0.1, phase: 0.0 };
                lid.motion = WallMotion { oscillation: Some(swing), ..WallMotion::default() };
                system.walls.push(lid);
            }
            let mut kept = Stepper::new(&system, |_| NEVER, 0.0).unwrap();
            let mut anew = Stepper::new(&system, |_| NEVER, 0.0).unwrap();
            let (mut changes, mut most_asleep, mut woken) = (0, 0, 0);
            for k in 0..1500 {
                let time = f64::from(k) * system.dt;
                anew.engine.core.forget_cells();
                for stepper in [&mut kept, &mut anew] {
                    stepper.step(time, None, false).unwrap();
                }
                let [core, other] = [&kept, &anew].map(|stepper| &stepper.engine.core);
                let asleep = core.sleep.count();
                changes += u32::from(core.keeps_grid && !core.keeps_order && asleep > 0);
                most_asleep = most_asleep.max(asleep);
                woken += u32::from(asleep > 0 && asleep + 20 < most_asleep);
                for i in 0..core.state.len() {
                    let columns = |core: &super::Core| {
                        let state = &core.state;
                        [state.place[i], state.motion[i], state.spin[i]]
                            .map(|v| v.to_array().map(f32::to_bits))
                    };
                    assert_eq!(
                        (core.state.id[i], columns(core)),
                        (other.state.id[i], columns(other)),
                        "step {k}"
                    );
                    assert_eq!(core.lists.of(i), other.lists.of(i), "step {k}, sphere {i}");
                    assert_eq!(core.lists.own(i), other.lists.own(i), "step {k}, sphere {i}");
                    assert_eq!(core.sleep.sleep_timer[i], other.sleep.sleep_timer[i], "step {k}, sphere {i}");
                }
                assert_eq!(core.contacts(), other.contacts(), "step {k}");
                // Tasks that stay keep the sums of their walls.
                assert_eq!(kept.engine.walls.sums, anew.engine.walls.sums, "step {k}");
            }
            let all = system.spheres.iter().filter(|sphere| !sphere.fixed).count() as u64;
            println!(
                "{sides:?}, lid {has_lid}: {changes} changes, {most_asleep} of {all} asleep, woken in {woken} steps"
            );
            assert!(changes > 100 && most_asleep > all - 10 && woken > 10, "{changes} {most_asleep} {woken}");
        }
    }

    // Pairs of ids of all constraints that warm-start the next substep, each with the bits of its impulse.
    fn constrained(core: &super::Core) -> Vec<(u32, u32, u32)> {
        let id = |j: u32| if j & WALL == 0 { core.state.id[j as usize] } else { j };
        let of = |i: usize| core.constraints.handed_on(i).0.iter().map(move |c| (i, c));
        let mut all: Vec<_> = (0..core.state.len())
            .flat_map(of)
            .map(|(i, constraint)| {
                assert_eq!(constraint.i as usize, i);
                (core.state.id[i], id(constraint.j), constraint.impulse.normal.to_bits())
            })
            .collect();
        all.sort_unstable();
        all
    }

    // One sphere that goes to the last cell shifts the indices of the spheres behind it.
    #[test]
    fn constraints_follow_their_spheres() {
        let mut system = layers([Side::Wall; 3]);
        system.spheres.truncate(1200);
        for k in 1200..5200 {
            let place =
                UVec3::new(k % 20, k / 20 % 20, k / 400).as_dvec3() * 1.001 + DVec3::new(2.5, 2.5, 0.5);
            system.spheres.push(Sphere { id: k, position: place, ..Sphere::default() });
        }
        let mut stepper = Stepper::new(&system, |_| NEVER, 0.0).unwrap();
        for k in 0..3 {
            stepper.step(f64::from(k) * system.dt, None, false).unwrap();
        }
        let core = &mut stepper.engine.core;
        let (mut few, mut many) = (0, 0);
        for (first, k) in (0..5200).step_by(200).zip(0..) {
            let before = constrained(core);
            assert!(before.len() > 5000, "{}", before.len());
            // Buckets are in no order of space, so cells of several places are tried.
            let cell = (core.domain.grid.count - 1) * (k % 3) / 2;
            core.state.cell[first] = cell.extend(core.state.cell[first].w);
            core.bin();
            core.scan();
            core.scatter();
            let _ = core.order_contacts();
            let moved = core.order.range().len();
            few += u32::from((1..=4096).contains(&moved));
            many += u32::from(moved > 4096);
            assert_eq!(constrained(core), before, "sphere {first}");
        }
        assert!(few > 0 && many > 0, "{few} small changes, {many} large ones");
    }
}
