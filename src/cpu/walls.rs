//! What walls feel in a step.

use glam::DVec3;

use super::{collide::Push, core::Core};
use crate::{System, WallLoad};

/// Sums over the substeps of a step, in scaled units.
#[derive(Default)]
pub struct Walls {
    sums: Vec<Sum>,
}

#[derive(Clone, Copy, Default)]
struct Sum {
    impulse: DVec3,
    /// About the pivot.
    twist: DVec3,
    work: f64,
}

impl Walls {
    pub fn new(system: &System) -> Self {
        Self { sums: vec![Sum::default(); system.all_walls().len()] }
    }

    pub fn clear(&mut self) {
        self.sums.fill(Sum::default());
    }

    /// Adds what walls did in a substep, in impacts and to what rests; the walls are where they were then.
    pub fn add(&mut self, impacts: &[Push], resting: &[Push], core: &Core) {
        if self.sums.is_empty() {
            return;
        }
        let patches = &core.world.patches;
        for push in impacts.iter().chain(resting) {
            let sum = &mut self.sums[push.wall as usize];
            let impulse = push.impulse.as_dvec3();
            let arm = core.grid.world(push.cell, push.offset) - patches.pivot(push.wall) / core.units.length;
            sum.impulse -= impulse;
            sum.twist -= arm.cross(impulse);
            if let Some(mover) = patches.mover_of(push.wall) {
                let drive = mover.velocity.as_dvec3() + mover.spin.as_dvec3().cross(arm);
                sum.work += impulse.dot(drive);
            }
        }
    }

    pub fn loads(&self, core: &Core, dt: f64) -> Vec<WallLoad> {
        let units = &core.units;
        let force = units.mass * units.velocity() / (units.time * dt);
        let load = |sum: &Sum| WallLoad {
            force: sum.impulse * force,
            torque: sum.twist * (force * units.length),
            power: sum.work * units.energy() / (units.time * dt),
        };
        self.sums.iter().map(load).collect()
    }
}
