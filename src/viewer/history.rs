//! Earlier states of the run, for steps back.

use std::collections::VecDeque;

use crate::{Simulation, Sphere, simulation::Moment};

/// Most memory of all kept states (bytes).
pub const MOST_BYTES: usize = 256 << 20;
/// Most states.
pub const MOST: usize = 1000;

/// The last states of a run, one per step, oldest first. The oldest states are dropped when the memory or the number of
/// states would exceed its bound; a state that is larger than the bound is not kept.
#[derive(Default)]
pub struct History {
    kept: VecDeque<Kept>,
    bytes: usize,
    /// The last dropped state; a device copies the next state into its buffers.
    spare: Option<Moment>,
}

struct Kept {
    moment: Moment,
    bytes: usize,
    /// Number of the world and generation of the spheres, which change with the system.
    system: (u64, u64),
}

impl History {
    /// Keeps the present state. `world` changes with every edit of the system.
    pub fn note(&mut self, simulation: &Simulation, world: u64) {
        if simulation.sphere_count() * size_of::<Sphere>() > MOST_BYTES {
            // Not even one state would stay.
            return;
        }
        let system = (world, simulation.generation());
        let is_shared = |kept: &&Kept| kept.system == system && simulation.system().compression.is_none();
        let shared = self.kept.back().filter(is_shared).map(|kept| &kept.moment);
        // Without memory for a copy the run continues, and a lost device fails the next step.
        let Ok(moment) = simulation.moment(shared, self.spare.take()) else { return };
        let bytes = moment.bytes();
        self.bytes += bytes;
        self.kept.push_back(Kept { moment, bytes, system });
        while self.bytes > MOST_BYTES || self.kept.len() > MOST {
            let Some(oldest) = self.kept.pop_front() else { break };
            self.bytes -= oldest.bytes;
            self.spare = Some(oldest.moment);
        }
    }

    /// The latest state before this step, if it is kept. Later states are dropped.
    pub fn before(&mut self, step: u64) -> Option<&Moment> {
        while let Some(last) = self.kept.pop_back_if(|kept| kept.moment.step() >= step) {
            self.bytes -= last.bytes;
        }
        self.kept.back().map(|kept| &kept.moment)
    }

    /// Number of states before this step, and the memory of all states (bytes).
    pub fn extent(&self, step: u64) -> (usize, usize) {
        (self.kept.iter().filter(|kept| kept.moment.step() < step).count(), self.bytes)
    }
}
