//! Stage `bin`: computes the cell and bucket of every sphere, and counts the spheres of each bucket.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

use glam::{IVec3, IVec4, Vec3, Vec4};
use rayon::prelude::*;

use crate::{
    cpu::{
        bits::Bits,
        parallel::{Counting, TASK, for_ranges},
    },
    state::{columns::State, grid::Grid},
};

/// Settles positions into their cells, writes the buckets to `keys` and counts the spheres of each bucket in `histogram`.
pub fn bin(grid: &Grid, state: &mut State, keys: &mut [u32], histogram: &[AtomicU32]) {
    histogram.par_iter().with_min_len(16 * TASK).for_each(|n| n.store(0, Relaxed));
    let (counting, edge) = (Counting::here(), grid.edge.extend(f32::INFINITY));
    let spheres = (&mut state.place, &mut state.cell, keys);
    spheres.into_par_iter().with_min_len(TASK).for_each(|(place, cell, key)| {
        let (c, offset, bucket) = settled(grid, edge, *place, *cell);
        *cell = c.extend(cell.w);
        *place = offset.extend(place.w);
        *key = bucket;
        counting.next(&histogram[bucket as usize]);
    });
}

/// Whether all spheres of a set are in the cells and buckets that they were in, so that [`bin`] would change nothing.
pub fn stay(grid: &Grid, state: &State, keys: &[u32], set: &Bits) -> bool {
    let (stay, edge) = (AtomicBool::new(true), grid.edge.extend(f32::INFINITY));
    for_ranges(state.len(), TASK, |range| {
        if !stay.load(Relaxed) {
            return;
        }
        set.for_members(range, |i| {
            let (place, cell) = (state.place[i], state.cell[i]);
            let (c, offset, bucket) = settled(grid, edge, place, cell);
            // An offset just below 0 may become 0 in the same cell.
            if bucket != keys[i] || c != cell.truncate() || offset != place.truncate() {
                stay.store(false, Relaxed);
            }
        });
    });
    stay.into_inner()
}

// Cell, offset and bucket of a sphere.
#[inline(always)]
fn settled(grid: &Grid, edge: Vec4, place: Vec4, cell: IVec4) -> (IVec3, Vec3, u32) {
    let (mut c, mut offset) = (cell.truncate(), place.truncate());
    // Most spheres are still in their cells.
    if (place.cmplt(Vec4::ZERO) | place.cmpge(edge)).any() {
        (c, offset) = grid.settle(c, offset);
    }
    (c, offset, grid.bucket(grid.row(c.y, c.z), c.x) as u32 + grid.levels.part(offset, place.w))
}
