//! Stage `neighbors`: lists the candidates of every sphere: all spheres that it could meet before the next broad phase
//! while both stay within their motion margins.

#[cfg(target_arch = "x86_64")]
mod lanes;
pub mod parts;

use crate::cpu::{bits::Bits, order::Order};
use crate::state::constants::{COUNTED_PLANES, MOST_HITS, wall_bit};
use std::{
    mem::swap,
    ops::Range,
    sync::atomic::{AtomicBool, AtomicU8, Ordering::Relaxed},
};

use glam::{DVec3, IVec3, Vec3, Vec4};
use rayon::prelude::*;

use crate::{
    cpu::{
        fast::Reach,
        pairs::{Four, LANES},
        parallel::{Outputs, TASK},
    },
    state::{
        columns::State,
        constants::{WALL, wall_of},
        grid::{CODES, Grid},
    },
    walls::{features::Instant, world::World},
};

/// Spheres whose candidates share one buffer.
pub const BLOCK: usize = 256;

/// A candidate: the code of its cell relative to the sphere's cell, and the index of the candidate.
///
/// The index has 27 bits, enough for 134 million spheres.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Candidate(u32);

impl Candidate {
    pub const MAX_SPHERES: usize = 1 << 27;

    #[inline]
    fn new(code: u32, index: usize) -> Self {
        Self(code << 27 | index as u32)
    }

    #[inline]
    pub fn code(self) -> u32 {
        self.0 >> 27
    }

    // The same candidate after a change of order.
    #[inline]
    fn renumbered(self, order: &Order) -> Self {
        Self::new(self.code(), order.new_index(self.index() as u32) as usize)
    }

    #[inline]
    pub fn index(self) -> usize {
        (self.0 & (Self::MAX_SPHERES as u32 - 1)) as usize
    }
}

/// Distance from a point of a plane, in cells along each axis, beyond which every sphere is tested with the plane. There gaps are
/// rounded too coarsely for whole cells.
const NEAR_PLANE: i32 = 1 << 18;

/// Candidates of a block of spheres.
#[derive(Default)]
pub struct Block {
    entries: Vec<Candidate>,
    /// End of the candidates of each sphere of the block.
    ends: Vec<u32>,
    /// Candidates with a larger id than the sphere's, which owns the pair; the end of those of each sphere; and for each of
    /// them its sphere.
    own: Vec<Candidate>,
    own_ends: Vec<u32>,
    owners: Vec<u8>,
    /// The planes that each sphere could meet, one bit each; planes from the 32nd on share the last bit.
    walls: Vec<u32>,
    /// Impacts in the substep of the pair of each entry, if they are counted. Of the two entries of a pair, the one of the
    /// smaller index counts.
    hits: Vec<AtomicU8>,
    /// Impacts in the substep of each sphere with each of the first planes.
    wall_hits: Vec<[AtomicU8; COUNTED_PLANES]>,
    /// Wall features that each sphere could meet, the end of each sphere's features, and the impacts with each feature.
    features: Vec<u32>,
    feature_ends: Vec<u32>,
    feature_hits: Vec<AtomicU8>,
    /// Whether any counter of impacts may be above 0 or belongs to other lists.
    was_hit: AtomicBool,
    /// Whether a wall in reach of the sphere moves.
    driven: Vec<bool>,
    /// Length of the longest list of candidates.
    longest: usize,
}

/// Candidates of all spheres. Every pair is listed twice, once for each sphere.
#[derive(Default)]
pub struct Lists {
    blocks: Outputs<Block>,
    /// The blocks as they were before the last broad phase, where it changed some of their lists.
    before: Outputs<Option<Block>>,
    columns: Columns,
    /// Spheres that could meet a wall.
    near_walls: Bits,
    /// Number of planes. Walls with larger numbers are features.
    planes: u32,
    /// Motion margin and path of the drift that the lists allow.
    made_for: (f32, f32),
    longest: usize,
}

impl Block {
    fn feature_range(&self, k: usize) -> Range<usize> {
        let start = if k == 0 { 0 } else { self.feature_ends[k - 1] as usize };
        start..self.feature_ends[k] as usize
    }

    fn is_near_wall(&self, k: usize) -> bool {
        self.walls[k] != 0 || !self.feature_range(k).is_empty()
    }

    fn clear(&mut self) {
        let Self { entries, ends, own, own_ends, owners, walls, features, feature_ends, driven, .. } = self;
        [entries, own].into_iter().for_each(Vec::clear);
        [ends, own_ends, walls, features, feature_ends].into_iter().for_each(Vec::clear);
        owners.clear();
        driven.clear();
    }

    // The place of the candidates of the k-th sphere of a block in a list with these ends.
    #[inline]
    fn start(ends: &[u32], k: usize) -> usize {
        if k == 0 { 0 } else { ends[k - 1] as usize }
    }

    // Lists the pairs that the spheres of the block own, from the candidates.
    fn list_own(&mut self, ids: &[u32], first: usize) {
        let Self { entries, ends, own, own_ends, owners, .. } = self;
        // One more, because each candidate is written before it is known whether it counts.
        own.resize(entries.len() + 1, Candidate::default());
        owners.resize(entries.len() + 1, 0);
        let (mut start, mut count) = (0, 0);
        for (k, &end) in ends.iter().enumerate() {
            let (id, candidates) = (ids[first + k], &entries[start..end as usize]);
            // The order of ids is random, so a branch would be predicted wrongly half of the time.
            for &candidate in candidates {
                own[count] = candidate;
                owners[count] = k as u8;
                count += usize::from(ids[candidate.index()] > id);
            }
            own_ends.push(count as u32);
            start = end as usize;
        }
        own.truncate(count);
        owners.truncate(count);
    }

    // Lists the pairs that sphere `i` owns, the k-th of the block, whose candidates begin at `first`.
    fn add_own(&mut self, first: usize, (i, k): (usize, u8), ids: &[u32]) {
        let Self { entries, own, owners, .. } = self;
        own.extend(entries[first..].iter().filter(|candidate| ids[candidate.index()] > ids[i]));
        owners.resize(own.len(), k);
    }

    // Renumbers the candidates after a change of order.
    fn renumber(&mut self, order: &Order) {
        let candidates = self.entries.iter_mut().chain(&mut self.own);
        candidates.for_each(|candidate| *candidate = candidate.renumbered(order));
    }

    // Appends the lists of a sphere as they were before, when it was the `from`-th of a block.
    fn keep(&mut self, before: &Self, from: usize, order: Option<&Order>) {
        let k = self.ends.len() as u8;
        let kept = |candidate: &Candidate| match order {
            Some(order) => candidate.renumbered(order),
            None => *candidate,
        };
        let entries = Self::start(&before.ends, from)..before.ends[from] as usize;
        self.entries.extend(before.entries[entries].iter().map(kept));
        self.ends.push(self.entries.len() as u32);
        let own = Self::start(&before.own_ends, from)..before.own_ends[from] as usize;
        self.own.extend(before.own[own].iter().map(kept));
        self.owners.resize(self.own.len(), k);
        self.own_ends.push(self.own.len() as u32);
        self.walls.push(before.walls[from]);
        self.features.extend_from_slice(&before.features[before.feature_range(from)]);
        self.feature_ends.push(self.features.len() as u32);
        self.driven.push(before.driven[from]);
    }

    // Impact counter of the k-th sphere and a partner of larger index, or a wall with `WALL` set; `planes` as in `Lists`.
    #[inline]
    fn hits_of(&self, k: usize, partner: u32, planes: u32) -> Option<&AtomicU8> {
        if partner & WALL != 0 {
            let wall = wall_of(partner) as u32;
            if wall < planes {
                return self.wall_hits.get(k)?.get(wall as usize);
            }
            let range = self.feature_range(k);
            let place = self.features[range.clone()].iter().position(|&feature| feature == wall - planes)?;
            return self.feature_hits.get(range.start + place);
        }
        let start = if k == 0 { 0 } else { self.ends[k - 1] as usize };
        let range = start..self.ends[k] as usize;
        let place = self.entries[range].iter().position(|entry| entry.index() == partner as usize)?;
        self.hits.get(start + place)
    }
}

/// Positions and radii by component, so that the data of four spheres are one load each. Transposing them during the
/// search took a quarter of its time.
#[derive(Default)]
struct Columns {
    place: [Vec<f32>; 4],
    /// Cells along x.
    cell_x: Vec<f32>,
}

impl Columns {
    // With `renewed`, the order of the spheres is that of the last call, and only these have moved since.
    fn fill(&mut self, state: &State, renewed: Option<&Bits>) {
        let count = state.len();
        let Self { place, cell_x } = self;
        // Extra elements, so that the last load of eight stays in bounds.
        place.iter_mut().chain([&mut *cell_x]).for_each(|column| column.resize(count + 8, 0.0));
        let [x, y, z, radius] = place.each_mut().map(|column| &mut column[..count]);
        if let Some(renewed) = renewed {
            return renewed.for_members(0..count, |i| {
                [x[i], y[i], z[i], radius[i]] = state.place[i].to_array();
                cell_x[i] = state.cell[i].x as f32;
            });
        }
        let columns = (x, y, z, radius, &mut cell_x[..count]);
        (columns, &state.place, &state.cell).into_par_iter().with_min_len(TASK).for_each(
            |((x, y, z, radius, cell_x), place, cell)| {
                [*x, *y, *z, *radius] = place.to_array();
                *cell_x = cell.x as f32;
            },
        );
    }

    // Positions and radii.
    fn each(&self) -> [&[f32]; 4] {
        self.place.each_ref().map(Vec::as_slice)
    }

    #[cfg(target_arch = "x86_64")]
    fn cell_x(&self) -> &[f32] {
        &self.cell_x
    }

    fn bytes(&self) -> usize {
        self.place.iter().chain([&self.cell_x]).map(|column| 4 * column.capacity()).sum()
    }
}

impl Lists {
    /// Candidates of sphere `i`.
    #[inline]
    pub fn of(&self, i: usize) -> &[Candidate] {
        let block = self.blocks.get(i / BLOCK);
        let k = i % BLOCK;
        let start = if k == 0 { 0 } else { block.ends[k - 1] };
        &block.entries[start as usize..block.ends[k] as usize]
    }

    /// Candidates of sphere `i` with a larger id, in their order: each pair once.
    #[inline]
    pub fn own(&self, i: usize) -> &[Candidate] {
        let (block, k) = (self.blocks.get(i / BLOCK), i % BLOCK);
        &block.own[Block::start(&block.own_ends, k)..block.own_ends[k] as usize]
    }

    /// Calls `visit` with the pairs that the spheres of a range own, four at a time, and the set of the lanes that hold a
    /// pair. The other lanes repeat one.
    #[inline(always)]
    pub fn for_fours(&self, range: Range<usize>, mut visit: impl FnMut(Four, u32)) {
        let mut i = range.start;
        while i < range.end {
            let (block, first) = (self.blocks.get(i / BLOCK), i / BLOCK * BLOCK);
            let end = range.end.min(first + BLOCK);
            let pairs = Block::start(&block.own_ends, i - first)..block.own_ends[end - 1 - first] as usize;
            let spheres = |[a, b, c, d]: [u8; LANES]| [a, b, c, d].map(|k| first + usize::from(k));
            let (fours, rest) = block.own[pairs.clone()].as_chunks();
            let (owners, rest_owners) = block.owners[pairs].as_chunks();
            for (candidates, &owners) in fours.iter().zip(owners) {
                visit(Four { spheres: spheres(owners), candidates }, 0xf);
            }
            if let (Some(&last), Some(&owner)) = (rest.last(), rest_owners.last()) {
                let (mut candidates, mut owners) = ([last; LANES], [owner; LANES]);
                candidates[..rest.len()].copy_from_slice(rest);
                owners[..rest.len()].copy_from_slice(rest_owners);
                visit(Four { spheres: spheres(owners), candidates: &candidates }, (1 << rest.len()) - 1);
            }
            i = end;
        }
    }

    /// Number of candidates in all lists.
    pub fn total(&self) -> usize {
        self.blocks.iter().map(|block| block.entries.len()).sum()
    }

    /// Length of the longest list of candidates.
    pub fn longest(&self) -> usize {
        self.longest
    }

    /// The planes that sphere `i` could meet, as bits.
    #[inline]
    pub fn walls(&self, i: usize) -> u32 {
        self.blocks.get(i / BLOCK).walls[i % BLOCK]
    }

    /// The spheres whose lists hold a plane or a wall feature.
    pub fn near_walls(&self) -> &Bits {
        &self.near_walls
    }

    /// The wall features that sphere `i` could meet.
    #[inline]
    pub fn features(&self, i: usize) -> &[u32] {
        let block = self.blocks.get(i / BLOCK);
        &block.features[block.feature_range(i % BLOCK)]
    }

    /// Whether a wall in reach of sphere `i` moves.
    #[inline]
    pub fn is_near_moving_wall(&self, i: usize) -> bool {
        self.blocks.get(i / BLOCK).driven[i % BLOCK]
    }

    /// Resets the impact counters.
    pub fn forget_hits(&mut self) {
        self.blocks.for_each(|block| {
            if !std::mem::take(block.was_hit.get_mut()) {
                return;
            }
            block.hits.clear();
            block.hits.resize_with(block.entries.len(), AtomicU8::default);
            block.wall_hits.clear();
            block.wall_hits.resize_with(block.walls.len(), Default::default);
            block.feature_hits.clear();
            block.feature_hits.resize_with(block.features.len(), AtomicU8::default);
        });
    }

    // Impact counter of sphere `i` and a partner: another sphere, or a wall with `WALL` set. `None` for pairs that are only
    // dynamic candidates.
    #[inline]
    fn hits_of(&self, i: usize, partner: u32) -> Option<(&Block, &AtomicU8)> {
        let (i, partner) = if (partner as usize) < i { (partner as usize, i as u32) } else { (i, partner) };
        let block = self.blocks.get(i / BLOCK);
        block.hits_of(i % BLOCK, partner, self.planes).map(|hits| (block, hits))
    }

    /// Counts an impact and returns the number of impacts of this pair in the substep.
    pub fn hit(&self, i: usize, partner: u32) -> u8 {
        self.hits_of(i, partner).map_or(0, |(block, hits)| {
            // No other task handles impacts of this pair, so load and store cannot race.
            let count = hits.load(Relaxed).saturating_add(1);
            hits.store(count, Relaxed);
            block.was_hit.store(true, Relaxed);
            count
        })
    }

    /// Makes a pair a resting contact without an impact. False for pairs that are only dynamic candidates.
    pub fn convert(&self, i: usize, partner: u32) -> bool {
        // Both partners may convert their pair at the same time.
        let hits = self.hits_of(i, partner);
        hits.map(|(block, hits)| {
            block.was_hit.store(true, Relaxed);
            hits.fetch_max(MOST_HITS + 1, Relaxed)
        })
        .is_some()
    }

    /// Impacts of a sphere with a partner in the substep.
    #[inline]
    pub fn hits(&self, i: usize, partner: u32) -> u8 {
        self.hits_of(i, partner).map_or(0, |(_, hits)| hits.load(Relaxed))
    }

    pub fn bytes(&self) -> usize {
        let bytes = |b: &Block| {
            4 * (b.entries.capacity() + b.ends.capacity() + b.walls.capacity())
                + 4 * (b.own.capacity() + b.own_ends.capacity())
                + b.owners.capacity()
                + b.hits.capacity()
                + b.wall_hits.capacity()
                + 4 * (b.features.capacity() + b.feature_ends.capacity())
                + b.feature_hits.capacity()
                + b.driven.capacity()
        };
        let blocks = self.blocks.all().iter().chain(self.before.all().iter().flatten());
        blocks.map(bytes).sum::<usize>() + self.columns.bytes() + self.near_walls.bytes()
    }
}

/// Tells which lists of the last broad phase still hold.
#[derive(Clone, Copy)]
pub struct Kept<'a> {
    /// Spheres that have moved or can meet a sphere that has moved. The lists of the others stay.
    pub renewed: &'a Bits,
    /// Change of the order of the spheres.
    pub order: Option<&'a Order>,
}

impl Kept<'_> {
    // Previous index of a sphere.
    fn old_index(&self, i: usize) -> usize {
        self.order.map_or(i, |order| order.old_index(i))
    }

    // Whether lists of a block change, apart from the numbers of their candidates.
    fn changes(&self, mut spheres: Range<usize>) -> bool {
        self.renewed.has_any(spheres.clone())
            || self.order.is_some_and(|order| spheres.any(|i| order.old_index(i) != i))
    }
}

impl Lists {
    // Lays aside the blocks of spheres whose lists change, and renumbers the candidates of the others.
    fn lay_aside(&mut self, kept: Kept, count: usize) {
        let blocks = count.div_ceil(BLOCK);
        let (present, before) = (self.blocks.some(0..blocks), self.before.some_of_all(blocks));
        (present, before).into_par_iter().enumerate().for_each(|(k, (block, before))| {
            if kept.changes(k * BLOCK..count.min((k + 1) * BLOCK)) {
                swap(block, before.get_or_insert_default());
            } else {
                *before = None;
                kept.order.into_iter().for_each(|order| block.renumber(order));
            }
        });
    }
}

/// Finds the candidates of every sphere for paths up to the motion margin of `reach`, relative to the drift. `drift` is a
/// bound on the path of the drift until the next broad phase. Lists that were `kept` stay unless the paths are longer than
/// before. Returns whether they stay.
pub fn neighbors(
    grid: &Grid,
    world: &World,
    state: &State,
    starts: &[u32],
    (reach, drift): (Reach, f32),
    kept: Option<Kept>,
    lists: &mut Lists,
) -> bool {
    let made_for = lists.made_for;
    let kept = kept.filter(|_| made_for.0 == reach.motion_margin && made_for.1 >= drift);
    match kept {
        Some(kept) => lists.lay_aside(kept, state.len()),
        None => {
            lists.made_for = (reach.motion_margin, drift);
            lists.before = Outputs::default();
            lists.near_walls.reset(state.len());
        }
    }
    let Lists { blocks, before, columns, near_walls, planes, made_for, longest } = lists;
    *planes = world.walls.len() as u32;
    // With hashed parts, spheres are searched one by one and the columns are not needed.
    if grid.direct || grid.levels.parts == 1 {
        columns.fill(state, kept.filter(|kept| kept.order.is_none()).map(|kept| kept.renewed));
    }
    let (skin, path) = (2.0 * reach.motion_margin, reach.motion_margin + made_for.1);
    let search = Search { grid, world, state, starts, columns, skin, path };
    let before = before.all();
    blocks.run(state.len(), BLOCK, |range, block| {
        if kept.is_some() && before[range.start / BLOCK].is_none() {
            return;
        }
        *block.was_hit.get_mut() = true;
        block.clear();
        let mut line = Line::of_spheres(state, range.clone());
        match kept {
            Some(kept) => search.renew(range.clone(), kept, before, &mut line, block),
            None => {
                search.find(range.clone(), block);
                search.find_walls(range.clone(), &mut line, block);
            }
        }
        if world.has_walls() {
            let first = range.start;
            near_walls.assign(range.clone(), |i| block.is_near_wall(i - first));
        }
        let lengths = (0..block.ends.len()).map(|k| block.ends[k] as usize - Block::start(&block.ends, k));
        block.longest = lengths.max().unwrap_or(0);
    });
    *longest = blocks.iter().map(|block| block.longest).max().unwrap_or(0);
    kept.is_some()
}

/// The search of a broad phase.
struct Search<'a> {
    grid: &'a Grid,
    world: &'a World,
    state: &'a State,
    starts: &'a [u32],
    columns: &'a Columns,
    /// Twice the motion margin.
    skin: f32,
    /// Path towards walls: the motion margin and the path of the drift.
    path: f32,
}

/// The cells of a line along x.
struct Line {
    /// Largest radius of the spheres.
    radius: f32,
    /// y and z of the cells.
    of: Option<(i32, i32)>,
    /// x of the cells whose spheres reach no plane.
    clear: Range<i32>,
}

impl Line {
    fn of_spheres(state: &State, spheres: Range<usize>) -> Self {
        let radius = spheres.map(|i| state.radius(i)).fold(0.0, f32::max);
        Self { radius, of: None, clear: 0..0 }
    }

    // Whether a sphere in a cell surely reaches no plane.
    fn is_clear(&mut self, search: &Search, cell: IVec3) -> bool {
        if self.of != Some((cell.y, cell.z)) {
            (self.of, self.clear) = (Some((cell.y, cell.z)), search.clear_cells(cell, self.radius));
        }
        self.clear.contains(&cell.x)
    }
}

impl Search<'_> {
    // Whether the spheres can be found in lanes.
    fn has_lanes(&self) -> bool {
        #[cfg(target_arch = "x86_64")]
        return lanes::is_supported() && self.grid.levels.parts == 1;
        #[cfg(not(target_arch = "x86_64"))]
        false
    }

    // Lists the candidates of the spheres of a block.
    fn find(&self, range: Range<usize>, block: &mut Block) {
        #[cfg(target_arch = "x86_64")]
        if self.has_lanes() {
            let mut buffers = lanes::Buffers::default();
            for (k, i) in range.enumerate() {
                // SAFETY: `has_lanes` checks the processor and the grid.
                unsafe { self.find_in_lanes(i, k as u8, &mut buffers, block) };
            }
            return;
        }
        self.find_in_fours(range, block);
    }

    // `find` without lanes.
    fn find_in_fours(&self, range: Range<usize>, block: &mut Block) {
        let (mut rows, mut parts) = (Rows::default(), parts::Buffers::default());
        let first = range.start;
        for i in range {
            self.find_of(i, &mut rows, &mut parts, block);
        }
        block.list_own(&self.state.id, first);
    }

    // Lists the candidates of one sphere.
    fn find_of(&self, i: usize, rows: &mut Rows, parts: &mut parts::Buffers, block: &mut Block) {
        let finder = Finder::new(self.grid, self.state, i, self.skin);
        let columns = self.columns.each();
        if self.grid.levels.parts > 1 {
            finder.in_parts(self.starts, columns, parts, &mut block.entries);
        } else {
            rows.around(self.grid, self.starts, self.state.cell[i].truncate());
            finder.in_fours(&rows.rows[..rows.count], columns, &mut block.entries);
        }
        block.ends.push(block.entries.len() as u32);
    }

    // Keeps the lists of the spheres of a block that have not changed, and lists the candidates and walls of the others.
    fn renew(
        &self,
        range: Range<usize>,
        kept: Kept,
        before: &[Option<Block>],
        line: &mut Line,
        block: &mut Block,
    ) {
        #[cfg(target_arch = "x86_64")]
        let (has_lanes, mut buffers) = (self.has_lanes(), lanes::Buffers::default());
        let (mut rows, mut parts) = (Rows::default(), parts::Buffers::default());
        for (k, i) in range.enumerate() {
            let k = k as u8;
            if !kept.renewed.contains(i) {
                let from = kept.old_index(i);
                let before = before[from / BLOCK].as_ref().expect("a block whose spheres have changed");
                block.keep(before, from % BLOCK, kept.order);
                continue;
            }
            #[cfg(target_arch = "x86_64")]
            if has_lanes {
                // SAFETY: `has_lanes` checks the processor and the grid.
                unsafe { self.find_in_lanes(i, k, &mut buffers, block) };
                self.find_walls(i..i + 1, line, block);
                continue;
            }
            let first = block.entries.len();
            self.find_of(i, &mut rows, &mut parts, block);
            block.add_own(first, (i, k), &self.state.id);
            block.own_ends.push(block.own.len() as u32);
            self.find_walls(i..i + 1, line, block);
        }
    }

    // The cells of the line of `cell` along x whose spheres, of this radius or smaller, reach no plane. A tenth of a cell covers the
    // rounding of gaps up to [`NEAR_PLANE`].
    fn clear_cells(&self, cell: IVec3, radius: f32) -> Range<i32> {
        let Self { grid, world, .. } = *self;
        // The outermost cells hold the spheres beyond the faces too. All spheres of a flat world lie in one layer.
        let within = |axis: usize| match grid.count[axis] {
            count if count > 0 && !grid.periodic[axis] => 1..count - 1,
            _ => i32::MIN..i32::MAX,
        };
        if !within(1).contains(&cell.y) || (grid.layers > 0 && !within(2).contains(&cell.z)) {
            return 0..0;
        }
        let mut clear = within(0);
        let least = f64::from(self.path * 1.001 + world.slop + radius);
        for wall in &world.walls {
            let (normal, edge) = (wall.normal.as_dvec3(), grid.edge.as_dvec3());
            let way = cell - wall.cell;
            if way.y.unsigned_abs().max(way.z.unsigned_abs()) > NEAR_PLANE as u32 {
                return 0..0;
            }
            clear.start = clear.start.max(wall.cell.x.saturating_sub(NEAR_PLANE));
            clear.end = clear.end.min(wall.cell.x.saturating_add(NEAR_PLANE));
            let at_zero = (cell.with_x(0) - wall.cell).as_dvec3() * edge - wall.offset.as_dvec3();
            // The gap of a sphere in cell x is at least `room` plus x times `slope`: its offset is between 0 and the edge.
            let lowest = normal.min(DVec3::ZERO) - 0.1 * normal.abs();
            let room = normal.dot(at_zero) + lowest.dot(edge) - least;
            let slope = normal.x * edge.x;
            // Conversion to integers saturates.
            let end = -room / slope;
            if slope > 0.0 {
                clear.start = clear.start.max(end.ceil() as i32);
            } else if slope < 0.0 {
                clear.end = clear.end.min(end.floor() as i32);
            } else if room <= 0.0 {
                return 0..0;
            }
        }
        clear
    }

    // Lists the walls in reach of some spheres of a block.
    fn find_walls(&self, range: Range<usize>, line: &mut Line, block: &mut Block) {
        let Self { grid, world, state, path, .. } = *self;
        let Block { walls, features, feature_ends, driven, .. } = block;
        if !world.has_walls() {
            let count = walls.len() + range.len();
            walls.resize(count, 0);
            feature_ends.resize(count, 0);
            driven.resize(count, false);
            return;
        }
        for i in range {
            let is_clear = line.is_clear(self, state.cell[i].truncate());
            let planes = if is_clear { 0 } else { walls_in_reach(grid, world, state, i, path) };
            walls.push(planes);
            let first = features.len();
            features_in_reach(grid, world, state, i, path, features);
            feature_ends.push(features.len() as u32);
            let moves =
                |&feature: &u32| world.features.mover_of(world.features.all[feature as usize].wall).is_some();
            driven.push(planes & world.moving != 0 || features[first..].iter().any(moves));
        }
    }
}

/// Spheres of up to three cells side by side along x.
#[derive(Clone, Copy, Default)]
struct Row {
    /// First spheres of the left, the middle and the right cell, and the end of the row.
    starts: [u32; 4],
    /// Code and shift of the middle cell.
    code: i32,
    shift: Vec3,
    /// The middle cell; used with hashed buckets only.
    cell: IVec3,
}

/// The rows around a cell: nine, or one for each cell where x or the hashed buckets wrap around.
#[derive(Default)]
struct Rows {
    cell: Option<IVec3>,
    rows: [Row; CODES as usize],
    count: usize,
    /// If `rows` are those of a cell away from the faces of a direct grid: y and z of the cell.
    inner: Option<(i32, i32)>,
    /// First buckets of these rows.
    buckets: [usize; 9],
}

impl Rows {
    /// Finds the rows around `cell`. Spheres of one cell are consecutive, so most calls reuse the previous rows.
    fn around(&mut self, grid: &Grid, starts: &[u32], cell: IVec3) {
        if self.cell == Some(cell) {
            return;
        }
        self.cell = Some(cell);
        self.count = 0;
        let is_inner = |axis: usize| 0 < cell[axis] && cell[axis] < grid.count[axis] - 1;
        if grid.direct && is_inner(0) && is_inner(1) && is_inner(2) {
            return self.around_inner(grid, starts, cell);
        }
        self.inner = None;
        for dz in -grid.layers..=grid.layers {
            let Some(z) = grid.wrap(2, cell.z + dz) else { continue };
            for dy in -1..=1 {
                let Some(y) = grid.wrap(1, cell.y + dy) else { continue };
                let code = 9 * dz + 3 * dy + CODES as i32 / 2;
                let shift = grid.shift(IVec3::new(0, dy, dz));
                let row = grid.row(y, z);
                let bucket = |dx: i32| grid.wrap(0, cell.x + dx).map(|x| grid.bucket(row, x));
                let [left, middle, right] = [-1, 0, 1].map(bucket);
                let Some(middle) = middle else { continue };
                let mut add = |start: usize, (from, to): (usize, usize), end: usize| {
                    let (starts, cell) =
                        ([start, from, to, end].map(|k| starts[k]), IVec3::new(cell.x, y, z));
                    self.rows[self.count] = Row { starts, code, shift, cell };
                    self.count += usize::from(starts[0] < starts[3]);
                };
                let before = left.filter(|k| k + 1 == middle);
                let after = right.filter(|&k| k == middle + 1);
                let wraps = before != left || after != right;
                // Where x wraps, cells beyond the end come last in a direct grid, and in the order of x in a hashed
                // one. The order of candidates affects the bits of the result.
                if grid.direct || !wraps {
                    add(before.unwrap_or(middle), (middle, middle + 1), after.unwrap_or(middle) + 1);
                    left.filter(|_| before.is_none()).into_iter().for_each(|k| add(k, (k + 1, k + 1), k + 1));
                    right.filter(|_| after.is_none()).into_iter().for_each(|k| add(k, (k, k), k + 1));
                } else {
                    left.into_iter().for_each(|k| add(k, (k + 1, k + 1), k + 1));
                    add(middle, (middle, middle + 1), middle + 1);
                    right.into_iter().for_each(|k| add(k, (k, k), k + 1));
                }
            }
        }
    }

    // `around` for a cell away from the faces of a direct grid: nothing wraps, and the rows around cells side by side along x
    // differ only in their spheres.
    fn around_inner(&mut self, grid: &Grid, starts: &[u32], cell: IVec3) {
        if self.inner != Some((cell.y, cell.z)) {
            self.inner = Some((cell.y, cell.z));
            for (k, (row, bucket)) in (0..).zip(self.rows.iter_mut().zip(&mut self.buckets)) {
                let (dy, dz) = (k % 3 - 1, k / 3 - 1);
                row.code = 9 * dz + 3 * dy + CODES as i32 / 2;
                row.shift = grid.shift(IVec3::new(0, dy, dz));
                *bucket = grid.row(cell.y + dy, cell.z + dz) as usize;
            }
        }
        self.count = self.buckets.len();
        for (row, bucket) in self.rows.iter_mut().zip(self.buckets) {
            let left = bucket + cell.x as usize - 1;
            row.starts.copy_from_slice(&starts[left..left + 4]);
        }
    }
}

/// Finds the candidates of one sphere.
struct Finder<'a> {
    grid: &'a Grid,
    state: &'a State,
    i: usize,
    offset: Vec3,
    radius: f32,
    fixed: bool,
    skin: f32,
}

impl<'a> Finder<'a> {
    fn new(grid: &'a Grid, state: &'a State, i: usize, skin: f32) -> Self {
        let (offset, radius) = (state.offset(i), state.radius(i));
        Self { grid, state, i, offset, radius, fixed: state.inverse_mass(i) == 0.0, skin }
    }

    fn push(&self, j: usize, code: i32, entries: &mut Vec<Candidate>) {
        if j != self.i && !(self.fixed && self.state.inverse_mass(j) == 0.0) {
            entries.push(Candidate::new(code as u32, j));
        }
    }

    /// Tests four spheres at a time, because a row holds two or three. One word collects the results of up to sixteen
    /// groups: with a loop for each row, mispredicted branches took most of the time.
    fn in_fours(&self, rows: &[Row], columns: [&[f32]; 4], entries: &mut Vec<Candidate>) {
        let lanes = Vec4::new(0.0, 1.0, 2.0, 3.0);
        let [xs, ys, zs, radii] = columns;
        let (mut fours, mut count, mut hits) = ([(0u32, 0u32); 16], 0, 0u64);
        for (place, row) in rows.iter().enumerate() {
            let [start, middle, right, end] = row.starts.map(|start| start as usize);
            let (middle, right) = ((middle - start) as f32, (right - start) as f32);
            let mut first = start;
            while first < end {
                // Past the end of the row the load reads other spheres, which are masked below.
                let four = |values: &[f32]| Vec4::from_slice(&values[first..first + 4]);
                let index = Vec4::splat((first - start) as f32) + lanes;
                // -1, 0, 1 for the left, the middle and the right cell.
                let side = Vec4::select(index.cmpge(Vec4::splat(right)), Vec4::ONE, Vec4::ZERO)
                    - Vec4::select(index.cmplt(Vec4::splat(middle)), Vec4::ONE, Vec4::ZERO);
                let x = (self.offset.x - four(xs)) - side * self.grid.edge.x;
                let y = (self.offset.y - four(ys)) - row.shift.y;
                let z = (self.offset.z - four(zs)) - row.shift.z;
                let reach = (self.radius + four(radii)) + self.skin;
                let near = (x * x + y * y + z * z).cmple(reach * reach);
                let own = self.i.wrapping_sub(first);
                let others = (0xf >> (4 - (end - first).min(4))) & !(u32::from(own < 4) << (own & 3));
                hits |= u64::from(near.bitmask() & others) << (4 * count);
                fours[count] = (first as u32, place as u32);
                count += 1;
                if count == fours.len() {
                    self.push_hits(hits, &fours, rows, entries);
                    (count, hits) = (0, 0);
                }
                first += 4;
            }
        }
        self.push_hits(hits, &fours, rows, entries);
    }

    // Stores the spheres found; `fours` holds the first sphere and the row of each group of four.
    fn push_hits(&self, mut hits: u64, fours: &[(u32, u32)], rows: &[Row], entries: &mut Vec<Candidate>) {
        while hits != 0 {
            let bit = hits.trailing_zeros();
            hits &= hits - 1;
            let (first, row) = fours[bit as usize / 4];
            self.push_hit(first + bit % 4, &rows[row as usize], entries);
        }
    }

    // Stores sphere `j` of a row.
    #[inline]
    fn push_hit(&self, j: u32, row: &Row, entries: &mut Vec<Candidate>) {
        let side = i32::from(j >= row.starts[2]) - i32::from(j < row.starts[1]);
        if self.grid.direct || self.is_in(j as usize, row.cell, side) {
            self.push(j as usize, row.code + side, entries);
        }
    }

    /// Whether sphere `j` is in the cell on that side of the middle one. Several cells may share a hashed bucket.
    fn is_in(&self, j: usize, middle: IVec3, side: i32) -> bool {
        let x = self.grid.wrap(0, middle.x + side);
        x.is_some_and(|x| self.state.cell[j].truncate() == IVec3::new(x, middle.y, middle.z))
    }
}

fn walls_in_reach(grid: &Grid, world: &World, state: &State, i: usize, path: f32) -> u32 {
    let mut set = 0;
    for (k, wall) in world.walls.iter().enumerate() {
        let gap = wall.normal.dot(super::sweep::from_wall(grid, state.columns(), wall, i)) - state.radius(i);
        // A margin of one thousandth, because the gap of an oblique plane is rounded.
        if gap <= path * 1.001 + world.slop {
            set |= wall_bit(k);
        }
    }
    set
}

/// Appends the wall features within a path of this length from a sphere, with the walls at the start of the substep.
fn features_in_reach(grid: &Grid, world: &World, state: &State, i: usize, path: f32, found: &mut Vec<u32>) {
    let features = &world.features;
    if features.is_empty() || state.inverse_mass(i) == 0.0 {
        return;
    }
    let (cell, offset, radius) = (state.cell[i].truncate(), state.offset(i), state.radius(i));
    let at = Instant { cell, offset, velocity: Vec3::ZERO, radius, t: 0.0 };
    for set in &features.sets {
        let x = match set.mover {
            None => grid.shift(cell - set.cell) + (offset - set.offset),
            Some(mover) => {
                let mover = &features.movers[mover as usize];
                let r = mover.arm(grid, cell, offset, 0.0);
                if set.turns { mover.turn.transpose() * r } else { r }
            }
        };
        // The same margin as for planes.
        let reach = radius + path * 1.001 + world.slop;
        set.tree.visit(x - reach, x + reach, |k| {
            let feature = &features.all[k as usize];
            let x = features.sight(grid, feature, &at, Vec3::ZERO).x;
            if !feature.shape.is_beyond(x, reach) && features.near(feature, x).distance <= reach {
                found.push(k);
            }
        });
    }
}
