//! Room on the device: buffers for another system of cells, and larger ones where a step stood still for want of room.

use super::GpuEngine;
use crate::{
    Error,
    gpu::{
        buffers::Buffers,
        layout::{
            CANDIDATES_NEEDED, EXTRAS_NEEDED, FROZEN_NEEDED, LOG_NEEDED, ROWS_NEEDED, STICKY_END,
            THREATS_NEEDED, VISITS_NEEDED,
        },
        places::Capacities,
    },
    model::state::State,
};

/// More room than was needed, so that a growing system is not done twice at every step.
const SPARE_ROOM: f64 = 1.25;

impl GpuEngine {
    /// Goes on from a state on the present cells.
    pub(super) fn load(&mut self, state: &State) -> Result<(), Error> {
        if self.host.variant() != self.pipelines.variant {
            self.pipelines = self.context.pipelines(self.host.variant())?;
        }
        self.make_room(self.buffers.places.capacities)?;
        self.buffers.bring_loads(&self.context, self.current);
        self.current = 0;
        self.host.upload(&self.context.queue, &self.buffers, 0, state);
        Ok(())
    }

    /// Makes room, and lets what stood still for want of it go on.
    pub(super) fn make_room(&mut self, capacities: Capacities) -> Result<(), Error> {
        let places = self.host.places(capacities);
        if places != self.buffers.places {
            places.check(&self.context.device.limits(), self.host.grid.buckets)?;
            self.buffers = Buffers::new(&self.context, &self.pipelines, places, Some(&self.buffers))?;
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
        let c = self.buffers.places.capacities;
        self.make_room(Capacities {
            entries: roomier(c.entries, CANDIDATES_NEEDED),
            extras: roomier(c.extras, EXTRAS_NEEDED),
            visits: roomier(c.visits, VISITS_NEEDED),
            threats: roomier(c.threats, THREATS_NEEDED),
            frozen: roomier(c.frozen, FROZEN_NEEDED),
            log: roomier(c.log, LOG_NEEDED),
            rows: roomier(c.rows, ROWS_NEEDED),
            blocks: c.blocks,
        })
    }
}
