//! Measures one case of a benchmark: a scene of one size on one backend with one number of threads.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use carom::scene::Scene;
use carom::{Backend, Simulation};
use serde_json::{Value, json};

use super::device::{DeviceCounters, Figures, Stages};
use super::physics::Physics;
use super::{checks, machine};
use crate::cli::{
    adapters::{Chosen, fields},
    arguments::BenchArguments,
    command_error::CommandError,
    interrupt,
    text::counted,
};

/// The case to measure.
pub struct Case {
    pub name: String,
    /// Name and size.
    pub label: String,
    pub scene: Scene,
    pub chosen: Chosen,
    pub threads: usize,
}

impl Case {
    /// A line for the progress of the benchmark.
    pub fn describe(&self) -> String {
        let on = self.chosen.describe();
        match self.chosen.backend {
            Backend::Cpu => {
                format!("{} on {on}, {}", self.label, counted(self.thread_count() as u64, "thread"))
            }
            _ => format!("{} on {on}", self.label),
        }
    }

    fn thread_count(&self) -> usize {
        if self.threads == 0 { machine::cores() } else { self.threads }
    }
}

/// The results. Times and rates cover the measured steps; the physics covers all steps, including the warm-up.
pub struct Row {
    pub scene: String,
    pub sphere_count: usize,
    pub backend: &'static str,
    /// Name and kind of the adapter; null without an adapter.
    pub adapter: Value,
    pub adapter_type: Value,
    /// `None` on an adapter, which has its own threads.
    pub threads: Option<usize>,
    pub steps: usize,
    pub median_ms: f64,
    pub p95_ms: f64,
    pub sphere_steps_per_second: f64,
    pub impacts_per_second: f64,
    /// Rounds of the busiest substep, averaged over the measured steps.
    pub rounds_mean: f64,
    pub rounds_max: u32,
    pub substeps_per_step: f64,
    /// Times by stage; on a device they come from steps other than the measured ones.
    pub stages: Stages,
    /// `None` without a device.
    pub device: Option<Figures>,
    pub bytes_per_sphere: f64,
    pub build_seconds: f64,
    pub physics: Physics,
    /// The figures of `physics` outside their bounds, one text for each.
    pub failed_checks: Vec<String>,
}

/// Builds, warms up and measures; `copy` is the bandwidth of the device, if there is one.
pub fn measure(case: &Case, arguments: &BenchArguments, copy: Option<f64>) -> Result<Row, CommandError> {
    let named = |error: carom::Error| {
        let failure = CommandError::from(error);
        CommandError { message: format!("{}: {}", case.name, failure.message), ..failure }
    };
    let build = Instant::now();
    let system = case.scene.build().map_err(named)?;
    let mut simulation = Simulation::new(system, case.chosen.options(case.threads)).map_err(named)?;
    let build_seconds = build.elapsed().as_secs_f64();
    let spheres = simulation.sphere_count();
    let conditions = checks::Conditions::new(&case.scene, simulation.system());
    let go_on = |wanted| if wanted { ControlFlow::Continue(()) } else { ControlFlow::Break(()) };
    simulation.run(arguments.warm_up, |_| go_on(!interrupt::requested())).map_err(named)?;
    let before = simulation.summary().clone();
    let (mut wall_ms, mut rounds) = (vec![], 0.0);
    let (mut stages, mut counters) = (Stages::default(), DeviceCounters::default());
    let limit = Duration::from_secs_f64(arguments.seconds);
    let start = Instant::now();
    // No stop between the steps, because an engine on a device runs a step ahead of its reports.
    let measured = simulation.run(arguments.steps, |report| {
        wall_ms.push(1e3 * report.wall_seconds);
        rounds += f64::from(report.rounds);
        stages.add(report);
        counters.add(spheres, report);
        go_on(start.elapsed() < limit && !interrupt::requested())
    });
    measured.map_err(named)?;
    let count = wall_ms.len() as f64;
    let seconds = wall_ms.iter().sum::<f64>() / 1e3;
    let per_second = |x: f64| if seconds > 0.0 { x / seconds } else { 0.0 };
    wall_ms.sort_by(f64::total_cmp);
    let summary = simulation.summary().clone();
    let physics = Physics::new(&summary);
    let (adapter, adapter_type) = fields(&simulation);
    let bytes_per_sphere = simulation.memory_bytes() as f64 / spheres.max(1) as f64;
    let device = case.chosen.is_on_adapter().then(|| counters.figures(count, seconds, copy));
    if case.chosen.is_on_adapter() && !interrupt::requested() {
        stages = Stages::profile(case, simulation).map_err(named)?;
    }
    Ok(Row {
        scene: case.name.clone(),
        sphere_count: spheres,
        backend: case.chosen.backend.name(),
        adapter,
        adapter_type,
        threads: (!case.chosen.is_on_adapter()).then(|| case.thread_count()),
        steps: wall_ms.len(),
        median_ms: quantile(&wall_ms, 0.5),
        p95_ms: quantile(&wall_ms, 0.95),
        sphere_steps_per_second: per_second(spheres as f64 * count),
        impacts_per_second: per_second((summary.impacts() - before.impacts()) as f64),
        rounds_mean: rounds / count,
        rounds_max: summary.rounds_max,
        substeps_per_step: (summary.substeps - before.substeps) as f64 / count,
        stages,
        device,
        bytes_per_sphere,
        build_seconds,
        failed_checks: checks::failed(&physics, &conditions),
        physics,
    })
}

// The smallest value that is not below the share `q` of the sorted values.
fn quantile(sorted: &[f64], q: f64) -> f64 {
    let rank = (q * sorted.len() as f64).ceil() as usize;
    sorted[rank.clamp(1, sorted.len()) - 1]
}

impl Row {
    /// The results as a JSON object.
    pub fn json(&self) -> Value {
        let mut object = json!({
            "scene": self.scene,
            "sphere_count": self.sphere_count,
            "backend": self.backend,
            "adapter": self.adapter,
            "adapter_type": self.adapter_type,
            "threads": self.threads,
            "steps": self.steps,
            "median_ms": self.median_ms,
            "p95_ms": self.p95_ms,
            "sphere_steps_per_second": self.sphere_steps_per_second,
            "impacts_per_second": self.impacts_per_second,
            "rounds_mean": self.rounds_mean,
            "rounds_max": self.rounds_max,
            "substeps_per_step": self.substeps_per_step,
            "stage_ms": self.stages.json_ms(),
            "stage_steps": self.stages.steps,
            "stage_bytes_per_second": self.stages.json_bytes_per_second(),
            "device": self.device.as_ref().map(Figures::json),
            "bytes_per_sphere": self.bytes_per_sphere,
            "build_seconds": self.build_seconds,
        });
        for (name, value) in self.physics.json() {
            object[name] = value;
        }
        object["failed_checks"] = json!(self.failed_checks);
        object
    }

    /// The backend; marks a software adapter, which must not be mistaken for a GPU.
    pub fn backend_label(&self) -> String {
        match self.adapter_type.as_str() {
            Some(kind @ ("software" | "other")) => format!("{} ({kind})", self.backend),
            _ => self.backend.to_owned(),
        }
    }

    /// Scene, size, backend and threads.
    pub fn label(&self) -> String {
        let threads = self.threads.map(|threads| format!(", {}", counted(threads as u64, "thread")));
        let spheres = counted(self.sphere_count as u64, "sphere");
        format!("{}, {spheres}, {}{}", self.scene, self.backend_label(), threads.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::quantile;

    #[test]
    fn quantiles_are_measured_values() {
        let sorted: Vec<f64> = (1..=20).map(f64::from).collect();
        assert_eq!(quantile(&sorted, 0.5), 10.0);
        assert_eq!(quantile(&sorted, 0.95), 19.0);
        assert_eq!(quantile(&[7.0], 0.5), 7.0);
    }
}
