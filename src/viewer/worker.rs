//! The thread that owns the simulation: it steps at its own pace, does what the window asks for, and puts up what there
//! is to see when the window has taken what was there before.

use std::{
    collections::VecDeque,
    ops::ControlFlow,
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel},
    thread::JoinHandle,
    time::Instant,
};

use super::{
    board::{Picture, Shared, Status},
    command::{Command, News},
    rig::{Rig, inspected},
};
use crate::{
    Error, Options, Simulation, System,
    gpu::Context,
    render::{Recent, Scenery, Spheres},
    scene::Scene,
};

/// A running worker. It ends when this is dropped, after the step under way.
pub struct Worker {
    commands: Option<Sender<Command>>,
    thread: Option<JoinHandle<()>>,
}

/// What a worker begins with.
pub struct Start {
    /// What the scene is called.
    pub name: String,
    /// The scene.
    pub scene: Scene,
    /// Its start.
    pub system: System,
    /// How it is run.
    pub options: Options,
    /// Whether it stands still at first.
    pub paused: bool,
    /// The device that draws.
    pub context: Context,
}

impl Worker {
    /// Starts a worker. `wake` is called whenever there is something new on the board.
    pub fn start(start: Start, shared: Shared, wake: impl Fn() + Send + 'static) -> std::io::Result<Self> {
        let (commands, inbox) = channel();
        let thread = std::thread::Builder::new().name("simulation".to_owned()).spawn(move || {
            let Start { name, scene, system, options, paused, context } = start;
            match Rig::new(&name, scene, system, options, paused) {
                Ok(rig) => {
                    let easel = Easel { context, shared, wake: Box::new(wake), scenery: None, count: 0 };
                    Shift { inbox, waiting: VecDeque::new(), easel }.work(rig);
                }
                Err(error) => {
                    shared.lock().fatal = Some(error);
                    wake();
                }
            }
        })?;
        Ok(Self { commands: Some(commands), thread: Some(thread) })
    }

    /// Asks for something.
    pub fn ask(&self, command: Command) {
        if let Some(commands) = &self.commands {
            // A worker that has gone has put up why.
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

// Puts up what there is to see.
struct Easel {
    context: Context,
    shared: Shared,
    wake: Box<dyn Fn() + Send>,
    scenery: Option<(u64, Scenery)>,
    /// Pictures so far.
    count: u64,
}

// What changes while a simulation runs and is to be shown beside it.
struct Beside<'a> {
    rig: RigView<'a>,
    recent: &'a Recent,
}

// The rest of a rig while its simulation steps.
struct RigView<'a> {
    status: &'a Status,
    tally: &'a super::tally::Tally,
    inspected: Option<u32>,
}

impl Easel {
    fn say(&self, news: News, rig: &Rig) {
        self.shared.lock().news.push_back((news, rig.counters()));
        (self.wake)();
    }

    // Puts up the present state, unless the window has not taken the last one; `now` replaces that.
    fn put_up(&mut self, simulation: &Simulation, beside: &Beside, now: bool) {
        let world = beside.rig.status.world;
        let spare = {
            let mut board = self.shared.lock();
            if board.picture.is_some() && !now {
                return;
            }
            board.picture.take().or_else(|| board.spare.take())
        };
        let mut told = beside.rig.status.clone();
        told.note(simulation, beside.rig.tally);
        let picture = self.paint(simulation, beside, world, spare, &mut told);
        let mut board = self.shared.lock();
        match picture {
            Ok(picture) => board.picture = Some(picture),
            Err(error) => told.failed = Some(error.to_string()),
        }
        board.status = Some(told);
        drop(board);
        (self.wake)();
    }

    fn paint(
        &mut self,
        simulation: &Simulation,
        beside: &Beside,
        world: u64,
        spare: Option<Picture>,
        told: &mut Status,
    ) -> Result<Picture, Error> {
        let generation = simulation.generation();
        let is_same = |spare: &Picture| (spare.world, spare.generation) == (world, generation);
        let spare = spare.filter(is_same).map(|spare| spare.spheres);
        let state = simulation.state_buffers();
        let host = if state.is_none() { Some(simulation.try_spheres()?) } else { None };
        let scenery = match &self.scenery {
            Some((made_for, scenery)) if *made_for == world => scenery.clone(),
            _ => {
                // What is open reaches as far as the spheres do now.
                let present = host
                    .as_ref()
                    .map(|spheres| System { spheres: spheres.clone(), ..simulation.system().clone() });
                let system = present.as_ref().unwrap_or(simulation.system());
                let scenery = match &self.scenery {
                    Some((_, before)) => before.of_changed(system),
                    None => Scenery::of(system),
                };
                self.scenery.insert((world, scenery)).1.clone()
            }
        };
        let scenery = scenery.at(simulation.time());
        let spheres = match (state, host) {
            (Some(state), _) => {
                let mut spheres =
                    spare.unwrap_or_else(|| Spheres::of_state(&self.context, &state, simulation.system()));
                spheres.snapshot(&self.context, &state);
                spheres
            }
            (None, host) => {
                let host = host.unwrap_or_default();
                told.inspected = beside.rig.inspected.and_then(|id| inspected(id, &host, simulation));
                match spare {
                    Some(mut spheres) => {
                        spheres.update(&self.context, &host, Some(beside.recent));
                        spheres
                    }
                    None => Spheres::upload(&self.context, &host, simulation.system(), Some(beside.recent)),
                }
            }
        };
        self.count += 1;
        Ok(Picture { spheres, scenery, world, generation, number: self.count })
    }
}

// One worker's shift, from the first command to the last.
struct Shift {
    inbox: Receiver<Command>,
    /// Read, but not done yet.
    waiting: VecDeque<Command>,
    easel: Easel,
}

impl Shift {
    fn work(mut self, mut rig: Rig) {
        self.easel.say(News::Loaded(rig.camera()), &rig);
        self.show(&rig);
        loop {
            if rig.is_running() {
                self.step(&mut rig);
            }
            if let Some(error @ Error::DeviceLost(_)) = &rig.failed {
                self.easel.shared.lock().fatal = Some(error.clone());
                (self.easel.wake)();
                return;
            }
            // The window has gone.
            let Ok(()) = self.obey(&mut rig) else { return };
        }
    }

    // Does all that is asked for; waits for something where there is nothing else to do.
    fn obey(&mut self, rig: &mut Rig) -> Result<(), ()> {
        let mut done = false;
        loop {
            let command = match self.waiting.pop_front() {
                Some(command) => command,
                None if rig.is_running() || done => match self.inbox.try_recv() {
                    Ok(command) => command,
                    Err(TryRecvError::Empty) => break,
                    Err(TryRecvError::Disconnected) => return Err(()),
                },
                None => self.inbox.recv().map_err(|_| ())?,
            };
            let news = rig.obey(command);
            self.easel.say(news, rig);
            done = true;
        }
        if done {
            self.show(rig);
        }
        Ok(())
    }

    fn show(&mut self, rig: &Rig) {
        let status = Status::of(rig);
        let view = RigView { status: &status, tally: &rig.tally, inspected: rig.inspected };
        self.easel.put_up(&rig.simulation, &Beside { rig: view, recent: &rig.recent }, true);
    }

    // Steps until something is asked for or it cannot go on.
    fn step(&mut self, rig: &mut Rig) {
        let status = Status::of(rig);
        let Rig { simulation, tally, pace, recent, inspected, .. } = rig;
        let (inbox, waiting, easel) = (&self.inbox, &mut self.waiting, &mut self.easel);
        pace.wait(Instant::now(), simulation.time());
        let result = simulation.run_watched(u64::MAX, |simulation| {
            Rig::note(simulation, tally, recent);
            let view = RigView { status: &status, tally, inspected: *inspected };
            easel.put_up(simulation, &Beside { rig: view, recent }, false);
            if !waiting.is_empty() {
                return ControlFlow::Break(());
            }
            // On a device the next step is done meanwhile.
            match inbox.recv_timeout(pace.wait(Instant::now(), simulation.time())) {
                Ok(command) => waiting.push_back(command),
                Err(RecvTimeoutError::Timeout) => return ControlFlow::Continue(()),
                // Found again by `obey`.
                Err(RecvTimeoutError::Disconnected) => {}
            }
            ControlFlow::Break(())
        });
        if let Err(error) = result {
            let news = rig.fail(error);
            self.easel.say(news, rig);
            self.show(rig);
        }
    }
}

impl Status {
    // What does not change while it runs.
    fn of(rig: &Rig) -> Self {
        let system = rig.simulation.system();
        let materials = &system.materials;
        let table = materials.surfaces();
        let first = table[0].restitution;
        let mut status = Self {
            scene: rig.name.clone(),
            seed: rig.scene.world.seed,
            backend: rig.simulation.backend(),
            dimensions: system.dimensions,
            periodic: [0, 1, 2].map(|axis| system.period(axis).is_some()),
            sphere_count: rig.simulation.sphere_count(),
            largest: system.spheres.iter().map(|s| s.radius).fold(0.0, f64::max),
            gravity: system.gravity,
            restitution: (first, table.iter().all(|s| s.restitution == first)),
            dt: system.dt,
            pace: rig.pace.scale(),
            paused: rig.paused,
            profiled: rig.is_profiled(),
            failed: rig.failed.as_ref().map(Error::to_string),
            world: rig.world,
            ..Self::default()
        };
        status.note(&rig.simulation, &rig.tally);
        status
    }

    // What changes with every step.
    fn note(&mut self, simulation: &Simulation, tally: &super::tally::Tally) {
        let summary = simulation.summary();
        (self.step, self.time) = (simulation.steps(), simulation.time());
        (self.late, self.stopped, self.unresolved) = (summary.late, summary.stopped, summary.unresolved);
        self.report = simulation.report().clone();
        self.tally = tally.clone();
    }
}
