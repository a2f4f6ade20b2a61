//! The twin, stage by stage: the engine of the CPU taken apart.

use std::sync::atomic::Ordering::Relaxed;

use glam::DVec3;

use crate::gpu::layout;
use crate::{
    Error,
    cpu::{
        audit::Audit,
        collide::Recorder,
        core::Core,
        event::View,
        relax::{self, Relax},
        rest::Rest,
        rounds::Rounds,
        sweep,
    },
    state::{frame::Frame, sums::Sums},
    step::plan::Substep,
};

/// Rounds after which a substep is given up: no system that was looked at came near.
const MOST_ROUNDS: u32 = 5000;

/// See the module.
pub struct Twin {
    pub core: Core,
    pub rounds: Rounds,
    pub rest: Rest,
    pub relax: Relax,
    pub has_starts: bool,
    pub has_lists: bool,
    /// Path budget of the broad phase.
    pub motion_margin: f32,
    pub drift: DVec3,
    drift_reach: f32,
    frames: Vec<Frame>,
    /// When each substep begins, and its length (scaled).
    begins: Vec<(f64, f64)>,
    /// The frame of the substep that is looked at.
    pub frame: Frame,
    /// Why a stage could not be done.
    pub failed: Option<Error>,
}

impl Twin {
    /// The twin before its first stage; paths of up to `motion_margin` relative to the drift between broad phases.
    pub fn new(core: Core, motion_margin: f32, drift: DVec3) -> Self {
        let n = core.state.len();
        Self {
            rounds: Rounds::new(n),
            rest: Rest::default(),
            relax: Relax::default(),
            has_starts: false,
            has_lists: false,
            motion_margin,
            drift,
            drift_reach: 0.0,
            frames: vec![],
            begins: vec![],
            frame: Frame {
                h: 0.0,
                gravity: core.domain.world.gravity,
                drift: glam::Vec3::ZERO,
                drifted: glam::Vec3::ZERO,
            },
            failed: None,
            core,
        }
    }

    /// Takes over the frames of the device and the pieces of a step that begins at `time`.
    pub fn frames(&mut self, frames: &[layout::Frame], substeps: &[Substep], time: f64) {
        let unit = self.core.domain.units.time;
        self.begins = substeps.iter().map(|substep| (time + substep.time * unit, substep.h)).collect();
        let frame =
            |f: &layout::Frame| Frame { h: f.h, gravity: f.gravity, drift: f.drift, drifted: f.drifted };
        // The last one is that of the audit.
        self.frames = frames[..frames.len() - 1].iter().map(frame).collect();
        self.enter(0, &frames[0]);
    }

    /// Goes to substep `k`, which has this frame on the device.
    pub fn enter(&mut self, k: usize, frame: &layout::Frame) {
        self.go_to(k);
        self.drift_reach = frame.drift_reach;
    }

    fn go_to(&mut self, k: usize) {
        self.frame = self.frames[k];
        let (begin, h) = self.begins[k];
        self.core.domain.place_walls(begin, h);
    }

    /// How far the drift goes until the next broad phase.
    pub fn drift_reach(&self) -> f32 {
        self.drift_reach
    }

    pub fn bin(&mut self) {
        self.core.bin();
    }

    /// How many spheres each bucket holds, or after `scan` where its spheres begin.
    pub fn counts(&self) -> Vec<u32> {
        self.core.cursors.iter().map(|n| n.load(Relaxed)).collect()
    }

    pub fn scan(&mut self) {
        self.core.scan();
        self.has_starts = true;
    }

    pub fn scatter(&mut self) {
        self.core.scatter();
        if self.core.domain.world.rests {
            self.core.order_contacts();
        }
        self.core.motion_margin.fill(self.motion_margin);
    }

    /// Before a broad phase: the lists are those of the one before.
    pub fn forget_lists(&mut self) {
        self.has_lists = false;
    }

    pub fn neighbors(&mut self) {
        self.core.neighbors(self.motion_margin, self.drift_reach);
        self.has_lists = true;
    }

    /// Stages 1 to 4.
    #[cfg(test)]
    pub fn broad_phase(&mut self) {
        self.bin();
        self.scan();
        self.scatter();
        self.neighbors();
    }

    /// Up to the last substep.
    #[cfg(test)]
    pub fn reach_substep(&mut self) {
        self.broad_phase();
        for k in 1..self.frames.len() {
            self.rest_before();
            self.launch();
            self.sweep();
            self.finish_rounds();
            self.rest_after();
            self.advance();
            self.advance_sleep_timers();
            self.relax();
            self.go_to(k);
        }
    }

    /// What contacts that rest do before the launch.
    pub fn rest_before(&mut self) {
        if self.core.domain.world.rests {
            self.rest.before(&mut self.core, self.frame);
        }
    }

    /// And what they do after the rounds.
    pub fn rest_after(&mut self) {
        if self.core.domain.world.rests {
            self.rest.after(&mut self.core, self.frame);
        }
    }

    pub fn launch(&mut self) {
        self.rounds.begin();
        let Self { core, rounds, frame, .. } = self;
        core.launch(*frame, &mut rounds.fast);
        self.walk();
    }

    fn walk(&mut self) {
        let Self { core, rounds, frame, failed, .. } = self;
        if let Err(error) = rounds.walk_fast(core, *frame) {
            failed.get_or_insert(error);
        }
    }

    /// Only who is fast, without the walks.
    #[cfg(test)]
    pub fn fast(&mut self) -> Vec<u32> {
        let Self { core, frame, .. } = self;
        let mut bits = crate::cpu::bits::Bits::default();
        bits.reset(core.state.len());
        crate::cpu::launch::launch(&core.state, frame, &core.motion_margin, &mut core.clock, &bits);
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
        self.rounds.forget_bounds();
        self.rounds.select(&self.core, self.frame);
    }

    pub fn collide(&mut self) {
        let units = self.core.domain.units;
        let recorder = Recorder { units: &units, start: 0.0, on: true };
        let Self { core, rounds, frame, .. } = self;
        rounds.collide(core, *frame, recorder);
        for k in 0..rounds.to_freeze.len() {
            let i = rounds.to_freeze[k] as usize;
            let clock = core.clock[i];
            rounds.freeze(core, *frame, i, clock);
        }
        self.walk();
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

    /// Deepest overlap before and after, and the work against gravity.
    pub fn relax(&mut self) -> (f32, f32, f64) {
        let before = self.relax.deepest(&self.core.view(self.frame));
        if !relax::needed(before) {
            return (before, before, 0.0);
        }
        let Self { core, relax, frame, .. } = self;
        let work = core.relax(relax, *frame, 0.0);
        (before, self.relax.deepest(&self.core.view(self.frame)), work)
    }

    pub fn audit(&self) -> Sums {
        Audit::default().run(&self.core.domain.grid, &self.core.state, self.drift)
    }
}
