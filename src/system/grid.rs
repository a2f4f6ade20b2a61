//! A multilevel grid that finds neighbours of spheres. It has one level for every factor of two in the radius, and the
//! cells of a level are about as wide as its spheres.

use glam::DVec3;

use crate::system::space::{Space, SphereProxy, corners, spatial_order};

/// End of a cell's list.
const NONE: u32 = u32::MAX;
/// Cells per sphere up to which a level stores a table of all cells; sparser levels use a hash table.
const DENSE: f64 = 16.0;
/// Cells in reach, per sphere of a level, beyond which a search visits the spheres instead of the cells.
const CELLS_PER_MEMBER: f64 = 8.0;
/// Cells along x that a search handles together; only spheres much larger than those of the level need more.
const ROW: usize = 8;

#[derive(Debug)]
struct Level {
    largest: f64,
    origin: DVec3,
    edge: DVec3,
    /// 1/edge.
    scale: DVec3,
    count: [i64; 3],
    wraps: [bool; 3],
    hashed: bool,
    heads: Vec<u32>,
    /// Indices of the spheres of the level.
    members: Vec<u32>,
}

/// Spheres sorted into cells. Spheres may be added and moved at any time.
#[derive(Debug)]
pub(crate) struct Grid {
    pub space: Space,
    levels: Vec<Level>,
    rounds: Vec<SphereProxy>,
    next: Vec<u32>,
}

impl Grid {
    /// An empty grid for spheres of these radii, with centres that always lie between `low` and `high`.
    pub(crate) fn new(space: Space, low: DVec3, high: DVec3, mut radii: Vec<f64>) -> Self {
        radii.sort_unstable_by(|a, b| b.total_cmp(a));
        let mut levels = vec![];
        let mut rest = radii.as_slice();
        while let Some(&largest) = rest.first() {
            let members = rest.partition_point(|&r| r > 0.5 * largest);
            levels.push(Level::new(&space, low, high, largest, members));
            rest = &rest[members..];
        }
        Self { space, levels, rounds: vec![], next: vec![] }
    }

    /// A grid with all of `rounds`.
    pub(crate) fn of(space: Space, rounds: Vec<SphereProxy>) -> Self {
        let (low, high) = corners(&rounds);
        let mut grid = Self::new(space, low, high, rounds.iter().map(|r| r.radius).collect());
        grid.hold(rounds);
        grid
    }

    /// Replaces all spheres.
    pub(crate) fn hold(&mut self, rounds: Vec<SphereProxy>) {
        for level in &mut self.levels {
            level.heads.fill(NONE);
            level.members.clear();
        }
        self.next = vec![NONE; rounds.len()];
        self.rounds = rounds;
        // In reverse, so that each cell's list runs forwards.
        for index in (0..self.rounds.len()).rev() {
            self.insert(index);
        }
        for index in 0..self.rounds.len() {
            self.enlist(index);
        }
    }

    /// Sorts the spheres from index `first` on into spatial order; their indices change.
    pub(crate) fn sort_from(&mut self, first: usize) {
        let mut rounds = std::mem::take(&mut self.rounds);
        let later = rounds.split_off(first);
        rounds.extend(spatial_order(&later).into_iter().map(|at| later[at as usize]));
        self.hold(rounds);
    }

    /// Adds a sphere, with the next free index.
    pub(crate) fn push(&mut self, round: SphereProxy) {
        self.rounds.push(round);
        self.next.push(NONE);
        self.insert(self.rounds.len() - 1);
        self.enlist(self.rounds.len() - 1);
    }

    fn enlist(&mut self, index: usize) {
        let level = self.level_of(self.rounds[index].radius);
        self.levels[level].members.push(index as u32);
    }

    pub(crate) fn rounds(&self) -> &[SphereProxy] {
        &self.rounds
    }

    pub(crate) fn into_rounds(self) -> Vec<SphereProxy> {
        self.rounds
    }

    /// Largest radius; 0 without spheres.
    pub(crate) fn largest(&self) -> f64 {
        self.levels.first().map_or(0.0, |level| level.largest)
    }

    fn level_of(&self, radius: f64) -> usize {
        // Levels are few and sorted from coarse to fine.
        self.levels.iter().rposition(|level| radius <= level.largest).unwrap_or(0)
    }

    fn insert(&mut self, index: usize) {
        let round = self.rounds[index];
        let level = self.level_of(round.radius);
        let level = &mut self.levels[level];
        let slot = level.slot(level.cell(round.center));
        self.next[index] = level.heads[slot];
        level.heads[slot] = index as u32;
    }

    fn remove(&mut self, index: usize) {
        let round = self.rounds[index];
        let level = self.level_of(round.radius);
        let level = &mut self.levels[level];
        let slot = level.slot(level.cell(round.center));
        if level.heads[slot] == index as u32 {
            level.heads[slot] = self.next[index];
            return;
        }
        let mut at = level.heads[slot] as usize;
        while self.next[at] != index as u32 {
            at = self.next[at] as usize;
        }
        self.next[at] = self.next[index];
    }

    /// Moves a sphere.
    pub(crate) fn shift(&mut self, index: usize, center: DVec3) {
        let round = self.rounds[index];
        let level = &self.levels[self.level_of(round.radius)];
        if level.cell(center) == level.cell(round.center) {
            self.rounds[index].center = center;
        } else {
            self.remove(index);
            self.rounds[index].center = center;
            self.insert(index);
        }
    }

    /// Calls `f` with the index of every sphere whose surface may be nearer than `margin` to that of a sphere of
    /// `radius` at `center` (wrapped), and with the vector between them, until `f` returns true. Returns whether `f` did.
    /// `f` may also get more distant spheres. Each sphere comes once, the likeliest to overlap first.
    #[inline]
    pub(crate) fn any_near(
        &self,
        center: DVec3,
        radius: f64,
        margin: f64,
        mut f: impl FnMut(usize, DVec3) -> bool,
    ) -> bool {
        self.levels.iter().any(|level| {
            self.search(level, center, radius + level.largest + margin, &mut |index, d| f(index, d))
        })
    }

    /// As [`any_near`](Self::any_near) for sphere `index` and no margin; one sphere of every pair sees the other.
    #[inline]
    pub(crate) fn any_partner(&self, index: usize, mut f: impl FnMut(usize, DVec3) -> bool) -> bool {
        let round = self.rounds[index];
        let own = self.level_of(round.radius);
        self.levels[..=own].iter().enumerate().any(|(depth, level)| {
            self.search(level, round.center, round.radius + level.largest, &mut |other, d| {
                (depth < own || other > index) && f(other, d)
            })
        })
    }

    #[inline]
    fn search(
        &self,
        level: &Level,
        center: DVec3,
        reach: f64,
        f: &mut impl FnMut(usize, DVec3) -> bool,
    ) -> bool {
        let [x, y, z] = [0, 1, 2].map(|axis| level.range(axis, center[axis], reach));
        // A large sphere reaches over billions of cells of a level of small ones; testing all of these takes less time.
        let cells: f64 = [&x, &y, &z].map(|range| (range.end - range.start) as f64).iter().product();
        if cells > CELLS_PER_MEMBER * (level.members.len() + 1024) as f64 {
            let test = |&index: &u32| {
                f(index as usize, self.space.separation(center, self.rounds[index as usize].center))
            };
            return level.members.iter().any(test);
        }
        let own = level.cell(center);
        let home = level.slot(own);
        if self.scan(level, home, own, center, f) {
            return true;
        }
        let limit = reach * reach;
        for first in x.clone().step_by(ROW) {
            let mut row = [(0, 0.0); ROW];
            let length = ((x.end - first) as usize).min(ROW);
            for (at, i) in row[..length].iter_mut().zip(first..) {
                let (i, gap) = level.column(0, i, center.x);
                *at = (i, gap * gap);
            }
            for k in z.clone() {
                let (k, gap_z) = level.column(2, k, center.z);
                for j in y.clone() {
                    let (j, gap_y) = level.column(1, j, center.y);
                    let left = limit - (gap_z * gap_z + gap_y * gap_y);
                    for &(i, square) in &row[..length] {
                        if square > left {
                            continue;
                        }
                        let slot = level.slot([i, j, k]);
                        let is_own = if level.hashed { [i, j, k] == own } else { slot == home };
                        if !is_own && self.scan(level, slot, [i, j, k], center, f) {
                            return true;
                        }
                    }
                }
            }
        }
        false
    }

    #[inline]
    fn scan(
        &self,
        level: &Level,
        slot: usize,
        cell: [i64; 3],
        center: DVec3,
        f: &mut impl FnMut(usize, DVec3) -> bool,
    ) -> bool {
        let mut index = level.heads[slot];
        while index != NONE {
            let other = self.rounds[index as usize].center;
            // Several cells share a hashed slot; without this test a sphere could come twice.
            if (!level.hashed || level.cell(other) == cell)
                && f(index as usize, self.space.separation(center, other))
            {
                return true;
            }
            index = self.next[index as usize];
        }
        false
    }
}

impl Level {
    fn new(space: &Space, low: DVec3, high: DVec3, largest: f64, members: usize) -> Self {
        let mut level = Self {
            largest,
            origin: low,
            edge: DVec3::splat(2.0 * largest),
            scale: DVec3::ONE,
            count: [1; 3],
            wraps: [false; 3],
            hashed: false,
            heads: vec![],
            members: vec![],
        };
        // Beyond 2^40 cells along an axis the cell arithmetic would lose exactness, so the edge grows instead.
        const MOST: f64 = (1u64 << 40) as f64;
        for axis in 0..3 {
            if space.period[axis] > 0.0 {
                let count = (space.period[axis] / level.edge[axis]).floor().clamp(1.0, MOST);
                level.origin[axis] = space.origin[axis];
                level.edge[axis] = space.period[axis] / count;
                level.count[axis] = count as i64;
                level.wraps[axis] = true;
            } else {
                let extent = high[axis] - low[axis];
                level.edge[axis] = level.edge[axis].max(extent / MOST);
                level.count[axis] = ((extent / level.edge[axis]).floor() as i64).max(0) + 1;
            }
        }
        level.scale = 1.0 / level.edge;
        let cells: f64 = level.count.iter().map(|&n| n as f64).product();
        level.hashed = cells > DENSE * members as f64 + 4096.0;
        let slots = if level.hashed { (2 * members).next_power_of_two() } else { cells as usize };
        level.heads = vec![NONE; slots];
        level
    }

    #[inline]
    fn cell(&self, p: DVec3) -> [i64; 3] {
        [0, 1, 2].map(|axis| {
            let cell = floor((p[axis] - self.origin[axis]) * self.scale[axis]);
            cell.clamp(0, self.count[axis] - 1)
        })
    }

    #[inline]
    fn slot(&self, [i, j, k]: [i64; 3]) -> usize {
        if self.hashed {
            // Odd multipliers with well mixed bits (the first three outputs of SplitMix64 from seed 0); the top bits are the
            // hash.
            let h = (i as u64).wrapping_mul(0xe220_a839_7b1d_cdaf)
                ^ (j as u64).wrapping_mul(0x6e78_9e6a_a1b9_65f5)
                ^ (k as u64).wrapping_mul(0x06c4_5d18_8009_454f);
            (h ^ h >> 32) as usize & (self.heads.len() - 1)
        } else {
            (i + self.count[0] * (j + self.count[1] * k)) as usize
        }
    }

    /// Cells along an axis within `reach` of `x`; not yet wrapped on a periodic axis.
    #[inline]
    fn range(&self, axis: usize, x: f64, reach: f64) -> std::ops::Range<i64> {
        let count = self.count[axis];
        let place = |x: f64| floor((x - self.origin[axis]) * self.scale[axis]);
        let (first, last) = (place(x - reach), place(x + reach));
        if !self.wraps[axis] {
            first.clamp(0, count - 1)..last.clamp(0, count - 1) + 1
        } else if last - first + 1 >= count {
            0..count
        } else {
            first..last + 1
        }
    }

    /// Wrapped index of a cell of [`range`](Self::range), and the distance of the cell from `x` along the axis.
    #[inline]
    fn column(&self, axis: usize, cell: i64, x: f64) -> (i64, f64) {
        let (count, edge) = (self.count[axis], self.edge[axis]);
        let mut distance = (x - (self.origin[axis] + (cell as f64 + 0.5) * edge)).abs();
        if !self.wraps[axis] {
            return (cell, (distance - 0.5 * edge).max(0.0));
        }
        distance = distance.min((count as f64 * edge - distance).abs());
        let wrapped = if cell < 0 {
            cell + count
        } else if cell >= count {
            cell - count
        } else {
            cell
        };
        (wrapped, (distance - 0.5 * edge).max(0.0))
    }
}

/// Faster than `f64::floor`, which is a function call if the target may lack the instruction.
#[inline]
fn floor(x: f64) -> i64 {
    let cut = x as i64;
    cut.saturating_sub(i64::from(x < cut as f64))
}
