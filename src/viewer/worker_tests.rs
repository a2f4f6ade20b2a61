//! Tests of the worker thread, with a stand-in for the window.

use std::{
    sync::mpsc::{Receiver, channel},
    time::{Duration, Instant},
};

use super::{
    command::{Command, News},
    shared_state::{Shared, Status},
    worker::{Start, Worker},
};
use crate::{
    Backend, Error, Options,
    gpu::Context,
    scene::{Fill, Scene},
};

// Long enough for a machine that compiles shaders and runs other tests at the same time.
const PATIENCE: Duration = Duration::from_secs(240);

// A stand-in for the window, which takes the published spheres.
struct Window {
    worker: Worker,
    shared: Shared,
    woken: Receiver<()>,
    status: Status,
    news: Vec<News>,
    pictures: u64,
    takes: bool,
}

impl Window {
    fn open(backend: Backend, paused: bool) -> (Self, Context) {
        let context = Context::open(None).expect("an adapter");
        let scene = Scene::new(1.0 / 60.0)
            .seed(6)
            .periodic()
            .fill(Fill::random(1000).volume_fraction(0.1).temperature(1.0));
        let options = Options { backend, context: Some(context.clone()), ..Options::default() };
        let system = scene.build().unwrap();
        let start =
            Start { name: "a gas".to_owned(), scene, system, options, paused, context: context.clone() };
        let (wake, woken) = channel();
        let shared = Shared::default();
        let worker = Worker::start(start, shared.clone(), move || wake.send(()).unwrap_or(())).unwrap();
        let window =
            Self { worker, shared, woken, status: Status::default(), news: vec![], pictures: 0, takes: true };
        (window, context)
    }

    // Polls the shared state until the expected condition holds.
    #[track_caller]
    fn until(&mut self, what: &str, mut there: impl FnMut(&Self) -> bool) {
        let start = Instant::now();
        loop {
            {
                let mut shared_state = self.shared.lock();
                self.news.extend(shared_state.news.drain(..).map(|(news, _)| news));
                if let Some(status) = shared_state.status.take() {
                    self.status = status;
                }
                if self.takes
                    && let Some(picture) = shared_state.picture.take()
                {
                    assert_eq!(picture.spheres.count() as usize, self.status.sphere_count);
                    shared_state.spare = Some(picture);
                    self.pictures += 1;
                }
            }
            if there(self) {
                return;
            }
            assert!(start.elapsed() < PATIENCE, "waited for {what}; {:?}", self.news);
            let _ = self.woken.recv_timeout(Duration::from_millis(50));
        }
    }
}

#[test]
fn a_run_on_the_device_is_watched_without_a_wait() {
    let (mut window, _) = Window::open(Backend::Gpu, false);
    window.worker.ask(Command::Pace(None));
    window.until("twenty steps", |w| w.status.step >= 20);
    let (waits, pictures, step) = (window.status.figures.blocking_reads, window.pictures, window.status.step);
    window.until("sixty more", |w| w.status.step >= step + 60);
    assert_eq!(window.status.figures.blocking_reads, waits, "being watched costs waits");
    assert!(window.pictures > pictures + 5, "nothing was put up");
}

#[test]
fn it_goes_on_when_nobody_takes_the_pictures() {
    let (mut window, _) = Window::open(Backend::Cpu, false);
    window.until("a picture", |w| w.pictures > 0);
    window.takes = false;
    window.worker.ask(Command::Pace(None));
    let step = window.status.step;
    // Meanwhile the worker publishes only in answer to a command, and each command is followed by at least one step.
    let start = Instant::now();
    while window.status.step <= step + 3 {
        assert!(start.elapsed() < PATIENCE, "{} after {step}", window.status.step);
        window.worker.ask(Command::Pace(None));
        std::thread::sleep(Duration::from_millis(20));
        window.until("a look at the board", |_| true);
    }
    window.worker.ask(Command::Pause(true));
    window.until("a pause", |w| w.status.paused);
    // After a pause the published picture is the latest one, even if the previous one was not taken.
    window.takes = true;
    let pictures = window.pictures;
    window.until("the last picture", |w| w.pictures > pictures);
}

#[test]
fn simulated_time_keeps_to_the_pace() {
    let (mut window, _) = Window::open(Backend::Cpu, true);
    window.worker.ask(Command::Pace(Some(0.5)));
    // Measured from before the first step, so that no delay of this thread shortens the measured time.
    let start = Instant::now();
    window.worker.ask(Command::Pause(false));
    window.until("half a unit", |w| w.status.time >= 0.5);
    // The run is never faster than requested on any machine; a slower machine takes longer.
    assert!(start.elapsed().as_secs_f64() > 0.9, "{:?}", start.elapsed());
}

#[test]
fn what_is_asked_for_while_it_runs_is_done_between_two_steps() {
    let (mut window, _) = Window::open(Backend::Cpu, false);
    window.until("some steps", |w| w.status.step > 2);
    window.worker.ask(Command::Pause(true));
    window.until("a pause", |w| w.news.contains(&News::Paused(true)) && w.status.paused);
    let step = window.status.step;
    window.worker.ask(Command::Step);
    window.worker.ask(Command::Step);
    window.until("two steps", |w| w.status.step == step + 2);
    window.worker.ask(Command::Reset);
    window.until("the start", |w| w.status.step == 0 && w.status.world == 1);
    window.worker.ask(Command::Backend(Backend::Exact));
    window.until("another backend", |w| w.status.backend == Backend::Exact);
    window.worker.ask(Command::Step);
    window.until("a step there", |w| w.status.step == 1);
}

#[test]
fn a_lost_device_ends_it_with_the_reason() {
    let (mut window, context) = Window::open(Backend::Gpu, false);
    window.until("some steps", |w| w.status.step > 2);
    context.report_lost("the cable was pulled");
    window.until("the end", |w| w.shared.lock().fatal.is_some());
    let fatal = window.shared.lock().fatal.clone();
    assert!(matches!(&fatal, Some(Error::DeviceLost(text)) if text.contains("the cable")), "{fatal:?}");
}
