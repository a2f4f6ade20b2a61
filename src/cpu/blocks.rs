//! Solving order of contact constraints. The grid is divided into blocks of cells. Blocks have one of eight colours, and
//! the cells within a block one of 27 inner colours. The order depends on cells only, not on the number of threads.
//!
//! A contact constraint belongs to the cell of its first sphere, and its second sphere lies at most one cell away. Blocks are at least
//! two cells long, so only the constraints of blocks next to each other share a sphere. These blocks have different colours, and are
//! solved in the order of their colours; all others may be solved in parallel. The constraints of the cells of one inner colour share no
//! sphere either. This order of the spheres is the order in which the constraints of a block choose their own colours; see
//! `order_block` in `constraints.rs`.

use crate::state::constants::COLOURS;
use std::ops::Range;

use glam::IVec3;
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::{
    cpu::{order::Order, parallel::Outputs},
    state::grid::Grid,
};

/// Edge of a block in cells; across a short period edges are 2 to 6. Larger blocks load less from their neighbours; smaller blocks occupy more threads.
pub const EDGE: i32 = 4;

/// Bounds of the minimum number of spheres in a task, in whole blocks. Within them it makes about `TASKS` tasks.
const SPHERES_OF_TASK: Range<usize> = 32..192;
const TASKS: usize = 40;

/// Spheres per task of a loop over all spheres.
const SORTED: usize = 192;

/// Blocks per task of a loop over all blocks.
const BLOCKS: usize = 64;

/// Marks a block without spheres.
const NOWHERE: u32 = u32::MAX;

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
    /// The blocks that come before each block and are next to it, in tasks of [`BLOCKS`]: where the part of a block ends, and all parts.
    found: Outputs<(Vec<usize>, Vec<u32>)>,
    /// Index in `all` of each block: in a direct grid by its coordinates, [`NOWHERE`] for a block without spheres; otherwise by hash.
    table: Vec<u32>,
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

    /// Calls `visit` with the numbers of the blocks that have cells within `reach` of a cell along each axis. A reach of [`EDGE`]
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
    pub fn new(cells: i32, periodic: bool) -> Self {
        let (edge, blocks) = match cells {
            0 => (EDGE, 0),
            1..4 if periodic => (cells, 1),
            _ if periodic => {
                // At least two blocks of at least two cells. The number is even, because otherwise the first and the last
                // block would have the same colour across the period.
                let blocks = 2 * ((cells + EDGE) / (2 * EDGE)).max(1);
                (cells / blocks, blocks)
            }
            _ => (EDGE, (cells - 1) / EDGE + 1),
        };
        Self { cells, edge, blocks }
    }

    /// The axes of a grid.
    pub fn of(grid: &Grid) -> [Self; 3] {
        [0, 1, 2].map(|axis| Self::new(grid.count[axis], grid.periodic[axis]))
    }

    // Number of blocks with one cell more than the others.
    fn wide(&self) -> i32 {
        if self.blocks == 0 { 0 } else { (self.cells - self.edge * self.blocks).max(0) }
    }

    // The blocks with cells within `reach` of a cell; from `EDGE` on, the block of the cell and both blocks next to it.
    fn near(&self, cell: i32, periodic: bool, reach: i32) -> [Option<i32>; 3] {
        [-1, 0, 1].map(|step| {
            if reach < EDGE && self.distance(cell, step) > reach {
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
        let Self { all, numbers, table, indices, found, .. } = self;
        let along = numbers.axes.map(|axis| if grid.direct { axis.blocks } else { 0 });
        let place = |block: IVec3| ((block.z * along[1] + block.y) * along[0] + block.x) as usize;
        table.clear();
        table.resize(along.map(|count| count as usize).iter().product(), NOWHERE);
        indices.clear();
        if grid.direct {
            all.iter().zip(0..).for_each(|(block, k)| table[place(block.at)] = k);
        } else {
            indices.extend(all.iter().zip(0..).map(|(block, k)| (block.at, k)));
        }
        let (table, indices) = (&*table, &*indices);
        let index = |block: IVec3| match grid.direct {
            true => Some(table[place(block)]).filter(|&k| k != NOWHERE),
            false => indices.get(&block).copied(),
        };
        found.run(all.len(), BLOCKS, |range, (ends, earlier)| {
            ends.clear();
            earlier.clear();
            for k in range {
                numbers.beside(grid, all[k].at, |other| {
                    earlier.extend(index(other).filter(|&other| (other as usize) < k));
                });
                ends.push(earlier.len());
            }
        });
    }

    /// The blocks next to a block that come before it in solving order, by their index in `all`. Of other earlier blocks no
    /// constraint has a sphere in common with it.
    pub fn earlier(&self, block: usize) -> &[u32] {
        let (ends, earlier) = self.found.get(block / BLOCKS);
        let k = block % BLOCKS;
        let begin = if k == 0 { 0 } else { ends[k - 1] };
        &earlier[begin..ends[k]]
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
            + self
                .found
                .all()
                .iter()
                .map(|(ends, earlier)| 8 * ends.capacity() + 4 * earlier.capacity())
                .sum::<usize>()
            + 4 * self.table.capacity()
            + 20 * self.indices.capacity()
    }
}

#[cfg(test)]
mod tests {
    use glam::{DVec3, Vec3};
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64;

    use super::*;
    use crate::state::levels::Levels;

    // Two blocks of one colour along an axis, together with the cells in their reach, have no cell in common. Nor have two
    // cells of one inner colour in a block.
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
        let long = Axis::new(1 << 28, false);
        assert_eq!(long.range(long.blocks - 1).end, 1 << 28);
        assert_eq!(long.block((1 << 28) - 1), long.blocks - 1);
    }

    #[test]
    fn blocks_near_a_cell_are_those_of_the_cells_within_reach() {
        let set = |blocks: &mut dyn Iterator<Item = i32>| blocks.collect::<std::collections::BTreeSet<_>>();
        // Count 0: no end.
        for (count, periodic) in (0..60).flat_map(|count| [(count, false), (count, count > 0)]) {
            let axis = Axis::new(count, periodic);
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
                let all = set(&mut axis.near(cell, periodic, EDGE).into_iter().flatten());
                assert!(all.is_superset(&found) && all.len() <= 3, "{count} {periodic}: cell {cell}");
            }
        }
    }

    // A constraint reaches one cell from its own, so two of them may share a sphere if their cells are at most two apart.
    #[test]
    fn blocks_whose_constraints_may_share_a_sphere_wait_for_each_other() {
        let mut rng = Pcg64::seed_from_u64(9);
        for case in 0..300 {
            let flat = case % 5 == 4;
            // Number of cells; 0 = unbounded. Short periods are the difficult ones.
            let count = IVec3::from_array([0, 1, 2].map(|axis| match axis {
                2 if flat => 1,
                _ => rng.random_range(if case % 2 == 0 { 1..16 } else { 0..3 }),
            }));
            let periodic = [0, 1, 2].map(|axis| count[axis] > 0 && !(flat && axis == 2) && rng.random());
            let direct = case % 2 == 0;
            let grid = Grid {
                origin: DVec3::ZERO,
                edge: Vec3::ONE,
                exact_edge: DVec3::ONE,
                count,
                periodic,
                direct,
                buckets: if direct { count.element_product() as usize } else { 64 },
                levels: Levels::new(&[], 0.1, 64.0, Vec3::ONE, flat),
                margin_limit: 0.1,
                made_for: 0.1,
                layers: i32::from(!flat),
            };
            let bucket = |cell: IVec3| grid.bucket(grid.row(cell.y, cell.z), cell.x);
            let mut cells: Vec<_> = (0..rng.random_range(1..400))
                .map(|_| {
                    IVec3::from_array([0, 1, 2].map(|axis| match count[axis] {
                        0 => rng.random_range(-9..9),
                        cells => rng.random_range(0..cells),
                    }))
                })
                .collect();
            cells.sort_by_key(|&cell| bucket(cell));
            let starts: Vec<_> =
                (0..=grid.buckets).map(|k| cells.partition_point(|&cell| bucket(cell) < k) as u32).collect();
            let mut change = Order::default();
            change.old_of_new.extend(0..cells.len() as u32);
            change.complete();
            let mut blocks = Blocks::default();
            blocks.order(&grid, &starts, |i| cells[i], &change);

            let mut block_of = vec![usize::MAX; cells.len()];
            for (k, block) in blocks.all.iter().enumerate() {
                blocks.owners_of(block).for_each(|i| block_of[i as usize] = k);
            }
            let apart = |a: i32, b: i32, axis: usize| match count[axis] {
                n if periodic[axis] => (a - b).rem_euclid(n).min((b - a).rem_euclid(n)),
                _ => (a - b).abs(),
            };
            for (i, a) in cells.iter().enumerate() {
                for (j, b) in cells.iter().enumerate() {
                    let (first, last) = (block_of[i], block_of[j]);
                    let is_near = (0..3).all(|axis| apart(a[axis], b[axis], axis) <= 2);
                    if first < last && is_near {
                        let waits = blocks.earlier(last).contains(&(first as u32));
                        assert!(waits, "case {case}, {count} {periodic:?}: {b} does not wait for {a}");
                    }
                }
            }
            assert!(
                (0..blocks.all.len()).all(|k| blocks.earlier(k).iter().all(|&other| (other as usize) < k))
            );
        }
    }
}
