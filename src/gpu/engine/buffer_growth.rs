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

/// Ratio of the new capacity to the old one for records of later stages and rounds: these do not run after a buffer was full, so what they
/// need is unknown. The smaller ratio is for more than one record for each sphere.
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

    /// Grows the buffers to the capacities that a halted step requested, and more if the device has room.
    pub(super) fn grow(&mut self, words: &[u32]) -> Result<(), Error> {
        let roomier = |have: u32, needed: u32| {
            let needed = words[needed as usize];
            if needed <= have { have } else { ((f64::from(needed) * SPARE_ROOM) as u32).saturating_add(64) }
        };
        let BufferLayout { capacities: c, room, .. } = self.buffers.layout;
        let requested = Capacities {
            entries: roomier(c.entries, CANDIDATES_NEEDED),
            dynamic_candidates: roomier(c.dynamic_candidates, DYNAMIC_NEEDED),
            visits: roomier(c.visits, VISITS_NEEDED),
            threats: roomier(c.threats, THREATS_NEEDED),
            frozen: roomier(c.frozen, FROZEN_NEEDED),
            log: roomier(c.log, LOG_NEEDED),
            constraints: roomier(c.constraints, CONSTRAINTS_NEEDED),
            blocks: c.blocks,
        };
        let ahead = |have, requested| grown_ahead(have, requested, room);
        let roomiest = Capacities {
            dynamic_candidates: ahead(c.dynamic_candidates, requested.dynamic_candidates),
            visits: ahead(c.visits, requested.visits),
            frozen: ahead(c.frozen, requested.frozen),
            ..requested
        };
        let limits = self.context.device.limits();
        let fits = self.host.layout(roomiest).check(&limits, self.host.domain.grid.buckets).is_ok();
        self.reallocate(if fits { roomiest } else { requested })
    }
}

// The capacity instead of a requested one, for so many spheres.
fn grown_ahead(have: u32, requested: u32, spheres: u32) -> u32 {
    if requested == have {
        return have;
    }
    let [small, large] = BLIND_GROWTH.map(|factor| have.saturating_mul(factor));
    requested.max(small.min(spheres.max(large)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_buffers_grow_in_few_steps_and_large_ones_by_twice_at_most() {
        assert_eq!(grown_ahead(64, 64, 1000), 64, "what sufficed stays");
        assert_eq!(grown_ahead(64, 100, 1000), 512);
        assert_eq!(grown_ahead(512, 700, 1000), 1024);
        assert_eq!(grown_ahead(2000, 2600, 1000), 4000);
        assert_eq!(grown_ahead(64, 9000, 1000), 9000, "at least what is requested");
        assert_eq!(grown_ahead(u32::MAX / 3, u32::MAX / 2, 10), u32::MAX / 3 * 2);
    }
}
