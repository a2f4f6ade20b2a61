//! The user interface apart from the window itself: keys, mouse and panel.

use std::collections::VecDeque;

use egui::{Key, PointerButton, Rect, Sense};
use glam::{DVec2, DVec3};

use super::{
    camera_control::{CameraControl, Flight},
    command::{Command, News},
    inspect::Inspected,
    keys::{Action, KEYS},
    launcher::Shot,
    panel,
    shared_state::Status,
};
use crate::render::Style;

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
            launcher: Launcher { calibre: CALIBRE, speed: 1.0 },
            adapter,
            scenes,
            draft: panel::Draft::default(),
            message: None,
            frames: VecDeque::new(),
            place: (Rect::NOTHING, [1, 1]),
            now: 0.0,
            wishes: vec![],
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
            News::Reset => self.inspected = None,
            News::Framed(camera) => self.eye = Some(CameraControl::new(*camera)),
            News::Picked(found) => self.inspected = found.clone(),
            News::Shot(id) => self.say(format!("shot sphere {id}")),
            News::Refused(text) => self.say(text.clone()),
            News::Switched(backend) => self.say(format!("on {}", backend.name())),
            // On the device an inspection makes the host wait, which costs nothing while the simulation is paused.
            News::Paused(true) | News::Stepped if self.inspected.is_some() => self.ask(Command::Look),
            News::Paused(_) | News::Stepped | News::Changed | News::Failed(_) => {}
        }
    }

    /// Takes over a new status.
    pub fn learn(&mut self, status: Status) {
        if status.inspected.is_some() {
            self.inspected.clone_from(&status.inspected);
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
        std::mem::take(&mut self.wishes)
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
            self.ask(Command::Pick { from, direction });
        }
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
                // Holding a key repeats steps; all other actions run once.
                (!repeat || binding.action == Action::Step).then_some(binding.action)
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
            Action::Reset => self.ask(Command::Reset),
            Action::Frame => {
                if let Some(camera) = self.eye.as_ref().map(|eye| *eye.camera()) {
                    self.ask(Command::Frame { from: camera.eye - camera.target, up: camera.up });
                }
            }
            Action::Colour => {
                self.style.colour = self.style.colour.next();
                self.style.range = crate::render::Range::Automatic;
                self.say(format!("coloured by {}", self.style.colour.name()));
                self.wishes.push(Wish::Happened("colour"));
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
