//! Work shared among threads so that the result does not depend on their number.
//!
//! Every task covers a fixed range of items, whatever the number of threads; what tasks produce is put together in
//! the order of the ranges. So sums and lists have one order for any number of threads.

use std::{marker::PhantomData, ops::Range};

use rayon::prelude::*;

/// Items of one task. Smaller tasks spread better, larger ones cost less; it also fixes the order of sums.
pub const TASK: usize = 1024;

/// Up to this many items one thread is faster than waking the others.
const SERIAL: usize = 2 * TASK;

/// Runs `work` on all of `0..count`, a range of at most `task` at a time.
pub fn for_ranges(count: usize, task: usize, work: impl Fn(Range<usize>) + Sync) {
    let range = |k: usize| k * task..count.min((k + 1) * task);
    let tasks = count.div_ceil(task);
    if count <= SERIAL {
        (0..tasks).for_each(|k| work(range(k)));
    } else {
        (0..tasks).into_par_iter().for_each(|k| work(range(k)));
    }
}

/// Outputs that a thread goes on with at a time, or more; fewer where there are not as many for each.
const CHUNK: usize = 8;

/// One output for each task, kept between calls so that a steady step allocates nothing.
#[derive(Default)]
pub struct Outputs<T> {
    slots: Vec<T>,
    used: usize,
}

impl<T: Default + Send> Outputs<T> {
    /// Runs `work` on all of `0..count` in tasks; each gets its own output, as the call before left it.
    pub fn run(&mut self, count: usize, task: usize, work: impl Fn(Range<usize>, &mut T) + Sync) {
        let tasks = count.div_ceil(task);
        if self.slots.len() < tasks {
            self.slots.resize_with(tasks, T::default);
        }
        self.used = tasks;
        let range = |k: usize| k * task..count.min((k + 1) * task);
        let slots = self.slots[..tasks].iter_mut().enumerate();
        if count <= SERIAL.min(16 * task) {
            slots.for_each(|(k, out)| work(range(k), out));
        } else {
            self.slots[..tasks].par_iter_mut().enumerate().for_each(|(k, out)| work(range(k), out));
        }
    }

    /// Goes on with some of the outputs of the last call.
    pub fn for_each_of(&mut self, tasks: Range<usize>, work: impl Fn(&mut T) + Send + Sync) {
        self.slots[tasks].par_iter_mut().for_each(work);
    }

    /// Goes on with some of the outputs of the last call, several at a time; how many depends on
    /// the threads, so what becomes of an output must not depend on which others are with it.
    pub fn for_chunks_of(&mut self, tasks: Range<usize>, work: impl Fn(&mut [T]) + Send + Sync) {
        let threads = rayon::current_num_threads();
        let chunks = threads * (tasks.len() / (CHUNK * threads)).max(1);
        let size = tasks.len().div_ceil(chunks).max(1);
        self.slots[tasks].par_chunks_mut(size).for_each(work);
    }

    /// Reads all outputs of the last call, in any order.
    pub fn look(&self, work: impl Fn(&T) + Send + Sync)
    where
        T: Sync,
    {
        self.slots[..self.used].par_iter().for_each(work);
    }

    /// Goes on with all outputs of the last call.
    pub fn for_each(&mut self, work: impl Fn(&mut T) + Send + Sync) {
        self.for_each_of(0..self.used, work);
    }

    /// The outputs of the last call, in order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.slots[..self.used].iter()
    }

    /// The output of task `k`.
    pub fn get(&self, k: usize) -> &T {
        &self.slots[k]
    }

    /// All outputs there ever were.
    pub fn all(&self) -> &[T] {
        &self.slots
    }
}

/// A slice that several threads write at once, each at places of its own.
pub struct Disjoint<'a, T> {
    start: *mut T,
    len: usize,
    life: PhantomData<&'a mut [T]>,
}

// SAFETY: places are handed out by `set` and `get`, whose callers promise that no place is shared.
unsafe impl<T: Send> Sync for Disjoint<'_, T> {}

impl<'a, T: Copy> Disjoint<'a, T> {
    /// Takes the slice for as long as the threads run.
    pub fn new(slice: &'a mut [T]) -> Self {
        Self { start: slice.as_mut_ptr(), len: slice.len(), life: PhantomData }
    }

    /// Reads place `i`.
    ///
    /// # Safety
    /// No other thread writes place `i` meanwhile.
    #[inline]
    pub unsafe fn get(&self, i: usize) -> T {
        assert!(i < self.len);
        // SAFETY: in bounds by the assertion, not written meanwhile by the caller's promise.
        unsafe { self.start.add(i).read() }
    }

    /// Writes place `i`.
    ///
    /// # Safety
    /// No other thread reads or writes place `i` meanwhile.
    #[inline]
    pub unsafe fn set(&self, i: usize, value: T) {
        assert!(i < self.len);
        // SAFETY: in bounds by the assertion, not shared by the caller's promise.
        unsafe { self.start.add(i).write(value) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_hold_every_output_once() {
        for count in [0, 1, 3, 7, 8, 9, 31, 200] {
            let mut outputs = Outputs::<u32>::default();
            outputs.run(count + 2, 1, |_, out| *out = 0);
            outputs.for_chunks_of(1..count + 1, |chunk| chunk.iter_mut().for_each(|out| *out += 1));
            assert!(outputs.iter().enumerate().all(|(k, &out)| out == u32::from((1..=count).contains(&k))));
        }
    }
}
