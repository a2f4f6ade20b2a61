//! Priority queue of the next event of every sphere, earliest first.

use std::cmp::Ordering;

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

impl Entry {
    fn before(self, other: Self) -> bool {
        self.key.order(other.key).then(self.sphere.cmp(&other.sphere)) == Ordering::Less
    }
}

/// A binary heap that holds every sphere once, with the position of each sphere in the heap.
#[derive(Default)]
pub(super) struct Queue {
    heap: Vec<Entry>,
    // Index of each sphere in `heap`.
    place: Vec<u32>,
}

impl Queue {
    pub fn new(count: usize) -> Self {
        let heap = (0..count as u32).map(|sphere| Entry { key: Key::NEVER, sphere }).collect();
        Self { heap, place: (0..count as u32).collect() }
    }

    /// The sphere with the earliest event.
    pub fn first(&self) -> Option<(usize, Key)> {
        self.heap.first().map(|e| (e.sphere as usize, e.key))
    }

    pub fn set(&mut self, sphere: usize, key: Key) {
        let place = self.place[sphere] as usize;
        let earlier = key.before(self.heap[place].key);
        self.heap[place].key = key;
        if earlier { self.rise(place) } else { self.sink(place) }
    }

    /// Moves the origin of time to `dt`.
    pub fn rebase(&mut self, dt: f64) {
        for entry in &mut self.heap {
            entry.key.time -= dt;
        }
        // Rounding may have created ties, which are ordered by rank instead of time.
        for place in (0..self.heap.len() / 2).rev() {
            self.sink(place);
        }
    }

    /// Renumbers the spheres; `place` gives the new number of each.
    pub fn reorder(&mut self, place: &[u32]) {
        for (k, entry) in self.heap.iter_mut().enumerate() {
            entry.sphere = place[entry.sphere as usize];
            self.place[entry.sphere as usize] = k as u32;
        }
        for place in (0..self.heap.len() / 2).rev() {
            self.sink(place);
        }
    }

    pub fn memory_bytes(&self) -> usize {
        self.heap.capacity() * size_of::<Entry>() + self.place.capacity() * size_of::<u32>()
    }

    fn rise(&mut self, mut place: usize) {
        let entry = self.heap[place];
        while place > 0 {
            let parent = (place - 1) / 2;
            if !entry.before(self.heap[parent]) {
                break;
            }
            self.put(place, self.heap[parent]);
            place = parent;
        }
        self.put(place, entry);
    }

    fn sink(&mut self, mut place: usize) {
        let entry = self.heap[place];
        loop {
            let mut child = 2 * place + 1;
            if child >= self.heap.len() {
                break;
            }
            if child + 1 < self.heap.len() && self.heap[child + 1].before(self.heap[child]) {
                child += 1;
            }
            if !self.heap[child].before(entry) {
                break;
            }
            self.put(place, self.heap[child]);
            place = child;
        }
        self.put(place, entry);
    }

    fn put(&mut self, place: usize, entry: Entry) {
        self.heap[place] = entry;
        self.place[entry.sphere as usize] = place as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_is_the_earliest_after_any_updates() {
        let mut queue = Queue::new(37);
        let mut keys = [Key::NEVER; 37];
        let mut state = 12345u64;
        for _ in 0..5000 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let sphere = (state >> 33) as usize % 37;
            let key = Key { time: ((state >> 40) % 50) as f64, rank: (state >> 50) % 3 };
            keys[sphere] = key;
            queue.set(sphere, key);
            let earliest =
                (0..37).min_by(|&a, &b| keys[a].order(keys[b]).then(a.cmp(&b))).map(|i| (i, keys[i]));
            assert_eq!(queue.first(), earliest);
        }
    }
}
