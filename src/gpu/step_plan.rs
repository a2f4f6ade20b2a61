//! The step plan on the device: the substeps, and the halves of crowded substeps.

use super::{
    buffer_layout::{BufferLayout, speeds},
    dispatch_budget::DispatchBudget,
    host_mirror::HostMirror,
    layout::{
        FLAG_FIRST_BUILD, FLAG_GRAVITY, FLAG_LEAVES_CHAINS, FLAG_RECORD, FLAG_SHORTEST, FLAG_STRICT,
        FLAG_WALKS, Frame, MOST_TAIL_PENDING, MOST_WIDE_ROUNDS,
    },
};
use crate::{
    state::grid::Remap,
    step::{
        plan::{Plan, Substep},
        watch::BoxSet,
    },
};

/// How a step shrinks the box.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shrink {
    /// Number of times that the shrinkage was halved.
    pub halvings: u32,
    /// Passes of pushes.
    pub pushes: u32,
    pub remap: Remap,
}

/// How a step is executed.
#[derive(Clone, Copy, Debug)]
pub struct StepPlan {
    pub plan: Plan,
    /// Rounds over the whole array in each substep.
    pub wide_rounds: u32,
    pub record: bool,
    pub strict: bool,
    /// Whether the step is left to the CPU if impacts come in long chains or out of order.
    pub leaves_chains: bool,
    /// Walls appear or disappear in the step.
    pub wakes: bool,
    /// Boxes in which the device looks for spheres at the end of the step.
    pub watched: BoxSet,
    pub dispatch_budget: DispatchBudget,
    pub shrink: Option<Shrink>,
}

impl StepPlan {
    pub fn substep_count(&self) -> u32 {
        self.plan.substeps
    }

    /// Returns whether the state before the step still exists after it.
    pub fn builds_once(&self) -> bool {
        self.plan.substeps_per_build >= self.plan.substeps
    }

    /// Rounds over the whole array for a step similar to one in which so many rounds were busy. A single workgroup does the
    /// others, and all rounds of a small system.
    pub fn wide_rounds(spheres: usize, busy: u32) -> u32 {
        if spheres <= MOST_TAIL_PENDING as usize { 0 } else { busy.min(MOST_WIDE_ROUNDS) }
    }

    /// Adds rounds over the whole array. Returns false at the limit.
    pub fn widen(&mut self) -> bool {
        let before = self.wide_rounds;
        self.wide_rounds = (2 * before).clamp(8, MOST_WIDE_ROUNDS);
        self.wide_rounds > before
    }

    /// The substeps of the step.
    pub fn substeps(&self, host: &HostMirror) -> Vec<Substep> {
        self.plan.substeps(&host.domain, self.wakes)
    }

    // The common part of all frames of a step.
    fn base(&self, host: &HostMirror, layout: &BufferLayout) -> Frame {
        let mut flags = 0;
        for (flag, set) in [
            (FLAG_GRAVITY, host.domain.world.has_gravity),
            (FLAG_RECORD, self.record),
            (FLAG_STRICT, self.strict),
            (FLAG_LEAVES_CHAINS, self.leaves_chains),
            (FLAG_WALKS, self.dispatch_budget.walks()),
        ] {
            flags |= if set { flag } else { 0 };
        }
        Frame {
            motion_margin: self.plan.motion_margin,
            wide_rounds: self.wide_rounds,
            tail_rounds: self.dispatch_budget.tail_rounds,
            radius_min: host.domain.statistics.radius_min as f32,
            slowing: host.domain.half_drag() as f32,
            flags,
            ..layout.frame(&host.domain.grid, &host.domain.world, host.domain.statistics.radius_max as f32)
        }
    }

    /// The frame of one substep; `number` is its index in the submission.
    pub fn frame(&self, host: &HostMirror, layout: &BufferLayout, substep: &Substep, number: u32) -> Frame {
        let base = self.base(host, layout);
        let mut flags = base.flags;
        if substep.begins() {
            flags |= FLAG_FIRST_BUILD;
        }
        if substep.shortest {
            flags |= FLAG_SHORTEST;
        }
        if substep.lenient {
            flags &= !FLAG_STRICT;
        }
        let [slow, shock, settled, unsettled] = speeds(&host.domain.world, substep.h as f32);
        let mut frame = Frame {
            slow,
            shock,
            settled,
            unsettled,
            sleep_speed: host.domain.world.sleep_speed,
            sleep_ticks: host.domain.world.sleep_ticks(substep.h as f32),
            h: substep.h as f32,
            drift: substep.drift.as_vec3(),
            drifted: substep.drifted.as_vec3(),
            drift_reach: substep.drift_reach as f32,
            substep: number,
            flags,
            ..base
        };
        if let Some(Shrink { remap, .. }) = self.shrink.filter(|_| substep.begins()) {
            (frame.ratio, frame.old_count) = (remap.ratio, remap.old_count);
        }
        if layout.static_world.is_restless {
            layout.enter_motion(number, &mut frame);
        }
        frame
    }

    /// The frame of the audit.
    pub fn audit(&self, host: &HostMirror, layout: &BufferLayout) -> Frame {
        let watch_set = self.watched.bits();
        Frame { drift: self.plan.drift.as_vec3(), watch_set, ..self.base(host, layout) }
    }

    /// The frames of the step; the last one is the frame of the audit.
    pub fn frames(&self, host: &HostMirror, layout: &BufferLayout) -> Vec<Frame> {
        let substeps = self.substeps(host);
        let frames = (0..).zip(&substeps).map(|(k, substep)| self.frame(host, layout, substep, k));
        frames.chain([self.audit(host, layout)]).collect()
    }
}
