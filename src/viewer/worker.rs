//! The worker thread, which owns the simulation. The worker takes steps at its own pace, executes the commands of the
//! window, and publishes new spheres when the window has taken the previous spheres.

use std::{
    collections::VecDeque,
    ops::ControlFlow,
    sync::Arc,
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel},
    thread::JoinHandle,
    time::Instant,
};

use super::{
    command::{Command, News},
    comparison::Differing,
    history::History,
    session::{Session, inspected},
    shared_state::{Picture, Shared, Status},
};
use crate::{
    Backend, Error, Options, Simulation, System,
    gpu::Context,
    render::{ContactNetwork, Recent, RenderWorld, Spheres, extent},
    scene::Scene,
};

/// A running worker. Dropping this ends the thread after the current step.
pub struct Worker {
    commands: Option<Sender<Command>>,
    thread: Option<JoinHandle<()>>,
}

/// Start parameters of a worker.
pub struct Start {
    /// Name of the scene.
    pub name: String,
    /// The scene.
    pub scene: Scene,
    /// The system at its start.
    pub system: System,
    /// Options of the simulation.
    pub options: Options,
    /// Whether the simulation starts paused.
    pub paused: bool,
    /// The device that draws.
    pub context: Context,
}

impl Worker {
    /// Starts a worker, which calls `wake` whenever the shared state has changed.
    pub fn start(start: Start, shared: Shared, wake: impl Fn() + Send + 'static) -> std::io::Result<Self> {
        let (commands, inbox) = channel();
        let thread = std::thread::Builder::new().name("simulation".to_owned()).spawn(move || {
            let Start { name, scene, system, options, paused, context } = start;
            match Session::new(&name, scene, system, options, paused) {
                Ok(session) => {
                    let easel = Easel {
                        context,
                        shared,
                        wake: Box::new(wake),
                        render_world: None,
                        contacts: None,
                        count: 0,
                    };
                    Shift { inbox, waiting: VecDeque::new(), easel }.work(session);
                }
                Err(error) => {
                    shared.lock().fatal = Some(error);
                    wake();
                }
            }
        })?;
        Ok(Self { commands: Some(commands), thread: Some(thread) })
    }

    /// Sends a command.
    pub fn ask(&self, command: Command) {
        if let Some(commands) = &self.commands {
            // A worker that has ended has published the reason.
            let _ = commands.send(command);
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.commands = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Pictures of a running device between two downloads of the contacts.
const CONTACT_INTERVAL: u64 = 8;

// Publishes pictures of the spheres.
struct Easel {
    context: Context,
    shared: Shared,
    wake: Box<dyn Fn() + Send>,
    render_world: Option<(u64, RenderWorld)>,
    /// The last contacts with the number of their world and the generation of their spheres.
    contacts: Option<((u64, u64), Arc<ContactNetwork>)>,
    /// Pictures published so far.
    count: u64,
}

// Data that changes during a run and is shown beside the spheres.
struct Beside<'a> {
    session: SessionView<'a>,
    recent: &'a Recent,
}

// The parts of a session other than the simulation, while the simulation steps.
struct SessionView<'a> {
    status: &'a Status,
    figures: &'a super::run_figures::RunFigures,
    history: &'a History,
    inspected: Option<u32>,
    wants_contacts: bool,
    differing: Option<&'a Differing>,
}

impl Easel {
    fn say(&self, news: News, session: &Session) {
        self.shared.lock().news.push_back((news, session.counters()));
        (self.wake)();
    }

    // Publishes the current state if the window has taken the last one; with `now` the current state replaces the last
    // one.
    fn put_up(&mut self, simulation: &Simulation, beside: &Beside, now: bool) {
        let spare = {
            let mut shared_state = self.shared.lock();
            if shared_state.picture.is_some() && !now {
                return;
            }
            shared_state.picture.take().or_else(|| shared_state.spare.take())
        };
        let mut told = beside.session.status.clone();
        told.note(simulation, beside.session.figures, beside.session.history);
        let picture = self.paint(simulation, beside, spare, &mut told, now);
        let mut shared_state = self.shared.lock();
        match picture {
            Ok(picture) => shared_state.picture = Some(picture),
            Err(error) => told.failed = Some(error.to_string()),
        }
        shared_state.status = Some(told);
        drop(shared_state);
        (self.wake)();
    }

    // Takes new contacts from the simulation, on a device only when they are worth the wait. Returns why there are none.
    fn renew_contacts(
        &mut self,
        simulation: &Simulation,
        world: u64,
        now: bool,
    ) -> Result<Option<String>, Error> {
        let of = (world, simulation.generation());
        let is_known = self.contacts.as_ref().is_some_and(|(known, _)| *known == of);
        let waits = simulation.backend() == Backend::Gpu;
        if waits && !now && is_known && !self.count.is_multiple_of(CONTACT_INTERVAL) {
            return Ok(None);
        }
        let contacts = match simulation.contacts() {
            Err(Error::Unsupported(text)) => {
                self.contacts = None;
                return Ok(Some(text));
            }
            contacts => contacts?,
        };
        let network = ContactNetwork::of(&contacts, &simulation.try_spheres()?, simulation.system());
        let is_empty = network.is_empty();
        self.contacts = Some((of, Arc::new(network)));
        Ok(is_empty.then(|| "no lasting contacts now".to_owned()))
    }

    fn paint(
        &mut self,
        simulation: &Simulation,
        beside: &Beside,
        spare: Option<Picture>,
        told: &mut Status,
        now: bool,
    ) -> Result<Picture, Error> {
        let world = beside.session.status.world;
        if beside.session.wants_contacts {
            told.contacts_missing = self.renew_contacts(simulation, world, now)?;
        }
        let generation = simulation.generation();
        let is_same = |spare: &Picture| (spare.world, spare.generation) == (world, generation);
        let spare = spare.filter(is_same).map(|spare| spare.spheres);
        let state = simulation.state_buffers();
        let host = if state.is_none() { Some(simulation.try_spheres()?) } else { None };
        let render_world = match &self.render_world {
            Some((made_for, render_world)) if *made_for == world => render_world.clone(),
            _ => {
                // Open axes extend as far as the spheres do now.
                let present = host
                    .as_ref()
                    .map(|spheres| System { spheres: spheres.clone(), ..simulation.system().clone() });
                let system = present.as_ref().unwrap_or(simulation.system());
                let render_world = match &self.render_world {
                    Some((_, before)) => before.of_changed(system),
                    None => RenderWorld::of(system),
                };
                self.render_world.insert((world, render_world)).1.clone()
            }
        };
        let render_world = render_world.at(simulation.time());
        let mut spheres = match (state, host) {
            (Some(state), _) => {
                let mut spheres =
                    spare.unwrap_or_else(|| Spheres::of_state(&self.context, &state, simulation.system()));
                spheres.snapshot(&self.context, &state);
                spheres
            }
            (None, host) => {
                let host = host.unwrap_or_default();
                told.inspected = beside.session.inspected.and_then(|id| inspected(id, &host, simulation));
                match spare {
                    Some(mut spheres) => {
                        spheres.update(&self.context, &host, Some(beside.recent));
                        spheres
                    }
                    None => Spheres::upload(&self.context, &host, simulation.system(), Some(beside.recent)),
                }
            }
        };
        if let Some((of, network)) = &self.contacts
            && *of == (world, generation)
        {
            spheres.set_contacts(&self.context, network);
        }
        if let Some(differing) = beside.session.differing {
            spheres.set_differences(&self.context, &differing.all);
            told.compared = Some((differing.steps, differing.largest));
        }
        self.count += 1;
        Ok(Picture { spheres, render_world, world, generation, number: self.count })
    }
}

// The work of one worker thread, from the first command to the last.
struct Shift {
    inbox: Receiver<Command>,
    /// Commands read but not yet executed.
    waiting: VecDeque<Command>,
    easel: Easel,
}

impl Shift {
    fn work(mut self, mut session: Session) {
        self.easel.say(News::Loaded(session.camera()), &session);
        self.show(&session);
        loop {
            if session.is_running() && (session.grab.is_some() || session.comparison.is_some()) {
                self.step_once(&mut session);
            } else if session.is_running() {
                self.step(&mut session);
            }
            if let Some(error @ Error::DeviceLost(_)) = &session.failed {
                self.easel.shared.lock().fatal = Some(error.clone());
                (self.easel.wake)();
                return;
            }
            // The window has closed.
            let Ok(()) = self.obey(&mut session) else { return };
        }
    }

    // Executes all commands; waits for a command if there is nothing else to do.
    fn obey(&mut self, session: &mut Session) -> Result<(), ()> {
        let mut done = false;
        loop {
            let command = match self.waiting.pop_front() {
                Some(command) => command,
                None if session.is_running() || done => match self.inbox.try_recv() {
                    Ok(command) => command,
                    Err(TryRecvError::Empty) => break,
                    Err(TryRecvError::Disconnected) => return Err(()),
                },
                None => self.inbox.recv().map_err(|_| ())?,
            };
            // The mouse sends many of these; the next step shows the result.
            if let Command::Pull(ray) = &command {
                session.pull_to(ray);
                continue;
            }
            let news = session.obey(command);
            self.easel.say(news, session);
            done = true;
        }
        if done {
            self.show(session);
        }
        Ok(())
    }

    fn show(&mut self, session: &Session) {
        self.publish(session, true);
    }

    fn publish(&mut self, session: &Session, now: bool) {
        let status = Status::of(session);
        let Session { figures, history, inspected, wants_contacts, .. } = session;
        let (inspected, wants_contacts) = (*inspected, *wants_contacts);
        let differing = session.comparison.as_ref().map(|comparison| &comparison.latest);
        let view = SessionView { status: &status, figures, history, inspected, wants_contacts, differing };
        self.easel.put_up(&session.simulation, &Beside { session: view, recent: &session.recent }, now);
    }

    // Takes one step while the user pulls a sphere or compares two runs, unless a command arrives before the step is due.
    fn step_once(&mut self, session: &mut Session) {
        let wait = session.pace.wait(Instant::now(), session.simulation.time());
        if !wait.is_zero() {
            match self.inbox.recv_timeout(wait) {
                Ok(command) => return self.waiting.push_back(command),
                Err(RecvTimeoutError::Timeout) => {}
                // `obey` detects the disconnection again.
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
        if let Err(error) = session.advance() {
            let news = session.fail(error);
            self.easel.say(news, session);
            return self.show(session);
        }
        let world = session.world;
        let Session { simulation, figures, recent, history, .. } = session;
        Session::note(simulation, figures, recent);
        history.note(simulation, world);
        self.publish(session, false);
    }

    // Steps until a command arrives or the simulation fails.
    fn step(&mut self, session: &mut Session) {
        let status = Status::of(session);
        let (inspected, wants_contacts, world) = (session.inspected, session.wants_contacts, session.world);
        let Session { simulation, figures, pace, recent, history, .. } = session;
        let (inbox, waiting, easel) = (&self.inbox, &mut self.waiting, &mut self.easel);
        pace.wait(Instant::now(), simulation.time());
        let result = simulation.run_watched(u64::MAX, |simulation| {
            Session::note(simulation, figures, recent);
            history.note(simulation, world);
            let view =
                SessionView { status: &status, figures, history, inspected, wants_contacts, differing: None };
            easel.put_up(simulation, &Beside { session: view, recent }, false);
            if !waiting.is_empty() {
                return ControlFlow::Break(());
            }
            // On a device the next step runs during this wait.
            match inbox.recv_timeout(pace.wait(Instant::now(), simulation.time())) {
                Ok(command) => waiting.push_back(command),
                Err(RecvTimeoutError::Timeout) => return ControlFlow::Continue(()),
                // `obey` detects the disconnection again.
                Err(RecvTimeoutError::Disconnected) => {}
            }
            ControlFlow::Break(())
        });
        if let Err(error) = result {
            let news = session.fail(error);
            self.easel.say(news, session);
            self.show(session);
        }
    }
}

impl Status {
    // The part of the status that is constant during a run.
    fn of(session: &Session) -> Self {
        let system = session.simulation.system();
        let materials = &system.materials;
        let table = materials.surfaces();
        let first = table[0].restitution;
        let mut status = Self {
            scene: session.name.clone(),
            seed: session.scene.world.seed,
            backend: session.simulation.backend(),
            dimensions: system.dimensions,
            periodic: [0, 1, 2].map(|axis| system.period(axis).is_some()),
            sphere_count: session.simulation.sphere_count(),
            largest: system.spheres.iter().map(|s| s.radius).fold(0.0, f64::max),
            extent: extent(system),
            gravity: system.gravity,
            restitution: (first, table.iter().all(|s| s.restitution == first)),
            dt: system.dt,
            pace: session.pace.scale(),
            paused: session.paused,
            profiled: session.is_profiled(),
            failed: session.failed.as_ref().map(Error::to_string),
            world: session.world,
            ..Self::default()
        };
        status.note(&session.simulation, &session.figures, &session.history);
        status
    }

    // Updates the part of the status that changes with every step.
    fn note(&mut self, simulation: &Simulation, figures: &super::run_figures::RunFigures, history: &History) {
        let summary = simulation.summary();
        (self.step, self.time) = (simulation.steps(), simulation.time());
        (self.late, self.stopped, self.unresolved) = (summary.late, summary.stopped, summary.unresolved);
        self.crowded = summary.crowded;
        self.report = simulation.report().clone();
        self.figures = figures.clone();
        self.history = history.extent(self.step);
    }
}
