//! Dynamic candidates, for spheres too fast for the candidate lists. A traversal visits the cells of the capsule that a
//! fast sphere sweeps, and the sphere becomes a dynamic candidate of the spheres in these cells. If an impact makes a
//! sphere fast, its traversal follows in the same round.

use crate::state::constants::{LONGEST, PASSING};
use glam::{IVec3, Vec3};

use rustc_hash::FxHashSet;

use crate::{
    Error,
    cpu::{bits::Bits, event::View, sweep},
    state::{columns::State, frame::Frame, grid::Grid},
};

/// End of a chain.
pub const END: u32 = u32::MAX;

/// An additional candidate of a sphere.
#[derive(Clone, Copy, Debug)]
pub struct DynamicCandidate {
    pub other: u32,
    pub next: u32,
    /// Cells from the sphere's cell to the cell of the other sphere's image.
    pub cells: IVec3,
}

/// A cell on the path of a fast sphere.
#[derive(Clone, Copy)]
pub struct Visit {
    pub sphere: u32,
    pub next: u32,
    /// The cell in the sphere's coordinates, before wrapping.
    pub cell: IVec3,
}

/// Dynamic candidates, as a linked list for each sphere.
#[derive(Default)]
pub struct DynamicCandidates {
    pub head: Vec<u32>,
    pub pool: Vec<DynamicCandidate>,
    changed: Vec<u32>,
    pub visit_head: Vec<u32>,
    pub visits: Vec<Visit>,
    visited: Vec<u32>,
    fast: Bits,
    walked: Bits,
    /// First visit of each sphere's present path.
    pub latest_walk: Vec<u32>,
    /// Fast spheres already compared with the sphere whose traversal is being entered.
    met: FxHashSet<(u32, IVec3)>,
    any: bool,
    /// Number of calls of [`clear`](Self::clear) since most of the memory was needed.
    calm: u32,
}

/// Number of substeps after which memory for fast spheres that was not needed is given back.
pub const CALM_SUBSTEPS: u32 = 32;

/// The same in calls of [`clear`](DynamicCandidates::clear): a substep with a broad phase calls it twice, any other once.
const CALM: u32 = 2 * CALM_SUBSTEPS;

/// Number of entries for which memory is kept.
const ROOM: usize = 256;

// Whether an array has room for more than four times its entries.
fn has_spare<T>(array: &Vec<T>) -> bool {
    array.capacity() > 4 * (array.len() + ROOM)
}

impl DynamicCandidates {
    /// Resizes the tables for the given numbers of spheres and buckets, and empties them.
    pub fn reset(&mut self, spheres: usize, buckets: usize) {
        self.head.clear();
        self.head.resize(spheres, END);
        self.visit_head.clear();
        self.visit_head.resize(buckets, END);
        self.fast.reset(spheres);
        self.walked.reset(spheres);
        self.pool.clear();
        self.changed.clear();
        self.visits.clear();
        self.visited.clear();
        self.any = false;
    }

    /// Removes the entries of the last substep. Memory for many more entries is given back if it was not needed for a while: when a bed lands,
    /// a quarter of its spheres may be fast once.
    pub fn clear(&mut self) {
        self.calm = if has_spare(&self.pool) || has_spare(&self.visits) { self.calm + 1 } else { 0 };
        if self.any {
            self.changed.drain(..).for_each(|i| self.head[i as usize] = END);
            self.visited.drain(..).for_each(|k| self.visit_head[k as usize] = END);
            self.pool.clear();
            self.visits.clear();
            self.fast.reset(self.head.len());
            self.walked.reset(self.head.len());
            self.any = false;
        }
        if self.calm == CALM {
            self.calm = 0;
            self.changed.shrink_to(ROOM);
            self.visited.shrink_to(ROOM);
            self.pool.shrink_to(ROOM);
            self.visits.shrink_to(ROOM);
        }
    }

    /// Dynamic candidates of a sphere, each with its index.
    #[inline]
    pub fn of(&self, i: usize) -> impl Iterator<Item = (u32, &DynamicCandidate)> {
        let mut next = if self.any { self.head[i] } else { END };
        std::iter::from_fn(move || {
            let place = next;
            (place != END).then(|| {
                let dynamic = &self.pool[place as usize];
                next = dynamic.next;
                (place, dynamic)
            })
        })
    }

    /// Spheres that have dynamic candidates, in no order.
    pub fn spheres(&self) -> &[u32] {
        &self.changed
    }

    pub fn get(&self, place: u32) -> &DynamicCandidate {
        &self.pool[place as usize]
    }

    /// The fast spheres, if there are any dynamic candidates.
    pub fn fast(&self) -> Option<&Bits> {
        self.any.then_some(&self.fast)
    }

    #[inline]
    pub fn is_fast(&self, i: usize) -> bool {
        self.any && self.fast.contains(i)
    }

    pub fn bytes(&self) -> usize {
        4 * (self.head.capacity()
            + self.visit_head.capacity()
            + self.changed.capacity()
            + self.latest_walk.capacity())
            + size_of::<DynamicCandidate>() * self.pool.capacity()
            + size_of::<Visit>() * self.visits.capacity()
            + 4 * self.visited.capacity()
            + 2 * self.fast.bytes()
    }

    /// Number of fast spheres in this substep.
    pub fn fast_count(&self) -> u64 {
        if self.any { self.fast.count() } else { 0 }
    }

    /// Whether fast spheres have so many candidates and cells, by a factor, that shorter substeps are faster: the causality check
    /// visits the candidates of candidates.
    pub fn is_crowded_by(&self, factor: usize) -> bool {
        let spheres = self.head.len();
        self.pool.len() > factor * (2 * spheres + 4096) || self.visits.len() > factor * (8 * spheres + 65_536)
    }

    /// Marks spheres as fast before their capsules are traversed, so that pairs of fast spheres are found by their capsules.
    pub fn mark(&mut self, spheres: &[u32]) {
        self.any |= !spheres.is_empty();
        if self.any {
            self.latest_walk.resize(self.head.len(), 0);
        }
        spheres.iter().for_each(|&i| self.fast.insert(i as usize));
    }

    fn enter(&mut self, i: usize, other: usize, cells: IVec3) {
        for (i, other, cells) in [(i, other, cells), (other, i, -cells)] {
            if self.head[i] == END {
                self.changed.push(i as u32);
            }
            self.pool.push(DynamicCandidate { other: other as u32, next: self.head[i], cells });
            self.head[i] = self.pool.len() as u32 - 1;
        }
    }

    fn knows(&self, i: usize, other: usize, cells: IVec3) -> bool {
        self.of(i).any(|(_, e)| e.other == other as u32 && e.cells == cells)
    }
}

/// Reach of the broad phase, as traversals need it.
#[derive(Clone, Copy)]
pub struct Reach {
    /// Largest radius of all spheres.
    pub radius_max: f32,
    /// Motion margin of the spheres that are not fast.
    pub motion_margin: f32,
}

/// Result of a traversal; reused to keep its buffers.
#[derive(Default)]
pub struct Walk {
    /// Fast sphere, slow sphere, cells to the image of the slow one.
    pub found: Vec<(u32, u32, IVec3)>,
    /// Fast sphere, cell in its coordinates, bucket of the cell.
    cells: Vec<(u32, IVec3, u32)>,
    error: Option<Error>,
}

impl Walk {
    pub fn clear(&mut self) {
        self.found.clear();
        self.cells.clear();
        self.error = None;
    }

    pub fn bytes(&self) -> usize {
        size_of::<(u32, u32, IVec3)>() * (self.found.capacity() + self.cells.capacity())
    }

    /// The error of a capsule longer than about a million cells.
    pub fn error(&self) -> Option<&Error> {
        self.error.as_ref()
    }

    /// Traverses the capsule of sphere `i` from its clock to the end of the substep and collects the slow spheres that
    /// it may meet.
    pub fn run(&mut self, view: &View, starts: &[u32], reach: Reach, i: usize) {
        let capsule = Capsule::new(view, reach, i);
        let (grid, home) = (view.grid, view.cell(i));
        let long =
            capsule.for_cells(grid, home, capsule.reach, |cell| self.look(view, starts, &capsule, i, cell));
        if let Err(cells) = long {
            self.error = Some(Error::NoProgress(format!(
                "sphere {} passes {cells} cells in one substep; choose a smaller dt",
                view.state.id[i]
            )));
            return;
        }
        // Two fast spheres that touch share a cell that both capsules cover at their own width.
        let _ = capsule.for_cells(grid, home, capsule.own, |cell| {
            if let Some(wrapped) = wrap(grid, cell) {
                let bucket = grid.bucket(grid.row(wrapped.y, wrapped.z), wrapped.x);
                self.cells.push((i as u32, cell, bucket as u32));
            }
        });
    }

    fn look(&mut self, view: &View, starts: &[u32], capsule: &Capsule, i: usize, cell: IVec3) {
        let (grid, state, frame) = (view.grid, view.state, &view.frame);
        let Some(wrapped) = wrap(grid, cell) else { return };
        let bucket = grid.bucket(grid.row(wrapped.y, wrapped.z), wrapped.x);
        let image = cell - view.cell(i);
        for j in grid.range(starts, bucket) {
            let j = j as usize;
            if state.cell[j].truncate() != wrapped || view.dynamic_candidates.is_fast(j) {
                continue;
            }
            let drifted = frame.drifted + frame.drift * view.clock[j];
            let place = state.offset(j) - drifted + grid.shift(image);
            if distance_to_segment(place, capsule.begin, capsule.along) <= capsule.wide + state.radius(j) {
                self.found.push((i as u32, j as u32, image));
            }
        }
    }
}

/// The path of a fast sphere relative to the drift. In this frame a slow sphere stays within its motion margin of its
/// position at the broad phase.
struct Capsule {
    begin: Vec3,
    along: Vec3,
    /// Largest distance from the path to the home cell of a slow sphere that the fast one can touch.
    reach: f32,
    /// Largest distance from the path to the present surface of such a slow sphere.
    wide: f32,
    /// This sphere's part of the distance at which two fast spheres become candidates.
    own: f32,
}

impl Capsule {
    fn new(view: &View, reach: Reach, i: usize) -> Self {
        let (state, frame) = (view.state, &view.frame);
        let t = view.clock[i];
        let bend =
            if state.inverse_mass(i) > 0.0 { 0.0 } else { 0.5 * frame.gravity.length() * frame.h * frame.h };
        let radius = state.radius(i) + bend;
        Self {
            begin: state.offset(i) - (frame.drifted + frame.drift * t),
            along: (state.velocity(i) - frame.drift) * (frame.h - t),
            reach: radius + reach.radius_max + reach.motion_margin,
            wide: radius + 2.0 * reach.motion_margin,
            own: PASSING * radius,
        }
    }

    /// Calls `visit` once for every cell within `reach` of the path, slab by slab along its main axis.
    ///
    /// # Errors
    /// The number of slabs, if there are too many.
    fn for_cells(
        &self,
        grid: &Grid,
        home: IVec3,
        reach: f32,
        mut visit: impl FnMut(IVec3),
    ) -> Result<(), i32> {
        let main = self.along.abs().max_position();
        let range = |axis: usize, s0: f32, s1: f32| {
            let (p, q) = (self.begin[axis] + self.along[axis] * s0, self.begin[axis] + self.along[axis] * s1);
            let (low, high) = span(p, q, reach, grid.edge[axis]);
            hold(grid, axis, low + home[axis], high + home[axis])
        };
        let (low, high) = range(main, 0.0, 1.0);
        if high - low > LONGEST {
            return Err(high - low);
        }
        let (second, third) = ((main + 1) % 3, (main + 2) % 3);
        for a in low..=high {
            // The part of the path that can touch this slab of cells. The outermost slabs are unbounded outwards.
            let edge = grid.edge[main];
            let left = (a - home[main]) as f32 * edge - reach;
            let right = (a - home[main] + 1) as f32 * edge + reach;
            let from = if a == low { f32::NEG_INFINITY } else { left };
            let to = if a == high { f32::INFINITY } else { right };
            let (s0, s1) = clip(self.begin[main], self.along[main], from, to);
            let (b0, b1) = range(second, s0, s1);
            let (c0, c1) = range(third, s0, s1);
            for b in b0..=b1 {
                for c in c0..=c1 {
                    let mut cell = IVec3::ZERO;
                    cell[main] = a;
                    cell[second] = b;
                    cell[third] = c;
                    visit(cell);
                }
            }
        }
        Ok(())
    }
}

impl DynamicCandidates {
    /// Enters the result of a traversal, and the pairs of fast spheres whose capsules share a cell.
    pub fn enter_walk(&mut self, walk: &Walk, lines: Lines) {
        let grid = lines.grid;
        let cell_of = |i: u32| lines.state.cell[i as usize].truncate();
        for &(i, j, cells) in &walk.found {
            // An earlier traversal of this sphere in the substep may have entered the pair already.
            if !self.walked.contains(i as usize) || !self.knows(i as usize, j as usize, cells) {
                self.enter(i as usize, j as usize, cells);
            }
        }
        let mut walker = u32::MAX;
        for &(i, cell, bucket) in &walk.cells {
            if i != walker {
                walker = i;
                self.met.clear();
                self.walked.insert(i as usize);
                self.latest_walk[i as usize] = self.visits.len() as u32;
            }
            let wrapped = wrap(grid, cell);
            let (mut next, mut before) = (self.visit_head[bucket as usize], END);
            while next != END {
                let visit = self.visits[next as usize];
                let stale = next < self.latest_walk[visit.sphere as usize];
                let place = std::mem::replace(&mut next, visit.next);
                if stale {
                    // The sphere has left that path: unlink the visit.
                    match before {
                        END => self.visit_head[bucket as usize] = next,
                        before => self.visits[before as usize].next = next,
                    }
                    continue;
                }
                before = place;
                // A sphere never approaches its own images; a visit with the same hash may be in another cell.
                if visit.sphere == i || wrap(grid, visit.cell) != wrapped {
                    continue;
                }
                let cells = cell_of(visit.sphere) + (cell - visit.cell) - cell_of(i);
                if self.met.insert((visit.sphere, cells))
                    && lines.pass(i as usize, visit.sphere as usize, grid.shift(cells))
                    && !self.knows(i as usize, visit.sphere as usize, cells)
                {
                    self.enter(i as usize, visit.sphere as usize, cells);
                }
            }
            let head = &mut self.visit_head[bucket as usize];
            self.visited.push(bucket);
            self.visits.push(Visit { sphere: i, next: *head, cell });
            *head = self.visits.len() as u32 - 1;
        }
    }
}

fn wrap(grid: &Grid, cell: IVec3) -> Option<IVec3> {
    Some(IVec3::new(grid.wrap(0, cell.x)?, grid.wrap(1, cell.y)?, grid.wrap(2, cell.z)?))
}

/// The present paths of the spheres.
#[derive(Clone, Copy)]
pub struct Lines<'a> {
    pub grid: &'a Grid,
    pub state: &'a State,
    pub clock: &'a [f32],
    pub frame: Frame,
}

impl Lines<'_> {
    /// Whether two fast spheres pass close to each other.
    fn pass(&self, i: usize, k: usize, shift: Vec3) -> bool {
        let (state, clock) = (self.state, self.clock);
        let now = clock[i].max(clock[k]);
        let at = |i: usize| state.offset(i) + state.velocity(i) * (now - clock[i]);
        let d = (at(i) - at(k)) - shift;
        let w = state.velocity(i) - state.velocity(k);
        let bend = if state.inverse_mass(i) > 0.0 && state.inverse_mass(k) > 0.0 {
            0.0
        } else {
            self.frame.gravity.length() * self.frame.h * self.frame.h
        };
        let wide = PASSING * (state.radius(i) + state.radius(k)) + bend;
        d.length_squared() <= wide * wide
            || sweep::first_contact(d, w, wide).is_some_and(|(t, _)| now + t <= self.frame.h)
    }
}

// Range of cells, relative to the home cell, covered by an interval widened on both sides.
fn span(p: f32, q: f32, widen: f32, edge: f32) -> (i32, i32) {
    let low = (p.min(q) - widen) / edge;
    let high = (p.max(q) + widen) / edge;
    let limit = (1 << 26) as f32;
    (low.floor().clamp(-limit, limit) as i32, high.floor().clamp(-limit, limit) as i32)
}

// Clamps cells to the grid on bounded axes that are not periodic.
fn hold(grid: &Grid, axis: usize, low: i32, high: i32) -> (i32, i32) {
    if grid.periodic[axis] || grid.count[axis] == 0 {
        (low, high)
    } else {
        let last = grid.count[axis] - 1;
        (low.clamp(0, last), high.clamp(0, last))
    }
}

// Part of the path p + s*along, s in 0..=1, between two bounds.
fn clip(p: f32, along: f32, from: f32, to: f32) -> (f32, f32) {
    if along == 0.0 {
        return (0.0, 1.0);
    }
    let (a, b) = ((from - p) / along, (to - p) / along);
    (a.min(b).clamp(0.0, 1.0), a.max(b).clamp(0.0, 1.0))
}

fn distance_to_segment(point: Vec3, begin: Vec3, along: Vec3) -> f32 {
    let length = along.length_squared();
    let s = if length > 0.0 { ((point - begin).dot(along) / length).clamp(0.0, 1.0) } else { 0.0 };
    (point - begin - along * s).length()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_for_many_fast_spheres_is_given_back() {
        let mut dynamic = DynamicCandidates::default();
        dynamic.reset(10_000, 4);
        dynamic.mark(&[0]);
        let without = dynamic.bytes();
        let mut enter = |count: usize| {
            dynamic.mark(&[0]);
            (1..=count).for_each(|i| dynamic.enter(0, i, IVec3::ZERO));
            for k in 0..count as u32 {
                dynamic.visits.push(Visit { sphere: 0, next: END, cell: IVec3::ZERO });
                dynamic.visited.push(k % 4);
            }
            dynamic.clear();
            assert!(dynamic.spheres().is_empty() && dynamic.fast_count() == 0 && !dynamic.is_crowded_by(0));
            assert!((0..10_000).all(|i| dynamic.of(i).next().is_none()));
            dynamic.clear();
            dynamic.bytes()
        };
        let many = enter(9000);
        let entry = size_of::<DynamicCandidate>() + size_of::<Visit>();
        assert!(many > without + 9000 * entry, "{many} {without}");
        for count in [9000, 10, 9000, 10, 9000] {
            assert_eq!(many, enter(count), "substeps that change keep their memory");
        }
        for _ in 0..CALM {
            enter(10);
        }
        let few = enter(10);
        assert!(few < without + 1000 * entry, "{few} {without}");
    }
}
