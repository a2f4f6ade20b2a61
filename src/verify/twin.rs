//! The twin: the CPU engine, executed one pass at a time for comparison with the device.

use std::sync::atomic::Ordering;

use glam::{DVec3, Vec3};

use crate::gpu::layout;
use crate::{
    Error,
    cpu::{
        audit::Audit,
        collide::{Counts, Recorder},
        compress::Compress,
        core::Core,
        drag,
        event::View,
        relax::Relax,
        rest::Rest,
        rounds::Rounds,
    },
    state::{frame::Frame, sums::Sums},
    step::{
        plan::{Plan, Substep},
        schedule::When,
        shrinkage::PeriodicBox,
    },
};

/// Rounds after which a substep is given up: no tested system came near.
const MOST_ROUNDS: u32 = 5000;

/// The deepest overlap in a pass of relax, in diameters, and the work that the pushes did against gravity.
#[derive(Default)]
pub struct Relaxed {
    pub deepest_before: f32,
    pub deepest_after: f32,
    pub work: f64,
}

/// The CPU engine between any two passes.
pub struct Twin {
    pub core: Core,
    pub rounds: Rounds,
    pub rest: Rest,
    pub relax: Relax,
    pub has_starts: bool,
    pub has_lists: bool,
    /// Counts, and number of impacts, before the latest round.
    pub counts_before: Counts,
    pub impacts_before: usize,
    pub relaxed: Relaxed,
    /// The box that the step enters, if it shrinks the box; once there, the box of before.
    pub other_box: Option<PeriodicBox>,
    /// Whether the pushes in the smaller box left no overlap.
    pub is_apart: bool,
    /// Energy that the latest half of the drag took.
    pub drag_loss: f64,
    /// Motion margin of the broad phase.
    pub motion_margin: f32,
    pub drift: DVec3,
    /// Path of the drift until the next broad phase.
    pub drift_reach: f32,
    /// Time of begin and length of each substep (scaled length).
    substeps: Vec<(f64, f64)>,
    /// The frame of the present substep.
    pub frame: Frame,
    /// Why a pass failed.
    pub failed: Option<Error>,
}

impl Twin {
    /// The twin before the first pass of a step that begins at `time` and is divided into these substeps.
    pub fn new(core: Core, plan: &Plan, substeps: &[Substep], time: f64) -> Self {
        let n = core.state.len();
        let unit = core.domain.units.time;
        Self {
            rounds: Rounds::new(n),
            rest: Rest::default(),
            relax: Relax::default(),
            has_starts: false,
            has_lists: false,
            counts_before: Counts::default(),
            impacts_before: 0,
            relaxed: Relaxed::default(),
            other_box: None,
            is_apart: false,
            drag_loss: 0.0,
            motion_margin: plan.motion_margin,
            drift: plan.drift,
            drift_reach: 0.0,
            substeps: substeps.iter().map(|substep| (time + substep.time * unit, substep.h)).collect(),
            frame: Frame {
                h: 0.0,
                gravity: core.domain.world.gravity,
                drift: Vec3::ZERO,
                drifted: Vec3::ZERO,
            },
            failed: None,
            core,
        }
    }

    /// Goes to substep `k`, which has this frame on the device.
    pub fn enter(&mut self, k: usize, frame: &layout::Frame) {
        let layout::Frame { h, gravity, drift, drifted, drift_reach, .. } = *frame;
        self.frame = Frame { h, gravity, drift, drifted };
        self.drift_reach = drift_reach;
        let (begin, h) = self.substeps[k];
        self.core.domain.place_walls(begin, h);
    }

    /// Whether the passes of this condition run.
    pub fn has(&self, when: When) -> bool {
        match when {
            When::Always => true,
            When::Resting => self.core.domain.world.rests,
            When::Drag => self.core.domain.half_drag() > 0.0,
            When::Compression => self.other_box.is_some(),
        }
    }

    /// Shrinks the box.
    pub fn shrink(&mut self) {
        if let Some(other) = &mut self.other_box {
            self.core.shrink(other);
        }
    }

    /// Pushes apart the spheres that overlap in the smaller box.
    pub fn push_apart(&mut self) {
        self.is_apart = self.core.push_apart(&mut Compress::default(), self.frame);
    }

    /// Half of the drag of a step.
    pub fn drag(&mut self) {
        let factor = 1.0 - self.core.domain.half_drag();
        self.drag_loss = drag::slow(&mut self.core.state.motion, factor);
    }

    /// Bins all spheres, as the device does.
    pub fn bin(&mut self) {
        self.core.forget_cells();
        self.core.bin();
    }

    /// Number of spheres in each bucket; after `scan`, the number of spheres in the buckets before it.
    pub fn counts(&self) -> Vec<u32> {
        self.core.cursors.iter().map(|n| n.load(Ordering::Relaxed)).collect()
    }

    pub fn scan(&mut self) {
        self.core.scan();
        self.has_starts = true;
    }

    pub fn scatter(&mut self) {
        self.core.scatter();
        if self.core.domain.world.rests
            && let Some(order) = self.core.order_contacts()
        {
            self.rest.follow(order);
            self.relax.follow(order);
        }
        self.core.motion_margin.fill(self.motion_margin);
        self.has_lists = false;
    }

    pub fn neighbors(&mut self) {
        self.core.neighbors(self.motion_margin, self.drift_reach);
        self.has_lists = true;
    }

    /// Finds the contact constraints and solves them for the first time.
    pub fn rest_before(&mut self) {
        self.rest.before(&mut self.core, self.frame);
    }

    /// Solves the contact constraints after the rounds.
    pub fn rest_after(&mut self) {
        self.rest.after(&mut self.core, self.frame, &self.rounds.first_touch);
    }

    pub fn launch(&mut self) {
        let done = self.rounds.launch(&mut self.core, self.frame);
        self.failed = self.failed.take().or(done.err());
    }

    pub fn view(&self) -> View<'_> {
        self.core.view(self.frame)
    }

    pub fn sweep(&mut self) {
        self.rounds.sweep(&self.core, self.frame);
        self.rounds.pending.list(&mut self.rounds.pending_list);
    }

    /// Begins a round, if any impact is pending.
    pub fn select(&mut self) {
        if self.rounds.pending_list.is_empty() {
            self.rounds.selected.clear();
            self.rounds.threats.clear();
            return;
        }
        self.rounds.round += 1;
        self.rounds.select(&self.core, self.frame);
    }

    pub fn collide(&mut self) {
        (self.counts_before, self.impacts_before) = (self.rounds.counts, self.rounds.impacts.len());
        let units = self.core.domain.units;
        let recorder = Recorder { units: &units, start: 0.0, on: true };
        let done = self.rounds.carry_out(&mut self.core, self.frame, recorder);
        self.failed = self.failed.take().or(done.err());
    }

    pub fn resweep(&mut self) {
        let Self { core, rounds, frame, .. } = self;
        rounds.resweep(core, *frame);
        rounds.pending.list(&mut rounds.pending_list);
    }

    /// Whether there is another round to do.
    pub fn is_pending(&mut self) -> bool {
        let is_pending = !self.rounds.pending_list.is_empty();
        if is_pending && self.rounds.round >= MOST_ROUNDS {
            self.failed.get_or_insert(Error::NoProgress("the rounds of a substep do not end".to_owned()));
        }
        is_pending && self.failed.is_none()
    }

    pub fn finish_rounds(&mut self) {
        while self.is_pending() {
            self.select();
            self.collide();
            self.resweep();
        }
    }

    pub fn advance(&mut self) {
        self.core.advance(self.frame);
        self.rounds.thaw(&mut self.core);
    }

    /// Advances the sleep timers, after the advance.
    pub fn advance_sleep_timers(&mut self) {
        self.core.advance_sleep_timers(self.frame);
    }

    pub fn relax(&mut self) {
        let Self { core, relax, frame, .. } = self;
        let deepest_before = relax.deepest(&core.view(*frame));
        let work = core.relax(relax, *frame, 0.0).work;
        let deepest_after = relax.deepest(&core.view(*frame));
        self.relaxed = Relaxed { deepest_before, deepest_after, work };
    }

    pub fn audit(&self) -> Sums {
        Audit::default().run(&self.core.domain.grid, &self.core.state, self.drift)
    }
}
