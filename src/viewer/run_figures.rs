//! Figures of a run for the window: smoothed rates, sums, and a history for the plots.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use crate::{Simulation, StepReport};

/// Weight of the past in smoothed times: a figure that changes with every step is unreadable.
const SMOOTH: f64 = 0.9;
/// Time window of the ratio of simulated to wall time.
const SPAN: Duration = Duration::from_secs(2);
/// Points of the plots; older points are thinned out.
const POINTS: usize = 512;

/// One point of the plots.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Point {
    /// Simulated time.
    pub time: f64,
    /// Kinetic energy.
    pub kinetic: f64,
    /// Sum of kinetic and potential energy.
    pub total: f64,
    /// Impacts per sphere and unit of time.
    pub rate: f64,
}

/// Figures of a run, updated after every step.
#[derive(Clone, Debug, Default)]
pub struct RunFigures {
    /// Wall-clock time of a step (seconds, smoothed).
    pub step_seconds: f64,
    /// Wall-clock time per stage (seconds); empty if the engine does not time the stages.
    pub stage_seconds: Vec<f64>,
    /// Number of buffer growths.
    pub overflow: u64,
    /// Waits of the host for the device.
    pub blocking_reads: u64,
    /// Impacts over all steps.
    pub impacts: u64,
    /// History, oldest first.
    pub points: VecDeque<Point>,
    marks: VecDeque<(Instant, f64)>,
    /// Steps collected for the last point, and steps per point.
    gathered: u32,
    stride: u32,
}

impl RunFigures {
    /// Records a step that ended at `now`.
    pub fn note(&mut self, simulation: &Simulation, now: Instant) {
        let report = simulation.report();
        let smooth = |old: f64, new: f64| if old == 0.0 { new } else { SMOOTH * old + (1.0 - SMOOTH) * new };
        self.step_seconds = smooth(self.step_seconds, report.wall_seconds);
        if self.stage_seconds.len() == report.stage_seconds.len() {
            for (old, &new) in self.stage_seconds.iter_mut().zip(&report.stage_seconds) {
                *old = smooth(*old, new);
            }
        } else {
            self.stage_seconds.clone_from(&report.stage_seconds);
        }
        self.overflow += report.overflow;
        self.blocking_reads += report.blocking_reads;
        self.impacts += report.pair_impacts + report.wall_impacts;
        self.plot(report, simulation.sphere_count(), simulation.system().dt);
        self.marks.push_back((now, report.time));
        while self.marks.len() > 2 && now.duration_since(self.marks[1].0) > SPAN {
            self.marks.pop_front();
        }
    }

    /// Restarts the measurement of the ratio after a pause.
    pub fn restart_clock(&mut self) {
        self.marks.clear();
    }

    /// Returns to an earlier time: drops the later part of the history.
    pub fn rewind(&mut self, time: f64) {
        self.points.retain(|point| point.time <= time);
        self.gathered = 0;
        self.restart_clock();
    }

    /// Simulated time per second of wall-clock time; `None` before the second step.
    pub fn ratio(&self) -> Option<f64> {
        let (first, last) = (self.marks.front()?, self.marks.back()?);
        let seconds = last.0.duration_since(first.0).as_secs_f64();
        (seconds > 0.0).then(|| (last.1 - first.1) / seconds)
    }

    fn plot(&mut self, report: &StepReport, spheres: usize, dt: f64) {
        let struck = 2.0 * report.pair_impacts as f64 + report.wall_impacts as f64;
        let rate = if spheres > 0 { struck / (spheres as f64 * dt) } else { 0.0 };
        let total = report.kinetic_energy + report.potential_energy;
        let point = Point { time: report.time, kinetic: report.kinetic_energy, total, rate };
        self.stride = self.stride.max(1);
        match self.points.back_mut().filter(|_| self.gathered < self.stride && self.gathered > 0) {
            Some(last) => {
                // A point holds the latest energies and the mean rate.
                let n = f64::from(self.gathered);
                *last = Point { rate: (last.rate * n + rate) / (n + 1.0), ..point };
                self.gathered += 1;
            }
            None => {
                self.points.push_back(point);
                self.gathered = 1;
            }
        }
        if self.points.len() > POINTS {
            let mut even = false;
            self.points.retain(|_| {
                even = !even;
                even
            });
            self.stride = self.stride.saturating_mul(2);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plots_keep_the_whole_past_in_so_many_points() {
        let mut figures = RunFigures::default();
        let steps = 20_000;
        for step in 1..=steps {
            let (time, kinetic_energy) = (f64::from(step), 2.0 * f64::from(step));
            let report = StepReport { time, kinetic_energy, pair_impacts: 3, ..StepReport::default() };
            figures.plot(&report, 6, 0.5);
        }
        assert!((POINTS / 3..=POINTS).contains(&figures.points.len()), "{}", figures.points.len());
        assert!(figures.points.iter().zip(figures.points.iter().skip(1)).all(|(a, b)| a.time < b.time));
        assert_eq!(figures.points.back().unwrap().time, f64::from(steps));
        assert!(figures.points.front().unwrap().time <= 1.0);
        for point in &figures.points {
            assert_eq!(point.kinetic, 2.0 * point.time);
            assert!((point.rate - 2.0).abs() < 1e-12, "{point:?}");
        }
    }
}
