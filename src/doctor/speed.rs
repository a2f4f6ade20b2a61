//! Section `speed`: milliseconds per step of gases and piles of several sizes, and of the scene of `carom` without
//! arguments, on the device and on the cpu engine.

use std::{ops::ControlFlow, time::Instant};

use super::{Examination, Table, Target, Value, machine, physics, systems};
use crate::{
    Error, Simulation, StepReport, System, files,
    gpu::{buffer_layout::Capacities, host_mirror::HostMirror},
    schedule::STAGES,
    state::columns::NEVER,
};

/// Steps before a measurement, and most of it; seconds of it after which it ends.
const WARM_UP: u64 = 3;
const STEPS: u64 = 40;
const SECONDS: f64 = 3.0;

/// Steps with timestamps around the stages, after one that is not counted.
const TIMED_STEPS: u64 = 3;

/// Bytes of the host for each sphere while a system is built and loaded, by estimate.
const HOST_BYTES: u64 = 700;

/// A case: family, number of spheres, how to build the system.
type Case = (&'static str, u64, fn() -> Result<System, Error>);

/// In the order in which they run: the small sizes predict the time of the large ones.
const CASES: [Case; 8] = [
    ("gas", 32_768, || systems::gas(32_768, 1)),
    ("pile", 2_048, || systems::pile([8, 8])),
    ("marbles", 3_000, marbles),
    ("pile", 32_000, || systems::pile([20, 20])),
    ("gas", 1_000_000, || systems::gas(1_000_000, 1)),
    ("pile", 100_920, || systems::pile([29, 30])),
    ("pile", 1_000_188, || systems::pile([63, 63])),
    ("gas", 10_000_000, || systems::gas(10_000_000, 1)),
];

fn marbles() -> Result<System, Error> {
    let scene = files::builtin("marbles").expect("a built-in scene").load(&[]);
    scene.map_err(|error| Error::Invalid(error.to_string()))?.build()
}

/// Sums over the measured steps.
#[derive(Default)]
struct Measured {
    steps: u64,
    seconds: f64,
    dispatches: u64,
    submits: u64,
    waits: u64,
    replays: u64,
    halvings: u64,
    cpu_steps: u64,
    longest: f64,
    energy_error: Option<f64>,
    nonfinite: u64,
    /// Milliseconds per step of each stage; empty without timestamps.
    stages: Vec<f64>,
}

/// Seconds that a case of a family took, for the next one.
struct Taken {
    family: &'static str,
    spheres: u64,
    seconds: f64,
}

/// Runs the section.
pub fn run(examination: &mut Examination, target: &Target) -> Result<(), Error> {
    let mut table = Table::new("cases", &CASE_COLUMNS);
    let mut stages = Table::new("stage_ms", &["system", "spheres", "engine"]);
    stages.columns.extend(STAGES.iter().map(|stage| stage.name));
    let mut taken: Vec<Taken> = vec![];
    for (family, spheres, build) in CASES {
        let name = format!("{family} of {spheres}");
        if examination.is_over(|| format!("{name} and what comes after it")) {
            break;
        }
        if let Some(why) = obstacle(examination, &taken, family, spheres) {
            examination.note(format!("{name}: not measured, {why}"));
            examination.is_cut |= why.starts_with("it would take");
            continue;
        }
        let begin = Instant::now();
        let system = build()?;
        if let Some(why) = too_large(&system, target) {
            examination.note(format!("{name}: not measured, {why}"));
            continue;
        }
        for engine in ["gpu", "cpu"] {
            let measured = match engine {
                "gpu" => measure_device(examination, target, &system)?,
                _ => measure(examination, physics::on_cpu(system.clone())?)?.0,
            };
            if measured.steps == 0 {
                examination.is_over(|| format!("{name} on {engine}"));
                continue;
            }
            check(examination, &name, engine, &measured);
            let engine = if engine == "gpu" && target.is_software() { "gpu (software)" } else { engine };
            table.row(case_row(family, spheres, engine, &measured));
            if !measured.stages.is_empty() {
                let mut row = vec![family.into(), spheres.into(), engine.into()];
                row.extend(measured.stages.iter().map(|&ms| Value::from(ms)));
                stages.row(row);
            }
        }
        taken.push(Taken { family, spheres, seconds: begin.elapsed().as_secs_f64() });
    }
    examination.table(table);
    examination.table(stages);
    Ok(())
}

const CASE_COLUMNS: [&str; 13] = [
    "system",
    "spheres",
    "engine",
    "steps",
    "ms_per_step",
    "ms_longest",
    "dispatches",
    "submits",
    "waits",
    "replays",
    "halvings",
    "cpu_steps",
    "energy_error",
];

fn case_row(family: &'static str, spheres: u64, engine: &str, measured: &Measured) -> Vec<Value> {
    let per_step = |count: u64| count as f64 / measured.steps as f64;
    vec![
        family.into(),
        spheres.into(),
        engine.into(),
        measured.steps.into(),
        (1e3 * measured.seconds / measured.steps as f64).into(),
        (1e3 * measured.longest).into(),
        per_step(measured.dispatches).into(),
        per_step(measured.submits).into(),
        per_step(measured.waits).into(),
        measured.replays.into(),
        measured.halvings.into(),
        measured.cpu_steps.into(),
        measured.energy_error.into(),
    ]
}

// A speed without the physics counts for nothing.
fn check(examination: &mut Examination, name: &str, engine: &str, measured: &Measured) {
    examination.expect(measured.nonfinite == 0, || {
        format!("{name} on {engine}: {} spheres are not finite", measured.nonfinite)
    });
    if let Some(error) = measured.energy_error {
        examination.expect(error.abs() <= physics::ENERGY, || {
            format!("{name} on {engine}: the energy changes by {error:.2e} of itself")
        });
    }
}

// Why a size is left out before it is built: the next smaller one of its family predicts the time.
fn obstacle(examination: &Examination, taken: &[Taken], family: &str, spheres: u64) -> Option<String> {
    let needed = HOST_BYTES * spheres;
    if let Some([_, free]) = machine::memory().filter(|[_, free]| needed > *free) {
        return Some(format!("the host needs about {needed} bytes of memory, {free} are free"));
    }
    let smaller = taken.iter().rfind(|taken| taken.family == family)?;
    // The steps of a large system end sooner: by the clock rather than by their number.
    let ratio = spheres as f64 / smaller.spheres as f64;
    let predicted = smaller.seconds.min(2.0 * SECONDS) * ratio.sqrt().max(ratio / 4.0);
    let left = examination.clock.left();
    (predicted > left).then(|| format!("it would take about {predicted:.0} s, {left:.0} s are left"))
}

// Why the device cannot hold a system.
fn too_large(system: &System, target: &Target) -> Option<String> {
    let host = HostMirror::for_first_step(system, |_| NEVER).0;
    let layout = host.layout(Capacities::for_spheres(system.spheres.len(), false));
    let checked = layout.check(&target.context.device.limits(), host.domain.grid.buckets);
    checked.err().map(|error| error.to_string())
}

fn measure_device(
    examination: &mut Examination,
    target: &Target,
    system: &System,
) -> Result<Measured, Error> {
    let (mut measured, simulation) = measure(examination, target.simulation(system.clone())?)?;
    if measured.steps > 0 && !examination.clock.is_over() {
        let system = System { spheres: simulation.try_spheres()?, ..simulation.system().clone() };
        // Two simulations may not fit on the device.
        drop(simulation);
        let mut simulation = target.simulation_with(system, true)?;
        let mut stages = StageTimes::default();
        for k in 0..=TIMED_STEPS {
            let report = simulation.step()?;
            if report.stage_seconds.is_empty() || examination.clock.is_over() {
                break;
            }
            if k > 0 {
                stages.add(report);
            }
        }
        measured.stages = stages.mean_ms();
    }
    Ok(measured)
}

fn measure(examination: &Examination, mut simulation: Simulation) -> Result<(Measured, Simulation), Error> {
    let goes_on = |wanted: bool| if wanted { ControlFlow::Continue(()) } else { ControlFlow::Break(()) };
    simulation.run(WARM_UP, |_| goes_on(!examination.clock.is_over()))?;
    let mut measured = Measured::default();
    let mut stages = StageTimes::default();
    if examination.clock.is_over() {
        return Ok((measured, simulation));
    }
    let begin = Instant::now();
    simulation.run(STEPS, |report| {
        measured.add(report);
        stages.add(report);
        goes_on(begin.elapsed().as_secs_f64() < SECONDS && !examination.clock.is_over())
    })?;
    measured.energy_error = simulation.summary().energy_error;
    measured.stages = stages.mean_ms();
    Ok((measured, simulation))
}

impl Measured {
    fn add(&mut self, report: &StepReport) {
        self.steps += 1;
        self.seconds += report.wall_seconds;
        self.longest = self.longest.max(report.wall_seconds);
        self.dispatches += report.dispatches;
        self.submits += report.submits;
        self.waits += report.blocking_reads;
        self.replays += report.overflow;
        self.halvings += report.redone;
        self.cpu_steps += report.cpu_steps;
        self.nonfinite += report.nonfinite;
    }
}

/// Sums of the seconds of the stages.
#[derive(Default)]
struct StageTimes {
    steps: u64,
    seconds: Vec<f64>,
}

impl StageTimes {
    fn add(&mut self, report: &StepReport) {
        if !report.stage_seconds.is_empty() {
            self.steps += 1;
            self.seconds.resize(report.stage_seconds.len(), 0.0);
            self.seconds.iter_mut().zip(&report.stage_seconds).for_each(|(sum, seconds)| *sum += seconds);
        }
    }

    fn mean_ms(&self) -> Vec<f64> {
        self.seconds.iter().map(|sum| 1e3 * sum / self.steps as f64).collect()
    }
}
