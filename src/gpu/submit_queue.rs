//! Submits steps to the device and reads their reports.

use std::time::Instant;

use glam::DVec3;

use super::{
    Context,
    buffer_layout::BufferLayout,
    buffers::{Buffers, make_buffer},
    encode::Encoder,
    host_mirror::HostMirror,
    layout::{
        ASLEEP_COUNT, AUDIT_SUMS, BUSY_ROUNDS, CLASS_COUNTS, CONTACT_TIME_COUNT, CROWDED_COUNT, DEEPEST,
        DEEPEST_CRUSHED, FAST_MAX, LATE_COUNT, NONFINITE_COUNT, NONFINITE_FIRST, PAIR_COUNT, PART_WORDS,
        PUSH_COUNT, ROUNDS_MAX, SAMPLE_WORDS, STOPPED_COUNT, WAKE_STATE, WALKED, WALL_COUNT, WALL_LOAD_WORDS,
    },
    pipelines::Pipelines,
    readback::Pending,
    snapshot::Snapshot,
    step_plan::StepPlan,
    submit_pace::SubmitPace,
    timing::Timing,
};
use crate::{
    Error,
    state::sums::{CLASSES, SAMPLE, Sums, median},
    step::{
        driver::{StepCounts, WallSum},
        shrinkage::PeriodicBox,
    },
};

/// A step in flight.
pub struct StepInFlight {
    pub step_plan: StepPlan,
    /// Indices of the copies of the state before and after the step.
    pub start: usize,
    pub end: usize,
    pub dispatches: u64,
    pub pending: Pending,
    /// The box in which the step runs, if it is not that of the last report.
    pub at: Option<PeriodicBox>,
}

/// Submits steps and keeps the buffers that read back their reports.
#[derive(Default)]
pub struct SubmitQueue {
    spare: Vec<wgpu::Buffer>,
    /// The state at the start of a step with several broad phases.
    start: Snapshot,
    /// The state before the substep in flight.
    pub middle: Snapshot,
    pub submits: u64,
    pub pace: SubmitPace,
}

impl SubmitQueue {
    /// Size of the snapshots (bytes).
    pub fn bytes(&self) -> u64 {
        let spare = self.spare.iter().map(wgpu::Buffer::size).sum::<u64>();
        spare + self.start.bytes() + self.middle.bytes()
    }

    /// Takes back the buffer of a report.
    pub fn give_back(&mut self, buffer: wgpu::Buffer) {
        self.spare.push(buffer);
    }

    /// Submits a step that starts from a copy of the state and follows a step plan.
    ///
    /// # Errors
    /// [`Error::Capacity`], [`Error::DeviceLost`].
    pub fn submit(
        &mut self,
        context: &Context,
        pipelines: &Pipelines,
        buffers: &mut Buffers,
        host: &HostMirror,
        (start, step_plan): (usize, StepPlan),
        timing: Option<&mut Timing>,
    ) -> Result<StepInFlight, Error> {
        context.check()?;
        let frames = step_plan.frames(host, &buffers.layout);
        buffers.write_frames(context, pipelines, &frames)?;
        self.make_room_for_start(context, buffers, &step_plan)?;
        let has_drag = host.domain.half_drag() > 0.0;
        let budget = step_plan.dispatch_budget;
        let mut encoder = Encoder::new(context, pipelines, buffers, start, budget, timing, has_drag)
            .divide(self.pace.most_dispatches(context, host.domain.statistics.count))
            .shrink(step_plan.shrink.map(|shrink| shrink.pushes))
            .wake(step_plan.wakes);
        if let Some(keep) = self.keep_start(buffers, (start, step_plan)) {
            encoder.other(keep);
        }
        encoder.begin();
        for (k, substep) in (0..).zip(step_plan.substeps(host)) {
            if substep.builds {
                encoder.broad_phase(k, substep.begins());
            }
            encoder.substep(k, step_plan.wide_rounds);
        }
        encoder.end(step_plan.substep_count(), !step_plan.watched.is_empty());
        let (end, dispatches) = (encoder.current, encoder.dispatches);
        let pending = self.send(context, buffers, encoder)?;
        Ok(StepInFlight { step_plan, start, end, dispatches, pending, at: None })
    }

    /// Submits the encoded commands and requests their report.
    ///
    /// # Errors
    /// [`Error::Capacity`] if the device has no memory for the report.
    pub fn send(
        &mut self,
        context: &Context,
        buffers: &Buffers,
        mut encoder: Encoder,
    ) -> Result<Pending, Error> {
        let layout = &buffers.layout;
        let (counts, bytes) = (4 * layout.report_words(), layout.report_bytes());
        let usage = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
        let readback = match self.spare.pop().filter(|buffer| buffer.size() >= bytes) {
            Some(buffer) => buffer,
            None => make_buffer(context, "report", bytes, usage)?,
        };
        let (work, into) = (buffers.work.clone(), readback.clone());
        let felt = 4 * u64::from(layout.wall_loads);
        encoder.other(move |commands| {
            commands.copy_buffer_to_buffer(&work, 0, &into, 0, counts);
            if bytes > counts {
                // The watched spheres follow the wall loads.
                commands.copy_buffer_to_buffer(&work, felt, &into, counts, bytes - counts);
            }
        });
        let (mut submission, commands) = (None, encoder.finish()?);
        // Without the time in which pipelines were compiled.
        let submitted = Instant::now();
        for commands in commands {
            submission = Some(context.queue.submit([commands]));
            self.submits += 1;
        }
        let submission = submission.expect("an encoder finishes with at least one command buffer");
        Ok(Pending::new(readback, bytes, submission, submitted))
    }

    /// Allocates a snapshot of the state at the start of a step that overwrites it.
    ///
    /// # Errors
    /// [`Error::Capacity`] if the device has no memory for the snapshot.
    pub fn make_room_for_start(
        &mut self,
        context: &Context,
        buffers: &Buffers,
        step_plan: &StepPlan,
    ) -> Result<(), Error> {
        if step_plan.builds_once() {
            return Ok(());
        }
        self.start.reallocate(context, &buffers.state(0))
    }

    /// The commands that keep the state at the start of a step, if the step overwrites it.
    pub fn keep_start(
        &self,
        buffers: &Buffers,
        (start, step_plan): (usize, StepPlan),
    ) -> Option<impl FnOnce(&mut wgpu::CommandEncoder) + use<>> {
        (!step_plan.builds_once()).then(|| self.start.keep(&buffers.state(start)))
    }

    /// Restores the state at the start of a step if the step has overwritten it. Precondition: nothing else is in
    /// flight.
    pub fn rewind(&mut self, context: &Context, buffers: &Buffers, (start, step_plan): (usize, StepPlan)) {
        if !step_plan.builds_once() {
            self.start.put_back(context, &buffers.state(start));
        }
    }
}

/// Counters of the device in a step, besides the sums of its audit.
#[derive(Clone, Debug, Default)]
pub struct DeviceCounts {
    pub counts: StepCounts,
    /// Passes of pushes that the smaller box needed.
    pub pushes: u32,
    /// Whether any sphere is awake after the last substep.
    pub awake: bool,
    /// Whether dispatches searched the path of any fast sphere.
    pub walked: bool,
    /// Most rounds of a substep with more pending spheres than one workgroup does well.
    pub busy_rounds: u32,
}

impl DeviceCounts {
    /// Adds the report of one submission.
    pub fn add(&mut self, words: &[u32], layout: &BufferLayout) {
        let count = |at: u32| u64::from(words[at as usize]);
        let counts = &mut self.counts;
        counts.pairs += count(PAIR_COUNT);
        counts.walls += count(WALL_COUNT);
        counts.contact_time += count(CONTACT_TIME_COUNT);
        counts.late += count(LATE_COUNT);
        counts.crowded += count(CROWDED_COUNT);
        counts.stopped += count(STOPPED_COUNT);
        counts.rounds = counts.rounds.max(words[ROUNDS_MAX as usize]);
        counts.fast = counts.fast.max(count(FAST_MAX));
        counts.deepest = f32::from_bits(words[DEEPEST as usize]);
        counts.crushes |= words[DEEPEST_CRUSHED as usize] != 0;
        counts.asleep = count(ASLEEP_COUNT);
        self.awake = words[WAKE_STATE as usize] != 0;
        self.pushes += words[PUSH_COUNT as usize];
        self.walked |= words[WALKED as usize] != 0;
        self.busy_rounds = self.busy_rounds.max(words[BUSY_ROUNDS as usize]);
        let words = &words[layout.report_words() as usize..][..layout.wall_load_words as usize];
        let [rest_work, felt @ ..] = words.as_chunks::<3>().0 else { return };
        counts.dissipated += exact(*rest_work);
        counts.felt.resize(layout.static_world.walls as usize, WallSum::default());
        for (sum, words) in counts.felt.iter_mut().zip(felt.chunks_exact(WALL_LOAD_WORDS as usize / 3)) {
            let vector = |at: usize| DVec3::new(exact(words[at]), exact(words[at + 1]), exact(words[at + 2]));
            sum.impulse -= vector(0);
            sum.twist -= vector(3);
            sum.work += exact(words[6]);
        }
    }
}

// Converts a sum in units of 2^-64, least significant word first.
fn exact([low, middle, high]: [u32; 3]) -> f64 {
    let parts = i128::from(high as i32) << 64 | i128::from(middle) << 32 | i128::from(low);
    parts as f64 / 2.0f64.powi(64)
}

/// The sums of an audit from the words of a report, with the losses of impacts, the virial and the work of relaxation.
pub fn sums(words: &[u32], host: &HostMirror, layout: &BufferLayout) -> (Sums, [f64; 3]) {
    let mut total = [0.0; AUDIT_SUMS as usize];
    let parts = &words[PART_WORDS as usize..][..(layout.parts() * AUDIT_SUMS) as usize];
    for part in parts.chunks_exact(AUDIT_SUMS as usize) {
        total.iter_mut().zip(part).for_each(|(sum, &word)| *sum += f64::from(f32::from_bits(word)));
    }
    let vector = |at: usize| DVec3::new(total[at], total[at + 1], total[at + 2]);
    let count = host.domain.statistics.count;
    let stride = count.div_ceil(SAMPLE).max(1);
    let sampled = count.div_ceil(stride);
    let sample = &words[SAMPLE_WORDS as usize..][..3 * sampled];
    let axis =
        |k: usize| median(&mut sample.chunks_exact(3).map(|velocity| f32::from_bits(velocity[k])).collect());
    let speeds = &words[CLASS_COUNTS as usize..][..CLASSES];
    let nonfinite = u64::from(words[NONFINITE_COUNT as usize]);
    let first = (!words[NONFINITE_FIRST as usize]) as usize;
    let sums = Sums {
        kinetic: total[0],
        spin: total[13],
        momentum: vector(1),
        mass_position: vector(4) * host.domain.grid.exact_edge + vector(7),
        drift: DVec3::new(axis(0), axis(1), axis(2)),
        nonfinite,
        first_nonfinite: if nonfinite > 0 { host.ids[first] } else { u32::MAX },
        ..Sums::default()
    };
    (sums.with_speeds(speeds, count as u64), [total[10], total[11], total[12]])
}
