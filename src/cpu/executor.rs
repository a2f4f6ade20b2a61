//! Executes the schedule on the CPU: each pass immediately, on all threads.

use std::collections::HashMap;

use glam::{DVec3, Vec3};

use crate::{
    Contact, Error, Impact, Measure, Sphere, StepReport, System,
    cpu::{
        Stepper,
        audit::Audit,
        clock::StageClock,
        collide::Recorder,
        compress::Compress,
        core::Core,
        drag,
        relax::Relax,
        rest::Rest,
        rounds::{Outcome, Patience, Rounds},
        walls::Walls,
    },
    state::{
        columns::{Found, NEVER, State},
        constants::RELAX_FROM,
        frame::Frame,
        sums::Sums,
        warm_start::WarmStartCache,
    },
    step::{
        checkpoint::{ExecutorState, StagedHead, StagedState},
        domain::Domain,
        driver::{Attempt, Driver, StepCounts, StepEngine, StepRequest, Taken, first_sums, walk},
        plan::{self, MOST_HALVINGS, Past, Plan, Substep, Work},
        schedule::{
            BROAD_PHASE, Entry, Executor, PUSH_APART, Pass, SHRINK, STEP_BEGIN, STEP_END, SUBSTEP_END, When,
            execute, execute_rounds,
        },
        shrinkage::{self, PeriodicBox, Shrinkage},
        watch::BoxSet,
    },
};

#[cfg(test)]
mod quiet_tests;

/// The stages of the CPU engine with all their buffers.
pub(crate) struct CpuExecutor {
    pub(crate) core: Core,
    rounds: Rounds,
    rest: Rest,
    relax: Relax,
    compress: Compress,
    audit: Audit,
    pub(crate) walls: Walls,
    clock: StageClock,
    /// Factor by which half a step's drag changes a velocity.
    drag_factor: f64,
    now: Now,
}

/// The step and the substep in progress.
struct Now {
    frame: Frame,
    /// Start time of the substep (user's units).
    begin: f64,
    /// Time of the last broad phase, relative to the start of the step.
    built_at: f64,
    /// Whether the first broad phase of the step is done.
    is_built: bool,
    /// The box that the next pass `Shrink` enters; afterwards, until the next step, the one that it left.
    other_box: Option<PeriodicBox>,
    /// Whether the pushes after it left no overlap.
    is_apart: bool,
    records: bool,
    motion_margin: f32,
    drift_reach: f32,
    patience: Patience,
    /// Outcome of the rounds.
    outcome: Outcome,
    counts: StepCounts,
    /// Velocity that the audit measures speeds relative to.
    drift: DVec3,
    /// Whether the last substep pushed overlapping spheres apart.
    pushed: bool,
    sums: Sums,
}

impl Stepper {
    /// The CPU engine for a system. `last_contact` returns the time of the last contact of an id, relative to now.
    ///
    /// # Errors
    /// [`Error::Capacity`] for too many spheres.
    pub(crate) fn new(system: &System, last_contact: impl Fn(u32) -> f32, time: f64) -> Result<Self, Error> {
        let (executor, sums, deepest) = CpuExecutor::new(system, last_contact, time)?;
        Ok(Driver::start(executor, sums, deepest, time))
    }
}

impl CpuExecutor {
    fn new(
        system: &System,
        last_contact: impl Fn(u32) -> f32,
        time: f64,
    ) -> Result<(Self, Sums, f32), Error> {
        let mut executor = Self::with(Core::new(system, last_contact)?, system, time);
        let Self { audit, core, .. } = &mut executor;
        let sums = first_sums(|drift| audit.run(&core.domain.grid, &core.state, drift));
        let past = Past { sums, ..Past::default() };
        core.regrid(plan::wanted_margin(&core.domain.limits(), &past));
        core.domain.place_walls(time, 0.0);
        // The measurement of overlap needs candidate lists.
        executor.clock.start();
        execute(BROAD_PHASE, &mut executor)?;
        let deepest = executor.relax.deepest(&executor.core.view(executor.now.frame));
        Ok((executor, sums, deepest))
    }

    // Without candidate lists, which every step begins with.
    fn with(core: Core, system: &System, time: f64) -> Self {
        Self {
            rounds: Rounds::new(core.state.len()),
            rest: Rest::default(),
            relax: Relax::default(),
            compress: Compress::default(),
            audit: Audit::default(),
            walls: Walls::new(system),
            clock: StageClock::default(),
            drag_factor: (-0.5 * system.drag * system.dt).exp(),
            now: Now {
                frame: Frame {
                    h: 0.0,
                    gravity: core.domain.world.gravity,
                    drift: Vec3::ZERO,
                    drifted: Vec3::ZERO,
                },
                begin: time,
                built_at: 0.0,
                is_built: false,
                other_box: None,
                is_apart: false,
                records: false,
                motion_margin: 0.0,
                drift_reach: 0.0,
                patience: Patience { may_split: false, work: Work::default(), is_event_driven: false },
                outcome: Outcome::Ended,
                counts: StepCounts::default(),
                drift: DVec3::ZERO,
                pushed: false,
                sums: Sums::default(),
            },
            core,
        }
    }

    /// The engine that goes on from the state of another one.
    pub(crate) fn resume(system: &System, state: &StagedState, time: f64) -> Stepper {
        let StagedHead { domain, driver, executor: remembered } = &state.head;
        let core = Core::with(Domain::resume(system, domain), state.spheres.clone());
        let mut executor = Self::with(core, system, time);
        executor.core.domain.place_walls(time, 0.0);
        let own = remembered.cpu.unwrap_or_default();
        executor.core.resume(&state.warm_start, own.asleep);
        executor.rounds.resume(own);
        Driver::resume(executor, driver)
    }

    /// Time of the last contact of every id, relative to now.
    pub(crate) fn last_contacts(&self) -> HashMap<u32, f32> {
        let state = &self.core.state;
        state.id.iter().zip(&state.spin).map(|(&id, s)| (id, s.w)).collect()
    }

    /// Whether any contact lasted to the end of the last step.
    #[cfg(feature = "gpu")]
    pub(crate) fn has_rested(&self) -> bool {
        self.core.constraints.count > 0
    }

    // A frame of zero duration, for measuring overlap.
    fn still(&self, drift: DVec3) -> Frame {
        let gravity = self.core.domain.world.gravity;
        Frame { h: 0.0, gravity, drift: drift.as_vec3(), drifted: Vec3::ZERO }
    }

    // Shrinks the box by as much as the spheres leave room for, and takes the first broad phase of the step. Returns whether the box
    // has shrunk.
    fn shrink(&mut self, shrinkage: &Shrinkage) -> Result<bool, Error> {
        self.compress.keep(&self.core.state);
        let mut halvings = shrinkage.least_halvings;
        loop {
            self.now.other_box = Some(self.core.domain.shrunk_box(shrinkage, halvings));
            execute(SHRINK, self)?;
            execute(BROAD_PHASE, self)?;
            if halvings > shrinkage::MOST_SHRINK_HALVINGS {
                return Ok(false);
            }
            execute(PUSH_APART, self)?;
            if self.now.is_apart {
                return Ok(true);
            }
            self.leave_smaller_box();
            halvings += 1;
        }
    }

    // Returns to the box and to the spheres before the step, if the step has changed the box. Returns whether it had.
    fn leave_smaller_box(&mut self) -> bool {
        let Some(mut before) = self.now.other_box.take() else { return false };
        self.core.swap_box(&mut before);
        self.compress.restore(&mut self.core.state);
        true
    }

    // Takes a substep, unless two halves are better.
    fn attempt(
        &mut self,
        substep: Substep,
        request: &StepRequest,
        left: &mut Work,
        impacts: Option<&mut Vec<Impact>>,
    ) -> Result<Attempt, Error> {
        let domain = &mut self.core.domain;
        self.now.begin = request.begin + substep.time * domain.units.time;
        domain.place_walls(self.now.begin, substep.h);
        if substep.builds {
            (self.now.drift_reach, self.now.built_at) = (substep.drift_reach as f32, substep.time);
            if !std::mem::take(&mut self.now.is_built) {
                execute(BROAD_PHASE, self)?;
            }
            if substep.begins() {
                execute(STEP_BEGIN, self)?;
            }
        }
        if substep.wakes && self.core.domain.world.rests {
            let path = self.now.motion_margin + self.now.drift_reach;
            self.core.wake_near_changing_walls(path);
        }
        self.now.frame = substep.frame(self.core.domain.world.gravity);
        let may_split = substep.halvings < MOST_HALVINGS;
        // Gravity may have set in since the last substep.
        let is_event_driven = self.rounds.begins_one_by_one() && !self.core.domain.world.rests;
        self.now.patience = Patience { may_split, work: *left, is_event_driven };
        let mut result = execute_rounds(self);
        let is_repeated = result.is_ok()
            && !self.now.patience.is_event_driven
            && self.rounds.must_repeat(&self.core, self.now.outcome);
        if is_repeated {
            self.undo();
            self.now.patience.is_event_driven = true;
            result = execute_rounds(self);
            self.rounds.conclude_repetition();
        }
        if let Err(error) = result {
            self.undo();
            return Err(error);
        }
        // If no work is left, halves would only stop impacts that the whole substep has resolved.
        let may_split = may_split && !self.rounds.work.is_all(*left);
        *left = left.without(self.rounds.work);
        let counts = &mut self.now.counts;
        counts.rounds = counts.rounds.max(self.rounds.round);
        counts.fast = counts.fast.max(self.core.dynamic_candidates.fast_count());
        let late = self.core.domain.system.solver.strict_order && self.rounds.counts.late > 0;
        if (matches!(self.now.outcome, Outcome::Crowded | Outcome::Outrun) || late) && may_split {
            self.undo();
            if self.now.outcome == Outcome::Outrun && self.now.built_at < substep.time {
                return Ok(Attempt::Rebuild(substep));
            }
            return Ok(Attempt::Halve(substep));
        }
        if self.now.outcome != Outcome::Ended {
            counts.unresolved += self.rounds.pending_list.len() as u64;
            self.rounds.stop_pending(&mut self.core, self.now.frame);
        }
        let sums = &self.rounds.counts;
        counts.pairs += sums.pairs;
        counts.walls += sums.walls;
        counts.contact_time += sums.contact_time;
        counts.late += sums.late;
        counts.dissipated += sums.dissipated;
        counts.virial += sums.virial;
        counts.wall_work += sums.wall_work;
        counts.event_driven += sums.event_driven;
        execute(SUBSTEP_END, self)?;
        if let Some(impacts) = impacts {
            impacts.append(&mut self.rounds.impacts);
        }
        Ok(Attempt::Done)
    }

    // Restores the state at the start of the substep.
    fn undo(&mut self) {
        self.rounds.undo(&mut self.core);
        if self.core.domain.world.rests {
            self.rest.undo(&mut self.core);
        }
    }

    fn solve_after(&mut self) {
        let Self { core, rest, rounds, now, .. } = self;
        rest.after(core, now.frame, &rounds.first_touch);
        now.counts.dissipated += rest.dissipated + rest.wall_work;
        now.counts.wall_work += rest.wall_work;
        now.counts.crowded += rest.crowded;
    }

    fn relax(&mut self) {
        let Self { core, relax, now, .. } = self;
        let relaxed = core.relax(relax, now.frame, now.counts.relax_work);
        now.counts.deepest = relaxed.deepest;
        (now.pushed, now.counts.relax_work) = (relaxed.pushed, relaxed.work);
    }

    fn audit(&mut self) {
        let still = self.still(self.now.drift);
        let Self { core, relax, audit, now, clock, .. } = self;
        if now.pushed {
            // The last substep pushed spheres apart, so the overlap is measured again.
            now.counts.deepest = relax.deepest(&core.view(still));
            clock.lap("relax");
        }
        now.sums = audit.run(&core.domain.grid, &core.state, now.drift);
    }
}

impl Executor for CpuExecutor {
    type Error = Error;

    fn has(&self, when: When) -> bool {
        match when {
            When::Always => true,
            When::Resting => self.core.domain.world.rests,
            When::Drag => self.drag_factor != 1.0,
            When::Compression => self.now.other_box.is_some(),
        }
    }

    fn run(&mut self, entry: &Entry) -> Result<(), Error> {
        let frame = self.now.frame;
        let Self { core, rounds, now, .. } = self;
        match entry.pass {
            Pass::Shrink => {
                if let Some(other) = &mut now.other_box {
                    core.shrink(other);
                }
            }
            Pass::PushApart => now.is_apart = core.push_apart(&mut self.compress, frame),
            Pass::DragBefore | Pass::DragAfter => {
                now.counts.dissipated += drag::slow(&mut core.state.motion, self.drag_factor);
            }
            Pass::Bin => core.bin(),
            Pass::Scan => core.scan(),
            Pass::Scatter => core.scatter(),
            Pass::OrderContacts => {
                if let Some(order) = core.order_contacts() {
                    self.rest.follow(order);
                    self.relax.follow(order);
                }
            }
            Pass::Neighbors => core.neighbors(now.motion_margin, now.drift_reach),
            Pass::SolveFirst => self.rest.before(core, frame),
            Pass::Launch => rounds.launch(core, frame)?,
            Pass::Sweep => rounds.sweep(core, frame),
            Pass::Select => rounds.select(core, frame),
            Pass::Collide => {
                let units = core.domain.units;
                let recorder = Recorder { units: &units, start: now.begin, on: now.records };
                rounds.carry_out(core, frame, recorder)?;
            }
            Pass::Resweep => rounds.resweep(core, frame),
            Pass::SolveAfter => self.solve_after(),
            Pass::Advance => {
                self.walls.add(&rounds.pushes, core);
                core.advance(frame);
                now.counts.stopped += rounds.thaw(core);
            }
            Pass::KeepContacts => core.advance_sleep_timers(frame),
            Pass::Relax => self.relax(),
            Pass::Audit => self.audit(),
        }
        self.clock.lap(entry.stage);
        Ok(())
    }

    fn begin_round(&mut self) -> Result<bool, Error> {
        let Self { core, rounds, now, .. } = self;
        match rounds.begin_round(core, now.patience) {
            None => Ok(true),
            Some(Outcome::Long) => {
                let units = core.domain.units;
                let recorder = Recorder { units: &units, start: now.begin, on: now.records };
                now.outcome = rounds.apply_one_by_one(core, now.frame, recorder, now.patience)?;
                self.clock.lap("collide");
                Ok(false)
            }
            Some(outcome) => {
                self.now.outcome = outcome;
                Ok(false)
            }
        }
    }
}

impl StepEngine for CpuExecutor {
    fn domain(&self) -> &Domain {
        &self.core.domain
    }

    fn regrid(&mut self, motion_margin: f64) -> Result<(), Error> {
        self.core.regrid(motion_margin);
        Ok(())
    }

    fn idle(&mut self, begin: f64, end: f64, measured: &Measure) -> Option<StepReport> {
        let Core { domain, sleep, .. } = &self.core;
        let features = &domain.world.features;
        let is_idle = !features.changes(begin, end)
            && !features.is_restless(begin)
            && sleep.is_all(domain.statistics.movable)
            && measured.deepest_overlap <= f64::from(RELAX_FROM);
        is_idle.then(|| {
            self.clock.start();
            let stage_seconds = self.clock.seconds.clone();
            StepReport { stage_seconds, ..measured.at_rest(self.core.domain.statistics.movable as u64) }
        })
    }

    fn take(
        &mut self,
        step: &StepRequest,
        _next: Option<&StepRequest>,
        mut impacts: Option<&mut Vec<Impact>>,
    ) -> Result<Taken, Error> {
        self.clock.start();
        let domain = &mut self.core.domain;
        let end = step.begin + domain.dt * domain.units.time;
        let wakes = domain.world.features.changes(step.begin, end);
        domain.world.features.begin_step(step.begin, end);
        let (gravity, mut left) = (domain.world.gravity.as_dvec3(), Work::most(domain.statistics.count));
        let Plan { motion_margin, drift, .. } = step.plan;
        let substeps = step.plan.substeps(domain, wakes);
        self.walls.clear();
        let now = &mut self.now;
        (now.counts, now.pushed, now.records) = (StepCounts::default(), false, step.records);
        (now.motion_margin, now.drift, now.other_box) = (motion_margin, drift, None);
        let mut has_shrunk = false;
        if let Some(shrinkage) = &step.shrinkage {
            (self.now.drift_reach, self.now.is_built) = (substeps[0].drift_reach as f32, true);
            has_shrunk = self.shrink(shrinkage)?;
        }
        let mut progress = StepCounts::default();
        let walked = walk(substeps, gravity, &mut progress, |substep, _| {
            self.attempt(substep, step, &mut left, impacts.as_deref_mut())
        });
        if let Err(error) = walked {
            self.leave_smaller_box();
            return Err(error);
        }
        self.core.domain.place_walls(end, 0.0);
        execute(STEP_END, self)?;
        let mut counts = std::mem::take(&mut self.now.counts);
        (counts.substeps, counts.halvings) = (progress.substeps, progress.halvings);
        (counts.asleep, counts.crushes) = (self.core.sleep.count(), true);
        counts.felt.clone_from(&self.walls.sums);
        Ok(Taken { sums: self.now.sums, counts, has_shrunk, instead: None })
    }

    fn discard(&mut self) -> Result<(), Error> {
        // The state before the last broad phase was finite, unless the broad phase came after the fault.
        if !self.leave_smaller_box() {
            self.core.step_back();
        }
        self.core.forget_contacts();
        Ok(())
    }

    fn deepest_wall(&mut self, _end: f64) -> Result<Option<(u32, f64)>, Error> {
        Ok(Relax::deepest_wall(&self.core.view(self.still(DVec3::ZERO))))
    }

    fn complete(&mut self, report: &mut StepReport) {
        report.stage_seconds.clone_from(&self.clock.seconds);
    }

    fn read(&self, spheres: &mut [Sphere]) -> Result<(), Error> {
        let Domain { units, grid, .. } = &self.core.domain;
        self.core.state.fill(units, grid, spheres);
        Ok(())
    }

    fn positions(&self, spheres: &[Sphere]) -> Result<Vec<DVec3>, Error> {
        let Domain { units, grid, .. } = &self.core.domain;
        Ok(self.core.state.positions(units, grid, spheres))
    }

    fn find(&self, _boxes: BoxSet, test: &(dyn Fn(DVec3, f64) -> bool + Sync)) -> Result<Vec<Found>, Error> {
        let Domain { units, grid, .. } = &self.core.domain;
        Ok(self.core.state.find(units, grid, test))
    }

    fn contacts(&self) -> Result<Vec<Contact>, Error> {
        Ok(self.core.contacts())
    }

    fn warm_start(&self) -> Result<WarmStartCache, Error> {
        Ok(self.core.warm_start())
    }

    fn restore(&mut self, cache: &WarmStartCache) -> Result<(), Error> {
        self.core.restore(cache);
        Ok(())
    }

    fn checkpoint(&self) -> Result<(State, WarmStartCache, ExecutorState), Error> {
        let Self { core, rounds, .. } = self;
        let own = rounds.state(core.sleep.count());
        Ok((core.state.clone(), core.checkpoint(), ExecutorState { cpu: Some(own), gpu: None }))
    }

    fn memory_bytes(&self) -> usize {
        self.core.bytes()
            + self.rounds.bytes()
            + self.rest.bytes()
            + self.relax.bytes()
            + self.compress.bytes()
    }

    fn renewed(&self, system: &System, time: f64) -> Result<(Self, Sums, f32), Error> {
        let last_contacts = self.last_contacts();
        Self::new(system, |id| last_contacts.get(&id).copied().unwrap_or(NEVER), time)
    }
}

#[cfg(test)]
mod tests {
    use std::{
        collections::BTreeMap,
        hash::{DefaultHasher, Hash, Hasher},
    };

    use super::*;
    use crate::{
        Bounds, Materials, Side, Surface, Wall, WallShape,
        cpu::core::tests::layers,
        state::constants::WALL,
        step::{engine::Engine, schedule::Column},
    };

    fn hash_of(words: impl Iterator<Item = u32>) -> u64 {
        let mut hasher = DefaultHasher::new();
        words.for_each(|word| word.hash(&mut hasher));
        hasher.finish()
    }

    // A hash of every column that this engine stores in one place.
    fn fingerprints(executor: &CpuExecutor) -> BTreeMap<Column, u64> {
        let CpuExecutor { core, rounds, .. } = executor;
        let state = &core.state;
        let floats = |values: &[f32]| hash_of(values.iter().map(|x| x.to_bits()));
        let vectors =
            |values: &[glam::Vec4]| hash_of(values.iter().flat_map(|v| v.to_array()).map(f32::to_bits));
        let cells = state.cell.iter().flat_map(|c| c.to_array()).map(|x| x as u32);
        let candidates =
            (0..state.len()).flat_map(|i| core.lists.of(i)).flat_map(|c| [c.index() as u32, c.code()]);
        let events = rounds.events.iter().flat_map(|e| [e.toi.to_bits(), e.partner, e.link]);
        [
            (Column::Place, vectors(&state.place)),
            (Column::Motion, vectors(&state.motion)),
            (Column::Spin, vectors(&state.spin)),
            (Column::Cell, hash_of(cells.chain(state.id.iter().copied()))),
            (Column::Buckets, hash_of(core.starts.iter().copied())),
            (Column::Candidates, hash_of(candidates)),
            (Column::Clock, floats(&core.clock)),
            (Column::MotionMargin, floats(&core.motion_margin)),
            (Column::Support, hash_of(core.support.iter().map(|&s| u32::from(s)))),
            (Column::Rested, floats(&core.rested)),
            (Column::NextEvents, hash_of(events)),
            (Column::Selected, hash_of(rounds.selected.iter().copied())),
            (Column::SleepTimers, hash_of(core.sleep.sleep_timer.iter().copied())),
        ]
        .into()
    }

    // Runs the passes of an engine and checks that each changes only the columns that it declares.
    struct Checked<'a> {
        executor: &'a mut CpuExecutor,
        /// Columns that each pass changed, with its number of runs.
        changed: BTreeMap<String, (u32, Vec<Column>)>,
    }

    impl Executor for Checked<'_> {
        type Error = Error;

        fn has(&self, when: When) -> bool {
            self.executor.has(when)
        }

        fn run(&mut self, entry: &Entry) -> Result<(), Error> {
            let before = fingerprints(self.executor);
            self.executor.run(entry)?;
            let after = fingerprints(self.executor);
            let changed = self.changed.entry(format!("{:?}", entry.pass)).or_default();
            changed.0 += 1;
            for (column, print) in after {
                if before[&column] != print {
                    assert!(entry.writes.contains(&column), "{:?} writes {column:?} unsaid", entry.pass);
                    if !changed.1.contains(&column) {
                        changed.1.push(column);
                    }
                }
            }
            Ok(())
        }

        fn begin_round(&mut self) -> Result<bool, Error> {
            self.executor.begin_round()
        }
    }

    // A half full box of spheres that fall, bounce and come to rest on a floor.
    fn falling() -> System {
        let mut system = System {
            dt: 0.02,
            gravity: DVec3::NEG_Z,
            drag: 0.01,
            materials: Materials::empty(),
            ..System::default()
        };
        let floor = WallShape::Plane { point: DVec3::ZERO, normal: DVec3::Z };
        system.walls.push(Wall::new(floor, 0, "floor"));
        system.materials.add("stone", Surface { restitution: 0.5, friction: 0.3, ..Surface::default() }, 1.0);
        for k in 0..400_u32 {
            let place = glam::UVec3::new(k % 8, k / 8 % 8, k / 64).as_dvec3() * 1.01;
            let velocity = DVec3::new(f64::from(k * 7 % 5) - 2.0, f64::from(k * 11 % 7) - 3.0, -1.0);
            system.spheres.push(Sphere { id: k, position: place + 0.5, velocity, ..Sphere::default() });
        }
        system
    }

    #[test]
    fn a_pass_writes_the_columns_that_the_schedule_says() {
        let system = falling();
        let mut stepper = Stepper::new(&system, |_| NEVER, 0.0).unwrap();
        for k in 0..20 {
            stepper.step(f64::from(k) * system.dt, None, false).unwrap();
        }
        let executor = &mut stepper.engine;
        executor.now.patience = Patience { may_split: false, work: Work::most(400), is_event_driven: false };
        let mut checked = Checked { executor, changed: BTreeMap::new() };
        for _ in 0..8 {
            execute(BROAD_PHASE, &mut checked).unwrap();
            execute(STEP_BEGIN, &mut checked).unwrap();
            execute_rounds(&mut checked).unwrap();
            execute(SUBSTEP_END, &mut checked).unwrap();
        }
        execute(STEP_END, &mut checked).unwrap();
        // A pass that changes nothing would make the test pointless.
        for pass in ["Scatter", "Neighbors", "SolveFirst", "Sweep", "Select", "Collide", "Advance"] {
            let (runs, columns) = &checked.changed[pass];
            assert!(*runs > 0 && !columns.is_empty(), "{pass} ran {runs} times and changed {columns:?}");
        }
    }

    // Of each constraint that warm-starts the next substep: the ids of its spheres, or the wall, the code, and the bits of its impulse.
    fn warm_start(core: &Core) -> Vec<[u32; 10]> {
        let constraints = &core.constraints;
        let of = |i: usize| constraints.handed_on(i).0.iter().map(move |constraint| (i, constraint));
        let mut all: Vec<_> = (0..core.state.len())
            .flat_map(of)
            .map(|(i, constraint)| {
                assert_eq!(constraint.i as usize, i);
                let j = constraint.j;
                let partner = if j & WALL == 0 { core.state.id[j as usize] } else { j };
                let impulse = constraint.impulse;
                let [a, b, c] = impulse.tangent.to_array();
                let [d, e, f] = impulse.moment.to_array();
                let [n, a, b, c, d, e, f] = [impulse.normal, a, b, c, d, e, f].map(f32::to_bits);
                [core.state.id[i], partner, constraint.code(), n, a, b, c, d, e, f]
            })
            .collect();
        all.sort_unstable();
        all
    }

    // Where nearly all spheres sleep, where some do, and where none does; with spheres that change their tasks.
    #[test]
    fn a_substep_that_is_taken_back_leaves_the_warm_start_as_before() {
        let mut system = layers([Side::Wall, Side::Periodic, Side::Wall]);
        let felt = Surface { restitution: 0.3, friction: 0.5, rolling_friction: 0.02, ..Surface::default() };
        system.materials.add("felt", felt, 1.0);
        system.spheres.iter_mut().for_each(|sphere| sphere.material = 1);
        let mut stepper = Stepper::new(&system, |_| NEVER, 0.0).unwrap();
        let (mut some_sleep, mut nearly_all, mut turned, mut reordered) = (0, 0, 0, 0);
        let (mut staying, mut woken) = (0, 0);
        for k in 0..1200 {
            stepper.step(f64::from(k) * system.dt, None, false).unwrap();
            let executor = &mut stepper.engine;
            let (before, ids) = (warm_start(&executor.core), executor.core.state.id.clone());
            execute(BROAD_PHASE, executor).unwrap();
            reordered += u32::from(executor.core.state.id != ids);
            let CpuExecutor { core, rest, now, .. } = executor;
            if k > 900 && k % 3 == 0 {
                // One that moves wakes its neighbours, and theirs in tasks that would stay.
                core.sleep.rouse(37 * k as usize % 1200, &core.lists);
            }
            let motion = core.state.motion.clone();
            core.constraints.forget_former();
            rest.before(core, now.frame);
            let (first, [stay, woken_tasks]) = (core.state.motion.clone(), core.constraints.staying());
            staying += stay;
            assert!(before.is_empty() || first != motion);
            rest.undo(core);
            assert_eq!(core.state.motion, motion, "step {k}");
            assert!(warm_start(core) == before, "step {k}");
            if woken_tasks == 0 {
                rest.before(core, now.frame);
                assert_eq!(core.state.motion, first, "step {k}");
                rest.undo(core);
                assert!(warm_start(core) == before, "step {k}");
            }
            let asleep = core.sleep.count();
            some_sleep += u32::from(asleep > 100 && asleep < 1000);
            nearly_all += u32::from(asleep > 1150);
            turned += before.iter().filter(|words| words[7..] != [0; 3]).count();
            woken += woken_tasks;
        }
        println!("some sleep in {some_sleep} steps, nearly all in {nearly_all}");
        println!("{turned} moments, {reordered} changes of order, {staying} tasks stay, {woken} wake");
        assert!(some_sleep > 0 && nearly_all > 0 && turned > 1000 && reordered > 0);
        assert!(staying > 0 && woken > 0);
    }

    // Spheres in a periodic box after some steps.
    fn periodic() -> (System, Stepper) {
        let mut system = System { gravity: DVec3::ZERO, walls: vec![], ..falling() };
        let sides = [Side::Periodic; 3];
        system.bounds = Bounds { max: DVec3::splat(8.08), sides, ..Bounds::default() };
        let mut stepper = Stepper::new(&system, |_| NEVER, 0.0).unwrap();
        for k in 0..20 {
            stepper.step(f64::from(k) * system.dt, None, false).unwrap();
        }
        (system, stepper)
    }

    #[test]
    fn a_discarded_step_leaves_the_box_and_the_spheres_as_before() {
        let (system, mut stepper) = periodic();
        let state = |stepper: &Stepper| {
            let Core { state, domain, .. } = &stepper.engine.core;
            let State { place, cell, motion, id, .. } = state.clone();
            (place, cell, motion, id, domain.system.bounds.clone(), domain.grid.clone())
        };
        let before = state(&stepper);
        stepper.shrink(0.01, 0.0).unwrap();
        stepper.step(20.0 * system.dt, None, false).unwrap();
        let smaller = state(&stepper).4;
        assert!(smaller != before.4, "the box did not shrink");
        stepper.engine.discard().unwrap();
        assert!(state(&stepper) == before);
        // A step that shrinks nothing stays in its box.
        stepper.step(20.0 * system.dt, None, false).unwrap();
        stepper.shrink(0.0, 0.0).unwrap();
        stepper.step(21.0 * system.dt, None, false).unwrap();
        stepper.engine.discard().unwrap();
        assert_eq!(state(&stepper).4, smaller);
    }

    #[test]
    fn the_passes_of_a_smaller_box_write_the_columns_that_the_schedule_says() {
        let (system, mut stepper) = periodic();
        let executor = &mut stepper.engine;
        let domain = &executor.core.domain;
        let at = domain.resized(&domain.periodic_box(), system.bounds.shrunk(0.01, 3));
        executor.now.other_box = Some(at);
        let mut checked = Checked { executor, changed: BTreeMap::new() };
        for part in [SHRINK, BROAD_PHASE, PUSH_APART] {
            execute(part, &mut checked).unwrap();
        }
        assert!(checked.executor.now.is_apart);
        for (pass, columns) in
            [("Shrink", &[Column::Place][..]), ("PushApart", &[Column::Place, Column::MotionMargin])]
        {
            assert_eq!(checked.changed[pass].1, columns, "{pass}");
        }
    }
}
