//! Sets of spheres. Threads insert members in any order; `Bits` lists them in ascending order.

use std::{
    mem::swap,
    ops::Range,
    sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed},
};

use crate::{
    cpu::{order::Order, parallel::for_ranges},
    state::constants::MANY_CONTACTS,
};

/// Up to this share of the spheres, one in `FEW`, it is faster to count the contacts of each than those of all.
const FEW: u64 = 8;

/// Words of a set that one task reorders.
const WORDS_OF_TASK: usize = 64;

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

    /// Makes the set equal to another one.
    pub fn copy_from(&mut self, other: &Self) {
        self.words.resize_with(other.words.len(), AtomicU64::default);
        let words = self.words.iter_mut().zip(&other.words);
        words.for_each(|(word, other)| *word.get_mut() = other.load(Relaxed));
    }

    // Calls `visit` with each part of a range that lies in one word, and the members within it, as bits of the word.
    #[inline]
    fn for_words(&self, range: Range<usize>, mut visit: impl FnMut(Range<usize>, u64)) {
        let mut i = range.start;
        while i < range.end {
            let end = range.end.min((i / 64 + 1) * 64);
            visit(i..end, self.words[i / 64].load(Relaxed) & bits_of(&(i..end)));
            i = end;
        }
    }

    /// Calls `visit` with the members within a range, in ascending order.
    #[inline]
    pub fn for_members(&self, range: Range<usize>, mut visit: impl FnMut(usize)) {
        self.for_words(range, |part, members| for_bits(part, members, &mut visit));
    }

    /// Calls `visit` with the members of this set or of another one within a range, in ascending order.
    #[inline]
    pub fn for_members_of_either(&self, other: &Self, range: Range<usize>, mut visit: impl FnMut(usize)) {
        self.for_words(range, |part, members| {
            let others = other.words[part.start / 64].load(Relaxed) & bits_of(&part);
            for_bits(part, members | others, &mut visit);
        });
    }

    /// Sets which indices of a range are members. No other thread may change the members of its words at the same time.
    pub fn assign(&self, range: Range<usize>, is_member: impl Fn(usize) -> bool) {
        self.for_words(range, |part, members| {
            let word = &self.words[part.start / 64];
            let others = word.load(Relaxed) & !members;
            word.store(part.fold(others, |word, i| word | u64::from(is_member(i)) << (i % 64)), Relaxed);
        });
    }

    /// Calls `visit` with the indices of a range that are not members, in ascending order. Skips 64 members at a time.
    #[inline]
    pub fn for_absent(&self, range: Range<usize>, mut visit: impl FnMut(usize)) {
        self.for_words(range, |part, members| {
            let absent = bits_of(&part) & !members;
            for_bits(part, absent, &mut visit);
        });
    }

    /// Divides a range into parts of at most 64 indices. Calls `visit` with each part and whether all of its indices are members.
    #[inline]
    pub fn for_parts(&self, range: Range<usize>, mut visit: impl FnMut(Range<usize>, bool)) {
        self.for_words(range, |part, members| {
            let are_all = members == bits_of(&part);
            visit(part, are_all);
        });
    }

    /// Whether any index of a range is a member.
    pub fn has_any(&self, range: Range<usize>) -> bool {
        let mut any = false;
        self.for_words(range, |_, members| any |= members != 0);
        any
    }

    /// Whether all indices of a range are members.
    pub fn has_all(&self, range: Range<usize>) -> bool {
        let mut all = true;
        self.for_parts(range, |_, are_all| all &= are_all);
        all
    }

    /// Calls `visit` with the longest ranges within a range that hold no member, in ascending order.
    pub fn for_absent_runs(&self, range: Range<usize>, mut visit: impl FnMut(Range<usize>)) {
        let mut run = range.start..range.start;
        self.for_absent(range, |i| {
            if i != run.end {
                visit(std::mem::replace(&mut run, i..i));
            }
            run.end = i + 1;
        });
        visit(run);
    }

    /// Adds all indices below `count` that are in neither of two sets.
    pub fn insert_all_but(&mut self, first: &Self, second: &Self, count: usize) {
        let others = first.words.iter().zip(&second.words);
        self.words.iter_mut().zip(others).for_each(|(word, (first, second))| {
            *word.get_mut() |= !(first.load(Relaxed) | second.load(Relaxed));
        });
        if let Some(last) = self.words.last_mut().filter(|_| !count.is_multiple_of(64)) {
            *last.get_mut() &= (1 << (count % 64)) - 1;
        }
    }

    /// Adds all indices below `count`, and resizes the set for them.
    pub fn fill(&mut self, count: usize) {
        self.words.resize_with(count.div_ceil(64), AtomicU64::default);
        self.words.iter_mut().for_each(|word| *word.get_mut() = !0);
        if let Some(last) = self.words.last_mut().filter(|_| !count.is_multiple_of(64)) {
            *last.get_mut() = (1 << (count % 64)) - 1;
        }
    }

    /// Adds all members of another set.
    pub fn unite(&mut self, other: &Self) {
        let words = self.words.iter_mut().zip(&other.words);
        words.for_each(|(word, other)| *word.get_mut() |= other.load(Relaxed));
    }

    /// Removes all indices that are not in another set.
    pub fn intersect(&mut self, other: &Self) {
        let words = self.words.iter_mut().zip(&other.words);
        words.for_each(|(word, other)| *word.get_mut() &= other.load(Relaxed));
    }

    /// Reorders the set with the spheres, if it holds spheres of this number.
    pub fn follow(&mut self, order: &Order) {
        let range = order.range();
        if self.words.len() != order.len().div_ceil(64) || range.is_empty() {
            return;
        }
        let first = range.start / 64;
        let words = &self.words[first..range.end.div_ceil(64)];
        let before: Vec<u64> = words.iter().map(|word| word.load(Relaxed)).collect();
        let bit = |i: usize| before[i / 64 - first] >> (i % 64) & 1;
        for_ranges(words.len(), WORDS_OF_TASK, |part| {
            for k in part {
                let spheres = 64 * (first + k)..order.len().min(64 * (first + k + 1));
                let word =
                    spheres.enumerate().fold(0, |word, (place, i)| word | bit(order.old_index(i)) << place);
                words[k].store(word, Relaxed);
            }
        });
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

// The bits of a range within one word.
#[inline]
fn bits_of(range: &Range<usize>) -> u64 {
    !0 >> (64 - range.len()) << (range.start % 64)
}

// Calls `visit` with the indices of a word, given as bits, in ascending order. `part` is any range within the word.
#[inline]
fn for_bits(part: Range<usize>, mut bits: u64, visit: &mut impl FnMut(usize)) {
    while bits != 0 {
        visit(part.start / 64 * 64 + bits.trailing_zeros() as usize);
        bits &= bits - 1;
    }
}

/// Pressed contacts of each sphere, one byte each: bit 0 says whether any is with a wall, the upper bits hold the number of
/// contacts with spheres.
#[derive(Default)]
pub struct Pressed {
    bytes: Vec<AtomicU8>,
    known: Lasting,
}

/// The spheres that stay quiet between two uses of a column, so that the column still holds their values.
#[derive(Default)]
pub struct Lasting {
    quiet: Bits,
    stays: Bits,
    /// Order of the spheres in the last use.
    order: u64,
}

impl Lasting {
    /// Notes a use of the column. `quiet` are the spheres, of `count`, that are quiet in this substep and those that were quiet to
    /// the end of the previous one; columns that take turns are used in every second substep only. `order` changes when the
    /// quiet spheres are forgotten.
    pub fn renew(&mut self, count: usize, quiet: Option<[&Bits; 2]>, order: u64) {
        swap(&mut self.stays, &mut self.quiet);
        match quiet {
            Some([quiet, before]) if self.order == order && self.stays.words.len() == quiet.words.len() => {
                self.stays.intersect(quiet);
                self.stays.intersect(before);
            }
            _ => self.stays.reset(count),
        }
        match quiet {
            Some([quiet, _]) => self.quiet.copy_from(quiet),
            None => self.quiet.reset(count),
        }
        self.order = order;
    }

    /// Reorders the sets with the spheres.
    pub fn follow(&mut self, order: &Order) {
        self.quiet.follow(order);
    }

    /// The spheres that stay quiet since the last use.
    pub fn stays(&self) -> &Bits {
        &self.stays
    }

    /// Bytes of the sets.
    pub fn bytes(&self) -> usize {
        self.quiet.bytes() + self.stays.bytes()
    }
}

impl Pressed {
    /// Sets the contacts of `count` spheres to none.
    pub fn reset(&mut self, count: usize) {
        self.known = Lasting::default();
        self.clear(count);
    }

    fn clear(&mut self, count: usize) {
        self.bytes.clear();
        self.bytes.resize_with(count, AtomicU8::default);
    }

    /// Begins a count of `count` spheres; `quiet` and `order` as in [`Lasting::renew`]. Returns whether only the
    /// spheres in `list` need to be counted, because the others stay quiet; otherwise resets all counts.
    pub fn begin(
        &mut self,
        count: usize,
        quiet: Option<[&Bits; 2]>,
        order: u64,
        list: &mut Vec<u32>,
    ) -> bool {
        list.clear();
        self.known.renew(count, quiet, order);
        let stays = self.known.stays();
        let are_few = count as u64 - stays.count() <= count as u64 / FEW;
        if are_few {
            stays.for_absent(0..count, |i| list.push(i as u32));
        } else {
            self.clear(count);
        }
        are_few
    }

    /// Reorders the contacts with the spheres, if they belong to spheres of this number.
    pub fn follow(&mut self, order: &Order) {
        if self.bytes.len() != order.len() {
            return;
        }
        self.known.follow(order);
        let range = order.range();
        let before: Vec<u8> = self.bytes[range.clone()].iter().map(|byte| byte.load(Relaxed)).collect();
        for i in range.clone() {
            *self.bytes[i].get_mut() = before[order.old_index(i) - range.start];
        }
    }

    /// Sets the contacts of a sphere: their number with spheres, and whether any is with a wall.
    pub fn set(&self, i: usize, spheres: u8, on_wall: bool) {
        self.bytes[i].store((2 * spheres.min(MANY_CONTACTS)) | u8::from(on_wall), Relaxed);
    }

    /// Counts a contact with a sphere. The count stops near [`MANY_CONTACTS`]. No other thread may change the count of the sphere at the
    /// same time, or it is lost.
    #[inline]
    pub fn add(&self, i: usize) {
        let count = self.bytes[i].load(Relaxed);
        if count < 2 * MANY_CONTACTS {
            self.bytes[i].store(count + 2, Relaxed);
        }
    }

    /// Notes a contact with a wall, under the condition of [`add`](Self::add).
    #[inline]
    pub fn add_wall(&self, i: usize) {
        self.bytes[i].store(self.bytes[i].load(Relaxed) | 1, Relaxed);
    }

    /// Makes a sphere count as one with [`MANY_CONTACTS`] with spheres or more, for the rest of the substep.
    pub fn hold(&self, i: usize) {
        self.bytes[i].fetch_or(2 * MANY_CONTACTS, Relaxed);
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
        self.bytes.capacity() + self.known.bytes()
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
        let mut absent = vec![];
        bits.for_absent(62..130, |i| absent.push(i));
        assert_eq!(absent, [62].into_iter().chain(65..128).chain([129]).collect::<Vec<_>>());
        let mut present = vec![];
        bits.for_members(60..199, |i| present.push(i));
        assert_eq!(present, [63, 64, 128]);
        let mut other = Bits::default();
        other.reset(200);
        other.assign(0..200, |i| i % 50 == 0);
        other.assign(100..200, |i| i == 100 || i == 127);
        let mut either = vec![];
        bits.for_members_of_either(&other, 1..199, |i| either.push(i));
        assert_eq!(either, [50, 63, 64, 100, 127, 128]);
        let mut parts = vec![];
        bits.for_parts(63..129, |part, are_all| parts.push((part, are_all)));
        assert_eq!(parts, [(63..64, true), (64..128, false), (128..129, true)]);
        assert!(bits.has_all(63..65) && bits.has_all(70..70) && !bits.has_all(63..66));
        assert!(bits.has_any(65..129) && !bits.has_any(65..128) && !bits.has_any(64..64));
        let mut runs = vec![];
        bits.for_absent_runs(60..130, |run| runs.extend((!run.is_empty()).then_some(run)));
        assert_eq!(runs, [60..63, 65..128, 129..130]);
        let mut copy = Bits::default();
        copy.copy_from(&bits);
        copy.list(&mut list);
        assert_eq!(list, [0, 63, 64, 128, 199]);
        bits.reset(200);
        bits.list(&mut list);
        assert!(list.is_empty());
    }

    #[test]
    fn a_full_set_has_the_indices_below_its_count_and_a_union_those_of_both() {
        let mut bits = Bits::default();
        for count in [0, 1, 200, 63, 64, 65, 128] {
            bits.fill(count);
            assert_eq!(bits.count(), count as u64);
        }
        let mut other = Bits::default();
        other.reset(128);
        bits.reset(128);
        [3, 64].into_iter().for_each(|i| bits.insert(i));
        [64, 127].into_iter().for_each(|i| other.insert(i));
        bits.unite(&other);
        let mut list = vec![];
        bits.list(&mut list);
        assert_eq!(list, [3, 64, 127]);
    }
}
