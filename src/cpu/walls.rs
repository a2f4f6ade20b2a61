//! What walls feel in a step.

use glam::DVec3;

use crate::{
    System, WallLoad,
    cpu::{collide::Push, core::Core},
    state::units::Units,
};

/// Sums over the substeps of a step, in scaled units.
#[derive(Default)]
pub struct Walls {
    sums: Vec<Sum>,
}

/// What a wall felt.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sum {
    pub impulse: DVec3,
    /// About the pivot.
    pub twist: DVec3,
    /// Done by the wall.
    pub work: f64,
}

impl Sum {
    /// As a mean over a step of length `dt` (scaled).
    pub fn load(&self, units: &Units, dt: f64) -> WallLoad {
        let force = units.mass * units.velocity() / (units.time * dt);
        WallLoad {
            force: self.impulse * force,
            torque: self.twist * (force * units.length),
            power: self.work * units.energy() / (units.time * dt),
        }
    }
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
        let features = &core.world.features;
        for push in impacts.iter().chain(resting) {
            let sum = &mut self.sums[push.wall as usize];
            let impulse = push.impulse.as_dvec3();
            let arm = core.grid.world(push.cell, push.offset) - features.pivot(push.wall) / core.units.length;
            sum.impulse -= impulse;
            let turn = push.turn.as_dvec3();
            sum.twist -= arm.cross(impulse) + turn;
            if let Some(mover) = features.mover_of(push.wall) {
                let spin = mover.spin.as_dvec3();
                sum.work += impulse.dot(mover.velocity.as_dvec3() + spin.cross(arm)) + turn.dot(spin);
            }
        }
    }

    pub fn warm_start(&self, core: &Core, dt: f64) -> Vec<WallLoad> {
        self.sums.iter().map(|sum| sum.load(&core.units, dt)).collect()
    }
}
