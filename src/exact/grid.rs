//! Finds the spheres near a sphere. The cells are stored in a hash table, so that the world may be unbounded.

use std::ops::Range;

use glam::DVec3;

use crate::{Side, System};

const NONE: u32 = u32::MAX;

// Width of a cell relative to the largest diameter: spheres two cells apart must not touch, even after the rounding of a
// crossing (1e-16 of the coordinate). A larger value only adds candidates.
const MARGIN: f64 = 1e-6;

// Least width of a cell, in mean spacings of the spheres. Wider cells give more candidates, narrower cells more crossings;
// between .7 and 1.1 the speed changes by less than 5%.
const SPACING: f64 = 0.6;

/// Cells of the spheres. A crossing is an event, so the cell of a sphere is exact at all times.
#[derive(Default)]
pub(super) struct Grid {
    axes: usize,
    edge: DVec3,
    // Number of cells along a periodic axis; 0 on an unbounded axis.
    counts: [i64; 3],
    periods: DVec3,
    heads: Vec<u32>,
    nodes: Vec<Node>,
    cells: Vec<[i64; 3]>,
}

// A sphere in the list of its bucket.
#[derive(Clone, Copy)]
struct Node {
    // The cell, to distinguish the cells of a bucket. Cells 2^21 apart have equal tags: their spheres are far away and only
    // cost a test.
    tag: u64,
    next: u32,
    previous: u32,
}

const EMPTY: Node = Node { tag: 0, next: NONE, previous: NONE };

// Bits of a coordinate in a tag.
const TAG_BITS: u32 = 21;

/// The cells around a sphere that a search visits.
#[derive(Clone, Copy)]
pub(super) enum Neighborhood {
    /// All 27 cells, the sphere's own included.
    All,
    /// The layer that a crossing along an axis brought into reach.
    Layer(usize, i64),
}

impl Grid {
    /// Cells for a system with coordinates relative to `origin`.
    pub fn new(system: &System) -> Self {
        let count = system.spheres.len();
        let axes = system.dimensions.count();
        let reach = system.spheres.iter().map(|s| 2.0 * s.radius).fold(0.0, f64::max) * (1.0 + MARGIN);
        let mut extent = DVec3::ONE;
        for axis in 0..axes {
            extent[axis] = if system.bounds.sides[axis] == Side::Open {
                let low = system.spheres.iter().map(|s| s.position[axis]).fold(f64::INFINITY, f64::min);
                let high = system.spheres.iter().map(|s| s.position[axis]).fold(f64::NEG_INFINITY, f64::max);
                (high - low).max(0.0) + reach
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
            heads: vec![NONE; (4 * count).max(64).next_power_of_two()],
            nodes: vec![EMPTY; count],
            cells: vec![[0; 3]; count],
            ..Self::default()
        };
        for axis in 0..axes {
            if let Some(period) = system.period(axis) {
                let cells = (period / grid.edge[axis]).floor().max(1.0);
                grid.counts[axis] = cells as i64;
                grid.edge[axis] = period / cells;
                grid.periods[axis] = period;
            }
        }
        grid
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

    /// Calls `meet` for the spheres in the cells around a sphere, with the shift to their nearest image. If a period is only
    /// one or two cells long, `meet` is called once for each image of a sphere.
    pub fn visit(&self, sphere: usize, which: Neighborhood, mut meet: impl FnMut(usize, DVec3)) {
        let mut from = [0; 3];
        let mut to = [0; 3];
        from[..self.axes].fill(-1);
        to[..self.axes].fill(1);
        if let Neighborhood::Layer(axis, way) = which {
            from[axis] = way;
            to[axis] = way;
        }
        let cell = self.cells[sphere];
        // Per axis: coordinates and shifts of the three layers.
        let mut at = [[0; 3]; 3];
        let mut shifts = [[0.0; 3]; 3];
        for axis in 0..3 {
            for layer in from[axis]..=to[axis] {
                let k = (layer + 1) as usize;
                (at[axis][k], shifts[axis][k]) = self.neighbor(axis, cell[axis] + layer);
            }
        }
        // Collects the occupied cells without a branch: occupation is unpredictable, and 27 branch mispredictions cost more
        // than all other work here.
        let mut lists = [(NONE, 0u8); 28];
        let mut count = 0;
        for z in from[2] + 1..=to[2] + 1 {
            for y in from[1] + 1..=to[1] + 1 {
                for x in from[0] + 1..=to[0] + 1 {
                    let place = [at[0][x as usize], at[1][y as usize], at[2][z as usize]];
                    let head = self.heads[self.bucket(place)];
                    lists[count] = (head, (x + 3 * y + 9 * z) as u8);
                    count += usize::from(head != NONE);
                }
            }
        }
        for &(head, code) in &lists[..count] {
            let (x, y, z) = (code as usize % 3, code as usize / 3 % 3, code as usize / 9);
            let tag = tag([at[0][x], at[1][y], at[2][z]]);
            let shift = DVec3::new(shifts[0][x], shifts[1][y], shifts[2][z]);
            let mut other = head;
            while other != NONE {
                let node = self.nodes[other as usize];
                if node.tag == tag {
                    meet(other as usize, shift);
                }
                other = node.next;
            }
        }
    }

    /// Calls `meet` with ranges of buckets that hold a sphere's own cell and half of the cells around it, so that every pair of
    /// cells occurs once, and with the shift to the nearest image.
    pub fn visit_half(&self, sphere: usize, mut meet: impl FnMut(Range<usize>, DVec3)) {
        let cell = self.cells[sphere];
        let inside = self.counts[0] == 0 || (cell[0] > 0 && cell[0] + 1 < self.counts[0]);
        for (oy, oz) in [(0, 0), (1, 0), (-1, 1), (0, 1), (1, 1)] {
            if (oy != 0 && self.axes < 2) || (oz != 0 && self.axes < 3) {
                continue;
            }
            let (y, shift_y) = self.neighbor(1, cell[1] + oy);
            let (z, shift_z) = self.neighbor(2, cell[2] + oz);
            let from = if (oy, oz) == (0, 0) { 0 } else { -1 };
            let first = self.bucket([cell[0] + from, y, z]);
            let last = first + (1 - from) as usize;
            if inside && last < self.heads.len() {
                meet(first..last + 1, DVec3::new(0.0, shift_y, shift_z));
                continue;
            }
            // The end of the period or of the table splits the run.
            for ox in from..=1 {
                let (x, shift_x) = self.neighbor(0, cell[0] + ox);
                let bucket = self.bucket([x, y, z]);
                meet(bucket..bucket + 1, DVec3::new(shift_x, shift_y, shift_z));
            }
        }
    }

    /// Bucket of a sphere, below [`bucket_count`](Self::bucket_count).
    pub fn bucket_of(&self, sphere: usize) -> usize {
        self.bucket(self.cells[sphere])
    }

    pub fn bucket_count(&self) -> usize {
        self.heads.len()
    }

    /// Position of a sphere's cell on a space-filling curve (Morton 1966).
    pub fn curve(&self, sphere: usize) -> u64 {
        let mut place = 0;
        for (axis, &cell) in self.cells[sphere].iter().enumerate() {
            for bit in 0..TAG_BITS {
                place |= (cell as u64 >> bit & 1) << (3 * bit + axis as u32);
            }
        }
        place
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
        self.heads.capacity() * size_of::<u32>()
            + self.nodes.capacity() * size_of::<Node>()
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

    // Cells along x are contiguous in memory; the prime factors spread the rows.
    #[inline]
    fn bucket(&self, cell: [i64; 3]) -> usize {
        let row = cell[1].wrapping_mul(73_856_093) ^ cell[2].wrapping_mul(19_349_663);
        row.wrapping_add(cell[0]) as usize & (self.heads.len() - 1)
    }

    fn link(&mut self, sphere: usize) {
        let cell = self.cells[sphere];
        let bucket = self.bucket(cell);
        let head = self.heads[bucket];
        self.nodes[sphere] = Node { tag: tag(cell), next: head, previous: NONE };
        if head != NONE {
            self.nodes[head as usize].previous = sphere as u32;
        }
        self.heads[bucket] = sphere as u32;
    }

    fn unlink(&mut self, sphere: usize) {
        let Node { next, previous, .. } = self.nodes[sphere];
        if previous == NONE {
            let bucket = self.bucket(self.cells[sphere]);
            self.heads[bucket] = next;
        } else {
            self.nodes[previous as usize].next = next;
        }
        if next != NONE {
            self.nodes[next as usize].previous = previous;
        }
    }
}

#[inline]
fn tag(cell: [i64; 3]) -> u64 {
    let mask = (1 << TAG_BITS) - 1;
    let [x, y, z] = cell.map(|c| c as u64 & mask);
    x | y << TAG_BITS | z << (2 * TAG_BITS)
}

#[cfg(test)]
mod tests {
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
        let mut images = vec![];
        grid.visit(0, Neighborhood::All, |j, shift| {
            if j == 1 && shift.y == 0.0 && shift.z == 0.0 {
                images.push(b + shift.x);
            }
        });
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
}
