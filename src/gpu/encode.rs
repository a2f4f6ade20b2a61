//! Encodes a step as device commands, stage by stage in the order of the schedule. The host takes no decision in between.

use std::{convert::Infallible, ops::Range};

use super::{
    Context,
    buffers::{Buffers, UNIFORM_STRIDE, round_offset},
    dispatch_budget::DispatchBudget,
    layout::{
        ALL_COLOURS, BLOCKS_AT_ONCE, CANDIDATE_COUNT, COLOUR_BITS, COLOURS, DENSE_ROUNDS, DYNAMIC_COUNT,
        LAST_PUSH, LAUNCH, LONG_COUNT, NO_BATCH, SCAN_PART, STEP_END, STICKY_END, first_iteration,
    },
    pipelines::Pipelines,
    timing::Timing,
};
use crate::Error;
use crate::state::constants::{
    ITERATION_BATCHES, ITERATIONS_AFTER, ITERATIONS_BEFORE, RELAX_PATIENCE, RELAX_PUSHES,
};
use crate::step::schedule::{
    self, BROAD_PHASE, Entry, Executor, PUSH_APART, Pass, SHRINK, STEP_BEGIN, SUBSTEP_END, When, execute,
    execute_rounds,
};

const COMMANDS: wgpu::CommandEncoderDescriptor = wgpu::CommandEncoderDescriptor { label: Some("step") };

/// Workgroups for the traversals of fast spheres, which are usually absent.
const WALK_GROUPS: u32 = 256;

/// Workgroups for the spheres that meet fast ones.
const APART_GROUPS: u32 = 64;

/// A part of the commands of a step.
enum Command<'a> {
    /// The dispatches of a stage, on a bind group and with the uniforms of a frame.
    Stage { stage: &'static str, group: &'a wgpu::BindGroup, frame: u32, dispatches: Vec<Dispatch> },
    /// Anything between two stages.
    Other(Box<dyn FnOnce(&mut wgpu::CommandEncoder) + 'a>),
}

/// Collects the commands of the stages on the buffers. [`finish`](Self::finish) compiles the pipelines that they need.
pub struct Encoder<'a> {
    context: &'a Context,
    commands: Vec<Command<'a>>,
    /// Largest number of dispatches in one submit.
    most_dispatches: u64,
    pipelines: &'a Pipelines,
    pub buffers: &'a Buffers,
    timing: Option<&'a mut Timing>,
    /// Index of the current copy of the state.
    pub current: usize,
    pub dispatch_budget: DispatchBudget,
    pub dispatches: u64,
    /// The frame in which the order of contacts is summed.
    pub order_frame: u32,
    /// The frame of the substep being encoded.
    frame: u32,
    /// The next round to encode, and the number of rounds over the whole array.
    next_round: u32,
    wide_rounds: u32,
    has_drag: bool,
    /// Passes of pushes at the start of a step that shrinks the box.
    pushes: Option<u32>,
    /// The next broad phase sorts the scaled positions.
    is_scaled: bool,
    /// Walls appear or disappear in the step.
    wakes: bool,
}

/// One dispatch: entry point, round, workgroups.
pub type Dispatch = (&'static str, u32, u32);

/// Pushes apart the spheres that overlap in a smaller box, in so many passes.
pub fn push_apart(all: u32, passes: u32) -> Vec<Dispatch> {
    // The shader tells passes apart by their parity and by the counter of three in turn.
    let number = |pass: u32| if pass == 0 { 0 } else { 1 + (pass - 1) % 6 };
    let pushes = (0..passes).map(|pass| ("compress_push", number(pass), all));
    pushes.chain([("compress_settle", 0, all)]).collect()
}

/// Finds the candidates, with workgroups for `all` spheres.
pub fn neighbors(all: u32) -> [Dispatch; 2] {
    [("neighbors", 0, all), ("neighbors_long", 0, all)]
}

/// Number of workgroups that every device allows along one axis.
const MOST_SOLVERS: u32 = 32_768;

/// Most spheres whose contacts a single workgroup solves, which saves dispatches.
const FEW: u32 = 2048;

/// How resting contacts are solved.
#[derive(Clone, Copy, Debug)]
pub struct Solving {
    pub sphere_count: u32,
    pub slots: u32,
    /// Workgroups for all spheres.
    pub all: u32,
    /// Batches of iterations after the rounds. Without one, a step that needs one is repeated.
    pub batches: u32,
}

impl Solving {
    // Iterations over all contacts.
    fn iterations(self, iterations: Range<u32>) -> Vec<Dispatch> {
        if self.sphere_count <= FEW {
            // One dispatch runs the iterations of a single batch: a driver may end loops that run for too long.
            let step = if iterations.start == 0 { iterations.len() } else { ITERATIONS_AFTER as usize };
            return iterations
                .step_by(step)
                .map(|pass| ("rest_solve", pass << COLOUR_BITS | ALL_COLOURS, 1))
                .collect();
        }
        // Above this number each workgroup solves several blocks.
        let solvers = self.slots.min(self.all.saturating_mul(4)).min(MOST_SOLVERS);
        let of_iteration = |pass| (0..COLOURS).map(move |colour| pass << COLOUR_BITS | colour);
        iterations.flat_map(of_iteration).map(|number| ("rest_solve", number, solvers)).collect()
    }

    // Orders the constraints of a batch.
    fn order(self, batch: u32) -> Dispatch {
        let groups = self.slots.saturating_mul(COLOURS / BLOCKS_AT_ONCE);
        let most = self.all.saturating_mul(4).min(MOST_SOLVERS);
        ("rest_order", first_iteration(batch) << COLOUR_BITS, groups.clamp(1, most))
    }

    /// Finds the resting contacts and solves them for the first time.
    pub fn before(self) -> Vec<Dispatch> {
        let all = self.all;
        let mut dispatches = vec![("rest_find", 0, all), ("rest_enter", 0, all), self.order(0)];
        dispatches.extend(self.iterations(0..ITERATIONS_BEFORE));
        dispatches.extend([("rest_mark", 0, all), ("rest_leave", 0, all)]);
        dispatches
    }

    /// Solves the resting contacts again after the rounds, over the remainder of the substep.
    pub fn after(self) -> Vec<Dispatch> {
        let (all, mut dispatches) = (self.all, vec![]);
        if self.batches == 0 {
            let number = first_iteration(1) << COLOUR_BITS;
            return vec![("rest_update", number, all), ("rest_ahead", number | NO_BATCH, all)];
        }
        for batch in 1..=self.batches.min(ITERATION_BATCHES) {
            let number = first_iteration(batch) << COLOUR_BITS;
            dispatches.extend([("rest_update", number, all), ("rest_enter", number, all), self.order(batch)]);
            dispatches.extend(self.iterations(first_iteration(batch)..first_iteration(batch + 1)));
            dispatches.extend([("rest_mark", number, all), ("rest_leave", number, all)]);
            if batch < ITERATION_BATCHES {
                let last = if batch == self.batches { ALL_COLOURS } else { 0 };
                dispatches.push(("rest_ahead", number | last, all));
            }
        }
        dispatches
    }
}

/// Stores the warm-start data of the contacts for the next substep.
pub fn keep(all: u32) -> [Dispatch; 2] {
    [("rest_wake", 0, all), ("rest_keep", 0, all)]
}

/// Measures overlaps and pushes overlapping spheres apart. Each push does nothing unless the one before left deep overlaps.
pub fn relax(all: u32, pushes: Range<u32>) -> Vec<Dispatch> {
    let Range { start: first, end } = pushes;
    // A step that needs more pushes is repeated.
    let last = if end < RELAX_PUSHES || pushes.is_empty() { LAST_PUSH } else { 0 };
    let measured = if pushes.is_empty() { first | last } else { first };
    let pushes = pushes.flat_map(|push| {
        let last = if push + 1 == end { last } else { 0 };
        [("relax_push", push, all), ("relax_apply", push, all), ("relax", push | last, all)]
    });
    std::iter::once(("relax_deepest", measured, all)).chain(pushes).collect()
}

/// Pushes with two batches of iterations. They show, too, that pushes do not change an overlap.
const SOME_PUSHES: u32 = 2 * RELAX_PATIENCE;

const _: () = assert!(SOME_PUSHES < RELAX_PUSHES && RELAX_PUSHES <= LAST_PUSH);

/// The pushes of a substep with so many batches of iterations. If at most one batch is needed, usually one push suffices, and none where
/// nothing rests. With two there are [`SOME_PUSHES`], with more all. A step that leaves a deep overlap, which more pushes could reduce, is
/// repeated with more batches.
pub fn pushes(rests: bool, batches: u32) -> Range<u32> {
    let first = first_push(rests);
    match (rests, batches) {
        (true, 0 | 1) => first..first + 1,
        (true, 2) => first..first + SOME_PUSHES,
        (false, 0) => first..first,
        _ => first..RELAX_PUSHES,
    }
}

/// Number of the first push of a substep; the last one has the same number everywhere.
pub fn first_push(rests: bool) -> u32 {
    if rests { 0 } else { RELAX_PUSHES - 1 }
}

/// Searches the paths of the spheres that have become fast.
pub fn walk(round: u32, groups: u32) -> [Dispatch; 2] {
    [("collide_walk", round, groups), ("collide_meet", round, groups)]
}

/// Sweeps all spheres.
pub fn sweep(all: u32) -> [Dispatch; 2] {
    [("sweep", 0, all), ("sweep_apart", 0, all.min(APART_GROUPS))]
}

/// Selects the next events of a round; `some` workgroups suffice for the spheres that take part.
pub fn select(round: u32, some: u32, all: u32) -> [Dispatch; 4] {
    // A round over all spheres propagates over the whole array first, then around the spheres that meet a fast one.
    let [second, third] = if round < DENSE_ROUNDS {
        [("select_propagate", round, all), ("select_around", round, some)]
    } else {
        [("select_around", round, some), ("select_propagate", round, some)]
    };
    [("select_near", round, some), second, third, ("select_impacts", round, some)]
}

/// Sweeps the spheres again that a round has changed.
pub fn resweep(round: u32, some: u32, all: u32) -> [Dispatch; 2] {
    let marks = if round < DENSE_ROUNDS { all } else { some };
    [("sweep_mark", round, marks), ("sweep_touched", round, some)]
}

impl<'a> Encoder<'a> {
    pub fn new(
        context: &'a Context,
        pipelines: &'a Pipelines,
        buffers: &'a Buffers,
        current: usize,
        dispatch_budget: DispatchBudget,
        timing: Option<&'a mut Timing>,
        has_drag: bool,
    ) -> Self {
        // The last of all frames.
        let order_frame = buffers.frame_count - 1;
        Self {
            context,
            commands: vec![],
            most_dispatches: u64::MAX,
            pipelines,
            buffers,
            timing,
            current,
            dispatch_budget,
            dispatches: 0,
            order_frame,
            frame: 0,
            next_round: 0,
            wide_rounds: 0,
            has_drag,
            pushes: None,
            is_scaled: false,
            wakes: false,
        }
    }

    /// Lets the start of the step shrink the box, with so many passes of pushes.
    pub fn shrink(mut self, pushes: Option<u32>) -> Self {
        self.pushes = pushes;
        self
    }

    /// Lets every substep begin with the spheres awake that touch walls which appear or disappear in the step.
    pub fn wake(mut self, wakes: bool) -> Self {
        self.wakes = wakes;
        self
    }

    /// Begins another submit after so many dispatches.
    pub fn divide(mut self, most_dispatches: u64) -> Self {
        self.most_dispatches = most_dispatches;
        self
    }

    /// The commands of each submit, in order.
    ///
    /// # Errors
    /// As [`Pipelines::compile`].
    pub fn finish(self) -> Result<Vec<wgpu::CommandBuffer>, Error> {
        let Self { context, commands, most_dispatches, pipelines, buffers, mut timing, .. } = self;
        let stages = commands.iter().filter_map(|command| match command {
            Command::Stage { dispatches, .. } => Some(dispatches),
            Command::Other(_) => None,
        });
        pipelines.compile(context, stages.flatten().map(|(entry, _, _)| *entry))?;
        let next = || context.device.create_command_encoder(&COMMANDS);
        let (mut finished, mut encoder, mut unfinished) = (vec![], next(), 0);
        for command in commands {
            let (stage, group, frame, dispatches) = match command {
                Command::Stage { stage, group, frame, dispatches } => (stage, group, frame, dispatches),
                Command::Other(encode) => {
                    encode(&mut encoder);
                    continue;
                }
            };
            let mut left = dispatches.as_slice();
            while !left.is_empty() {
                if unfinished >= most_dispatches {
                    finished.push(std::mem::replace(&mut encoder, next()).finish());
                    unfinished = 0;
                }
                let room = usize::try_from(most_dispatches - unfinished).unwrap_or(usize::MAX);
                let (now, later) = left.split_at(room.min(left.len()));
                let timestamp_writes = timing.as_deref_mut().and_then(|timing| timing.writes(stage));
                let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
                    label: Some(stage),
                    timestamp_writes,
                });
                pass.set_bind_group(1, group, &[]);
                for &(entry, round, groups) in now {
                    let offsets = [frame * UNIFORM_STRIDE as u32, round_offset(round)];
                    pass.set_bind_group(0, &buffers.uniforms, &offsets);
                    pass.set_pipeline(pipelines.get(entry));
                    pass.dispatch_workgroups(groups, 1, 1);
                }
                drop(pass);
                unfinished += now.len() as u64;
                left = later;
            }
        }
        if let Some(timing) = timing {
            timing.resolve(&mut encoder);
        }
        finished.push(encoder.finish());
        Ok(finished)
    }

    /// Adds commands between two stages.
    pub fn other(&mut self, encode: impl FnOnce(&mut wgpu::CommandEncoder) + 'a) {
        self.commands.push(Command::Other(Box::new(encode)));
    }

    fn clear(&mut self, from: u32, to: u32) {
        let work = &self.buffers.work;
        let (at, bytes) = (4 * u64::from(from), 4 * (u64::from(to) - u64::from(from)));
        self.other(move |encoder| encoder.clear_buffer(work, at, Some(bytes)));
    }

    /// Encodes the passes before the first stage of a step.
    pub fn begin(&mut self) {
        self.clear(STICKY_END, STEP_END);
        let layout = &self.buffers.layout;
        let (at, words) = (layout.wall_loads, layout.wall_load_words);
        if words > 0 {
            self.clear(at, at + words);
        }
    }

    /// Encodes the broad phase into the other copy, which becomes the current one; `begins` if the broad phase starts
    /// the step.
    pub fn broad_phase(&mut self, frame: u32, begins: bool) {
        self.frame = frame;
        let layout = &self.buffers.layout;
        let (counts, heads) = (layout.counts, layout.heads);
        self.clear(CANDIDATE_COUNT, LONG_COUNT + 1);
        self.clear(counts, heads);
        self.is_scaled = begins && self.pushes.is_some();
        if self.is_scaled {
            done(execute(SHRINK, self));
        }
        done(execute(BROAD_PHASE, self));
        if begins {
            if self.pushes.is_some_and(|pushes| pushes > 0) {
                done(execute(PUSH_APART, self));
            }
            done(execute(STEP_BEGIN, self));
        }
    }

    /// Encodes the order of the possible resting contacts from the copy `before`, and the warm start from the previous
    /// substep.
    pub fn order(&mut self, frame: u32, before: usize, all: u32) {
        let buffers = self.buffers;
        self.stage("rest", &buffers.hand[self.current], frame, vec![("rest_hand", 0, all)]);
        let (cursors, starts) = (buffers.layout.slot_cursors, buffers.layout.slot_starts);
        self.clear(cursors, starts);
        let parts = (starts - cursors).div_ceil(SCAN_PART);
        let scan = vec![("scan_reduce", 0, parts), ("scan_sums", 0, 1), ("scan_apply", 0, parts)];
        self.stage("rest", &buffers.rest[self.current], frame, vec![("rest_count", 0, all)]);
        self.stage("rest", &buffers.broad[before], self.order_frame, scan);
        self.stage("rest", &buffers.rest[self.current], frame, vec![("rest_place", 0, all)]);
    }

    /// Encodes a substep with `wide_rounds` rounds over the whole array, and the dispatches that finish the remaining
    /// rounds.
    pub fn substep(&mut self, frame: u32, wide_rounds: u32) {
        (self.frame, self.next_round, self.wide_rounds) = (frame, 0, wide_rounds);
        self.clear(DYNAMIC_COUNT, self.buffers.layout.starts);
        if self.wakes && self.has(When::Resting) {
            let all = self.dispatch_budget.groups(self.buffers.layout.sphere_count);
            self.stage("rest", &self.buffers.rest[self.current], frame, vec![("rest_rouse", 0, all)]);
        }
        done(execute_rounds(self));
        let group = &self.buffers.view[self.current];
        for _ in 0..self.dispatch_budget.tails {
            self.stage("select", group, frame, vec![("rounds", 0, 1)]);
        }
        done(execute(SUBSTEP_END, self));
    }

    /// Encodes the end of a step, and with `watches` the search for spheres in the boxes of sinks and sources.
    pub fn end(&mut self, frame: u32, watches: bool) {
        self.frame = frame;
        done(execute(schedule::STEP_END, self));
        if watches {
            let all = self.dispatch_budget.groups(self.buffers.layout.sphere_count);
            // The times of the stages include it in the audit.
            self.stage("audit", &self.buffers.view[self.current], frame, vec![("watch", 0, all)]);
        }
    }

    /// Encodes only the measurement of overlaps in the current state.
    pub fn measure(&mut self, frame: u32) {
        self.clear(DYNAMIC_COUNT, self.buffers.layout.starts);
        let all = self.dispatch_budget.groups(self.buffers.layout.sphere_count);
        let group = &self.buffers.view[self.current];
        self.stage("launch", group, frame, vec![("launch", 0, all)]);
        self.stage("relax", group, frame, vec![("relax_deepest", 0, all)]);
    }

    // Searches the paths of fast spheres, if the dispatch budget expects any.
    fn walk(&self, round: u32) -> Vec<Dispatch> {
        let all = self.dispatch_budget.groups(self.buffers.layout.sphere_count);
        if self.dispatch_budget.walks() { walk(round, all.min(WALK_GROUPS)).into() } else { vec![] }
    }

    /// Adds the dispatches of one stage; they may be divided into several submits.
    pub fn stage(
        &mut self,
        stage: &'static str,
        group: &'a wgpu::BindGroup,
        frame: u32,
        dispatches: Vec<Dispatch>,
    ) {
        self.dispatches += dispatches.len() as u64;
        self.commands.push(Command::Stage { stage, group, frame, dispatches });
    }
}

impl Executor for Encoder<'_> {
    type Error = Infallible;

    fn has(&self, when: When) -> bool {
        match when {
            When::Always => true,
            When::Resting => self.buffers.layout.slots > 0,
            When::Drag => self.has_drag,
            When::Compression => self.pushes.is_some(),
        }
    }

    fn run(&mut self, entry: &Entry) -> Result<(), Infallible> {
        let (buffers, frame) = (self.buffers, self.frame);
        let layout = &buffers.layout;
        let all = self.dispatch_budget.groups(layout.sphere_count);
        let [view, rest] = [&buffers.view, &buffers.rest].map(|g| &g[self.current]);
        // The copy that the broad phase sorts into becomes the current one after the scatter.
        let from = if entry.pass == Pass::Neighbors { 1 - self.current } else { self.current };
        let broad = if self.is_scaled { &buffers.broad_scaled[from] } else { &buffers.broad[from] };
        // Fewer and fewer spheres take part in later rounds; threads stride over the excess.
        let round = self.next_round.wrapping_sub(1);
        let some = (all >> round.min(4)).max(all.min(64));
        let solving = Solving {
            sphere_count: layout.sphere_count,
            slots: layout.slots,
            all,
            batches: self.dispatch_budget.batches,
        };
        let parts = (layout.heads - layout.counts).div_ceil(SCAN_PART);
        let (group, dispatches): (_, Vec<Dispatch>) = match entry.pass {
            Pass::Shrink => (&buffers.shrink[self.current], vec![("compress", 0, all)]),
            Pass::PushApart => (view, push_apart(all, self.pushes.unwrap_or_default())),
            Pass::DragBefore | Pass::DragAfter => (view, vec![("launch_drag", 0, all)]),
            Pass::Bin => (broad, vec![("bin", 0, all)]),
            Pass::Scan => {
                (broad, vec![("scan_reduce", 0, parts), ("scan_sums", 0, 1), ("scan_apply", 0, parts)])
            }
            Pass::Scatter => (broad, vec![("scatter_order", 0, all), ("scatter", 0, all)]),
            Pass::Neighbors => (broad, neighbors(all).into()),
            Pass::OrderContacts => {
                self.order(frame, 1 - self.current, all);
                return Ok(());
            }
            Pass::SolveFirst => (rest, solving.before()),
            Pass::Launch => (view, [&[("launch", 0, all)], self.walk(LAUNCH).as_slice()].concat()),
            Pass::Sweep => (view, sweep(all).into()),
            Pass::Select => (view, select(round, some, all).into()),
            Pass::Collide => (view, [&[("collide", round, some)], self.walk(round).as_slice()].concat()),
            Pass::Resweep => (view, resweep(round, some, all).into()),
            Pass::SolveAfter => (rest, solving.after()),
            Pass::Advance => (view, vec![("advance", 0, all)]),
            Pass::KeepContacts => (rest, keep(all).into()),
            Pass::Relax => (view, relax(all, pushes(self.has(When::Resting), self.dispatch_budget.batches))),
            Pass::Audit => (view, vec![("audit", 0, layout.parts())]),
        };
        self.stage(entry.stage, group, frame, dispatches);
        if entry.pass == Pass::Scatter {
            self.current = 1 - self.current;
        }
        Ok(())
    }

    fn begin_round(&mut self) -> Result<bool, Infallible> {
        let is_wide = self.next_round < self.wide_rounds;
        self.next_round += u32::from(is_wide);
        Ok(is_wide)
    }
}

// Encoding cannot fail.
fn done(result: Result<(), Infallible>) {
    result.unwrap_or_else(|never| match never {});
}
