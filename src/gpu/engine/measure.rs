//! Measures properties of a state.

use super::{GpuExecutor, StepPlan, words};
use crate::{
    Error, Measure, StepReport,
    cpu::Stepper,
    gpu::{
        encode::Encoder,
        layout::{DEEPEST_BEFORE, HALT, HALT_CUT},
        readback::download,
        submit_queue::DeviceCounts,
    },
    state::{columns::NEVER, constants::RELAX_FROM},
    step::{domain::Domain, engine::Engine, plan::Plan, schedule::STAGES, watch::BoxSet},
};

impl GpuExecutor {
    /// The buffers of the last reported state.
    pub(super) fn reported_buffers(&self) -> crate::gpu::StateBuffers {
        let reported = self.reported();
        crate::gpu::StateBuffers {
            bodies: self.buffers.bodies[reported].clone(),
            tags: self.buffers.tags[reported].clone(),
            sphere_count: self.host.domain.statistics.count as u32,
            origin: self.host.domain.grid.origin * self.host.domain.units.length,
            cell_edge: self.host.domain.grid.exact_edge * self.host.domain.units.length,
            unit_of_length: self.host.domain.units.length,
            unit_of_velocity: self.host.domain.units.velocity(),
        }
    }

    // The deepest overlap of the current state; the candidate lists are made for paths of zero length.
    pub(super) fn deepest_now(&mut self) -> Result<f32, Error> {
        let plan = Plan {
            substeps: 1,
            substeps_per_build: 1,
            motion_margin: 0.0,
            drift: glam::DVec3::ZERO,
            regrid: None,
            needed: 0.0,
        };
        let step_plan = StepPlan {
            plan,
            wide_rounds: 0,
            record: false,
            strict: false,
            leaves_chains: false,
            wakes: false,
            watched: BoxSet::default(),
            // The measurement does not depend on fast spheres, but must not halt at one.
            dispatch_budget: self.dispatch_budget.with_walks(),
            shrink: None,
        };
        loop {
            let frames = step_plan.frames(&self.host, &self.buffers.layout);
            self.buffers.write_frames(&self.context, &self.pipelines, &frames)?;
            let mut encoder = Encoder::new(
                &self.context,
                &self.pipelines,
                &self.buffers,
                self.current,
                self.dispatch_budget,
                None,
                false,
            )
            .divide(self.submit_queue.pace.most_dispatches(&self.context, self.host.domain.statistics.count));
            encoder.begin();
            encoder.broad_phase(0, false);
            encoder.measure(0);
            let after = encoder.current;
            self.context.queue.submit(encoder.finish()?);
            let bytes = 4 * self.buffers.layout.report_words();
            let words = words(&download(&self.context, &[(&self.buffers.work, 0, bytes)])?[0]);
            let halt = words[HALT as usize];
            if halt == 0 {
                self.current = after;
                return Ok(f32::from_bits(words[DEEPEST_BEFORE as usize]));
            }
            self.grow(&words)?;
            if halt & HALT_CUT != 0 && !self.dispatch_budget.spread() {
                // The driver cuts loops even with one sphere per invocation.
                let state = self.download(self.current)?;
                let twin = Stepper::new(&self.system_of(&state), |_| NEVER, self.end)?;
                return Ok(twin.measure().deepest_overlap as f32);
            }
        }
    }

    // Returns whether all spheres slept in the last substep of a step that began at `begin`, and nothing has woken them
    // or still pushes them apart.
    pub(super) fn rests_for_ever(&self, device: &DeviceCounts, begin: f64) -> bool {
        let Domain { statistics, world, .. } = &self.host.domain;
        let DeviceCounts { counts, awake, .. } = device;
        let all = counts.asleep > 0 && counts.asleep == statistics.movable as u64;
        all && !world.features.is_restless(begin) && !awake && counts.deepest <= RELAX_FROM
    }

    // The report of a step without changes.
    pub(super) fn idle_report(&mut self, measured: &Measure) -> StepReport {
        let submits = std::mem::take(&mut self.submit_queue.submits);
        let stage_seconds = if self.timing.is_some() { vec![0.0; STAGES.len()] } else { vec![] };
        StepReport { submits, stage_seconds, ..measured.at_rest(self.host.domain.statistics.movable as u64) }
    }
}
