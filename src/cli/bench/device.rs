//! Figures of a benchmark on a device: dispatches, submits, time per stage, and bandwidth compared with a plain copy.

use carom::schedule::STAGES;
use carom::{Error, Options, Simulation, StepReport, System};
use serde_json::{Map, Value, json};

use super::measure::Case;
use crate::cli::{adapters::least_traffic, interrupt};

// Timestamps cost speed, so the stages are timed in additional steps. The first of them adapt the planned number of
// rounds.
const PROFILE_WARM_UP: u64 = 3;
const PROFILED_STEPS: u64 = 5;

/// Sums over the measured steps on a device.
#[derive(Default)]
pub struct DeviceCounters {
    dispatches: u64,
    submits: u64,
    blocking_reads: u64,
    least_bytes: u64,
}

impl DeviceCounters {
    pub fn add(&mut self, spheres: usize, report: &StepReport) {
        self.dispatches += report.dispatches;
        self.submits += report.submits;
        self.blocking_reads += report.blocking_reads;
        self.least_bytes += least_traffic(spheres, report).iter().sum::<u64>();
    }

    /// Means per step, for `steps` steps that took `seconds`.
    pub fn figures(&self, steps: f64, seconds: f64, copy: Option<f64>) -> Figures {
        Figures {
            dispatches: self.dispatches as f64 / steps,
            submits: self.submits as f64 / steps,
            blocking_reads: self.blocking_reads as f64 / steps,
            least_bytes: self.least_bytes as f64 / steps,
            bytes_per_second: if seconds > 0.0 { self.least_bytes as f64 / seconds } else { 0.0 },
            copy_bytes_per_second: copy,
        }
    }
}

/// Figures of a step on a device.
pub struct Figures {
    pub dispatches: f64,
    pub submits: f64,
    /// Number of host waits while the device was idle.
    pub blocking_reads: f64,
    /// Lower bound on the bytes that the stages read and write.
    pub least_bytes: f64,
    /// `least_bytes` divided by the time of whole steps.
    pub bytes_per_second: f64,
    /// Bandwidth of a plain copy on the same device, reads plus writes.
    pub copy_bytes_per_second: Option<f64>,
}

impl Figures {
    pub fn json(&self) -> Value {
        json!({
            "dispatches_per_step": self.dispatches,
            "submits_per_step": self.submits,
            "blocking_reads_per_step": self.blocking_reads,
            "least_bytes_per_step": self.least_bytes,
            "bytes_per_second": self.bytes_per_second,
            "copy_bytes_per_second": self.copy_bytes_per_second,
        })
    }
}

/// Time by stage, in order; empty without measurement.
#[derive(Default)]
pub struct Stages {
    /// Number of timed steps.
    pub steps: u64,
    /// Milliseconds per step.
    pub ms: Vec<f64>,
    /// Lower bound on the bytes of each stage, divided by its time; empty except on a device.
    pub bytes_per_second: Vec<f64>,
}

impl Stages {
    pub fn add(&mut self, report: &StepReport) {
        if report.stage_seconds.is_empty() {
            return;
        }
        self.steps += 1;
        self.ms.resize(STAGES.len(), 0.0);
        // A running mean needs no final division.
        for (mean, seconds) in self.ms.iter_mut().zip(&report.stage_seconds) {
            *mean += (1e3 * seconds - *mean) / self.steps as f64;
        }
    }

    /// Continues from the state of `simulation` with timestamps around every stage. Empty if the adapter has no timestamps.
    pub fn profile(case: &Case, simulation: Simulation) -> Result<Self, Error> {
        let system = System { spheres: simulation.try_spheres()?, ..simulation.system().clone() };
        // Two simulations may not fit on the device.
        drop(simulation);
        let spheres = system.spheres.len();
        let options = Options { profile: true, ..case.chosen.options(case.threads) };
        let mut simulation = Simulation::new(system, options)?;
        let (mut stages, mut least_bytes) = (Self::default(), vec![0; STAGES.len()]);
        for k in 0..PROFILE_WARM_UP + PROFILED_STEPS {
            let report = simulation.step()?;
            if report.stage_seconds.is_empty() || interrupt::requested() {
                break;
            }
            if k >= PROFILE_WARM_UP {
                stages.add(report);
                let bytes = least_traffic(spheres, report);
                least_bytes.iter_mut().zip(bytes).for_each(|(sum, bytes)| *sum += bytes);
            }
        }
        let rate = |(ms, bytes): (&f64, &u64)| {
            let seconds = 1e-3 * ms * stages.steps as f64;
            if seconds > 0.0 { *bytes as f64 / seconds } else { 0.0 }
        };
        stages.bytes_per_second = stages.ms.iter().zip(&least_bytes).map(rate).collect();
        Ok(stages)
    }

    /// Milliseconds by the name of the stage; `None` without measurement.
    pub fn json_ms(&self) -> Option<Map<String, Value>> {
        by_name(&self.ms)
    }

    /// Bytes per second by the name of the stage; `None` without measurement.
    pub fn json_bytes_per_second(&self) -> Option<Map<String, Value>> {
        by_name(&self.bytes_per_second)
    }
}

fn by_name(values: &[f64]) -> Option<Map<String, Value>> {
    let named = || STAGES.iter().zip(values).map(|(stage, &x)| (stage.name.to_owned(), x.into())).collect();
    (!values.is_empty()).then(named)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stage_times_are_means_over_the_steps_that_have_any() {
        let mut stages = Stages::default();
        stages.add(&StepReport::default());
        assert!(stages.ms.is_empty() && stages.json_ms().is_none());
        for seconds in [0.001, 0.003] {
            let stage_seconds = vec![seconds; STAGES.len()];
            stages.add(&StepReport { stage_seconds, ..StepReport::default() });
        }
        assert_eq!(stages.steps, 2);
        assert!(stages.ms.iter().all(|ms| (ms - 2.0).abs() < 1e-12), "{:?}", stages.ms);
        assert_eq!(stages.json_ms().unwrap().len(), STAGES.len());
    }

    #[test]
    fn figures_are_those_of_one_step() {
        let mut counters = DeviceCounters::default();
        for _ in 0..4 {
            let report = StepReport { dispatches: 50, submits: 1, substeps: 1, ..StepReport::default() };
            counters.add(10, &report);
        }
        let figures = counters.figures(4.0, 2.0, None);
        assert_eq!((figures.dispatches, figures.submits, figures.blocking_reads), (50.0, 1.0, 0.0));
        assert_eq!(figures.bytes_per_second, 2.0 * figures.least_bytes);
        assert!(figures.json()["copy_bytes_per_second"].is_null());
    }
}
