//! Order of the spheres: a broad phase stores them in the order of their cells, and columns that outlive it follow them.

use std::ops::Range;

use rayon::prelude::*;

use crate::cpu::parallel::{Disjoint, TASK, for_ranges};

/// The change of order by the last broad phase.
#[derive(Default)]
pub struct Order {
    /// Previous index of each sphere.
    pub from: Vec<u32>,
    /// New index of each previous one. Valid within `range`.
    to: Vec<u32>,
    /// Outside this range every sphere keeps its index. One sphere that enters another cell moves only those between.
    range: Range<usize>,
}

impl Order {
    /// Finds the new index of every sphere, once `from` is complete.
    pub fn complete(&mut self) {
        let Self { from, to, range } = self;
        let changed = |(k, &i): (usize, &u32)| k as u32 != i;
        let first = from.iter().enumerate().position(changed).unwrap_or(from.len());
        let end = from.iter().enumerate().rposition(changed).map_or(first, |last| last + 1);
        *range = first..end;
        to.resize(from.len(), 0);
        let to = Disjoint::new(to);
        for_ranges(range.len(), TASK, |part| {
            for k in part.start + first..part.end + first {
                // SAFETY: each sphere has one previous index.
                unsafe { to.set(from[k] as usize, k as u32) };
            }
        });
    }

    /// The range of indices outside which nothing changes.
    pub fn range(&self) -> Range<usize> {
        self.range.clone()
    }

    /// Previous index of a sphere.
    #[inline]
    pub fn from(&self, i: usize) -> usize {
        self.from[i] as usize
    }

    /// New index of the sphere that had index `i`.
    #[inline]
    pub fn to(&self, i: u32) -> u32 {
        if self.range.contains(&(i as usize)) { self.to[i as usize] } else { i }
    }

    /// Number of spheres.
    pub fn len(&self) -> usize {
        self.from.len()
    }

    /// Reorders a column of one value per sphere.
    pub fn permute<T: Copy + Send + Sync>(&self, column: &mut [T], buffer: &mut Vec<T>) {
        self.from[self.range()]
            .par_iter()
            .with_min_len(TASK)
            .map(|&i| column[i as usize])
            .collect_into_vec(buffer);
        column[self.range()].copy_from_slice(buffer);
    }

    /// Bytes of the columns.
    pub fn bytes(&self) -> usize {
        4 * (self.from.capacity() + self.to.capacity())
    }
}
