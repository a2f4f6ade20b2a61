//! The GPU engine: plans steps, keeps one ahead of the reports, makes room where a buffer is too small.

mod buffer_growth;
mod contacts;
mod cpu_fallback;
mod measure;
mod substep_retry;
mod walls;

use std::sync::Arc;

use glam::DVec3;

use super::{
    Context,
    buffer_layout::Capacities,
    buffers::Buffers,
    dispatch_budget::DispatchBudget,
    host_mirror::HostMirror,
    impacts,
    layout::{
        HALT, HALT_CUT, HALT_ITERATIONS, HALT_OVERFLOW, HALT_STUCK, HALT_TOO_LONG, HALT_UNFINISHED, TOO_LONG,
    },
    pipelines::Pipelines,
    step_plan::StepPlan,
    submit_queue::{History, StepCounts, StepInFlight, SubmitQueue, sums},
    timing::Timing,
};
use crate::{
    Contact, Error, Impact, Measure, Sphere, StepReport, System, WallLoad,
    cpu::{audit::Audit, neighbors::Candidate},
    state::{
        columns::{Found, NEVER, State},
        warm_start::WarmStartCache,
    },
    step::{
        engine::Engine,
        plan::{self, Past},
    },
};

/// How often a substep is halved, as on the CPU: down to 64 parts.
const MOST_HALVINGS: u32 = 6;

/// Rounds that finish each substep of a whole step at most: all of it is done again for more, in pieces only what lacked them.
const MOST_TAIL_ROUNDS: u32 = 512;

/// See the module.
pub struct GpuEngine {
    context: Context,
    pipelines: Arc<Pipelines>,
    buffers: Buffers,
    pub(super) host: HostMirror,
    submit_queue: SubmitQueue,
    /// Which copy of the state is the latest.
    current: usize,
    dt: f64,
    /// The step that is reported next, counted from 0.
    step: u64,
    in_flight: Option<StepInFlight>,
    /// The step after it.
    ahead: Option<StepInFlight>,
    history: History<(Past, u32)>,
    /// Substeps of the last step were halved: those of the next are taken one by one too.
    pub(super) substep_wise: bool,
    /// All sleep: no step changes anything.
    is_idle: bool,
    dispatch_budget: DispatchBudget,
    measured: Measure,
    start_nonfinite: Option<u32>,
    timing: Option<Timing>,
    /// At the end of the last step, and what walls felt in it.
    time: f64,
    felt: Vec<WallLoad>,
}

/// What a step took, with all that had to be done again.
#[derive(Clone, Copy, Debug, Default)]
struct Retries {
    overflows: u64,
    halvings: u64,
    dispatches: u64,
    /// How often the device had nothing to do while its host waited for it.
    waits: u64,
}

impl Retries {
    fn put_into(self, report: &mut StepReport) {
        report.overflow = self.overflows;
        report.dispatches = self.dispatches;
        report.blocking_reads = self.waits;
    }
}

impl GpuEngine {
    /// Sets everything up.
    ///
    /// # Errors
    /// [`Error::Capacity`] for more spheres than the device can hold, [`Error::DeviceLost`].
    pub fn new(system: &System, context: Context, profile: bool, time: f64) -> Result<Self, Error> {
        let capacities = Capacities::for_spheres(system.spheres.len(), false);
        Self::with(system, context, capacities, profile, |_| NEVER, time)
    }

    /// The same with given room.
    pub fn with(
        system: &System,
        context: Context,
        capacities: Capacities,
        profile: bool,
        last_contact: impl Fn(u32) -> f32,
        time: f64,
    ) -> Result<Self, Error> {
        let count = system.spheres.len();
        if count > Candidate::MAX_SPHERES {
            return Err(Error::Capacity(format!(
                "{count} spheres, but the gpu backend holds at most {}",
                Candidate::MAX_SPHERES
            )));
        }
        let (mut host, mut state) = HostMirror::new(system, last_contact);
        let dt = system.dt / host.units.time;
        let mut audit = Audit::default();
        let still = audit.run(&host.grid, &state, DVec3::ZERO);
        let sums = audit.run(&host.grid, &state, still.drift);
        let past = Past { sums, collisions: 0.0 };
        let motion_margin = plan::wanted_margin(&host.limits(dt), &past);
        host.regrid(&mut state, motion_margin);
        host.place_walls(time, 0.0);
        let layout = host.layout(capacities);
        layout.check(&context.device.limits(), host.grid.buckets)?;
        let pipelines = context.pipelines(host.variant())?;
        let buffers = Buffers::new(&context, &pipelines, layout, None)?;
        let dispatch_budget = DispatchBudget::new(&context);
        let timing = if profile { Timing::new(&context)? } else { None };
        host.upload(&context.queue, &buffers, 0, &state);
        let mut engine = Self {
            context,
            pipelines,
            buffers,
            submit_queue: SubmitQueue::default(),
            current: 0,
            dt,
            step: 0,
            in_flight: None,
            ahead: None,
            history: [(-2, (past, 0)), (-1, (past, 0))].into(),
            substep_wise: false,
            is_idle: false,
            dispatch_budget,
            measured: Measure::default(),
            start_nonfinite: (sums.nonfinite > 0).then_some(sums.first_nonfinite),
            timing,
            time,
            felt: vec![WallLoad::default(); host.world.features.wall_count()],
            host,
        };
        let deepest = engine.deepest_now()?;
        engine.measured = engine.measure_from(&sums, deepest);
        Ok(engine)
    }

    fn past(&self, step: i64) -> (Past, u32) {
        let found = self.history.iter().rev().find(|(number, _)| *number <= step);
        found.expect("the last steps are kept").1
    }

    fn record(&mut self, step: u64, past: Past, rounds: u32) {
        self.history.push_back((step as i64, (past, rounds)));
        while self.history.len() > 4 {
            self.history.pop_front();
        }
    }

    // How step `step` is done, from what the step two before it measured.
    fn plan(&self, step: u64, record: bool) -> StepPlan {
        let (past, rounds) = self.past(step as i64 - 2);
        let plan = plan::plan(&self.host.limits(self.dt), &past);
        let rounds = if rounds == 0 { 8 } else { rounds };
        let wide_rounds = StepPlan::wide_rounds(self.host.statistics.count, rounds);
        let strict = self.host.system.solver.strict_order;
        let begin = self.time_of(step);
        let wakes = self.host.world.features.changes(begin, begin + self.host.system.dt);
        let dispatch_budget = self.dispatch_budget.within(MOST_TAIL_ROUNDS);
        StepPlan { plan, wide_rounds, record, strict, wakes, dispatch_budget }
    }

    fn submit(&mut self, step: u64, step_plan: StepPlan) -> Result<StepInFlight, Error> {
        self.place_walls(step, &step_plan.substeps(&self.host, self.dt))?;
        self.submit_queue.submit(
            &self.context,
            &self.pipelines,
            &mut self.buffers,
            &self.host,
            self.dt,
            step,
            step_plan,
            &mut self.current,
            self.timing.as_mut(),
        )
    }

    // How the step that is reported next is done; makes new cells if the plan wants them.
    fn prepare(&mut self, record: bool) -> Result<StepPlan, Error> {
        let mut step_plan = self.plan(self.step, record);
        if let Some(motion_margin) = step_plan.plan.regrid {
            let mut state = self.host.download(&self.context, &self.buffers, self.current)?;
            self.host.regrid(&mut state, motion_margin);
            self.load(&state)?;
            step_plan = self.plan(self.step, record);
        }
        if record && self.buffers.layout.capacities.log <= 1 {
            let log = Capacities::for_spheres(self.host.statistics.count, true).log;
            self.reallocate(Capacities { log, ..self.buffers.layout.capacities })?;
        }
        Ok(step_plan)
    }

    fn drop_ahead(&mut self) -> Result<(), Error> {
        if let Some(ahead) = self.ahead.take() {
            let (_, buffer) = ahead.pending.wait(&self.context)?;
            self.submit_queue.give_back(buffer);
        }
        Ok(())
    }

    // Back to the state before a step. Nothing is under way.
    fn go_back(&mut self, (start, step_plan): (usize, StepPlan)) {
        self.current = start;
        self.submit_queue.rewind(&self.context, &self.buffers, (start, step_plan));
    }

    // Gives up a step that began like this, because of a way that is too long.
    fn too_long(&mut self, words: &[u32], begin: (usize, StepPlan)) -> Error {
        self.go_back(begin);
        let id = self.host.ids[(!words[TOO_LONG as usize]) as usize];
        let text = format!(
            "sphere {id} passes more than {} cells in one substep; choose a smaller dt",
            crate::state::constants::LONGEST
        );
        self.reallocate(self.buffers.layout.capacities).err().unwrap_or(Error::NoProgress(text))
    }

    // Waits for a step; one that halted is done again until it ends.
    fn collect(
        &mut self,
        mut in_flight: StepInFlight,
        start_time: f64,
        impacts: Option<&mut Vec<Impact>>,
    ) -> Result<StepReport, Error> {
        let mut redone = Retries { waits: u64::from(self.ahead.is_none()), ..Retries::default() };
        loop {
            let (step, mut step_plan) = (in_flight.step, in_flight.step_plan);
            let begin = (in_flight.start, step_plan);
            let (bytes, buffer) = in_flight.pending.wait(&self.context)?;
            self.submit_queue.give_back(buffer);
            redone.dispatches += in_flight.dispatches;
            if let Some(timing) = &mut self.timing {
                timing.read(&self.context)?;
            }
            let words = words(&bytes);
            let halt = words[HALT as usize];
            if halt == 0 {
                let mut counts = StepCounts::default();
                counts.add(&words, step_plan.substep_count(), &self.buffers.layout);
                if let Some(impacts) = impacts {
                    let substeps = step_plan.substeps(&self.host, self.dt);
                    let begins: Vec<f64> = substeps.iter().map(|substep| substep.time).collect();
                    let (context, buffers) = (&self.context, &self.buffers);
                    impacts::read(context, buffers, &self.host, &words, start_time, &begins, impacts)?;
                    impacts::sort(impacts);
                }
                return self.finish(step, begin, &words, counts, redone);
            }
            // The step after it did nothing either.
            self.drop_ahead()?;
            if halt & HALT_TOO_LONG != 0 {
                return Err(self.too_long(&words, begin));
            }
            self.go_back(begin);
            if halt & HALT_OVERFLOW != 0 {
                redone.overflows += 1;
                self.grow(&words)?;
            } else {
                self.reallocate(self.buffers.layout.capacities)?;
                // Whatever else it says may come from a cut.
                let again = halt & HALT_CUT != 0 && self.dispatch_budget.spread()
                    || halt & HALT_ITERATIONS != 0
                        && self.dispatch_budget.more_batches(step_plan.dispatch_budget.batches)
                    || halt == HALT_UNFINISHED
                        && (step_plan.widen() || self.dispatch_budget.go_on(MOST_TAIL_ROUNDS));
                if halt & HALT_STUCK != 0 && !again {
                    return self.step_on_cpu(step, start_time, impacts, redone);
                } else if !again {
                    return self.step_substep_wise(step, start_time, impacts, step_plan, redone);
                }
                step_plan.dispatch_budget = self.dispatch_budget.within(MOST_TAIL_ROUNDS);
            }
            in_flight = self.submit(step, step_plan)?;
            redone.waits += 1;
        }
    }

    // The report of a step that ended well; `words` are those of its audit.
    fn finish(
        &mut self,
        step: u64,
        begin: (usize, StepPlan),
        words: &[u32],
        counts: StepCounts,
        redone: Retries,
    ) -> Result<StepReport, Error> {
        self.dispatch_budget.ended_well(&self.context);
        self.substep_wise = redone.halvings > 0;
        let (sums, [loss, virial, relax_work]) = sums(words, &self.host, &self.buffers.layout);
        if sums.nonfinite > 0 {
            // What the last broad phase found was still finite, unless it happened before that. The step after this
            // one has done nothing.
            self.drop_ahead()?;
            self.go_back(begin);
            self.reallocate(self.buffers.layout.capacities)?;
            return Err(Error::NonFinite { id: sums.first_nonfinite, last_good_step: 0 });
        }
        let struck = 2.0 * counts.pairs as f64 + counts.walls as f64;
        let before = self.past(step as i64 - 1).0.collisions;
        let collisions = plan::smooth(before, struck / self.host.statistics.count.max(1) as f64);
        self.record(step, Past { sums, collisions }, counts.rounds);
        self.measured = self.measure_from(&sums, counts.deepest);
        self.is_idle = self.rests_for_ever(&counts, step);
        let crushed_by = if counts.crushes { self.crushed_by(step)? } else { None };
        let wall_work: f64 = counts.felt.iter().map(|sum| sum.work).sum();
        self.felt = counts.felt.iter().map(|sum| sum.load(&self.host.units, self.dt)).collect();
        let energy = self.host.units.energy();
        let mut report = StepReport {
            crushed_by,
            substeps: counts.substeps,
            pair_impacts: counts.pairs,
            wall_impacts: counts.walls,
            contact_time_impacts: counts.softened,
            rounds: counts.rounds,
            late: counts.late,
            redone: redone.halvings,
            stopped: counts.stopped,
            fast: counts.fast,
            deepest_overlap: self.measured.deepest_overlap,
            kinetic_energy: self.measured.kinetic_energy,
            potential_energy: self.measured.potential_energy,
            momentum: self.measured.momentum,
            dissipated: (loss + counts.rest_work) * energy,
            wall_work: wall_work * energy,
            relax_work: relax_work * energy,
            virial: virial * energy * self.host.units.time,
            asleep: counts.asleep,
            submits: std::mem::take(&mut self.submit_queue.submits),
            stage_seconds: self.timing.as_mut().map_or_else(Vec::new, Timing::take),
            ..StepReport::default()
        };
        redone.put_into(&mut report);
        Ok(report)
    }

    // Which copy holds the state of the last report. A step that is under way already, and so builds once, only reads
    // it: until the one after that is submitted, it stays as it is.
    fn reported(&self) -> usize {
        self.in_flight.as_ref().map_or(self.current, |in_flight| in_flight.start)
    }
}

impl Engine for GpuEngine {
    fn step(
        &mut self,
        start_time: f64,
        impacts: Option<&mut Vec<Impact>>,
        more: bool,
    ) -> Result<StepReport, Error> {
        if let Some(id) = self.start_nonfinite {
            return Err(Error::NonFinite { id, last_good_step: 0 });
        }
        self.time = start_time;
        if self.is_idle && self.in_flight.is_none() {
            self.end_step();
            return Ok(self.idle());
        }
        let record = impacts.is_some();
        let in_flight = match self.in_flight.take() {
            Some(in_flight) => in_flight,
            None => {
                let step_plan = self.prepare(record)?;
                if self.substep_wise {
                    let redone = Retries::default();
                    let report = self.step_substep_wise(self.step, start_time, impacts, step_plan, redone)?;
                    self.end_step();
                    return Ok(report);
                }
                self.submit(self.step, step_plan)?
            }
        };
        if more && !self.is_idle && !record && self.timing.is_none() && in_flight.step_plan.builds_once() {
            let step_plan = self.plan(self.step + 1, false);
            if step_plan.plan.regrid.is_none() && step_plan.builds_once() {
                match self.submit(self.step + 1, step_plan) {
                    Ok(ahead) => self.ahead = Some(ahead),
                    Err(error) => {
                        // The step under way is still to be reported.
                        self.in_flight = Some(in_flight);
                        return Err(error);
                    }
                }
            }
        }
        let report = self.collect(in_flight, start_time, impacts)?;
        self.end_step();
        self.in_flight = self.ahead.take();
        Ok(report)
    }

    fn read(&self, spheres: &mut [Sphere]) -> Result<(), Error> {
        let state = self.host.download(&self.context, &self.buffers, self.reported())?;
        self.host.fill(&state, spheres);
        Ok(())
    }

    fn find(&self, test: &(dyn Fn(DVec3, f64) -> bool + Sync)) -> Result<Vec<Found>, Error> {
        let state = self.host.download(&self.context, &self.buffers, self.reported())?;
        Ok(state.find(&self.host.units, &self.host.grid, test))
    }

    fn contacts(&self) -> Result<Vec<Contact>, Error> {
        self.read_contacts()
    }

    fn warm_start(&self) -> Result<WarmStartCache, Error> {
        self.read_warm_start()
    }

    fn restore(&mut self, warm_start: &WarmStartCache) -> Result<(), Error> {
        self.write_warm_start(warm_start)
    }

    fn measure(&self) -> Measure {
        self.measured
    }

    fn memory_bytes(&self) -> usize {
        (self.buffers.layout.bytes() + self.submit_queue.bytes()) as usize
    }

    fn reload(&mut self, system: &System) -> Result<(), Error> {
        let state = self.host.download(&self.context, &self.buffers, self.current)?;
        let contacts: Vec<f32> = by_rank(&state, &self.host.ids, |i| state.spin[i].w);
        // Where this fails, as for too many spheres, the engine has to stay what it is.
        let ids = self.host.ids.clone();
        let last_contact = |id| ids.binary_search(&id).map_or(NEVER, |rank| contacts[rank]);
        let capacities = self.buffers.layout.capacities;
        let profile = self.timing.is_some();
        *self = Self::with(system, self.context.clone(), capacities, profile, last_contact, self.time)?;
        Ok(())
    }

    fn wall_loads(&self) -> Vec<WallLoad> {
        self.felt.clone()
    }

    fn state_buffers(&self) -> Option<super::StateBuffers> {
        Some(Self::state_buffers(self))
    }
}

fn words(bytes: &[u8]) -> Vec<u32> {
    bytemuck::pod_collect_to_vec(bytes)
}

// One value of every sphere in the order of the ids.
fn by_rank<T: Clone>(state: &State, ids: &[u32], value: impl Fn(usize) -> T) -> Vec<T> {
    let mut order: Vec<usize> = (0..ids.len()).collect();
    order.sort_unstable_by_key(|&i| state.id[i]);
    order.into_iter().map(value).collect()
}
