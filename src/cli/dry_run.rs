//! `carom run --dry-run`: what a run would take. A few steps are taken to measure their time; no requested file is written.

use std::time::{Duration, Instant};

use carom::files::{Snapshot, write_snapshot};
use carom::{Error, Simulation};
use serde_json::{Value, json};

use super::adapters::{Chosen, fields};
use super::arguments::RunArguments;
use super::atomic_file::cannot_write;
use super::command_error::{CommandError, Exit};
use super::memory::{available, bytes};
use super::run::print_object;
use super::screen::Screen;
use super::text::{counted, duration, grouped, number};

/// Steps and time after which the measurement ends; it takes one step at least, besides the first.
const STEPS: u64 = 20;
const TIME: Duration = Duration::from_secs(2);

/// Bytes of a line of the metrics, about.
const METRICS_LINE: u64 = 400;

/// Memory, time and output of a run.
struct Estimate {
    steps: u64,
    /// Measured time of a step (s), and the number of steps measured; `None` if the run has no step.
    seconds_per_step: Option<f64>,
    measured: u64,
    /// Bytes of a state in all formats, and number of states.
    state_bytes: u64,
    states: u64,
    metrics_bytes: u64,
}

impl Estimate {
    fn seconds(&self) -> Option<f64> {
        self.seconds_per_step.map(|seconds| seconds * self.steps as f64)
    }

    fn output_bytes(&self) -> u64 {
        self.state_bytes.saturating_mul(self.states).saturating_add(self.metrics_bytes)
    }
}

/// Measures a simulation that is about to take `steps` steps, and describes the run.
pub fn dry_run(
    arguments: &RunArguments,
    chosen: &Chosen,
    mut simulation: Simulation,
    steps: u64,
    screen: &mut Screen,
) -> Result<Exit, CommandError> {
    let (state_bytes, states) = output(arguments, &simulation, steps)?;
    let (seconds_per_step, measured) = measure(&mut simulation, steps)?;
    let metrics_bytes = if arguments.metrics.is_some() { METRICS_LINE.saturating_mul(steps) } else { 0 };
    let estimate = Estimate { steps, seconds_per_step, measured, state_bytes, states, metrics_bytes };
    describe(&estimate, chosen, &simulation, screen);
    if arguments.json {
        print_object(&object(&estimate, &simulation))?;
    }
    Ok(Exit::Done)
}

// Bytes of a state, and number of states. The state is written to the folder for temporary files and removed.
fn output(arguments: &RunArguments, simulation: &Simulation, steps: u64) -> Result<(u64, u64), CommandError> {
    if arguments.out.is_none() {
        return Ok((0, 0));
    }
    let place = std::env::temp_dir();
    let folder = tempfile::tempdir().map_err(|error| cannot_write(&place, &error))?;
    let snapshot = Snapshot::new(simulation.system(), 0.0, simulation.try_spheres()?);
    let mut size = 0;
    for format in &arguments.formats {
        let path = folder.path().join(format!("state.{format}"));
        write_snapshot(&path, &snapshot).map_err(|error| cannot_write(&path, &error))?;
        size += std::fs::metadata(&path).map_err(|error| cannot_write(&path, &error))?.len();
    }
    Ok((size, 1 + arguments.every.map_or(0, |every| steps / every)))
}

// Mean time of a step, and the number of steps behind it. The first step fills caches and buffers; it counts only alone.
fn measure(simulation: &mut Simulation, steps: u64) -> Result<(Option<f64>, u64), Error> {
    if steps == 0 {
        return Ok((None, 0));
    }
    let begin = Instant::now();
    let first = simulation.step()?.wall_seconds;
    let (mut sum, mut count) = (0.0, 0);
    while count < STEPS.min(steps - 1) && begin.elapsed() < TIME {
        sum += simulation.step()?.wall_seconds;
        count += 1;
    }
    Ok(if count == 0 { (Some(first), 1) } else { (Some(sum / count as f64), count) })
}

fn describe(estimate: &Estimate, chosen: &Chosen, simulation: &Simulation, screen: &mut Screen) {
    let memory = simulation.memory_bytes() as u64;
    screen.line(&format!(
        "{}, {} on {}",
        counted(simulation.sphere_count() as u64, "sphere"),
        counted(estimate.steps, "step"),
        chosen.describe()
    ));
    let left = available().map_or(String::new(), |left| format!("; {} of main memory are left", bytes(left)));
    let of_device = if chosen.is_on_adapter() { " on the device" } else { "" };
    screen.line(&format!("memory    {}{of_device}{left}", bytes(memory)));
    for buffer in simulation.device_buffers() {
        screen.line(&format!(
            "          {:<12} {:>14} bytes, {} of the limit",
            buffer.name,
            grouped(buffer.bytes),
            share(buffer.bytes, buffer.limit)
        ));
    }
    if let (Some(each), Some(all)) = (estimate.seconds_per_step, estimate.seconds()) {
        screen.line(&format!(
            "time      {} at {} s per step, the mean of {}; later steps may take longer",
            duration(all),
            number(each, 3),
            counted(estimate.measured, "step")
        ));
    }
    screen.line(&format!(
        "output    {}: {} of {}, {} of metrics",
        bytes(estimate.output_bytes()),
        counted(estimate.states, "state"),
        bytes(estimate.state_bytes),
        bytes(estimate.metrics_bytes)
    ));
}

fn share(part: u64, of: u64) -> String {
    format!("{}%", number(100.0 * part as f64 / of.max(1) as f64, 2))
}

fn object(estimate: &Estimate, simulation: &Simulation) -> Value {
    let (adapter, adapter_type) = fields(simulation);
    let buffers: Vec<Value> = simulation
        .device_buffers()
        .iter()
        .map(|buffer| json!({ "name": buffer.name, "bytes": buffer.bytes, "limit": buffer.limit }))
        .collect();
    json!({
        "dry_run": true,
        "backend": simulation.backend().name(),
        "adapter": adapter,
        "adapter_type": adapter_type,
        "sphere_count": simulation.sphere_count(),
        "steps": estimate.steps,
        "memory_bytes": simulation.memory_bytes(),
        "memory_left": available(),
        "buffers": buffers,
        "seconds_per_step": estimate.seconds_per_step,
        "measured_steps": estimate.measured,
        "seconds": estimate.seconds(),
        "states": estimate.states,
        "state_bytes": estimate.state_bytes,
        "output_bytes": estimate.output_bytes(),
    })
}
