//! The spheres, where they are found, and what each could meet: all that the stages of a substep read.

use std::{mem::swap, sync::atomic::AtomicU32};

use glam::{DVec3, Vec3};

use crate::{
    Contact, Error, Partner, System,
    cpu::{
        bin::bin,
        bits::Bits,
        blocks::Blocks,
        constraints::{ContactConstraint, ContactConstraints},
        event::View,
        fast::{DynamicCandidates, Reach},
        launch::launch,
        neighbors::{Candidate, Lists, neighbors},
        scan::scan,
        scatter::scatter,
        sleep::Sleep,
    },
    state::{
        columns::State,
        constants::{WALL, wall_of},
        frame::Frame,
        grid::Grid,
        statistics::SystemStatistics,
        units::Units,
        warm_start::{CachedImpulse, WarmStartCache},
    },
    step::contacts::{Ground, Other, sort},
    walls::world::World,
};

/// See the module.
pub struct Core {
    pub units: Units,
    pub world: World,
    pub grid: Grid,
    pub state: State,
    pub lists: Lists,
    pub dynamic_candidates: DynamicCandidates,
    pub clock: Vec<f32>,
    /// Path that each sphere may still take before its candidate list no longer covers it.
    pub motion_margin: Vec<f32>,
    pub support: Vec<u8>,
    pub starts: Vec<u32>,
    /// Contacts that rest, and the order in which they are solved.
    pub constraints: ContactConstraints,
    pub blocks: Blocks,
    pub sleep: Sleep,
    /// Spheres of pairs that collided too often in the substep.
    pub converted: Bits,
    /// For how long of the substep each sphere has been carried by rows.
    pub rested: Vec<f32>,
    pub reach: Reach,
    pub statistics: SystemStatistics,
    shifts: [Vec3; 32],
    /// The world without its spheres.
    system: System,
    contact_time: f64,
    back: State,
    keys: Vec<u32>,
    order: Vec<u32>,
    cursors: Vec<AtomicU32>,
    partial_sums: Vec<u32>,
    launched: Bits,
}

impl Core {
    /// Takes over spheres; `last_contact` gives the time of the last contact of an id, counted from now.
    pub fn new(system: &System, last_contact: impl Fn(u32) -> f32) -> Result<Self, Error> {
        let count = system.spheres.len();
        if count > Candidate::MAX_SPHERES {
            return Err(Error::Capacity(format!(
                "{count} spheres, but the cpu backend holds at most {}",
                Candidate::MAX_SPHERES
            )));
        }
        let units = Units::new(system);
        let statistics = SystemStatistics::new(system, &units);
        let lowest = system.spheres.iter().map(|s| s.position / units.length).reduce(DVec3::min);
        let grid =
            Grid::new(system, &units, &statistics, statistics.margin_most, lowest.unwrap_or(DVec3::ZERO));
        let contact_time = system.contact_time();
        let mut state = State::default();
        state.load(system, &units, &grid, last_contact);
        let mut core = Self {
            world: World::default(),
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
            reach: Reach { radius_max: statistics.radius_max as f32, motion_margin: 0.0 },
            shifts: grid.shifts(),
            system: System { spheres: vec![], ..system.clone() },
            contact_time,
            back: State::default(),
            keys: vec![0; count],
            order: vec![0; count],
            cursors: vec![],
            partial_sums: vec![],
            launched: Bits::default(),
            units,
            statistics,
            grid,
            state,
        };
        core.back.resize(count);
        core.launched.reset(count);
        core.converted.reset(count);
        core.lay_out();
        Ok(core)
    }

    /// Makes cells for another path budget. Positions are rounded once more.
    pub fn regrid(&mut self, motion_margin: f64) {
        let Self { system, units, statistics, .. } = self;
        self.grid = self
            .state
            .regrid(&self.grid, |lowest| Grid::new(system, units, statistics, motion_margin, lowest));
        self.lay_out();
    }

    /// What depends on the cells.
    fn lay_out(&mut self) {
        self.world = World::new(
            &self.system,
            &self.units,
            &self.grid,
            self.state.middle(&self.grid),
            self.contact_time / self.units.time,
            &self.statistics,
        );
        self.shifts = self.grid.shifts();
        self.cursors.resize_with(self.grid.buckets, AtomicU32::default);
        self.cursors.shrink_to_fit();
        self.starts.resize(self.grid.buckets + 1, 0);
        self.starts.shrink_to_fit();
        self.dynamic_candidates.reset(self.state.len(), self.grid.buckets);
    }

    /// Puts the walls where they are in the substep of length `h` (scaled) that begins at `time`.
    pub fn place_walls(&mut self, time: f64, h: f64) {
        self.world.place_walls(time, h, &self.units, &self.grid);
    }

    /// Stages 1 to 4, for paths up to `motion_margin` relative to the drift, which itself goes up to `drift` meanwhile.
    pub fn broad_phase(&mut self, motion_margin: f32, drift: f32, mut lap: impl FnMut(&str)) {
        debug_assert!(motion_margin <= self.grid.margin_limit, "paths longer than the cells cover");
        self.dynamic_candidates.clear();
        bin(&self.grid, &mut self.state, &mut self.keys, &self.cursors);
        lap("bin");
        scan(&self.cursors, &mut self.starts, &mut self.partial_sums);
        lap("scan");
        scatter(&self.state, &mut self.back, &self.keys, &self.cursors, &self.starts, &mut self.order);
        swap(&mut self.state, &mut self.back);
        lap("scatter");
        let order = std::mem::take(&mut self.order);
        self.order_contacts(&order);
        self.order = order;
        lap("rest");
        self.reach.motion_margin = motion_margin;
        neighbors(&self.grid, &self.world, &self.state, &self.starts, self.reach, drift, &mut self.lists);
        self.motion_margin.fill(motion_margin);
        lap("neighbors");
    }

    /// Contacts that rest follow the spheres into their new order; `order` says where each came from.
    pub fn order_contacts(&mut self, order: &[u32]) {
        if self.world.rests {
            self.constraints.follow(order);
            self.sleep.follow(order);
            let cell = |i: usize| self.state.cell[i].truncate();
            self.blocks.lay(&self.grid, &self.starts, cell, self.state.len());
        }
    }

    /// Who has been calm counts on at the end of a substep.
    pub fn advance_sleep_timers(&mut self, frame: Frame) {
        let mut sleep = std::mem::take(&mut self.sleep);
        sleep.advance_sleep_timers(&self.view(frame));
        self.sleep = sleep;
    }

    /// Contacts bear nothing, and nobody sleeps.
    pub fn forget_contacts(&mut self) {
        self.constraints = ContactConstraints::default();
        self.sleep = Sleep::new(self.state.len());
    }

    /// Back to the spheres as the last broad phase found them.
    pub fn step_back(&mut self) {
        swap(&mut self.state, &mut self.back);
    }

    /// Stage 5; `fast` becomes the list of the spheres that are fast from the start.
    pub fn launch(&mut self, frame: Frame, fast: &mut Vec<u32>) {
        self.dynamic_candidates.clear();
        launch(&self.state, &frame, &self.motion_margin, &mut self.clock, &self.launched);
        self.launched.list(fast);
        fast.iter().for_each(|&i| self.launched.remove(i as usize));
    }

    pub fn view(&self, frame: Frame) -> View<'_> {
        View {
            grid: &self.grid,
            world: &self.world,
            state: &self.state,
            lists: &self.lists,
            dynamic_candidates: &self.dynamic_candidates,
            shifts: &self.shifts,
            frame,
            clock: &self.clock,
            support: &self.support,
            constraints: &self.constraints,
            converted: &self.converted,
            rested: &self.rested,
            sleep: &self.sleep,
        }
    }

    /// The rows of the last substep that carry, in the user's units.
    pub fn contacts(&self) -> Vec<Contact> {
        let Self { units, grid, world, state, .. } = self;
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

    /// What all contacts hand on to the next substep.
    pub fn warm_start(&self) -> WarmStartCache {
        let Self { units, state, constraints, .. } = self;
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
        WarmStartCache { h, kept: (0..state.len()).flat_map(|i| of(i).map(kept)).collect() }
    }

    /// Goes on from such loads, as far as there are their spheres and planes.
    pub fn restore(&mut self, warm_start: &WarmStartCache) {
        if !self.world.rests {
            return;
        }
        let Self { units, state, world, .. } = self;
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
        known.sort_unstable_by_key(|&(i, j, _)| (i, j));
        self.constraints.restore(state.len(), &known, (warm_start.h / units.time) as f32);
    }

    /// Bytes of all buffers that grow with the number of spheres.
    pub fn bytes(&self) -> usize {
        let words = self.clock.capacity()
            + self.motion_margin.capacity()
            + self.starts.capacity()
            + self.keys.capacity()
            + self.order.capacity()
            + self.cursors.capacity()
            + self.partial_sums.capacity();
        (self.state.len() + self.back.len()) * State::BYTES
            + 4 * words
            + self.support.capacity()
            + self.launched.bytes()
            + self.lists.bytes()
            + self.dynamic_candidates.bytes()
            + self.constraints.bytes()
            + self.blocks.bytes()
            + self.sleep.bytes()
            + 4 * self.rested.capacity()
            + self.converted.bytes()
            + self.world.features.bytes()
    }
}
