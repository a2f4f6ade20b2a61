//! A list of cells that visits all pairs of spheres within a distance.

use glam::DVec3;
use rayon::prelude::*;

use super::Domain;

/// Cells for each sphere, at most; more cells would be empty and cost memory.
const CELLS_PER_SPHERE: f64 = 4.0;

/// Spheres sorted into cells, row by row along x.
pub(super) struct Cells {
    /// First sphere of each cell, and the end of the last.
    starts: Vec<usize>,
    /// Wrapped positions in the order of the cells.
    sorted: Vec<DVec3>,
    /// Index in the input of each sorted sphere.
    pub(super) index: Vec<u32>,
    count: [usize; 3],
    /// Length of each period; 0 on an axis that is not periodic.
    period: DVec3,
    cutoff: f64,
    /// Cells to each side that the cut-off reaches.
    reach: i64,
}

/// Cells of one row with the shift of their periodic image.
struct Run {
    first: usize,
    last: usize,
    shift: f64,
}

impl Cells {
    /// Sorts positions, which are finite; `cutoff` is above 0 and at most half of each period.
    pub(super) fn new(positions: &[DVec3], domain: &Domain, cutoff: f64) -> Self {
        let wrapped: Vec<DVec3> = positions.iter().map(|p| domain.wrap(*p)).collect();
        let extent = Domain::around(&wrapped, domain.dimensions);
        let (mut origin, mut size, mut period) = (extent.min, extent.max - extent.min, DVec3::ZERO);
        for axis in domain.axes().filter(|axis| domain.periodic[*axis]) {
            origin[axis] = domain.min[axis];
            size[axis] = domain.max[axis] - domain.min[axis];
            period[axis] = size[axis];
        }
        // Smaller cells fit the sphere of the cut-off better, but pay only if they are not nearly empty.
        let (fine, coarse) = (counts(size, 0.5 * cutoff, positions), counts(size, cutoff, positions));
        let is_crowded = positions.len() >= 2 * fine.iter().product::<usize>();
        let (count, reach) = if is_crowded { (fine, 2) } else { (coarse, 1) };
        let cell_of = |p: DVec3| {
            let place = |axis: usize| {
                let cell = (p[axis] - origin[axis]) / size[axis] * count[axis] as f64;
                // A size of 0 gives NaN, which becomes 0.
                (cell as usize).min(count[axis] - 1)
            };
            (place(2) * count[1] + place(1)) * count[0] + place(0)
        };
        let cells: Vec<usize> = wrapped.par_iter().map(|p| cell_of(*p)).collect();
        let mut starts = vec![0; count.iter().product::<usize>() + 1];
        cells.iter().for_each(|cell| starts[cell + 1] += 1);
        (1..starts.len()).for_each(|k| starts[k] += starts[k - 1]);
        let (mut next, mut index) = (starts.clone(), vec![0; cells.len()]);
        for (k, cell) in (0..).zip(&cells) {
            index[next[*cell]] = k;
            next[*cell] += 1;
        }
        let sorted = index.iter().map(|k| wrapped[*k as usize]).collect();
        Self { starts, sorted, index, count, period, cutoff, reach }
    }

    /// Calls `each` once for every pair nearer than the cut-off, with the places of both in [`index`](Self::index) and the square
    /// of their distance. Each row of cells has its own accumulator; `merge` must not depend on the order.
    pub(super) fn fold<A: Send>(
        &self,
        new: impl Fn() -> A + Sync + Send,
        each: impl Fn(&mut A, usize, usize, f64) + Sync + Send,
        merge: impl Fn(A, A) -> A + Sync + Send,
    ) -> A {
        let rows = self.count[1] * self.count[2];
        let row = |mut sums: A, row: usize| {
            self.visit_row(row, &mut |i, j, square| each(&mut sums, i, j, square));
            sums
        };
        (0..rows).into_par_iter().fold(&new, row).reduce(&new, &merge)
    }

    fn visit_row(&self, row: usize, each: &mut impl FnMut(usize, usize, f64)) {
        let [nx, ny, _] = self.count;
        let (y, z) = ((row % ny) as i64, (row / ny) as i64);
        let reach = self.reach;
        // One of two rows sees the other; within a row, each cell sees itself and the cells after it.
        let ahead = (-reach..=reach).map(|j| (j, 1)).chain((1..=reach).map(|j| (j, 0)));
        let further = (2..=reach).flat_map(|k| (-reach..=reach).map(move |j| (j, k)));
        let mut runs = vec![];
        for x in 0..nx as i64 {
            runs.clear();
            let here = row * nx + x as usize;
            self.along_x(x + 1, x + reach, row, DVec3::ZERO, &mut runs);
            for (j, k) in ahead.clone().chain(further.clone()) {
                let (Some((at_y, shift_y)), Some((at_z, shift_z))) =
                    (self.image(1, y + j), self.image(2, z + k))
                else {
                    continue;
                };
                let shift = DVec3::new(0.0, shift_y, shift_z);
                self.along_x(x - reach, x + reach, at_z * ny + at_y, shift, &mut runs);
            }
            self.visit_cell(here, &runs, each);
        }
    }

    fn visit_cell(&self, cell: usize, runs: &[(Run, DVec3)], each: &mut impl FnMut(usize, usize, f64)) {
        let limit = self.cutoff * self.cutoff;
        let own = self.starts[cell]..self.starts[cell + 1];
        for i in own.clone() {
            let p = self.sorted[i];
            let mut see = |range: std::ops::Range<usize>, p: DVec3| {
                for (j, q) in range.clone().zip(&self.sorted[range]) {
                    let d = *q - p;
                    let square = d.length_squared();
                    if square < limit {
                        each(i, j, square);
                    }
                }
            };
            see(i + 1..own.end, p);
            for (run, shift) in runs {
                see(self.starts[run.first]..self.starts[run.last + 1], p - *shift - DVec3::X * run.shift);
            }
        }
    }

    // The cell of a place along an axis that may lie outside the box, and the shift of its image; `None` beyond the end of an
    // axis that is not periodic.
    fn image(&self, axis: usize, place: i64) -> Option<(usize, f64)> {
        let count = self.count[axis] as i64;
        let wraps = place.div_euclid(count);
        if wraps != 0 && self.period[axis] == 0.0 {
            return None;
        }
        Some((place.rem_euclid(count) as usize, wraps as f64 * self.period[axis]))
    }

    // Cells from `first` to `last` along x in a row, in stretches that lie next to each other in memory. Where the box has fewer
    // cells than the cut-off reaches, a cell comes several times, as several images; at most one image of a sphere is within the
    // cut-off.
    fn along_x(&self, first: i64, last: i64, row: usize, shift: DVec3, runs: &mut Vec<(Run, DVec3)>) {
        let count = self.count[0] as i64;
        let (first, last) =
            if self.period.x > 0.0 { (first, last) } else { (first.max(0), last.min(count - 1)) };
        let mut from = first;
        while from <= last {
            let wraps = from.div_euclid(count);
            let to = last.min((wraps + 1) * count - 1);
            let place = |cell: i64| row * self.count[0] + (cell - wraps * count) as usize;
            let run = Run { first: place(from), last: place(to), shift: wraps as f64 * self.period.x };
            runs.push((run, shift));
            from = to + 1;
        }
    }
}

// Cells along each axis with edges of at least `edge`.
fn counts(size: DVec3, edge: f64, positions: &[DVec3]) -> [usize; 3] {
    let most = CELLS_PER_SPHERE * positions.len() as f64 + 64.0;
    let mut scale = 1.0;
    loop {
        let count = size.to_array().map(|length| (length / edge * scale).floor().clamp(1.0, most));
        let total: f64 = count.iter().product();
        if total <= most {
            return count.map(|n| n as usize);
        }
        scale *= 0.9 * (most / total).cbrt().max(0.1);
    }
}
