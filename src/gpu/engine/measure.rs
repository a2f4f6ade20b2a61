//! What is measured of a state.

use super::{GpuEngine, StepPlan, words};
use crate::{
    Error, Measure, StepReport,
    cpu::Stepper,
    gpu::{
        encode::Encoder,
        layout::{DEEPEST_BEFORE, HALT, HALT_CUT},
        readback::download,
        submit_queue::StepCounts,
    },
    state::{columns::NEVER, constants::RELAX_SLOP, sums::Sums},
    step::{plan::Plan, schedule::STAGES},
};

impl GpuEngine {
    /// The buffers of the state of the last report.
    pub fn state_buffers(&self) -> crate::gpu::StateBuffers {
        let reported = self.reported();
        crate::gpu::StateBuffers {
            bodies: self.buffers.bodies[reported].clone(),
            tags: self.buffers.tags[reported].clone(),
            sphere_count: self.host.statistics.count as u32,
            origin: self.host.grid.origin * self.host.units.length,
            cell_edge: self.host.grid.exact_edge * self.host.units.length,
            unit_of_length: self.host.units.length,
            unit_of_velocity: self.host.units.velocity(),
        }
    }

    // The deepest overlap of the present state; its lists are those of paths of no length.
    pub(super) fn deepest_now(&mut self) -> Result<f32, Error> {
        let plan = Plan {
            substeps: 1,
            substeps_per_build: 1,
            motion_margin: 0.0,
            drift: glam::DVec3::ZERO,
            regrid: None,
        };
        let step_plan = StepPlan {
            plan,
            wide_rounds: 0,
            record: false,
            strict: false,
            wakes: false,
            dispatch_budget: self.dispatch_budget,
        };
        loop {
            let frames = step_plan.frames(&self.host, &self.buffers.layout, self.dt);
            self.buffers.write_frames(&self.context, &self.pipelines, &frames)?;
            let mut encoder = Encoder::new(
                &self.context.device,
                &self.pipelines,
                &self.buffers,
                self.current,
                self.dispatch_budget,
                None,
            );
            encoder.begin();
            encoder.broad_phase(0);
            encoder.measure(0);
            let after = encoder.current;
            self.context.queue.submit([encoder.encoder.finish()]);
            let bytes = 4 * self.buffers.layout.report_words();
            let words = words(&download(&self.context, &[(&self.buffers.work, 0, bytes)])?[0]);
            let halt = words[HALT as usize];
            if halt == 0 {
                self.current = after;
                return Ok(f32::from_bits(words[DEEPEST_BEFORE as usize]));
            }
            self.grow(&words)?;
            if halt & HALT_CUT != 0 && !self.dispatch_budget.spread() {
                // Not even one sphere for each invocation is little enough.
                let state = self.host.download(&self.context, &self.buffers, self.current)?;
                let twin = Stepper::new(&self.system_of(&state), |_| NEVER, self.time)?;
                return Ok(twin.measured().deepest_overlap as f32);
            }
        }
    }

    // Whether all slept in the last substep of a step, and nothing has woken them or still pushes them apart.
    pub(super) fn rests_for_ever(&self, counts: &StepCounts, step: u64) -> bool {
        let all = counts.asleep > 0 && counts.asleep == self.host.statistics.movable as u64;
        let is_restless = self.host.world.features.is_restless(self.time_of(step));
        all && !is_restless && !counts.awake && counts.deepest <= RELAX_SLOP
    }

    // The report of a step in which nothing changes.
    pub(super) fn idle(&mut self) -> StepReport {
        let submits = std::mem::take(&mut self.submit_queue.submits);
        let stage_seconds = if self.timing.is_some() { vec![0.0; STAGES.len()] } else { vec![] };
        StepReport { submits, stage_seconds, ..self.measured.at_rest(self.host.statistics.movable as u64) }
    }

    pub(super) fn measure_from(&self, sums: &Sums, deepest: f32) -> Measure {
        let host = &self.host;
        let gravity = host.world.gravity.as_dvec3();
        let height = sums.mass_position + (host.grid.origin - host.reference) * host.statistics.mass;
        Measure {
            kinetic_energy: sums.kinetic * host.units.energy(),
            potential_energy: -gravity.dot(height) * host.units.energy(),
            momentum: sums.momentum * (host.units.mass * host.units.velocity()),
            deepest_overlap: f64::from(deepest),
        }
    }
}
