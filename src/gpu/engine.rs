//! Executes steps on a device. The engine submits one step ahead of the reports that it reads, grows buffers and repeats
//! halted steps.

mod buffer_growth;
mod contacts;
mod cpu_fallback;
mod exchange;
mod measure;
mod shrink;
mod substep_retry;
mod walls;

use std::{cell::Cell, sync::Arc, time::Instant};

use glam::DVec3;

use super::{
    Context, StateBuffers,
    buffer_layout::Capacities,
    buffers::Buffers,
    dispatch_budget::DispatchBudget,
    host_mirror::HostMirror,
    impacts,
    layout::{
        HALT, HALT_CUT, HALT_ITERATIONS, HALT_LATE, HALT_OVERFLOW, HALT_STUCK, HALT_TOO_LONG,
        HALT_UNFINISHED, HALT_WALKS, LEFT_PENDING, MOST_TAIL_PENDING, TOO_LONG,
    },
    pipelines::Pipelines,
    step_plan::StepPlan,
    submit_queue::{DeviceCounts, StepInFlight, SubmitQueue, sums},
    timing::Timing,
    watch::Watched,
};
use crate::{
    Contact, DeviceBuffer, Error, Impact, Measure, Sphere, StepReport, System,
    cpu::neighbors::Candidate,
    state::{
        columns::{Found, NEVER, State},
        constants::LONGEST,
        sums::Sums,
        warm_start::WarmStartCache,
    },
    step::{
        checkpoint::{ExecutorState, GpuState, StagedHead, StagedState},
        domain::Domain,
        driver::{Driver, StepEngine, StepRequest, Taken},
        shrinkage::{MOST_SHRINK_HALVINGS, PeriodicBox, Shrinkage},
        watch::BoxSet,
    },
    trace::debug,
};

/// Most rounds that finish each substep of a whole step. A whole step that needs more is repeated; a step taken
/// substep-wise repeats only the substeps that need more.
const MOST_TAIL_ROUNDS: u32 = 512;

/// Repetitions of a whole step before its substeps are taken one by one: in a step in which the whole world lands, one substep after the
/// other asks for more room.
const MOST_REPETITIONS: u32 = 3;

/// Rounds over the whole array before the first report.
const FIRST_WIDE_ROUNDS: u32 = 8;

/// Without resting contacts and with up to so many spheres, a step with an impact out of order is left to the CPU.
const MOST_SPHERES_IN_ORDER: usize = 1 << 17;

/// The GPU engine.
pub type GpuEngine = Driver<GpuExecutor>;

/// Executes the stages on a device, with all their buffers.
pub struct GpuExecutor {
    context: Context,
    pipelines: Arc<Pipelines>,
    buffers: Buffers,
    pub(super) host: HostMirror,
    submit_queue: SubmitQueue,
    /// Index of the latest copy of the state.
    current: usize,
    in_flight: Option<StepInFlight>,
    /// The step submitted after it.
    ahead: Option<StepInFlight>,
    /// Start of the last step: the copy of the state, and the step plan.
    begun: Option<(usize, StepPlan)>,
    /// The box at that start, if the step has shrunk it.
    box_before: Option<PeriodicBox>,
    /// Takes the next step substep-wise, regardless of the last step.
    pub(super) substep_wise: bool,
    /// The CPU took the last step, and applied impacts one by one.
    pub(super) has_chains: bool,
    /// All spheres sleep: no step changes anything.
    is_idle: bool,
    dispatch_budget: DispatchBudget,
    /// Rounds with more pending spheres than one workgroup does well, of the last two reported steps. Each step follows the step
    /// two before it, whether it was submitted ahead or not.
    pub(super) busy_rounds: [u32; 2],
    timing: Option<Timing>,
    /// End time of the last reported step.
    end: f64,
    /// Whether a step was taken. Before the first step, contacts come from another engine.
    has_stepped: bool,
    retries: Retries,
    /// Boxes to watch in the next step and in the step that follows it.
    watches: [BoxSet; 2],
    /// The spheres in the boxes at the end of the last step.
    watched: Option<Watched>,
    /// Number of copies of the whole state to the host.
    downloads: Cell<u64>,
}

/// Costs of a step besides its substeps.
#[derive(Clone, Copy, Debug, Default)]
struct Retries {
    overflows: u64,
    dispatches: u64,
    /// How often the device was idle while the host waited for it.
    waits: u64,
    /// The CPU executed the step.
    on_cpu: bool,
}

impl GpuEngine {
    /// Creates the executor with all its buffers.
    ///
    /// # Errors
    /// [`Error::Capacity`] for more spheres than the device can hold, [`Error::DeviceLost`].
    pub fn new(system: &System, context: Context, profile: bool, time: f64) -> Result<Self, Error> {
        let capacities = Capacities::for_spheres(system.spheres.len(), false);
        Self::with(system, context, capacities, profile, |_| NEVER, time)
    }

    /// As `new`, with given capacities.
    pub fn with(
        system: &System,
        context: Context,
        capacities: Capacities,
        profile: bool,
        last_contact: impl Fn(u32) -> f32,
        time: f64,
    ) -> Result<Self, Error> {
        let (executor, sums, deepest) =
            GpuExecutor::new(system, context, capacities, profile, last_contact, time)?;
        Ok(Self::start(executor, sums, deepest, time))
    }
}

impl GpuExecutor {
    fn new(
        system: &System,
        context: Context,
        capacities: Capacities,
        profile: bool,
        last_contact: impl Fn(u32) -> f32,
        time: f64,
    ) -> Result<(Self, Sums, f32), Error> {
        check_count(system.spheres.len())?;
        let (mut host, state, sums) = HostMirror::for_first_step(system, last_contact);
        host.domain.place_walls(time, 0.0);
        let mut executor = Self::with_host(host, &state, context, capacities, profile, time)?;
        let deepest = executor.deepest_now()?;
        Ok((executor, sums, deepest))
    }

    // Creates the executor of a host mirror and uploads the spheres.
    fn with_host(
        host: HostMirror,
        state: &State,
        context: Context,
        capacities: Capacities,
        profile: bool,
        time: f64,
    ) -> Result<Self, Error> {
        let layout = host.layout(capacities);
        layout.check(&context.device.limits(), host.domain.grid.buckets)?;
        let pipelines = context.pipelines(host.variant());
        let buffers = Buffers::new(&context, &pipelines, layout, None)?;
        let dispatch_budget = DispatchBudget::new(&context);
        let timing = if profile { Timing::new(&context)? } else { None };
        host.upload(&context.queue, &buffers, 0, state);
        Ok(Self {
            context,
            pipelines,
            buffers,
            host,
            submit_queue: SubmitQueue::default(),
            current: 0,
            in_flight: None,
            ahead: None,
            begun: None,
            box_before: None,
            substep_wise: false,
            has_chains: false,
            is_idle: false,
            dispatch_budget,
            busy_rounds: [FIRST_WIDE_ROUNDS; 2],
            timing,
            end: time,
            has_stepped: false,
            retries: Retries::default(),
            watches: [BoxSet::default(); 2],
            watched: None,
            downloads: Cell::new(0),
        })
    }

    /// The engine that goes on from the state of another one.
    ///
    /// # Errors
    /// [`Error::Capacity`], [`Error::DeviceLost`].
    pub(super) fn resume(
        system: &System,
        context: Context,
        profile: bool,
        state: &StagedState,
        time: f64,
    ) -> Result<GpuEngine, Error> {
        check_count(system.spheres.len())?;
        let StagedHead { domain, driver, executor: remembered } = &state.head;
        let mut host = HostMirror::resume(system, domain, remembered.gpu);
        host.domain.place_walls(time, 0.0);
        let capacities = Capacities::for_spheres(system.spheres.len(), false);
        let mut executor = Self::with_host(host, &state.spheres, context, capacities, profile, time)?;
        executor.write_warm_start(&state.warm_start)?;
        if let Some(own) = remembered.gpu {
            (executor.substep_wise, executor.has_chains, executor.is_idle) =
                (own.substep_wise, own.has_chains, own.is_idle);
            executor.busy_rounds = own.busy_rounds;
        }
        Ok(GpuEngine::resume(executor, driver))
    }

    #[cfg(test)]
    pub(super) fn leave_out_walks(&mut self) {
        self.dispatch_budget.leave_out_walks();
    }

    #[cfg(test)]
    pub(super) fn set_pushes(&mut self, pushes: u32) {
        self.dispatch_budget.pushes = pushes;
    }

    #[cfg(test)]
    pub(super) fn set_batches(&mut self, batches: u32) {
        self.dispatch_budget.batches = batches;
    }

    // The step plan of a request, after a step with so many busy rounds.
    fn step_plan(&self, step: &StepRequest, watched: BoxSet, busy_rounds: u32) -> StepPlan {
        let Domain { system, world, statistics, .. } = &self.host.domain;
        StepPlan {
            plan: step.plan,
            wide_rounds: StepPlan::wide_rounds(statistics.count, busy_rounds),
            record: step.records,
            strict: system.solver.strict_order || (!world.rests && statistics.count <= MOST_SPHERES_IN_ORDER),
            leaves_chains: !world.rests,
            wakes: world.features.changes(step.begin, step.begin + system.dt),
            watched,
            dispatch_budget: self.dispatch_budget.within(MOST_TAIL_ROUNDS),
            shrink: step.shrinkage.as_ref().map(|s| self.first_shrink(s)),
        }
    }

    // Submits a step that begins in the box `base`, or in that of the last report.
    fn submit(
        &mut self,
        step: &StepRequest,
        mut step_plan: StepPlan,
        base: Option<&PeriodicBox>,
    ) -> Result<StepInFlight, Error> {
        let at = self.shrunk_box(step, &mut step_plan).or_else(|| base.cloned());
        let Some(mut other) = at.clone() else { return self.submit_here(step, step_plan) };
        self.host.domain.swap_box(&mut other);
        let submitted = self.suit_cells().and_then(|()| self.submit_here(step, step_plan));
        self.host.domain.swap_box(&mut other);
        Ok(StepInFlight { at, ..submitted? })
    }

    fn submit_here(&mut self, step: &StepRequest, step_plan: StepPlan) -> Result<StepInFlight, Error> {
        self.place_walls(step.begin, &step_plan.substeps(&self.host))?;
        let begun = (self.current, step_plan);
        let Self { submit_queue, context, pipelines, buffers, host, timing, .. } = self;
        let in_flight = submit_queue.submit(context, pipelines, buffers, host, begun, timing.as_mut())?;
        self.current = in_flight.end;
        Ok(in_flight)
    }

    // Submits the step after the one in flight, if this leaves the start of the one in flight and its buffers intact.
    fn submit_ahead(&mut self, next: &StepRequest, in_flight: &StepInFlight) -> Result<(), Error> {
        let step_plan = self.step_plan(next, self.watches[1], self.busy_rounds[1]);
        let needs_cells =
            next.plan.regrid.is_some() || next.shrinkage.as_ref().is_some_and(Shrinkage::changes_cells);
        if !self.is_idle && self.timing.is_none() && !needs_cells && step_plan.builds_once() {
            self.ahead = Some(self.submit(next, step_plan, in_flight.at.as_ref())?);
        }
        Ok(())
    }

    fn drop_ahead(&mut self) -> Result<(), Error> {
        if let Some(ahead) = self.ahead.take() {
            let (_, buffer) = ahead.pending.wait(&self.context)?;
            self.submit_queue.give_back(buffer);
        }
        Ok(())
    }

    // Returns to the state before a step. Precondition: no step is in flight.
    fn go_back(&mut self, (start, step_plan): (usize, StepPlan)) {
        self.current = start;
        self.submit_queue.rewind(&self.context, &self.buffers, (start, step_plan));
    }

    // Gives up a step that began in this way because a path is too long.
    fn too_long(&mut self, words: &[u32], begun: (usize, StepPlan)) -> Error {
        self.go_back(begun);
        let id = self.host.ids[(!words[TOO_LONG as usize]) as usize];
        let text =
            format!("sphere {id} passes more than {LONGEST} cells in one substep; choose a smaller dt");
        self.reallocate(self.buffers.layout.capacities).err().unwrap_or(Error::NoProgress(text))
    }

    // Waits for a step; repeats a halted step until it ends.
    fn collect(
        &mut self,
        step: &StepRequest,
        mut in_flight: StepInFlight,
        impacts: Option<&mut Vec<Impact>>,
    ) -> Result<Taken, Error> {
        self.retries.waits += u64::from(self.ahead.is_none());
        let mut repetitions = 0;
        loop {
            let mut step_plan = in_flight.step_plan;
            let begun = (in_flight.start, step_plan);
            let (submitted, waited) = (in_flight.pending.submitted, Instant::now());
            let (bytes, buffer) = in_flight.pending.wait(&self.context)?;
            self.submit_queue.give_back(buffer);
            self.retries.dispatches += in_flight.dispatches;
            if let Some(timing) = &mut self.timing {
                timing.read(&self.context)?;
            }
            let words = words(&bytes);
            let halt = words[HALT as usize];
            // A halted step says little about the time of its dispatches.
            let measured = if halt == 0 { in_flight.dispatches } else { 0 };
            self.submit_queue.pace.measured(submitted, waited, measured);
            if halt == 0 {
                if let Some(mut at) = in_flight.at.take() {
                    self.host.domain.swap_box(&mut at);
                    self.box_before = Some(at);
                }
                let mut device = DeviceCounts::default();
                device.add(&words, &self.buffers.layout);
                device.counts.substeps = step_plan.substep_count();
                if let Some(impacts) = impacts {
                    let begins: Vec<f64> = step_plan.substeps(&self.host).iter().map(|s| s.time).collect();
                    let (context, buffers) = (&self.context, &self.buffers);
                    impacts::read(context, buffers, &self.host, &words, step.begin, &begins, impacts)?;
                }
                return Ok(self.taken(step, begun, &words, device));
            }
            // The step submitted ahead did nothing either.
            self.drop_ahead()?;
            if halt & HALT_TOO_LONG != 0 {
                return Err(self.too_long(&words, begun));
            }
            self.go_back(begun);
            let is_eased = self.ease(&mut step_plan, halt);
            if halt & HALT_OVERFLOW != 0 {
                self.retries.overflows += 1;
                debug!("a buffer of the device was full; the step is repeated with larger buffers");
                self.grow(&words)?;
            } else {
                self.reallocate(self.buffers.layout.capacities)?;
                // Other halt bits may be side effects of a truncated loop.
                let again = is_eased
                    || halt & HALT_CUT != 0 && self.dispatch_budget.spread()
                    || halt & HALT_WALKS != 0 && self.dispatch_budget.walk()
                    || halt & HALT_ITERATIONS != 0
                        && self.dispatch_budget.more_batches(step_plan.dispatch_budget.batches)
                    || halt == HALT_UNFINISHED && self.add_rounds(&mut step_plan, &words, MOST_TAIL_ROUNDS);
                let leaves = HALT_STUCK | if step_plan.leaves_chains { HALT_LATE } else { 0 };
                if halt & leaves != 0 && !again {
                    return self.take_on_cpu(step, impacts);
                } else if !again {
                    return self.take_substep_wise(step, step_plan, impacts);
                }
                step_plan.dispatch_budget = self.dispatch_budget.within(MOST_TAIL_ROUNDS);
            }
            repetitions += u32::from(!is_eased);
            if repetitions > MOST_REPETITIONS && step_plan.substep_count() > 1 {
                return self.take_substep_wise(step, step_plan, impacts);
            }
            in_flight = self.submit(step, step_plan, None)?;
            self.retries.waits += 1;
        }
    }

    // Adds rounds to a substep that left pending impacts: over the whole array if they are many, else in one workgroup.
    fn add_rounds(&mut self, step_plan: &mut StepPlan, words: &[u32], most_rounds: u32) -> bool {
        let is_crowded = words[LEFT_PENDING as usize] > MOST_TAIL_PENDING;
        is_crowded && step_plan.widen()
            || self.dispatch_budget.go_on(most_rounds)
            || !is_crowded && step_plan.widen()
    }

    // Completes a step that has ended; `words` are the words of its audit.
    fn taken(
        &mut self,
        step: &StepRequest,
        begun: (usize, StepPlan),
        words: &[u32],
        device: DeviceCounts,
    ) -> Taken {
        self.dispatch_budget.ended_well(&self.context, device.walked);
        let has_shrunk = begun.1.shrink.is_some_and(|shrink| shrink.halvings <= MOST_SHRINK_HALVINGS);
        if has_shrunk {
            self.dispatch_budget.pushed(device.pushes);
        }
        self.busy_rounds = [self.busy_rounds[1], device.busy_rounds];
        self.is_idle = self.rests_for_ever(&device, step.begin);
        self.watched = Watched::of_report(words, begun.1.watched, &self.host, &self.buffers.layout);
        self.begun = Some(begun);
        let mut counts = device.counts;
        let (sums, [loss, virial, relax_work]) = sums(words, &self.host, &self.buffers.layout);
        counts.dissipated += loss;
        (counts.virial, counts.relax_work) = (virial, relax_work);
        counts.wall_work = counts.felt.iter().map(|sum| sum.work).sum();
        Taken { sums, counts, has_shrunk, instead: None }
    }

    // The state of copy `k`.
    fn download(&self, k: usize) -> Result<State, Error> {
        self.downloads.set(self.downloads.get() + 1);
        self.host.download(&self.context, &self.buffers, k)
    }

    // Index of the copy with the last reported state. A step in flight builds once and only reads this copy, which
    // stays intact until the step after it is submitted.
    fn reported(&self) -> usize {
        self.in_flight.as_ref().map_or(self.current, |in_flight| in_flight.start)
    }
}

impl StepEngine for GpuExecutor {
    fn domain(&self) -> &Domain {
        &self.host.domain
    }

    fn regrid(&mut self, motion_margin: f64) -> Result<(), Error> {
        let mut state = self.download(self.current)?;
        self.host.domain.regrid(&mut state, motion_margin);
        self.load(&state)
    }

    fn idle(&mut self, _begin: f64, end: f64, measured: &Measure) -> Option<StepReport> {
        if !self.is_idle || self.in_flight.is_some() {
            return None;
        }
        self.end = end;
        Some(self.idle_report(measured))
    }

    fn is_under_way(&self) -> bool {
        self.in_flight.is_some()
    }

    fn take(
        &mut self,
        step: &StepRequest,
        next: Option<&StepRequest>,
        impacts: Option<&mut Vec<Impact>>,
    ) -> Result<Taken, Error> {
        self.retries = Retries::default();
        (self.watched, self.box_before) = (None, None);
        self.end = step.begin + self.host.domain.system.dt;
        let in_flight = match self.in_flight.take() {
            Some(in_flight) => in_flight,
            None => {
                let capacities = self.buffers.layout.capacities;
                if step.records && capacities.log <= 1 {
                    let log = Capacities::for_spheres(self.host.domain.statistics.count, true).log;
                    self.reallocate(Capacities { log, ..capacities })?;
                }
                if self.has_chains {
                    // The device would give up again.
                    let taken = self.take_on_cpu(step, impacts)?;
                    self.has_stepped = true;
                    return Ok(taken);
                }
                let step_plan = self.step_plan(step, self.watches[0], self.busy_rounds[0]);
                if step.was_halved || std::mem::take(&mut self.substep_wise) {
                    let taken = self.take_substep_wise(step, step_plan, impacts)?;
                    self.has_stepped = true;
                    return Ok(taken);
                }
                self.submit(step, step_plan, None)?
            }
        };
        if let Some(next) = next
            && in_flight.step_plan.builds_once()
            && let Err(error) = self.submit_ahead(next, &in_flight)
        {
            // The step in flight has yet to be reported.
            self.in_flight = Some(in_flight);
            return Err(error);
        }
        let taken = self.collect(step, in_flight, impacts)?;
        self.in_flight = self.ahead.take();
        self.has_stepped = true;
        Ok(taken)
    }

    fn discard(&mut self) -> Result<(), Error> {
        // The last broad phase found finite values, unless it came after the fault. The step submitted ahead did
        // nothing.
        self.ahead = self.in_flight.take();
        self.drop_ahead()?;
        if let Some(begun) = self.begun.take() {
            self.go_back(begun);
            if let Some(mut before) = self.box_before.take() {
                self.host.domain.swap_box(&mut before);
            }
        }
        self.reallocate(self.buffers.layout.capacities)
    }

    fn deepest_wall(&mut self, end: f64) -> Result<Option<(u32, f64)>, Error> {
        self.find_deepest_wall(end)
    }

    fn complete(&mut self, report: &mut StepReport) {
        report.overflow = self.retries.overflows;
        report.dispatches = self.retries.dispatches;
        report.blocking_reads = self.retries.waits;
        report.submits = std::mem::take(&mut self.submit_queue.submits);
        report.stage_seconds = self.timing.as_mut().map_or_else(Vec::new, Timing::take);
        report.cpu_steps = u64::from(self.retries.on_cpu);
        if self.retries.on_cpu {
            // The device's stage times belong to discarded work.
            report.stage_seconds.clear();
        }
    }

    fn read(&self, spheres: &mut [Sphere]) -> Result<(), Error> {
        let state = self.download(self.reported())?;
        self.host.fill(&state, spheres);
        Ok(())
    }

    fn positions(&self, spheres: &[Sphere]) -> Result<Vec<DVec3>, Error> {
        let Domain { units, grid, .. } = &self.host.domain;
        Ok(self.download(self.reported())?.positions(units, grid, spheres))
    }

    fn watch(&mut self, now: BoxSet, next: BoxSet) {
        self.watches = [now, next];
    }

    fn find(&self, boxes: BoxSet, test: &(dyn Fn(DVec3, f64) -> bool + Sync)) -> Result<Vec<Found>, Error> {
        let Domain { units, grid, .. } = &self.host.domain;
        match self.watched.as_ref().filter(|watched| watched.covers(boxes)) {
            Some(watched) => Ok(watched.find(units, grid, test)),
            None => Ok(self.download(self.reported())?.find(units, grid, test)),
        }
    }

    fn downloads(&self) -> u64 {
        self.downloads.get()
    }

    fn exchange(&mut self, gone: &[Sphere], come: &[Sphere]) -> Result<bool, Error> {
        self.exchange_in_place(gone, come)
    }

    fn call_off(&mut self) -> Result<bool, Error> {
        let Some(in_flight) = self.in_flight.take() else { return Ok(false) };
        let (_, buffer) = in_flight.pending.wait(&self.context)?;
        self.submit_queue.give_back(buffer);
        self.go_back((in_flight.start, in_flight.step_plan));
        self.reallocate(self.buffers.layout.capacities)?;
        Ok(true)
    }

    fn contacts(&self) -> Result<Vec<Contact>, Error> {
        self.read_contacts()
    }

    fn warm_start(&self) -> Result<WarmStartCache, Error> {
        self.read_warm_start()
    }

    fn restore(&mut self, cache: &WarmStartCache) -> Result<(), Error> {
        self.write_warm_start(cache)
    }

    fn checkpoint(&self) -> Result<(State, WarmStartCache, ExecutorState), Error> {
        let Self { substep_wise, has_chains, is_idle, busy_rounds, .. } = *self;
        let own = GpuState { substep_wise, has_chains, is_idle, busy_rounds, ..self.host.state() };
        let state = self.download(self.reported())?;
        let remembered = ExecutorState { cpu: None, gpu: Some(own) };
        Ok((state, self.read_contacts_and_timers()?, remembered))
    }

    fn memory_bytes(&self) -> usize {
        (self.buffers.layout.bytes() + self.submit_queue.bytes()) as usize
    }

    fn device_buffers(&self) -> Vec<DeviceBuffer> {
        let limits = self.context.device.limits();
        let limit = limits.max_buffer_size.min(limits.max_storage_buffer_binding_size);
        let sizes = self.buffers.layout.sizes().into_iter();
        sizes.map(|(name, bytes)| DeviceBuffer { name, bytes, limit }).collect()
    }

    fn renewed(&self, system: &System, time: f64) -> Result<(Self, Sums, f32), Error> {
        let state = self.download(self.current)?;
        let contacts: Vec<f32> = by_rank(&state, &self.host.ids, |i| state.spin[i].w);
        let last_contact = |id| self.host.ids.binary_search(&id).map_or(NEVER, |rank| contacts[rank]);
        let capacities = self.buffers.layout.capacities;
        let profile = self.timing.is_some();
        let (renewed, sums, deepest) =
            Self::new(system, self.context.clone(), capacities, profile, last_contact, time)?;
        renewed.downloads.set(self.downloads.get());
        Ok((renewed, sums, deepest))
    }

    fn state_buffers(&self) -> Option<StateBuffers> {
        Some(self.reported_buffers())
    }
}

fn check_count(spheres: usize) -> Result<(), Error> {
    match spheres {
        0..=Candidate::MAX_SPHERES => Ok(()),
        _ => Err(Error::Capacity(format!(
            "{spheres} spheres, but the gpu backend holds at most {}",
            Candidate::MAX_SPHERES
        ))),
    }
}

fn words(bytes: &[u8]) -> Vec<u32> {
    bytemuck::pod_collect_to_vec(bytes)
}

// One value per sphere in the order of the ids.
fn by_rank<T: Clone>(state: &State, ids: &[u32], value: impl Fn(usize) -> T) -> Vec<T> {
    let mut order: Vec<usize> = (0..ids.len()).collect();
    order.sort_unstable_by_key(|&i| state.id[i]);
    order.into_iter().map(value).collect()
}
