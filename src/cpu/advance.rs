//! Stage 10: every sphere to the end of the substep and back into the lab.

use glam::{IVec4, Vec3, Vec4};
use rayon::prelude::*;

use crate::{
    cpu::parallel::TASK,
    state::{columns::NEVER, frame::Frame, grid::Grid},
    walls::world::Wall,
};

/// What the stage reads.
pub struct Inputs<'a> {
    pub frame: Frame,
    pub grid: &'a Grid,
    /// Planes, for spheres that a resting impact stopped on one.
    pub walls: &'a [Wall],
    pub clock: &'a [f32],
    pub cell: &'a [IVec4],
    pub rested: &'a [f32],
}

/// What the stage writes, and reads as it was.
pub struct Outputs<'a> {
    pub place: &'a mut [Vec4],
    pub motion: &'a mut [Vec4],
    pub spin: &'a mut [Vec4],
    pub motion_margin: &'a mut [f32],
    pub support: &'a mut [u8],
}

/// Moves all spheres.
pub fn advance(inputs: Inputs, outputs: Outputs) {
    let Inputs { frame, grid, walls, clock, cell, rested } = inputs;
    let h = frame.h;
    let fall = frame.gravity * (0.5 * h * h);
    let Outputs { place, motion, spin, motion_margin, support } = outputs;
    (place, motion, spin, motion_margin, support, clock, cell, rested)
        .into_par_iter()
        .with_min_len(TASK)
        .for_each(|(place, motion, spin, motion_margin, support, &clock, cell, &rested)| {
            let u = motion.truncate();
            spin.w = (spin.w - h).max(NEVER);
            *motion_margin -= frame.path(u, motion.w, clock);
            if motion.w == 0.0 {
                return;
            }
            // What rows carry moves along the chord of its way.
            let gain = frame.gravity * (h - 0.5 * rested);
            let v = u + gain;
            if rested > 0.0 && clock == 0.0 && *support == 0 && v == Vec3::ZERO {
                // It stands, to the bit: the chord would make up for the fall but for rounding.
                *motion = Vec4::ZERO.with_w(motion.w);
                return;
            }
            // Rounding takes the same bit off the velocity in every step of a fall. The path has to be that of the
            // mean of the two velocities as they are, or a bounce would not come out as it went in.
            let rounded = (v - u) - gain;
            // One addition: the tiny fall added by itself would round the same way every step.
            *place += (u * (h - clock) + (fall + rounded * (0.5 * h))).extend(0.0);
            *motion = v.extend(motion.w);
            if *support != 0 {
                let wall = &walls[usize::from(*support) - 1];
                *support = 0;
                let speed = wall.normal.dot(motion.truncate());
                *motion -= (wall.normal * speed).extend(0.0);
                let to_wall = grid.shift(cell.truncate() - wall.cell) + (place.truncate() - wall.offset);
                let gap = wall.normal.dot(to_wall) - place.w;
                *place -= (wall.normal * gap).extend(0.0);
            }
        });
}
