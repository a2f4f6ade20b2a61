//! The user interface apart from the window itself: keys, mouse and panel.

use std::collections::VecDeque;

use egui::{Key, PointerButton, Rect, Sense};
use glam::{DVec2, DVec3};

use super::{
    camera_control::{CameraControl, Flight},
    clip_control::{ClipControl, STRIDE},
    command::{Command, News},
    grab::Ray,
    inspect::Inspected,
    keys::{Action, KEYS},
    launcher::Shot,
    panel,
    shared_state::Status,
};
use crate::render::{Colour, Range, Style};

/// Display time of a message (seconds).
const MESSAGE_SECONDS: f64 = 5.0;
/// Points that egui scrolls for a notch of the wheel.
const NOTCH_POINTS: f64 = 50.0;
/// Longest time between frames that flight compensates (seconds): a longer stall would move the camera too far.
const LONGEST_FRAME: f64 = 0.1;
/// Initial speed of a shot: simulated time in which the shot crosses the distance from which the scene is framed.
const CROSSING: f64 = 2.0;
/// Initial radius of a shot, in radii of the largest sphere.
const CALIBRE: f64 = 2.0;

/// A request that results from a frame.
#[derive(Clone, Debug, PartialEq)]
pub enum Wish {
    /// Send a command to the worker.
    Ask(Command),
    /// Write a screenshot.
    Screenshot,
    /// Start or end the recording of a film.
    Record,
    /// Close the window.
    Close,
    /// Log an event that does not concern the worker.
    Happened(&'static str),
}

/// Settings of a shot.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Launcher {
    /// Radius, relative to the largest sphere.
    pub calibre: f64,
    /// Speed (length/time).
    pub speed: f64,
}

/// State of the user interface.
pub struct Desk {
    /// Camera control; `None` before the first scene.
    pub eye: Option<CameraControl>,
    /// How spheres are drawn.
    pub style: Style,
    /// Whether the panel is open.
    pub panel: bool,
    /// Whether the help is open.
    pub help: bool,
    /// Latest status from the worker.
    pub status: Status,
    /// The inspected sphere as of the last inspection.
    pub inspected: Option<Box<Inspected>>,
    /// The clip plane.
    pub clip: ClipControl,
    /// Settings of a shot.
    pub launcher: Launcher,
    /// Name of the adapter that draws, and whether it is a GPU.
    pub adapter: (String, bool),
    /// Names of the scenes that can be loaded.
    pub scenes: Vec<String>,
    /// Values that the user is dragging.
    pub draft: panel::Draft,
    /// The last message, and the time when it appeared.
    pub message: Option<(String, f64)>,
    /// Times of the frames of the last second.
    pub frames: VecDeque<f64>,
    /// Rectangle in which the spheres are drawn, and its size in pixels.
    pub place: (Rect, [u32; 2]),
    now: f64,
    wishes: Vec<Wish>,
    /// Duration of the film that is being recorded (seconds), and its number of frames.
    pub film: Option<(f64, u64)>,
    /// Whether the user drags a sphere.
    is_grabbing: bool,
    /// Whether the worker publishes contacts.
    asked_contacts: bool,
}

impl Desk {
    /// The state before the first scene.
    pub fn new(adapter: (String, bool), scenes: Vec<String>) -> Self {
        Self {
            eye: None,
            style: Style::default(),
            panel: true,
            help: false,
            status: Status::default(),
            inspected: None,
            clip: ClipControl::default(),
            launcher: Launcher { calibre: CALIBRE, speed: 1.0 },
            adapter,
            scenes,
            draft: panel::Draft::default(),
            message: None,
            frames: VecDeque::new(),
            place: (Rect::NOTHING, [1, 1]),
            now: 0.0,
            wishes: vec![],
            film: None,
            is_grabbing: false,
            asked_contacts: false,
        }
    }

    /// Handles news from the worker.
    pub fn hear(&mut self, news: &News) {
        match news {
            News::Loaded(camera) => {
                self.eye = Some(CameraControl::new(*camera));
                self.launcher.speed = (camera.target - camera.eye).length() / CROSSING;
                self.inspected = None;
            }
            News::Grabbed(Some(id)) => self.say(format!("pulls sphere {id}")),
            News::Grabbed(None) => self.say("no sphere under the cursor".to_owned()),
            News::Compared(true) => {
                self.style.colour = Colour::Difference;
                self.style.range = Range::Automatic;
                self.say("cpu takes the same steps; colours show the difference".to_owned());
            }
            News::Compared(false) => {
                if self.style.colour == Colour::Difference {
                    self.style.colour = Colour::Speed;
                }
                self.say("the comparison has ended".to_owned());
            }
            News::Reset => self.inspected = None,
            News::Framed(camera) => self.eye = Some(CameraControl::new(*camera)),
            News::Picked(found) => self.inspected = found.clone(),
            News::Shot(id) => self.say(format!("shot sphere {id}")),
            News::Refused(text) => self.say(text.clone()),
            News::Switched(backend) => self.say(format!("on {}", backend.name())),
            // On the device an inspection makes the host wait, which costs nothing while the simulation is paused.
            News::Paused(true) | News::Stepped | News::Back if self.inspected.is_some() => {
                self.ask(Command::Look)
            }
            News::Released
            | News::Paused(_)
            | News::Stepped
            | News::Back
            | News::Changed
            | News::Failed(_) => {}
        }
    }

    /// Takes over a new status.
    pub fn learn(&mut self, status: Status) {
        if status.inspected.is_some() {
            self.inspected.clone_from(&status.inspected);
        }
        if status.compared.is_none() && self.style.colour == Colour::Difference {
            self.style.colour = Colour::Speed;
        }
        self.status = status;
    }

    /// Shows a message for a while.
    pub fn say(&mut self, text: String) {
        self.message = Some((text, self.now));
    }

    /// Sends a command to the worker.
    pub fn ask(&mut self, command: Command) {
        self.wishes.push(Wish::Ask(command));
    }

    /// Runs one frame: handles input, lays out the panel and returns the requests. `texture` holds the picture of the
    /// spheres.
    pub fn show(&mut self, ui: &mut egui::Ui, texture: Option<egui::TextureId>) -> Vec<Wish> {
        let context = ui.ctx().clone();
        self.now = context.input(|i| i.time);
        self.frames.push_back(self.now);
        while self.frames.len() > 1 && self.now - self.frames[0] > 1.0 {
            self.frames.pop_front();
        }
        // Before the first scene there is nothing to set.
        if self.panel && self.status.dt > 0.0 {
            panel::show(self, ui);
        }
        let frame = egui::Frame::NONE.fill(egui::Color32::from_gray(18));
        egui::CentralPanel::default().frame(frame).show(ui, |ui| self.show_scene(ui, texture));
        panel::show_inspected(self, &context);
        if self.help {
            panel::show_help(self, &context);
        }
        self.listen(&context);
        self.request_contacts();
        let extent = self.status.extent;
        self.style.clip = self.eye.as_ref().and_then(|eye| self.clip.plane(extent, eye.camera()));
        std::mem::take(&mut self.wishes)
    }

    // Asks for contacts while the style shows them.
    fn request_contacts(&mut self) {
        let wanted = self.style.chains || self.style.colour.needs_contacts();
        if wanted != self.asked_contacts {
            self.asked_contacts = wanted;
            self.ask(Command::Contacts(wanted));
        }
    }

    fn show_scene(&mut self, ui: &mut egui::Ui, texture: Option<egui::TextureId>) {
        let rect = ui.max_rect();
        let scale = ui.ctx().pixels_per_point();
        let pixels = |points: f32| (points * scale).round().max(1.0) as u32;
        self.place = (rect, [pixels(rect.width()), pixels(rect.height())]);
        let response = ui.allocate_rect(rect, Sense::click_and_drag());
        if let Some(texture) = texture.filter(|_| self.eye.is_some()) {
            let all = Rect::from_min_max(egui::pos2(0.0, 0.0), egui::pos2(1.0, 1.0));
            ui.painter().image(texture, rect, all, egui::Color32::WHITE);
        }
        self.handle(&response, scale);
        panel::mark_inspected(self, ui.painter());
        panel::show_messages(self, ui, rect);
    }

    // Handles orbit, pan, zoom and click.
    fn handle(&mut self, response: &egui::Response, scale: f32) {
        if self.pull(response, scale) {
            return;
        }
        let (rect, size) = self.place;
        let Some(eye) = &mut self.eye else { return };
        let in_picture = |at: egui::Pos2| {
            DVec2::new(f64::from(at.x - rect.min.x), f64::from(at.y - rect.min.y)) * f64::from(scale)
        };
        let height = f64::from(size[1]);
        let delta = response.drag_delta();
        let drag = DVec2::new(f64::from(delta.x), f64::from(delta.y)) * f64::from(scale);
        let input = &response.ctx;
        let shift = input.input(|i| i.modifiers.shift);
        if response.dragged_by(PointerButton::Primary) && !shift {
            eye.orbit(drag, height);
        } else if response.dragged() {
            eye.pan(drag, height);
        }
        if let Some(at) = response.hover_pos() {
            let (scroll, pinch) = input.input(|i| (i.smooth_scroll_delta(), i.zoom_delta()));
            // A pinch that doubles the size halves the distance: five and a half notches.
            let notches = f64::from(scroll.y) / NOTCH_POINTS + f64::from(pinch).log2() * 5.42;
            if notches != 0.0 {
                eye.zoom(notches, in_picture(at), size);
            }
        }
        if response.clicked()
            && let Some(at) = response.interact_pointer_pos()
        {
            let (from, direction) = self.ray(in_picture(at));
            self.ask(Command::Pick { from, direction, clip: self.style.clip });
        }
    }

    // Handles a drag of a sphere; returns whether there is one.
    fn pull(&mut self, response: &egui::Response, scale: f32) -> bool {
        let (rect, _) = self.place;
        let Some(forward) = self.eye.as_ref().map(|eye| eye.camera().target - eye.camera().eye) else {
            return false;
        };
        let forward = forward.normalize();
        let ray_at = |desk: &Self, at: egui::Pos2| {
            let at = DVec2::new(f64::from(at.x - rect.min.x), f64::from(at.y - rect.min.y));
            let (from, direction) = desk.ray(at * f64::from(scale));
            Ray { from, direction, forward }
        };
        let (held, origin) = response.ctx.input(|i| (i.modifiers.command, i.pointer.press_origin()));
        if let Some(origin) = origin.filter(|_| held && response.drag_started_by(PointerButton::Primary)) {
            let ray = ray_at(self, origin);
            self.ask(Command::Grab { ray, clip: self.style.clip });
            self.is_grabbing = true;
        }
        if !self.is_grabbing {
            return false;
        }
        if let Some(at) =
            response.interact_pointer_pos().filter(|_| response.drag_delta() != egui::Vec2::ZERO)
        {
            let ray = ray_at(self, at);
            self.ask(Command::Pull(ray));
        }
        if !response.dragged() {
            self.is_grabbing = false;
            self.ask(Command::Release);
        }
        true
    }

    // Origin and direction of the ray through a pixel.
    fn ray(&self, at: DVec2) -> (DVec3, DVec3) {
        let size = self.place.1;
        self.eye.as_ref().map_or((DVec3::ZERO, DVec3::X), |eye| eye.camera().ray(at.x, at.y, size))
    }

    fn listen(&mut self, context: &egui::Context) {
        if context.egui_wants_keyboard_input() {
            return;
        }
        // The modifiers at the time of the event: at the end of a slow frame the keys may already be up.
        let pressed: Vec<Action> = context.input(|i| {
            let keys = i.events.iter().filter_map(|event| match event {
                egui::Event::Key { key, pressed: true, repeat, modifiers, .. } => {
                    Some((*key, *repeat, *modifiers))
                }
                _ => None,
            });
            keys.filter_map(|(key, repeat, held)| {
                let command = held.command || held.ctrl;
                let binding = KEYS.iter().find(|b| b.key == key && b.command == command && !held.alt)?;
                // A held key repeats only actions that advance by a step.
                (!repeat || binding.action.repeats()).then_some(binding.action)
            })
            .collect()
        });
        for action in pressed {
            self.act(action, context);
        }
        let flight = context.input(|i| {
            let axis = |more, less| f64::from(i8::from(i.key_down(more)) - i8::from(i.key_down(less)));
            let direction = DVec3::new(axis(Key::D, Key::A), axis(Key::E, Key::Q), axis(Key::W, Key::S));
            Flight { direction, fast: i.modifiers.shift }
        });
        if flight.direction != DVec3::ZERO && context.input(|i| !i.modifiers.command) {
            if let Some(eye) = &mut self.eye {
                eye.fly(flight, f64::from(context.input(|i| i.stable_dt)).min(LONGEST_FRAME));
            }
            context.request_repaint();
        }
    }

    /// Executes the action of a key.
    pub fn act(&mut self, action: Action, context: &egui::Context) {
        match action {
            Action::Pause => self.ask(Command::Pause(!self.status.paused)),
            Action::Step => self.ask(Command::Step),
            Action::Back => self.ask(Command::Back),
            Action::Reset => self.ask(Command::Reset),
            Action::Frame => {
                if let Some(camera) = self.eye.as_ref().map(|eye| *eye.camera()) {
                    self.ask(Command::Frame { from: camera.eye - camera.target, up: camera.up });
                }
            }
            Action::Colour => {
                self.style.colour = self.style.colour.next();
                self.style.range = Range::Automatic;
                self.say(format!("coloured by {}", self.style.colour.name()));
                self.wishes.push(Wish::Happened("colour"));
            }
            Action::Compare => self.ask(Command::Compare(self.status.compared.is_none())),
            Action::Chains => {
                self.style.chains = !self.style.chains;
                self.wishes.push(Wish::Happened("chains"));
            }
            Action::Clip => {
                if let Some(eye) = &self.eye {
                    self.clip.choose(self.clip.axis.next(), self.status.extent, eye.camera());
                    self.say(format!("clip plane: {}", self.clip.axis.name()));
                    self.wishes.push(Wish::Happened("clip"));
                }
            }
            Action::ClipFarther | Action::ClipNearer => {
                self.clip.shift(if action == Action::ClipFarther { STRIDE } else { -STRIDE });
                self.wishes.push(Wish::Happened("clip"));
            }
            Action::Shoot => {
                let (rect, size) = self.place;
                let scale = f64::from(context.pixels_per_point());
                let cursor = context.input(|i| i.pointer.hover_pos()).filter(|at| rect.contains(*at));
                let at = match cursor {
                    Some(at) => {
                        DVec2::new(f64::from(at.x - rect.min.x), f64::from(at.y - rect.min.y)) * scale
                    }
                    None => 0.5 * DVec2::new(f64::from(size[0]), f64::from(size[1])),
                };
                let (eye, direction) = self.ray(at);
                let radius = self.launcher.calibre * self.status.largest;
                if radius > 0.0 {
                    self.ask(Command::Shoot(Shot { eye, direction, radius, speed: self.launcher.speed }));
                }
            }
            Action::Panel => {
                self.panel = !self.panel;
                self.wishes.push(Wish::Happened("panel"));
            }
            Action::Screenshot => self.wishes.push(Wish::Screenshot),
            Action::Record => self.wishes.push(Wish::Record),
            Action::Close => self.wishes.push(Wish::Close),
            Action::Help => {
                self.help = !self.help;
                self.wishes.push(Wish::Happened("help"));
            }
        }
    }

    /// The current message if it has not expired, and its remaining display time (seconds).
    pub fn message(&self) -> Option<(&str, f64)> {
        let (text, since) = self.message.as_ref()?;
        let left = since + MESSAGE_SECONDS - self.now;
        (left > 0.0).then_some((text, left))
    }
}
