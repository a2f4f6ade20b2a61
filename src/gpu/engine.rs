//! The GPU engine: plans steps, keeps one ahead of the reports, makes room where a buffer is too small.

mod handover;

use std::sync::Arc;

use super::{
    Context,
    buffers::Buffers,
    effort::Effort,
    flight::{Division, Flight, History, Runway, sums},
    host::Host,
    impacts,
    layout::{
        CANDIDATES_NEEDED, CONTACT_TIME_COUNT, DEEPEST, DEEPEST_BEFORE, EXTRAS_NEEDED, FAST_MAX,
        FROZEN_NEEDED, HALT, HALT_CUT, HALT_LATE, HALT_OVERFLOW, HALT_STUCK, HALT_TOO_LONG, HALT_UNFINISHED,
        LATE_COUNT, LOG_NEEDED, PAIR_COUNT, ROUNDS_MAX, STICKY_END, STOPPED_COUNT, THREATS_NEEDED, TOO_LONG,
        VISITS_NEEDED, WALL_COUNT,
    },
    pipelines::Pipelines,
    places::Capacities,
    readback::download,
    timing::Timing,
};
use crate::{
    Error, Impact, Measure, Sphere, StepReport, System,
    cpu::{Stepper, audit::Audit, neighbors::Candidate},
    model::{
        plan::{self, Past, Plan},
        state::{NEVER, State},
        sums::Sums,
    },
    simulation::Engine,
};

/// How often the substeps of a step are halved before the twin on the CPU takes it.
const MOST_HALVINGS: u32 = 6;

/// More room than was needed, so that a growing system is not done twice at every step.
const SPARE_ROOM: f64 = 1.25;

/// See the module.
pub struct GpuEngine {
    context: Context,
    pipelines: Arc<Pipelines>,
    buffers: Buffers,
    host: Host,
    runway: Runway,
    /// Which copy of the state is the latest.
    current: usize,
    dt: f64,
    fall: f64,
    /// The step that is reported next, counted from 0.
    step: u64,
    flight: Option<Flight>,
    /// The step after it.
    ahead: Option<Flight>,
    history: History<(Past, u32)>,
    effort: Effort,
    measured: Measure,
    start_nonfinite: Option<u32>,
    timing: Option<Timing>,
}

/// What a step needed besides its last, successful run.
#[derive(Clone, Copy, Debug, Default)]
struct Redone {
    overflows: u64,
    halvings: u64,
}

impl GpuEngine {
    /// Sets everything up.
    ///
    /// # Errors
    /// [`Error::Capacity`] for more spheres than the device can hold, [`Error::DeviceLost`].
    pub fn new(system: &System, context: Context, profile: bool) -> Result<Self, Error> {
        let capacities = Capacities::for_spheres(system.spheres.len(), false);
        Self::with(system, context, capacities, profile, |_| NEVER)
    }

    /// The same with given room.
    pub fn with(
        system: &System,
        context: Context,
        capacities: Capacities,
        profile: bool,
        last_contact: impl Fn(u32) -> f32,
    ) -> Result<Self, Error> {
        let count = system.spheres.len();
        if count > Candidate::MAX_SPHERES {
            return Err(Error::Capacity(format!(
                "{count} spheres, but the gpu backend holds at most {}",
                Candidate::MAX_SPHERES
            )));
        }
        let (mut host, mut state) = Host::new(system, last_contact);
        let dt = system.dt / host.units.time;
        let gravity = (system.gravity / host.units.acceleration()).length();
        let fall = if system.spheres.iter().any(|s| s.fixed) { 0.5 * gravity * dt * dt } else { 0.0 };
        let mut audit = Audit::default();
        let still = audit.run(&host.grid, &state, glam::DVec3::ZERO);
        let sums = audit.run(&host.grid, &state, still.drift);
        let past = Past { sums, collisions: 0.0 };
        let budget = plan::wanted_budget(&host.limits(dt, fall), &past);
        host.regrid(&mut state, budget);
        let places = host.places(capacities);
        places.check(&context.device.limits(), host.grid.buckets)?;
        let pipelines = context.pipelines(host.variant())?;
        let buffers = Buffers::new(&context, &pipelines, places, None)?;
        let effort = Effort::new(&context);
        let timing = if profile { Timing::new(&context)? } else { None };
        host.upload(&context.queue, &buffers, 0, &state);
        let mut engine = Self {
            context,
            pipelines,
            buffers,
            runway: Runway::new(),
            current: 0,
            dt,
            fall,
            step: 0,
            flight: None,
            ahead: None,
            history: [(-2, (past, 0)), (-1, (past, 0))].into(),
            effort,
            measured: Measure::default(),
            start_nonfinite: (sums.nonfinite > 0).then_some(sums.first_nonfinite),
            timing,
            host,
        };
        let deepest = engine.deepest_now()?;
        engine.measured = engine.measure_from(&sums, deepest);
        Ok(engine)
    }

    // The deepest overlap of the present state; its lists are those of paths of no length.
    fn deepest_now(&mut self) -> Result<f32, Error> {
        let plan =
            Plan { substeps: 1, substeps_per_build: 1, budget: 0.0, drift: glam::DVec3::ZERO, regrid: None };
        let division =
            Division { plan, halvings: 0, wide_rounds: 0, record: false, strict: false, effort: self.effort };
        loop {
            let frames = division.frames(&self.host, &self.buffers.places, self.dt);
            self.buffers.write_frames(&self.context, &self.pipelines, &frames)?;
            let mut encoder = super::encode::Encoder::new(
                &self.context.device,
                &self.pipelines,
                &self.buffers,
                self.current,
                self.effort,
                None,
            );
            encoder.begin();
            encoder.broad_phase(0);
            encoder.measure(0);
            let after = encoder.current;
            self.context.queue.submit([encoder.encoder.finish()]);
            let bytes = 4 * self.buffers.places.report_words();
            let words = words(&download(&self.context, &[(&self.buffers.work, 0, bytes)])?[0]);
            let halt = words[HALT as usize];
            if halt == 0 {
                self.current = after;
                return Ok(f32::from_bits(words[DEEPEST_BEFORE as usize]));
            }
            self.grow(&words)?;
            if halt & HALT_CUT != 0 && !self.effort.spread() {
                // Not even one sphere for each invocation is little enough.
                let state = self.host.download(&self.context, &self.buffers, self.current)?;
                let twin = Stepper::new(&self.system_of(&state), |_| NEVER)?;
                return Ok(twin.measured().deepest_overlap as f32);
            }
        }
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
    fn plan(&self, step: u64, record: bool) -> Division {
        let (past, rounds) = self.past(step as i64 - 2);
        let plan = plan::plan(&self.host.limits(self.dt, self.fall), &past);
        let rounds = if rounds == 0 { 8 } else { rounds };
        let wide_rounds = Division::wide_rounds(self.host.census.count, rounds);
        let strict = self.host.system.solver.strict_order;
        Division { plan, halvings: 0, wide_rounds, record, strict, effort: self.effort }
    }

    fn submit(&mut self, step: u64, division: Division) -> Result<Flight, Error> {
        self.runway.submit(
            &self.context,
            &self.pipelines,
            &mut self.buffers,
            &self.host,
            self.dt,
            step,
            division,
            &mut self.current,
            self.timing.as_mut(),
        )
    }

    // Submits the step that is reported next, on new cells if the plan wants them.
    fn submit_next(&mut self, record: bool) -> Result<Flight, Error> {
        let mut division = self.plan(self.step, record);
        if let Some(budget) = division.plan.regrid {
            let mut state = self.host.download(&self.context, &self.buffers, self.current)?;
            self.host.regrid(&mut state, budget);
            self.load(&state)?;
            division = self.plan(self.step, record);
        }
        if record && self.buffers.places.capacities.log <= 1 {
            let log = Capacities::for_spheres(self.host.census.count, true).log;
            self.make_room(Capacities { log, ..self.buffers.places.capacities })?;
        }
        self.submit(self.step, division)
    }

    // Goes on from a state on the present cells.
    fn load(&mut self, state: &State) -> Result<(), Error> {
        if self.host.variant() != self.pipelines.variant {
            self.pipelines = self.context.pipelines(self.host.variant())?;
        }
        self.make_room(self.buffers.places.capacities)?;
        self.current = 0;
        self.host.upload(&self.context.queue, &self.buffers, 0, state);
        Ok(())
    }

    fn make_room(&mut self, capacities: Capacities) -> Result<(), Error> {
        let places = self.host.places(capacities);
        if places != self.buffers.places {
            places.check(&self.context.device.limits(), self.host.grid.buckets)?;
            self.buffers = Buffers::new(&self.context, &self.pipelines, places, Some(&self.buffers))?;
        }
        self.context.queue.write_buffer(&self.buffers.work, 0, &[0; 4 * STICKY_END as usize]);
        Ok(())
    }

    // Makes room for what a halted step asked for.
    fn grow(&mut self, words: &[u32]) -> Result<(), Error> {
        let roomier = |have: u32, needed: u32| {
            let needed = words[needed as usize];
            if needed <= have { have } else { (f64::from(needed) * SPARE_ROOM) as u32 + 64 }
        };
        let c = self.buffers.places.capacities;
        self.make_room(Capacities {
            entries: roomier(c.entries, CANDIDATES_NEEDED),
            extras: roomier(c.extras, EXTRAS_NEEDED),
            visits: roomier(c.visits, VISITS_NEEDED),
            threats: roomier(c.threats, THREATS_NEEDED),
            frozen: roomier(c.frozen, FROZEN_NEEDED),
            log: roomier(c.log, LOG_NEEDED),
        })
    }

    fn drop_ahead(&mut self) -> Result<(), Error> {
        if let Some(ahead) = self.ahead.take() {
            let (_, buffer) = ahead.pending.wait(&self.context)?;
            self.runway.give_back(buffer);
        }
        Ok(())
    }

    // Waits for a step; one that halted is done again until it ends.
    fn collect(
        &mut self,
        mut flight: Flight,
        start_time: f64,
        mut impacts: Option<&mut Vec<Impact>>,
    ) -> Result<StepReport, Error> {
        let mut redone = Redone::default();
        let mut blocking_reads = u64::from(self.ahead.is_none());
        loop {
            let (step, start, division) = (flight.step, flight.start, flight.division);
            let (bytes, buffer) = flight.pending.wait(&self.context)?;
            self.runway.give_back(buffer);
            let words = words(&bytes);
            let halt = words[HALT as usize];
            if halt == 0 {
                self.effort.ended_well(&self.context);
                let mut report = self.finish(step, start, division, &words, redone, start_time, impacts)?;
                report.dispatches = flight.dispatches;
                report.submits = std::mem::take(&mut self.runway.submits);
                report.blocking_reads = blocking_reads;
                return Ok(report);
            }
            // The step after it did nothing either.
            self.drop_ahead()?;
            self.current = start;
            self.runway.rewind(&self.context, &self.buffers, (start, division));
            let mut division = division;
            if halt & HALT_TOO_LONG != 0 {
                self.make_room(self.buffers.places.capacities)?;
                let id = self.host.ids[(!words[TOO_LONG as usize]) as usize];
                return Err(Error::NoProgress(format!(
                    "sphere {id} passes more than {} cells in one substep; choose a smaller dt",
                    crate::cpu::fast::LONGEST
                )));
            }
            if halt & HALT_OVERFLOW != 0 {
                redone.overflows += 1;
                self.grow(&words)?;
            } else if halt & HALT_CUT != 0 && self.effort.spread() {
                // Whatever else it says may come from that.
                self.make_room(self.buffers.places.capacities)?;
                division.effort = self.effort;
            } else if halt == HALT_UNFINISHED && (division.widen() || self.effort.go_on()) {
                self.make_room(self.buffers.places.capacities)?;
                division.effort = self.effort;
            } else {
                self.make_room(self.buffers.places.capacities)?;
                redone.halvings += 1;
                if division.halvings < MOST_HALVINGS && halt & HALT_STUCK == 0 {
                    division.halvings += 1;
                } else if halt == HALT_LATE {
                    // The shortest substeps that there are: what is still late is counted.
                    division.strict = false;
                } else {
                    return self.hand_over(step, start_time, impacts.take(), redone);
                }
            }
            flight = self.submit(step, division)?;
            blocking_reads += 1;
        }
    }

    // The report of a step that ended well.
    #[allow(clippy::too_many_arguments)]
    fn finish(
        &mut self,
        step: u64,
        start: usize,
        division: Division,
        words: &[u32],
        redone: Redone,
        start_time: f64,
        impacts: Option<&mut Vec<Impact>>,
    ) -> Result<StepReport, Error> {
        let count = |at: u32| u64::from(words[at as usize]);
        let (sums, [loss, virial, relax_work]) = sums(words, &self.host, &self.buffers.places);
        if sums.nonfinite > 0 {
            // What the last broad phase found was still finite, unless it happened before that. The step after this
            // one has done nothing.
            self.drop_ahead()?;
            self.current = start;
            self.runway.rewind(&self.context, &self.buffers, (start, division));
            self.make_room(self.buffers.places.capacities)?;
            return Err(Error::NonFinite { id: sums.first_nonfinite, last_good_step: 0 });
        }
        let (pairs, walls) = (count(PAIR_COUNT), count(WALL_COUNT));
        let struck = 2.0 * pairs as f64 + walls as f64;
        let before = self.past(step as i64 - 1).0.collisions;
        let collisions = plan::smooth(before, struck / self.host.census.count.max(1) as f64);
        let rounds = words[ROUNDS_MAX as usize];
        self.record(step, Past { sums, collisions }, rounds);
        let deepest = f32::from_bits(words[DEEPEST as usize]);
        self.measured = self.measure_from(&sums, deepest);
        if let Some(impacts) = impacts {
            let h = self.dt / f64::from(division.substeps());
            impacts::read(&self.context, &self.buffers, &self.host, words, start_time, h, impacts)?;
        }
        let stage_seconds = match &mut self.timing {
            Some(timing) => timing.read(&self.context)?,
            None => vec![],
        };
        let energy = self.host.units.energy();
        Ok(StepReport {
            substeps: division.substeps(),
            pair_impacts: pairs,
            wall_impacts: walls,
            contact_time_impacts: count(CONTACT_TIME_COUNT),
            rounds,
            late: count(LATE_COUNT),
            redone: redone.halvings,
            stopped: count(STOPPED_COUNT),
            overflow: redone.overflows,
            fast: count(FAST_MAX),
            deepest_overlap: self.measured.deepest_overlap,
            kinetic_energy: self.measured.kinetic_energy,
            potential_energy: self.measured.potential_energy,
            momentum: self.measured.momentum,
            dissipated: loss * energy,
            relax_work: relax_work * energy,
            virial: virial * energy * self.host.units.time,
            stage_seconds,
            ..StepReport::default()
        })
    }

    fn measure_from(&self, sums: &Sums, deepest: f32) -> Measure {
        let host = &self.host;
        let gravity = host.world.gravity.as_dvec3();
        let height = sums.mass_position + (host.grid.origin - host.reference) * host.census.mass;
        Measure {
            kinetic_energy: sums.kinetic * host.units.energy(),
            potential_energy: -gravity.dot(height) * host.units.energy(),
            momentum: sums.momentum * (host.units.mass * host.units.velocity()),
            deepest_overlap: f64::from(deepest),
        }
    }

    // Which copy holds the state of the last report. A step that is under way already, and so builds once, only reads
    // it: until the one after that is submitted, it stays as it is.
    fn reported(&self) -> usize {
        self.flight.as_ref().map_or(self.current, |flight| flight.start)
    }

    /// The buffers of the state of the last report.
    pub fn state_buffers(&self) -> super::StateBuffers {
        let reported = self.reported();
        super::StateBuffers {
            bodies: self.buffers.bodies[reported].clone(),
            tags: self.buffers.tags[reported].clone(),
            sphere_count: self.host.census.count as u32,
            origin: self.host.grid.origin * self.host.units.length,
            cell_edge: self.host.grid.exact_edge * self.host.units.length,
            unit_of_length: self.host.units.length,
            unit_of_velocity: self.host.units.velocity(),
        }
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
        let record = impacts.is_some();
        let flight = match self.flight.take() {
            Some(flight) => flight,
            None => self.submit_next(record)?,
        };
        if more && !record && self.timing.is_none() && flight.division.builds_once() {
            let division = self.plan(self.step + 1, false);
            if division.plan.regrid.is_none() && division.builds_once() {
                self.ahead = Some(self.submit(self.step + 1, division)?);
            }
        }
        let report = self.collect(flight, start_time, impacts)?;
        self.step += 1;
        self.flight = self.ahead.take();
        Ok(report)
    }

    fn read(&self, spheres: &mut [Sphere]) -> Result<(), Error> {
        let state = self.host.download(&self.context, &self.buffers, self.reported())?;
        self.host.fill(&state, spheres);
        Ok(())
    }

    fn measure(&self) -> Measure {
        self.measured
    }

    fn memory_bytes(&self) -> usize {
        (self.buffers.places.bytes() + self.runway.bytes()) as usize
    }

    fn reload(&mut self, system: &System) -> Result<(), Error> {
        let state = self.host.download(&self.context, &self.buffers, self.current)?;
        let contacts: Vec<f32> = by_rank(&state, &self.host.ids, |i| state.spin[i].w);
        let ids = std::mem::take(&mut self.host.ids);
        let last_contact = |id| ids.binary_search(&id).map_or(NEVER, |rank| contacts[rank]);
        let capacities = self.buffers.places.capacities;
        let profile = self.timing.is_some();
        *self = Self::with(system, self.context.clone(), capacities, profile, last_contact)?;
        Ok(())
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
    let mut places: Vec<usize> = (0..ids.len()).collect();
    places.sort_unstable_by_key(|&i| state.id[i]);
    places.into_iter().map(value).collect()
}
