//! The GPU engine: plans steps, keeps one ahead of the reports, makes room where a buffer is too small.

mod contacts;
mod handover;
mod measure;
mod pieces;
mod room;
mod walls;

use std::sync::Arc;

use glam::DVec3;

use super::{
    Context,
    buffers::Buffers,
    division::Division,
    effort::Effort,
    flight::{Flight, History, Runway, Tally, sums},
    host::Host,
    impacts,
    layout::{
        HALT, HALT_CUT, HALT_OVERFLOW, HALT_STUCK, HALT_TOO_LONG, HALT_TURNS, HALT_UNFINISHED, TOO_LONG,
    },
    pipelines::Pipelines,
    places::Capacities,
    timing::Timing,
};
use crate::{
    Contact, Error, Impact, Measure, Sphere, StepReport, System, WallLoad,
    cpu::{audit::Audit, neighbors::Candidate},
    model::{
        contacts::Loads,
        plan::{self, Past},
        state::{Found, NEVER, State},
    },
    simulation::Engine,
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
    pub(super) host: Host,
    runway: Runway,
    /// Which copy of the state is the latest.
    current: usize,
    dt: f64,
    /// The step that is reported next, counted from 0.
    step: u64,
    flight: Option<Flight>,
    /// The step after it.
    ahead: Option<Flight>,
    history: History<(Past, u32)>,
    /// Substeps of the last step were halved: those of the next are taken one by one too.
    pub(super) in_pieces: bool,
    /// All sleep: no step changes anything.
    is_idle: bool,
    effort: Effort,
    measured: Measure,
    start_nonfinite: Option<u32>,
    timing: Option<Timing>,
    /// At the end of the last step, and what walls felt in it.
    time: f64,
    felt: Vec<WallLoad>,
}

/// What a step took, with all that had to be done again.
#[derive(Clone, Copy, Debug, Default)]
struct Redone {
    overflows: u64,
    halvings: u64,
    dispatches: u64,
    /// How often the device had nothing to do while its host waited for it.
    waits: u64,
}

impl Redone {
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
        let (mut host, mut state) = Host::new(system, last_contact);
        let dt = system.dt / host.units.time;
        let mut audit = Audit::default();
        let still = audit.run(&host.grid, &state, DVec3::ZERO);
        let sums = audit.run(&host.grid, &state, still.drift);
        let past = Past { sums, collisions: 0.0 };
        let budget = plan::wanted_budget(&host.limits(dt), &past);
        host.regrid(&mut state, budget);
        host.place_walls(time, 0.0);
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
            runway: Runway::default(),
            current: 0,
            dt,
            step: 0,
            flight: None,
            ahead: None,
            history: [(-2, (past, 0)), (-1, (past, 0))].into(),
            in_pieces: false,
            is_idle: false,
            effort,
            measured: Measure::default(),
            start_nonfinite: (sums.nonfinite > 0).then_some(sums.first_nonfinite),
            timing,
            time,
            felt: vec![WallLoad::default(); host.world.patches.wall_count()],
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
    fn plan(&self, step: u64, record: bool) -> Division {
        let (past, rounds) = self.past(step as i64 - 2);
        let plan = plan::plan(&self.host.limits(self.dt), &past);
        let rounds = if rounds == 0 { 8 } else { rounds };
        let wide_rounds = Division::wide_rounds(self.host.census.count, rounds);
        let strict = self.host.system.solver.strict_order;
        let begin = self.time_of(step);
        let wakes = self.host.world.patches.changes(begin, begin + self.host.system.dt);
        let effort = self.effort.within(MOST_TAIL_ROUNDS);
        Division { plan, wide_rounds, record, strict, wakes, effort }
    }

    fn submit(&mut self, step: u64, division: Division) -> Result<Flight, Error> {
        self.place_walls(step, &division.pieces(&self.host, self.dt))?;
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

    // How the step that is reported next is done; makes new cells if the plan wants them.
    fn prepare(&mut self, record: bool) -> Result<Division, Error> {
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
        Ok(division)
    }

    fn drop_ahead(&mut self) -> Result<(), Error> {
        if let Some(ahead) = self.ahead.take() {
            let (_, buffer) = ahead.pending.wait(&self.context)?;
            self.runway.give_back(buffer);
        }
        Ok(())
    }

    // Back to the state before a step. Nothing is under way.
    fn go_back(&mut self, (start, division): (usize, Division)) {
        self.current = start;
        self.runway.rewind(&self.context, &self.buffers, (start, division));
    }

    // Gives up a step that began like this, because of a way that is too long.
    fn too_long(&mut self, words: &[u32], begin: (usize, Division)) -> Error {
        self.go_back(begin);
        let id = self.host.ids[(!words[TOO_LONG as usize]) as usize];
        let text = format!(
            "sphere {id} passes more than {} cells in one substep; choose a smaller dt",
            crate::cpu::fast::LONGEST
        );
        self.make_room(self.buffers.places.capacities).err().unwrap_or(Error::NoProgress(text))
    }

    // Waits for a step; one that halted is done again until it ends.
    fn collect(
        &mut self,
        mut flight: Flight,
        start_time: f64,
        impacts: Option<&mut Vec<Impact>>,
    ) -> Result<StepReport, Error> {
        let mut redone = Redone { waits: u64::from(self.ahead.is_none()), ..Redone::default() };
        loop {
            let (step, mut division) = (flight.step, flight.division);
            let begin = (flight.start, division);
            let (bytes, buffer) = flight.pending.wait(&self.context)?;
            self.runway.give_back(buffer);
            redone.dispatches += flight.dispatches;
            if let Some(timing) = &mut self.timing {
                timing.read(&self.context)?;
            }
            let words = words(&bytes);
            let halt = words[HALT as usize];
            if halt == 0 {
                let mut tally = Tally::default();
                tally.add(&words, division.substeps(), &self.buffers.places);
                if let Some(impacts) = impacts {
                    let pieces = division.pieces(&self.host, self.dt);
                    let begins: Vec<f64> = pieces.iter().map(|piece| piece.time).collect();
                    let (context, buffers) = (&self.context, &self.buffers);
                    impacts::read(context, buffers, &self.host, &words, start_time, &begins, impacts)?;
                    impacts::sort(impacts);
                }
                return self.finish(step, begin, &words, tally, redone);
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
                self.make_room(self.buffers.places.capacities)?;
                // Whatever else it says may come from a cut.
                let again = halt & HALT_CUT != 0 && self.effort.spread()
                    || halt & HALT_TURNS != 0 && self.effort.turn_again(division.effort.turns)
                    || halt == HALT_UNFINISHED && (division.widen() || self.effort.go_on(MOST_TAIL_ROUNDS));
                if halt & HALT_STUCK != 0 && !again {
                    return self.hand_over(step, start_time, impacts, redone);
                } else if !again {
                    return self.step_in_pieces(step, start_time, impacts, division, redone);
                }
                division.effort = self.effort.within(MOST_TAIL_ROUNDS);
            }
            flight = self.submit(step, division)?;
            redone.waits += 1;
        }
    }

    // The report of a step that ended well; `words` are those of its audit.
    fn finish(
        &mut self,
        step: u64,
        begin: (usize, Division),
        words: &[u32],
        tally: Tally,
        redone: Redone,
    ) -> Result<StepReport, Error> {
        self.effort.ended_well(&self.context);
        self.in_pieces = redone.halvings > 0;
        let (sums, [loss, virial, relax_work]) = sums(words, &self.host, &self.buffers.places);
        if sums.nonfinite > 0 {
            // What the last broad phase found was still finite, unless it happened before that. The step after this
            // one has done nothing.
            self.drop_ahead()?;
            self.go_back(begin);
            self.make_room(self.buffers.places.capacities)?;
            return Err(Error::NonFinite { id: sums.first_nonfinite, last_good_step: 0 });
        }
        let struck = 2.0 * tally.pairs as f64 + tally.walls as f64;
        let before = self.past(step as i64 - 1).0.collisions;
        let collisions = plan::smooth(before, struck / self.host.census.count.max(1) as f64);
        self.record(step, Past { sums, collisions }, tally.rounds);
        self.measured = self.measure_from(&sums, tally.deepest);
        self.is_idle = self.rests_for_ever(&tally, step);
        let crushed_by = if tally.crushes { self.crushed_by(step)? } else { None };
        let wall_work: f64 = tally.felt.iter().map(|sum| sum.work).sum();
        self.felt = tally.felt.iter().map(|sum| sum.load(&self.host.units, self.dt)).collect();
        let energy = self.host.units.energy();
        let mut report = StepReport {
            crushed_by,
            substeps: tally.substeps,
            pair_impacts: tally.pairs,
            wall_impacts: tally.walls,
            contact_time_impacts: tally.softened,
            rounds: tally.rounds,
            late: tally.late,
            redone: redone.halvings,
            stopped: tally.stopped,
            fast: tally.fast,
            deepest_overlap: self.measured.deepest_overlap,
            kinetic_energy: self.measured.kinetic_energy,
            potential_energy: self.measured.potential_energy,
            momentum: self.measured.momentum,
            dissipated: (loss + tally.rest_work) * energy,
            wall_work: wall_work * energy,
            relax_work: relax_work * energy,
            virial: virial * energy * self.host.units.time,
            asleep: tally.asleep,
            submits: std::mem::take(&mut self.runway.submits),
            stage_seconds: self.timing.as_mut().map_or_else(Vec::new, Timing::take),
            ..StepReport::default()
        };
        redone.put_into(&mut report);
        Ok(report)
    }

    // Which copy holds the state of the last report. A step that is under way already, and so builds once, only reads
    // it: until the one after that is submitted, it stays as it is.
    fn reported(&self) -> usize {
        self.flight.as_ref().map_or(self.current, |flight| flight.start)
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
        if self.is_idle && self.flight.is_none() {
            self.end_step();
            return Ok(self.idle());
        }
        let record = impacts.is_some();
        let flight = match self.flight.take() {
            Some(flight) => flight,
            None => {
                let division = self.prepare(record)?;
                if self.in_pieces {
                    let redone = Redone::default();
                    let report = self.step_in_pieces(self.step, start_time, impacts, division, redone)?;
                    self.end_step();
                    return Ok(report);
                }
                self.submit(self.step, division)?
            }
        };
        if more && !self.is_idle && !record && self.timing.is_none() && flight.division.builds_once() {
            let division = self.plan(self.step + 1, false);
            if division.plan.regrid.is_none() && division.builds_once() {
                match self.submit(self.step + 1, division) {
                    Ok(ahead) => self.ahead = Some(ahead),
                    Err(error) => {
                        // The step under way is still to be reported.
                        self.flight = Some(flight);
                        return Err(error);
                    }
                }
            }
        }
        let report = self.collect(flight, start_time, impacts)?;
        self.end_step();
        self.flight = self.ahead.take();
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

    fn loads(&self) -> Result<Loads, Error> {
        self.read_loads()
    }

    fn restore(&mut self, loads: &Loads) -> Result<(), Error> {
        self.write_loads(loads)
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
        // Where this fails, as for too many spheres, the engine has to stay what it is.
        let ids = self.host.ids.clone();
        let last_contact = |id| ids.binary_search(&id).map_or(NEVER, |rank| contacts[rank]);
        let capacities = self.buffers.places.capacities;
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
    let mut places: Vec<usize> = (0..ids.len()).collect();
    places.sort_unstable_by_key(|&i| state.id[i]);
    places.into_iter().map(value).collect()
}
