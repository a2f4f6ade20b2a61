//! When the next step is due.

use std::time::{Duration, Instant};

/// How far steps may be behind before the past is given up (seconds): catching up more would be a rush.
const MOST_BEHIND: f64 = 0.1;
/// Longest wait at once: what is further off is looked at again.
const LONGEST: Duration = Duration::from_secs(3600);

/// Simulated time against the wall clock.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Simulated time for each second; none: as fast as it can.
    scale: Option<f64>,
    /// A moment, and the simulated time that belongs to it.
    anchor: Option<(Instant, f64)>,
}

impl Pace {
    /// `scale` > 0.
    pub fn new(scale: Option<f64>) -> Self {
        Self { scale, anchor: None }
    }

    /// Simulated time for each second; none: as fast as it can.
    pub fn scale(&self) -> Option<f64> {
        self.scale
    }

    /// The next step is due at once, whatever was before.
    pub fn restart(&mut self) {
        self.anchor = None;
    }

    /// How long to wait now, with the simulation at `time`, before the next step.
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
        // A unit of time at double pace takes half a second, of which 0.2 s are gone.
        assert!((seconds(pace.wait(at(0.2), 6.0)) - 0.3).abs() < 1e-9);
        // A little behind: on at once, and the next one makes up for it.
        assert_eq!(pace.wait(at(1.05), 7.0), Duration::ZERO);
        assert!((seconds(pace.wait(at(1.05), 8.0)) - 0.45).abs() < 1e-9);
        // Far behind: what is lost is lost.
        assert_eq!(pace.wait(at(9.0), 9.0), Duration::ZERO);
        assert!((seconds(pace.wait(at(9.0), 10.0)) - 0.5).abs() < 1e-9);
        // Back to the start.
        assert_eq!(pace.wait(at(9.1), 0.0), Duration::ZERO);
        assert_eq!(Pace::new(None).wait(at(1.0), 1e9), Duration::ZERO);
        assert_eq!(Pace::new(Some(1e-300)).wait(at(0.0), 0.0), Duration::ZERO);
    }
}
