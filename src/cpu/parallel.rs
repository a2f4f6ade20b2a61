//! Parallel loops whose result does not depend on the number of threads.
//!
//! Every task covers a fixed range of items, and the outputs of the tasks are joined in the order of their ranges. Sums and
//! lists are therefore formed in the same order for any number of threads.

use std::{
    cell::Cell,
    marker::PhantomData,
    ops::Range,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
};

use rayon::prelude::*;

/// Items per task if an item takes nanoseconds. Smaller tasks balance better, larger ones have less overhead.
pub const TASK: usize = 1024;

/// A loop over few items has about this many tasks, of at least `LEAST` items. Up to `FEW` tasks of up to [`TASK`] items one thread
/// is faster than several. These values, not the number of threads, fix the order of sums.
const TASKS: usize = 16;
const LEAST: usize = 64;
const FEW: usize = 2;

thread_local! {
    static IS_ALONE: Cell<bool> = const { Cell::new(false) };
}

/// Runs `work` without the help of other threads.
pub fn alone<R>(work: impl FnOnce() -> R) -> R {
    struct Reset(bool);
    impl Drop for Reset {
        fn drop(&mut self) {
            IS_ALONE.set(self.0);
        }
    }
    let _reset = Reset(IS_ALONE.replace(true));
    work()
}

/// Threads for a loop: those of the current pool, or one in [`alone`].
pub fn threads() -> usize {
    if IS_ALONE.get() { 1 } else { rayon::current_num_threads() }
}

/// Runs `work` on `0..count` in ranges of at most `task` items.
pub fn for_ranges(count: usize, task: usize, work: impl Fn(Range<usize>) + Sync) {
    let task = task.min(fitting(count));
    let range = |k: usize| k * task..count.min((k + 1) * task);
    let tasks = count.div_ceil(task);
    if tasks <= FEW || threads() == 1 {
        (0..tasks).for_each(|k| work(range(k)));
    } else {
        (0..tasks).into_par_iter().for_each(|k| work(range(k)));
    }
}

/// Runs two functions, at the same time if there are several threads.
pub fn join(first: impl FnOnce() + Send, second: impl FnOnce() + Send) {
    if threads() == 1 {
        first();
        second();
    } else {
        rayon::join(first, second);
    }
}

/// Sets all values of a column.
pub fn fill<T: Copy + Send + Sync>(column: &mut [T], value: T) {
    column.par_chunks_mut(16 * TASK).for_each(|part| part.fill(value));
}

// Items per task that divide a small number of items among enough tasks, in whole words of a set.
fn fitting(count: usize) -> usize {
    (count / TASKS).next_multiple_of(LEAST).max(LEAST)
}

/// Adds one to counters that several threads may share.
#[derive(Clone, Copy)]
pub struct Counting {
    is_shared: bool,
}

impl Counting {
    /// For the threads of the current pool.
    pub fn here() -> Self {
        Self { is_shared: threads() > 1 }
    }

    /// Adds one to a counter and returns its value before. Without atomic additions, `bin` takes about half of the time.
    #[inline(always)]
    pub fn next(self, counter: &AtomicU32) -> u32 {
        if self.is_shared {
            return counter.fetch_add(1, Relaxed);
        }
        let before = counter.load(Relaxed);
        counter.store(before + 1, Relaxed);
        before
    }
}

/// One output for each task, kept between calls so that a steady step allocates nothing.
#[derive(Default)]
pub struct Outputs<T> {
    slots: Vec<T>,
    used: usize,
}

impl<T: Default + Send> Outputs<T> {
    /// Runs `work` on `0..count` in tasks. Each task gets its own output, in the state that the previous call left it.
    pub fn run(&mut self, count: usize, task: usize, work: impl Fn(Range<usize>, &mut T) + Sync) {
        let tasks = count.div_ceil(task);
        self.use_slots(tasks);
        let range = |k: usize| k * task..count.min((k + 1) * task);
        let slots = self.slots[..tasks].iter_mut().enumerate();
        if tasks <= 1 || (tasks <= FEW && task <= TASK) || threads() == 1 {
            slots.for_each(|(k, out)| work(range(k), out));
        } else {
            self.slots[..tasks].par_iter_mut().enumerate().for_each(|(k, out)| work(range(k), out));
        }
    }

    /// Begins a call of `count` tasks.
    pub fn use_slots(&mut self, count: usize) {
        if self.slots.len() < count {
            self.slots.resize_with(count, T::default);
        }
        self.used = count;
    }

    /// As [`run`](Self::run), in tasks of at most `task` items; smaller tasks if there are few items.
    pub fn run_evenly(&mut self, count: usize, task: usize, work: impl Fn(Range<usize>, &mut T) + Sync) {
        self.run(count, task.min(fitting(count)), work);
    }

    /// Runs `work` on some of the outputs of the last call.
    pub fn for_each_of(&mut self, tasks: Range<usize>, work: impl Fn(&mut T) + Send + Sync) {
        let slots = &mut self.slots[tasks];
        if slots.len() <= FEW || threads() == 1 {
            slots.iter_mut().for_each(work);
        } else {
            slots.par_iter_mut().for_each(work);
        }
    }

    /// Some of the outputs of the last call.
    pub fn some(&mut self, tasks: Range<usize>) -> &mut [T] {
        &mut self.slots[tasks]
    }

    /// The first `count` of all outputs, new ones included.
    pub fn some_of_all(&mut self, count: usize) -> &mut [T] {
        if self.slots.len() < count {
            self.slots.resize_with(count, T::default);
        }
        &mut self.slots[..count]
    }

    /// Reads all outputs of the last call, in any order.
    pub fn look(&self, work: impl Fn(&T) + Send + Sync)
    where
        T: Sync,
    {
        self.look_at(0..self.used, work);
    }

    /// Reads some of the outputs of the last call, in any order.
    pub fn look_at(&self, tasks: Range<usize>, work: impl Fn(&T) + Send + Sync)
    where
        T: Sync,
    {
        let slots = &self.slots[tasks];
        if slots.len() <= FEW || threads() == 1 {
            slots.iter().for_each(work);
        } else {
            slots.par_iter().for_each(work);
        }
    }

    /// Runs `work` on all outputs of the last call.
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

    /// All outputs that exist, including those that the last call did not use.
    pub fn all(&self) -> &[T] {
        &self.slots
    }
}

/// A slice that several threads write at once, each at different indices.
pub struct Disjoint<'a, T> {
    start: *mut T,
    len: usize,
    life: PhantomData<&'a mut [T]>,
}

// SAFETY: elements are accessed by `set` and `get` only, whose callers promise that no element is shared.
unsafe impl<T: Send> Sync for Disjoint<'_, T> {}

impl<'a, T: Copy> Disjoint<'a, T> {
    /// Borrows the slice for as long as the threads run.
    pub fn new(slice: &'a mut [T]) -> Self {
        Self { start: slice.as_mut_ptr(), len: slice.len(), life: PhantomData }
    }

    /// Where element `i` is. Reads and writes follow the rules of [`get`](Self::get) and [`set`](Self::set).
    #[inline]
    pub fn at(&self, i: usize) -> *mut T {
        assert!(i < self.len);
        // SAFETY: in bounds by the assertion.
        unsafe { self.start.add(i) }
    }

    /// Reads element `i`.
    ///
    /// # Safety
    /// No other thread may write element `i` at the same time.
    #[inline]
    pub unsafe fn get(&self, i: usize) -> T {
        assert!(i < self.len);
        // SAFETY: in bounds by the assertion; not written concurrently by the caller's promise.
        unsafe { self.start.add(i).read() }
    }

    /// Writes element `i`.
    ///
    /// # Safety
    /// No other thread may read or write element `i` at the same time.
    #[inline]
    pub unsafe fn set(&self, i: usize, value: T) {
        assert!(i < self.len);
        // SAFETY: in bounds by the assertion, not shared by the caller's promise.
        unsafe { self.start.add(i).write(value) }
    }
}
