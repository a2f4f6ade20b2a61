//! Stage 10: every sphere to the end of the substep and back into the lab.

use rayon::prelude::*;

use crate::{
    cpu::{event::View, parallel::TASK},
    state::columns::NEVER,
};
use glam::{Vec3, Vec4};

/// What the stage writes.
pub struct Bodies<'a> {
    pub place: &'a mut [Vec4],
    pub motion: &'a mut [Vec4],
    pub spin: &'a mut [Vec4],
    pub motion_margin: &'a mut [f32],
    pub support: &'a mut [u8],
}

/// Moves all spheres; `view.state` holds cells alone, its other arrays are in `bodies`.
pub fn advance(view: &View, bodies: Bodies) {
    let (frame, h) = (view.frame, view.frame.h);
    let fall = frame.gravity * (0.5 * h * h);
    let Bodies { place, motion, spin, motion_margin, support } = bodies;
    (place, motion, spin, motion_margin, support, view.clock, &view.state.cell, view.rested)
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
                let wall = &view.world.walls[usize::from(*support) - 1];
                *support = 0;
                let speed = wall.normal.dot(motion.truncate());
                *motion -= (wall.normal * speed).extend(0.0);
                let to_wall = view.grid.shift(cell.truncate() - wall.cell) + (place.truncate() - wall.offset);
                let gap = wall.normal.dot(to_wall) - place.w;
                *place -= (wall.normal * gap).extend(0.0);
            }
        });
}
