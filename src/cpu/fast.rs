//! Spheres too fast for the candidate lists: each walks the cells of its swept capsule and enters itself with the
//! spheres there. A sphere that an impact makes fast does so at once, in the round of the impact.

use glam::{IVec3, Vec3};

use super::{bits::Bits, event::View, grid::Grid, sweep};
use crate::Error;

/// End of a chain.
const END: u32 = u32::MAX;

/// Longest capsule, in cells along its main axis: above, a step is refused rather than walked for minutes.
const LONGEST: i32 = 1 << 20;

/// Fast pairs are entered if they pass each other within this many radius sums: wide enough for the guard to see a
/// third sphere that a jolt would bring in.
const PASSING: f32 = 1.5;

/// One more candidate of a sphere.
#[derive(Clone, Copy, Debug)]
pub struct Extra {
    pub other: u32,
    next: u32,
    /// Cells from the sphere's cell to that of the other's image.
    pub cells: IVec3,
}

/// A fast sphere passes a cell.
#[derive(Clone, Copy)]
struct Visit {
    sphere: u32,
    next: u32,
    /// The cell as the sphere sees it, before wrapping.
    cell: IVec3,
}

/// Candidates that fast spheres bring, chained per sphere.
#[derive(Default)]
pub struct Extras {
    head: Vec<u32>,
    pool: Vec<Extra>,
    changed: Vec<u32>,
    visit_head: Vec<u32>,
    visits: Vec<Visit>,
    visited: Vec<u32>,
    fast: Bits,
    any: bool,
}

impl Extras {
    /// Makes room for as many spheres and buckets, and forgets all.
    pub fn reset(&mut self, spheres: usize, buckets: usize) {
        self.head.clear();
        self.head.resize(spheres, END);
        self.visit_head.clear();
        self.visit_head.resize(buckets, END);
        self.fast.reset(spheres);
        self.pool.clear();
        self.changed.clear();
        self.visits.clear();
        self.visited.clear();
        self.any = false;
    }

    /// Forgets what the last substep entered.
    pub fn clear(&mut self) {
        if self.any {
            self.changed.drain(..).for_each(|i| self.head[i as usize] = END);
            self.visited.drain(..).for_each(|k| self.visit_head[k as usize] = END);
            self.pool.clear();
            self.visits.clear();
            self.fast.reset(self.head.len());
            self.any = false;
        }
    }

    /// The extra candidates of a sphere, each with its place.
    #[inline]
    pub fn of(&self, i: usize) -> impl Iterator<Item = (u32, &Extra)> {
        let mut next = if self.any { self.head[i] } else { END };
        std::iter::from_fn(move || {
            let place = next;
            (place != END).then(|| {
                let extra = &self.pool[place as usize];
                next = extra.next;
                (place, extra)
            })
        })
    }

    pub fn get(&self, place: u32) -> &Extra {
        &self.pool[place as usize]
    }

    #[inline]
    pub fn is_fast(&self, i: usize) -> bool {
        self.any && self.fast.contains(i)
    }

    pub fn bytes(&self) -> usize {
        4 * (self.head.capacity() + self.visit_head.capacity() + self.changed.capacity())
            + size_of::<Extra>() * self.pool.capacity()
            + size_of::<Visit>() * self.visits.capacity()
            + 4 * self.visited.capacity()
            + self.fast.bytes()
    }

    /// How many spheres are fast in this substep.
    pub fn fast_count(&self) -> u64 {
        if self.any { self.fast.count() } else { 0 }
    }

    /// Marks spheres as fast before their capsules are walked, so that each pair of them is found by its capsules.
    pub fn mark(&mut self, spheres: &[u32]) {
        self.any |= !spheres.is_empty();
        spheres.iter().for_each(|&i| self.fast.insert(i as usize));
    }

    fn enter(&mut self, i: usize, other: usize, cells: IVec3) {
        for (i, other, cells) in [(i, other, cells), (other, i, -cells)] {
            if self.head[i] == END {
                self.changed.push(i as u32);
            }
            self.pool.push(Extra { other: other as u32, next: self.head[i], cells });
            self.head[i] = self.pool.len() as u32 - 1;
        }
    }

    fn knows(&self, i: usize, other: usize, cells: IVec3) -> bool {
        self.of(i).any(|(_, e)| e.other == other as u32 && e.cells == cells)
    }
}

/// What a walk needs to know of the broad phase.
#[derive(Clone, Copy)]
pub struct Reach {
    /// Largest radius of all spheres.
    pub radius_max: f32,
    /// Path budget of the spheres that are not fast.
    pub budget: f32,
}

/// A pair found by a walk.
struct Found {
    other: usize,
    cells: IVec3,
}

/// Walks the capsule of sphere `i` from its clock to the end of the substep and enters all it may meet there.
///
/// # Errors
/// [`Error::NoProgress`] for a capsule longer than about a million cells.
pub fn walk(view: &View, starts: &[u32], reach: Reach, i: usize, plan: &mut Walk) -> Result<(), Error> {
    let (grid, state, frame) = (view.grid, view.state, &view.frame);
    let t = view.clock[i];
    // In the frame of the drift the slow spheres stay within their budget of where they were binned.
    let begin = state.offset(i) - (frame.drifted + frame.drift * t);
    let moving = state.inverse_mass(i) > 0.0;
    let along = (state.velocity(i) - frame.drift) * (frame.h - t);
    let bend = if moving { 0.0 } else { 0.5 * frame.gravity.length() * frame.h * frame.h };
    let radius = state.radius(i) + bend;
    let reach_cells = radius + reach.radius_max + 2.0 * reach.budget;
    let home = view.cell(i);
    plan.clear();

    let main = along.abs().max_position();
    let (low, high) = span(begin[main], begin[main] + along[main], reach_cells, grid.edge[main]);
    let (low, high) = hold(grid, main, low + home[main], high + home[main]);
    if high - low > LONGEST {
        return Err(Error::NoProgress(format!(
            "sphere {} passes {} cells in one substep; choose a smaller dt",
            state.id[i],
            high - low
        )));
    }
    let (second, third) = ((main + 1) % 3, (main + 2) % 3);
    for a in low..=high {
        // The part of the line that can touch this slab of cells. The outermost slabs hold what is beyond them.
        let edge = grid.edge[main];
        let from = if a == low { f32::NEG_INFINITY } else { (a - home[main]) as f32 * edge - reach_cells };
        let to = if a == high { f32::INFINITY } else { (a - home[main] + 1) as f32 * edge + reach_cells };
        let (s0, s1) = clip(begin[main], along[main], from, to);
        let range = |axis: usize| {
            let (p, q) = (begin[axis] + along[axis] * s0, begin[axis] + along[axis] * s1);
            let (low, high) = span(p, q, reach_cells, grid.edge[axis]);
            hold(grid, axis, low + home[axis], high + home[axis])
        };
        let (b0, b1) = range(second);
        let (c0, c1) = range(third);
        for b in b0..=b1 {
            for c in c0..=c1 {
                let mut cell = IVec3::ZERO;
                cell[main] = a;
                cell[second] = b;
                cell[third] = c;
                visit(view, starts, i, cell, begin, along, radius + 2.0 * reach.budget, plan);
            }
        }
    }
    Ok(())
}

/// What a walk found; kept between walks for its buffers.
#[derive(Default)]
pub struct Walk {
    found: Vec<Found>,
    cells: Vec<(IVec3, u32)>,
}

impl Walk {
    fn clear(&mut self) {
        self.found.clear();
        self.cells.clear();
    }

    /// Enters the pairs and the cells of sphere `i` in `extras`.
    pub fn enter(&self, extras: &mut Extras, i: usize) {
        // Only a sphere that walked before in this substep, or two fast ones, can have met already.
        for found in &self.found {
            let double = extras.is_fast(found.other) || extras.head[i] != END;
            if !double || !extras.knows(i, found.other, found.cells) {
                extras.enter(i, found.other, found.cells);
            }
        }
        for &(cell, bucket) in &self.cells {
            let head = &mut extras.visit_head[bucket as usize];
            if *head == END {
                extras.visited.push(bucket);
            }
            extras.visits.push(Visit { sphere: i as u32, next: *head, cell });
            *head = extras.visits.len() as u32 - 1;
        }
    }
}

#[allow(clippy::too_many_arguments)]
fn visit(
    view: &View,
    starts: &[u32],
    i: usize,
    cell: IVec3,
    begin: Vec3,
    along: Vec3,
    radius: f32,
    plan: &mut Walk,
) {
    let (grid, state, frame, extras) = (view.grid, view.state, &view.frame, view.extras);
    let wrapped = [0, 1, 2].map(|axis| grid.wrap(axis, cell[axis]));
    let [Some(x), Some(y), Some(z)] = wrapped else { return };
    let wrapped = IVec3::new(x, y, z);
    let bucket = grid.bucket(grid.row(y, z), x);
    let home = view.cell(i);
    for j in starts[bucket] as usize..starts[bucket + 1] as usize {
        let image = cell - home;
        if state.cell[j].truncate() != wrapped || extras.is_fast(j) || (j == i && image == IVec3::ZERO) {
            continue;
        }
        let place = state.offset(j) - (frame.drifted + frame.drift * view.clock[j]) + grid.shift(image);
        if distance_to_segment(place, begin, along) <= radius + state.radius(j) {
            plan.found.push(Found { other: j, cells: image });
        }
    }
    let mut next = extras.visit_head[bucket];
    while next != END {
        let other = extras.visits[next as usize];
        next = other.next;
        let k = other.sphere as usize;
        let there = [0, 1, 2].map(|axis| grid.wrap(axis, other.cell[axis]));
        if there != [Some(x), Some(y), Some(z)] {
            continue;
        }
        let cells = view.cell(k) + (cell - other.cell) - home;
        if (k != i || cells != IVec3::ZERO)
            && !plan.found.iter().any(|f| f.other == k && f.cells == cells)
            && passes(view, i, k, grid.shift(cells))
        {
            plan.found.push(Found { other: k, cells });
        }
    }
    plan.cells.push((cell, bucket as u32));
}

// Whether two fast spheres on their present lines come near each other.
fn passes(view: &View, i: usize, k: usize, shift: Vec3) -> bool {
    let state = view.state;
    let (d, w, now) = view.relative(i, k, shift);
    let bend = if state.inverse_mass(i) > 0.0 && state.inverse_mass(k) > 0.0 {
        0.0
    } else {
        view.frame.gravity.length() * view.frame.h * view.frame.h
    };
    let wide = PASSING * (state.radius(i) + state.radius(k)) + bend;
    sweep::first_contact(d, w, wide).is_some_and(|(t, _)| now + t <= view.frame.h)
        || d.length_squared() <= wide * wide
}

// Cells, relative to the home cell, that an interval widened on both sides covers.
fn span(p: f32, q: f32, widen: f32, edge: f32) -> (i32, i32) {
    let low = (p.min(q) - widen) / edge;
    let high = (p.max(q) + widen) / edge;
    let limit = (1 << 26) as f32;
    (low.floor().clamp(-limit, limit) as i32, high.floor().clamp(-limit, limit) as i32)
}

// Cells outside a bounded, not periodic axis are kept in the outermost ones.
fn hold(grid: &Grid, axis: usize, low: i32, high: i32) -> (i32, i32) {
    if grid.periodic[axis] || grid.count[axis] == 0 {
        (low, high)
    } else {
        let last = grid.count[axis] - 1;
        (low.clamp(0, last), high.clamp(0, last))
    }
}

// Share of the line p + s*along, s in 0..=1, between two bounds.
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
