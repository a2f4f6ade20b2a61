//! Stage `scatter`: stores the whole state in bucket order. Within a bucket the spheres are sorted by id, so their order
//! depends neither on the number of threads nor on the previous order.

use std::sync::atomic::AtomicU32;

use rayon::prelude::*;

use crate::{
    cpu::parallel::{Counting, Disjoint, TASK, for_ranges},
    state::columns::State,
};

/// Fills `target` with the spheres of `source` in bucket order; `order` receives the previous index of each sphere.
pub fn scatter(
    source: &State,
    target: &mut State,
    keys: &[u32],
    cursors: &[AtomicU32],
    starts: &[u32],
    order: &mut [u32],
) {
    let (places, counting) = (Disjoint::new(order), Counting::here());
    for_ranges(source.len(), TASK, |range| {
        for i in range {
            let place = counting.next(&cursors[keys[i] as usize]);
            // SAFETY: a cursor hands out every place once.
            unsafe { places.set(place as usize, i as u32) };
        }
    });
    for_ranges(cursors.len(), 16 * TASK, |range| {
        for k in range {
            let (start, end) = (starts[k] as usize, starts[k + 1] as usize);
            // Insertion sort, because a bucket holds few spheres. SAFETY: buckets do not share places.
            for sorted in start + 1..end {
                let item = unsafe { places.get(sorted) };
                let id = source.id[item as usize];
                let mut hole = sorted;
                while hole > start {
                    let before = unsafe { places.get(hole - 1) };
                    if source.id[before as usize] <= id {
                        break;
                    }
                    unsafe { places.set(hole, before) };
                    hole -= 1;
                }
                unsafe { places.set(hole, item) };
            }
        }
    });
    let order = &*order;
    (&mut target.place, &mut target.cell, &mut target.motion, &mut target.spin, &mut target.id, order)
        .into_par_iter()
        .with_min_len(TASK)
        .for_each(|(place, cell, motion, spin, id, &from)| {
            let from = from as usize;
            *place = source.place[from];
            *cell = source.cell[from];
            *motion = source.motion[from];
            *spin = source.spin[from];
            *id = source.id[from];
        });
}
