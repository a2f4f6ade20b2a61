//! Sets of spheres. Threads insert members in any order; `Bits` lists them in ascending order.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};

/// A set of indices below a fixed count, one bit each.
#[derive(Default)]
pub struct Bits {
    words: Vec<AtomicU64>,
}

impl Bits {
    /// Resizes the set for indices below `count` and empties it.
    pub fn reset(&mut self, count: usize) {
        self.words.resize_with(count.div_ceil(64), AtomicU64::default);
        self.words.iter_mut().for_each(|w| *w.get_mut() = 0);
    }

    /// Empties the set; far cheaper than removing members one by one.
    pub fn clear(&self) {
        self.words.iter().for_each(|w| w.store(0, Relaxed));
    }

    /// Adds an index.
    #[inline]
    pub fn insert(&self, i: usize) {
        // Most inserts of a round find the bit already set: reading first keeps the cache line shared.
        let (word, bit) = (&self.words[i / 64], 1 << (i % 64));
        if word.load(Relaxed) & bit == 0 {
            word.fetch_or(bit, Relaxed);
        }
    }

    /// Removes an index.
    #[inline]
    pub fn remove(&self, i: usize) {
        let (word, bit) = (&self.words[i / 64], 1 << (i % 64));
        if word.load(Relaxed) & bit != 0 {
            word.fetch_and(!bit, Relaxed);
        }
    }

    /// Whether the index is in the set.
    #[inline]
    pub fn contains(&self, i: usize) -> bool {
        self.words[i / 64].load(Relaxed) >> (i % 64) & 1 == 1
    }

    /// Number of members.
    pub fn count(&self) -> u64 {
        self.words.iter().map(|w| u64::from(w.load(Relaxed).count_ones())).sum()
    }

    /// Replaces `list` by the members in ascending order.
    pub fn list(&self, list: &mut Vec<u32>) {
        list.clear();
        for (k, word) in self.words.iter().enumerate() {
            let mut rest = word.load(Relaxed);
            while rest != 0 {
                list.push(k as u32 * 64 + rest.trailing_zeros());
                rest &= rest - 1;
            }
        }
    }

    /// Bytes of the set.
    pub fn bytes(&self) -> usize {
        self.words.len() * 8
    }
}

/// Pressed contacts of each sphere, one byte each: twice the number of those with spheres, plus 1 if any is with a wall.
#[derive(Default)]
pub struct Pressed {
    bytes: Vec<AtomicU8>,
}

impl Pressed {
    /// Sets the contacts of `count` spheres to none.
    pub fn reset(&mut self, count: usize) {
        self.bytes.clear();
        self.bytes.resize_with(count, AtomicU8::default);
    }

    /// Counts a contact with a sphere. The count stops near 64.
    #[inline]
    pub fn add(&self, i: usize) {
        if self.bytes[i].load(Relaxed) < 128 {
            self.bytes[i].fetch_add(2, Relaxed);
        }
    }

    /// Notes a contact with a wall.
    #[inline]
    pub fn add_wall(&self, i: usize) {
        self.bytes[i].fetch_or(1, Relaxed);
    }

    /// Whether a sphere has any contact.
    #[inline]
    pub fn any(&self, i: usize) -> bool {
        self.bytes[i].load(Relaxed) > 0
    }

    /// Number of contacts with spheres.
    #[inline]
    pub fn spheres(&self, i: usize) -> u8 {
        self.bytes[i].load(Relaxed) / 2
    }

    /// Bytes of the columns.
    pub fn bytes(&self) -> usize {
        self.bytes.capacity()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_members_in_ascending_order() {
        let mut bits = Bits::default();
        bits.reset(200);
        for i in [199, 0, 63, 64, 127, 128, 63] {
            bits.insert(i);
        }
        bits.remove(127);
        let mut list = vec![7];
        bits.list(&mut list);
        assert_eq!(list, [0, 63, 64, 128, 199]);
        assert!(bits.contains(64) && !bits.contains(65));
        bits.reset(200);
        bits.list(&mut list);
        assert!(list.is_empty());
    }
}
