//! The worker's session: a scene, its simulation, and the execution of the window's commands.

use std::time::Instant;

use glam::DVec3;

use super::{
    command::{Command, News},
    comparison::Comparison,
    grab::{Grab, Ray},
    history::History,
    inspect::{Inspected, first_hit},
    launcher::Shot,
    pace::Pace,
    run_figures::RunFigures,
    shared_state::Counters,
};
use crate::{
    Backend, Dimensions, Error, Options, Simulation, Sphere, System,
    files::builtin,
    render::{Camera, Clip, Recent},
    scene::Scene,
};

/// A scene with its running simulation.
pub struct Session {
    /// Name of the scene.
    pub name: String,
    /// The scene.
    pub scene: Scene,
    /// The simulation of the scene.
    pub simulation: Simulation,
    /// Figures of the run.
    pub figures: RunFigures,
    /// Schedule of the steps.
    pub pace: Pace,
    /// Whether the simulation is paused.
    pub paused: bool,
    /// Error that stopped the simulation.
    pub failed: Option<Error>,
    /// The id of the inspected sphere.
    pub inspected: Option<u32>,
    /// Time of each sphere's last contact; the GPU engine keeps these times itself.
    pub recent: Recent,
    /// The same run on `cpu`, while the user compares it with `gpu`.
    pub comparison: Option<Comparison>,
    /// The sphere that the user pulls.
    pub grab: Option<Grab>,
    /// Whether the window shows contacts.
    pub wants_contacts: bool,
    /// Earlier states of the run.
    pub history: History,
    /// Counts changes of the world, including changes of the number of spheres.
    pub world: u64,
    /// The scene that the window was opened with.
    first: (String, Scene),
    options: Options,
}

impl Session {
    /// Starts a scene with `system`, the system built from the scene.
    ///
    /// # Errors
    /// As [`Simulation::new`].
    pub fn new(
        name: &str,
        scene: Scene,
        system: System,
        options: Options,
        paused: bool,
    ) -> Result<Self, Error> {
        let options = complete(options);
        let simulation = Simulation::new(system, options.clone())?;
        let mut history = History::default();
        history.note(&simulation, 0);
        Ok(Self {
            name: name.to_owned(),
            first: (name.to_owned(), scene.clone()),
            scene,
            simulation,
            figures: RunFigures::default(),
            pace: Pace::new(Some(1.0)),
            paused,
            failed: None,
            inspected: None,
            recent: Recent::new(),
            comparison: None,
            grab: None,
            wants_contacts: false,
            history,
            world: 0,
            options,
        })
    }

    /// Whether the worker should take steps.
    pub fn is_running(&self) -> bool {
        !self.paused && self.failed.is_none()
    }

    /// The camera for the start of the scene.
    pub fn camera(&self) -> Camera {
        Camera::of_view(&self.scene.view, self.simulation.system())
    }

    /// Whether the device times the stages.
    pub fn is_profiled(&self) -> bool {
        self.options.profile
    }

    /// The current counters.
    pub fn counters(&self) -> Counters {
        Counters {
            step: self.simulation.steps(),
            time: self.simulation.time(),
            sphere_count: self.simulation.sphere_count(),
            backend: self.simulation.backend(),
            paused: self.paused,
            blocking_reads: self.figures.blocking_reads,
        }
    }

    /// Executes a command. This function takes the single steps of [`Command::Step`]; the worker takes all other steps.
    pub fn obey(&mut self, command: Command) -> News {
        let lost = |error| News::Failed(Error::to_string(&error));
        let result = match command {
            Command::Pause(paused) => {
                self.paused = paused;
                self.figures.restart_clock();
                self.pace.restart();
                return News::Paused(self.paused);
            }
            Command::Step => return self.step(),
            Command::Back => self.back(),
            Command::Reset => self.start(self.name.clone(), self.scene.clone()).map(|_| News::Reset),
            Command::Load(name) => match self.find(&name) {
                Ok(scene) => self.start(name, scene),
                Err(why) => return News::Refused(why),
            },
            Command::Backend(backend) => {
                self.switch(Options { backend, ..self.options.clone() }, News::Switched(backend))
            }
            Command::Profile(profile) => {
                self.switch(Options { profile, ..self.options.clone() }, News::Changed)
            }
            Command::Pace(scale) => {
                self.pace = Pace::new(scale);
                self.figures.restart_clock();
                Ok(News::Changed)
            }
            Command::Gravity(gravity) => self.edit(|system| system.gravity = gravity),
            Command::Restitution(restitution) => self.edit(|system| {
                let count = system.materials.len() as u16;
                for (a, b) in (0..count).flat_map(|a| (0..=a).map(move |b| (a, b))) {
                    system.materials.set_restitution(a, b, restitution);
                }
            }),
            Command::Dt(dt) => self.edit(|system| system.dt = dt),
            Command::Shoot(shot) => self.shoot(&shot),
            Command::Grab { ray, clip } => self.seize(&ray, clip),
            Command::Pull(ray) => {
                self.pull_to(&ray);
                Ok(News::Changed)
            }
            Command::Release => {
                self.grab = None;
                Ok(News::Released)
            }
            Command::Pick { from, direction, clip } => self.pick(from, direction, clip),
            Command::Compare(is_on) => self.compare(is_on),
            Command::Contacts(wanted) => {
                self.wants_contacts = wanted;
                Ok(News::Changed)
            }
            Command::Look => self.look(),
            Command::Forget => {
                self.inspected = None;
                return News::Picked(None);
            }
            Command::Frame { from, up } => {
                self.present().map(|system| News::Framed(Camera::framing_from(&system, from, up)))
            }
        };
        match result {
            Ok(news) => news,
            Err(error @ Error::DeviceLost(_)) => {
                self.failed = Some(error.clone());
                lost(error)
            }
            Err(error) => News::Refused(error.to_string()),
        }
    }

    /// Updates figures and last contacts after a step.
    pub fn note(simulation: &Simulation, figures: &mut RunFigures, recent: &mut Recent) {
        figures.note(simulation, Instant::now());
        if simulation.backend() != Backend::Gpu {
            recent.note(simulation.impacts(), simulation.time());
        }
    }

    fn step(&mut self) -> News {
        self.paused = true;
        if let Some(error) = &self.failed {
            return News::Refused(format!("{error}; R goes back to the start"));
        }
        match self.advance() {
            Ok(()) => {
                Self::note(&self.simulation, &mut self.figures, &mut self.recent);
                self.history.note(&self.simulation, self.world);
                self.figures.restart_clock();
                News::Stepped
            }
            Err(error) => self.fail(error),
        }
    }

    /// Takes a step; a grabbed sphere is pulled.
    ///
    /// # Errors
    /// As [`Simulation::step`].
    pub fn advance(&mut self) -> Result<(), Error> {
        if let Some(Grab { id, target, .. }) = self.grab {
            let spheres = self.simulation.try_spheres()?;
            let system = self.simulation.system();
            match spheres.binary_search_by_key(&id, |sphere| sphere.id) {
                Ok(place) => {
                    let sphere = &spheres[place];
                    let mut displacement = system.separation(sphere.position, target);
                    if system.dimensions == Dimensions::Two {
                        displacement.z = 0.0;
                    }
                    let pulled = Grab::velocity(displacement, sphere.velocity, system.gravity, system.dt);
                    let impulse = (pulled - sphere.velocity) * sphere.mass;
                    self.simulation.apply_impulse(id, impulse)?;
                    if let Some(comparison) = &mut self.comparison {
                        comparison.twin.apply_impulse(id, impulse)?;
                    }
                }
                // A sink has taken the sphere.
                Err(_) => self.grab = None,
            }
        }
        self.simulation.step()?;
        match &mut self.comparison {
            Some(comparison) => comparison.follow(&self.simulation),
            None => Ok(()),
        }
    }

    // Starts a comparison from the present state, or ends it.
    fn compare(&mut self, is_on: bool) -> Result<News, Error> {
        self.comparison = None;
        if is_on && self.simulation.backend() != Backend::Gpu {
            let backend = self.simulation.backend().name();
            return Ok(News::Refused(format!("a comparison needs the backend gpu, not {backend}")));
        }
        if is_on {
            self.comparison = Some(Comparison::start(&mut self.simulation, self.options.threads)?);
            self.world += 1;
        }
        Ok(News::Compared(is_on))
    }

    // Starts a running comparison again after a change of the state.
    fn compare_again(&mut self) -> Result<(), Error> {
        let is_on = self.comparison.take().is_some() && self.simulation.backend() == Backend::Gpu;
        if is_on { self.compare(true).map(drop) } else { Ok(()) }
    }

    /// Pulls the grabbed sphere to the point under the cursor.
    pub fn pull_to(&mut self, ray: &Ray) {
        if let Some(grab) = &mut self.grab {
            grab.pull(ray);
        }
    }

    // Grabs the first sphere along a ray.
    fn seize(&mut self, ray: &Ray, clip: Option<Clip>) -> Result<News, Error> {
        let spheres = self.simulation.try_spheres()?;
        let Some(sphere) = hit(&spheres, ray.from, ray.direction, clip) else {
            return Ok(News::Grabbed(None));
        };
        if sphere.fixed {
            return Ok(News::Refused(format!("sphere {} is held in place", sphere.id)));
        }
        self.grab = Some(Grab::new(sphere.id, sphere.position, ray));
        Ok(News::Grabbed(Some(sphere.id)))
    }

    // Returns to the state before the last step, with the world as it was then.
    fn back(&mut self) -> Result<News, Error> {
        self.paused = true;
        self.pace.restart();
        let step = self.simulation.steps();
        let Some(moment) = self.history.before(step) else {
            let kept = if step == 0 { "this is the start" } else { "no earlier state is kept" };
            return Ok(News::Refused(format!("no step back: {kept}")));
        };
        self.simulation.rewind(moment)?;
        (self.failed, self.grab) = (None, None);
        self.figures.rewind(self.simulation.time());
        self.recent.rewind(self.simulation.time());
        self.world += 1;
        self.compare_again()?;
        Ok(News::Back)
    }

    /// Stops the simulation until a reset.
    pub fn fail(&mut self, error: Error) -> News {
        let text = error.to_string();
        self.failed = Some(error);
        News::Failed(text)
    }

    // The system with the current spheres.
    fn present(&self) -> Result<System, Error> {
        let spheres = self.simulation.try_spheres()?;
        let system = self.simulation.system();
        Ok(System {
            spheres,
            dimensions: system.dimensions,
            gravity: system.gravity,
            dt: system.dt,
            solver: system.solver.clone(),
            bounds: system.bounds.clone(),
            materials: system.materials.clone(),
            drag: system.drag,
            seed: system.seed,
            sources: system.sources.clone(),
            sinks: system.sinks.clone(),
            compression: system.compression,
            walls: system.walls.clone(),
        })
    }

    fn find(&self, name: &str) -> Result<Scene, String> {
        if name == self.first.0 {
            return Ok(self.first.1.clone());
        }
        let builtin = builtin(name).ok_or_else(|| format!("no built-in scene is called `{name}`"))?;
        builtin.load(&[]).map_err(|error| error.to_string())
    }

    fn start(&mut self, name: String, scene: Scene) -> Result<News, Error> {
        // If this fails, the previous simulation continues.
        let simulation = Simulation::new(scene.build()?, self.options.clone())?;
        (self.name, self.scene, self.simulation) = (name, scene, simulation);
        (self.figures, self.recent) = (RunFigures::default(), Recent::new());
        (self.failed, self.inspected, self.grab) = (None, None, None);
        self.pace.restart();
        self.world += 1;
        self.history = History::default();
        self.history.note(&self.simulation, self.world);
        self.compare_again()?;
        Ok(News::Loaded(self.camera()))
    }

    fn switch(&mut self, options: Options, news: News) -> Result<News, Error> {
        let options = complete(options);
        self.simulation.switch(options.clone())?;
        self.options = options;
        self.figures.stage_seconds.clear();
        self.figures.step_seconds = 0.0;
        self.figures.restart_clock();
        self.world += 1;
        self.compare_again()?;
        Ok(news)
    }

    fn edit(&mut self, change: impl FnOnce(&mut System)) -> Result<News, Error> {
        self.simulation.edit(change)?;
        self.world += 1;
        self.compare_again()?;
        Ok(News::Changed)
    }

    fn shoot(&mut self, shot: &Shot) -> Result<News, Error> {
        let Some(sphere) = shot.sphere(&self.present()?) else {
            return Ok(News::Refused("no room for a sphere along this line".to_owned()));
        };
        // The edit rejects anything that the engines would reject, for instance a sphere too large for a period.
        self.edit(|system| system.spheres.push(sphere))?;
        Ok(News::Shot(sphere.id))
    }

    fn pick(&mut self, from: DVec3, direction: DVec3, clip: Option<Clip>) -> Result<News, Error> {
        let spheres = self.simulation.try_spheres()?;
        self.inspected = hit(&spheres, from, direction, clip).map(|sphere| sphere.id);
        Ok(self.describe(&spheres))
    }

    fn look(&mut self) -> Result<News, Error> {
        let spheres = self.simulation.try_spheres()?;
        Ok(self.describe(&spheres))
    }

    fn describe(&self, spheres: &[Sphere]) -> News {
        News::Picked(self.inspected.and_then(|id| inspected(id, spheres, &self.simulation)))
    }
}

// The first drawn sphere along a ray.
fn hit(spheres: &[Sphere], from: DVec3, direction: DVec3, clip: Option<Clip>) -> Option<&Sphere> {
    let is_drawn = |sphere: &&Sphere| !clip.is_some_and(|clip| clip.hides(sphere.position));
    let id = first_hit(spheres.iter().filter(is_drawn), from, direction)?;
    spheres.iter().find(|sphere| sphere.id == id)
}

/// Properties of a sphere; `spheres` are the current spheres of the simulation.
pub fn inspected(id: u32, spheres: &[Sphere], simulation: &Simulation) -> Option<Box<Inspected>> {
    Inspected::of(id, spheres, simulation.system(), simulation.time()).map(Box::new)
}

// On the host, recorded impacts give the last contacts; on the device, recording impacts would make every step wait.
fn complete(options: Options) -> Options {
    Options { record_impacts: options.backend != Backend::Gpu, ..options }
}
