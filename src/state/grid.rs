//! The grid: cells, to which positions are relative, and buckets, which hold the spheres of a cell.
//!
//! A position is an integer cell and an f32 offset inside the cell, so that the precision is the same everywhere. Cells
//! that are consecutive along x have consecutive buckets. In a bounded world that is not nearly empty, every cell has a
//! bucket of its own. Otherwise rows of cells along x are hashed to buckets, and a search must compare the cell of each
//! sphere in a bucket. If sizes differ, a cell has several buckets, one for each of its [parts](super::levels).

use std::ops::Range;

use glam::{DVec3, IVec3, Vec3};

use crate::{
    Bounds, Side, System,
    state::{levels::Levels, statistics::SystemStatistics, units::Units},
};

/// Largest distance of a cell from the origin, in cells. Beyond it, offsets grow instead and lose precision.
pub const FARTHEST: i32 = 1 << 28;

/// Smallest number of buckets of a hashed grid, not counting parts.
const LEAST_HASHED: usize = 64;

/// Number of cell codes. The 27 cells around a cell have the codes 9 dz + 3 dy + dx + 13; the cell itself has 13.
pub const CODES: u32 = 27;

/// Geometry of the cells.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "files", derive(serde::Deserialize, serde::Serialize))]
pub struct Grid {
    /// Lower corner of cell 0 (scaled units).
    pub origin: DVec3,
    /// Edges of a cell (scaled units).
    pub edge: Vec3,
    /// `edge` in f64, to which positions refer: over a hundred cells the rounding of `edge` would accumulate.
    pub exact_edge: DVec3,
    /// Number of cells along each axis; 0 = unbounded.
    pub count: IVec3,
    /// Axes along which cells wrap around.
    pub periodic: [bool; 3],
    /// Whether a bucket is a cell.
    pub direct: bool,
    /// Buckets of all cells and their parts. Unless `direct`, the number of buckets of whole cells is a power of two.
    pub buckets: usize,
    /// Division of the cells where sizes differ.
    pub levels: Levels,
    /// Path that a sphere may travel between two broad phases while the 27 cells contain all that it could meet.
    pub margin_limit: f32,
    /// The motion margin that was requested; after the box has shrunk, at most what the cells still allow.
    pub made_for: f64,
    /// Cells searched along z: -1..=1, or 0..=0 in 2D.
    pub layers: i32,
}

impl Grid {
    /// Cells for spheres that move up to `motion_margin` between two broad phases. `lowest` is the lower corner of their
    /// centres. Both are in scaled units.
    pub fn new(
        system: &System,
        units: &Units,
        statistics: &SystemStatistics,
        motion_margin: f64,
        lowest: DVec3,
    ) -> Self {
        let (length, radius_max, spheres) = (units.length, statistics.radius_max, statistics.count);
        let flat = system.dimensions.count() == 2;
        // Slightly larger than needed, because cells are compared in f32.
        let least = 2.0 * (radius_max + motion_margin) * (1.0 + 1e-5);
        let (mut edge, mut count, mut periodic) = (DVec3::splat(least), IVec3::ZERO, [false; 3]);
        let mut bounded = true;
        for axis in 0..system.dimensions.count() {
            let extent = (system.bounds.max[axis] - system.bounds.min[axis]) / length;
            match system.bounds.sides[axis] {
                Side::Open => {
                    bounded = false;
                    // Multiples of 1/16, so that offsets of positions with few binary digits are exact.
                    edge[axis] = (16.0 * least).ceil() / 16.0;
                }
                side => {
                    periodic[axis] = side == Side::Periodic;
                    let fewest = if periodic[axis] { 2.0 } else { 1.0 };
                    count[axis] = (extent / least).floor().clamp(fewest, f64::from(FARTHEST)) as i32;
                    edge[axis] = extent / f64::from(count[axis]);
                }
            }
        }
        if flat {
            count.z = 1;
        }
        let cells = count.as_dvec3().element_product();
        let direct = bounded && cells <= (4 * spheres.max(1024)) as f64;
        let filled = statistics.volume / edge.truncate().element_product() / if flat { 1.0 } else { edge.z };
        let filled = if direct { cells } else { filled.clamp(1.0, spheres.max(1) as f64) };
        let levels = Levels::new(&statistics.classes, motion_margin, filled, edge.as_vec3(), flat);
        let hashed = 2 * spheres.max(512);
        let rows = match levels.parts {
            _ if direct => cells as usize,
            1 => hashed.next_power_of_two(),
            // The parts of one cell replace as many hashed cells.
            parts => (2 * hashed / parts as usize).next_power_of_two().max(LEAST_HASHED),
        };
        // On open axes the origin is near the spheres, so that cell numbers stay small.
        let origin = std::array::from_fn(|axis| match system.bounds.sides[axis] {
            Side::Open => lowest[axis],
            _ => system.bounds.min[axis] / length,
        });
        Self {
            origin: DVec3::from_array(origin),
            edge: edge.as_vec3(),
            exact_edge: edge,
            made_for: motion_margin,
            count,
            periodic,
            direct,
            buckets: rows * levels.parts as usize,
            levels,
            margin_limit: margin_limit(edge, flat, radius_max),
            layers: i32::from(!flat),
        }
    }

    /// The same cells in a box with other bounds, which is periodic along all axes of the world. A plan asks for new cells when these
    /// allow too little.
    pub fn resized(&self, bounds: &Bounds, units: &Units, radius_max: f64) -> Self {
        let (mut origin, mut edge) = (self.origin, self.exact_edge);
        for axis in (0..3).filter(|&axis| self.periodic[axis]) {
            origin[axis] = bounds.min[axis] / units.length;
            let extent = (bounds.max[axis] - bounds.min[axis]) / units.length;
            edge[axis] = extent / f64::from(self.count[axis]);
        }
        let margin_limit = margin_limit(edge, self.layers == 0, radius_max);
        Self {
            origin,
            edge: edge.as_vec3(),
            exact_edge: edge,
            levels: self.levels.resized(edge.as_vec3()),
            margin_limit,
            made_for: self.made_for.min(f64::from(margin_limit)),
            ..self.clone()
        }
    }

    /// How positions in another grid become positions in this one. Both cover the same periodic box, apart from its size.
    pub fn remap_from(&self, old: &Self) -> Remap {
        Remap { ratio: (self.exact_edge / old.exact_edge).as_vec3(), old_count: old.count }
    }

    /// Whether [`remapped`](Self::remapped) is exact for the cells of another grid: products of cell numbers fit in 32 bits.
    pub fn can_remap_from(&self, old: &Self) -> bool {
        let fits = |axis: usize| self.count[axis].checked_mul(old.count[axis]).is_some();
        (0..3).all(fits)
    }

    /// Cell and offset in this grid of a sphere that has this cell and offset in another one. Its place relative to the box stays the
    /// same. The offset may lie outside the cell.
    #[inline]
    pub fn remapped(&self, remap: Remap, mut cell: IVec3, mut offset: Vec3) -> (IVec3, Vec3) {
        for axis in (0..3).filter(|&axis| self.periodic[axis]) {
            let (old, new) = (remap.old_count[axis], self.count[axis]);
            offset[axis] *= remap.ratio[axis];
            if old != new {
                // Whole cells are divided as integers, so that the precision is the same everywhere.
                let cells = cell[axis] * new;
                let share = offset[axis] * self.levels.per_edge[axis];
                let rest = ((cells % old) as f32 + share * new as f32) / old as f32;
                let whole = rest.floor();
                cell[axis] = (cells / old + whole as i32).rem_euclid(new);
                offset[axis] = (rest - whole) * self.edge[axis];
            }
        }
        (cell, offset)
    }

    /// Cell and offset of a point in scaled units, neither wrapped nor clamped to the grid.
    pub fn locate_freely(&self, point: DVec3) -> (IVec3, Vec3) {
        let relative = point - self.origin;
        let edge = self.exact_edge;
        let limit = f64::from(FARTHEST);
        let cell = (relative / edge).floor().clamp(DVec3::splat(-limit), DVec3::splat(limit));
        (cell.as_ivec3(), (relative - cell * edge).as_vec3())
    }

    /// Cell and offset of a point in scaled units, wrapped on periodic axes and clamped to the grid on bounded ones.
    pub fn locate(&self, point: DVec3) -> (IVec3, Vec3) {
        let (mut cell, mut offset) = self.locate_freely(point);
        for axis in 0..3 {
            if self.periodic[axis] {
                cell[axis] = cell[axis].rem_euclid(self.count[axis]);
            } else if self.count[axis] > 0 {
                // The distance beyond the first or last cell stays in the offset.
                let clamped = cell[axis].clamp(0, self.count[axis] - 1);
                offset[axis] += (cell[axis] - clamped) as f32 * self.edge[axis];
                cell[axis] = clamped;
            }
        }
        self.settle(cell, offset)
    }

    /// The point in scaled units.
    pub fn world(&self, cell: IVec3, offset: Vec3) -> DVec3 {
        self.origin + cell.as_dvec3() * self.exact_edge + offset.as_dvec3()
    }

    /// Moves whole cells from the offset to the cell, wraps periodic axes and clamps the others to the grid.
    #[inline]
    pub fn settle(&self, mut cell: IVec3, mut offset: Vec3) -> (IVec3, Vec3) {
        for axis in 0..3 {
            let edge = self.edge[axis];
            if offset[axis] < 0.0 || offset[axis] >= edge {
                let mut moved = (offset[axis] / edge).floor();
                let last = self.count[axis] - 1;
                let c = cell[axis];
                // Spheres beyond the last cell stay in it with a large offset, so that neighbours stay neighbours.
                let (low, high) = match last {
                    _ if self.periodic[axis] => (f32::NEG_INFINITY, f32::INFINITY),
                    0.. => ((0 - c) as f32, (last - c) as f32),
                    _ => ((-FARTHEST - c) as f32, (FARTHEST - c) as f32),
                };
                let whole = moved;
                moved = moved.clamp(low, high);
                // Exact for a move by one cell (Sterbenz); one rounding for longer moves.
                offset[axis] -= moved * edge;
                // Rounding may leave the offset just outside the cell. Settling a settled position must not change it.
                if moved == whole {
                    // Both comparisons are false for NaN, which the audit counts later.
                    if offset[axis] < 0.0 {
                        offset[axis] = 0.0;
                    }
                    if offset[axis] >= edge && moved < high {
                        offset[axis] = 0.0;
                        moved += 1.0;
                    }
                }
                cell[axis] = c.saturating_add(moved as i32);
                if self.periodic[axis] {
                    cell[axis] = cell[axis].rem_euclid(self.count[axis]);
                }
            }
        }
        (cell, offset)
    }

    /// First bucket of the row of cells (y, z), which must be inside a `direct` grid.
    #[inline]
    pub fn row(&self, y: i32, z: i32) -> u32 {
        if self.direct {
            ((z * self.count.y + y) * self.count.x) as u32
        } else {
            // Two rounds of a multiplicative hash, so that rows that differ in one bit lie far apart in the table.
            let mut h = (y as u32).wrapping_mul(0x9e37_79b1) ^ (z as u32).wrapping_mul(0x85eb_ca77);
            h ^= h >> 15;
            h = h.wrapping_mul(0x2c1b_3c6d);
            h ^ (h >> 13)
        }
    }

    /// First bucket of cell `x` in the row that begins at `row`; the cell's other buckets follow.
    #[inline]
    pub fn bucket(&self, row: u32, x: i32) -> usize {
        let k = row.wrapping_add(x as u32) as usize;
        let parts = self.levels.parts as usize;
        (if self.direct { k } else { k & (self.buckets / parts - 1) }) * parts
    }

    /// Indices of the spheres of a cell, from the first of its buckets; `starts` holds the first sphere of each bucket.
    #[inline]
    pub fn range(&self, starts: &[u32], bucket: usize) -> Range<u32> {
        starts[bucket]..starts[bucket + self.levels.parts as usize]
    }

    /// Resolves a coordinate beyond the grid: wrapped on a periodic axis, unchanged on an unbounded one, otherwise `None`.
    #[inline]
    pub fn wrap(&self, axis: usize, c: i32) -> Option<i32> {
        let n = self.count[axis];
        if n == 0 || (0..n).contains(&c) { Some(c) } else { self.periodic[axis].then(|| c.rem_euclid(n)) }
    }

    /// Calls `visit` with the spheres of a cell and of the cells next to it; with hashed buckets possibly with others too.
    pub fn around(&self, starts: &[u32], cell: IVec3, mut visit: impl FnMut(Range<u32>)) {
        for dz in -self.layers..=self.layers {
            let Some(z) = self.wrap(2, cell.z + dz) else { continue };
            for y in (-1..=1).filter_map(|dy| self.wrap(1, cell.y + dy)) {
                let row = self.row(y, z);
                for x in (-1..=1).filter_map(|dx| self.wrap(0, cell.x + dx)) {
                    visit(self.range(starts, self.bucket(row, x)));
                }
            }
        }
    }

    /// Vector between cells (scaled units).
    #[inline]
    pub fn shift(&self, cells: IVec3) -> Vec3 {
        cells.as_vec3() * self.edge
    }

    /// The difference of two cells by the shortest path across periodic axes.
    #[inline]
    pub fn nearest(&self, mut cells: IVec3) -> IVec3 {
        for axis in 0..3 {
            if self.periodic[axis] {
                let n = self.count[axis];
                let half = n / 2;
                cells[axis] = (cells[axis] + half).rem_euclid(n) - half;
            }
        }
        cells
    }

    /// The vectors from a cell to the 27 cells around it, by code.
    pub fn shifts(&self) -> [Vec3; 32] {
        std::array::from_fn(|code| {
            let code = code as i32 % CODES as i32;
            self.shift(IVec3::new(code % 3 - 1, code / 3 % 3 - 1, code / 9 - 1))
        })
    }
}

/// The change from the cells of one grid to those of another: the ratio of the edges, and the old number of cells along each axis.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Remap {
    pub ratio: Vec3,
    pub old_count: IVec3,
}

// The path that a sphere may travel in cells of these edges.
fn margin_limit(edge: DVec3, flat: bool, radius_max: f64) -> f32 {
    let shortest = if flat { edge.x.min(edge.y) } else { edge.min_element() };
    ((shortest / (1.0 + 1e-5) - 2.0 * radius_max) / 2.0) as f32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Sphere;

    // Positions in a smaller box, in the same cells and in fewer, are those of the larger one in the same proportion.
    #[test]
    fn places_scale_with_their_box() {
        let sphere = Sphere { radius: 0.5, ..Sphere::default() };
        let mut system = System { spheres: vec![sphere; 100], ..System::default() };
        system.bounds = Bounds {
            min: DVec3::new(-3.0, 1.0, 0.0),
            max: DVec3::new(9.0, 12.0, 700.0),
            sides: [Side::Periodic; 3],
            ..Bounds::default()
        };
        let units = Units::new(&system);
        let statistics = SystemStatistics::new(&system, &units);
        let grid = |system: &System, margin| Grid::new(system, &units, &statistics, margin, DVec3::ZERO);
        let old = grid(&system, 0.1);
        let bounds = system.bounds.shrunk(0.01, 3);
        let smaller = System { bounds, ..system.clone() };
        let resized = old.resized(&smaller.bounds, &units, statistics.radius_max);
        let others = [resized, grid(&smaller, 0.1), grid(&smaller, 0.3)];
        assert!(others[0].count == old.count && others[2].count.cmplt(old.count).all());
        for new in others {
            let length = (smaller.bounds.max - smaller.bounds.min) / units.length;
            assert!((new.exact_edge * new.count.as_dvec3() - length).abs().max_element() < 1e-9);
            let remap = new.remap_from(&old);
            for k in 0..2000 {
                let share = |a: i32| f64::from(k * a % 2003) / 2003.0;
                let at = DVec3::new(share(7), share(1234), share(555));
                // Some spheres have left their cells since the last broad phase.
                let (mut cell, mut offset) = old.locate(old.origin + at * (length / 0.99));
                let away = k % 3 - 1;
                cell.y = (cell.y - away).rem_euclid(old.count.y);
                offset.y += away as f32 * old.edge.y;
                let (cell, offset) = new.remapped(remap, cell, offset);
                assert!(cell.cmpge(IVec3::ZERO).all() && cell.cmplt(new.count).all(), "{cell}");
                let (cell, offset) = new.settle(cell, offset);
                let off = new.world(cell, offset) - (new.origin + at * length);
                let off = off - (off / length).round() * length;
                assert!(off.abs().max_element() < 1e-6, "{k}: off by {off:?}");
            }
        }
    }

    // Settling a settled position changes nothing, even within a rounding of the faces of a cell.
    #[test]
    fn what_is_settled_is_settled() {
        let edges = Vec3::new(1.37, 0.93, 2.11);
        let grid = Grid {
            origin: DVec3::ZERO,
            edge: edges,
            exact_edge: edges.as_dvec3(),
            count: IVec3::new(7, 5, 0),
            periodic: [true, false, false],
            direct: false,
            buckets: 64,
            levels: Levels::new(&[], 0.1, 64.0, edges, false),
            margin_limit: 0.1,
            made_for: 0.1,
            layers: 1,
        };
        let mut moved = 0;
        for axis in 0..3 {
            for cells in [-9.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 9.0] {
                for slip in [-3e-7, -6e-8, -1e-9, -1e-30, 0.0, 1e-30, 6e-8, 3e-7] {
                    for cell in 0..5 {
                        let mut offset = 0.5 * edges;
                        offset[axis] = cells * edges[axis] + slip;
                        let once = grid.settle(IVec3::splat(cell), offset);
                        assert_eq!(
                            grid.settle(once.0, once.1),
                            once,
                            "axis {axis}, {cells} cells {slip:e} in {cell}"
                        );
                        let apart = grid.world(once.0, once.1) - grid.world(IVec3::splat(cell), offset);
                        let period = if axis == 0 { 7.0 * f64::from(edges.x) } else { f64::INFINITY };
                        let off = apart[axis]
                            - if axis == 0 { (apart[axis] / period).round() * period } else { 0.0 };
                        assert!(off.abs() < 2e-6, "axis {axis}, {cells} cells {slip:e}: off by {off:e}");
                        moved += u32::from(once.0 != IVec3::splat(cell));
                    }
                }
            }
        }
        assert!(moved > 100);
        let nan = grid.settle(IVec3::ONE, Vec3::new(f32::NAN, 0.1, 0.1)).1;
        assert!(nan.x.is_nan());
        assert!(!grid.settle(IVec3::ONE, Vec3::new(f32::INFINITY, 0.1, 0.1)).1.x.is_finite());
    }
}
