//! Steps under way on the device: how each is submitted, and what it says when it is done.

use std::collections::VecDeque;

use glam::DVec3;

use super::{
    Context,
    buffers::{Buffers, make_buffer},
    effort::Effort,
    encode::Encoder,
    host::Host,
    layout::{
        AUDIT_SUMS, CLASS_COUNTS, FLAG_FIRST_BUILD, FLAG_GRAVITY, FLAG_RECORD, FLAG_STRICT, Frame,
        MOST_WIDE_ROUNDS, NONFINITE_COUNT, NONFINITE_FIRST, PART_WORDS, SAMPLE_WORDS,
    },
    pipelines::Pipelines,
    places::Places,
    readback::Pending,
    timing::Timing,
};
use crate::{
    Error,
    model::{
        plan::Plan,
        sums::{CLASSES, SAMPLE, Sums, exceeded_by, median},
    },
};

/// Systems this small are done by the one workgroup of the last stage of the rounds alone: fewer dispatches.
const SMALL: usize = 2048;

/// How a step is divided on the device.
#[derive(Clone, Copy, Debug)]
pub struct Division {
    pub plan: Plan,
    /// How often its substeps were halved.
    pub halvings: u32,
    /// Rounds over the whole array in each substep.
    pub wide_rounds: u32,
    pub record: bool,
    pub strict: bool,
    pub effort: Effort,
}

impl Division {
    pub fn substeps(&self) -> u32 {
        self.plan.substeps << self.halvings
    }

    fn substeps_per_build(&self) -> u32 {
        self.plan.substeps_per_build << self.halvings
    }

    /// Whether the state before the step is still there after it.
    pub fn builds_once(&self) -> bool {
        self.substeps_per_build() >= self.substeps()
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

    /// The frames of a step of length `dt`, that of the audit last.
    pub fn frames(&self, host: &Host, places: &Places, dt: f64) -> Vec<Frame> {
        let plan = &self.plan;
        let h = dt / f64::from(self.substeps());
        let gravity = host.world.gravity.as_dvec3();
        let mut flags = 0;
        for (flag, set) in
            [(FLAG_GRAVITY, host.world.has_gravity), (FLAG_RECORD, self.record), (FLAG_STRICT, self.strict)]
        {
            flags |= if set { flag } else { 0 };
        }
        let base = Frame {
            h: h as f32,
            budget: plan.budget,
            wide_rounds: self.wide_rounds,
            tail_rounds: self.effort.tail_rounds,
            radius_min: host.census.radius_min as f32,
            flags,
            ..places.frame(&host.grid, &host.world, host.census.radius_max as f32)
        };
        let (mut drift, mut drifted, mut drift_reach) = (DVec3::ZERO, DVec3::ZERO, 0.0);
        let mut frames = vec![];
        for k in 0..self.substeps() {
            if k % self.substeps_per_build() == 0 {
                let span = h * f64::from(self.substeps_per_build().min(self.substeps() - k));
                (drift, drifted) = (plan.drift + gravity * (h * f64::from(k)), DVec3::ZERO);
                drift_reach = drift.length() * span + gravity.length() * span * span;
            }
            frames.push(Frame {
                drift: drift.as_vec3(),
                drifted: drifted.as_vec3(),
                drift_reach: drift_reach as f32,
                substep: k,
                flags: flags | if k == 0 { FLAG_FIRST_BUILD } else { 0 },
                ..base
            });
            drifted += drift * h + gravity * (0.5 * h * h);
            drift += gravity * h;
        }
        frames.push(Frame { drift: plan.drift.as_vec3(), ..base });
        frames
    }
}

/// A step under way.
pub struct Flight {
    /// Counted from 0.
    pub step: u64,
    pub division: Division,
    /// The copy of the state it started from.
    pub start: usize,
    pub dispatches: u64,
    pub pending: Pending,
}

/// Submits steps and keeps the buffers that bring their reports back.
pub struct Runway {
    spare: Vec<wgpu::Buffer>,
    /// Copies of the state at the start of a step with several broad phases.
    snapshot: Option<[wgpu::Buffer; 2]>,
    pub submits: u64,
}

impl Runway {
    pub fn new() -> Self {
        Self { spare: vec![], snapshot: None, submits: 0 }
    }

    /// Bytes of what it holds.
    pub fn bytes(&self) -> u64 {
        let spare = self.spare.iter().map(wgpu::Buffer::size).sum::<u64>();
        spare + self.snapshot.iter().flatten().map(wgpu::Buffer::size).sum::<u64>()
    }

    /// Takes a report's buffer back.
    pub fn give_back(&mut self, buffer: wgpu::Buffer) {
        self.spare.push(buffer);
    }

    /// Submits a step; `current` becomes the copy with its result.
    ///
    /// # Errors
    /// [`Error::Capacity`], [`Error::DeviceLost`].
    #[allow(clippy::too_many_arguments)]
    pub fn submit(
        &mut self,
        context: &Context,
        pipelines: &Pipelines,
        buffers: &mut Buffers,
        host: &Host,
        dt: f64,
        step: u64,
        division: Division,
        current: &mut usize,
        timing: Option<&mut Timing>,
    ) -> Result<Flight, Error> {
        context.check()?;
        let start = *current;
        let frames = division.frames(host, &buffers.places, dt);
        buffers.write_frames(context, pipelines, &frames)?;
        if !division.builds_once() {
            self.make_snapshot(context, buffers)?;
        }
        let bytes = 4 * buffers.places.report_words();
        let usage = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
        let readback = match self.spare.pop().filter(|buffer| buffer.size() >= bytes) {
            Some(buffer) => buffer,
            None => make_buffer(context, "report", bytes, usage)?,
        };
        let mut encoder = Encoder::new(&context.device, pipelines, buffers, start, division.effort, timing);
        if let Some(snapshot) = self.snapshot.as_ref().filter(|_| !division.builds_once()) {
            for (from, to) in [(&buffers.bodies[start], &snapshot[0]), (&buffers.tags[start], &snapshot[1])] {
                encoder.encoder.copy_buffer_to_buffer(from, 0, to, 0, from.size());
            }
        }
        encoder.begin();
        for k in 0..division.substeps() {
            if k % division.substeps_per_build() == 0 {
                encoder.broad_phase(k);
            }
            encoder.substep(k, division.wide_rounds);
        }
        encoder.audit(division.substeps());
        if let Some(timing) = encoder.timing {
            timing.resolve(&mut encoder.encoder);
        }
        encoder.encoder.copy_buffer_to_buffer(&buffers.work, 0, &readback, 0, bytes);
        *current = encoder.current;
        let dispatches = encoder.dispatches;
        let submission = context.queue.submit([encoder.encoder.finish()]);
        self.submits += 1;
        let pending = Pending::new(readback, bytes, submission);
        Ok(Flight { step, division, start, dispatches, pending })
    }

    fn make_snapshot(&mut self, context: &Context, buffers: &Buffers) -> Result<(), Error> {
        let sizes = [buffers.bodies[0].size(), buffers.tags[0].size()];
        if self.snapshot.as_ref().is_none_or(|s| [s[0].size(), s[1].size()] != sizes) {
            let usage = wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
            self.snapshot = Some([
                make_buffer(context, "snapshot", sizes[0], usage)?,
                make_buffer(context, "snapshot", sizes[1], usage)?,
            ]);
        }
        Ok(())
    }

    /// Puts the state at the start of a step back, where the step has written over it. Nothing else is under way.
    pub fn rewind(&mut self, context: &Context, buffers: &Buffers, flight: (usize, Division)) {
        let (start, division) = flight;
        if let Some(snapshot) = self.snapshot.as_ref().filter(|_| !division.builds_once()) {
            let mut encoder = context.device.create_command_encoder(&Default::default());
            for (from, to) in [(&snapshot[0], &buffers.bodies[start]), (&snapshot[1], &buffers.tags[start])] {
                encoder.copy_buffer_to_buffer(from, 0, to, 0, from.size());
            }
            context.queue.submit([encoder.finish()]);
        }
    }
}

/// The sums of an audit from the words of a report.
pub fn sums(words: &[u32], host: &Host, places: &Places) -> (Sums, [f64; 3]) {
    let mut total = [0.0; AUDIT_SUMS as usize];
    let parts = &words[PART_WORDS as usize..][..(places.parts() * AUDIT_SUMS) as usize];
    for part in parts.chunks_exact(AUDIT_SUMS as usize) {
        total.iter_mut().zip(part).for_each(|(sum, &word)| *sum += f64::from(f32::from_bits(word)));
    }
    let vector = |at: usize| DVec3::new(total[at], total[at + 1], total[at + 2]);
    let count = host.census.count;
    let stride = count.div_ceil(SAMPLE).max(1);
    let sampled = count.div_ceil(stride);
    let sample = &words[SAMPLE_WORDS as usize..][..3 * sampled];
    let axis =
        |k: usize| median(&mut sample.chunks_exact(3).map(|velocity| f32::from_bits(velocity[k])).collect());
    let speeds = &words[CLASS_COUNTS as usize..][..CLASSES];
    let n = count as u64;
    let nonfinite = u64::from(words[NONFINITE_COUNT as usize]);
    let first = (!words[NONFINITE_FIRST as usize]) as usize;
    let sums = Sums {
        kinetic: total[0],
        momentum: vector(1),
        mass_position: vector(4) * host.grid.exact_edge + vector(7),
        drift: DVec3::new(axis(0), axis(1), axis(2)),
        nonfinite,
        first_nonfinite: if nonfinite > 0 { host.ids[first] } else { u32::MAX },
        bulk_speed: exceeded_by(speeds, n / 10),
        crowd_speed: exceeded_by(speeds, n / 50),
        high_speed: exceeded_by(speeds, n / 5000),
    };
    (sums, [total[10], total[11], total[12]])
}

/// The last steps' figures by their number.
pub type History<T> = VecDeque<(i64, T)>;
