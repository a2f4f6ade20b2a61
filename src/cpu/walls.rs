//! Sums the impulses on walls, and the work done by walls, over a step.

use crate::{
    System,
    cpu::{collide::Push, core::Core},
    step::driver::WallSum,
};

/// Sums over the substeps of a step, in scaled units.
#[derive(Default)]
pub struct Walls {
    pub sums: Vec<WallSum>,
}

impl Walls {
    pub fn new(system: &System) -> Self {
        Self { sums: vec![WallSum::default(); system.all_walls().len()] }
    }

    pub fn clear(&mut self) {
        self.sums.fill(WallSum::default());
    }

    /// Adds the impulses of a substep, of impacts and of resting contacts. The walls must be at their positions of that
    /// substep.
    pub fn add(&mut self, impacts: &[Push], resting: &[Push], core: &Core) {
        if self.sums.is_empty() {
            return;
        }
        let features = &core.domain.world.features;
        for push in impacts.iter().chain(resting) {
            let sum = &mut self.sums[push.wall as usize];
            let impulse = push.impulse.as_dvec3();
            let arm = core.domain.grid.world(push.cell, push.offset)
                - features.pivot(push.wall) / core.domain.units.length;
            sum.impulse -= impulse;
            let turn = push.turn.as_dvec3();
            sum.twist -= arm.cross(impulse) + turn;
            if let Some(mover) = features.mover_of(push.wall) {
                let spin = mover.spin.as_dvec3();
                sum.work += impulse.dot(mover.velocity.as_dvec3() + spin.cross(arm)) + turn.dot(spin);
            }
        }
    }
}
