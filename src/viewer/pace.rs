//! Schedules steps against the wall clock.

use std::time::{Duration, Instant};

/// Largest lag that is made up for (seconds): a larger lag would cause a rush of steps and is dropped.
const MOST_BEHIND: f64 = 0.1;
/// Longest single wait; a longer wait is split.
const LONGEST: Duration = Duration::from_secs(3600);

/// Simulated time against the wall clock.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Simulated time per second; `None`: as fast as possible.
    scale: Option<f64>,
    /// An instant, and the simulated time that belongs to it.
    anchor: Option<(Instant, f64)>,
}

impl Pace {
    /// `scale` > 0.
    pub fn new(scale: Option<f64>) -> Self {
        Self { scale, anchor: None }
    }

    /// Simulated time per second; `None`: as fast as possible.
    pub fn scale(&self) -> Option<f64> {
        self.scale
    }

    /// Makes the next step due at once, regardless of the past.
    pub fn restart(&mut self) {
        self.anchor = None;
    }

    /// Time to wait before the next step, with the simulation at `time`.
    pub fn wait(&mut self, now: Instant, time: f64) -> Duration {
        let Some(scale) = self.scale else { return Duration::ZERO };
        let (since, start) = *self.anchor.get_or_insert((now, time));
        let due = (time - start) / scale;
        let ahead = due - now.duration_since(since).as_secs_f64();
        if ahead < -MOST_BEHIND || time < start {
            self.anchor = Some((now, time));
            return Duration::ZERO;
        }
        Duration::try_from_secs_f64(ahead.max(0.0)).unwrap_or(LONGEST).min(LONGEST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(wait: Duration) -> f64 {
        wait.as_secs_f64()
    }

    #[test]
    fn steps_keep_time_and_do_not_rush_after_a_delay() {
        let start = Instant::now();
        let at = |seconds: f64| start + Duration::from_secs_f64(seconds);
        let mut pace = Pace::new(Some(2.0));
        assert_eq!(pace.wait(at(0.0), 5.0), Duration::ZERO);
        // At double pace a unit of time takes half a second, of which 0.2 s have passed.
        assert!((seconds(pace.wait(at(0.2), 6.0)) - 0.3).abs() < 1e-9);
        // Slightly late: the step is due at once, and the next step makes up for the lag.
        assert_eq!(pace.wait(at(1.05), 7.0), Duration::ZERO);
        assert!((seconds(pace.wait(at(1.05), 8.0)) - 0.45).abs() < 1e-9);
        // Very late: the lag is dropped.
        assert_eq!(pace.wait(at(9.0), 9.0), Duration::ZERO);
        assert!((seconds(pace.wait(at(9.0), 10.0)) - 0.5).abs() < 1e-9);
        // After a reset to the start the step is due at once.
        assert_eq!(pace.wait(at(9.1), 0.0), Duration::ZERO);
        assert_eq!(Pace::new(None).wait(at(1.0), 1e9), Duration::ZERO);
        assert_eq!(Pace::new(Some(1e-300)).wait(at(0.0), 0.0), Duration::ZERO);
    }
}
