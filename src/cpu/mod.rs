//! The CPU engine: the stages of [`STAGES`](crate::step::schedule::STAGES) on all cores, in f32, the twin of the shaders.

pub(crate) mod advance;
pub(crate) mod audit;
pub(crate) mod bin;
pub(crate) mod bits;
pub(crate) mod blocks;
mod clock;
pub(crate) mod collide;
pub(crate) mod constraints;
pub(crate) mod core;
mod drag;
mod engine;
pub(crate) mod event;
pub(crate) mod fast;
pub(crate) mod feature;
pub(crate) mod launch;
pub(crate) mod neighbors;
pub(crate) mod parallel;
pub(crate) mod relax;
pub(crate) mod report;
pub(crate) mod rest;
pub(crate) mod rounds;
pub(crate) mod scan;
pub(crate) mod scatter;
pub(crate) mod select;
pub(crate) mod sleep;
pub(crate) mod sweep;
pub(crate) mod walls;

use std::{collections::HashMap, mem::take};

pub(crate) use self::engine::CpuEngine;
use crate::{
    Error, Impact, Measure, Sphere, StepReport, System,
    cpu::{
        audit::Audit,
        clock::StageClock,
        collide::{Counts, Recorder},
        core::Core,
        relax::Relax,
        report::Run,
        rest::Rest,
        rounds::{Outcome, Patience, Rounds},
        sleep::Sleep,
        walls::Walls,
    },
    state::{constants, frame::Frame, warm_start::WarmStartCache},
    step::plan::{self, Limits, Past, Work},
};
use glam::DVec3;

/// How often a substep is halved: down to 64 parts. Deeper, an unending exchange costs more than it is worth.
const MOST_HALVINGS: u32 = 6;

/// The engine on whatever threads it is called.
pub(crate) struct Stepper {
    core: Core,
    rounds: Rounds,
    rest: Rest,
    relax: Relax,
    audit: Audit,
    /// The last step and the one before: plans look two steps back.
    past: [Past; 2],
    /// When the last step ended.
    time: f64,
    walls: Walls,
    dt: f64,
    substeps: u32,
    strict_order: bool,
    /// What half a step of drag leaves of a velocity.
    slowing: f64,
    /// How far fixed spheres move in a step as the falling frame sees it.
    fall: f64,
    reference: DVec3,
    measured: Measure,
    clock: StageClock,
    /// A sphere that f32 cannot hold from the start: its speed overflows.
    start_nonfinite: Option<u32>,
}

impl Stepper {
    pub(crate) fn new(system: &System, last_contact: impl Fn(u32) -> f32, time: f64) -> Result<Self, Error> {
        let core = Core::new(system, last_contact)?;
        let mut stepper = Self {
            rounds: Rounds::new(core.state.len()),
            rest: Rest::default(),
            relax: Relax::default(),
            audit: Audit::default(),
            past: [Past::default(); 2],
            time,
            walls: Walls::new(system),
            dt: system.dt / core.units.time,
            substeps: system.solver.substeps,
            strict_order: system.solver.strict_order,
            slowing: (-0.5 * system.drag * system.dt).exp(),
            reference: system.gravity_reference() / core.units.length,
            fall: 0.0,
            measured: Measure::default(),
            clock: StageClock::default(),
            start_nonfinite: None,
            core,
        };
        if system.spheres.iter().any(|s| s.fixed) || stepper.core.world.rests {
            let gravity = f64::from(stepper.core.world.gravity.length());
            stepper.fall = 0.5 * gravity * stepper.dt * stepper.dt;
        }
        let still = stepper.audit.run(&stepper.core.grid, &stepper.core.state, DVec3::ZERO);
        let sums = stepper.audit.run(&stepper.core.grid, &stepper.core.state, still.drift);
        stepper.past = [Past { sums, collisions: 0.0 }; 2];
        stepper.start_nonfinite = (sums.nonfinite > 0).then_some(sums.first_nonfinite);
        let motion_margin = plan::wanted_margin(&stepper.limits(), &stepper.past[0]);
        stepper.core.regrid(motion_margin);
        stepper.core.place_walls(time, 0.0);
        // Lists for the measure of overlap.
        stepper.clock.start();
        stepper.core.broad_phase(0.0, 0.0, |_| ());
        let frame = stepper.frame(0.0, DVec3::ZERO, DVec3::ZERO);
        let deepest = stepper.relax.deepest(&stepper.core.view(frame));
        stepper.measured = stepper.measure(&sums, deepest);
        Ok(stepper)
    }

    fn limits(&self) -> Limits {
        Limits {
            dt: self.dt,
            substeps: self.substeps,
            margin_limit: self.core.grid.margin_limit,
            made_for: self.core.grid.made_for,
            least_substeps: self.core.world.least_substeps(self.dt, &self.core.statistics, &self.core.units),
            wall_substeps: self.core.world.features.substeps(self.dt * self.core.units.time),
            fall: self.fall,
            cell: f64::from(self.core.grid.edge.min_element()),
            margin_most: self.core.statistics.margin_most,
            margin_least: self.core.statistics.margin_least,
        }
    }

    fn frame(&self, h: f64, drift: DVec3, drifted: DVec3) -> Frame {
        Frame {
            h: h as f32,
            gravity: self.core.world.gravity,
            drift: drift.as_vec3(),
            drifted: drifted.as_vec3(),
        }
    }

    pub(crate) fn step(
        &mut self,
        start_time: f64,
        mut impacts: Option<&mut Vec<Impact>>,
    ) -> Result<StepReport, Error> {
        if let Some(id) = self.start_nonfinite {
            return Err(Error::NonFinite { id, last_good_step: 0 });
        }
        self.clock.start();
        let span = self.dt * self.core.units.time;
        self.time = start_time + span;
        let features = &self.core.world.features;
        if features.changes(start_time, self.time) {
            self.core.sleep = Sleep::new(self.core.state.len());
        }
        if !self.core.world.features.is_restless(start_time)
            && self.core.sleep.is_all(self.core.statistics.movable)
            && self.measured.deepest_overlap <= f64::from(constants::RELAX_SLOP)
        {
            return Ok(self.idle());
        }
        let work = Work::most(self.core.statistics.count);
        let mut run = Run { start_time, work, ..Run::default() };
        run.counts.dissipated += drag::slow(&mut self.core.state.motion, self.slowing);
        let mut plan = plan::plan(&self.limits(), &self.past[1]);
        if let Some(motion_margin) = plan.regrid {
            // The new cells may allow less than was asked for.
            self.core.regrid(motion_margin);
            plan = plan::plan(&self.limits(), &self.past[1]);
        }
        self.walls.clear();
        let h = self.dt / f64::from(plan.substeps);
        let gravity = self.core.world.gravity.as_dvec3();
        let (mut drift, mut drifted) = (DVec3::ZERO, DVec3::ZERO);
        for k in 0..plan.substeps {
            if k % plan.substeps_per_build == 0 {
                let span = h * f64::from(plan.substeps_per_build.min(plan.substeps - k));
                (drift, drifted) = (plan.drift + gravity * (h * f64::from(k)), DVec3::ZERO);
                let reach = drift.length() * span + gravity.length() * span * span;
                self.core.place_walls(start_time + h * f64::from(k) * self.core.units.time, h);
                let stride = self.core.world.features.stride(span, &self.core.units);
                let clock = &mut self.clock;
                self.core.broad_phase(plan.motion_margin, reach as f32 + stride, |stage| clock.lap(stage));
            }
            self.substep(h, drift, drifted, h * f64::from(k), 0, &mut run, impacts.as_deref_mut())?;
            drifted += drift * h + gravity * (0.5 * h * h);
            drift += gravity * h;
        }
        self.finish(plan.drift, run, impacts)
    }

    /// One substep from `time` (scaled, since the start of the step), or its two halves.
    #[allow(clippy::too_many_arguments)]
    fn substep(
        &mut self,
        h: f64,
        drift: DVec3,
        drifted: DVec3,
        time: f64,
        depth: u32,
        run: &mut Run,
        mut impacts: Option<&mut Vec<Impact>>,
    ) -> Result<(), Error> {
        let frame = self.frame(h, drift, drifted);
        let units = self.core.units;
        let recorder =
            Recorder { units: &units, start: run.start_time + time * units.time, on: impacts.is_some() };
        run.substeps += 1;
        self.core.place_walls(recorder.start, h);
        let may_split = depth < MOST_HALVINGS;
        let patience = Patience { may_split, work: run.work };
        if self.core.world.rests {
            self.rest.before(&mut self.core, frame);
            self.clock.lap("rest");
        }
        let clock = &mut self.clock;
        let outcome = self.rounds.run(&mut self.core, frame, recorder, patience, |stage| clock.lap(stage));
        let outcome = match outcome {
            Ok(outcome) => outcome,
            Err(error) => {
                self.undo();
                return Err(error);
            }
        };
        // Without any work halves would only stop what the whole has resolved.
        let may_split = may_split && !self.rounds.work.is_all(run.work);
        run.work = run.work.without(self.rounds.work);
        run.rounds = run.rounds.max(self.rounds.round);
        run.fast = run.fast.max(self.core.dynamic_candidates.fast_count());
        let late = self.strict_order && self.rounds.counts.late > 0;
        if (outcome == Outcome::Crowded || late) && may_split {
            self.undo();
            run.redone += 1;
            let half = 0.5 * h;
            self.substep(half, drift, drifted, time, depth + 1, run, impacts.as_deref_mut())?;
            let gravity = self.core.world.gravity.as_dvec3();
            let drifted = drifted + drift * half + gravity * (0.5 * half * half);
            return self.substep(half, drift + gravity * half, drifted, time + half, depth + 1, run, impacts);
        }
        if outcome != Outcome::Ended {
            run.unresolved += self.rounds.pending_list.len() as u64;
            self.rounds.stop_pending(&mut self.core, frame);
        }
        run.counts.add(&self.rounds.counts);
        if self.core.world.rests {
            self.rest.after(&mut self.core, frame);
            run.counts.dissipated += self.rest.dissipated + self.rest.wall_work;
            run.counts.wall_work += self.rest.wall_work;
            self.clock.lap("rest");
        }
        self.walls.add(&self.rounds.pushes, &self.rest.pushes, &self.core);
        if let Some(impacts) = impacts {
            impacts.append(&mut self.rounds.impacts);
        }
        self.advance(frame);
        run.stopped += self.rounds.thaw(&mut self.core);
        self.core.advance_sleep_timers(frame);
        self.clock.lap("advance");
        self.relax(frame, run);
        self.clock.lap("relax");
        Ok(())
    }

    /// Back to the start of the substep.
    fn undo(&mut self) {
        self.rounds.undo(&mut self.core);
        if self.core.world.rests {
            self.rest.undo(&mut self.core);
        }
    }

    fn advance(&mut self, frame: Frame) {
        let core = &mut self.core;
        let mut place = take(&mut core.state.place);
        let mut motion = take(&mut core.state.motion);
        let mut spin = take(&mut core.state.spin);
        let mut motion_margin = take(&mut core.motion_margin);
        let mut support = take(&mut core.support);
        let bodies = advance::Bodies {
            place: &mut place,
            motion: &mut motion,
            spin: &mut spin,
            motion_margin: &mut motion_margin,
            support: &mut support,
        };
        advance::advance(&core.view(frame), bodies);
        (core.state.place, core.state.motion, core.state.spin) = (place, motion, spin);
        (core.motion_margin, core.support) = (motion_margin, support);
    }

    fn relax(&mut self, frame: Frame, run: &mut Run) {
        run.deepest = self.relax.deepest(&self.core.view(frame));
        run.pushed = relax::needed(run.deepest);
        if run.pushed {
            self.core.sleep.forget_quiet();
            let pushes = self.relax.pushes(&self.core.view(frame));
            let state = &mut self.core.state;
            let gravity = self.core.world.gravity.as_dvec3();
            for (i, &push) in pushes.iter().enumerate() {
                if push != glam::Vec3::ZERO {
                    state.place[i] += push.extend(0.0);
                    self.core.motion_margin[i] -= push.length();
                    let mass = 1.0 / f64::from(state.inverse_mass(i));
                    run.relax_work -= gravity.dot(push.as_dvec3()) * mass;
                }
            }
        }
    }

    pub(crate) fn read(&self, spheres: &mut [Sphere]) {
        self.core.state.fill(&self.core.units, &self.core.grid, spheres);
    }

    /// Time of the last contact of every id, counted from now.
    pub(crate) fn contacts(&self) -> HashMap<u32, f32> {
        let state = &self.core.state;
        state.id.iter().zip(&state.spin).map(|(&id, s)| (id, s.w)).collect()
    }

    /// What walls felt in the last step.
    pub(crate) fn wall_loads(&self) -> Vec<crate::WallLoad> {
        self.walls.warm_start(&self.core, self.dt)
    }

    /// What contacts that rest hand on to the next step.
    pub(crate) fn warm_start(&self) -> WarmStartCache {
        self.core.warm_start()
    }

    /// Goes on from such loads.
    pub(crate) fn restore(&mut self, warm_start: &WarmStartCache) {
        self.core.restore(warm_start);
    }

    /// Whether any contact lasted to the end of the last step.
    #[cfg(feature = "gpu")]
    pub(crate) fn has_rested(&self) -> bool {
        self.core.constraints.count > 0
    }

    /// The sums over the present state.
    pub(crate) fn measured(&self) -> Measure {
        self.measured
    }

    fn bytes(&self) -> usize {
        self.core.bytes() + self.rounds.bytes() + self.rest.bytes() + self.relax.bytes()
    }
}
