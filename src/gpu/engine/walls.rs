//! Moves walls over the substeps, and reads the forces on them.

use super::GpuExecutor;
use crate::{
    Error,
    cpu::Stepper,
    gpu::{buffer_layout::Capacities, buffers::Buffers},
    state::columns::NEVER,
    step::{driver::StepEngine, plan::Substep},
};

impl GpuExecutor {
    /// Writes the wall positions for the substeps, submitted together, of a step that begins at `begin`.
    pub(super) fn place_walls(&mut self, begin: f64, substeps: &[Substep]) -> Result<(), Error> {
        let layout = self.buffers.layout;
        if !layout.static_world.is_restless {
            return Ok(());
        }
        if substeps.len() > layout.capacities.blocks as usize {
            // Work that halted for lack of capacity stays halted: only this buffer is replaced.
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

    /// The wall that spheres penetrate deepest at `end`: its number and the depth in diameters. This is seldom needed,
    /// so the CPU searches all spheres.
    pub(super) fn find_deepest_wall(&self, end: f64) -> Result<Option<(u32, f64)>, Error> {
        let state = self.download(self.reported())?;
        Stepper::new(&self.system_of(&state), |_| NEVER, end)?.engine.deepest_wall(end)
    }
}
