//! Stage `bin`: computes the cell and bucket of every sphere, and counts the spheres of each bucket.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

use glam::Vec4;
use rayon::prelude::*;

use crate::{
    cpu::parallel::{Counting, TASK},
    state::{columns::State, grid::Grid},
};

/// Settles positions into their cells, writes the buckets to `keys` and counts the spheres of each bucket in `histogram`.
/// Returns whether all cells and keys are as before.
pub fn bin(grid: &Grid, state: &mut State, keys: &mut [u32], histogram: &[AtomicU32]) -> bool {
    let changes = AtomicBool::new(false);
    histogram.par_iter().with_min_len(16 * TASK).for_each(|n| n.store(0, Relaxed));
    let (counting, edge) = (Counting::here(), grid.edge.extend(f32::INFINITY));
    let spheres = (&mut state.place, &mut state.cell, keys);
    spheres.into_par_iter().with_min_len(TASK).for_each(|(place, cell, key)| {
        let (mut c, mut offset) = (cell.truncate(), place.truncate());
        // Most spheres are still in their cells.
        if (place.cmplt(Vec4::ZERO) | place.cmpge(edge)).any() {
            (c, offset) = grid.settle(c, offset);
        }
        let now = grid.bucket(grid.row(c.y, c.z), c.x) as u32 + grid.levels.part(offset, place.w);
        if now != *key || c != cell.truncate() {
            changes.store(true, Relaxed);
        }
        *cell = c.extend(cell.w);
        *place = offset.extend(place.w);
        *key = now;
        counting.next(&histogram[now as usize]);
    });
    !changes.into_inner()
}
