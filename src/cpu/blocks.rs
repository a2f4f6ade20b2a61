//! Solving order of contact constraints. The grid is divided into blocks of cells. Blocks have one of eight colours, and
//! the cells within a block one of 27 inner colours. The order depends on cells only, not on the number of threads.
//!
//! A contact constraint belongs to the cell of its first sphere, and its second sphere lies at most one cell away. Blocks
//! of one colour are at least two cells apart, so their constraints share no sphere and are solved in parallel. The
//! constraints of the cells of one inner colour share no sphere either. This order of the
//! spheres is the order in which the constraints of a block choose their own colours; see `order_block` in `constraints.rs`.

use crate::state::{constants::COLOURS, grid::LONGEST_BLOCK_EDGE};
use std::ops::Range;

use glam::IVec3;
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::{cpu::order::Order, state::grid::Grid};

/// Reach from a cell, in cells, that covers its block and all blocks next to it.
pub const ALL_AROUND: i32 = LONGEST_BLOCK_EDGE;

/// Bounds of the minimum number of spheres in a task, in whole blocks. Within them it makes about `TASKS` tasks.
const SPHERES_OF_TASK: Range<usize> = 32..192;
const TASKS: usize = 64;

/// Spheres per task of a loop over all spheres.
const SORTED: usize = 192;

/// Spheres per slot of a colour in a hashed grid.
const SPHERES_OF_SLOT: u32 = 128;

/// The spheres of a block.
#[derive(Clone, Debug)]
pub struct Block {
    /// Number of the block; blocks that cannot touch each other may share one.
    pub number: u32,
    /// Its coordinates.
    at: IVec3,
    /// Range of `owners`.
    pub owners: Range<usize>,
}

/// The solving order of all spheres.
#[derive(Default)]
pub struct Blocks {
    pub owners: Vec<u32>,
    /// Blocks with spheres, in solving order.
    pub all: Vec<Block>,
    /// Blocks of each task, as ranges of `all`.
    pub tasks: Vec<Range<usize>>,
    /// Tasks of each colour.
    pub colours: [Range<usize>; COLOURS],
    numbers: Numbers,
    /// For each block, where its part of `earlier` ends, and the blocks next to it that come before it in solving order.
    ends: Vec<usize>,
    earlier: Vec<u32>,
    /// Index in `all` of each block.
    indices: FxHashMap<IVec3, u32>,
    /// Minimum number of spheres in a task.
    task: usize,
}

/// Numbers of blocks: colour times slots plus slot, the same on both engines.
#[derive(Clone, Copy, Debug, Default)]
pub struct Numbers {
    axes: [Axis; 3],
    slots: u32,
}

impl Numbers {
    /// The numbers of a grid for so many spheres.
    pub fn new(grid: &Grid, count: usize) -> Self {
        let axes = Axis::of(grid);
        let slots = if grid.direct {
            axes.iter().map(|axis| (axis.blocks as u32).div_ceil(2)).product()
        } else {
            (count as u32 / SPHERES_OF_SLOT).next_power_of_two().max(8)
        };
        Self { axes, slots }
    }

    /// Blocks of a colour, or slots for them in a hashed grid.
    #[cfg(feature = "gpu")]
    pub fn slots(&self) -> u32 {
        self.slots
    }

    /// Number of all blocks.
    pub fn count(&self) -> usize {
        COLOURS * self.slots as usize
    }

    /// The block of a cell.
    pub fn block(&self, cell: IVec3) -> IVec3 {
        IVec3::from_array([0, 1, 2].map(|axis| self.axes[axis].block(cell[axis])))
    }

    /// Colour of a cell in its block.
    pub fn inner_colour(&self, cell: IVec3) -> usize {
        let place = |axis: usize| {
            let axes = &self.axes[axis];
            (cell[axis] - axes.range(axes.block(cell[axis])).start) % 3
        };
        (9 * place(2) + 3 * place(1) + place(0)) as usize
    }

    /// Colour of a block.
    fn colour(block: IVec3) -> usize {
        (0..3).rev().fold(0, |colour, axis| 2 * colour + block[axis].rem_euclid(2) as usize)
    }

    /// Number of a block.
    pub fn number(&self, grid: &Grid, block: IVec3) -> u32 {
        let slot = if grid.direct {
            let half = self.axes.map(|axis| (axis.blocks + 1) / 2);
            (((block.z / 2) * half[1] + block.y / 2) * half[0] + block.x / 2) as u32
        } else {
            (grid.row(block.y, block.z) ^ (block.x as u32).wrapping_mul(0x27d4_eb2f)) & (self.slots - 1)
        };
        Self::colour(block) as u32 * self.slots + slot
    }

    /// Calls `visit` with a block and the blocks next to it.
    fn beside(&self, grid: &Grid, block: IVec3, mut visit: impl FnMut(IVec3)) {
        let [x, y, z] = [0, 1, 2].map(|axis| self.axes[axis].beside(block[axis], grid.periodic[axis]));
        for z in z.into_iter().flatten() {
            for y in y.into_iter().flatten() {
                for x in x.into_iter().flatten() {
                    visit(IVec3::new(x, y, z));
                }
            }
        }
    }

    /// Calls `visit` with the numbers of the blocks that have cells within `reach` of a cell along each axis. A reach of [`ALL_AROUND`]
    /// gives the block of the cell and all blocks next to it.
    pub fn near(&self, grid: &Grid, cell: IVec3, reach: i32, mut visit: impl FnMut(u32)) {
        let [x, y, z] = [0, 1, 2].map(|axis| self.axes[axis].near(cell[axis], grid.periodic[axis], reach));
        for z in z.into_iter().flatten() {
            for y in y.into_iter().flatten() {
                for x in x.into_iter().flatten() {
                    visit(self.number(grid, IVec3::new(x, y, z)));
                }
            }
        }
    }
}

/// Blocks along one axis.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Axis {
    /// Number of cells; 0 = unbounded.
    cells: i32,
    /// Cells per block; the first blocks of a period may have one more.
    pub edge: i32,
    /// Number of blocks; 0 = unbounded.
    pub blocks: i32,
}

impl Axis {
    pub fn new(cells: i32, periodic: bool, edge: i32) -> Self {
        let (edge, blocks) = match cells {
            0 => (edge, 0),
            1..4 if periodic => (cells, 1),
            _ if periodic => {
                // At least two blocks of at least two cells. The number is even, because otherwise the first and the last
                // block would have the same colour across the period.
                let blocks = 2 * ((cells + 2 * edge - 1) / (2 * edge)).min(cells / 4);
                (cells / blocks, blocks)
            }
            _ => (edge, (cells - 1) / edge + 1),
        };
        Self { cells, edge, blocks }
    }

    /// The axes of a grid.
    pub fn of(grid: &Grid) -> [Self; 3] {
        [0, 1, 2].map(|axis| Self::new(grid.count[axis], grid.periodic[axis], grid.block_edge))
    }

    // Number of blocks with one cell more than the others.
    fn wide(&self) -> i32 {
        if self.blocks == 0 { 0 } else { (self.cells - self.edge * self.blocks).max(0) }
    }

    // The blocks with cells within `reach` of a cell; from `ALL_AROUND` on, the block of the cell and both blocks next to it.
    fn near(&self, cell: i32, periodic: bool, reach: i32) -> [Option<i32>; 3] {
        [-1, 0, 1].map(|step| {
            if reach < ALL_AROUND && self.distance(cell, step) > reach {
                return None;
            }
            self.block_at(self.block(cell) + step, periodic)
        })
    }

    // A block and both blocks next to it.
    fn beside(&self, block: i32, periodic: bool) -> [Option<i32>; 3] {
        [-1, 0, 1].map(|step| self.block_at(block + step, periodic))
    }

    // The block with a coordinate that may be outside.
    fn block_at(&self, block: i32, periodic: bool) -> Option<i32> {
        match (self.blocks, periodic) {
            (0, _) => Some(block),
            (blocks, true) => Some(block.rem_euclid(blocks)),
            (blocks, false) => (0..blocks).contains(&block).then_some(block),
        }
    }

    // Distance in cells from a cell to its own block (`step` = 0) or to a block next to it (-1 or 1).
    fn distance(&self, cell: i32, step: i32) -> i32 {
        let block = self.block(cell);
        match step {
            0 => 0,
            ..0 => cell - self.start(block) + 1,
            _ => self.start(block + 1) - cell,
        }
    }

    // First cell of a block.
    fn start(&self, block: i32) -> i32 {
        block * self.edge + block.clamp(0, self.wide())
    }

    /// Cells of a block; at least two if there are several blocks.
    fn range(&self, block: i32) -> Range<i32> {
        self.start(block)..if block + 1 == self.blocks { self.cells } else { self.start(block + 1) }
    }

    /// The block of a cell.
    pub fn block(&self, cell: i32) -> i32 {
        let wide = self.wide();
        if wide > 0 && cell < wide * (self.edge + 1) {
            return cell / (self.edge + 1);
        }
        let block = (cell - wide).div_euclid(self.edge);
        if self.blocks == 0 { block } else { block.min(self.blocks - 1) }
    }
}

impl Blocks {
    /// Computes the order of the spheres of a grid. `cell` returns the cell of a sphere; `starts` holds the first
    /// sphere of each bucket; `change` is the change of the order in memory since the last call.
    pub fn order(
        &mut self,
        grid: &Grid,
        starts: &[u32],
        cell: impl Fn(usize) -> IVec3 + Sync,
        change: &Order,
    ) {
        let count = change.len();
        self.all.clear();
        self.tasks.clear();
        self.numbers = Numbers::new(grid, count);
        self.task = (count / TASKS).clamp(SPHERES_OF_TASK.start, SPHERES_OF_TASK.end);
        if grid.direct {
            self.owners.clear();
            self.order_cells(grid, starts);
        } else {
            self.order_spheres(grid, cell, change);
        }
        self.find_earlier(grid);
    }

    // Finds for each block the blocks next to it that come before it.
    fn find_earlier(&mut self, grid: &Grid) {
        self.indices.clear();
        self.indices.extend(self.all.iter().zip(0..).map(|(block, k)| (block.at, k)));
        self.ends.clear();
        self.earlier.clear();
        for (block, k) in self.all.iter().zip(0..) {
            self.numbers.beside(grid, block.at, |other| {
                self.earlier.extend(self.indices.get(&other).filter(|&&other| other < k));
            });
            self.ends.push(self.earlier.len());
        }
    }

    /// The blocks next to a block that come before it in solving order, by their index in `all`. Of other earlier blocks no
    /// constraint has a sphere in common with it.
    pub fn earlier(&self, block: usize) -> &[u32] {
        let begin = if block == 0 { 0 } else { self.ends[block - 1] };
        &self.earlier[begin..self.ends[block]]
    }

    /// The spheres of a block, in solving order.
    pub fn owners_of(&self, block: &Block) -> impl Iterator<Item = u32> {
        self.owners[block.owners.clone()].iter().copied()
    }

    /// Where the data of a block are in memory, as the index of one of its spheres.
    pub fn home(&self, block: usize) -> usize {
        self.owners[self.all[block].owners.start] as usize
    }

    pub fn numbers(&self) -> Numbers {
        self.numbers
    }

    // Appends a block with the owners from `first` on, if there are any.
    fn push(&mut self, grid: &Grid, block: IVec3, first: usize) {
        if self.owners.len() > first {
            let number = self.numbers.number(grid, block);
            self.all.push(Block { number, at: block, owners: first..self.owners.len() });
        }
    }

    // Appends the blocks from `first` on as a task, if they hold enough spheres or the colour ends.
    fn end_task(&mut self, first: &mut usize, colour_ends: bool) {
        let Some(begin) = self.all.get(*first).map(|block| block.owners.start) else { return };
        if colour_ends || self.owners.len() - begin >= self.task {
            self.tasks.push(*first..self.all.len());
            *first = self.all.len();
        }
    }

    fn order_cells(&mut self, grid: &Grid, starts: &[u32]) {
        let [x, y, z] = self.numbers.axes;
        for colour in 0..COLOURS {
            let (first_task, mut first) = (self.tasks.len(), self.all.len());
            let of_colour = |axis: Axis, bit: usize| ((colour >> bit & 1) as i32..axis.blocks).step_by(2);
            for bz in of_colour(z, 2) {
                for by in of_colour(y, 1) {
                    for bx in of_colour(x, 0) {
                        let begin = self.owners.len();
                        self.order_block(grid, [x.range(bx), y.range(by), z.range(bz)], starts);
                        self.push(grid, IVec3::new(bx, by, bz), begin);
                        self.end_task(&mut first, false);
                    }
                }
            }
            self.end_task(&mut first, true);
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
    fn order_spheres(&mut self, grid: &Grid, cell: impl Fn(usize) -> IVec3 + Sync, change: &Order) {
        let numbers = self.numbers;
        if self.owners.len() != change.len() {
            self.owners = (0..change.len() as u32).collect();
        }
        let key = |&before: &u32| {
            let i = change.new_index(before);
            let cell = cell(i as usize);
            let block = numbers.block(cell);
            let places = [block, cell].map(|at| [at.z, at.y, at.x]);
            (Numbers::colour(block), places[0], numbers.inner_colour(cell), places[1], i)
        };
        // The spheres come in their last order, and few have changed their cell, so the stable sort, which merges sorted
        // runs, is the faster one. All keys differ, so the order is unique.
        let mut keyed: Vec<_> = self.owners.par_iter().with_min_len(SORTED).map(key).collect();
        keyed.par_sort();
        self.owners.clear();
        let mut blocks = keyed.chunk_by(|a, b| a.1 == b.1).peekable();
        for colour in 0..COLOURS {
            let (first_task, mut first) = (self.tasks.len(), self.all.len());
            while let Some(block) = blocks.next_if(|block| block[0].0 == colour) {
                let begin = self.owners.len();
                self.owners.extend(block.iter().map(|key| key.4));
                let [z, y, x] = block[0].1;
                self.push(grid, IVec3::new(x, y, z), begin);
                self.end_task(&mut first, false);
            }
            self.end_task(&mut first, true);
            self.colours[colour] = first_task..self.tasks.len();
        }
    }

    pub fn bytes(&self) -> usize {
        4 * self.owners.capacity()
            + size_of::<Block>() * self.all.capacity()
            + size_of::<Range<usize>>() * self.tasks.capacity()
            + 8 * self.ends.capacity()
            + 4 * self.earlier.capacity()
            + 20 * self.indices.capacity()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Two blocks of one colour along an axis, together with the cells in their reach, have no cell in common. Nor have two
    // cells of one inner colour in a block.
    #[test]
    fn blocks_of_one_colour_and_cells_of_one_inner_colour_are_out_of_reach_of_each_other() {
        let periods = (1..200).flat_map(|count| [(count, false), (count, true)]);
        for ((count, periodic), edge) in periods.flat_map(|period| (2..5).map(move |edge| (period, edge))) {
            let axis = Axis::new(count, periodic, edge);
            let longest = (0..axis.blocks).map(|block| axis.range(block).len()).max().unwrap_or(0);
            assert!(longest as i32 <= if periodic { 4 } else { edge }, "{count} {periodic} {edge}");
            let mut next = 0;
            let mut reached = [vec![false; count as usize], vec![false; count as usize]];
            for block in 0..axis.blocks {
                let range = axis.range(block);
                assert_eq!(range.start, next, "{count} {periodic}: the blocks follow each other");
                assert!(range.clone().all(|cell| axis.block(cell) == block), "{count} {periodic}");
                next = range.end;
                let near = |cell: i32| {
                    let cells = [cell - 1, cell, cell + 1].into_iter();
                    cells.map(|cell| if periodic { cell.rem_euclid(count) } else { cell }).collect::<Vec<_>>()
                };
                for (a, b) in range.clone().flat_map(|a| (a + 3..range.end).step_by(3).map(move |b| (a, b))) {
                    let others = near(b);
                    let apart = near(a).iter().all(|cell| !others.contains(cell));
                    assert!(apart, "{count} {periodic}: cells {a} and {b} of one inner colour");
                }
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
        let long = Axis::new(1 << 28, false, 4);
        assert_eq!(long.range(long.blocks - 1).end, 1 << 28);
        assert_eq!(long.block((1 << 28) - 1), long.blocks - 1);
    }

    #[test]
    fn blocks_near_a_cell_are_those_of_the_cells_within_reach() {
        let set = |blocks: &mut dyn Iterator<Item = i32>| blocks.collect::<std::collections::BTreeSet<_>>();
        // Count 0: no end.
        let periods = (0..60).flat_map(|count| [(count, false), (count, count > 0)]);
        for ((count, periodic), edge) in periods.flat_map(|period| (2..5).map(move |edge| (period, edge))) {
            let axis = Axis::new(count, periodic, edge);
            let cells = if count == 0 { -20..20 } else { 0..count };
            for (cell, reach) in cells.flat_map(|cell| [(cell, 1), (cell, 2)]) {
                let within = (cell - reach..=cell + reach).filter_map(|other| match (count, periodic) {
                    (0, _) => Some(other),
                    (_, true) => Some(other.rem_euclid(count)),
                    _ => (0..count).contains(&other).then_some(other),
                });
                let expected = set(&mut within.map(|other| axis.block(other)));
                let found = set(&mut axis.near(cell, periodic, reach).into_iter().flatten());
                assert_eq!(found, expected, "{count} {periodic}: cell {cell}, reach {reach}");
                let all = set(&mut axis.near(cell, periodic, ALL_AROUND).into_iter().flatten());
                assert!(all.is_superset(&found) && all.len() <= 3, "{count} {periodic}: cell {cell}");
            }
        }
    }
}
