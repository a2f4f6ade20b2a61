//! Counts the bytes that a thread has allocated.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
};

struct Counting;

thread_local! {
    static HELD: Cell<i64> = const { Cell::new(0) };
    static PEAK: Cell<i64> = const { Cell::new(0) };
}

fn count(bytes: i64) {
    HELD.set(HELD.get() + bytes);
    PEAK.set(PEAK.get().max(HELD.get()));
}

// SAFETY: every call goes to the allocator of the system unchanged; the counters are of one thread and need no memory.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as i64);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-(layout.size() as i64));
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The largest number of bytes that this thread held at once during a call, above those before.
pub fn peak<T>(call: impl FnOnce() -> T) -> (T, u64) {
    let before = HELD.get();
    PEAK.set(before);
    let result = call();
    (result, (PEAK.get() - before) as u64)
}

#[test]
fn the_peak_of_a_call_is_counted() {
    let (length, bytes) = peak(|| vec![0_u8; 1 << 20].len() + vec![1_u8; 1 << 10].len());
    assert_eq!(length, (1 << 20) + (1 << 10));
    assert!((1 << 20..(1 << 20) + (1 << 12)).contains(&bytes), "{bytes}");
}
