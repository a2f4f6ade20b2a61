//! Takes a step one substep at a time, and waits for each substep to complete. A crowded substep is halved, and the substeps
//! completed before it are kept.

use super::{GpuExecutor, words};
use crate::{
    Error, Impact,
    gpu::{
        dispatch_budget::DispatchBudget,
        encode::Encoder,
        impacts,
        layout::{
            CANDIDATES_NEEDED, Frame, HALT, HALT_CUT, HALT_ITERATIONS, HALT_LATE, HALT_OVERFLOW, HALT_STUCK,
            HALT_TOO_LONG, HALT_UNFINISHED, HALT_WALKS, ROUNDS_MAX,
        },
        snapshot::Snapshot,
        step_plan::StepPlan,
        submit_queue::DeviceCounts,
    },
    step::{
        driver::{Attempt, StepCounts, StepRequest, Taken, walk},
        plan::{MOST_HALVINGS, Substep},
    },
    trace::debug,
};

/// Ordinary number of rounds of a substep: crowded substeps are halved before they need more.
const ORDINARY_ROUNDS: u64 = 64;

/// Most rounds beyond the ordinary number over all substeps of a step. A step that needs more is left to the CPU twin,
/// which on llvmpipe takes a hundredth of the time.
const MOST_OVERTIME: u64 = 1 << 12;

// A step taken substep-wise.
struct SubstepRun {
    /// Start of the step: the copy of the state, and the step plan.
    begun: (usize, StepPlan),
    /// The plan with the changes made during the step.
    step_plan: StepPlan,
    device: DeviceCounts,
    /// Rounds beyond the ordinary number so far, and their limit.
    overtime: u64,
    most_overtime: u64,
}

impl GpuExecutor {
    /// Takes a step from the current state. Precondition: no step is in flight.
    pub(super) fn take_substep_wise(
        &mut self,
        step: &StepRequest,
        step_plan: StepPlan,
        mut impacts: Option<&mut Vec<Impact>>,
    ) -> Result<Taken, Error> {
        let before = step.shrinkage.as_ref().map(|_| self.host.domain.periodic_box());
        let mut progress = StepCounts::default();
        let taken = self.take_substeps(step, step_plan, &mut progress, impacts.as_deref_mut());
        if let Ok(Some(taken)) = taken {
            self.box_before = before;
            return Ok(taken);
        }
        if let Some(mut before) = before {
            self.host.domain.swap_box(&mut before);
            self.suit_cells()?;
        }
        taken?;
        if let Some(impacts) = &mut impacts {
            impacts.clear();
        }
        let mut taken = self.take_on_cpu(step, impacts)?;
        taken.counts.halvings += progress.halvings;
        Ok(taken)
    }

    // Takes all substeps; `None`, back at the start of the step, if one of them cannot be taken.
    fn take_substeps(
        &mut self,
        step: &StepRequest,
        mut step_plan: StepPlan,
        progress: &mut StepCounts,
        mut impacts: Option<&mut Vec<Impact>>,
    ) -> Result<Option<Taken>, Error> {
        self.enter_shrunk_box(step, &mut step_plan)?;
        let begun = (self.current, step_plan);
        self.submit_queue.make_room_for_start(&self.context, &self.buffers, &step_plan)?;
        if let Some(keep) = self.submit_queue.keep_start(&self.buffers, begun) {
            let mut encoder = self.context.device.create_command_encoder(&Default::default());
            keep(&mut encoder);
            self.context.queue.submit([encoder.finish()]);
        }
        let substeps = step_plan.substeps(&self.host);
        step_plan.dispatch_budget = self.dispatch_budget;
        let mut run = SubstepRun {
            begun,
            step_plan,
            device: DeviceCounts::default(),
            overtime: 0,
            most_overtime: MOST_OVERTIME + ORDINARY_ROUNDS * substeps.len() as u64,
        };
        let gravity = self.host.domain.world.gravity.as_dvec3();
        let all = walk(substeps, gravity, progress, |substep, _| {
            self.attempt(step, substep, &mut run, impacts.as_deref_mut())
        })?;
        if !all {
            self.go_back(begun);
            return Ok(None);
        }
        let words = self.audit(&run.step_plan)?;
        (run.device.counts.substeps, run.device.counts.halvings) = (progress.substeps, progress.halvings);
        let begun = (begun.0, StepPlan { shrink: run.step_plan.shrink, ..begun.1 });
        Ok(Some(self.taken(step, begun, &words, run.device)))
    }

    // Takes one substep and waits for it.
    fn attempt(
        &mut self,
        step: &StepRequest,
        mut substep: Substep,
        run: &mut SubstepRun,
        impacts: Option<&mut Vec<Impact>>,
    ) -> Result<Attempt, Error> {
        if run.overtime >= run.most_overtime {
            return Ok(Attempt::GiveUp);
        }
        let words = self.submit_substep(step, &substep, &run.step_plan)?;
        let halt = words[HALT as usize];
        if halt == 0 {
            run.overtime += u64::from(words[ROUNDS_MAX as usize]).saturating_sub(ORDINARY_ROUNDS);
            run.device.add(&words, &self.buffers.layout);
            if let Some(impacts) = impacts {
                let (context, buffers) = (&self.context, &self.buffers);
                impacts::read(context, buffers, &self.host, &words, step.begin, &[substep.time], impacts)?;
            }
            return Ok(Attempt::Done);
        }
        // A repeated substep discards all results of the first attempt.
        self.submit_queue.middle.put_back(&self.context, &self.buffers.substep_state(self.current));
        let lists = words[CANDIDATES_NEEDED as usize] > self.buffers.layout.capacities.entries;
        if halt & HALT_TOO_LONG != 0 {
            return Err(self.too_long(&words, run.begun));
        }
        let is_eased = self.ease(&mut run.step_plan, halt);
        let again = if halt & HALT_OVERFLOW != 0 {
            self.retries.overflows += 1;
            debug!("a buffer of the device was full; the substep is repeated with larger buffers");
            self.grow(&words)?;
            true
        } else {
            self.reallocate(self.buffers.layout.capacities)?;
            is_eased
                || halt & HALT_CUT != 0 && self.dispatch_budget.spread()
                || halt & HALT_WALKS != 0 && self.dispatch_budget.walk()
                || halt & HALT_ITERATIONS != 0
                    && self.dispatch_budget.more_batches(run.step_plan.dispatch_budget.batches)
                || halt == HALT_UNFINISHED && self.add_rounds(&mut run.step_plan, &words, u32::MAX)
        };
        if again {
            // Rebuilds invalid candidate lists from the copy of the state that they were made from.
            let remake = substep.builds && (lists || is_eased || halt & HALT_CUT != 0);
            if remake {
                self.current = 1 - self.current;
                if substep.begins() {
                    self.enter_shrunk_box(step, &mut run.step_plan)?;
                }
            }
            run.step_plan.dispatch_budget = self.dispatch_budget;
            substep.builds = remake;
            return Ok(Attempt::Again(substep));
        }
        if halt & HALT_UNFINISHED != 0 {
            let DispatchBudget { tails, tail_rounds, .. } = run.step_plan.dispatch_budget;
            run.overtime += u64::from(tails * tail_rounds);
        }
        if run.step_plan.leaves_chains && halt & HALT_LATE != 0 {
            return Ok(Attempt::GiveUp);
        }
        if halt & HALT_STUCK == 0 && substep.halvings < MOST_HALVINGS {
            Ok(Attempt::Halve(substep))
        } else if halt == HALT_LATE {
            Ok(Attempt::Again(Substep { lenient: true, builds: false, ..substep }))
        } else {
            Ok(Attempt::GiveUp)
        }
    }

    // Submits a single substep and waits for it, after keeping a copy of the state before it.
    fn submit_substep(
        &mut self,
        step: &StepRequest,
        substep: &Substep,
        step_plan: &StepPlan,
    ) -> Result<Vec<u32>, Error> {
        let sources = self.buffers.substep_state(self.current);
        self.submit_queue.middle.reallocate(&self.context, &sources)?;
        self.place_walls(step.begin, std::slice::from_ref(substep))?;
        let frame = step_plan.frame(&self.host, &self.buffers.layout, substep, 0);
        self.submit_alone(frame, step_plan, |encoder, middle| {
            if substep.builds {
                encoder.broad_phase(0, substep.begins());
            }
            let sources = encoder.buffers.substep_state(encoder.current);
            encoder.other(middle.keep(&sources));
            encoder.substep(0, step_plan.wide_rounds);
        })
    }

    fn audit(&mut self, step_plan: &StepPlan) -> Result<Vec<u32>, Error> {
        let frame = step_plan.audit(&self.host, &self.buffers.layout);
        self.submit_alone(frame, step_plan, |encoder, _| {
            encoder.end(0, !step_plan.watched.is_empty());
        })
    }

    fn submit_alone(
        &mut self,
        frame: Frame,
        step_plan: &StepPlan,
        encode: impl FnOnce(&mut Encoder, &Snapshot),
    ) -> Result<Vec<u32>, Error> {
        self.context.check()?;
        self.buffers.write_frames(&self.context, &self.pipelines, &[frame])?;
        let mut encoder = Encoder::new(
            &self.context,
            &self.pipelines,
            &self.buffers,
            self.current,
            step_plan.dispatch_budget,
            self.timing.as_mut(),
            self.host.domain.half_drag() > 0.0,
        )
        .divide(self.submit_queue.pace.most_dispatches(&self.context, self.host.domain.statistics.count))
        .shrink(step_plan.shrink.map(|shrink| shrink.pushes))
        .wake(step_plan.wakes);
        encoder.begin();
        encode(&mut encoder, &self.submit_queue.middle);
        let (end, dispatches) = (encoder.current, encoder.dispatches);
        self.retries.dispatches += dispatches;
        self.retries.waits += 1;
        let pending = self.submit_queue.send(&self.context, &self.buffers, encoder)?;
        let submitted = pending.submitted;
        self.current = end;
        let (bytes, buffer) = pending.wait(&self.context)?;
        self.submit_queue.give_back(buffer);
        if let Some(timing) = &mut self.timing {
            timing.read(&self.context)?;
        }
        let words = words(&bytes);
        let measured = if words[HALT as usize] == 0 { dispatches } else { 0 };
        self.submit_queue.pace.measured(submitted, submitted, measured);
        Ok(words)
    }
}
