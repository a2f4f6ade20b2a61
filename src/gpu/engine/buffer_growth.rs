//! Grows device buffers: for another grid of cells, or after a step halted for lack of capacity.

use super::GpuExecutor;
use crate::{
    Error,
    gpu::{
        buffer_layout::{BufferLayout, Capacities},
        buffers::Buffers,
        layout::{
            CANDIDATES_NEEDED, CONSTRAINTS_NEEDED, DYNAMIC_NEEDED, FROZEN_NEEDED, LOG_NEEDED, STICKY_END,
            THREATS_NEEDED, VISITS_NEEDED,
        },
    },
    state::columns::State,
    trace::debug,
};

/// Ratio of the new capacity to the required one, so that a growing system does not repeat every step.
const SPARE_ROOM: f64 = 1.25;

/// Ratio of the new capacity to the old one where the device stops counting when a buffer is full, so that it does not know how
/// much is required: for small capacities, and for those of more than one record for each sphere.
const BLIND_GROWTH: [u32; 2] = [8, 2];

impl GpuExecutor {
    /// Continues from a state on the current cells.
    pub(super) fn load(&mut self, state: &State) -> Result<(), Error> {
        self.reallocate(self.buffers.layout.capacities)?;
        self.buffers.bring_warm_start(&self.context, self.current);
        self.current = 0;
        self.host.upload(&self.context.queue, &self.buffers, 0, state);
        Ok(())
    }

    /// Grows the buffers, or adapts buffers and pipelines to other cells, and lets the halted work continue.
    pub(super) fn reallocate(&mut self, capacities: Capacities) -> Result<(), Error> {
        if self.host.variant() != self.pipelines.variant {
            self.pipelines = self.context.pipelines(self.host.variant());
        }
        let layout = self.host.layout(capacities);
        if layout != self.buffers.layout {
            layout.check(&self.context.device.limits(), self.host.domain.grid.buckets)?;
            debug!(
                "the buffers on the device grow from {} to {} bytes",
                self.buffers.layout.bytes(),
                layout.bytes()
            );
            self.buffers = Buffers::new(&self.context, &self.pipelines, layout, Some(&self.buffers))?;
        }
        self.context.queue.write_buffer(&self.buffers.work, 0, &[0; 4 * STICKY_END as usize]);
        Ok(())
    }

    /// Grows the buffers to the capacities that a halted step requested.
    pub(super) fn grow(&mut self, words: &[u32]) -> Result<(), Error> {
        let roomier = |have: u32, needed: u32| {
            let needed = words[needed as usize];
            if needed <= have { have } else { ((f64::from(needed) * SPARE_ROOM) as u32).saturating_add(64) }
        };
        let BufferLayout { capacities: c, room, .. } = self.buffers.layout;
        let far_roomier = |have: u32, needed: u32| {
            let least = roomier(have, needed);
            let [small, large] = BLIND_GROWTH;
            let factor = if have <= room { small } else { large };
            if least == have { have } else { least.max(have.saturating_mul(factor)) }
        };
        self.reallocate(Capacities {
            entries: roomier(c.entries, CANDIDATES_NEEDED),
            dynamic_candidates: far_roomier(c.dynamic_candidates, DYNAMIC_NEEDED),
            visits: far_roomier(c.visits, VISITS_NEEDED),
            threats: far_roomier(c.threats, THREATS_NEEDED),
            frozen: far_roomier(c.frozen, FROZEN_NEEDED),
            log: roomier(c.log, LOG_NEEDED),
            constraints: roomier(c.constraints, CONSTRAINTS_NEEDED),
            blocks: c.blocks,
        })
    }
}
