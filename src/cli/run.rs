//! `carom run`: steps a scene to its end.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use carom::scene::Scene;
use carom::{Backend, CompressionStage, Error, Options, Simulation, Sphere, StepReport, Summary};

use super::adapters::{Chosen, choose};
use super::arguments::{BackendChoice, OnLossChoice, RunArguments};
use super::checkpoints::{self, Checkpoints, Resumed, RunLabels};
use super::command_error::{CommandError, Exit};
use super::contacts::{self, Contacts};
use super::demo;
use super::dry_run::dry_run;
use super::events::{self, Events};
use super::interrupt::{self, Phase};
use super::metrics::Metrics;
use super::output::Output;
use super::record::record;
use super::screen::{Log, Progress, Screen, write_stdout};
use super::source::{self, Source};
use super::text::{counted, duration, grouped, number, scaled};
use super::walls::Walls;

// Default number of table lines of a run; they fit on one screen.
const LOG_ROWS: u64 = 20;
// Longest run in steps; a longer one is a typing error, or can be run in parts.
const STEPS_MAX: f64 = 1e15;

/// Runs `carom run`.
pub fn run(arguments: &RunArguments) -> Result<Exit, CommandError> {
    contacts::check_path(arguments)?;
    events::check_path(arguments)?;
    if let Some(path) = &arguments.resume {
        let resumed = checkpoints::resumed(path, arguments)?;
        let backend = checkpoints::backend(arguments.backend, &resumed.checkpoint)?;
        let chosen = choose(backend, arguments.adapter.as_deref())?;
        let start = resume(&chosen, arguments, resumed)?;
        return run_on(&chosen, arguments, start);
    }
    let name = arguments.scene.as_deref().unwrap_or_default();
    let source = source::scene(name, &arguments.settings, arguments.seed)?;
    let steps = step_count(arguments, &source.scene)?;
    let chosen = choose(arguments.backend, arguments.adapter.as_deref())?;
    let start = begin(&chosen, arguments, source, steps)?;
    run_on(&chosen, arguments, start)
}

/// A simulation to step up to a step, with what the user should know about it.
struct Start {
    simulation: Simulation,
    labels: RunLabels,
    end: u64,
    notes: Vec<String>,
}

// Starts the simulation of a scene.
fn begin(
    chosen: &Chosen,
    arguments: &RunArguments,
    source: Source,
    steps: u64,
) -> Result<Start, CommandError> {
    let Source { name, scene } = source;
    let (system, notes) = scene.build_with_notes()?;
    let simulation = Simulation::new(system, options(chosen, arguments))?;
    let notes = notes.iter().map(|note| format!("note: {note}")).collect();
    Ok(Start { simulation, labels: RunLabels::of(arguments, &name), end: steps, notes })
}

// Goes on from a checkpoint.
fn resume(chosen: &Chosen, arguments: &RunArguments, resumed: Resumed) -> Result<Start, CommandError> {
    let Resumed { checkpoint, labels, end } = resumed;
    let done = checkpoint.steps();
    let end = match (arguments.steps, arguments.time, end) {
        (Some(steps), ..) => done + limited("--steps", steps)?,
        (None, Some(time), _) => done + steps_of_time(time, checkpoint.system().dt)?,
        (None, None, Some(end)) if end > done => end,
        (None, None, _) => {
            return Err(CommandError::usage(format!(
                "the run of the checkpoint has ended at its step {done}; --steps or --time tell how far it goes on"
            )));
        }
    };
    let notes = checkpoints::note(chosen, &checkpoint).into_iter().collect();
    let simulation = Simulation::resume(checkpoint, options(chosen, arguments))?;
    Ok(Start { simulation, labels, end, notes })
}

fn options(chosen: &Chosen, arguments: &RunArguments) -> Options {
    Options {
        on_loss: arguments.on_loss.into(),
        record_impacts: arguments.events.is_some(),
        ..chosen.options(arguments.threads)
    }
}

fn run_on(chosen: &Chosen, arguments: &RunArguments, start: Start) -> Result<Exit, CommandError> {
    let Start { mut simulation, labels, end: steps, notes } = start;
    let done = simulation.steps();
    let mut screen = Screen::new(arguments.quiet, arguments.json);
    tracing::info!("the backend is {}", chosen.describe());
    if arguments.contacts.is_some() {
        // Fail early if this backend cannot report contacts.
        simulation.contacts()?;
    }

    if arguments.dry_run {
        return dry_run(arguments, chosen, simulation, steps - done, &mut screen);
    }
    let mut output = Output::of(arguments)?;
    let sinks = &simulation.system().sinks;
    let metrics = arguments.metrics.as_deref().map(|path| Metrics::create(path, sinks)).transpose()?;
    let walls = arguments.walls.as_deref().map(|path| Walls::create(path, &simulation)).transpose()?;
    let events = arguments.events.as_deref().map(|path| Events::create(path, &simulation)).transpose()?;
    let contact_file = arguments.contacts.as_deref().map(Contacts::create).transpose()?;
    let mut checkpoints = Checkpoints::of(arguments, chosen, &labels, steps);
    announce(&mut screen, chosen, &simulation, &labels.scene, steps);
    if chosen.backend == Backend::Exact && arguments.threads > 1 {
        screen.note("note: the exact backend runs on one thread");
    }
    let of_folder = checkpoints.as_ref().and_then(Checkpoints::note);
    notes.iter().chain(&of_folder).for_each(|note| screen.note(note));

    let log = Log::new(arguments.log_every.unwrap_or_else(|| (steps - done).div_ceil(LOG_ROWS).max(1)));
    log.header(&mut screen);
    let progress = Progress::start(&mut screen, steps);
    let mut watch = Watch {
        screen: &mut screen,
        metrics,
        walls,
        events,
        log,
        progress,
        is_asked_for_more: is_asked_for_more(arguments),
        failure: None,
        output_failed: output.as_ref().map(Output::failure_flag),
        is_crushing: false,
        is_on_cpu: false,
    };
    interrupt::enter(Phase::Stepping);
    let mut failed =
        step_to_end(&mut simulation, steps, &mut watch, (output.as_mut(), checkpoints.as_mut()))?;
    interrupt::enter(Phase::Writing);
    let is_interrupted = failed.is_none() && simulation.steps() < steps && interrupt::requested();
    if let (Some(checkpoints), None) = (&mut checkpoints, &failed) {
        // First of all files: the run can go on from it.
        recover(checkpoints.write_last(&mut simulation, is_interrupted), &mut failed);
    }
    watch.finish(simulation.report())?;

    // A device may also be lost after the last step.
    recover(simulation.recover(), &mut failed);
    let spheres = recover(simulation.try_spheres(), &mut failed);
    let state_hash = recover(simulation.try_state_hash(), &mut failed);
    if let Some(output) = &mut output {
        let written = write_last_state(output, &simulation, spheres, failed.is_some(), &mut screen);
        written.map_err(|failure| checkpoints.as_mut().and_then(Checkpoints::fail).unwrap_or(failure))?;
    }
    if let Some(file) = contact_file {
        write_contacts(file, &simulation, failed.is_some(), &screen)?;
    }
    describe_end(&mut screen, arguments, &simulation, state_hash);
    if let (Some(path), None) = (&arguments.contacts, &failed) {
        screen.line(&format!("contacts  {}", path.display()));
    }
    if arguments.json {
        print_record(&simulation, state_hash, failed.as_ref())?;
    }
    if let Some(error) = failed {
        return Err(run_failed(&error, arguments.on_loss));
    }
    if let Some(failure) = checkpoints.as_mut().and_then(Checkpoints::fail) {
        return Err(failure);
    }
    if is_interrupted {
        let last = checkpoints.as_ref().and_then(|checkpoints| checkpoints.path_of(simulation.steps()));
        note_interruption(&screen, simulation.steps(), steps, last.as_deref());
        return Ok(Exit::Interrupted);
    }
    Ok(Exit::Done)
}

// Whether the run is still useful after the reader of the screen has gone.
fn is_asked_for_more(arguments: &RunArguments) -> bool {
    let RunArguments { json, out, metrics, walls, events, contacts, .. } = arguments;
    *json || [out, metrics, walls, events, contacts].into_iter().any(Option::is_some)
}

// Prints what begins, and the note on the choice of the backend.
fn announce(screen: &mut Screen, chosen: &Chosen, simulation: &Simulation, scene: &str, steps: u64) {
    let done = simulation.steps();
    screen.line(&format!(
        "{scene}: {}, {} of {} on {}{}",
        counted(simulation.sphere_count() as u64, "sphere"),
        counted(steps - done, "step"),
        number(simulation.system().dt, 4),
        chosen.describe(),
        if done > 0 { format!(", after step {done}") } else { String::new() }
    ));
    if let Some(note) = &chosen.note {
        screen.note(note);
    }
}

// Prints the object of `--json`.
fn print_record(
    simulation: &Simulation,
    state_hash: Option<u64>,
    failed: Option<&Error>,
) -> Result<(), CommandError> {
    let mut object = record(simulation, state_hash);
    if matches!(failed, Some(Error::NonFinite { .. })) {
        // The failed step did not end, so the summary does not include it.
        object["nonfinite"] = simulation.summary().nonfinite.max(1).into();
    }
    print_object(&object)
}

fn write_contacts(
    file: Contacts,
    simulation: &Simulation,
    has_failed: bool,
    screen: &Screen,
) -> Result<(), CommandError> {
    if has_failed {
        screen.note("note: a step that failed has no contacts; none are written");
        return Ok(());
    }
    file.write(simulation)
}

fn note_interruption(screen: &Screen, step: u64, steps: u64, checkpoint: Option<&Path>) {
    let on = match checkpoint {
        Some(path) => format!("to go on: carom run --resume {}", path.display()),
        None => "--out DIR would have kept a checkpoint to resume from".to_owned(),
    };
    screen.note(&format!("interrupted after step {step} of {steps}; {on}"));
}

fn run_failed(error: &Error, on_loss: OnLossChoice) -> CommandError {
    let hint = match error {
        Error::DeviceLost(_) if on_loss == OnLossChoice::Stop => {
            "; with --on-loss cpu the run goes on on the CPU"
        }
        _ => "",
    };
    CommandError { exit: Exit::RunFailed, message: format!("{error}{hint}") }
}

// Outputs that follow the steps of a run.
struct Watch<'a> {
    screen: &'a mut Screen,
    metrics: Option<Metrics>,
    walls: Option<Walls>,
    events: Option<Events>,
    log: Log,
    progress: Progress,
    // Whether the run is still useful after the reader of the screen has gone.
    is_asked_for_more: bool,
    failure: Option<CommandError>,
    // Set by the thread that writes states if it cannot.
    output_failed: Option<Arc<AtomicBool>>,
    // Whether the note about crushed spheres has been printed.
    is_crushing: bool,
    // Whether the note about the loss of the device has been printed.
    is_on_cpu: bool,
}

impl Watch<'_> {
    fn is_over(&self) -> bool {
        let has_failed = self.output_failed.as_ref().is_some_and(|failed| failed.load(Ordering::Relaxed));
        let is_unwatched = self.screen.closed() && !self.is_asked_for_more;
        interrupt::requested() || self.failure.is_some() || has_failed || is_unwatched
    }

    // Handles a finished step.
    fn see(&mut self, simulation: &Simulation) -> ControlFlow<()> {
        let report = simulation.report();
        if let (Some((wall, depth)), false) = (report.crushed_by, self.is_crushing) {
            self.is_crushing = true;
            let name = &simulation.system().all_walls()[wall as usize].name;
            self.screen.note(&format!(
                "note: at step {} the wall {name} crushes spheres: they reach {} of their diameter into it",
                report.step,
                number(depth, 2)
            ));
        }
        if let (Some(reason), false) = (simulation.device_loss(), self.is_on_cpu) {
            self.is_on_cpu = true;
            self.screen.note(&format!("note: {reason}; from step {} on the run is on cpu", report.step));
        }
        if let (Some(metrics), None) = (&mut self.metrics, &self.failure) {
            self.failure = metrics.add(report).err();
        }
        if let (Some(walls), None) = (&mut self.walls, &self.failure) {
            self.failure = walls.add(simulation).err();
        }
        if let (Some(events), None) = (&mut self.events, &self.failure) {
            self.failure = events.add(simulation).err();
        }
        self.log.add(self.screen, report);
        self.progress.advance(self.screen, report.step);
        if self.is_over() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn finish(self, last: &StepReport) -> Result<(), CommandError> {
        self.log.finish(self.screen, last);
        self.progress.finish(self.screen);
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        self.walls.map_or(Ok(()), Walls::finish)?;
        self.events.map_or(Ok(0), Events::finish)?;
        self.metrics.map_or(Ok(()), Metrics::finish)
    }
}

// Runs all steps, without a stop except for intermediate states and checkpoints, because an engine on a device runs a step ahead of its
// reports. Returns the error that ends the run early.
fn step_to_end(
    simulation: &mut Simulation,
    steps: u64,
    watch: &mut Watch,
    (mut output, mut checkpoints): (Option<&mut Output>, Option<&mut Checkpoints>),
) -> Result<Option<Error>, CommandError> {
    while simulation.steps() < steps && !watch.is_over() {
        let left = steps - simulation.steps();
        let to_state = output.as_ref().and_then(|output| output.steps_to_next(simulation.steps()));
        let to_checkpoint = checkpoints.as_ref().and_then(|c| c.steps_to_next(simulation.steps()));
        let without_stop = [to_state, to_checkpoint].into_iter().flatten().fold(left, u64::min);
        if let Err(error) = simulation.run_watched(without_stop, |simulation| watch.see(simulation)) {
            return Ok(Some(error));
        }
        // Files may take longer than a step may.
        interrupt::enter(Phase::Writing);
        if let Some(checkpoints) = &mut checkpoints {
            if let Err(error) = checkpoints.write_if_due(simulation) {
                return Ok(Some(error));
            }
            if checkpoints.has_failed() {
                return Ok(None);
            }
        }
        if let Some((output, name)) =
            output.as_mut().and_then(|o| o.name_between(simulation.steps()).map(|name| (o, name)))
        {
            match simulation.recover().and_then(|()| simulation.try_spheres()) {
                Ok(spheres) => output.write(&name, simulation, spheres)?,
                Err(error) => return Ok(Some(error)),
            }
        }
        interrupt::enter(Phase::Stepping);
    }
    Ok(None)
}

// Writes the state at the end of a run, or prints why there is none.
fn write_last_state(
    output: &mut Output,
    simulation: &Simulation,
    spheres: Option<Vec<Sphere>>,
    has_failed: bool,
    screen: &mut Screen,
) -> Result<(), CommandError> {
    match spheres {
        Some(spheres) if !has_failed => output.write("final", simulation, spheres)?,
        // The state after a failure is for inspection, not for continuation.
        Some(spheres) if is_finite(&spheres) => output.write("last-good", simulation, spheres)?,
        Some(_) => screen.note("note: the engine keeps no finite state after this failure; none is written"),
        None => screen.note("note: the state was lost with the device; none is written"),
    }
    output.finish()
}

// Returns the value if it could be read. Otherwise its error is the cause of failure, unless there is an earlier one.
fn recover<T>(read: Result<T, Error>, failed: &mut Option<Error>) -> Option<T> {
    match read {
        Ok(value) => Some(value),
        Err(error) => {
            failed.get_or_insert(error);
            None
        }
    }
}

/// Runs `carom` without arguments: a short demonstration, and suggestions for further commands.
pub fn demonstrate() -> Result<Exit, CommandError> {
    let command = std::env::args().next().unwrap_or_else(|| "carom".to_owned());
    let chosen = choose(BackendChoice::Auto, None)?;
    let source = demo::scene(&chosen, &mut Screen::new(false, false))?;
    let arguments = RunArguments {
        scene: Some(source.name.clone()),
        backend: BackendChoice::Auto,
        adapter: None,
        threads: 0,
        steps: None,
        time: None,
        seed: None,
        settings: vec![],
        out: None,
        every: None,
        formats: vec![],
        checkpoint_every: None,
        resume: None,
        log_every: None,
        metrics: None,
        contacts: None,
        events: None,
        dry_run: false,
        walls: None,
        on_loss: OnLossChoice::Stop,
        json: false,
        quiet: false,
    };
    let steps = step_count(&arguments, &source.scene)?;
    let start = begin(&chosen, &arguments, source, steps)?;
    let exit = run_on(&chosen, &arguments, start)?;
    if exit == Exit::Done {
        Screen::new(false, false).line(&format!(
            "\nTry next:\n  \
             {command} scenes                          what else there is to run\n  \
             {command} run cradle --backend exact      Newton's cradle, event by event\n  \
             {command} run gas --out out --json        the state as CSV and XYZ, the figures as JSON\n  \
             {command} run heap --backend cpu --contacts heap.csv    all resting contacts with their forces"
        ));
    }
    Ok(exit)
}

/// Prints the object of `--json`.
pub fn print_object(object: &serde_json::Value) -> Result<(), CommandError> {
    match write_stdout(&format!("{object}\n")) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(CommandError::files(format!("cannot write to stdout: {error}")))
        }
        _ => Ok(()),
    }
}

fn is_finite(spheres: &[Sphere]) -> bool {
    spheres.iter().all(|s| s.position.is_finite() && s.velocity.is_finite() && s.spin.is_finite())
}

fn step_count(arguments: &RunArguments, scene: &Scene) -> Result<u64, CommandError> {
    let Some(time) = arguments.time else {
        let (option, steps) = match arguments.steps {
            Some(steps) => ("--steps", steps),
            None => ("world.steps", scene.world.steps),
        };
        return limited(option, steps);
    };
    steps_of_time(time, scene.world.dt)
}

fn limited(option: &str, steps: u64) -> Result<u64, CommandError> {
    if steps as f64 > STEPS_MAX {
        return Err(CommandError::usage(format!(
            "{option} is {steps}; at most {STEPS_MAX:e} steps can be run"
        )));
    }
    Ok(steps)
}

fn steps_of_time(time: f64, dt: f64) -> Result<u64, CommandError> {
    let exact = time / dt;
    if exact.is_nan() || exact > STEPS_MAX {
        return Err(CommandError::usage(format!(
            "--time {time} is {exact:e} steps of {dt}; at most {STEPS_MAX:e} can be run"
        )));
    }
    // 10/(1/60) may round to just above 600; a millionth of a step does not add another step.
    Ok((exact - 1e-6).ceil().max(1.0) as u64)
}

// Whether the collisions were resolved in order.
fn describe_order(s: &Summary) -> String {
    let ppm = if s.impacts() > 0 { 1e6 * s.late as f64 / s.impacts() as f64 } else { 0.0 };
    let one_by_one = match s.event_driven {
        0 => String::new(),
        count => format!(", {} one by one", counted(count, "impact")),
    };
    let on_cpu = match s.cpu_steps {
        0 => String::new(),
        count => format!(", {} on the CPU", counted(count, "step")),
    };
    format!(
        "late {} ({} ppm), crowded {}, unresolved {}, stopped {}; at most {}{one_by_one}{on_cpu}",
        s.late,
        number(ppm, 2),
        s.crowded,
        s.unresolved,
        s.stopped,
        counted(u64::from(s.rounds_max), "round"),
    )
}

fn describe_end(
    screen: &mut Screen,
    arguments: &RunArguments,
    simulation: &Simulation,
    state_hash: Option<u64>,
) {
    let s = simulation.summary();
    let optional = |x: Option<f64>, digits| x.map_or("does not apply".to_owned(), |x| number(x, digits));
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
        ("order", describe_order(s)),
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
        ("state", state_hash.map_or("lost".to_owned(), |hash| format!("{hash:016x}"))),
    ];
    screen.line("");
    for (name, text) in lines.into_iter().chain(describe_flow(simulation)).chain(describe_box(simulation)) {
        screen.line(&format!("{name:<9} {text}"));
    }
    if let Some(folder) = &arguments.out {
        screen.line(&format!("files     in {}", folder.display()));
    }
    if let Some(path) = &arguments.metrics {
        screen.line(&format!("metrics   {}", path.display()));
    }
    if let Some(path) = &arguments.walls {
        screen.line(&format!("walls     {}", path.display()));
    }
    if let Some(path) = &arguments.events {
        screen.line(&format!("events    {}", path.display()));
    }
}

// Progress of the compression, if there is one.
fn describe_box(simulation: &Simulation) -> Option<(&'static str, String)> {
    let compressed = simulation.compressed()?;
    let stage = match compressed.stage {
        CompressionStage::Running => "no target reached yet",
        CompressionStage::Reached => "target reached",
        CompressionStage::Stuck => "stuck: the spheres can get no closer",
    };
    let (fraction, pressure) = (number(compressed.packing_fraction, 5), number(compressed.pressure, 4));
    Some(("box", format!("packing fraction {fraction}, pressure {pressure}; {stage}")))
}

// Spheres that came and went, if there are sources or sinks.
fn describe_flow(simulation: &Simulation) -> Vec<(&'static str, String)> {
    let (system, s) = (simulation.system(), simulation.summary());
    if system.sources.is_empty() && system.sinks.is_empty() {
        return vec![];
    }
    let mut text = format!(
        "{} poured, {} waiting, {} removed, {} now",
        grouped(s.poured),
        grouped(s.waiting),
        grouped(s.removed),
        grouped(s.sphere_count as u64)
    );
    if system.sinks.len() > 1 {
        let by_sink = system.sinks.iter().zip(simulation.sink_counts());
        let parts: Vec<String> =
            by_sink.map(|(sink, count)| format!("{} {}", grouped(count.removed), sink.name)).collect();
        text += &format!(" ({})", parts.join(", "));
    }
    vec![("flow", text)]
}
