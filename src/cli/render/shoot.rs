//! Runs `carom render`: steps the simulation, draws the frames and writes them.

use std::str::FromStr;
use std::sync::Arc;

use carom::gpu::Context;
use carom::render::{
    CameraChoice, Colour, ContactNetwork, Map, Range, Recent, RenderWorld, Shot, Spheres, Studio, Style,
};
use carom::scene::Scene;
use carom::{Backend, Error, Options, Simulation, StepReport, System};

use super::chart::{self, Chart};
use super::film::{Film, Kind, Label};
use super::schedule::Schedule;
use crate::cli::{
    arguments::{BackendChoice, Hidden, PictureSize, RenderArguments},
    command_error::{CommandError, Exit},
    interrupt::{self, Phase},
    screen::{Progress, Screen},
    source::{self, Source},
    text::{counted, number},
};

/// Default number of frames.
const FRAMES: u64 = 150;

/// Runs `carom render`.
pub fn render(arguments: &RenderArguments) -> Result<Exit, CommandError> {
    let mut screen = Screen::new(arguments.quiet, false);
    let Source { name, scene } = source::scene(&arguments.scene, &arguments.settings, arguments.seed)?;
    // Check all arguments before an adapter is opened or a file is written.
    let frames = frame_count(arguments)?;
    let camera: CameraChoice = named("--camera", &arguments.camera)?;
    let style = style(arguments, &scene)?;
    let schedule = Schedule::new(
        frames,
        scene.world.dt,
        arguments.fps,
        arguments.start,
        arguments.speed,
        arguments.steps_per_frame.unwrap_or(1),
    )?;
    let (system, notes) = scene.build_with_notes()?;
    let context = open(arguments.adapter.as_deref())?;
    let (backend, note) = backend(arguments.backend, &context);
    let PictureSize(size) = arguments.size;
    let (picture, chart) = match arguments.plot {
        Some(_) => chart::divide(size),
        None => (size, size),
    };
    let mut studio = Studio::new(&context, picture)?;
    let label = Label { scene: name.clone(), seed: scene.world.seed };
    let mut film = Film::create(&arguments.out, size, arguments.fps, &label, &screen)?;

    screen.line(&format!(
        "{name}: {}, {} of {}x{}, {} of {} on {}",
        counted(system.spheres.len() as u64, "sphere"),
        counted(frames, "frame"),
        size[0],
        size[1],
        counted(schedule.steps(), "step"),
        number(scene.world.dt, 4),
        backend.name(),
    ));
    note.iter().for_each(|note| screen.note(note));
    schedule.note().iter().for_each(|note| screen.note(note));
    notes.iter().for_each(|note| screen.note(&format!("note: {note}")));

    let shot = Shot::new(&camera, &scene.view, &system, picture);
    let mut stage = Stage::new(system, &context, backend, arguments.threads, style.colour)?;
    let chart = arguments.plot.map(|plotted| {
        let times = [arguments.start, schedule.steps() as f64 * scene.world.dt];
        let summary = stage.simulation.summary();
        Chart::new(&context, chart, plotted, times, [summary.kinetic_energy, summary.total_energy])
    });
    let mut shoot = Shoot { studio: &mut studio, shot, style, chart, fps: arguments.fps, schedule, label };
    interrupt::enter(Phase::Stepping);
    let progress = Progress::of(&mut screen, frames, "frame");
    let ended = shoot.run(&mut stage, &mut film, progress, &mut screen);
    interrupt::enter(Phase::Writing);
    let done = film.frames();
    // All frames written so far are complete, even after an error.
    film.finish(&mut screen)?;
    ended?;
    if done < frames && interrupt::requested() {
        screen.note(&format!("interrupted after frame {done} of {frames}"));
        return Ok(Exit::Interrupted);
    }
    Ok(Exit::Done)
}

/// Draws the pictures.
struct Shoot<'a> {
    studio: &'a mut Studio,
    shot: Shot,
    style: Style,
    chart: Option<Chart>,
    fps: f64,
    schedule: Schedule,
    label: Label,
}

impl Shoot<'_> {
    fn run(
        &mut self,
        stage: &mut Stage,
        film: &mut Film,
        mut progress: Progress,
        screen: &mut Screen,
    ) -> Result<(), CommandError> {
        let result = self.frames(stage, film, &mut progress, screen);
        progress.finish(screen);
        result
    }

    fn frames(
        &mut self,
        stage: &mut Stage,
        film: &mut Film,
        progress: &mut Progress,
        screen: &mut Screen,
    ) -> Result<(), CommandError> {
        for frame in 0..self.schedule.frames {
            let chart = &mut self.chart;
            let is_there = stage
                .reach(self.schedule.step(frame), |report| chart.iter_mut().for_each(|c| c.add(report)))?;
            if !is_there || interrupt::requested() {
                break;
            }
            stage.show()?;
            if self.style.chains || self.style.colour.needs_contacts() {
                stage.show_contacts()?;
            }
            let camera = self.shot.at(frame as f64 / self.fps);
            let mut image = self.studio.picture(&stage.spheres, &stage.render_world, &camera, &self.style)?;
            if let Some(chart) = &mut self.chart {
                image = chart.below(image)?;
            }
            let simulation = &stage.simulation;
            if !film.add(&image, &self.label, simulation.time(), simulation.steps())? {
                break;
            }
            progress.advance(screen, frame + 1);
        }
        Ok(())
    }
}

/// The simulation, and its spheres on the device that draws.
struct Stage {
    context: Context,
    simulation: Simulation,
    spheres: Spheres,
    render_world: RenderWorld,
    /// Times of last contact, for engines that do not report them.
    recent: Option<Recent>,
    /// [`Simulation::generation`] of `spheres`.
    generation: u64,
}

impl Stage {
    fn new(
        system: System,
        context: &Context,
        backend: Backend,
        threads: usize,
        colour: Colour,
    ) -> Result<Self, CommandError> {
        let render_world = RenderWorld::of(&system);
        let recent = (colour == Colour::Impacts && backend != Backend::Gpu).then(Recent::new);
        let options = Options {
            backend,
            threads,
            record_impacts: recent.is_some(),
            context: (backend == Backend::Gpu).then(|| context.clone()),
            ..Options::default()
        };
        let simulation = Simulation::new(system, options)?;
        let system = simulation.system();
        let spheres = match simulation.state_buffers() {
            Some(state) => Spheres::of_state(context, &state, system),
            None => Spheres::upload(context, &simulation.try_spheres()?, system, recent.as_ref()),
        };
        let generation = simulation.generation();
        Ok(Self { context: context.clone(), simulation, spheres, render_world, recent, generation })
    }

    // Steps up to this step. Returns false if the user wants to stop earlier.
    fn reach(&mut self, step: u64, mut each: impl FnMut(&StepReport)) -> Result<bool, Error> {
        use std::ops::ControlFlow::{Break, Continue};

        if let Some(recent) = &mut self.recent {
            while self.simulation.steps() < step && !interrupt::requested() {
                each(self.simulation.step()?);
                recent.note(self.simulation.impacts(), self.simulation.time());
            }
        } else if self.simulation.steps() < step {
            self.simulation.run(step - self.simulation.steps(), |report| {
                each(report);
                if interrupt::requested() { Break(()) } else { Continue(()) }
            })?;
        }
        Ok(self.simulation.steps() == step)
    }

    // Updates the drawn spheres and walls.
    fn show(&mut self) -> Result<(), Error> {
        if self.simulation.compressed().is_some() {
            self.render_world = self.render_world.of_changed(self.simulation.system());
        }
        self.render_world = self.render_world.at(self.simulation.time());
        match self.simulation.state_buffers() {
            Some(state) if self.generation == self.simulation.generation() => self.spheres.follow(&state),
            Some(state) => {
                // Spheres have come or gone, so their number and materials changed.
                self.spheres = Spheres::of_state(&self.context, &state, self.simulation.system());
                self.generation = self.simulation.generation();
            }
            None => {
                let spheres = self.simulation.try_spheres()?;
                self.spheres.update(&self.context, &spheres, self.recent.as_ref());
            }
        }
        Ok(())
    }
}

impl Stage {
    // Updates the contacts on the drawn spheres.
    fn show_contacts(&mut self) -> Result<(), Error> {
        let (contacts, spheres) = (self.simulation.contacts()?, self.simulation.try_spheres()?);
        let network = ContactNetwork::of(&contacts, &spheres, self.simulation.system());
        self.spheres.set_contacts(&self.context, &Arc::new(network));
        Ok(())
    }
}

// Drawing needs an adapter, whatever the backend.
fn open(adapter: Option<&str>) -> Result<Context, CommandError> {
    Context::open(adapter).map_err(|error| match error {
        Error::NoAdapter(text) => CommandError {
            exit: Exit::NoAdapter,
            message: format!("{text}; pictures need an adapter to draw them, a software one will do"),
        },
        error => error.into(),
    })
}

// The backend, and a note to the user about it.
fn backend(choice: BackendChoice, context: &Context) -> (Backend, Option<String>) {
    let info = context.info();
    let drawn = format!("note: {info} draws");
    let note = context.info().is_software().then(|| format!("{drawn}: a software adapter, not a GPU"));
    match choice {
        BackendChoice::Gpu => (Backend::Gpu, note),
        BackendChoice::Exact => (Backend::Exact, note),
        BackendChoice::Cpu => (Backend::Cpu, note),
        BackendChoice::Auto if context.is_hardware() => (Backend::Gpu, None),
        BackendChoice::Auto => {
            (Backend::Cpu, Some(format!("{drawn}, cpu computes: a software adapter, not a GPU")))
        }
    }
}

fn frame_count(arguments: &RenderArguments) -> Result<u64, CommandError> {
    let kind = Kind::of(&arguments.out).map_err(|text| CommandError::usage(format!("--out: {text}")))?;
    match (kind, arguments.frames) {
        (Kind::Png, None | Some(1)) => Ok(1),
        (Kind::Png, Some(frames)) => Err(CommandError::usage(format!(
            "--out {} is one picture, not {frames}; name a folder, a .gif or an .mp4",
            arguments.out.display()
        ))),
        (_, frames) => Ok(frames.unwrap_or(FRAMES)),
    }
}

fn style(arguments: &RenderArguments, scene: &Scene) -> Result<Style, CommandError> {
    let mut style = Style::default();
    if let Some(name) = &arguments.color {
        style.colour = named("--color", name)?;
    } else if let Some(name) = &scene.view.color {
        style.colour = named("view.color", name)?;
    }
    if style.colour == Colour::Difference {
        let text = "the colour `difference` compares two runs, which `carom view` alone does";
        return Err(CommandError::usage(text.to_owned()));
    }
    if let Some(name) = &arguments.map {
        style.map = named::<Map>("--map", name)?;
    }
    if let Some((low, high)) = arguments.range {
        style.range = Range::Locked(low, high);
    }
    if let Some(text) = &arguments.clip {
        style.clip = Some(named("--clip", text)?);
    }
    style.chains = arguments.chains;
    for hidden in &arguments.hide {
        match hidden {
            Hidden::Legend => style.legend = false,
            Hidden::Bounds => style.bounds = false,
            Hidden::Ground => style.ground = false,
            Hidden::Shadow => style.shadow = false,
            Hidden::Occlusion => style.ambient_occlusion = false,
        }
    }
    Ok(style)
}

fn named<T: FromStr<Err = String>>(option: &str, text: &str) -> Result<T, CommandError> {
    text.parse().map_err(|error| CommandError::usage(format!("{option} {text}: {error}")))
}
