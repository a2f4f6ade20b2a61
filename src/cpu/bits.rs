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

/// A small counter for each index below a fixed count, one byte each.
#[derive(Default)]
pub struct Counters {
    bytes: Vec<AtomicU8>,
}

impl Counters {
    /// Resizes the counters for indices below `count` and sets them to 0.
    pub fn reset(&mut self, count: usize) {
        self.bytes.clear();
        self.bytes.resize_with(count, AtomicU8::default);
    }

    /// Counts one more. A count stops at 128, or at most one further for each thread.
    #[inline]
    pub fn add(&self, i: usize) {
        if self.bytes[i].load(Relaxed) < 128 {
            self.bytes[i].fetch_add(1, Relaxed);
        }
    }

    /// The count of an index.
    #[inline]
    pub fn get(&self, i: usize) -> u8 {
        self.bytes[i].load(Relaxed)
    }

    /// Bytes of the counters.
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
