//! Walls in the course of time: where they are in the substeps that are submitted, and what they felt.

use super::GpuExecutor;
use crate::{
    Error,
    cpu::Stepper,
    gpu::{buffer_layout::Capacities, buffers::Buffers},
    state::columns::NEVER,
    step::{driver::StepEngine, plan::Substep},
};

impl GpuExecutor {
    /// Puts down where walls are in the substeps, submitted together, of a step that begins at `begin`.
    pub(super) fn place_walls(&mut self, begin: f64, substeps: &[Substep]) -> Result<(), Error> {
        let layout = self.buffers.layout;
        if !layout.static_world.is_restless {
            return Ok(());
        }
        if substeps.len() > layout.capacities.blocks as usize {
            // What stands still because of want of room goes on to do so: only this buffer is another one.
            let blocks = 2 * substeps.len() as u32;
            let layout = self.host.layout(Capacities { blocks, ..layout.capacities });
            layout.check(&self.context.device.limits(), self.host.domain.grid.buckets)?;
            self.buffers = Buffers::new(&self.context, &self.pipelines, layout, Some(&self.buffers))?;
            self.buffers.write_world(&self.context.queue, &self.host);
        }
        let words = self.host.motion(begin, substeps);
        self.buffers.write_motion(&self.context.queue, &words);
        Ok(())
    }

    /// The wall that spheres reach into deepest at `end`, by its number, and how deep in diameters. This is seldom asked for,
    /// so the CPU looks for it among all spheres.
    pub(super) fn find_deepest_wall(&self, end: f64) -> Result<Option<(u32, f64)>, Error> {
        let state = self.host.download(&self.context, &self.buffers, self.reported())?;
        Stepper::new(&self.system_of(&state), |_| NEVER, end)?.engine.deepest_wall(end)
    }
}
