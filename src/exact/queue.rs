//! Priority queue of the next event of every sphere, earliest first.

use std::{cmp::Ordering, collections::BinaryHeap};

/// Key of an event in the queue: its time. Ties are broken by `rank`, then by the sphere that holds the event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Key {
    pub time: f64,
    pub rank: u64,
}

impl Key {
    pub const NEVER: Self = Self { time: f64::INFINITY, rank: u64::MAX };

    pub fn before(self, other: Self) -> bool {
        self.order(other) == Ordering::Less
    }

    fn order(self, other: Self) -> Ordering {
        self.time.total_cmp(&other.time).then(self.rank.cmp(&other.rank))
    }
}

#[derive(Clone, Copy)]
struct Entry {
    key: Key,
    sphere: u32,
}

// The largest entry is the earliest, because `BinaryHeap` gives the largest first.
impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        other.key.order(self.key).then(other.sphere.cmp(&self.sphere))
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Entry {}

// Spheres per event of a window. More events make the window exceed the cache, fewer make its search through all keys
// frequent.
const SPHERES_PER_EVENT: usize = 8;

// A window of few spheres holds this many events all the same.
const FEWEST: usize = 256;

// Events per bucket at the time when the window is filled.
const PER_BUCKET: usize = 8;

// Attempts to find a width that gives the wanted number of events. Events that are simultaneous cannot be divided.
const ATTEMPTS: usize = 10;

/// A queue of buckets (Paul, J. Comput. Phys. 221, 615, 2007) over a window of time.
///
/// Each sphere has one key. The buckets hold the keys inside the window, in no order; a heap orders those of the present
/// bucket. A key that changes leaves its entry behind, which is void because it differs from the key of its sphere.
#[derive(Default)]
pub(super) struct Queue {
    keys: Vec<Key>,
    // The window ends before `until`; its buckets divide it from `from` on.
    from: f64,
    until: f64,
    // No key outside the window is earlier.
    earliest: f64,
    buckets_per_time: f64,
    // Wanted width of the window.
    width: f64,
    // The buckets in use. The entries of those before `next` are in the heap.
    used: usize,
    next: usize,
    buckets: Vec<Vec<Entry>>,
    heap: BinaryHeap<Entry>,
}

impl Queue {
    pub fn new(count: usize) -> Self {
        let (until, earliest) = (f64::NEG_INFINITY, f64::INFINITY);
        Self { keys: vec![Key::NEVER; count], until, earliest, width: f64::INFINITY, ..Self::default() }
    }

    /// Replaces the event of a sphere.
    pub fn set(&mut self, sphere: usize, key: Key) {
        self.keys[sphere] = key;
        if key.time < self.until {
            self.push(Entry { key, sphere: sphere as u32 });
        } else {
            self.earliest = self.earliest.min(key.time);
        }
    }

    /// Takes the sphere with the earliest event before `limit`; its next event must be set then.
    pub fn pop(&mut self, limit: f64) -> Option<(usize, Key)> {
        loop {
            while let Some(&Entry { key, sphere }) = self.heap.peek() {
                let valid = self.keys[sphere as usize] == key;
                if valid && key.time >= limit {
                    return None;
                }
                self.heap.pop();
                if valid {
                    return Some((sphere as usize, key));
                }
            }
            if self.next < self.used {
                self.open_bucket();
            } else if !self.open_window(limit) {
                return None;
            }
        }
    }

    /// Number of the present bucket; every bucket of a window has another.
    pub fn bucket(&self) -> usize {
        self.next
    }

    /// The spheres of the bucket that comes `later` buckets after the present one, in no order. Some of the entries may be void.
    pub fn coming(&self, later: usize) -> impl Iterator<Item = usize> {
        let entries = match later {
            0 => self.heap.as_slice(),
            _ => self.buckets[..self.used].get(self.next + later - 1).map_or(&[][..], Vec::as_slice),
        };
        entries.iter().map(|entry| entry.sphere as usize)
    }

    /// Moves the origin of time to `dt`.
    pub fn rebase(&mut self, dt: f64) {
        self.close();
        for key in &mut self.keys {
            key.time -= dt;
            self.earliest = self.earliest.min(key.time);
        }
    }

    /// Renumbers the spheres; `old` gives the former number.
    pub fn reorder(&mut self, old: impl Fn(usize) -> usize) {
        self.keys = (0..self.keys.len()).map(|new| self.keys[old(new)]).collect();
        self.close();
        self.earliest = self.keys.iter().fold(f64::INFINITY, |earliest, key| earliest.min(key.time));
    }

    pub fn memory_bytes(&self) -> usize {
        let entries = self.buckets.iter().map(Vec::capacity).sum::<usize>() + self.heap.capacity();
        self.keys.capacity() * size_of::<Key>()
            + self.buckets.capacity() * size_of::<Vec<Entry>>()
            + entries * size_of::<Entry>()
    }

    // Empties the window. The keys stay; `earliest` is to be found anew.
    fn close(&mut self) {
        for bucket in &mut self.buckets[self.next.min(self.used)..self.used] {
            bucket.clear();
        }
        self.heap.clear();
        (self.used, self.next) = (0, 0);
        (self.until, self.earliest) = (f64::NEG_INFINITY, f64::INFINITY);
    }

    fn push(&mut self, entry: Entry) {
        // Increases with the time, so that no bucket holds an entry later than one of a following bucket.
        let bucket = ((entry.key.time - self.from) * self.buckets_per_time) as usize;
        let bucket = bucket.min(self.used - 1);
        if bucket < self.next {
            self.heap.push(entry);
        } else {
            self.buckets[bucket].push(entry);
        }
    }

    fn open_bucket(&mut self) {
        let empty = std::mem::take(&mut self.heap).into_vec();
        let mut bucket = std::mem::replace(&mut self.buckets[self.next], empty);
        bucket.retain(|entry| self.keys[entry.sphere as usize] == entry.key);
        self.heap = BinaryHeap::from(bucket);
        self.next += 1;
    }

    // Fills a new window with the earliest keys before `limit`; false if there are none. All keys of the last window are taken.
    fn open_window(&mut self, limit: f64) -> bool {
        let from = self.earliest;
        if from >= limit {
            return false;
        }
        let wanted = (self.keys.len() / SPHERES_PER_EVENT).max(FEWEST);
        let most = limit - from;
        if self.width == f64::INFINITY {
            let count = self.keys.iter().filter(|key| key.time < limit).count();
            self.width = most * wanted as f64 / count.max(1) as f64;
        }
        for _ in 0..ATTEMPTS {
            let width = self.width.min(most);
            let share = if self.width > most { most / self.width } else { 1.0 };
            // A window that is empty by rounding ends at the limit.
            let until = if from + width > from { (from + width).min(limit) } else { limit };
            let buckets = (share * (wanted / PER_BUCKET) as f64) as usize;
            let count = self.fill(from, until, buckets.max(1));
            let expected = (share * wanted as f64).max(FEWEST as f64);
            if count as f64 > 2.0 * expected {
                self.width = width * (wanted as f64 / count as f64);
                continue;
            }
            if self.width <= most && count < wanted / 2 {
                self.width *= 2.0;
            }
            break;
        }
        true
    }

    // Sets the window and its buckets, and fills them. Returns the number of their keys.
    fn fill(&mut self, from: f64, until: f64, buckets: usize) -> usize {
        self.close();
        if self.buckets.len() < buckets {
            self.buckets.resize_with(buckets, Vec::new);
        }
        (self.from, self.until, self.used) = (from, until, buckets);
        self.buckets_per_time = buckets as f64 / (until - from);
        let mut count = 0;
        for sphere in 0..self.keys.len() {
            let key = self.keys[sphere];
            if key.time < until {
                count += 1;
                self.push(Entry { key, sphere: sphere as u32 });
            } else {
                self.earliest = self.earliest.min(key.time);
            }
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64;

    use super::*;

    fn earliest(keys: &[Key], limit: f64) -> Option<(usize, Key)> {
        let first = (0..keys.len()).min_by(|&a, &b| keys[a].order(keys[b]).then(a.cmp(&b)))?;
        (keys[first].time < limit).then_some((first, keys[first]))
    }

    // A time of an event after `now`: often equal to others, sometimes far in the future or never.
    fn draw(rng: &mut Pcg64, now: f64) -> Key {
        let time = match rng.random_range(0..20) {
            0 => return Key::NEVER,
            1 => now,
            2 => now + 1e6 * rng.random_range(0.0..1.0),
            3 => now + 1e-12 * rng.random_range(0.0..1.0),
            4..10 => (now * 8.0).ceil() / 8.0 + f64::from(rng.random_range(0..16)) / 8.0,
            _ => now - rng.random_range(0.0f64..1.0).ln(),
        };
        Key { time, rank: rng.random_range(0..3) }
    }

    // Plays random events, with the earliest of all keys as the reference.
    fn play(count: usize, step: f64, steps: usize) -> usize {
        let mut rng = Pcg64::seed_from_u64(count as u64);
        let mut queue = Queue::new(count);
        let mut keys = vec![Key::NEVER; count];
        let set = |queue: &mut Queue, keys: &mut [Key], sphere: usize, key: Key| {
            keys[sphere] = key;
            queue.set(sphere, key);
        };
        for sphere in 0..count {
            set(&mut queue, &mut keys, sphere, draw(&mut rng, 0.0));
        }
        let mut events = 0;
        for _ in 0..steps {
            // Otherwise all may come to have no event.
            set(&mut queue, &mut keys, 0, draw(&mut rng, 0.0));
            // Bounds the simultaneous events, which may go on without end.
            let most = events + 20 * count;
            while let Some((sphere, key)) = queue.pop(step) {
                assert_eq!(Some((sphere, key)), earliest(&keys, step));
                events += 1;
                let next = if events < most { draw(&mut rng, key.time) } else { Key::NEVER };
                set(&mut queue, &mut keys, sphere, next);
                // An impact changes the event of the partner too, and a sphere may get the same event twice.
                let partner = rng.random_range(0..count);
                let next = if rng.random_bool(0.2) { keys[partner] } else { draw(&mut rng, key.time) };
                set(&mut queue, &mut keys, partner, next);
            }
            assert_eq!(earliest(&keys, step), None);
            queue.rebase(step);
            keys.iter_mut().for_each(|key| key.time -= step);
            let shift = rng.random_range(0..count);
            queue.reorder(|new| (new + shift) % count);
            keys.rotate_left(shift);
        }
        events
    }

    #[test]
    fn the_first_is_the_earliest_after_any_updates() {
        assert!(play(1, 0.5, 200) > 20);
        assert!(play(37, 0.5, 40) > 500);
        // Less and more than a window of events in a step.
        assert!(play(700, 0.01, 20) > 50);
        assert!(play(700, 1.5, 5) > 1000);
        assert!(play(2000, 3.0, 1) > 2000);
    }

    #[test]
    fn a_window_shrinks_when_events_become_frequent() {
        let (count, events) = (20_000, 4000);
        let mut queue = Queue::new(count);
        queue.set(0, Key { time: 0.5, rank: 0 });
        assert_eq!(queue.pop(1.0).map(|(first, _)| first), Some(0));
        queue.set(0, Key::NEVER);
        assert_eq!(queue.pop(1.0), None);
        for sphere in 0..events {
            queue.set(sphere, Key { time: 1.0 + sphere as f64 / events as f64, rank: 0 });
        }
        for sphere in 0..events {
            assert_eq!(queue.pop(2.0).map(|(first, _)| first), Some(sphere));
            queue.set(sphere, Key::NEVER);
            assert!(queue.heap.len() <= 10 * PER_BUCKET, "{sphere}: {}", queue.heap.len());
        }
    }

    #[test]
    fn simultaneous_events_come_by_rank_then_by_sphere() {
        let count = 5000;
        let mut queue = Queue::new(count);
        for sphere in 0..count {
            queue.set(sphere, Key { time: 1.0, rank: u64::from(sphere % 2 == 0) });
        }
        let expected = (0..count).filter(|s| s % 2 == 1).chain((0..count).filter(|s| s % 2 == 0));
        for sphere in expected {
            assert_eq!(queue.pop(2.0).map(|(first, _)| first), Some(sphere));
            queue.set(sphere, Key::NEVER);
        }
        assert_eq!(queue.pop(f64::INFINITY), None);
    }

    #[test]
    fn an_event_at_the_limit_waits_for_the_next_step() {
        let mut queue = Queue::new(2);
        queue.set(0, Key { time: 1.0, rank: 0 });
        queue.set(1, Key { time: 1e300, rank: 0 });
        assert_eq!(queue.pop(1.0), None);
        queue.rebase(1.0);
        assert_eq!(queue.pop(1.0), Some((0, Key { time: 0.0, rank: 0 })));
        queue.set(0, Key { time: 0.5, rank: 7 });
        queue.set(0, Key { time: 0.25, rank: 7 });
        assert_eq!(queue.pop(1.0), Some((0, Key { time: 0.25, rank: 7 })));
        queue.set(0, Key::NEVER);
        assert_eq!(queue.pop(1.0), None);
        assert_eq!(queue.pop(f64::INFINITY), Some((1, Key { time: 1e300, rank: 0 })));
    }
}
