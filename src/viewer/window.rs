//! The window and its event loop.

use std::{path::Path, sync::Arc, time::Instant};

use egui::ViewportId;
use serde_json::{Value, json};
use winit::{
    application::ApplicationHandler,
    dpi::LogicalSize,
    error::EventLoopError,
    event::{StartCause, WindowEvent},
    event_loop::{ActiveEventLoop, ControlFlow, EventLoop, EventLoopProxy},
    window::{Window, WindowId},
};

use super::{
    Settings, ViewerError,
    command::News,
    event_log::EventLog,
    film::{Added, Closing, Film, Written},
    panel, screenshot,
    shared_state::{Picture, Shared},
    surface::{Shown, Subject, Surface},
    view::{Desk, Wish},
    worker::{Start, Worker},
};
use crate::{Backend, Error, Options, System, files::BUILTIN};

/// Wakes the event loop: the shared state has changed.
#[derive(Clone, Copy, Debug)]
struct Wake;

/// Opens a window and returns when it is closed. Operating systems require that this is called on the main thread, once
/// per process.
///
/// # Errors
/// [`ViewerError::NoDisplay`]; [`ViewerError::Engine`] if the scene cannot be built, no adapter can draw into a window,
/// or the device is lost; [`ViewerError::Events`].
pub fn run(settings: Settings) -> Result<(), ViewerError> {
    let system = settings.scene.build()?;
    let event_log = EventLog::open(settings.events.as_deref())?;
    let event_loop = EventLoop::<Wake>::with_user_event().build().map_err(|error| no_display(&error))?;
    let proxy = event_loop.create_proxy();
    let mut application =
        Application { start: Some((settings, system)), proxy, event_log, open: None, failure: None };
    event_loop.run_app(&mut application).map_err(|error| no_display(&error))?;
    let Application { event_log, failure, .. } = application;
    failure.map_or(Ok(()), Err)?;
    event_log.finish()
}

// Removes the source location with which the error text begins.
fn no_display(error: &EventLoopError) -> ViewerError {
    let text = error.to_string();
    let why = text
        .strip_prefix("os error at ")
        .and_then(|text| text.split_once(": "))
        .map_or(&*text, |(_, why)| why);
    ViewerError::NoDisplay(format!("no display to open a window on: {}", why.trim_end_matches('.')))
}

struct Application {
    start: Option<(Settings, System)>,
    proxy: EventLoopProxy<Wake>,
    event_log: EventLog,
    open: Option<Open>,
    failure: Option<ViewerError>,
}

// An open window. Fields are dropped in this order: the worker first, while the device still exists.
struct Open {
    worker: Worker,
    shared: Shared,
    picture: Option<Picture>,
    desk: Desk,
    surface: Surface,
    input: egui_winit::State,
    window: Arc<Window>,
    proxy: EventLoopProxy<Wake>,
    film: Option<Film>,
    closing: Vec<Closing>,
    frames: u64,
    is_drawn: bool,
    is_hidden: bool,
    is_closing: bool,
}

impl ApplicationHandler<Wake> for Application {
    fn resumed(&mut self, event_loop: &ActiveEventLoop) {
        let Some((settings, system)) = self.start.take() else { return };
        match Open::new(event_loop, settings, system, self.proxy.clone()) {
            Ok(open) => {
                let [width, height] = open.surface.size();
                let with = json!({ "width": width, "height": height, "adapter": open.desk.adapter.0 });
                self.event_log.write("opened", 0, &open.desk.status.counters(), with);
                open.window.request_redraw();
                self.open = Some(open);
            }
            Err(failure) => {
                self.failure = Some(failure);
                event_loop.exit();
            }
        }
    }

    fn new_events(&mut self, _: &ActiveEventLoop, cause: StartCause) {
        if let (StartCause::ResumeTimeReached { .. }, Some(open)) = (cause, &self.open) {
            open.window.request_redraw();
        }
    }

    fn user_event(&mut self, event_loop: &ActiveEventLoop, Wake: Wake) {
        let Some(open) = &mut self.open else { return };
        if let Err(error) = open.read_shared_state(&mut self.event_log) {
            self.fail(event_loop, error);
        }
    }

    fn window_event(&mut self, event_loop: &ActiveEventLoop, _: WindowId, event: WindowEvent) {
        let Some(open) = &mut self.open else { return };
        let response = open.input.on_window_event(&open.window, &event);
        match event {
            WindowEvent::CloseRequested | WindowEvent::Destroyed => self.close(event_loop),
            WindowEvent::Resized(size) => {
                let before = open.surface.size();
                open.surface.resize(size);
                if open.surface.size() != before {
                    let [width, height] = open.surface.size();
                    let with = json!({ "width": width, "height": height });
                    self.event_log.write("resized", open.frames, &open.desk.status.counters(), with);
                }
                open.is_hidden = size.width == 0 || size.height == 0;
                open.window.request_redraw();
            }
            WindowEvent::Occluded(is_hidden) => {
                open.is_hidden = is_hidden;
                open.window.request_redraw();
            }
            WindowEvent::RedrawRequested => match open.draw(event_loop, &mut self.event_log) {
                Ok(()) if open.is_closing => self.close(event_loop),
                Ok(()) => {}
                Err(error) => self.fail(event_loop, error),
            },
            _ if response.repaint => open.window.request_redraw(),
            _ => {}
        }
    }
}

impl Application {
    fn close(&mut self, event_loop: &ActiveEventLoop) {
        if let Some(mut open) = self.open.take() {
            open.complete_films(&mut self.event_log);
            self.event_log.write("closed", open.frames, &open.desk.status.counters(), json!({}));
        }
        event_loop.exit();
    }

    fn fail(&mut self, event_loop: &ActiveEventLoop, error: Error) {
        if let Some(open) = self.open.take() {
            let with = json!({ "message": error.to_string() });
            self.event_log.write("failed", open.frames, &open.desk.status.counters(), with);
        }
        self.failure.get_or_insert(error.into());
        event_loop.exit();
    }
}

impl Open {
    fn new(
        event_loop: &ActiveEventLoop,
        settings: Settings,
        system: System,
        proxy: EventLoopProxy<Wake>,
    ) -> Result<Self, ViewerError> {
        let [width, height] = settings.size;
        let attributes = Window::default_attributes()
            .with_title(format!("{} - carom", settings.name))
            .with_inner_size(LogicalSize::new(width, height))
            .with_min_inner_size(LogicalSize::new(320, 240));
        let window = event_loop.create_window(attributes);
        let window =
            window.map_err(|error| ViewerError::NoDisplay(format!("no window could be opened: {error}")))?;
        let window = Arc::new(window);
        let adapter = settings.adapter.as_deref();
        let surface = Surface::new(window.clone(), event_loop.owned_display_handle(), adapter)?;
        let context = surface.context().clone();
        let auto = if context.is_hardware() { Backend::Gpu } else { Backend::Cpu };
        let options = Options {
            backend: settings.backend.unwrap_or(auto),
            threads: settings.threads,
            context: Some(context.clone()),
            ..Options::default()
        };
        let mut scenes: Vec<String> = BUILTIN.iter().map(|scene| scene.name.to_owned()).collect();
        if !scenes.contains(&settings.name) {
            scenes.insert(0, settings.name.clone());
        }
        let shared = Shared::default();
        let start = Start {
            name: settings.name,
            scene: settings.scene,
            system,
            options,
            paused: settings.paused,
            context: context.clone(),
        };
        let worker = Worker::start(start, shared.clone(), waker(&proxy))
            .map_err(|error| Error::Capacity(format!("no thread for the simulation: {error}")))?;
        let desk = Desk::new((context.info().to_string(), context.is_hardware()), scenes);
        let egui = egui::Context::default();
        panel::dress(&egui);
        let most = context.device.limits().max_texture_dimension_2d as usize;
        let scale = window.scale_factor() as f32;
        let input = egui_winit::State::new(egui, ViewportId::ROOT, &*window, Some(scale), None, Some(most));
        Ok(Self {
            worker,
            shared,
            picture: None,
            desk,
            surface,
            input,
            window,
            proxy,
            film: None,
            closing: vec![],
            frames: 0,
            is_drawn: false,
            is_hidden: false,
            is_closing: false,
        })
    }

    // Reads the worker's updates; spheres stay in the shared state until they are drawn.
    fn read_shared_state(&mut self, event_log: &mut EventLog) -> Result<(), Error> {
        let (news, status, fatal) = {
            let mut shared_state = self.shared.lock();
            (std::mem::take(&mut shared_state.news), shared_state.status.take(), shared_state.fatal.take())
        };
        let title = status.as_ref().filter(|status| status.scene != self.desk.status.scene);
        if let Some(status) = title {
            self.window.set_title(&format!("{} - carom", status.scene));
        }
        if let Some(status) = status {
            self.desk.learn(status);
        }
        for (news, at) in news {
            self.desk.hear(&news);
            let (event, with) = told(&news);
            event_log.write(event, self.frames, &at, with);
        }
        if let Some(error) = fatal {
            return Err(error);
        }
        self.surface.context().check()?;
        if !self.is_hidden {
            self.window.request_redraw();
        }
        Ok(())
    }

    fn draw(&mut self, event_loop: &ActiveEventLoop, event_log: &mut EventLog) -> Result<(), Error> {
        self.surface.context().check()?;
        if self.is_hidden {
            event_loop.set_control_flow(ControlFlow::Wait);
            return Ok(());
        }
        let egui = self.input.egui_ctx().clone();
        let texture = self.surface.texture();
        let (desk, mut wishes) = (&mut self.desk, vec![]);
        let input = self.input.take_egui_input(&self.window);
        let output = egui.run_ui(input, |ui| wishes.extend(desk.show(ui, Some(texture))));
        self.input.handle_platform_output(&self.window, output.platform_output);
        self.take_picture();
        let jobs = egui.tessellate(output.shapes, output.pixels_per_point);
        let subject = match (&self.picture, &self.desk.eye) {
            (Some(picture), Some(eye)) => Some(Subject {
                picture,
                camera: eye.camera(),
                style: &self.desk.style,
                size: self.desk.place.1,
            }),
            _ => None,
        };
        let has_spheres = subject.is_some();
        let shown = self.surface.show(subject, &jobs, output.textures_delta, output.pixels_per_point);
        if shown == Shown::Yes {
            self.frames += 1;
            if has_spheres && !self.is_drawn {
                self.is_drawn = true;
                event_log.write("drawn", self.frames, &self.desk.status.counters(), json!({}));
            }
        }
        if shown == Shown::Yes && has_spheres {
            self.record(event_log)?;
        }
        for wish in wishes {
            self.grant(wish, event_log)?;
        }
        self.surface.context().check()?;
        let delay = output.viewport_output.get(&ViewportId::ROOT).map(|viewport| viewport.repaint_delay);
        match delay {
            _ if shown == Shown::Again => self.window.request_redraw(),
            Some(delay) if delay.is_zero() => self.window.request_redraw(),
            _ => {}
        }
        // A delay beyond the range of `Instant` means that no repaint is due.
        let at = delay.and_then(|delay| Instant::now().checked_add(delay));
        event_loop.set_control_flow(at.map_or(ControlFlow::Wait, ControlFlow::WaitUntil));
        Ok(())
    }

    // Takes the newest spheres; the previous buffers go back to the worker.
    fn take_picture(&mut self) {
        let mut shared_state = self.shared.lock();
        if let Some(newer) = shared_state.picture.take() {
            shared_state.spare = self.picture.replace(newer);
        }
    }

    fn start_film(&mut self, event_log: &mut EventLog) {
        let status = &self.desk.status;
        match Film::start(Path::new(""), &status.scene, self.desk.place.1, waker(&self.proxy)) {
            Ok(film) => {
                self.desk.film = Some(film.length());
                self.film = Some(film);
                event_log.write("recording", self.frames, &status.counters(), json!({}));
            }
            Err(error) => {
                let text = format!("the film cannot be written: {error}");
                event_log.write("refused", self.frames, &status.counters(), json!({ "message": text }));
                self.desk.say(text);
            }
        }
        self.window.request_redraw();
    }

    fn end_film(&mut self, film: Film) {
        self.closing.push(film.stop());
        self.desk.film = None;
        self.desk.say("the film is being written ...".to_owned());
        self.window.request_redraw();
    }

    // Adds the picture to the film, and reports films that are complete.
    fn record(&mut self, event_log: &mut EventLog) -> Result<(), Error> {
        if let Some(mut film) = self.film.take() {
            let picture = if film.is_due() { self.surface.read_picture()? } else { None };
            match picture.map_or(Added::Yes, |image| film.add(image)) {
                Added::Yes => {
                    self.desk.film = Some(film.length());
                    self.film = Some(film);
                }
                Added::Full(why) => {
                    self.end_film(film);
                    self.desk.say(format!("the film ends: {why}"));
                }
            }
        }
        let mut results = vec![];
        self.closing.retain(|closing| match closing.poll() {
            Some(result) => {
                results.push(result);
                false
            }
            None => true,
        });
        results.into_iter().for_each(|result| self.report_film(result, event_log));
        Ok(())
    }

    // Waits for all films, so that closing the window loses none.
    fn complete_films(&mut self, event_log: &mut EventLog) {
        if let Some(film) = self.film.take() {
            self.end_film(film);
        }
        for closing in std::mem::take(&mut self.closing) {
            self.report_film(closing.wait(), event_log);
        }
    }

    fn report_film(&mut self, result: std::io::Result<Written>, event_log: &mut EventLog) {
        let counters = self.desk.status.counters();
        match result {
            Ok(Written { path, frames, seconds }) => {
                let name = path.display().to_string();
                let with = json!({ "file": name, "film_frames": frames, "film_seconds": seconds });
                event_log.write("recorded", self.frames, &counters, with);
                self.desk.say(format!("saved {name}, {frames} frames"));
            }
            Err(error) => {
                let text = format!("the film cannot be written: {error}");
                event_log.write("refused", self.frames, &counters, json!({ "message": text }));
                self.desk.say(text);
            }
        }
        self.window.request_redraw();
    }

    fn grant(&mut self, wish: Wish, event_log: &mut EventLog) -> Result<(), Error> {
        match wish {
            Wish::Ask(command) => self.worker.ask(command),
            Wish::Close => self.is_closing = true,
            Wish::Record => match self.film.take() {
                Some(film) => self.end_film(film),
                None => self.start_film(event_log),
            },
            Wish::Happened(event) => {
                let desk = &self.desk;
                let with = json!({
                    "colour": desk.style.colour.name(),
                    "panel": desk.panel,
                    "chains": desk.style.chains,
                    "clip": desk.clip.axis.name(),
                    "clip_part": desk.clip.part,
                });
                event_log.write(event, self.frames, &self.desk.status.counters(), with);
                self.window.request_redraw();
            }
            Wish::Screenshot => {
                let status = &self.desk.status;
                let Some(image) = self.surface.read_picture()? else { return Ok(()) };
                match screenshot::save(Path::new(""), &image, &status.scene, status.seed, status.time) {
                    Ok(path) => {
                        let name = path.display().to_string();
                        event_log.write(
                            "screenshot",
                            self.frames,
                            &status.counters(),
                            json!({ "file": name }),
                        );
                        self.desk.say(format!("saved {name}"));
                    }
                    Err(error) => {
                        let text = format!("the picture cannot be written: {error}");
                        event_log.write(
                            "refused",
                            self.frames,
                            &status.counters(),
                            json!({ "message": text }),
                        );
                        self.desk.say(text);
                    }
                }
                self.window.request_redraw();
            }
        }
        Ok(())
    }
}

// Wakes the event loop of a window.
fn waker(proxy: &EventLoopProxy<Wake>) -> impl Fn() + Send + 'static {
    let proxy = proxy.clone();
    move || {
        // After the end of the event loop no wake-up is needed.
        let _ = proxy.send_event(Wake);
    }
}

// Event name and fields of news in the event log.
fn told(news: &News) -> (&'static str, Value) {
    match news {
        News::Loaded(_) => ("loaded", json!({})),
        News::Reset => ("reset", json!({})),
        News::Framed(_) => ("framed", json!({})),
        News::Paused(true) => ("paused", json!({})),
        News::Paused(false) => ("resumed", json!({})),
        News::Stepped => ("stepped", json!({})),
        News::Back => ("back", json!({})),
        News::Shot(id) => ("shot", json!({ "id": id })),
        News::Grabbed(id) => ("grabbed", json!({ "id": id })),
        News::Released => ("released", json!({})),
        News::Picked(None) => ("picked", json!({ "id": null })),
        News::Picked(Some(found)) => {
            let sphere = &found.sphere;
            let with = json!({
                "id": sphere.id,
                "position": sphere.position.to_array(),
                "velocity": sphere.velocity.to_array(),
                "neighbours": found.neighbour_count,
            });
            ("picked", with)
        }
        News::Switched(_) => ("switched", json!({})),
        News::Compared(is_on) => ("compared", json!({ "on": is_on })),
        News::Changed => ("changed", json!({})),
        News::Refused(text) => ("refused", json!({ "message": text })),
        News::Failed(text) => ("failed", json!({ "message": text })),
    }
}
