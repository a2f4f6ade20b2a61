//! How a step is divided on the device: its substeps, and the halves of those that are crowded.

use glam::DVec3;

use super::{
    buffer_layout::{BufferLayout, speeds},
    dispatch_budget::DispatchBudget,
    host_mirror::HostMirror,
    layout::{
        FLAG_FIRST_BUILD, FLAG_GRAVITY, FLAG_RECORD, FLAG_SHORTEST, FLAG_STRICT, FLAG_WAKE, Frame,
        MOST_WIDE_ROUNDS,
    },
};
use crate::step::plan::Plan;

/// Systems this small are done by the one workgroup of the last stage of the rounds alone: fewer dispatches.
const SMALL: usize = 2048;

/// How a step is done.
#[derive(Clone, Copy, Debug)]
pub struct StepPlan {
    pub plan: Plan,
    /// Rounds over the whole array in each substep.
    pub wide_rounds: u32,
    pub record: bool,
    pub strict: bool,
    /// Walls come or go in the step.
    pub wakes: bool,
    pub dispatch_budget: DispatchBudget,
}

/// One substep, or a part of one that was halved; scaled units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Substep {
    /// When it begins, from the start of the step.
    pub time: f64,
    /// Its length.
    pub h: f64,
    /// The drift when it begins, and how far that has gone since the broad phase.
    drift: DVec3,
    drifted: DVec3,
    /// How far the drift goes between two broad phases, and the walls.
    drift_reach: f64,
    /// How often it was halved.
    pub halvings: u32,
    /// A broad phase comes first.
    pub builds: bool,
    /// It cannot be halved any more: what is crowded goes on to the end.
    pub shortest: bool,
    /// What is out of order is counted, even in a strict run.
    pub lenient: bool,
    /// Walls come or go in the step: it begins with all awake.
    wakes: bool,
}

impl Substep {
    /// Whether the step begins with it.
    pub fn begins(&self) -> bool {
        self.time == 0.0
    }

    /// Its halves, both on the lists that it had.
    pub fn halves(&self, host: &HostMirror) -> [Self; 2] {
        let gravity = host.world.gravity.as_dvec3();
        let half = 0.5 * self.h;
        let first = Self { h: half, halvings: self.halvings + 1, builds: false, ..*self };
        let second = Self {
            time: self.time + half,
            drift: self.drift + gravity * half,
            drifted: self.drifted + self.drift * half + gravity * (0.5 * half * half),
            wakes: false,
            ..first
        };
        [first, second]
    }
}

impl StepPlan {
    pub fn substep_count(&self) -> u32 {
        self.plan.substeps
    }

    /// Whether the state before the step is still there after it.
    pub fn builds_once(&self) -> bool {
        self.plan.substeps_per_build >= self.plan.substeps
    }

    /// Rounds over the whole array for a step like one that took `rounds`.
    pub fn wide_rounds(spheres: usize, rounds: u32) -> u32 {
        // What is left after the last ones is too little for more than one workgroup.
        if spheres < SMALL { 0 } else { rounds.clamp(6, MOST_WIDE_ROUNDS) }
    }

    /// More rounds over the whole array. False if there are no more.
    pub fn widen(&mut self) -> bool {
        let before = self.wide_rounds;
        self.wide_rounds = (2 * before).clamp(8, MOST_WIDE_ROUNDS);
        self.wide_rounds > before
    }

    /// The substeps of a step of length `dt`.
    pub fn substeps(&self, host: &HostMirror, dt: f64) -> Vec<Substep> {
        let plan = &self.plan;
        let h = dt / f64::from(plan.substeps);
        let gravity = host.world.gravity.as_dvec3();
        let (mut drift, mut drifted, mut drift_reach) = (DVec3::ZERO, DVec3::ZERO, 0.0);
        let mut substeps = vec![];
        for k in 0..plan.substeps {
            let time = h * f64::from(k);
            let builds = k % plan.substeps_per_build == 0;
            if builds {
                let span = h * f64::from(plan.substeps_per_build.min(plan.substeps - k));
                (drift, drifted) = (plan.drift + gravity * time, DVec3::ZERO);
                let stride = f64::from(host.world.features.stride(span, &host.units));
                drift_reach = drift.length() * span + gravity.length() * span * span + stride;
            }
            let (halvings, shortest, lenient) = (0, false, false);
            let wakes = self.wakes && k == 0;
            substeps.push(Substep {
                time,
                h,
                drift,
                drifted,
                drift_reach,
                halvings,
                builds,
                shortest,
                lenient,
                wakes,
            });
            drifted += drift * h + gravity * (0.5 * h * h);
            drift += gravity * h;
        }
        substeps
    }

    // What the frames of a step have in common.
    fn base(&self, host: &HostMirror, layout: &BufferLayout) -> Frame {
        let mut flags = 0;
        for (flag, set) in
            [(FLAG_GRAVITY, host.world.has_gravity), (FLAG_RECORD, self.record), (FLAG_STRICT, self.strict)]
        {
            flags |= if set { flag } else { 0 };
        }
        Frame {
            motion_margin: self.plan.motion_margin,
            wide_rounds: self.wide_rounds,
            tail_rounds: self.dispatch_budget.tail_rounds,
            radius_min: host.statistics.radius_min as f32,
            slowing: host.slowing as f32,
            flags,
            ..layout.frame(&host.grid, &host.world, host.statistics.radius_max as f32)
        }
    }

    /// The frame of one piece, which is number `substep` of those that are submitted together.
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
        if substep.wakes {
            flags |= FLAG_WAKE;
        }
        let [slow, shock, settled] = speeds(&host.world, substep.h as f32);
        let mut frame = Frame {
            slow,
            shock,
            settled,
            sleep_speed: host.world.sleep_speed,
            sleep_ticks: host.world.sleep_ticks(substep.h as f32),
            h: substep.h as f32,
            drift: substep.drift.as_vec3(),
            drifted: substep.drifted.as_vec3(),
            drift_reach: substep.drift_reach as f32,
            substep: number,
            flags,
            ..base
        };
        if layout.static_world.is_restless {
            layout.enter_motion(number, &mut frame);
        }
        frame
    }

    /// The frame of the audit.
    pub fn audit(&self, host: &HostMirror, layout: &BufferLayout) -> Frame {
        Frame { drift: self.plan.drift.as_vec3(), ..self.base(host, layout) }
    }

    /// The frames of a step of length `dt`, that of the audit last.
    pub fn frames(&self, host: &HostMirror, layout: &BufferLayout, dt: f64) -> Vec<Frame> {
        let substeps = self.substeps(host, dt);
        let frames = (0..).zip(&substeps).map(|(k, substep)| self.frame(host, layout, substep, k));
        frames.chain([self.audit(host, layout)]).collect()
    }
}
