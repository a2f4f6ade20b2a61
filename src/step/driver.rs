//! The driver of a step plans the step, takes the substeps in order, halves a substep that is too crowded, and writes the
//! report. The same driver serves every engine that executes the stages; such an engine implements [`StepEngine`].

use std::{collections::VecDeque, ops::AddAssign};

use glam::DVec3;

#[cfg(feature = "gpu")]
use crate::step::state_buffers::StateBuffers;
use crate::{
    Contact, Error, Impact, Measure, Sphere, StepReport, System, WallLoad,
    state::{
        columns::{Found, State},
        constants::CRUSHED,
        sums::Sums,
        units::Units,
        warm_start::WarmStartCache,
    },
    step::{
        checkpoint::{DriverState, EngineState, ExecutorState, StagedHead, StagedState},
        domain::Domain,
        engine::{DeviceBuffer, Engine},
        plan::{self, Past, Plan, Substep},
        shrinkage::{PeriodicBox, Shrinkage, Shrunk},
        watch::BoxSet,
    },
    system::limits::MOST_NEEDED_LATER,
    trace::debug,
};

/// Counters and sums of a step, in scaled units.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepCounts {
    /// Substeps taken, including abandoned ones and their halves.
    pub substeps: u32,
    pub pairs: u64,
    pub walls: u64,
    /// Impacts that the TC model made elastic.
    pub contact_time: u64,
    pub late: u64,
    /// Impacts in a crowd that became resting contacts.
    pub crowded: u64,
    /// Impacts applied one by one in f64.
    pub event_driven: u64,
    pub unresolved: u64,
    pub stopped: u64,
    /// Largest number of rounds in a substep.
    pub rounds: u32,
    /// Largest number of spheres with dynamic candidates in a substep.
    pub fast: u64,
    /// Substeps that were repeated as halves.
    pub halvings: u64,
    pub asleep: u64,
    /// Deepest overlap at the end, in mean diameters of the pair.
    pub deepest: f32,
    /// Whether a wall may have crushed a sphere.
    pub crushes: bool,
    /// Energy lost to restitution, friction, resting contacts and drag.
    pub dissipated: f64,
    /// Sum of distance * impulse over pairs.
    pub virial: f64,
    /// Work done by moving walls.
    pub wall_work: f64,
    /// Work done against gravity when overlapping spheres are pushed apart.
    pub relax_work: f64,
    /// Impulse and work of each wall.
    pub felt: Vec<WallSum>,
}

/// Impulse and work of a wall, summed over a step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WallSum {
    pub impulse: DVec3,
    /// Angular impulse about the pivot.
    pub twist: DVec3,
    /// Work done by the wall.
    pub work: f64,
}

impl AddAssign for WallSum {
    fn add_assign(&mut self, other: Self) {
        self.impulse += other.impulse;
        self.twist += other.twist;
        self.work += other.work;
    }
}

impl WallSum {
    /// Mean over a step of length `dt` (scaled), in the user's units.
    pub fn load(&self, units: &Units, dt: f64) -> WallLoad {
        let force = units.mass * units.velocity() / (units.time * dt);
        WallLoad {
            force: self.impulse * force,
            torque: self.twist * (force * units.length),
            power: self.work * units.energy() / (units.time * dt),
        }
    }
}

/// Parameters of a step to take.
#[derive(Clone, Debug)]
pub struct StepRequest {
    /// Start time of the step, in the user's units.
    pub begin: f64,
    pub plan: Plan,
    /// By how much the step shrinks the box.
    pub shrinkage: Option<Shrinkage>,
    /// Mean number of impacts in a substep, as far as earlier steps tell.
    #[cfg_attr(not(feature = "gpu"), expect(dead_code, reason = "only a device asks"))]
    pub impacts: f64,
    /// Whether the last step halved substeps.
    #[cfg_attr(not(feature = "gpu"), expect(dead_code, reason = "only a device asks"))]
    pub was_halved: bool,
    /// Whether impacts are recorded.
    pub records: bool,
}

/// Result of a step.
pub struct Taken {
    pub sums: Sums,
    pub counts: StepCounts,
    /// Whether the step shrank the box, as it was requested to.
    pub has_shrunk: bool,
    /// Report and wall loads of another engine, if that engine took the step instead.
    pub instead: Option<Box<(StepReport, Vec<WallLoad>)>>,
}

/// Result of an attempt to take a substep.
pub enum Attempt {
    Done,
    /// A buffer has grown: take this substep instead.
    #[cfg_attr(not(feature = "gpu"), expect(dead_code, reason = "only a device asks"))]
    Again(Substep),
    /// Repeat this substep after a broad phase: the candidate lists no longer cover the paths of many spheres.
    Rebuild(Substep),
    /// Repeat this substep as two halves: this is faster, or the only way to keep collisions in order.
    Halve(Substep),
    /// The substep cannot be taken.
    #[cfg_attr(not(feature = "gpu"), expect(dead_code, reason = "only a device asks"))]
    GiveUp,
}

/// Operations that the driver needs of an engine that runs the stages.
pub trait StepEngine: Send {
    fn domain(&self) -> &Domain;

    /// Rebuilds the cells for another motion margin.
    ///
    /// # Errors
    /// [`Error::Capacity`], [`Error::DeviceLost`].
    fn regrid(&mut self, motion_margin: f64) -> Result<(), Error>;

    /// The report of a step in which all spheres sleep and nothing wakes them; `None` if the step has to be computed.
    fn idle(&mut self, begin: f64, end: f64, measured: &Measure) -> Option<StepReport>;

    /// Whether the next step has already begun, so that its plan is fixed.
    fn is_under_way(&self) -> bool {
        false
    }

    /// Takes a step. `next` is the step after it, if the engine may begin that step before this one is reported.
    ///
    /// # Errors
    /// [`Error::NoProgress`], [`Error::Capacity`], [`Error::DeviceLost`].
    fn take(
        &mut self,
        step: &StepRequest,
        next: Option<&StepRequest>,
        impacts: Option<&mut Vec<Impact>>,
    ) -> Result<Taken, Error>;

    /// Drops the last step, whose end state is not finite, and restores the state before its last broad phase.
    ///
    /// # Errors
    /// [`Error::DeviceLost`].
    fn discard(&mut self) -> Result<(), Error>;

    /// Index of the wall into which spheres reach deepest at time `end`, and the depth in diameters.
    ///
    /// # Errors
    /// [`Error::DeviceLost`].
    fn deepest_wall(&mut self, end: f64) -> Result<Option<(u32, f64)>, Error>;

    /// Adds to the report the figures that only this engine knows.
    fn complete(&mut self, report: &mut StepReport);

    /// Writes position, velocity and spin of every sphere into `spheres`, which are in the order of the ids.
    ///
    /// # Errors
    /// [`Error::DeviceLost`].
    fn read(&self, spheres: &mut [Sphere]) -> Result<(), Error>;

    /// As [`Engine::positions`].
    ///
    /// # Errors
    /// [`Error::DeviceLost`].
    fn positions(&self, spheres: &[Sphere]) -> Result<Vec<DVec3>, Error>;

    /// Says in which boxes to look for spheres after the next step and after the step that follows it.
    fn watch(&mut self, _now: BoxSet, _next: BoxSet) {}

    /// The spheres for which `test` of centre and radius returns true, in any order. `test` is false outside these boxes.
    ///
    /// # Errors
    /// [`Error::DeviceLost`].
    fn find(&self, boxes: BoxSet, test: &(dyn Fn(DVec3, f64) -> bool + Sync)) -> Result<Vec<Found>, Error>;

    /// How often the engine has copied the state of all spheres from a device.
    fn downloads(&self) -> u64 {
        0
    }

    /// As [`Engine::exchange`].
    ///
    /// # Errors
    /// [`Error::Capacity`], [`Error::DeviceLost`].
    fn exchange(&mut self, _gone: &[Sphere], _come: &[Sphere]) -> Result<bool, Error> {
        Ok(false)
    }

    /// As [`Engine::call_off`].
    ///
    /// # Errors
    /// [`Error::DeviceLost`], [`Error::Capacity`].
    fn call_off(&mut self) -> Result<bool, Error> {
        Ok(false)
    }

    /// The contacts that transmit a force at the end of the last step.
    ///
    /// # Errors
    /// [`Error::DeviceLost`].
    fn contacts(&self) -> Result<Vec<Contact>, Error>;

    /// The contact impulses that warm-start the next substep.
    ///
    /// # Errors
    /// [`Error::DeviceLost`].
    fn warm_start(&self) -> Result<WarmStartCache, Error>;

    /// Replaces the warm-start impulses. Impulses of absent spheres and walls are ignored.
    ///
    /// # Errors
    /// [`Error::DeviceLost`], [`Error::Capacity`].
    fn restore(&mut self, cache: &WarmStartCache) -> Result<(), Error>;

    /// Bytes of all buffers that grow with the number of spheres.
    fn memory_bytes(&self) -> usize;

    /// As [`Engine::device_buffers`].
    fn device_buffers(&self) -> Vec<DeviceBuffer> {
        vec![]
    }

    /// The same engine with other spheres. For ids that survive, the times of their last contacts are kept.
    ///
    /// # Errors
    /// [`Error::Capacity`], [`Error::DeviceLost`]; this engine is unchanged in that case.
    fn renewed(&self, system: &System, time: f64) -> Result<(Self, Sums, f32), Error>
    where
        Self: Sized;

    /// The spheres in the order of the last broad phase, the contact impulses with all sleep timers that are not 0, and what this
    /// engine remembers from step to step.
    ///
    /// # Errors
    /// [`Error::DeviceLost`].
    fn checkpoint(&self) -> Result<(State, WarmStartCache, ExecutorState), Error>;

    /// The device buffers of the state.
    #[cfg(feature = "gpu")]
    fn state_buffers(&self) -> Option<StateBuffers> {
        None
    }
}

/// Takes the substeps of a step in order, and halves each substep that the engine cannot take whole. Returns whether all
/// were taken.
///
/// # Errors
/// The errors of `attempt`.
pub fn walk(
    mut left: Vec<Substep>,
    gravity: DVec3,
    counts: &mut StepCounts,
    mut attempt: impl FnMut(Substep, &mut StepCounts) -> Result<Attempt, Error>,
) -> Result<bool, Error> {
    left.reverse();
    while let Some(substep) = left.pop() {
        match attempt(substep, counts)? {
            Attempt::Done => counts.substeps += 1,
            Attempt::Again(substep) => left.push(substep),
            Attempt::Rebuild(substep) => {
                // The later substeps of the old lists use the new ones.
                let on_old_lists = left.iter_mut().rev().take_while(|later| !later.builds);
                on_old_lists.for_each(|later| later.drifted -= substep.drifted);
                left.push(Substep { builds: true, drifted: DVec3::ZERO, ..substep });
            }
            Attempt::Halve(substep) => {
                counts.substeps += 1;
                counts.halvings += 1;
                left.extend(substep.halves(gravity).into_iter().rev());
            }
            Attempt::GiveUp => return Ok(false),
        }
    }
    Ok(true)
}

/// Sorts the impacts of a step by time.
pub fn sort_impacts(impacts: &mut [Impact]) {
    impacts.sort_by(|a, b| {
        a.time.total_cmp(&b.time).then(a.sphere.cmp(&b.sphere)).then(a.partner.cmp(&b.partner))
    });
}

/// Sums for the first plan. The drift is measured first, because the speeds are relative to it.
pub fn first_sums(mut audit: impl FnMut(DVec3) -> Sums) -> Sums {
    let drift = audit(DVec3::ZERO).drift;
    audit(drift)
}

/// Takes steps with an engine.
pub struct Driver<E> {
    pub engine: E,
    /// Number of the next step to report, from 0.
    step: u64,
    /// Start time of that step, in the user's units.
    time: f64,
    /// Figures of the last steps by step number. A plan uses the figures of the step before the last one.
    history: VecDeque<(i64, Past)>,
    measured: Measure,
    felt: Vec<WallLoad>,
    was_halved: bool,
    /// Share of its lengths that the box is to lose at the start of the next step, and of the step after it.
    shares: [f64; 2],
    /// The same of a step that has begun ahead.
    begun_share: f64,
    /// Result of the shrinkage of the last step.
    shrunk: Option<Shrunk>,
    /// Id of a sphere whose initial state overflows f32.
    start_nonfinite: Option<u32>,
}

impl<E: StepEngine> Driver<E> {
    /// A driver for an engine that starts at `time`; its audit found `sums` and the deepest overlap `deepest`.
    pub fn start(engine: E, sums: Sums, deepest: f32, time: f64) -> Self {
        let past = Past { sums, ..Past::default() };
        let domain = engine.domain();
        Self {
            step: 0,
            time,
            history: [(-2, past), (-1, past)].into(),
            measured: domain.measure(&sums, deepest),
            felt: vec![WallLoad::default(); domain.world.features.wall_count()],
            was_halved: false,
            shares: [0.0; 2],
            begun_share: 0.0,
            shrunk: None,
            start_nonfinite: (sums.nonfinite > 0).then_some(sums.first_nonfinite),
            engine,
        }
    }

    /// A driver that goes on from the measurements of another one.
    pub fn resume(engine: E, state: &DriverState) -> Self {
        let DriverState { step, time, ref history, measured, ref felt, was_halved } = *state;
        let (history, felt) = (history.clone(), felt.clone());
        Self {
            engine,
            step,
            time,
            history,
            measured,
            felt,
            was_halved,
            shares: [0.0; 2],
            begun_share: 0.0,
            shrunk: None,
            start_nonfinite: None,
        }
    }

    /// Plans the first steps for so many impacts in a step.
    #[cfg(feature = "gpu")]
    pub fn expect(&mut self, impacts: f64) {
        let collisions = 2.0 * impacts / self.engine.domain().statistics.count.max(1) as f64;
        self.history.iter_mut().for_each(|(_, past)| past.collisions = collisions);
    }

    fn past(&self, step: i64) -> &Past {
        let found = self.history.iter().rev().find(|(number, _)| *number <= step);
        &found.expect("the last steps are kept").1
    }

    // The plan of a step, from the measurements two steps before. The step begins in the box `base`, or in the present one.
    fn request(&self, number: u64, records: bool, base: Option<&PeriodicBox>) -> StepRequest {
        let past = self.past(number as i64 - 2);
        let domain = self.engine.domain();
        let ahead = number - self.step;
        let share = self.shares[ahead as usize];
        let shrinkage = (share > 0.0).then(|| domain.shrinkage(base, share, past));
        let limits = match (&shrinkage, base) {
            (Some(shrinkage), _) => domain.limits_while_shrinking(&shrinkage.to, share),
            (None, Some(base)) => domain.limits_in(base),
            (None, None) => domain.limits(),
        };
        let plan = plan::plan(&limits, past);
        StepRequest {
            begin: self.time + ahead as f64 * domain.system.dt,
            plan,
            shrinkage,
            impacts: 0.5 * past.collisions * domain.statistics.count as f64 / f64::from(plan.substeps),
            was_halved: self.was_halved,
            records,
        }
    }

    /// Takes a step that begins at `begin`. With `more`, another step follows before any state is read.
    ///
    /// # Errors
    /// The errors of [`Simulation::step`](crate::Simulation::step).
    pub fn step(
        &mut self,
        begin: f64,
        mut impacts: Option<&mut Vec<Impact>>,
        more: bool,
    ) -> Result<StepReport, Error> {
        if let Some(id) = self.start_nonfinite {
            return Err(Error::NonFinite { id, last_good_step: 0 });
        }
        self.time = begin;
        let end = begin + self.engine.domain().system.dt;
        if let Some(report) = self.engine.idle(begin, end, &self.measured) {
            self.end_step();
            return Ok(report);
        }
        let records = impacts.is_some();
        let mut request = self.request(self.step, records, None);
        if !self.engine.is_under_way()
            && let Some(motion_margin) = request.plan.regrid
        {
            debug!("new cells at time {begin}, for a motion margin of {motion_margin:.3} scaled units");
            // The new cells may allow a smaller margin than requested.
            self.engine.regrid(motion_margin)?;
            request = self.request(self.step, records, None);
        }
        let needed = request.plan.needed;
        if needed > MOST_NEEDED_LATER {
            return Err(Error::NoProgress(format!(
                "the spheres are so fast at time {begin} that a step needs {needed:.1e} substeps; at most {MOST_NEEDED_LATER:e} \
                 are accepted: choose a smaller dt"
            )));
        }
        let base = request.shrinkage.as_ref().map(|shrinkage| &shrinkage.to);
        let next = (more && !records).then(|| self.request(self.step + 1, false, base));
        self.begun_share = self.shares[1];
        let taken = self.engine.take(&request, next.as_ref(), impacts.as_deref_mut());
        let has_shrunk = taken.as_ref().is_ok_and(|taken| taken.has_shrunk);
        if let Some(impacts) = impacts {
            sort_impacts(impacts);
        }
        let report = taken.and_then(|taken| self.conclude(end, request.plan.drift, taken));
        self.shrunk = request.shrinkage.as_ref().map(|_| Shrunk {
            bounds: self.engine.domain().system.bounds.clone(),
            is_stuck: report.is_ok() && !has_shrunk,
        });
        let report = report?;
        self.end_step();
        Ok(report)
    }

    fn end_step(&mut self) {
        self.step += 1;
        self.time += self.engine.domain().system.dt;
    }

    // Writes the report of a step and stores the figures that later plans need. `drift` is that of the plan of the step.
    fn conclude(&mut self, end: f64, drift: DVec3, taken: Taken) -> Result<StepReport, Error> {
        let Taken { sums, counts, instead, .. } = taken;
        if sums.nonfinite > 0 {
            self.engine.discard()?;
            return Err(Error::NonFinite { id: sums.first_nonfinite, last_good_step: 0 });
        }
        let domain = self.engine.domain();
        let struck = 2.0 * counts.pairs as f64 + counts.walls as f64;
        let before = self.past(self.step as i64 - 1).collisions;
        // Unending impacts do not justify shorter substeps, because shorter substeps would not end them either.
        let collisions = match counts.unresolved {
            0 => plan::smooth(before, struck / domain.statistics.count.max(1) as f64),
            _ => before,
        };
        let drift_change = (sums.drift - drift).length();
        let past = Past { sums, drift_change, collisions };
        self.history.push_back((self.step as i64, past));
        while self.history.len() > 4 {
            self.history.pop_front();
        }
        self.was_halved = counts.halvings > 0;
        if self.was_halved {
            debug!("the step that ends at time {end} repeated {} substeps as halves", counts.halvings);
        }
        let mut report = match instead {
            Some(instead) => {
                let (report, felt) = *instead;
                self.felt = felt;
                self.measured = Measure {
                    kinetic_energy: report.kinetic_energy,
                    potential_energy: report.potential_energy,
                    momentum: report.momentum,
                    deepest_overlap: report.deepest_overlap,
                };
                StepReport { redone: counts.halvings, ..report }
            }
            None => self.report(end, &sums, counts)?,
        };
        self.engine.complete(&mut report);
        Ok(report)
    }

    fn report(&mut self, end: f64, sums: &Sums, counts: StepCounts) -> Result<StepReport, Error> {
        let domain = self.engine.domain();
        let (energy, time) = (domain.units.energy(), domain.units.time);
        self.measured = domain.measure(sums, counts.deepest);
        self.felt = counts.felt.iter().map(|sum| sum.load(&domain.units, domain.dt)).collect();
        let crushed_by = match counts.crushes && self.measured.deepest_overlap > CRUSHED {
            true => self.engine.deepest_wall(end)?.filter(|(_, depth)| *depth > CRUSHED),
            false => None,
        };
        Ok(StepReport {
            crushed_by,
            substeps: counts.substeps,
            pair_impacts: counts.pairs,
            wall_impacts: counts.walls,
            contact_time_impacts: counts.contact_time,
            rounds: counts.rounds,
            late: counts.late,
            crowded: counts.crowded,
            event_driven: counts.event_driven,
            redone: counts.halvings,
            unresolved: counts.unresolved,
            stopped: counts.stopped,
            fast: counts.fast,
            deepest_overlap: self.measured.deepest_overlap,
            kinetic_energy: self.measured.kinetic_energy,
            potential_energy: self.measured.potential_energy,
            momentum: self.measured.momentum,
            dissipated: counts.dissipated * energy,
            wall_work: counts.wall_work * energy,
            relax_work: counts.relax_work * energy,
            virial: counts.virial * energy * time,
            asleep: counts.asleep,
            ..StepReport::default()
        })
    }
}

impl<E: StepEngine> Engine for Driver<E> {
    fn step(
        &mut self,
        start_time: f64,
        impacts: Option<&mut Vec<Impact>>,
        more: bool,
    ) -> Result<StepReport, Error> {
        Self::step(self, start_time, impacts, more)
    }

    fn read(&self, spheres: &mut [Sphere]) -> Result<(), Error> {
        self.engine.read(spheres)
    }

    fn positions(&self, spheres: &[Sphere]) -> Result<Option<Vec<DVec3>>, Error> {
        self.engine.positions(spheres).map(Some)
    }

    fn watch(&mut self, now: BoxSet, next: BoxSet) {
        self.engine.watch(now, next);
    }

    fn find(&self, boxes: BoxSet, test: &(dyn Fn(DVec3, f64) -> bool + Sync)) -> Result<Vec<Found>, Error> {
        self.engine.find(boxes, test)
    }

    fn downloads(&self) -> u64 {
        self.engine.downloads()
    }

    fn exchange(&mut self, gone: &[Sphere], come: &[Sphere]) -> Result<bool, Error> {
        self.engine.exchange(gone, come)
    }

    fn call_off(&mut self) -> Result<bool, Error> {
        self.engine.call_off()
    }

    fn shrink(&mut self, now: f64, next: f64) -> Result<Option<bool>, Error> {
        let is_other = self.engine.is_under_way() && self.begun_share != now;
        let is_called_off = is_other && self.engine.call_off()?;
        (self.shares, self.shrunk) = ([now, next], None);
        Ok(Some(is_called_off))
    }

    fn shrunk(&self) -> Option<&Shrunk> {
        self.shrunk.as_ref()
    }

    fn spin_energy(&self) -> Option<f64> {
        Some(self.past(self.step as i64 - 1).sums.spin * self.engine.domain().units.energy())
    }

    fn measure(&self) -> Measure {
        self.measured
    }

    fn memory_bytes(&self) -> usize {
        self.engine.memory_bytes()
    }

    fn device_buffers(&self) -> Vec<DeviceBuffer> {
        self.engine.device_buffers()
    }

    fn contacts(&self) -> Result<Vec<Contact>, Error> {
        self.engine.contacts()
    }

    fn wall_loads(&self) -> Vec<WallLoad> {
        self.felt.clone()
    }

    fn reload(&mut self, system: &System) -> Result<(), Error> {
        let (engine, sums, deepest) = self.engine.renewed(system, self.time)?;
        debug!("the engine is reloaded at time {} with {} spheres", self.time, system.spheres.len());
        *self = Self::start(engine, sums, deepest, self.time);
        Ok(())
    }

    fn warm_start(&self) -> Result<WarmStartCache, Error> {
        self.engine.warm_start()
    }

    fn restore(&mut self, warm_start: &WarmStartCache) -> Result<(), Error> {
        self.engine.restore(warm_start)
    }

    fn checkpoint(&self) -> Result<EngineState, Error> {
        let Self { step, time, history, measured, felt, was_halved, .. } = self;
        let (spheres, warm_start, executor) = self.engine.checkpoint()?;
        let (history, felt) = (history.clone(), felt.clone());
        let driver = DriverState {
            step: *step,
            time: *time,
            history,
            measured: *measured,
            felt,
            was_halved: *was_halved,
        };
        let head = StagedHead { domain: self.engine.domain().state(), driver, executor };
        Ok(EngineState::Staged(Box::new(StagedState { head, spheres, warm_start })))
    }

    #[cfg(feature = "gpu")]
    fn state_buffers(&self) -> Option<StateBuffers> {
        self.engine.state_buffers()
    }
}
