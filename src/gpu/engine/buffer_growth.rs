//! Room on the device: buffers for another system of cells, and larger ones where a step stood still for want of room.

use super::GpuExecutor;
use crate::{
    Error,
    gpu::{
        buffer_layout::Capacities,
        buffers::Buffers,
        layout::{
            CANDIDATES_NEEDED, CONSTRAINTS_NEEDED, DYNAMIC_NEEDED, FROZEN_NEEDED, LOG_NEEDED, STICKY_END,
            THREATS_NEEDED, VISITS_NEEDED,
        },
    },
    state::columns::State,
};

/// More room than was needed, so that a growing system is not done twice at every step.
const SPARE_ROOM: f64 = 1.25;

impl GpuExecutor {
    /// Goes on from a state on the present cells.
    pub(super) fn load(&mut self, state: &State) -> Result<(), Error> {
        if self.host.variant() != self.pipelines.variant {
            self.pipelines = self.context.pipelines(self.host.variant())?;
        }
        self.reallocate(self.buffers.layout.capacities)?;
        self.buffers.bring_warm_start(&self.context, self.current);
        self.current = 0;
        self.host.upload(&self.context.queue, &self.buffers, 0, state);
        Ok(())
    }

    /// Makes room, and lets what stood still for want of it go on.
    pub(super) fn reallocate(&mut self, capacities: Capacities) -> Result<(), Error> {
        let layout = self.host.layout(capacities);
        if layout != self.buffers.layout {
            layout.check(&self.context.device.limits(), self.host.domain.grid.buckets)?;
            self.buffers = Buffers::new(&self.context, &self.pipelines, layout, Some(&self.buffers))?;
        }
        self.context.queue.write_buffer(&self.buffers.work, 0, &[0; 4 * STICKY_END as usize]);
        Ok(())
    }

    /// Makes room for what a halted step asked for.
    pub(super) fn grow(&mut self, words: &[u32]) -> Result<(), Error> {
        let roomier = |have: u32, needed: u32| {
            let needed = words[needed as usize];
            if needed <= have { have } else { ((f64::from(needed) * SPARE_ROOM) as u32).saturating_add(64) }
        };
        let c = self.buffers.layout.capacities;
        self.reallocate(Capacities {
            entries: roomier(c.entries, CANDIDATES_NEEDED),
            dynamic_candidates: roomier(c.dynamic_candidates, DYNAMIC_NEEDED),
            visits: roomier(c.visits, VISITS_NEEDED),
            threats: roomier(c.threats, THREATS_NEEDED),
            frozen: roomier(c.frozen, FROZEN_NEEDED),
            log: roomier(c.log, LOG_NEEDED),
            constraints: roomier(c.constraints, CONSTRAINTS_NEEDED),
            blocks: c.blocks,
        })
    }
}
