//! Stage `bin`: computes the cell and bucket of every sphere, and counts the spheres of each bucket.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use rayon::prelude::*;

use crate::{
    cpu::parallel::TASK,
    state::{columns::State, grid::Grid},
};

/// Settles positions into their cells, writes the buckets to `keys` and counts the spheres of each bucket in `histogram`.
pub fn bin(grid: &Grid, state: &mut State, keys: &mut [u32], histogram: &[AtomicU32]) {
    histogram.par_iter().with_min_len(16 * TASK).for_each(|n| n.store(0, Relaxed));
    let spheres = (&mut state.place, &mut state.cell, keys);
    spheres.into_par_iter().with_min_len(TASK).for_each(|(place, cell, key)| {
        let (c, offset) = grid.settle(cell.truncate(), place.truncate());
        *cell = c.extend(cell.w);
        *place = offset.extend(place.w);
        *key = grid.bucket(grid.row(c.y, c.z), c.x) as u32 + grid.levels.part(offset, place.w);
        histogram[*key as usize].fetch_add(1, Relaxed);
    });
}
