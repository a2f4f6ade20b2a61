//! Steps that are taken one substep at a time, each waited for: a substep that is crowded is done in halves, as the twin
//! does, and what was done before it stays done.

use super::{GpuEngine, MOST_HALVINGS, Retries, words};
use crate::{
    Error, Impact, StepReport,
    gpu::{
        dispatch_budget::DispatchBudget,
        encode::Encoder,
        impacts,
        layout::{
            CANDIDATES_NEEDED, Frame, HALT, HALT_CUT, HALT_ITERATIONS, HALT_LATE, HALT_OVERFLOW, HALT_STUCK,
            HALT_TOO_LONG, HALT_UNFINISHED, ROUNDS_MAX,
        },
        snapshot::Snapshot,
        step_plan::{StepPlan, Substep},
        submit_queue::StepCounts,
    },
};

/// Rounds that a piece may have without being out of the ordinary: what is crowded is halved before.
const ORDINARY_ROUNDS: u64 = 64;

/// Rounds beyond those that the pieces of a step may have together before all of it is left to the twin: on llvmpipe that does the
/// same in a hundredth of the time.
const MOST_OVERTIME: u64 = 1 << 12;

impl GpuEngine {
    /// Takes a step from the present state; nothing is under way.
    pub(super) fn step_substep_wise(
        &mut self,
        step: u64,
        start_time: f64,
        mut impacts: Option<&mut Vec<Impact>>,
        mut step_plan: StepPlan,
        mut redone: Retries,
    ) -> Result<StepReport, Error> {
        let begin = (self.current, step_plan);
        if !step_plan.builds_once() {
            self.submit_queue.make_room_for_start(&self.context, &self.buffers, &step_plan)?;
            let mut encoder = self.context.device.create_command_encoder(&Default::default());
            self.submit_queue.keep_start(&mut encoder, &self.buffers, begin);
            self.context.queue.submit([encoder.finish()]);
        }
        let mut left = step_plan.substeps(&self.host, self.dt);
        left.reverse();
        let most_overtime = MOST_OVERTIME + ORDINARY_ROUNDS * left.len() as u64;
        step_plan.dispatch_budget = self.dispatch_budget;
        let mut counts = StepCounts::default();
        let mut overtime = 0;
        while let Some(mut substep) = left.pop() {
            if overtime >= most_overtime {
                return self.leave_to_twin(begin, step, start_time, impacts, redone);
            }
            let words = self.fly(step, &substep, &step_plan, &mut redone)?;
            let halt = words[HALT as usize];
            if halt == 0 {
                overtime += u64::from(words[ROUNDS_MAX as usize]).saturating_sub(ORDINARY_ROUNDS);
                counts.add(&words, 1, &self.buffers.layout);
                if let Some(impacts) = &mut impacts {
                    let (context, buffers) = (&self.context, &self.buffers);
                    impacts::read(
                        context,
                        buffers,
                        &self.host,
                        &words,
                        start_time,
                        &[substep.time],
                        impacts,
                    )?;
                }
                continue;
            }
            // Of a piece that is done again nothing stays.
            self.submit_queue.middle.put_back(&self.context, &self.buffers.substep_state(self.current));
            let lists = words[CANDIDATES_NEEDED as usize] > self.buffers.layout.capacities.entries;
            if halt & HALT_TOO_LONG != 0 {
                return Err(self.too_long(&words, begin));
            }
            let again = if halt & HALT_OVERFLOW != 0 {
                redone.overflows += 1;
                self.grow(&words)?;
                true
            } else {
                self.reallocate(self.buffers.layout.capacities)?;
                halt & HALT_CUT != 0 && self.dispatch_budget.spread()
                    || halt & HALT_ITERATIONS != 0
                        && self.dispatch_budget.more_batches(step_plan.dispatch_budget.batches)
                    || halt == HALT_UNFINISHED && (step_plan.widen() || self.dispatch_budget.go_on(u32::MAX))
            };
            if again {
                // Unless its lists are as they should be, from the copy of the state that they were made from.
                let remake = substep.builds && (lists || halt & HALT_CUT != 0);
                if remake {
                    self.current = 1 - self.current;
                }
                step_plan.dispatch_budget = self.dispatch_budget;
                substep.builds = remake;
                left.push(substep);
                continue;
            }
            counts.substeps += 1;
            if halt & HALT_UNFINISHED != 0 {
                let DispatchBudget { tails, tail_rounds, .. } = step_plan.dispatch_budget;
                overtime += u64::from(tails * tail_rounds);
            }
            if halt & HALT_STUCK == 0 && substep.halvings < MOST_HALVINGS {
                redone.halvings += 1;
                let mut halves = substep.halves(&self.host);
                if halves[0].halvings == MOST_HALVINGS {
                    halves.iter_mut().for_each(|half| half.shortest = true);
                }
                left.extend(halves.into_iter().rev());
            } else if halt == HALT_LATE {
                (substep.lenient, substep.builds) = (true, false);
                left.push(substep);
            } else {
                return self.leave_to_twin(begin, step, start_time, impacts, redone);
            }
        }
        if let Some(impacts) = &mut impacts {
            impacts::sort(impacts);
        }
        let words = self.audit(&step_plan, &mut redone)?;
        self.finish(step, begin, &words, counts, redone)
    }

    // Gives up a step that began like this.
    fn leave_to_twin(
        &mut self,
        begin: (usize, StepPlan),
        step: u64,
        start_time: f64,
        mut impacts: Option<&mut Vec<Impact>>,
        redone: Retries,
    ) -> Result<StepReport, Error> {
        self.go_back(begin);
        if let Some(impacts) = &mut impacts {
            impacts.clear();
        }
        self.step_on_cpu(step, start_time, impacts, redone)
    }

    // Submits one piece on its own and waits for it. The state before it is kept.
    fn fly(
        &mut self,
        step: u64,
        substep: &Substep,
        step_plan: &StepPlan,
        redone: &mut Retries,
    ) -> Result<Vec<u32>, Error> {
        let sources = self.buffers.substep_state(self.current);
        self.submit_queue.middle.reallocate(&self.context, &sources)?;
        self.place_walls(step, std::slice::from_ref(substep))?;
        let frame = step_plan.frame(&self.host, &self.buffers.layout, substep, 0);
        let slowing = self.host.slowing;
        self.submit_alone(frame, step_plan, redone, |encoder, middle| {
            if substep.builds {
                encoder.broad_phase(0);
                // With the lists, so that it is done again where they are.
                if substep.begins() && slowing > 0.0 {
                    encoder.drag(0);
                }
            }
            let sources = encoder.buffers.substep_state(encoder.current);
            middle.keep(&mut encoder.encoder, &sources);
            encoder.substep(0, step_plan.wide_rounds);
        })
    }

    fn audit(&mut self, step_plan: &StepPlan, redone: &mut Retries) -> Result<Vec<u32>, Error> {
        let frame = step_plan.audit(&self.host, &self.buffers.layout);
        let slowing = self.host.slowing;
        self.submit_alone(frame, step_plan, redone, |encoder, _| {
            if slowing > 0.0 {
                encoder.drag(0);
            }
            encoder.audit(0);
        })
    }

    fn submit_alone(
        &mut self,
        frame: Frame,
        step_plan: &StepPlan,
        redone: &mut Retries,
        encode: impl FnOnce(&mut Encoder, &Snapshot),
    ) -> Result<Vec<u32>, Error> {
        self.context.check()?;
        self.buffers.write_frames(&self.context, &self.pipelines, &[frame])?;
        let mut encoder = Encoder::new(
            &self.context.device,
            &self.pipelines,
            &self.buffers,
            self.current,
            step_plan.dispatch_budget,
            self.timing.as_mut(),
        );
        encoder.begin();
        encode(&mut encoder, &self.submit_queue.middle);
        let end = encoder.current;
        redone.dispatches += encoder.dispatches;
        redone.waits += 1;
        let pending = self.submit_queue.send(&self.context, &self.buffers, encoder)?;
        self.current = end;
        let (bytes, buffer) = pending.wait(&self.context)?;
        self.submit_queue.give_back(buffer);
        if let Some(timing) = &mut self.timing {
            timing.read(&self.context)?;
        }
        Ok(words(&bytes))
    }
}
