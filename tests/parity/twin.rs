//! The twin, stage by stage.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use glam::{DVec3, IVec3};

use super::{
    super::layout,
    starts::{Start, dice},
};
use crate::cpu::{
    advance::{self, advance},
    audit::Audit,
    bin::bin,
    collide::Recorder,
    core::Core,
    event::View,
    launch,
    neighbors::neighbors,
    relax::{self, Relax},
    rounds::Rounds,
    scan::scan,
    scatter::scatter,
    sweep,
};
use crate::model::{frame::Frame, state::State, sums::Sums, units::Units};

/// See the module.
pub struct Twin {
    pub core: Core,
    pub rounds: Rounds,
    pub relax: Relax,
    pub keys: Vec<u32>,
    pub cursors: Vec<AtomicU32>,
    pub order: Vec<u32>,
    pub has_starts: bool,
    pub has_lists: bool,
    /// Path budget of the broad phase.
    pub budget: f32,
    pub drift: DVec3,
    drift_reach: f32,
    frames: Vec<Frame>,
    /// The frame of the substep that is looked at.
    pub frame: Frame,
    units: Units,
    budget_asked: f64,
}

impl Twin {
    pub fn new(start: &Start) -> Self {
        let mut core = Core::new(&start.system, |id| start.last_contact(id)).unwrap();
        let mut audit = Audit::default();
        let still = audit.run(&core.grid, &core.state, DVec3::ZERO);
        let sums = audit.run(&core.grid, &core.state, still.drift);
        let speed = if start.for_the_bulk { sums.crowd_speed } else { sums.high_speed };
        let path = 1.02 * f64::from(speed) * start.system.dt / core.units.time;
        let budget_asked = path.clamp(core.census.budget_least, core.census.budget_most);
        core.regrid(budget_asked);
        let budget = core.grid.budget_limit.min(budget_asked as f32);
        unsettle(&mut core);
        let n = core.state.len();
        let cursors = (0..core.grid.buckets).map(|_| AtomicU32::new(0)).collect();
        Self {
            rounds: Rounds::new(n),
            relax: Relax::default(),
            keys: vec![0; n],
            cursors,
            order: vec![0; n],
            has_starts: false,
            has_lists: false,
            budget,
            drift: sums.drift,
            drift_reach: 0.0,
            frames: vec![],
            frame: Frame {
                h: 0.0,
                gravity: core.world.gravity,
                drift: glam::Vec3::ZERO,
                drifted: glam::Vec3::ZERO,
            },
            units: core.units,
            budget_asked,
            core,
        }
    }

    /// What the cells were made for.
    pub fn made_for(&self) -> f64 {
        self.budget_asked
    }

    /// Takes over the frames of the device.
    pub fn frames(&mut self, frames: &[layout::Frame]) {
        let frame =
            |f: &layout::Frame| Frame { h: f.h, gravity: f.gravity, drift: f.drift, drifted: f.drifted };
        // The last one is that of the audit.
        self.frames = frames[..frames.len() - 1].iter().map(frame).collect();
        self.frame = self.frames[0];
        self.drift_reach = frames[0].drift_reach;
    }

    pub fn bin(&mut self) {
        bin(&self.core.grid, &mut self.core.state, &mut self.keys, &self.cursors);
    }

    /// How many spheres each bucket holds, or after `scan` where its spheres begin.
    pub fn counts(&self) -> Vec<u32> {
        self.cursors.iter().map(|n| n.load(Relaxed)).collect()
    }

    pub fn scan(&mut self) {
        scan(&self.cursors, &mut self.core.starts, &mut vec![]);
        self.has_starts = true;
    }

    pub fn scatter(&mut self) {
        let mut target = State::default();
        let Self { core, keys, cursors, order, .. } = self;
        target.resize(core.state.len());
        scatter(&core.state, &mut target, keys, cursors, &core.starts, order);
        core.state = target;
        core.budget.fill(self.budget);
    }

    pub fn neighbors(&mut self) {
        let core = &mut self.core;
        core.reach.budget = self.budget;
        let Core { grid, world, state, starts, reach, lists, .. } = core;
        neighbors(grid, world, state, starts, *reach, self.drift_reach, lists);
        self.has_lists = true;
    }

    pub fn broad_phase(&mut self) {
        self.bin();
        self.scan();
        self.scatter();
        self.neighbors();
    }

    /// Up to the substep that is looked at.
    pub fn reach_substep(&mut self) {
        self.broad_phase();
        for k in 1..self.frames.len() {
            self.launch();
            self.sweep();
            self.finish_rounds();
            self.advance();
            self.relax();
            self.frame = self.frames[k];
        }
    }

    pub fn launch(&mut self) {
        self.rounds.begin();
        let Self { core, rounds, frame, .. } = self;
        core.launch(*frame, &mut rounds.fast);
        rounds.walk_fast(core, *frame).unwrap();
    }

    /// Only who is fast, without the walks.
    pub fn fast(&mut self) -> Vec<u32> {
        let Self { core, frame, .. } = self;
        let mut bits = crate::cpu::bits::Bits::default();
        bits.reset(core.state.len());
        launch::launch(&core.state, frame, &core.budget, &mut core.clock, &bits);
        let mut list = vec![];
        bits.list(&mut list);
        list
    }

    pub fn view(&self) -> View<'_> {
        self.core.view(self.frame)
    }

    pub fn sweep(&mut self) {
        let view = self.core.view(self.frame);
        for i in 0..view.state.len() {
            let event = sweep::sweep(&view, i);
            if event.is_some() {
                self.rounds.pending.insert(i);
            }
            self.rounds.events[i] = event;
        }
        self.rounds.pending.list(&mut self.rounds.pending_list);
    }

    pub fn select(&mut self) {
        self.rounds.round += 1;
        self.rounds.select(&self.core, self.frame);
    }

    /// Units of the impacts that `collide` puts down.
    pub fn units(&self) -> Units {
        self.units
    }

    pub fn collide(&mut self) {
        let units = self.units;
        let recorder = Recorder { units: &units, start: 0.0, on: true };
        let Self { core, rounds, frame, .. } = self;
        rounds.collide(core, *frame, recorder);
        for k in 0..rounds.to_freeze.len() {
            let i = rounds.to_freeze[k] as usize;
            let clock = core.clock[i];
            rounds.freeze(core, *frame, i, clock);
        }
        rounds.walk_fast(core, *frame).unwrap();
    }

    pub fn sweep_again(&mut self) {
        let Self { core, rounds, frame, .. } = self;
        rounds.sweep_again(core, *frame);
        rounds.pending.list(&mut rounds.pending_list);
    }

    pub fn finish_rounds(&mut self) {
        while !self.rounds.pending_list.is_empty() {
            assert!(self.rounds.round < 5000, "the rounds do not end");
            self.select();
            self.collide();
            self.sweep_again();
        }
    }

    pub fn advance(&mut self) {
        let core = &mut self.core;
        let [mut place, mut motion, mut spin] =
            [&mut core.state.place, &mut core.state.motion, &mut core.state.spin].map(std::mem::take);
        let (mut budget, mut support) = (std::mem::take(&mut core.budget), core.support.clone());
        let bodies = advance::Bodies {
            place: &mut place,
            motion: &mut motion,
            spin: &mut spin,
            budget: &mut budget,
            support: &mut support,
        };
        advance(&core.view(self.frame), bodies);
        (core.state.place, core.state.motion, core.state.spin) = (place, motion, spin);
        (core.budget, core.support) = (budget, support);
        self.rounds.thaw(core);
    }

    /// Deepest overlap before and after, and the work against gravity.
    pub fn relax(&mut self) -> (f32, f32, f64) {
        let before = self.relax.deepest(&self.core.view(self.frame));
        if !relax::needed(before) {
            return (before, before, 0.0);
        }
        let pushes = self.relax.pushes(&self.core.view(self.frame)).to_vec();
        let gravity = self.core.world.gravity.as_dvec3();
        let mut work = 0.0;
        for (i, push) in pushes.into_iter().enumerate().filter(|(_, push)| *push != glam::Vec3::ZERO) {
            self.core.state.place[i] += push.extend(0.0);
            self.core.budget[i] -= push.length();
            work -= gravity.dot(push.as_dvec3()) / f64::from(self.core.state.inverse_mass(i));
        }
        (before, self.relax.deepest(&self.core.view(self.frame)), work)
    }

    pub fn audit(&self) -> Sums {
        Audit::default().run(&self.core.grid, &self.core.state, self.drift)
    }
}

// Spheres in no order, and many of them counted from a cell next to their own: the same places.
fn unsettle(core: &mut Core) {
    let mut draw = dice(core.state.len() as u64);
    let mut pick = |count: usize| (draw() * count as f64) as usize;
    let State { place, cell, motion, spin, id } = &mut core.state;
    for i in (1..id.len()).rev() {
        let k = pick(i + 1);
        place.swap(i, k);
        cell.swap(i, k);
        motion.swap(i, k);
        spin.swap(i, k);
        id.swap(i, k);
    }
    for (place, cell) in place.iter_mut().zip(cell) {
        if pick(2) == 0 {
            let z = if core.grid.layers > 0 { pick(3) as i32 - 1 } else { 0 };
            let cells = IVec3::new(pick(3) as i32 - 1, pick(5) as i32 - 2, z);
            for axis in 0..3 {
                let (last, from) = (core.grid.count[axis] - 1, cell[axis] - cells[axis]);
                let to = match (core.grid.periodic[axis], last) {
                    (true, last) => from.rem_euclid(last + 1),
                    (false, -1) => from,
                    (false, last) => from.clamp(0, last),
                };
                // Once round a periodic axis is no move at all.
                let moved = if core.grid.periodic[axis] { cells[axis] } else { cell[axis] - to };
                cell[axis] = to;
                place[axis] += moved as f32 * core.grid.edge[axis];
            }
        }
    }
}
