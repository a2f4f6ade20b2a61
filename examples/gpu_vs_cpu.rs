//! Runs the same systems on the GPU and on the CPU, prints the speed of both, and checks that the physics agrees.
//!
//! `cargo run --release --example gpu_vs_cpu -- 1e4 1e5 1e6`; the sizes are optional.
//!
//! Exits with 1 if the physics differs, with 3 without an adapter. Software adapters are labelled as such.

use std::ops::ControlFlow;
use std::process::ExitCode;
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use carom::gpu::{AdapterKind, Context};
use carom::scene::{Fill, Scene};
use carom::{Backend, Error, Options, Simulation, Summary, System};
use glam::DVec3;

/// Steps before the comparison: a random fill is not yet a fluid.
const MELTING_STEPS: u64 = 20;
/// Warm-up steps, and most measured steps.
const WARM_UP: u64 = 3;
const STEPS: u64 = 60;
const PATIENCE: Duration = Duration::from_millis(400);

/// In a step from equal states, one impact in this many may be decided differently: two impacts within an f32
/// rounding error of each other may swap on hardware that rounds differently. Two more are allowed for small systems.
const IMPACTS_PER_TIE: u64 = 1000;
/// Spheres that such a decision displaces within the step.
const SPHERES_PER_TIE: usize = 4;
/// Difference above which a sphere counts as displaced, in diameters and in mean speeds: far above rounding and far
/// below the effect of an impact.
const ELSEWHERE: f64 = 1e-3;
/// Largest unexplained energy, relative to the total. Rounding leaves 1e-7.
const MOST_LEDGER_ERROR: f64 = 1e-5;
/// Largest overlap, in diameters. Rounding leaves 1e-6 if spheres only collide; where spheres lie on each other, as at the
/// bottom of the box, falling spheres may press them this far into each other.
const MOST_OVERLAP: f64 = 1e-5;
const MOST_OVERLAP_AT_REST: f64 = 0.02;

fn scenes(count: u64) -> [(&'static str, Scene); 3] {
    let step = 1.0 / 60.0;
    let side = (count as f64 * 4.0).cbrt();
    [
        ("gas", Scene::new(step).periodic().fill(Fill::random(count).volume_fraction(0.2).temperature(3.0))),
        (
            "mixture",
            Scene::new(step).periodic().fill(
                Fill::random(count).diameters([(1.0, 0.5), (0.6, 0.5)]).volume_fraction(0.4).temperature(3.0),
            ),
        ),
        (
            "box",
            Scene::new(step)
                .material("default", 0.9, 6.0 / std::f64::consts::PI)
                .gravity([0.0, 0.0, -9.81])
                .bounds([0.0; 3], [side; 3])
                .walled()
                .fill(Fill::random(count).temperature(3.0)),
        ),
    ]
}

/// Results of one backend.
struct Figures {
    ms_per_step: f64,
    impacts_per_second: f64,
    summary: Summary,
}

fn measure(simulation: &mut Simulation) -> Result<Figures, Error> {
    simulation.run(WARM_UP, |_| ControlFlow::Continue(()))?;
    let before = simulation.summary().clone();
    let start = Instant::now();
    simulation.run(STEPS, |_| {
        if start.elapsed() < PATIENCE { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    let summary = simulation.summary().clone();
    let seconds = summary.wall_seconds - before.wall_seconds;
    Ok(Figures {
        ms_per_step: 1e3 * seconds / (summary.steps - before.steps) as f64,
        impacts_per_second: (summary.impacts() - before.impacts()) as f64 / seconds,
        summary,
    })
}

// Number of spheres with different positions or velocities on the two backends.
fn elsewhere(system: &System, a: &Simulation, b: &Simulation) -> Result<usize, Error> {
    let (a, b) = (a.try_spheres()?, b.try_spheres()?);
    let mean_square = a.iter().map(|s| s.velocity.length_squared()).sum::<f64>() / a.len() as f64;
    let differ = a.iter().zip(&b).filter(|(a, b)| {
        let moved = system.separation(a.position, b.position).length() / (2.0 * a.radius);
        let turned = (a.velocity - b.velocity).length() / mean_square.sqrt();
        moved > ELSEWHERE || turned > ELSEWHERE
    });
    Ok(differ.count())
}

fn short(x: f64) -> String {
    if x == 0.0 { "0".to_owned() } else { format!("{x:.0e}") }
}

/// Compares the backends on one system and prints the results; false if the physics differs.
fn compare(name: &str, scene: &Scene, context: &Context) -> Result<bool, Error> {
    let mut system = scene.build()?;
    let mut melted = Simulation::new(system.clone(), Options::default())?;
    melted.run(MELTING_STEPS, |_| ControlFlow::Continue(()))?;
    system.spheres = melted.spheres();
    let on = |backend| Options { backend, context: Some(context.clone()), ..Options::default() };
    let mut cpu = Simulation::new(system.clone(), on(Backend::Cpu))?;
    let mut gpu = Simulation::new(system.clone(), on(Backend::Gpu))?;

    let impacts = |simulation: &mut Simulation| {
        simulation.step().map(|report| report.pair_impacts + report.wall_impacts)
    };
    let (of_cpu, of_gpu) = (impacts(&mut cpu)?, impacts(&mut gpu)?);
    let apart = elsewhere(&system, &cpu, &gpu)?;
    let ties = 2 + of_cpu / IMPACTS_PER_TIE;
    let mut wrong = vec![];
    if of_cpu == 0 {
        wrong.push("no impact at all: nothing was compared".to_owned());
    }
    if of_cpu.abs_diff(of_gpu) > ties {
        wrong.push(format!("{of_cpu} and {of_gpu} impacts, at most {ties} may differ"));
    }
    if apart > SPHERES_PER_TIE * ties as usize {
        let most = SPHERES_PER_TIE * ties as usize;
        wrong.push(format!("{apart} spheres end elsewhere, at most {most} may"));
    }

    let gpu_name = match context.info().kind {
        AdapterKind::Software => "gpu (software)",
        AdapterKind::Other => "gpu (other)",
        _ => "gpu",
    };
    let spheres = system.spheres.len();
    // Contacts of an inelastic material rest under gravity.
    let may_rest = system.gravity != DVec3::ZERO && system.materials.surface(0, 0).restitution < 1.0;
    let most_overlap = if may_rest { MOST_OVERLAP_AT_REST } else { MOST_OVERLAP };
    let [of_cpu_s, of_gpu_s] = [measure(&mut cpu)?, measure(&mut gpu)?];
    for (backend, figures) in [("cpu", &of_cpu_s), (gpu_name, &of_gpu_s)] {
        let Figures { ms_per_step, impacts_per_second, summary } = figures;
        println!(
            "{name:<8}  {spheres:>8}  {backend:<14}  {ms_per_step:>8.3}  {:>16.3}  {:>11.4}  {:>7}  {:>9}  {:>4}",
            1e-3 * spheres as f64 / ms_per_step,
            1e-6 * impacts_per_second,
            short(summary.ledger_error),
            short(summary.deepest_overlap),
            summary.late,
        );
        // The same limits for both backends, each over its own steps.
        let limits = [
            ("ledger off by", summary.ledger_error, MOST_LEDGER_ERROR),
            ("energy changed by", summary.energy_error.unwrap_or(0.0).abs(), MOST_LEDGER_ERROR),
            ("overlap", summary.deepest_overlap, most_overlap),
        ];
        for (what, value, most) in limits {
            // This comparison is false for NaN.
            if !matches!(value.partial_cmp(&most), Some(std::cmp::Ordering::Less)) {
                wrong.push(format!("{backend}: {what} {value:e}, at most {most:e} is allowed"));
            }
        }
    }
    println!(
        "          {gpu_name} at {:.2} times the speed of cpu; a step from equal states: {of_cpu} and {of_gpu} impacts, \
         {apart} spheres end elsewhere",
        of_cpu_s.ms_per_step / of_gpu_s.ms_per_step
    );
    for line in &wrong {
        eprintln!("error: {name}, {spheres} spheres: {line}");
    }
    Ok(wrong.is_empty())
}

fn run(sizes: &[u64]) -> Result<bool, Error> {
    let context = Context::open(None)?;
    let cores = available_parallelism().map_or(1, usize::from);
    println!("cpu: {cores} cores, {}", std::env::consts::ARCH);
    println!("gpu: {}", context.info());
    match context.info().kind {
        AdapterKind::Software => {
            println!("     a software adapter, not a GPU: it computes on the processor above")
        }
        AdapterKind::Other => println!("     not known to be a GPU"),
        _ => {}
    }
    println!(
        "\nscene      spheres  backend          ms/step  M sphere-steps/s  M impacts/s   ledger  overlap/d  late"
    );
    let mut same = true;
    for &count in sizes {
        for (name, scene) in scenes(count) {
            same &= compare(name, &scene, &context)?;
        }
    }
    Ok(same)
}

// A whole number >= 1, written as 1e5 or 100000.
fn size(text: &str) -> Option<u64> {
    let value: f64 = text.parse().ok()?;
    (value >= 1.0 && value.fract() == 0.0 && value <= f64::from(u32::MAX)).then_some(value as u64)
}

fn main() -> ExitCode {
    let given: Option<Vec<u64>> = std::env::args().skip(1).map(|text| size(&text)).collect();
    let sizes = match given {
        Some(sizes) if sizes.is_empty() => vec![1000, 5000],
        Some(sizes) => sizes,
        None => {
            eprintln!("usage: gpu_vs_cpu [N ...], numbers of spheres, as 10000 or 1e4");
            return ExitCode::from(2);
        }
    };
    match run(&sizes) {
        Ok(true) => {
            println!("both did the same physics");
            ExitCode::SUCCESS
        }
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(if matches!(error, Error::NoAdapter(_)) { 3 } else { 1 })
        }
    }
}
