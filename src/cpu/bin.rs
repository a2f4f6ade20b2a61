//! Stage `bin`: computes the cell and bucket of every sphere, and counts the spheres of each bucket.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

use rayon::prelude::*;

use crate::{
    cpu::parallel::TASK,
    state::{columns::State, grid::Grid},
};

/// Settles positions into their cells, writes the buckets to `keys` and counts the spheres of each bucket in `histogram`.
/// Returns whether all cells and keys are as before.
pub fn bin(grid: &Grid, state: &mut State, keys: &mut [u32], histogram: &[AtomicU32]) -> bool {
    let changes = AtomicBool::new(false);
    histogram.par_iter().with_min_len(16 * TASK).for_each(|n| n.store(0, Relaxed));
    let spheres = (&mut state.place, &mut state.cell, keys);
    spheres.into_par_iter().with_min_len(TASK).for_each(|(place, cell, key)| {
        let (c, offset) = grid.settle(cell.truncate(), place.truncate());
        let now = grid.bucket(grid.row(c.y, c.z), c.x) as u32 + grid.levels.part(offset, place.w);
        if now != *key || c != cell.truncate() {
            changes.store(true, Relaxed);
        }
        *cell = c.extend(cell.w);
        *place = offset.extend(place.w);
        *key = now;
        histogram[now as usize].fetch_add(1, Relaxed);
    });
    !changes.into_inner()
}
