//! Finds the spheres near a sphere. The world is divided into cells; a table of buckets holds the spheres of each cell.

use std::ops::{Range, RangeInclusive};

use glam::DVec3;

use super::ahead::prefetch;
use crate::{Side, System, step::checkpoint::ExactHead};

const NONE: u32 = u32::MAX;

// Width of a cell relative to the largest diameter: spheres two cells apart must not touch, even after the rounding of a
// crossing (1e-16 of the coordinate). A larger value only adds candidates.
const MARGIN: f64 = 1e-6;

// Least width of a cell, in mean spacings of the spheres. Wider cells give more candidates, narrower cells more crossings;
// between .7 and 1.1 the speed changes by less than 5%.
const SPACING: f64 = 0.6;

// Most buckets per sphere, and most buckets of a system with few spheres.
const BUCKETS_PER_SPHERE: usize = 8;
const FEW_BUCKETS: usize = 4096;

/// Cells of the spheres. A crossing is an event, so the cell of a sphere is exact at all times.
///
/// Along each axis the cells follow each other in the table of buckets. The table covers the spheres of the start; the world may
/// be unbounded, so cells outside wrap around and share the buckets of others.
#[derive(Default)]
pub(super) struct Grid {
    axes: usize,
    edge: DVec3,
    // Number of cells along a periodic axis; 0 on an unbounded axis.
    counts: [i64; 3],
    periods: DVec3,
    // Number of buckets along each axis, and the cell of the first.
    sizes: [i64; 3],
    base: [i64; 3],
    // Cells whose neighbours are next to them in the table with no shift: the first along each axis, and the number.
    inner_base: [i64; 3],
    inner_sizes: [u64; 3],
    // Whether a sphere is in a cell outside the table.
    outside: bool,
    // First sphere of each bucket, and the next in the bucket for each sphere.
    heads: Vec<u32>,
    nexts: Vec<u32>,
    buckets: Vec<u32>,
    cells: Vec<[i64; 3]>,
}

// Bits of a coordinate in a place on the curve.
const CURVE_BITS: u32 = 21;

// Rows of cells (y, z) that hold half of the cells around a cell; of the first, only the cell itself and the next.
const HALF: [(i64, i64); 5] = [(0, 0), (1, 0), (-1, 1), (0, 1), (1, 1)];

/// The cells around a sphere that a search visits.
#[derive(Clone, Copy)]
pub(super) enum Neighborhood {
    /// All 27 cells, the sphere's own included.
    All,
    /// The layer that a crossing along an axis brought into reach.
    Layer(usize, i64),
}

// A layer of cells across an axis: its coordinate inside the period, its part of the bucket, and the shift of its spheres.
struct Layer {
    cell: i64,
    bucket: usize,
    shift: f64,
}

/// A row of buckets along x.
pub(super) struct Row {
    pub buckets: Range<usize>,
    /// The buckets of the row that have both neighbours along x in the row, with no shift.
    pub interior: Range<usize>,
    /// Offsets in the table of the rows of [`Grid::visit_half`], and the shifts of their spheres to the nearest images. The row itself
    /// is the first.
    pub beside: [(isize, DVec3); 5],
    /// Number of the rows in use.
    pub count: usize,
}

/// A sphere that a search found, with the shift to its nearest image.
#[derive(Clone, Copy)]
pub(super) struct Near {
    pub sphere: u32,
    pub shift: DVec3,
}

impl Grid {
    /// Cells for a system with coordinates relative to `origin`.
    pub fn new(system: &System) -> Self {
        let count = system.spheres.len();
        let axes = system.dimensions.count();
        let reach = system.spheres.iter().map(|s| 2.0 * s.radius).fold(0.0, f64::max) * (1.0 + MARGIN);
        let mut low = DVec3::ZERO;
        let mut extent = DVec3::ONE;
        for axis in 0..axes {
            extent[axis] = if system.bounds.sides[axis] == Side::Open {
                let positions = || system.spheres.iter().map(|s| s.position[axis]);
                let high = positions().fold(f64::NEG_INFINITY, f64::max);
                low[axis] = positions().fold(f64::INFINITY, f64::min);
                (high - low[axis]).max(0.0) + reach
            } else {
                system.bounds.max[axis] - system.bounds.min[axis]
            };
        }
        let volume: f64 = extent.to_array()[..axes].iter().product();
        let spacing = (volume / count.max(1) as f64).powf(1.0 / axes as f64);
        let width = reach.max(SPACING * spacing);
        let mut grid = Self {
            axes,
            edge: DVec3::splat(if width > 0.0 && width.is_finite() { width } else { 1.0 }),
            sizes: [1; 3],
            nexts: vec![NONE; count],
            buckets: vec![0; count],
            cells: vec![[0; 3]; count],
            ..Self::default()
        };
        for axis in 0..axes {
            if let Some(period) = system.period(axis) {
                let cells = (period / grid.edge[axis]).floor().max(1.0);
                grid.counts[axis] = cells as i64;
                grid.edge[axis] = period / cells;
                grid.periods[axis] = period;
                grid.sizes[axis] = grid.counts[axis];
            } else {
                // One cell more on each side, for the neighbours of the outermost.
                grid.base[axis] = ((low[axis] / grid.edge[axis]).floor() as i64).saturating_sub(1);
                grid.sizes[axis] = ((extent[axis] / grid.edge[axis]).ceil() as i64).saturating_add(3);
            }
        }
        grid.limit_table((BUCKETS_PER_SPHERE * count).max(FEW_BUCKETS));
        grid
    }

    /// Writes the geometry of the cells.
    pub fn store(&self, head: &mut ExactHead) {
        let Self { edge, counts, periods, sizes, base, inner_base, inner_sizes, .. } = *self;
        *head = ExactHead { edge, counts, periods, sizes, base, inner_base, inner_sizes, ..*head };
    }

    /// Empty cells of a geometry, for this number of spheres.
    pub fn resume(head: &ExactHead, axes: usize, count: usize) -> Self {
        let ExactHead { edge, counts, periods, sizes, base, inner_base, inner_sizes, .. } = *head;
        Self {
            axes,
            edge,
            counts,
            periods,
            sizes,
            base,
            inner_base,
            inner_sizes,
            outside: false,
            heads: vec![NONE; sizes.iter().product::<i64>() as usize],
            nexts: vec![NONE; count],
            buckets: vec![0; count],
            cells: vec![[0; 3]; count],
        }
    }

    /// The cell of a sphere.
    pub fn cell(&self, sphere: usize) -> [i64; 3] {
        self.cells[sphere]
    }

    /// Inserts a sphere that is in no cell yet into a cell.
    pub fn insert_into(&mut self, sphere: usize, cell: [i64; 3]) {
        self.cells[sphere] = cell;
        self.link(sphere);
    }

    // Allocates the table with `most` buckets at most. A smaller one than the system needs only costs tests.
    fn limit_table(&mut self, most: usize) {
        let buckets = |sizes: [i64; 3]| sizes.iter().map(|&size| size as f64).product::<f64>();
        // Buckets have numbers of 32 bits.
        let most = (most as f64).min(f64::from(u32::MAX));
        while buckets(self.sizes) > most {
            let longest = (0..3).max_by_key(|&axis| self.sizes[axis]).unwrap_or(0);
            self.sizes[longest] = self.sizes[longest] / 2 + 1;
        }
        self.heads = vec![NONE; buckets(self.sizes) as usize];
        let whole = self.is_whole();
        for axis in 0..3 {
            let (margin, size) = if axis < self.axes { (1, self.sizes[axis] - 2) } else { (0, 1) };
            self.inner_base[axis] = self.base[axis] + margin;
            self.inner_sizes[axis] = if whole { size.max(0) as u64 } else { 0 };
        }
    }

    // Whether every period ends at the end of the table. A period that ends inside the table is next to nothing there.
    fn is_whole(&self) -> bool {
        (0..3).all(|axis| [0, self.sizes[axis]].contains(&self.counts[axis]))
    }

    /// Width of the cells along each axis.
    pub fn edge(&self) -> DVec3 {
        self.edge
    }

    /// Lower face of a sphere's cell.
    pub fn low(&self, sphere: usize, axis: usize) -> f64 {
        self.cells[sphere][axis] as f64 * self.edge[axis]
    }

    /// Upper face of a sphere's cell.
    pub fn high(&self, sphere: usize, axis: usize) -> f64 {
        (self.cells[sphere][axis] + 1) as f64 * self.edge[axis]
    }

    /// Inserts a sphere that is in no cell yet into the cell at `position`, which is inside the periods.
    pub fn insert(&mut self, sphere: usize, position: DVec3) {
        for axis in 0..self.axes {
            let mut cell = (position[axis] / self.edge[axis]).floor() as i64;
            if self.counts[axis] > 0 {
                cell = cell.clamp(0, self.counts[axis] - 1);
            }
            self.cells[sphere][axis] = cell;
        }
        self.link(sphere);
    }

    /// Removes all spheres.
    pub fn clear(&mut self) {
        self.heads.fill(NONE);
        self.outside = false;
    }

    /// Moves a sphere to the next cell along an axis; `way` is 1 or -1. Returns the change of its coordinate at the end of a
    /// period, otherwise 0.
    pub fn cross(&mut self, sphere: usize, axis: usize, way: i64) -> f64 {
        self.unlink(sphere);
        let count = self.counts[axis];
        let cell = self.cells[sphere][axis] + way;
        let (cell, shift) = match count {
            1.. if cell == count => (0, -self.periods[axis]),
            1.. if cell < 0 => (count - 1, self.periods[axis]),
            _ => (cell, 0.0),
        };
        self.cells[sphere][axis] = cell;
        self.link(sphere);
        shift
    }

    /// Finds the other spheres in the cells around a sphere. If a period is only one or two cells long, a sphere comes once for
    /// each of its images.
    pub fn visit(&self, sphere: usize, which: Neighborhood, found: &mut Vec<Near>) {
        found.clear();
        let cell = self.cells[sphere];
        if self.outside || !self.is_inner(cell) {
            self.visit_any(sphere, which, found);
            return;
        }
        let (lists, count) = self.occupied(self.buckets[sphere] as usize, which);
        for &head in &lists[..count] {
            let mut other = head;
            while other != NONE {
                if other as usize != sphere {
                    found.push(Near { sphere: other, shift: DVec3::ZERO });
                }
                other = self.nexts[other as usize];
            }
        }
    }

    // As `visit`, for a sphere at the end of a period or of the table.
    #[cold]
    fn visit_any(&self, sphere: usize, which: Neighborhood, found: &mut Vec<Near>) {
        self.cells_around(self.cells[sphere], which, |bucket, cell, shift| {
            let mut other = self.heads[bucket];
            while other != NONE {
                if other as usize != sphere && self.cells[other as usize] == cell {
                    found.push(Near { sphere: other, shift });
                }
                other = self.nexts[other as usize];
            }
        });
    }

    // Calls `meet` with the buckets of the cells around any cell, these cells, and the shifts of their spheres.
    fn cells_around(
        &self,
        middle: [i64; 3],
        which: Neighborhood,
        mut meet: impl FnMut(usize, [i64; 3], DVec3),
    ) {
        let [xs, ys, zs] = self.layers(which);
        let layers = self.layers_around(middle);
        let at = |axis: usize, offset: i64| &layers[axis][(offset + 1) as usize];
        for z in zs.map(|offset| at(2, offset)) {
            for y in ys.clone().map(|offset| at(1, offset)) {
                for x in xs.clone().map(|offset| at(0, offset)) {
                    let shift = DVec3::new(x.shift, y.shift, z.shift);
                    meet(x.bucket + y.bucket + z.bucket, [x.cell, y.cell, z.cell], shift);
                }
            }
        }
    }

    // The layers below, at and above a cell along each axis.
    fn layers_around(&self, middle: [i64; 3]) -> [[Layer; 3]; 3] {
        let strides = [1, self.sizes[0], self.sizes[0] * self.sizes[1]];
        std::array::from_fn(|axis| {
            [-1, 0, 1].map(|offset| {
                let (cell, shift) = self.neighbor(axis, middle[axis] + offset);
                Layer { cell, bucket: (self.place(axis, cell).0 * strides[axis]) as usize, shift }
            })
        })
    }

    /// Asks for the cell of a sphere, before [`fetch_rows`](Self::fetch_rows).
    pub fn fetch_cell(&self, sphere: usize) {
        prefetch(&self.cells[sphere]);
        prefetch(&self.buckets[sphere]);
        prefetch(&self.nexts[sphere]);
    }

    /// Asks for the buckets that [`visit`](Self::visit) will read, before [`fetch_spheres`](Self::fetch_spheres).
    pub fn fetch_rows(&self, sphere: usize, which: Neighborhood) {
        let cell = self.next_cell(sphere, which);
        if !self.is_inner(cell) {
            self.cells_around(cell, which, |bucket, _, _| prefetch(&self.heads[bucket]));
            return;
        }
        let middle = self.bucket(cell).0;
        let [xs, ys, zs] = self.layers(which);
        let x = (xs.start() + xs.end()) / 2;
        for z in zs {
            for y in ys.clone() {
                prefetch(&self.heads[self.beside(middle, [x, y, z])]);
            }
        }
    }

    /// Calls `fetch` with most of the spheres that [`visit`](Self::visit) will find.
    pub fn fetch_spheres(&self, sphere: usize, which: Neighborhood, mut fetch: impl FnMut(usize)) {
        let mut fetch = |head: u32| {
            prefetch(&self.nexts[head as usize]);
            fetch(head as usize);
        };
        let cell = self.next_cell(sphere, which);
        if self.is_inner(cell) {
            let (lists, count) = self.occupied(self.bucket(cell).0, which);
            lists[..count].iter().for_each(|&head| fetch(head));
            return;
        }
        self.cells_around(cell, which, |bucket, _, _| {
            let head = self.heads[bucket];
            if head != NONE {
                fetch(head);
            }
        });
    }

    // The cell in which a sphere will be at a search.
    fn next_cell(&self, sphere: usize, which: Neighborhood) -> [i64; 3] {
        let mut cell = self.cells[sphere];
        if let Neighborhood::Layer(axis, way) = which {
            cell[axis] = self.neighbor(axis, cell[axis] + way).0;
        }
        cell
    }

    #[inline]
    fn is_inner(&self, cell: [i64; 3]) -> bool {
        (0..3).all(|axis| (cell[axis].wrapping_sub(self.inner_base[axis]) as u64) < self.inner_sizes[axis])
    }

    // The bucket at an offset from another, where the table does not end between them.
    #[inline]
    fn beside(&self, bucket: usize, [x, y, z]: [i64; 3]) -> usize {
        bucket.wrapping_add_signed((x + self.sizes[0] * (y + self.sizes[1] * z)) as isize)
    }

    // The layers of cells along each axis, from -1 to 1.
    #[inline]
    fn layers(&self, which: Neighborhood) -> [RangeInclusive<i64>; 3] {
        let mut layers = [-1..=1, -1..=1, -1..=1];
        for layer in &mut layers[self.axes..] {
            *layer = 0..=0;
        }
        if let Neighborhood::Layer(axis, way) = which {
            layers[axis] = way..=way;
        }
        layers
    }

    // The first spheres of the occupied cells around an inner one, and their number.
    //
    // Without a branch: occupation is unpredictable, and 27 branch mispredictions cost more than all other work here.
    fn occupied(&self, middle: usize, which: Neighborhood) -> ([u32; 28], usize) {
        let [xs, ys, zs] = self.layers(which);
        let mut lists = [NONE; 28];
        let mut count = 0;
        for z in zs {
            for y in ys.clone() {
                let row = self.beside(middle, [*xs.start(), y, z]);
                for &head in &self.heads[row..=row + (xs.end() - xs.start()) as usize] {
                    lists[count] = head;
                    count += usize::from(head != NONE);
                }
            }
        }
        (lists, count)
    }

    /// Calls `meet` with the buckets that hold a sphere's own cell and half of the cells around it, so that every pair of cells
    /// occurs once, and with the shift to the nearest image.
    pub fn visit_half(&self, sphere: usize, mut meet: impl FnMut(usize, DVec3)) {
        let layers = self.layers_around(self.cells[sphere]);
        let at = |axis: usize, offset: i64| &layers[axis][(offset + 1) as usize];
        for (oy, oz) in HALF.into_iter().take([0, 1, 2, 5][self.axes]) {
            let (y, z) = (at(1, oy), at(2, oz));
            let from = if (oy, oz) == (0, 0) { 0 } else { -1 };
            for x in (from..=1).map(|offset| at(0, offset)) {
                meet(x.bucket + y.bucket + z.bucket, DVec3::new(x.shift, y.shift, z.shift));
            }
        }
    }

    /// The rows of buckets along x.
    pub fn rows(&self) -> impl Iterator<Item = Row> {
        let [length, height, depth] = self.sizes;
        let has_interior = self.is_whole() && length > 2;
        (0..height * depth).map(move |row| {
            let buckets = (row * length) as usize..((row + 1) * length) as usize;
            let interior =
                if has_interior { buckets.start + 1..buckets.end - 1 } else { buckets.start..buckets.start };
            let beside = HALF.map(|(oy, oz)| {
                let (y, z) = (row % height + oy, row / height + oz);
                let other = y.rem_euclid(height) + height * z.rem_euclid(depth);
                // Periods end at the ends of the table; on the other axes the period is 0.
                let turns = DVec3::new(0.0, y.div_euclid(height) as f64, z.div_euclid(depth) as f64);
                (((other - row) * length) as isize, turns * self.periods)
            });
            Row { buckets, interior, beside, count: [0, 1, 2, 5][self.axes] }
        })
    }

    /// Bucket of a sphere, below [`bucket_count`](Self::bucket_count).
    pub fn bucket_of(&self, sphere: usize) -> usize {
        self.buckets[sphere] as usize
    }

    pub fn bucket_count(&self) -> usize {
        self.heads.len()
    }

    /// Position of a sphere's cell on a space-filling curve (Morton 1966).
    pub fn curve(&self, sphere: usize) -> u64 {
        let [x, y, z] = self.cells[sphere].map(spread);
        x | y << 1 | z << 2
    }

    /// Renumbers the spheres; `old` gives the former number.
    pub fn reorder(&mut self, old: impl Fn(usize) -> usize) {
        self.cells = (0..self.cells.len()).map(|new| self.cells[old(new)]).collect();
        self.clear();
        for sphere in 0..self.cells.len() {
            self.link(sphere);
        }
    }

    pub fn memory_bytes(&self) -> usize {
        (self.heads.capacity() + self.nexts.capacity() + self.buckets.capacity()) * size_of::<u32>()
            + self.cells.capacity() * size_of::<[i64; 3]>()
    }

    // A coordinate of a cell inside the period, and the shift of the spheres in the cell.
    #[inline]
    fn neighbor(&self, axis: usize, cell: i64) -> (i64, f64) {
        let count = self.counts[axis];
        if count > 0 && cell < 0 {
            (cell + count, -self.periods[axis])
        } else if count > 0 && cell >= count {
            (cell - count, self.periods[axis])
        } else {
            (cell, 0.0)
        }
    }

    // A coordinate of a cell's bucket, and whether the cell is outside the table.
    #[inline]
    fn place(&self, axis: usize, cell: i64) -> (i64, bool) {
        let place = cell.wrapping_sub(self.base[axis]);
        if (0..self.sizes[axis]).contains(&place) {
            (place, false)
        } else {
            (place.rem_euclid(self.sizes[axis]), true)
        }
    }

    fn bucket(&self, cell: [i64; 3]) -> (usize, bool) {
        let (x, outside_x) = self.place(0, cell[0]);
        let (y, outside_y) = self.place(1, cell[1]);
        let (z, outside_z) = self.place(2, cell[2]);
        ((x + self.sizes[0] * (y + self.sizes[1] * z)) as usize, outside_x || outside_y || outside_z)
    }

    fn link(&mut self, sphere: usize) {
        let (bucket, outside) = self.bucket(self.cells[sphere]);
        self.outside |= outside;
        self.buckets[sphere] = bucket as u32;
        self.nexts[sphere] = self.heads[bucket];
        self.heads[bucket] = sphere as u32;
    }

    fn unlink(&mut self, sphere: usize) {
        let next = self.nexts[sphere];
        let head = &mut self.heads[self.buckets[sphere] as usize];
        if *head == sphere as u32 {
            *head = next;
            return;
        }
        let mut previous = *head as usize;
        while self.nexts[previous] != sphere as u32 {
            previous = self.nexts[previous] as usize;
        }
        self.nexts[previous] = next;
    }
}

// Moves bit k of a coordinate to bit 3 k.
fn spread(coordinate: i64) -> u64 {
    let mut bits = coordinate as u64 & ((1 << CURVE_BITS) - 1);
    for (shift, mask) in [
        (32, 0x001f_0000_0000_ffff),
        (16, 0x001f_0000_ff00_00ff),
        (8, 0x100f_00f0_0f00_f00f),
        (4, 0x10c3_0c30_c30c_30c3),
        (2, 0x1249_2492_4924_9249),
    ] {
        bits = (bits | bits << shift) & mask;
    }
    bits
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64;

    use super::*;
    use crate::{Bounds, Sphere};

    // Two spheres in a period of `length`: the images of the second that a search from the first visits.
    fn images(length: f64, a: f64, b: f64) -> Vec<f64> {
        let bounds = Bounds { max: DVec3::splat(length), sides: [Side::Periodic; 3], ..Bounds::default() };
        let mut system = System { bounds, ..System::default() };
        let middle = DVec3::splat(0.5);
        // Enough spheres for the narrowest cells.
        system.spheres = vec![Sphere { position: middle, ..Sphere::default() }; 100_000];
        system.spheres[0].position.x = a;
        system.spheres[1].position.x = b;
        let mut grid = Grid::new(&system);
        grid.insert(0, system.spheres[0].position);
        grid.insert(1, system.spheres[1].position);
        let mut found = vec![];
        grid.visit(0, Neighborhood::All, &mut found);
        let mut images: Vec<f64> = found
            .iter()
            .filter(|near| near.sphere == 1 && near.shift.y == 0.0 && near.shift.z == 0.0)
            .map(|near| b + near.shift.x)
            .collect();
        images.sort_by(f64::total_cmp);
        images
    }

    #[test]
    fn neighbours_come_once_per_image_in_reach() {
        assert_eq!(images(30.0, 0.5, 29.5), [-0.5]);
        assert_eq!(images(2.2, 0.5, 1.8), [1.8 - 2.2, 1.8]);
        assert_eq!(images(1.5, 0.2, 0.9), [0.9 - 1.5, 0.9, 0.9 + 1.5]);
    }

    #[test]
    fn crossing_wraps_at_the_period_and_goes_on_where_open() {
        let mut system = System::default();
        system.spheres.push(Sphere::default());
        system.bounds.max = DVec3::splat(12.0);
        system.bounds.sides[0] = Side::Periodic;
        let mut grid = Grid::new(&system);
        grid.insert(0, DVec3::new(0.1, -0.1, 0.0));
        assert_eq!(grid.cross(0, 0, -1), 12.0);
        assert!(grid.high(0, 0) == 12.0);
        assert_eq!(grid.cross(0, 0, 1), -12.0);
        assert_eq!(grid.cells[0][1], -1);
        assert_eq!(grid.cross(0, 1, -1), 0.0);
        assert_eq!(grid.cells[0][1], -2);
    }

    // The distance of two cells along an axis, the short way around a period.
    fn apart(grid: &Grid, axis: usize, a: usize, b: usize) -> i64 {
        let direct = (grid.cells[a][axis] - grid.cells[b][axis]).abs();
        if grid.counts[axis] > 0 { direct.min(grid.counts[axis] - direct) } else { direct }
    }

    #[test]
    fn a_search_finds_the_spheres_of_the_cells_around() {
        let mut rng = Pcg64::seed_from_u64(1);
        for sides in
            [[Side::Periodic; 3], [Side::Wall; 3], [Side::Open; 3], [Side::Periodic, Side::Open, Side::Wall]]
        {
            let bounds = Bounds { max: DVec3::splat(8.0), sides, ..Bounds::default() };
            let mut system = System { bounds, ..System::default() };
            for _ in 0..300 {
                let position = DVec3::from_array([0; 3].map(|_| rng.random_range(0.5..7.5)));
                system.spheres.push(Sphere { position, ..Sphere::default() });
            }
            let mut grid = Grid::new(&system);
            for (i, sphere) in system.spheres.iter().enumerate() {
                grid.insert(i, sphere.position);
            }
            // Crossings far beyond the table, where there is no period.
            for round in 0..400 {
                let axis = rng.random_range(0..3);
                let way = if rng.random_bool(0.6) { 1 } else { -1 };
                let sphere = rng.random_range(0..300);
                for _ in 0..round / 10 {
                    grid.cross(sphere, axis, way);
                }
                let mut found = vec![];
                for which in [Neighborhood::All, Neighborhood::Layer(axis, way)] {
                    grid.visit(sphere, which, &mut found);
                    let mut found: Vec<usize> = found.iter().map(|near| near.sphere as usize).collect();
                    found.sort_unstable();
                    let near = |other: usize| (0..3).all(|k| apart(&grid, k, sphere, other) <= 1);
                    let ahead = |other: usize| {
                        let distance = grid.cells[other][axis] - grid.cells[sphere][axis];
                        let count = grid.counts[axis];
                        distance == way || (count > 0 && (distance - way) % count == 0)
                    };
                    let expected: Vec<usize> = (0..300)
                        .filter(|&other| other != sphere && near(other))
                        .filter(|&other| matches!(which, Neighborhood::All) || ahead(other))
                        .collect();
                    assert_eq!(found, expected);
                }
            }
        }
    }
}
