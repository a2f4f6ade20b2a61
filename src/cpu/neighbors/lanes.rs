//! Tests a row of cells at once, on x86 processors with AVX2 and BMI2. A row around a cell of a gas holds two spheres; up to seven
//! fit in the eight lanes, and the results of nine rows fit in one word. Each lane performs the operations of
//! [`Finder::in_fours`], so that the candidates are the same.

use std::{arch::x86_64::*, ops::Range};

use super::{Block, Candidate, Finder, INNER_ROWS, LONGEST_ROW, Row, Rows, Search};

/// Whether the processor can run this module.
pub fn is_supported() -> bool {
    std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("bmi2")
}

impl Search<'_> {
    /// Lists the candidates of the spheres of a block.
    ///
    /// # Safety
    /// The processor [`is_supported`], and the grid is direct and without parts.
    #[target_feature(enable = "avx2,bmi1,bmi2")]
    pub(super) unsafe fn find_in_lanes(&self, range: Range<usize>, block: &mut Block) {
        let Self { grid, state, .. } = *self;
        let mut rows = Rows::default();
        for (k, i) in (0..).zip(range) {
            rows.around(grid, self.starts, state.cell[i].truncate());
            let finder = Finder::new(grid, state, i, self.skin);
            if rows.are_short && !finder.fixed {
                // SAFETY: guaranteed by the caller.
                let hits = unsafe { self.hits(&finder, &rows) };
                block.push_hits(hits, &rows, (i as u32, k), &state.id);
            } else {
                let first = block.entries.len();
                finder.in_fours(&rows.rows[..rows.count], self.columns.each(), &mut block.entries);
                block.add_own(first, (i, k), &state.id);
            }
            block.ends.push(block.entries.len() as u32);
            block.own_ends.push(block.own.len() as u32);
        }
    }

    // The spheres in reach in short rows: seven bits for each row.
    #[target_feature(enable = "avx2,bmi1,bmi2")]
    unsafe fn hits(&self, finder: &Finder, rows: &Rows) -> u64 {
        let [xs, ys, zs, radii] = self.columns.each();
        let cells = self.columns.cell_x();
        let len = rows.end as usize + 8;
        assert!([xs, ys, zs, radii, cells].iter().all(|column| column.len() >= len));
        let cell = _mm256_set1_ps(self.state.cell[finder.i].x as f32);
        let edge = _mm256_set1_ps(self.grid.edge.x);
        let here_x = _mm256_set1_ps(finder.offset.x);
        let here_y = _mm256_set1_ps(finder.offset.y);
        let here_z = _mm256_set1_ps(finder.offset.z);
        let (radius, skin) = (_mm256_set1_ps(finder.radius), _mm256_set1_ps(finder.skin));
        let rows: &[Row; INNER_ROWS] = rows.rows.first_chunk().expect("more rows");
        let mut hits = 0;
        for (k, row) in rows.iter().enumerate() {
            let [first, _, _, end] = row.starts;
            let from = first as usize;
            // SAFETY: a row begins at or before `rows.end`, and eight floats more are in each column by the assertion.
            let (x, cell_x) = unsafe {
                (_mm256_loadu_ps(xs.as_ptr().add(from)), _mm256_loadu_ps(cells.as_ptr().add(from)))
            };
            // SAFETY: as above.
            let (y, z) =
                unsafe { (_mm256_loadu_ps(ys.as_ptr().add(from)), _mm256_loadu_ps(zs.as_ptr().add(from))) };
            // SAFETY: as above.
            let theirs = unsafe { _mm256_loadu_ps(radii.as_ptr().add(from)) };
            // The left, the middle and the right cell have the shifts -edge, 0 and edge.
            let shift_x = _mm256_mul_ps(_mm256_sub_ps(cell_x, cell), edge);
            let x = _mm256_sub_ps(_mm256_sub_ps(here_x, x), shift_x);
            let y = _mm256_sub_ps(_mm256_sub_ps(here_y, y), _mm256_set1_ps(row.shift.y));
            let z = _mm256_sub_ps(_mm256_sub_ps(here_z, z), _mm256_set1_ps(row.shift.z));
            let reach = _mm256_add_ps(_mm256_add_ps(radius, theirs), skin);
            let square =
                _mm256_add_ps(_mm256_add_ps(_mm256_mul_ps(x, x), _mm256_mul_ps(y, y)), _mm256_mul_ps(z, z));
            let near = _mm256_cmp_ps::<_CMP_LE_OQ>(square, _mm256_mul_ps(reach, reach));
            // Past the end of the row the lanes hold other spheres.
            let bits = _mm256_movemask_ps(near) as u32 & !(u32::MAX << (end - first));
            hits |= u64::from(bits) << (LONGEST_ROW * k as u32);
        }
        hits
    }
}

impl Block {
    // Stores the candidates of sphere `i`, the k-th of the block.
    #[inline(always)]
    fn push_hits(&mut self, mut hits: u64, rows: &Rows, (i, k): (u32, u8), ids: &[u32]) {
        let Self { entries, own, owners, .. } = self;
        [&mut *entries, &mut *own].into_iter().for_each(|list| list.reserve(u64::BITS as usize));
        owners.reserve(u64::BITS as usize);
        let (mut listed, mut owned) = (entries.len(), own.len());
        let id = ids[i as usize];
        while hits != 0 {
            let bit = hits.trailing_zeros();
            hits &= hits - 1;
            let row = &rows.rows[(bit / LONGEST_ROW) as usize];
            let j = row.starts[0] + bit % LONGEST_ROW;
            let side = i32::from(j >= row.starts[2]) - i32::from(j < row.starts[1]);
            let candidate = Candidate::new((row.code + side) as u32, j as usize);
            let (is_other, owns) = (j != i, ids[j as usize] > id);
            // SAFETY: there is room for one element for each bit of a word.
            unsafe {
                entries.as_mut_ptr().add(listed).write(candidate);
                own.as_mut_ptr().add(owned).write(candidate);
                owners.as_mut_ptr().add(owned).write(k);
            }
            listed += usize::from(is_other);
            owned += usize::from(is_other & owns);
        }
        // SAFETY: all elements before these ends are written.
        unsafe {
            entries.set_len(listed);
            own.set_len(owned);
            owners.set_len(owned);
        }
    }

    // Lists the pairs that sphere `i` owns, the k-th of the block, whose candidates begin at `first`.
    fn add_own(&mut self, first: usize, (i, k): (usize, u8), ids: &[u32]) {
        let Self { entries, own, owners, .. } = self;
        own.extend(entries[first..].iter().filter(|candidate| ids[candidate.index()] > ids[i]));
        owners.resize(own.len(), k);
    }
}
