//! Order of the spheres: a broad phase stores them in the order of their cells, and columns that outlive it follow them.

use std::ops::Range;

use rayon::prelude::*;

use crate::cpu::parallel::{Disjoint, TASK, for_ranges};

/// The change of order by the last broad phase.
#[derive(Default)]
pub struct Order {
    /// Previous index of each sphere.
    pub old_of_new: Vec<u32>,
    /// New index of each previous one, within `range` only.
    new_of_old: Vec<u32>,
    /// Outside this range every sphere keeps its index. One sphere that enters another cell moves only those between.
    range: Range<usize>,
}

impl Order {
    /// Finds the new index of every sphere, once `old_of_new` is complete.
    pub fn complete(&mut self) {
        let Self { old_of_new, new_of_old, range } = self;
        let changed = |(k, &i): (usize, &u32)| k as u32 != i;
        let first = old_of_new.iter().enumerate().position(changed).unwrap_or(old_of_new.len());
        let end = old_of_new.iter().enumerate().rposition(changed).map_or(first, |last| last + 1);
        *range = first..end;
        new_of_old.resize(old_of_new.len(), 0);
        let to = Disjoint::new(new_of_old);
        for_ranges(range.len(), TASK, |part| {
            let part = part.start + first..part.end + first;
            for (&old, new) in old_of_new[part.clone()].iter().zip(part.start as u32..) {
                // SAFETY: each sphere has one previous index.
                unsafe { to.set(old as usize, new) };
            }
        });
    }

    /// The range of indices outside which nothing changes.
    pub fn range(&self) -> Range<usize> {
        self.range.clone()
    }

    /// Previous index of a sphere.
    #[inline]
    pub fn old_index(&self, i: usize) -> usize {
        self.old_of_new[i] as usize
    }

    /// New index of the sphere that had index `i`.
    #[inline]
    pub fn new_index(&self, i: u32) -> u32 {
        if self.range.contains(&(i as usize)) { self.new_of_old[i as usize] } else { i }
    }

    /// Number of spheres.
    pub fn len(&self) -> usize {
        self.old_of_new.len()
    }

    /// Reorders a column of one value per sphere.
    pub fn permute<T: Copy + Send + Sync>(&self, column: &mut [T], buffer: &mut Vec<T>) {
        self.old_of_new[self.range()]
            .par_iter()
            .with_min_len(TASK)
            .map(|&i| column[i as usize])
            .collect_into_vec(buffer);
        column[self.range()].copy_from_slice(buffer);
    }

    /// Bytes of the columns.
    pub fn bytes(&self) -> usize {
        4 * (self.old_of_new.capacity() + self.new_of_old.capacity())
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng, seq::SliceRandom};
    use rand_pcg::Pcg64;

    use super::*;
    use crate::cpu::bits::{Bits, Pressed};

    // A random permutation of a range of `count` indices.
    fn shuffled(count: usize, range: Range<usize>, rng: &mut Pcg64) -> Order {
        let mut order = Order { old_of_new: (0..count as u32).collect(), ..Order::default() };
        order.old_of_new[range].shuffle(rng);
        order.complete();
        order
    }

    #[test]
    fn columns_and_sets_follow_their_spheres() {
        let mut rng = Pcg64::seed_from_u64(3);
        for count in [1, 63, 64, 65, 200, 9000] {
            let ranges =
                [0..count, 0..0, count / 3..count, 0..count / 2, count / 2..count.min(count / 2 + 2)];
            for range in ranges {
                let order = shuffled(count, range.clone(), &mut rng);
                assert!(order.range().is_empty() || range.start <= order.range().start);
                assert!(order.range().end <= range.end.max(order.range().start), "{range:?}");
                let members: Vec<bool> = (0..count).map(|_| rng.random()).collect();
                let contacts: Vec<u8> = (0..count).map(|_| rng.random_range(0..64)).collect();
                let (mut set, mut pressed) = (Bits::default(), Pressed::default());
                set.reset(count);
                pressed.reset(count);
                for i in 0..count {
                    if members[i] {
                        set.insert(i);
                    }
                    pressed.set(i, contacts[i], members[i]);
                }
                let mut column: Vec<u32> = (0..count as u32).collect();
                order.permute(&mut column, &mut vec![]);
                set.follow(&order);
                pressed.follow(&order);
                for (i, &value) in column.iter().enumerate() {
                    let old = order.old_index(i);
                    assert_eq!((value as usize, order.new_index(old as u32) as usize), (old, i));
                    assert_eq!(
                        (set.contains(i), pressed.spheres(i)),
                        (members[old], contacts[old]),
                        "{count} {i}"
                    );
                    assert_eq!(pressed.any(i), contacts[old] > 0 || members[old], "{count} {i}");
                }
                assert_eq!(set.count(), members.iter().filter(|&&member| member).count() as u64);
            }
        }
    }
}
