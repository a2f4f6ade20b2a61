//! Divides a step into submits of a bounded number of dispatches: drivers reset a device that is busy with one submit for too long
//! (Windows after 2 s, others after 5 to 10 s), and the display waits for it. The mean time of a dispatch decides, so a submit with
//! several of the longest dispatches in a row takes longer than the rest.

use std::time::{Duration, Instant};

use super::Context;

/// Expected share of the longest submit that a submit takes: dispatches differ in length.
const SHARE: f64 = 0.5;

/// Assumed time of a dispatch before the first measurement (s): a constant, and a part per sphere. A guess for GPUs; for a software
/// adapter the mean of a gas on llvmpipe with two cores.
const HARDWARE: (f64, f64) = (1e-5, 3e-9);
const SOFTWARE: (f64, f64) = (2e-5, 3e-8);

/// The measured time of a dispatch.
#[derive(Clone, Copy, Debug, Default)]
pub struct SubmitPace {
    /// Seconds per dispatch, if measured.
    per_dispatch: Option<f64>,
    /// When the device finished the last measured work; `None` before the first work, during which a driver may compile shaders.
    finished: Option<Instant>,
}

impl SubmitPace {
    /// Records that dispatches submitted at an instant are finished; the host has waited for them since `waited`.
    pub fn measured(&mut self, submitted: Instant, waited: Instant, dispatches: u64) {
        let now = Instant::now();
        let Some(finished) = self.finished.replace(now) else { return };
        if dispatches == 0 {
            return;
        }
        let begin = finished.max(submitted);
        let found = now.duration_since(begin).as_secs_f64() / dispatches as f64;
        // A host that comes late, a paused viewer for example, learns only how long the work took at most.
        let is_late = now.duration_since(waited) < now.duration_since(begin) / 8;
        self.per_dispatch = Some(match self.per_dispatch {
            Some(before) if is_late => before.min(found),
            // One quiet step among slow ones does not make the next submit too long.
            Some(before) => found.max(before / 2.0),
            None if is_late => return,
            None => found,
        });
    }

    /// Most dispatches of a submit, for so many spheres.
    pub fn most_dispatches(&self, context: &Context, spheres: usize) -> u64 {
        let (least, per_sphere) = if context.info().is_software() { SOFTWARE } else { HARDWARE };
        let seconds = self.per_dispatch.unwrap_or(least + per_sphere * spheres as f64);
        most_dispatches(context.longest_submit(), seconds)
    }
}

fn most_dispatches(longest: Duration, seconds: f64) -> u64 {
    // The conversion saturates.
    ((SHARE * longest.as_secs_f64() / seconds.max(1e-9)) as u64).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_submit_takes_its_share_of_the_longest_time() {
        let longest = Duration::from_millis(100);
        assert_eq!(most_dispatches(longest, 1e-3), 50);
        assert_eq!(most_dispatches(longest, 0.3), 1);
        assert_eq!(most_dispatches(Duration::ZERO, 1e-3), 1);
        assert!(most_dispatches(Duration::MAX, 1.0) > 1 << 40);
    }

    #[test]
    fn the_time_of_a_dispatch_counts_from_the_end_of_the_work_before_it() {
        let mut pace = SubmitPace::default();
        // The first work says nothing.
        pace.measured(Instant::now(), Instant::now(), 10);
        assert_eq!(pace.per_dispatch, None);
        let submitted = Instant::now();
        std::thread::sleep(Duration::from_millis(20));
        pace.measured(submitted, submitted, 10);
        let first = pace.per_dispatch.unwrap();
        assert!(first >= 2e-3, "{first}");
        // Submitted at the same time, finished right after it: not counted from the submission.
        pace.measured(submitted, submitted, 1);
        assert_eq!(pace.per_dispatch, Some(first / 2.0));
        // The host comes long after the end of the work.
        let submitted = Instant::now();
        std::thread::sleep(Duration::from_millis(20));
        pace.measured(submitted, Instant::now(), 1);
        assert_eq!(pace.per_dispatch, Some(first / 2.0));
    }
}
