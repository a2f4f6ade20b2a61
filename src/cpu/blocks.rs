//! Solving order of contact constraints. The grid is divided into blocks of cells. Blocks have one of eight colours, and
//! the cells within a block one of 27 inner colours. The order depends on cells only, not on the number of threads.
//!
//! A contact constraint belongs to the cell of its first sphere, and its second sphere lies at most one cell away. Blocks
//! of one colour are at least two cells apart, so their constraints share no sphere and are solved in parallel. The
//! constraints of the cells of one inner colour share no sphere either, unless a block spans a whole period.

use crate::state::constants::COLOURS;
use std::ops::Range;

use glam::IVec3;
use rayon::prelude::*;

use crate::state::grid::Grid;

/// Edge of a block in cells. Larger blocks load less from their neighbours; smaller blocks occupy more threads.
pub const EDGE: i32 = 4;

/// Minimum number of spheres in a task, in whole blocks.
const TASK: usize = 192;

/// The solving order of all spheres.
#[derive(Default)]
pub struct Blocks {
    pub owners: Vec<u32>,
    /// Spheres of each task, as ranges of `owners`.
    pub tasks: Vec<Range<usize>>,
    /// Tasks of each colour.
    pub colours: [Range<usize>; COLOURS],
}

/// Blocks along one axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Axis {
    /// Number of cells; 0 = unbounded.
    cells: i32,
    /// Cells per block; the last block of a period may have more.
    pub edge: i32,
    /// Number of blocks; 0 = unbounded.
    pub blocks: i32,
}

impl Axis {
    pub fn new(cells: i32, periodic: bool) -> Self {
        let (edge, blocks) = match cells {
            0 => (EDGE, 0),
            1..4 if periodic => (cells, 1),
            // At least two blocks of at least two cells. The number is even, because otherwise the first and the last block
            // would have the same colour across the period.
            4..8 if periodic => (cells / 2, 2),
            _ if periodic => (EDGE, cells / (2 * EDGE) * 2),
            _ => (EDGE, (cells - 1) / EDGE + 1),
        };
        Self { cells, edge, blocks }
    }

    /// The axes of a grid.
    pub fn of(grid: &Grid) -> [Self; 3] {
        [0, 1, 2].map(|axis| Self::new(grid.count[axis], grid.periodic[axis]))
    }

    /// Cells of a block; at least two if there are several blocks.
    fn range(&self, block: i32) -> Range<i32> {
        let start = block * self.edge;
        start..if block + 1 == self.blocks { self.cells } else { start + self.edge }
    }

    /// The block of a cell.
    pub fn block(&self, cell: i32) -> i32 {
        let block = cell.div_euclid(self.edge);
        if self.blocks == 0 { block } else { block.min(self.blocks - 1) }
    }
}

impl Blocks {
    /// Computes the order of the spheres of a grid. `cell` returns the cell of a sphere; `starts` holds the first
    /// sphere of each bucket.
    pub fn lay(&mut self, grid: &Grid, starts: &[u32], cell: impl Fn(usize) -> IVec3 + Sync, count: usize) {
        self.owners.clear();
        self.tasks.clear();
        let axes = Axis::of(grid);
        if grid.direct {
            self.order_cells(grid, axes, starts);
        } else {
            self.order_spheres(axes, cell, count);
        }
    }

    fn order_cells(&mut self, grid: &Grid, axes: [Axis; 3], starts: &[u32]) {
        let [x, y, z] = axes;
        for colour in 0..COLOURS {
            let (first_task, mut begin) = (self.tasks.len(), self.owners.len());
            let of_colour = |axis: Axis, bit: usize| ((colour >> bit & 1) as i32..axis.blocks).step_by(2);
            for bz in of_colour(z, 2) {
                for by in of_colour(y, 1) {
                    for bx in of_colour(x, 0) {
                        self.order_block(grid, [x.range(bx), y.range(by), z.range(bz)], starts);
                        if self.owners.len() - begin >= TASK {
                            self.tasks.push(begin..self.owners.len());
                            begin = self.owners.len();
                        }
                    }
                }
            }
            if self.owners.len() > begin {
                self.tasks.push(begin..self.owners.len());
            }
            self.colours[colour] = first_task..self.tasks.len();
        }
    }

    fn order_block(&mut self, grid: &Grid, [x, y, z]: [Range<i32>; 3], starts: &[u32]) {
        for inner in 0..27 {
            let every_third = |cells: &Range<i32>, first: i32| (cells.start + first..cells.end).step_by(3);
            for cz in every_third(&z, inner / 9) {
                for cy in every_third(&y, inner / 3 % 3) {
                    let row = grid.row(cy, cz);
                    for cx in every_third(&x, inner % 3) {
                        let bucket = grid.bucket(row, cx);
                        self.owners.extend(grid.range(starts, bucket));
                    }
                }
            }
        }
    }

    // Buckets of a hashed grid are not in spatial order: sort the spheres.
    fn order_spheres(&mut self, axes: [Axis; 3], cell: impl Fn(usize) -> IVec3 + Sync, count: usize) {
        let mut keyed: Vec<_> = (0..count)
            .into_par_iter()
            .map(|i| {
                let (cell, mut colour, mut inner, mut block) = (cell(i), 0, 0, [0; 3]);
                for axis in (0..3).rev() {
                    let c = cell[axis];
                    let at = axes[axis].block(c);
                    colour = 2 * colour + at.rem_euclid(2);
                    inner = 3 * inner + (c - axes[axis].range(at).start) % 3;
                    block[2 - axis] = at;
                }
                (colour, block, inner, [cell.z, cell.y, cell.x], i as u32)
            })
            .collect();
        // All keys differ, so the order is unique.
        keyed.par_sort_unstable();
        let mut next = 0;
        for colour in 0..COLOURS {
            let first_task = self.tasks.len();
            while next < keyed.len() && keyed[next].0 as usize == colour {
                let begin = next;
                while next < keyed.len()
                    && keyed[next].0 as usize == colour
                    && (next - begin < TASK || keyed[next].1 == keyed[next - 1].1)
                {
                    next += 1;
                }
                self.tasks.push(begin..next);
            }
            self.colours[colour] = first_task..self.tasks.len();
        }
        self.owners.extend(keyed.iter().map(|key| key.4));
    }

    pub fn bytes(&self) -> usize {
        4 * self.owners.capacity() + size_of::<Range<usize>>() * self.tasks.capacity()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Two blocks of one colour along an axis, together with the cells in their reach, have no cell in common. Nor have two
    // cells of one inner colour in a block, unless the block is the whole period.
    #[test]
    fn blocks_of_one_colour_and_cells_of_one_inner_colour_are_out_of_reach_of_each_other() {
        for (count, periodic) in (1..200).flat_map(|count| [(count, false), (count, true)]) {
            let axis = Axis::new(count, periodic);
            let mut next = 0;
            let mut reached = [vec![false; count as usize], vec![false; count as usize]];
            for block in 0..axis.blocks {
                let range = axis.range(block);
                assert_eq!(range.start, next, "{count} {periodic}: the blocks follow each other");
                assert!(range.clone().all(|cell| axis.block(cell) == block), "{count} {periodic}");
                next = range.end;
                if axis.blocks == 1 {
                    continue;
                }
                let mut own: Vec<i32> = (range.start - 1..=range.end)
                    .filter_map(|cell| match periodic {
                        true => Some(cell.rem_euclid(count)),
                        false => (0..count).contains(&cell).then_some(cell),
                    })
                    .collect();
                own.sort_unstable();
                own.dedup();
                for cell in own {
                    let before = &mut reached[block as usize % 2][cell as usize];
                    assert!(
                        !std::mem::replace(before, true),
                        "{count} {periodic}: cell {cell} is reached twice"
                    );
                }
            }
            assert_eq!(next, count);
        }
        let long = Axis::new(1 << 28, false);
        assert_eq!(long.range(long.blocks - 1).end, 1 << 28);
        assert_eq!(long.block((1 << 28) - 1), long.blocks - 1);
    }
}
