//! Tests of keys and mouse: events are passed to egui without a window.

use egui::{Event, Key, Modifiers, PointerButton, Pos2, RawInput, Rect, pos2, vec2};
use glam::DVec3;

use super::{
    command::{Command, News},
    shared_state::Status,
    view::{Desk, Wish},
};
use crate::render::{Camera, Colour};

const SIZE: egui::Vec2 = vec2(900.0, 600.0);
/// A point in the scene, right of the panel.
const PLACE: Pos2 = pos2(620.0, 250.0);

struct Hand {
    desk: Desk,
    egui: egui::Context,
    time: f64,
}

impl Hand {
    fn new() -> Self {
        let mut desk = Desk::new(("an adapter".to_owned(), false), vec!["gas".to_owned()]);
        let camera =
            Camera { eye: DVec3::new(0.0, -20.0, 3.0), target: DVec3::ZERO, up: DVec3::Z, fov: 30.0 };
        desk.learn(Status { scene: "gas".to_owned(), largest: 0.5, dt: 0.01, ..Status::default() });
        desk.hear(&News::Loaded(camera));
        let mut hand = Self { desk, egui: egui::Context::default(), time: 0.0 };
        // The first frames lay out the panel.
        hand.frame(vec![Event::PointerMoved(PLACE)]);
        hand.frame(vec![]);
        hand
    }

    fn frame(&mut self, events: Vec<Event>) -> Vec<Wish> {
        self.frame_with(events, Modifiers::NONE)
    }

    fn frame_with(&mut self, events: Vec<Event>, modifiers: Modifiers) -> Vec<Wish> {
        self.time += 0.02;
        let input = RawInput {
            screen_rect: Some(Rect::from_min_size(Pos2::ZERO, SIZE)),
            time: Some(self.time),
            focused: true,
            events: std::iter::once(Event::ModifiersChanged(modifiers)).chain(events).collect(),
            ..RawInput::default()
        };
        let mut wishes = vec![];
        let desk = &mut self.desk;
        let output = self.egui.run_ui(input, |ui| wishes.extend(desk.show(ui, None)));
        output.drop_without_applying_deltas();
        wishes
    }

    fn press(&mut self, key: Key) -> Vec<Wish> {
        let event = |pressed| Event::Key {
            key,
            physical_key: None,
            pressed,
            repeat: false,
            modifiers: Modifiers::NONE,
        };
        let wishes = self.frame(vec![event(true)]);
        self.frame(vec![event(false)]);
        wishes
    }

    fn button(button: PointerButton, at: Pos2, pressed: bool) -> Event {
        Event::PointerButton { pos: at, button, pressed, modifiers: Modifiers::NONE }
    }

    fn drag(&mut self, button: PointerButton, by: egui::Vec2, modifiers: Modifiers) {
        self.frame_with(vec![Self::button(button, PLACE, true)], modifiers);
        for part in [0.4, 0.8, 1.0] {
            self.frame_with(vec![Event::PointerMoved(PLACE + by * part)], modifiers);
        }
        self.frame_with(vec![Self::button(button, PLACE + by, false)], modifiers);
        self.frame(vec![Event::PointerMoved(PLACE)]);
    }

    fn camera(&self) -> Camera {
        *self.desk.eye.as_ref().unwrap().camera()
    }
}

#[test]
fn keys_ask_for_what_the_help_says() {
    let mut hand = Hand::new();
    assert_eq!(hand.press(Key::Space), [Wish::Ask(Command::Pause(true))]);
    hand.desk.status.paused = true;
    assert_eq!(hand.press(Key::Space), [Wish::Ask(Command::Pause(false))]);
    assert_eq!(hand.press(Key::Period), [Wish::Ask(Command::Step)]);
    assert_eq!(hand.press(Key::R), [Wish::Ask(Command::Reset)]);
    let from = hand.camera().eye - hand.camera().target;
    assert_eq!(hand.press(Key::F), [Wish::Ask(Command::Frame { from, up: DVec3::Z })]);
    assert_eq!(hand.press(Key::F12), [Wish::Screenshot]);
    let before = hand.desk.style.colour;
    assert_eq!(hand.press(Key::C), [Wish::Happened("colour")]);
    assert_eq!(hand.desk.style.colour, before.next());
    (1..Colour::ALL.len()).for_each(|_| drop(hand.press(Key::C)));
    assert_eq!(hand.desk.style.colour, before);
    assert_eq!(hand.press(Key::Questionmark), [Wish::Happened("help")]);
    assert!(hand.desk.help);
    hand.press(Key::Questionmark);
    assert!(!hand.desk.help);
    // No other key has an action, and neither have these keys with Ctrl, with one exception.
    assert_eq!(hand.press(Key::Z), []);
    let with_control = |key| Event::Key {
        key,
        physical_key: None,
        pressed: true,
        repeat: false,
        modifiers: Modifiers::CTRL,
    };
    assert_eq!(hand.frame(vec![with_control(Key::R)]), []);
    assert_eq!(hand.frame(vec![with_control(Key::Q)]), [Wish::Close]);
}

#[test]
fn the_panel_gives_its_room_to_the_spheres() {
    let mut hand = Hand::new();
    let narrow = hand.desk.place.1[0];
    assert_eq!(hand.press(Key::H), [Wish::Happened("panel")]);
    assert_eq!(hand.desk.place.1, [SIZE.x as u32, SIZE.y as u32]);
    hand.press(Key::H);
    hand.frame(vec![]);
    assert_eq!(hand.desk.place.1[0], narrow);
    assert!(f64::from(narrow) < 0.75 * f64::from(SIZE.x));
}

#[test]
fn a_shot_goes_along_the_cursors_ray() {
    let mut hand = Hand::new();
    let wishes = hand.press(Key::B);
    let [Wish::Ask(Command::Shoot(shot))] = wishes[..] else { panic!("{wishes:?}") };
    let (rect, size) = hand.desk.place;
    let camera = hand.camera();
    let (x, y, _) = camera.project(shot.eye + shot.direction * 7.0, size).unwrap();
    assert!((x - f64::from(PLACE.x - rect.min.x)).abs() < 1.0 && (y - f64::from(PLACE.y)).abs() < 1.0);
    assert_eq!((shot.eye, shot.radius), (camera.eye, 0.5 * hand.desk.launcher.calibre));
    assert!(shot.speed > 0.0);
}

#[test]
fn a_click_picks_and_a_drag_does_not() {
    let mut hand = Hand::new();
    hand.frame(vec![Hand::button(PointerButton::Primary, PLACE, true)]);
    let wishes = hand.frame(vec![Hand::button(PointerButton::Primary, PLACE, false)]);
    assert!(matches!(wishes[..], [Wish::Ask(Command::Pick { .. })]), "{wishes:?}");
    // A click on the panel does not pick a sphere.
    let panel = pos2(40.0, 560.0);
    hand.frame(vec![Event::PointerMoved(panel), Hand::button(PointerButton::Primary, panel, true)]);
    let wishes = hand.frame(vec![Hand::button(PointerButton::Primary, panel, false)]);
    assert!(!wishes.iter().any(|wish| matches!(wish, Wish::Ask(Command::Pick { .. }))), "{wishes:?}");
}

#[test]
fn drags_orbit_or_pan_and_the_wheel_zooms() {
    let mut hand = Hand::new();
    let start = hand.camera();
    hand.drag(PointerButton::Primary, vec2(60.0, 20.0), Modifiers::NONE);
    let orbited = hand.camera();
    assert_eq!(orbited.target, start.target);
    assert!((orbited.eye - start.eye).length() > 1.0);
    assert!((orbited.eye.length() - start.eye.length()).abs() < 1e-9);
    hand.drag(PointerButton::Secondary, vec2(60.0, 20.0), Modifiers::NONE);
    let panned = hand.camera();
    let way = panned.target - orbited.target;
    assert!(way.length() > 0.1 && (panned.eye - orbited.eye - way).length() < 1e-9);
    hand.drag(PointerButton::Primary, vec2(60.0, 20.0), Modifiers::SHIFT);
    assert!((hand.camera().target - panned.target - way).length() < 1e-3);
    let before = hand.camera();
    let wheel = Event::MouseWheel {
        unit: egui::MouseWheelUnit::Line,
        delta: vec2(0.0, 2.0),
        modifiers: Modifiers::NONE,
        phase: egui::TouchPhase::Move,
        source: egui::MouseWheelSource::Wheel,
    };
    hand.frame(vec![wheel]);
    // Egui scrolls smoothly.
    (0..40).for_each(|_| drop(hand.frame(vec![])));
    let distance = |c: &Camera| (c.eye - c.target).length();
    assert!(distance(&hand.camera()) < 0.9 * distance(&before));
}

#[test]
fn held_keys_fly() {
    let mut hand = Hand::new();
    let start = hand.camera();
    let key = |pressed| Event::Key {
        key: Key::W,
        physical_key: None,
        pressed,
        repeat: false,
        modifiers: Modifiers::NONE,
    };
    hand.frame(vec![key(true)]);
    (0..5).for_each(|_| drop(hand.frame(vec![])));
    hand.frame(vec![key(false)]);
    let way = hand.camera().eye - start.eye;
    assert!(way.dot((start.target - start.eye).normalize()) > 0.5, "{way}");
    let stopped = hand.camera();
    (0..5).for_each(|_| drop(hand.frame(vec![])));
    assert_eq!(hand.camera(), stopped);
}

#[test]
fn what_is_wrong_is_on_the_screen() {
    let mut hand = Hand::new();
    let texts = |hand: &mut Hand| {
        hand.frame(vec![]);
        let input = RawInput {
            screen_rect: Some(Rect::from_min_size(Pos2::ZERO, SIZE)),
            time: Some(hand.time + 0.02),
            ..RawInput::default()
        };
        let desk = &mut hand.desk;
        let output = hand.egui.run_ui(input, |ui| drop(desk.show(ui, None)));
        let text = output.shapes.iter().map(|shape| match &shape.shape {
            egui::Shape::Text(text) => text.galley.text().to_owned() + "\n",
            _ => String::new(),
        });
        let text: String = text.collect();
        output.drop_without_applying_deltas();
        text
    };
    let quiet = texts(&mut hand);
    for word in ["late ", "stopped ", "unresolved ", "overflow "] {
        assert!(!quiet.contains(word), "{word}: {quiet}");
    }
    assert!(quiet.contains("an adapter draws in software"), "{quiet}");
    hand.desk.learn(Status {
        late: 3,
        stopped: 1,
        failed: Some("sphere 7 is gone".to_owned()),
        ..hand.desk.status.clone()
    });
    let alarmed = texts(&mut hand);
    assert!(alarmed.contains("late 3, stopped 1"), "{alarmed}");
    assert!(alarmed.contains("sphere 7 is gone"), "{alarmed}");
    // The same holds while the panel is hidden.
    hand.press(Key::H);
    assert!(texts(&mut hand).contains("sphere 7 is gone"));
}
