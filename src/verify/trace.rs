//! Traces a step pass by pass. The device runs every pass on the input of its CPU twin, and the trace either ends at the
//! first pass whose results differ, or goes through all passes and sums up each stage. Where a solve of contacts differs, the
//! twin repeats it with other rounding errors.

use super::{
    Mismatch, StageAgreement,
    findings::{Difference, Findings},
    harness::{Device, Harness},
    memory::Memory,
    scatter::{Scatter, round_differently},
    sensitivity::REPETITIONS,
    stages,
    twin::Twin,
};
use crate::gpu::{Context, layout::DENSE_ROUNDS};
use crate::{
    Error, System,
    step::schedule::{
        BROAD_PHASE, Entry, Executor, PUSH_APART, SHRINK, STAGES, STEP_BEGIN, STEP_END, SUBSTEP_END, When,
        execute, execute_rounds,
    },
};

/// A stage, and its first difference.
pub type Found = (&'static str, Difference);

/// Rounds of a substep that are compared: those after them do the same to fewer and fewer spheres.
const MOST_ROUNDS: u32 = 64;

/// Goes through the passes of a step from this state; `scale` times the tolerances of rounding.
///
/// # Errors
/// As those of a step.
pub fn first_difference(
    system: &System,
    context: &Context,
    last_contact: impl Fn(u32) -> f32,
    scale: f32,
    time: f64,
) -> Result<Option<Found>, Error> {
    let found = trace(system, context, &last_contact, scale, time, true)?;
    Ok(found.into_iter().find_map(|(stage, tally)| Some((stage, tally.first?))))
}

/// Goes through all passes of a step from this state, whatever differs, and sums up every stage that has a pass in the
/// step, in the order of the stages. `scale` as in [`first_difference`]; a mismatch names the step `step`.
///
/// # Errors
/// As those of a step.
pub fn all_stages(
    system: &System,
    context: &Context,
    last_contact: impl Fn(u32) -> f32,
    scale: f32,
    time: f64,
    step: u64,
) -> Result<Vec<StageAgreement>, Error> {
    let tallies = trace(system, context, &last_contact, scale, time, false)?;
    let summed = tallies.into_iter().filter(|(_, tally)| tally.passes + tally.halted > 0);
    Ok(summed.map(|(stage, tally)| tally.agreement(stage, step)).collect())
}

// The tallies of all stages, in the order of the table.
fn trace(
    system: &System,
    context: &Context,
    last_contact: impl Fn(u32) -> f32,
    scale: f32,
    time: f64,
    ends_at_first: bool,
) -> Result<Vec<(&'static str, Tally)>, Error> {
    let bounds = super::bounds_after(system, &last_contact, time)?;
    let mut ample = 1;
    loop {
        let begin = || Harness::of_step(system, &bounds, context, &last_contact, time, ample);
        let harness = begin()?;
        let device = harness.device()?;
        let tallies = STAGES.iter().map(|stage| (stage.name, Tally::default())).collect();
        let mut trace = Trace { harness, device, begin: &begin, scale, ends_at_first, passes: 0, tallies };
        match trace.go_through_step() {
            Ok(()) | Err(End::Reached) => return Ok(trace.tallies),
            Err(End::Failed(error)) => return Err(error),
            Err(End::Full) => ample *= 4,
        }
    }
}

/// Sums over the passes of a stage.
#[derive(Default)]
struct Tally {
    passes: u64,
    halted: u64,
    compared: u64,
    near_ties: u64,
    worst: f64,
    first: Option<Difference>,
}

impl Tally {
    fn add(&mut self, findings: Findings) {
        self.passes += 1;
        self.compared += findings.compared;
        self.near_ties += findings.near_ties;
        self.worst =
            findings.differences.iter().map(Difference::share).fold(findings.worst, f64::max).max(self.worst);
        if self.first.is_none() {
            self.first = findings.into_first();
        }
    }

    fn agreement(self, stage: &'static str, step: u64) -> StageAgreement {
        let Self { passes, halted, compared, near_ties, worst, first } = self;
        let mismatch = first.map(|difference| Mismatch::new(step, Some(stage), difference));
        StageAgreement { stage, passes, halted, values: compared, near_ties, worst, mismatch }
    }
}

/// Executes the schedule on both sides.
struct Trace<'a> {
    harness: Harness<'a>,
    device: Device<'a>,
    /// Prepares both sides for the step once more.
    begin: &'a dyn Fn() -> Result<Harness<'a>, Error>,
    scale: f32,
    /// Whether the trace ends at the first pass that differs.
    ends_at_first: bool,
    /// Passes so far.
    passes: u64,
    tallies: Vec<(&'static str, Tally)>,
}

/// Executes the schedule on the twin alone, up to a pass whose input it changes by rounding errors.
struct Repetition<'a> {
    harness: Harness<'a>,
    /// Passes before that pass.
    left: u64,
    seed: u64,
}

/// Why an execution ends before the step does.
enum End {
    /// A pass differs, and its tally has the difference; or the last pass of a repetition is done.
    Reached,
    Failed(Error),
    /// The state of the twin does not fit into the buffers.
    Full,
}

/// Executes the passes of a step in the order of the schedule.
trait Walker<'a>: Executor<Error = End> {
    fn harness(&mut self) -> &mut Harness<'a>;

    fn go_through_step(&mut self) -> Result<(), End> {
        let last = self.harness().frames.len() - 1;
        for k in 0..last {
            let harness = self.harness();
            let frame = harness.frames[k];
            harness.site.frame = frame;
            harness.twin.enter(k, &frame);
            if k == 0 {
                execute(SHRINK, self)?;
            }
            if k.is_multiple_of(self.harness().substeps_per_build) {
                execute(BROAD_PHASE, self)?;
            }
            if k == 0 {
                execute(PUSH_APART, self)?;
                execute(STEP_BEGIN, self)?;
            }
            execute_rounds(self)?;
            execute(SUBSTEP_END, self)?;
        }
        let harness = self.harness();
        harness.site.frame = harness.frames[last];
        execute(STEP_END, self)
    }
}

impl<'a> Walker<'a> for Trace<'a> {
    fn harness(&mut self) -> &mut Harness<'a> {
        &mut self.harness
    }
}

impl<'a> Walker<'a> for Repetition<'a> {
    fn harness(&mut self) -> &mut Harness<'a> {
        &mut self.harness
    }
}

// Whether another round is compared. Goes through the rounds that are not.
fn begin_round(harness: &mut Harness) -> Result<bool, End> {
    let Harness { site, twin, .. } = harness;
    if twin.is_pending() && twin.rounds.round < MOST_ROUNDS {
        site.round = twin.rounds.round.min(DENSE_ROUNDS + 1);
        return Ok(true);
    }
    twin.finish_rounds();
    twin.failed.take().map_or(Ok(false), |error| Err(End::Failed(error)))
}

impl<'a> Repetition<'a> {
    // The twin after a pass whose input differs by rounding errors.
    fn of_pass(harness: Harness<'a>, passes: u64, seed: u64) -> Result<Twin, End> {
        let mut repetition = Self { harness, left: passes, seed };
        match repetition.go_through_step() {
            Ok(()) | Err(End::Reached) => Ok(repetition.harness.twin),
            Err(end) => Err(end),
        }
    }
}

impl Executor for Repetition<'_> {
    type Error = End;

    fn has(&self, when: When) -> bool {
        self.harness.twin.has(when)
    }

    fn run(&mut self, entry: &Entry) -> Result<(), End> {
        let twin = &mut self.harness.twin;
        if self.left == 0 {
            round_differently(twin, self.seed);
        }
        (stages::of(entry.pass).twin)(twin);
        self.left = self.left.checked_sub(1).ok_or(End::Reached)?;
        Ok(())
    }

    fn begin_round(&mut self) -> Result<bool, End> {
        begin_round(&mut self.harness)
    }
}

impl Executor for Trace<'_> {
    type Error = End;

    fn has(&self, when: When) -> bool {
        self.harness.twin.has(when)
    }

    fn run(&mut self, entry: &Entry) -> Result<(), End> {
        let Self { harness, device, begin, scale, ends_at_first, passes, tallies } = self;
        let Harness { site, twin, .. } = harness;
        let before = *passes;
        *passes += 1;
        let tally = tallies.iter_mut().find(|(stage, _)| *stage == entry.stage);
        let (_, tally) = tally.expect("a stage of the table");
        let comparison = stages::of(entry.pass);
        if !Memory::fits(twin, &site.layout) {
            return Err(End::Full);
        }
        let input = (comparison.input)(site, twin);
        (comparison.twin)(twin);
        let dispatches = |all| (comparison.dispatches)(site, all);
        let output = device.run_within_budget(&input, site.frame, comparison.bindings, dispatches);
        let Some(output) = output.map_err(End::Failed)? else {
            tally.halted += 1;
            return Ok(());
        };
        let none = || Findings::new(&twin.core.state.id, twin.core.domain.units, *scale);
        let mut findings = none();
        (comparison.compare)(site, &input, twin, &output, &mut findings);
        if let Some(compare) = stages::scattered(entry.pass) {
            let mut scatter = Scatter::default();
            for seed in 0..REPETITIONS {
                // Values that have to be equal do not scatter.
                let must_be_equal = |difference: &Difference| difference.allowed == 0.0;
                if findings.is_clean() || findings.differences.iter().any(must_be_equal) {
                    break;
                }
                let repetition = Repetition::of_pass(begin().map_err(End::Failed)?, before, seed)?;
                scatter.include(twin, &repetition);
                findings = none();
                findings.near_ties += 1;
                compare(site, twin, &output, &scatter, &mut findings);
            }
        }
        let ends = *ends_at_first && !findings.is_clean();
        tally.add(findings);
        if ends { Err(End::Reached) } else { Ok(()) }
    }

    fn begin_round(&mut self) -> Result<bool, End> {
        begin_round(&mut self.harness)
    }
}
