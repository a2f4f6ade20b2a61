//! Loads ahead of time what the next events need.
//!
//! Consecutive events are far apart in space and so in memory. With a hundred thousand spheres the processor would wait for
//! memory most of the time. The queue knows the next events, so their spheres, cells and neighbours can be asked for while others
//! are handled. Results do not depend on this.

use super::{
    ExactEngine,
    grid::Neighborhood,
    slot::{Alone, Next},
};

/// Asks for the cache line in which a value begins, without waiting.
#[inline(always)]
pub(super) fn prefetch<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch has no effect on the program, and the address is that of a value.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(value).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}

impl ExactEngine {
    /// To be called when the queue opens a bucket. The data depend on each other, so they are asked for in the order in which they
    /// lead to one another, one bucket later each.
    pub(super) fn look_ahead(&self) {
        for i in self.queue.coming(3) {
            self.fetch(i);
        }
        for i in self.queue.coming(2) {
            if let Next::Meeting(meeting) = self.slots[i].next(self.properties[i].number) {
                self.fetch(meeting.partner as usize);
            }
        }
        for i in self.queue.coming(1) {
            self.searches(i, |i, which| self.grid.fetch_rows(i, which));
        }
        for i in self.queue.coming(0) {
            self.searches(i, |i, which| {
                self.grid.fetch_spheres(i, which, |k| prefetch(&self.bodies[k]));
            });
        }
    }

    fn fetch(&self, i: usize) {
        self.slots[i].fetch();
        prefetch(&self.bodies[i]);
        prefetch(&self.properties[i]);
        self.grid.fetch_cell(i);
    }

    // Calls `search` for the searches that will follow the next event of a sphere.
    fn searches(&self, i: usize, search: impl Fn(usize, Neighborhood)) {
        match self.slots[i].next(self.properties[i].number) {
            Next::Meeting(meeting) => {
                let j = meeting.partner as usize;
                if self.properties[j].impacts == meeting.partner_impacts {
                    search(i, Neighborhood::All);
                    search(j, Neighborhood::All);
                }
            }
            Next::Alone(Alone::Cross(axis, way)) => {
                search(i, Neighborhood::Layer(axis as usize, i64::from(way)));
            }
            Next::Alone(_) | Next::Search => search(i, Neighborhood::All),
        }
    }
}
