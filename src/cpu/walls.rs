//! Sums the impulses on walls, and the work done by walls, over a step.

use crate::{
    System,
    cpu::{collide::Push, core::Core},
    state::grid::Grid,
    step::{domain::Domain, driver::WallSum},
    walls::features::WallFeatures,
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
    pub fn add(&mut self, impacts: &[Push], core: &Core) {
        if self.sums.is_empty() {
            return;
        }
        let Domain { grid, world, units, .. } = &core.domain;
        let site = Site { grid, features: &world.features, length: units.length };
        for push in impacts {
            site.add(&mut self.sums[push.wall as usize], push);
        }
        for &(wall, sum) in core.constraints.wall_sums() {
            self.sums[wall as usize] += sum;
        }
    }
}

/// Where spheres and walls are in a substep.
pub struct Site<'a> {
    pub grid: &'a Grid,
    pub features: &'a WallFeatures,
    /// The unit of length.
    pub length: f64,
}

impl Site<'_> {
    /// Adds an impulse to the sums of its wall.
    pub fn add(&self, sum: &mut WallSum, push: &Push) {
        let impulse = push.impulse.as_dvec3();
        let arm = self.grid.world(push.cell, push.offset) - self.features.pivot(push.wall) / self.length;
        sum.impulse -= impulse;
        let turn = push.turn.as_dvec3();
        sum.twist -= arm.cross(impulse) + turn;
        if let Some(mover) = self.features.mover_of(push.wall) {
            let spin = mover.spin.as_dvec3();
            sum.work += impulse.dot(mover.velocity.as_dvec3() + spin.cross(arm)) + turn.dot(spin);
        }
    }
}
