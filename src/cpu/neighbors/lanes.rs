//! Tests a row of cells at once, on x86-64 processors with AVX2, BMI1 and BMI2. A row around a cell of a gas holds two spheres; up to seven
//! fit in the eight lanes, and the results of nine rows fit in one word. In a pile many rows are longer; up to fifteen spheres take two
//! tests, and the results three words. Each lane performs the operations of [`Finder::in_fours`], so that the candidates are the same.

use std::arch::x86_64::*;

use glam::IVec3;

use super::{Block, Candidate, Finder, Rows, Search};
use crate::state::grid::CODES;

/// Largest number of rows around a cell.
const ROWS: usize = 9;

/// Whether the processor can run this module.
pub fn is_supported() -> bool {
    std::is_x86_feature_detected!("avx2")
        && std::is_x86_feature_detected!("bmi1")
        && std::is_x86_feature_detected!("bmi2")
}

/// Cells along x up to this number are whole numbers as floats, and so are those beside them.
const MOST_CELL: i32 = 1 << 23;

/// The rows around the cells of one line along x.
#[derive(Default)]
struct LineRows {
    /// y and z of the cells.
    of: Option<(i32, i32)>,
    count: usize,
    /// Number of each row; see [`Grid::row`](crate::state::grid::Grid::row).
    numbers: [u32; ROWS],
    /// y and z of the cells of each row.
    cells: [(i32, i32); ROWS],
    /// Code of the cell in the middle of each row, and the shift of the row.
    codes: [i32; ROWS],
    shift_y: [f32; ROWS],
    shift_z: [f32; ROWS],
}

/// Part of the rows around a cell: the same cells along x of each row, from one to three.
#[derive(Clone, Copy)]
struct Span {
    /// First cell.
    first: i32,
    count: usize,
    /// Position along x of the middle cell, continued beyond the faces of a periodic grid.
    middle: i32,
}

/// Spheres within reach in a span of the rows: `LONGEST` bits for each row, in words of [`Self::ROWS_OF_WORD`] rows. `LONGEST` is the
/// largest number of spheres of a row, one less than a power of two.
#[derive(Clone, Copy)]
struct Hits<const LONGEST: u32, const WORDS: usize> {
    span: Span,
    words: [u64; WORDS],
}

impl<const LONGEST: u32, const WORDS: usize> Hits<LONGEST, WORDS> {
    const ROWS_OF_WORD: usize = (u64::BITS / LONGEST) as usize;

    // The spheres of one of the rows.
    fn of_row(mut self, row: usize) -> Self {
        for (k, word) in self.words.iter_mut().enumerate() {
            let is_here = k == row / Self::ROWS_OF_WORD;
            let bits = ((1 << LONGEST) - 1) << (LONGEST as usize * (row % Self::ROWS_OF_WORD));
            *word &= if is_here { bits } else { 0 };
        }
        self
    }
}

impl LineRows {
    fn find(&mut self, search: &Search, cell: IVec3) {
        if self.of == Some((cell.y, cell.z)) {
            return;
        }
        let grid = search.grid;
        (self.of, self.count) = (Some((cell.y, cell.z)), 0);
        for dz in -grid.layers..=grid.layers {
            let Some(z) = grid.wrap(2, cell.z + dz) else { continue };
            for dy in -1..=1 {
                let Some(y) = grid.wrap(1, cell.y + dy) else { continue };
                let (k, shift) = (self.count, grid.shift(IVec3::new(0, dy, dz)));
                (self.numbers[k], self.cells[k]) = (grid.row(y, z), (y, z));
                self.codes[k] = 9 * dz + 3 * dy + CODES as i32 / 2;
                (self.shift_y[k], self.shift_z[k]) = (shift.y, shift.z);
                self.count += 1;
            }
        }
    }
}

// The cells side by side along x around cell `x`, and the cell beyond a face of a periodic grid. `None` where buckets of a hashed grid
// are not in the order of the cells, or cells are no whole numbers as floats.
#[inline]
fn spans(search: &Search, x: i32) -> Option<(Span, Option<Span>)> {
    let (count, is_periodic) = (search.grid.count.x, search.grid.periodic[0]);
    if x.abs().max(count) > MOST_CELL {
        return None;
    }
    let (first, last) = if count == 0 { (x - 1, x + 1) } else { (0.max(x - 1), (count - 1).min(x + 1)) };
    let main = Span { first, count: (last - first + 1) as usize, middle: x };
    let beyond = match x {
        _ if !is_periodic => None,
        0 => Some(Span { first: count - 1, count: 1, middle: count }),
        _ if x == count - 1 => Some(Span { first: 0, count: 1, middle: -1 }),
        _ => None,
    };
    (search.grid.direct || beyond.is_none()).then_some((main, beyond))
}

/// Rows that the searches around the spheres of a block share.
#[derive(Default)]
pub(super) struct Buffers {
    lines: LineRows,
    rows: Rows,
}

impl Search<'_> {
    /// Lists the candidates of sphere `i`, the k-th of a block, and the pairs that it owns.
    ///
    /// # Safety
    /// The processor [`is_supported`], and the grid has no parts.
    #[target_feature(enable = "avx2,bmi1,bmi2")]
    pub(super) unsafe fn find_in_lanes(&self, i: usize, k: u8, buffers: &mut Buffers, block: &mut Block) {
        let Self { grid, state, .. } = *self;
        let Buffers { lines, rows } = buffers;
        let cell = state.cell[i].truncate();
        let finder = Finder::new(grid, state, i, self.skin);
        lines.find(self, cell);
        let spans = spans(self, cell.x).filter(|_| !finder.fixed);
        // SAFETY: guaranteed by the caller.
        let is_done = spans.is_some_and(|spans| unsafe {
            self.store::<7, 1>(&finder, lines, spans, k, block)
                || self.store::<15, 3>(&finder, lines, spans, k, block)
        });
        if !is_done {
            let first = block.entries.len();
            rows.around(grid, self.starts, cell);
            finder.in_fours(&rows.rows[..rows.count], self.columns.each(), &mut block.entries);
            block.add_own(first, (i, k), &state.id);
        }
        block.ends.push(block.entries.len() as u32);
        block.own_ends.push(block.own.len() as u32);
    }

    // Stores the candidates of a sphere, the k-th of the block. Returns false if a row is too long.
    #[target_feature(enable = "avx2,bmi1,bmi2")]
    unsafe fn store<const LONGEST: u32, const WORDS: usize>(
        &self,
        finder: &Finder,
        lines: &LineRows,
        (main, beyond): (Span, Option<Span>),
        k: u8,
        block: &mut Block,
    ) -> bool {
        // SAFETY: guaranteed by the caller.
        let hits = |span: Span| unsafe { self.hits::<LONGEST, WORDS>(finder, lines, span) };
        let Some(main) = hits(main) else { return false };
        let Some(span) = beyond else {
            self.push_hits(main, lines, (finder.i, k), block);
            return true;
        };
        let Some(beyond) = hits(span) else { return false };
        // Cells beyond the face come last in each row.
        for row in 0..lines.count {
            for hits in [main, beyond] {
                self.push_hits(hits.of_row(row), lines, (finder.i, k), block);
            }
        }
        true
    }

    // Bucket of cell `x` of a row.
    #[inline(always)]
    fn bucket(&self, row: u32, x: i32) -> usize {
        let bucket = row.wrapping_add(x as u32) as usize;
        if self.grid.direct { bucket } else { bucket & (self.grid.buckets - 1) }
    }

    // The spheres within reach in a span of the rows; `None` if a row is too long.
    #[target_feature(enable = "avx2,bmi1,bmi2")]
    unsafe fn hits<const LONGEST: u32, const WORDS: usize>(
        &self,
        finder: &Finder,
        lines: &LineRows,
        span: Span,
    ) -> Option<Hits<LONGEST, WORDS>> {
        let [xs, ys, zs, radii] = self.columns.each();
        let cells = self.columns.cell_x();
        let len = cells.len();
        assert!([xs, ys, zs, radii].iter().all(|column| column.len() == len));
        let middle = _mm256_set1_ps(span.middle as f32);
        let edge = _mm256_set1_ps(self.grid.edge.x);
        let here_x = _mm256_set1_ps(finder.offset.x);
        let here_y = _mm256_set1_ps(finder.offset.y);
        let here_z = _mm256_set1_ps(finder.offset.z);
        let (radius, skin) = (_mm256_set1_ps(finder.radius), _mm256_set1_ps(finder.skin));
        // Which of eight spheres of a row are within reach, one bit each.
        let eight = |from: usize, row: usize| {
            assert!(from + 8 <= len);
            // SAFETY: each column holds eight floats from there by the assertions.
            let (x, cell_x) = unsafe {
                (_mm256_loadu_ps(xs.as_ptr().add(from)), _mm256_loadu_ps(cells.as_ptr().add(from)))
            };
            // SAFETY: as above.
            let (y, z) =
                unsafe { (_mm256_loadu_ps(ys.as_ptr().add(from)), _mm256_loadu_ps(zs.as_ptr().add(from))) };
            // SAFETY: as above.
            let theirs = unsafe { _mm256_loadu_ps(radii.as_ptr().add(from)) };
            // The left, the middle and the right cell have the shifts -edge, 0 and edge.
            let shift_x = _mm256_mul_ps(_mm256_sub_ps(cell_x, middle), edge);
            let x = _mm256_sub_ps(_mm256_sub_ps(here_x, x), shift_x);
            let y = _mm256_sub_ps(_mm256_sub_ps(here_y, y), _mm256_set1_ps(lines.shift_y[row]));
            let z = _mm256_sub_ps(_mm256_sub_ps(here_z, z), _mm256_set1_ps(lines.shift_z[row]));
            let reach = _mm256_add_ps(_mm256_add_ps(radius, theirs), skin);
            let square =
                _mm256_add_ps(_mm256_add_ps(_mm256_mul_ps(x, x), _mm256_mul_ps(y, y)), _mm256_mul_ps(z, z));
            let near = _mm256_cmp_ps::<_CMP_LE_OQ>(square, _mm256_mul_ps(reach, reach));
            _mm256_movemask_ps(near) as u32
        };
        let (mut words, mut lengths) = ([0; WORDS], 0);
        for k in 0..lines.count {
            let bucket = self.bucket(lines.numbers[k], span.first);
            // Hashed buckets may wrap around.
            let end = self.starts.get(bucket + span.count)?;
            let (first, length) = (self.starts[bucket], end - self.starts[bucket]);
            let mut near = eight(first as usize, k);
            if LONGEST > 8 && length > 8 {
                near |= eight(first as usize + 8, k) << 8;
            }
            // Past the end of the row the lanes hold other spheres.
            let of_row = near & ((1 << (length & LONGEST)) - 1);
            lengths |= length;
            let rows = Hits::<LONGEST, WORDS>::ROWS_OF_WORD;
            words[k / rows] |= u64::from(of_row) << (LONGEST as usize * (k % rows));
        }
        // A length of more than `LONGEST` sets a higher bit.
        (lengths <= LONGEST).then_some(Hits { span, words })
    }

    // Stores candidates of sphere `i`, the k-th of the block.
    #[inline(always)]
    fn push_hits<const LONGEST: u32, const WORDS: usize>(
        &self,
        hits: Hits<LONGEST, WORDS>,
        lines: &LineRows,
        (i, k): (usize, u8),
        block: &mut Block,
    ) {
        let (ids, cells) = (&self.state.id, self.columns.cell_x());
        let Block { entries, own, owners, .. } = block;
        let most = WORDS * u64::BITS as usize;
        entries.reserve(most);
        own.reserve(most);
        owners.reserve(most);
        let (mut listed, mut owned, id) = (entries.len(), own.len(), ids[i]);
        for (word, mut bits) in hits.words.into_iter().enumerate() {
            while bits != 0 {
                let bit = bits.trailing_zeros();
                bits &= bits - 1;
                let row = word * Hits::<LONGEST, WORDS>::ROWS_OF_WORD + (bit / LONGEST) as usize;
                let place = bit % LONGEST;
                let j = (self.starts[self.bucket(lines.numbers[row], hits.span.first)] + place) as usize;
                let side = (cells[j] as i32).wrapping_sub(hits.span.middle);
                // Several cells may share a hashed bucket.
                if !self.grid.direct {
                    let (y, z) = lines.cells[row];
                    let cell = IVec3::new(hits.span.middle.wrapping_add(side), y, z);
                    if side.unsigned_abs() > 1 || self.state.cell[j].truncate() != cell {
                        continue;
                    }
                }
                let candidate = Candidate::new((lines.codes[row] + side) as u32, j);
                // The sphere itself is in reach, but no candidate.
                let is_other = j != i;
                // SAFETY: there is room for one element for each bit of the words.
                unsafe {
                    entries.as_mut_ptr().add(listed).write(candidate);
                    own.as_mut_ptr().add(owned).write(candidate);
                    owners.as_mut_ptr().add(owned).write(k);
                }
                listed += usize::from(is_other);
                // The order of ids is random, so a branch would be predicted wrongly half of the time.
                owned += usize::from(ids[j] > id);
            }
        }
        // SAFETY: all elements before these ends are written.
        unsafe {
            entries.set_len(listed);
            own.set_len(owned);
            owners.set_len(owned);
        }
    }
}

#[cfg(test)]
mod tests {
    use glam::DVec3;

    use super::{super::BLOCK, *};
    use crate::{
        Side,
        cpu::core::Core,
        scene::{Fill, Scene},
    };

    // Lists made in lanes and in fours, of all blocks.
    fn check(what: &str, core: &Core, margin: f32) -> [usize; 2] {
        let (grid, state) = (&core.domain.grid, &core.state);
        let search = Search {
            grid,
            world: &core.domain.world,
            state,
            starts: &core.starts,
            columns: &core.lists.columns,
            skin: 2.0 * margin,
            path: 0.0,
        };
        assert!(search.has_lanes(), "{what}");
        let (mut lanes, mut fours) = (Block::default(), Block::default());
        let (mut pairs, mut longest) = (0, 0);
        for first in (0..state.len()).step_by(BLOCK) {
            let range = first..state.len().min(first + BLOCK);
            [&mut lanes, &mut fours].into_iter().for_each(Block::clear);
            search.find_in_fours(range.clone(), &mut fours);
            let mut buffers = Buffers::default();
            for (k, i) in range.enumerate() {
                // SAFETY: the search has lanes.
                unsafe { search.find_in_lanes(i, k as u8, &mut buffers, &mut lanes) };
            }
            assert_eq!(lanes.entries, fours.entries, "{what}, block from {first}");
            assert_eq!((&lanes.ends, &lanes.own_ends), (&fours.ends, &fours.own_ends), "{what}");
            assert_eq!((&lanes.own, &lanes.owners), (&fours.own, &fours.owners), "{what}");
            pairs += lanes.own.len();
        }
        for starts in core.starts.windows(4) {
            longest = longest.max((starts[3] - starts[0]) as usize);
        }
        [pairs, longest]
    }

    #[test]
    fn lanes_find_the_candidates_of_fours_in_their_order() {
        if !is_supported() {
            println!("the processor has no lanes");
            return;
        }
        let (periodic, wall) = (Side::Periodic, Side::Wall);
        let open = Side::Open;
        let direct = [[periodic; 3], [wall; 3], [periodic, wall, periodic], [wall, periodic, wall]];
        let hashed = [[open; 3], [periodic, open, wall], [wall, open, periodic]];
        let kinds = direct.into_iter().chain(hashed);
        let mut longest_row = 0;
        for (sides, width) in kinds.flat_map(|sides| [2.4, 3.6, 20.0].map(|width| (sides, width))) {
            let high = DVec3::new(width, 20.0, 20.0);
            let fill = Fill::random((200.0 * width) as u64).temperature(1.0).region(DVec3::ZERO, high);
            let scene = Scene::new(0.02).seed(4).bounds(DVec3::ZERO, high).sides(sides);
            let mut system = scene.fill(fill).build().unwrap();
            // Some spheres beyond the walls, where they are clamped to the outermost cells, and some fixed ones.
            if sides[1] == wall {
                system.spheres.iter_mut().step_by(20).for_each(|sphere| sphere.position.y -= 3.0);
            }
            system.spheres.iter_mut().skip(1).step_by(7).for_each(|sphere| sphere.fixed = true);
            for margin in [0.05, 0.5] {
                let mut core = Core::new(&system, |_| 0.0).unwrap();
                core.regrid(margin);
                core.bin();
                core.scan();
                core.scatter();
                let margin = core.domain.grid.margin_limit.min(margin as f32);
                core.neighbors(margin, 0.0);
                let [pairs, longest] =
                    check(&format!("{sides:?}, {width} wide, margin {margin}"), &core, margin);
                assert!(pairs > 0);
                longest_row = longest_row.max(longest);
            }
        }
        // Rows too long for the lanes are among them.
        assert!(longest_row > 15, "{longest_row}");
    }
}
