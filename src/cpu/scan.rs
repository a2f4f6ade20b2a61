//! Stage `scan`: exclusive prefix sum of the histogram. The stage sums each part of the histogram, scans the sums, then
//! scans each part, so that no part waits for another.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use rayon::prelude::*;

/// Buckets summed by one task.
const PART: usize = 16 * 1024;

/// Sets `starts[k]` and `counts[k]` (the cursor of `scatter`) to the number of spheres in buckets below `k`. `starts` is
/// longer than `counts` by one and ends with the total.
pub fn scan(counts: &[AtomicU32], starts: &mut [u32], sums: &mut Vec<u32>) {
    counts
        .par_chunks(PART)
        .map(|part| part.iter().map(|n| n.load(Relaxed)).sum::<u32>())
        .collect_into_vec(sums);
    let mut total = 0;
    for sum in sums.iter_mut() {
        total += std::mem::replace(sum, total);
    }
    if let Some(last) = starts.last_mut() {
        *last = total;
    }
    (starts.par_chunks_mut(PART), counts.par_chunks(PART), &*sums).into_par_iter().for_each(
        |(starts, counts, &sum)| {
            let mut before = sum;
            for (start, count) in starts.iter_mut().zip(counts) {
                *start = before;
                // No other task uses the counter. An atomic exchange would take most of the time.
                before += count.load(Relaxed);
                count.store(*start, Relaxed);
            }
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scan_equals_the_running_sum_at_every_size_around_a_part() {
        for len in [0, 1, PART - 1, PART, PART + 1, 3 * PART + 17] {
            let value = |k: usize| (k * 7 % 5) as u32;
            let counts: Vec<_> = (0..len).map(|k| AtomicU32::new(value(k))).collect();
            let mut starts = vec![99; len + 1];
            scan(&counts, &mut starts, &mut vec![]);
            let mut sum = 0;
            for k in 0..len {
                assert_eq!((starts[k], counts[k].load(Relaxed)), (sum, sum), "{k} of {len}");
                sum += value(k);
            }
            assert_eq!(starts[len], sum);
        }
    }
}
