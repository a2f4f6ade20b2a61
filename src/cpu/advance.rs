//! Stage `advance`: moves every sphere to the end of the substep and back into the lab frame.

use glam::{IVec4, Vec3, Vec4};
use rayon::prelude::*;

use crate::{
    cpu::parallel::TASK,
    state::{columns::NEVER, constants::MOST_LIFT, frame::Frame, grid::Grid},
    walls::world::Wall,
};

/// Columns that the stage only reads.
pub struct Inputs<'a> {
    pub frame: Frame,
    pub grid: &'a Grid,
    /// Planes, for spheres that a resting impact stopped on a plane.
    pub walls: &'a [Wall],
    pub clock: &'a [f32],
    pub cell: &'a [IVec4],
    pub rested: &'a [f32],
}

/// Columns that the stage reads and updates.
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
    let square = frame.gravity.length_squared();
    let (per_square, most_lift) =
        if square > 0.0 { (1.0 / square, MOST_LIFT / square.sqrt()) } else { (0.0, 0.0) };
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
            // A sphere supported by contact constraints moves along the chord of its path.
            let gain = frame.gravity * (h - 0.5 * rested);
            let v = u + gain;
            if rested > 0.0 && clock == 0.0 && *support == 0 && v == Vec3::ZERO {
                // The sphere stands exactly still: without this, rounding would remain after the chord cancels the fall.
                *motion = Vec4::ZERO.with_w(motion.w);
                return;
            }
            // Rounding removes the same bit of the velocity in every step of a fall. The path must match the mean of
            // the two rounded velocities; otherwise a bounce would not be symmetric.
            let rounded = (v - u) - gain;
            // One addition, because the tiny fall added alone would round the same way in every step.
            // The rounded velocity has another energy. In flight, a small displacement along gravity restores the sum.
            let lift = if rested > 0.0 { 0.0 } else { 0.5 * rounded.dot(u + v) * per_square };
            let correction = rounded * (0.5 * h) + frame.gravity * lift.clamp(-most_lift, most_lift);
            *place += (u * (h - clock) + (fall + correction)).extend(0.0);
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
