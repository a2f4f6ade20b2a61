//! Shrinks the box at the start of a step. The spheres stay on the device.

use super::GpuExecutor;
use crate::{
    Error,
    gpu::{
        layout::{HALT_PUSHED_FAR, HALT_PUSHES},
        step_plan::{Shrink, StepPlan},
    },
    step::{
        driver::StepRequest,
        shrinkage::{MOST_SHRINK_HALVINGS, PeriodicBox, Shrinkage},
    },
};

impl GpuExecutor {
    /// The first attempt at a shrinkage.
    pub(super) fn first_shrink(&self, shrinkage: &Shrinkage) -> Shrink {
        Shrink { halvings: shrinkage.least_halvings, ..Shrink::default() }
    }

    /// The box in which a step runs, if the step shrinks it. Completes the plan for this box.
    pub(super) fn shrunk_box(&self, step: &StepRequest, step_plan: &mut StepPlan) -> Option<PeriodicBox> {
        let (shrinkage, shrink) = (step.shrinkage.as_ref()?, step_plan.shrink.as_mut()?);
        let at = self.host.domain.shrunk_box(shrinkage, shrink.halvings);
        shrink.remap = at.grid.remap_from(&shrinkage.from.grid);
        shrink.pushes = if shrink.halvings > MOST_SHRINK_HALVINGS { 0 } else { self.dispatch_budget.pushes };
        Some(at)
    }

    /// Enters the box in which a step runs, if the step shrinks it. Completes the plan for this box.
    pub(super) fn enter_shrunk_box(
        &mut self,
        step: &StepRequest,
        step_plan: &mut StepPlan,
    ) -> Result<(), Error> {
        let Some(mut at) = self.shrunk_box(step, step_plan) else { return Ok(()) };
        self.host.domain.swap_box(&mut at);
        self.suit_cells()
    }

    /// After a halt: if the pushes left overlaps, plans more passes of them or half of the shrinkage, and returns true.
    pub(super) fn ease(&mut self, step_plan: &mut StepPlan, halt: u32) -> bool {
        let Some(shrink) = &mut step_plan.shrink else { return false };
        let (is_left, is_far) = (halt & HALT_PUSHES != 0, halt & HALT_PUSHED_FAR != 0);
        if is_far || is_left && !self.dispatch_budget.more_pushes(shrink.pushes) {
            shrink.halvings += 1;
        }
        is_left || is_far
    }

    /// Adapts pipelines and buffers to the cells of the present box, if they are of another kind.
    pub(super) fn suit_cells(&mut self) -> Result<(), Error> {
        let capacities = self.buffers.layout.capacities;
        let suits = self.host.variant() == self.pipelines.variant
            && self.host.layout(capacities) == self.buffers.layout;
        if suits { Ok(()) } else { self.reallocate(capacities) }
    }
}
