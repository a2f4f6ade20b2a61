//! Measures the wall-clock time of each stage.

use std::time::Instant;

use crate::step::schedule::{STAGES, stage_index};

/// Wall-clock time by stage, in the order of [`STAGES`].
#[derive(Default)]
pub struct StageClock {
    pub seconds: Vec<f64>,
    last: Option<Instant>,
}

impl StageClock {
    pub fn start(&mut self) {
        self.seconds.clear();
        self.seconds.resize(STAGES.len(), 0.0);
        self.last = Some(Instant::now());
    }

    /// Adds the time since the last call to `stage`.
    pub fn lap(&mut self, stage: &str) {
        let now = Instant::now();
        if let Some(last) = self.last.replace(now) {
            self.seconds[stage_index(stage)] += (now - last).as_secs_f64();
        }
    }
}
