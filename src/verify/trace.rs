//! Traces a step pass by pass. The device runs every pass on the input of its CPU twin, and the trace reports the first
//! pass whose results differ.

use super::{
    findings::{Difference, Findings},
    harness::{Device, Harness},
    memory::Memory,
    stages,
};
use crate::gpu::{Context, layout::DENSE_ROUNDS};
use crate::{
    Error, System,
    step::schedule::{
        BROAD_PHASE, Entry, Executor, STEP_BEGIN, STEP_END, SUBSTEP_END, When, execute, execute_rounds,
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
    let mut ample = 1;
    loop {
        let harness = Harness::of_step(system, context, &last_contact, time, ample)?;
        let device = harness.device()?;
        match (Trace { harness, device, scale }).run() {
            Ok(()) => return Ok(None),
            Err(End::Found(found)) => return Ok(Some(found)),
            Err(End::Failed(error)) => return Err(error),
            Err(End::Full) => ample *= 4,
        }
    }
}

/// Executes the schedule on both sides.
struct Trace<'a> {
    harness: Harness<'a>,
    device: Device<'a>,
    scale: f32,
}

/// Why the trace ends before the step does.
enum End {
    Found(Found),
    Failed(Error),
    /// The state of the twin does not fit into the buffers.
    Full,
}

impl Trace<'_> {
    fn run(&mut self) -> Result<(), End> {
        let last = self.harness.frames.len() - 1;
        for k in 0..last {
            let frame = self.harness.frames[k];
            self.harness.site.frame = frame;
            self.harness.twin.enter(k, &frame);
            if k.is_multiple_of(self.harness.substeps_per_build) {
                execute(BROAD_PHASE, self)?;
            }
            if k == 0 {
                execute(STEP_BEGIN, self)?;
            }
            execute_rounds(self)?;
            execute(SUBSTEP_END, self)?;
        }
        self.harness.site.frame = self.harness.frames[last];
        execute(STEP_END, self)
    }
}

impl Executor for Trace<'_> {
    type Error = End;

    fn has(&self, when: When) -> bool {
        self.harness.twin.has(when)
    }

    fn run(&mut self, entry: &Entry) -> Result<(), End> {
        let Self { harness: Harness { site, twin, .. }, device, scale } = self;
        let comparison = stages::of(entry.pass);
        if !Memory::fits(twin, &site.layout) {
            return Err(End::Full);
        }
        let input = (comparison.input)(site, twin);
        (comparison.twin)(twin);
        let dispatches = |all| (comparison.dispatches)(site, all);
        let output = device.run_within_budget(&input, site.frame, comparison.bindings, dispatches);
        let Some(output) = output.map_err(End::Failed)? else { return Ok(()) };
        let mut findings = Findings::new(&twin.core.state.id, twin.core.domain.units, *scale);
        (comparison.compare)(site, &input, twin, &output, &mut findings);
        findings.into_first().map_or(Ok(()), |difference| Err(End::Found((entry.stage, difference))))
    }

    fn begin_round(&mut self) -> Result<bool, End> {
        let Harness { site, twin, .. } = &mut self.harness;
        if twin.is_pending() && twin.rounds.round < MOST_ROUNDS {
            site.round = twin.rounds.round.min(DENSE_ROUNDS + 1);
            return Ok(true);
        }
        twin.finish_rounds();
        twin.failed.take().map_or(Ok(false), |error| Err(End::Failed(error)))
    }
}
