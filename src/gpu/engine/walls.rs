//! Walls in the course of time: where they are in the substeps that are submitted, and what they felt.

use super::GpuEngine;
use crate::{
    Error,
    cpu::Stepper,
    gpu::{buffer_layout::Capacities, buffers::Buffers, step_plan::Substep},
    state::{columns::NEVER, constants::CRUSHED},
};

impl GpuEngine {
    /// When a step begins.
    pub(super) fn time_of(&self, step: u64) -> f64 {
        self.time + (step - self.step) as f64 * self.host.system.dt
    }

    /// Puts down where walls are in so many substeps of a step that are submitted together.
    pub(super) fn place_walls(&mut self, step: u64, substeps: &[Substep]) -> Result<(), Error> {
        let layout = self.buffers.layout;
        if !layout.static_world.is_restless {
            return Ok(());
        }
        if substeps.len() > layout.capacities.blocks as usize {
            // What stands still because of want of room goes on to do so: only this buffer is another one.
            let blocks = 2 * substeps.len() as u32;
            let layout = self.host.layout(Capacities { blocks, ..layout.capacities });
            layout.check(&self.context.device.limits(), self.host.grid.buckets)?;
            self.buffers = Buffers::new(&self.context, &self.pipelines, layout, Some(&self.buffers))?;
            self.buffers.write_world(&self.context.queue, &self.host);
        }
        let words = self.host.motion(self.time_of(step), substeps);
        self.buffers.write_motion(&self.context.queue, &words);
        Ok(())
    }

    pub(super) fn end_step(&mut self) {
        self.step += 1;
        self.time += self.host.system.dt;
    }

    /// The wall that crushes spheres after a step, if one does, and how deep they are in it. Seldom, so the twin looks for it
    /// among all spheres.
    pub(super) fn crushed_by(&self, step: u64) -> Result<Option<(u32, f64)>, Error> {
        if self.measured.deepest_overlap <= CRUSHED {
            return Ok(None);
        }
        // A step that is under way already has not touched what it starts from.
        let end = self.ahead.as_ref().map_or(self.current, |ahead| ahead.start);
        let state = self.host.download(&self.context, &self.buffers, end)?;
        let time = self.time_of(step) + self.host.system.dt;
        Ok(Stepper::new(&self.system_of(&state), |_| NEVER, time)?.crushed_by())
    }
}
