//! Stage `advance`: moves every sphere to the end of the substep and back into the lab frame.

use glam::{IVec4, Vec3, Vec4};
use rayon::prelude::*;

use crate::{
    cpu::{parallel::TASK, sleep::Sleep},
    state::{columns::NEVER, constants::MOST_LIFT, frame::Frame, grid::Grid},
    walls::world::Wall,
};

/// Columns that the stage only reads.
pub struct Inputs<'a> {
    pub frame: Frame,
    pub grid: &'a Grid,
    /// Planes, for spheres that a resting impact stopped on a plane.
    pub walls: &'a [Wall],
    pub sleep: &'a Sleep,
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
    let (frame, sleep) = (inputs.frame, inputs.sleep);
    let Outputs { place, motion, spin, motion_margin, support } = outputs;
    let at_rest = frame.velocity_at_rest();
    let path = frame.path(at_rest, 1.0, 0.0);
    let mover = Mover::new(inputs);
    let tasks = (
        place.par_chunks_mut(TASK),
        motion.par_chunks_mut(TASK),
        spin.par_chunks_mut(TASK),
        motion_margin.par_chunks_mut(TASK),
        support.par_chunks_mut(TASK),
    );
    tasks.into_par_iter().enumerate().for_each(|(task, (place, motion, spin, motion_margin, support))| {
        let first = task * TASK;
        sleep.for_parts(first..first + place.len(), |part, are_quiet| {
            let own = part.start - first..part.end - first;
            let (motion, spin) = (&mut motion[own.clone()], &mut spin[own.clone()]);
            let motion_margin = &mut motion_margin[own.clone()];
            if are_quiet && motion.iter().all(|motion| motion.w > 0.0 && motion.truncate() == at_rest) {
                // The result of `Mover::advance` for a sphere that stands exactly still.
                spin.iter_mut().for_each(|spin| spin.w = (spin.w - frame.h).max(NEVER));
                motion_margin.iter_mut().for_each(|margin| *margin -= path);
                motion.iter_mut().for_each(|motion| *motion = Vec4::ZERO.with_w(motion.w));
                return;
            }
            let columns = place[own.clone()].iter_mut().zip(motion).zip(spin).zip(motion_margin);
            let columns = columns.zip(&mut support[own]).zip(part);
            columns.for_each(|(((((place, motion), spin), motion_margin), support), i)| {
                mover.advance(i, Body { place, motion, spin, motion_margin, support });
            });
        });
    });
}

/// The columns of one sphere that the stage updates.
struct Body<'a> {
    place: &'a mut Vec4,
    motion: &'a mut Vec4,
    spin: &'a mut Vec4,
    motion_margin: &'a mut f32,
    support: &'a mut u8,
}

/// Moves one sphere; holds the numbers that all spheres share.
struct Mover<'a> {
    inputs: Inputs<'a>,
    /// Path of a free fall during the substep.
    fall: Vec3,
    /// Inverse of the square of the gravity; 0 without gravity.
    per_square: f32,
    /// Largest correction of a place along the gravity, over the gravity; 0 without gravity.
    most_lift: f32,
}

impl<'a> Mover<'a> {
    fn new(inputs: Inputs<'a>) -> Self {
        let Frame { h, gravity, .. } = inputs.frame;
        let square = gravity.length_squared();
        let (per_square, most_lift) =
            if square > 0.0 { (1.0 / square, MOST_LIFT / square.sqrt()) } else { (0.0, 0.0) };
        Self { fall: gravity * (0.5 * h * h), per_square, most_lift, inputs }
    }

    #[inline(always)]
    fn advance(&self, i: usize, body: Body) {
        let Self { inputs: Inputs { frame, grid, walls, clock, cell, rested, .. }, .. } = self;
        let Body { place, motion, spin, motion_margin, support } = body;
        let (h, clock, rested) = (frame.h, clock[i], rested[i]);
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
        let lift = if rested > 0.0 { 0.0 } else { 0.5 * rounded.dot(u + v) * self.per_square };
        let correction = rounded * (0.5 * h) + frame.gravity * lift.clamp(-self.most_lift, self.most_lift);
        *place += (u * (h - clock) + (self.fall + correction)).extend(0.0);
        *motion = v.extend(motion.w);
        if *support != 0 {
            let wall = &walls[usize::from(*support) - 1];
            *support = 0;
            let speed = wall.normal.dot(motion.truncate());
            *motion -= (wall.normal * speed).extend(0.0);
            let to_wall = grid.shift(cell[i].truncate() - wall.cell) + (place.truncate() - wall.offset);
            let gap = wall.normal.dot(to_wall) - place.w;
            *place -= (wall.normal * gap).extend(0.0);
        }
    }
}
