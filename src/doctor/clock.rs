//! The time of a section.

use std::time::{Duration, Instant};

/// The time of a section, and the wish of the user to stop.
pub struct Clock<'a> {
    begin: Instant,
    deadline: Instant,
    stop: &'a dyn Fn() -> bool,
}

impl<'a> Clock<'a> {
    /// A section that begins now.
    pub fn new(time: Duration, stop: &'a dyn Fn() -> bool) -> Self {
        let begin = Instant::now();
        Self { begin, deadline: begin + time, stop }
    }

    pub fn elapsed(&self) -> Duration {
        self.begin.elapsed()
    }

    /// Seconds that are left.
    pub fn left(&self) -> f64 {
        self.deadline.saturating_duration_since(Instant::now()).as_secs_f64()
    }

    pub fn is_stopped(&self) -> bool {
        (self.stop)()
    }

    pub fn is_over(&self) -> bool {
        self.is_stopped() || Instant::now() >= self.deadline
    }

    /// The same section with at most this share of the time that is left.
    pub fn part(&self, share: f64) -> Self {
        let now = Instant::now();
        let left = self.deadline.saturating_duration_since(now);
        Self { begin: now, deadline: now + left.mul_f64(share), stop: self.stop }
    }
}
