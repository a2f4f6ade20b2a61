//! `carom run`: a scene, stepped to its end.

use carom::scene::Scene;
use carom::{Backend, Error, Simulation};

use super::adapters::choose;
use super::arguments::{BackendChoice, RunArguments};
use super::failure::{Exit, Failure};
use super::interrupt::{self, Phase};
use super::metrics::Metrics;
use super::output::Output;
use super::record::record;
use super::screen::{Log, Progress, Screen, write_stdout};
use super::source::{self, Source};
use super::text::{counted, duration, grouped, number, scaled};

// Rows of the table that a run prints unless told otherwise: they fit on one screen.
const LOG_ROWS: u64 = 20;
// A run of this many steps is either a slip of the pen or to be had in parts.
const STEPS_MAX: f64 = 1e15;

/// Carries out `carom run`.
pub fn run(arguments: &RunArguments) -> Result<Exit, Failure> {
    let mut screen = Screen::new(arguments.quiet, arguments.json);
    let Source { name, scene } = source::scene(&arguments.scene, &arguments.settings, arguments.seed)?;
    let steps = step_count(arguments, &scene)?;
    let chosen = choose(arguments.backend, arguments.adapter.as_deref())?;
    let (system, notes) = scene.build_with_notes()?;
    let mut simulation = Simulation::new(system, chosen.options(arguments.threads))?;

    let output =
        arguments.out.as_deref().map(|folder| Output::create(folder, arguments.every)).transpose()?;
    let mut metrics = arguments.metrics.as_deref().map(Metrics::create).transpose()?;
    screen.line(&format!(
        "{name}: {}, {} of {} on {}",
        counted(simulation.sphere_count() as u64, "sphere"),
        counted(steps, "step"),
        number(scene.world.dt, 4),
        chosen.describe()
    ));
    if let Some(note) = &chosen.note {
        screen.note(note);
    }
    if chosen.backend == Backend::Exact && arguments.threads > 1 {
        screen.note("note: the exact backend runs on one thread");
    }
    notes.iter().for_each(|note| screen.note(&format!("note: {note}")));

    let mut log = Log::new(arguments.log_every.unwrap_or_else(|| steps.div_ceil(LOG_ROWS).max(1)));
    log.header(&mut screen);
    let mut progress = Progress::start(&mut screen, steps);
    let mut failed = None;
    interrupt::enter(Phase::Stepping);
    while simulation.steps() < steps && !interrupt::requested() {
        let nobody_listens = screen.closed() && !arguments.json && output.is_none() && metrics.is_none();
        if nobody_listens {
            break;
        }
        if let Err(error) = simulation.step() {
            failed = Some(error);
            break;
        }
        let report = simulation.report();
        if let Some(metrics) = &mut metrics {
            metrics.add(report)?;
        }
        log.add(&mut screen, report, report.step == steps || interrupt::requested());
        progress.advance(&mut screen, report.step);
        if let Some(output) = &output {
            output.between(&simulation)?;
        }
    }
    interrupt::enter(Phase::Writing);
    progress.finish(&mut screen);

    if let Some(metrics) = metrics {
        metrics.finish()?;
    }
    if let Some(output) = &output {
        match failed {
            None => output.write("final", &simulation)?,
            // The state of a run that failed is one to look into, not one to go on with.
            Some(_) if is_finite(&simulation) => output.write("last-good", &simulation)?,
            Some(_) => {
                screen.note("note: the engine keeps no finite state after this failure; none is written")
            }
        }
    }
    describe_end(&mut screen, arguments, &simulation);
    if arguments.json {
        let mut object = record(&simulation);
        if matches!(failed, Some(Error::NonFinite { .. })) {
            // The step that found it did not end and so is not in the summary.
            object["nonfinite"] = simulation.summary().nonfinite.max(1).into();
        }
        print_object(&object)?;
    }
    if let Some(error) = failed {
        return Err(Failure { exit: Exit::RunFailed, message: error.to_string() });
    }
    if simulation.steps() < steps && interrupt::requested() {
        screen.note(&format!("interrupted after step {} of {}", simulation.steps(), steps));
        return Ok(Exit::Interrupted);
    }
    Ok(Exit::Done)
}

/// Carries out `carom` without arguments: something to see, and what to try next.
pub fn demonstrate() -> Result<Exit, Failure> {
    let command = std::env::args().next().unwrap_or_else(|| "carom".to_owned());
    let exit = run(&RunArguments {
        scene: "gas".to_owned(),
        backend: BackendChoice::Cpu,
        adapter: None,
        threads: 0,
        steps: None,
        time: Some(10.0),
        seed: None,
        settings: vec![],
        out: None,
        every: None,
        log_every: None,
        metrics: None,
        json: false,
        quiet: false,
    })?;
    if exit == Exit::Done {
        Screen::new(false, false).line(&format!(
            "\nTry next:\n  \
             {command} scenes                          what else there is to run\n  \
             {command} run cradle --backend exact      Newton's cradle, event by event\n  \
             {command} run gas --out out --json        the state as CSV and XYZ, the figures as JSON"
        ));
    }
    Ok(exit)
}

/// Prints the one object of `--json`.
pub fn print_object(object: &serde_json::Value) -> Result<(), Failure> {
    match write_stdout(&format!("{object}\n")) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Failure::files(format!("cannot write to stdout: {error}")))
        }
        _ => Ok(()),
    }
}

fn is_finite(simulation: &Simulation) -> bool {
    simulation
        .spheres()
        .iter()
        .all(|s| s.position.is_finite() && s.velocity.is_finite() && s.spin.is_finite())
}

fn step_count(arguments: &RunArguments, scene: &Scene) -> Result<u64, Failure> {
    let Some(time) = arguments.time else {
        return Ok(arguments.steps.unwrap_or(scene.world.steps));
    };
    let dt = scene.world.dt;
    let exact = time / dt;
    if exact.is_nan() || exact > STEPS_MAX {
        return Err(Failure::usage(format!(
            "--time {time} is {exact:e} steps of {dt}; at most {STEPS_MAX:e} can be run"
        )));
    }
    // 10/(1/60) may come out a rounding above 600: a millionth of a step is no reason for one more.
    Ok((exact - 1e-6).ceil().max(1.0) as u64)
}

fn describe_end(screen: &mut Screen, arguments: &RunArguments, simulation: &Simulation) {
    let s = simulation.summary();
    let optional = |x: Option<f64>, digits| x.map_or("does not apply".to_owned(), |x| number(x, digits));
    let ppm = if s.impacts() > 0 { 1e6 * s.late as f64 / s.impacts() as f64 } else { 0.0 };
    let lines = [
        (
            "stepped",
            format!(
                "{}, {}, time {}, in {}",
                counted(s.steps, "step"),
                counted(s.substeps, "substep"),
                number(s.time, 5),
                duration(s.wall_seconds)
            ),
        ),
        (
            "speed",
            format!(
                "{} sphere-steps/s, {} impacts/s",
                scaled(s.sphere_steps_per_second()),
                scaled(s.impacts_per_second())
            ),
        ),
        (
            "impacts",
            format!(
                "{} between spheres, {} on walls; {} per sphere and time",
                grouped(s.pair_impacts),
                grouped(s.wall_impacts),
                number(s.collision_rate, 4)
            ),
        ),
        (
            "order",
            format!(
                "late {} ({} ppm), unresolved {}, stopped {}; at most {}",
                s.late,
                number(ppm, 2),
                s.unresolved,
                s.stopped,
                counted(u64::from(s.rounds_max), "round")
            ),
        ),
        (
            "overlap",
            format!(
                "deepest at the end of a step {} d, now {} d",
                number(s.deepest_overlap, 2),
                number(s.deepest_overlap_final, 2)
            ),
        ),
        (
            "energy",
            format!(
                "kinetic {}, total {}; change {}, ledger off by {}",
                number(s.kinetic_energy, 7),
                number(s.total_energy, 7),
                optional(s.energy_error, 2),
                number(s.ledger_error, 2)
            ),
        ),
        ("momentum", format!("change {}", optional(s.momentum_error, 2))),
        ("pressure", format!("Z = PV/NkT {}", optional(s.compressibility, 5))),
        ("state", format!("{:016x}", simulation.state_hash())),
    ];
    screen.line("");
    for (name, text) in lines {
        screen.line(&format!("{name:<9} {text}"));
    }
    if let Some(folder) = &arguments.out {
        screen.line(&format!("files     in {}", folder.display()));
    }
    if let Some(path) = &arguments.metrics {
        screen.line(&format!("metrics   {}", path.display()));
    }
}
