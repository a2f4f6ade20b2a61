//! Tests of keys and mouse: events are passed to egui without a window.

use egui::{Event, Key, Modifiers, PointerButton, Pos2, RawInput, Rect, pos2, vec2};
use glam::DVec3;

use super::{
    command::{Command, News},
    grab::Ray,
    inspect::Inspected,
    shared_state::Status,
    view::{Desk, Wish},
};
use crate::{
    Sphere,
    render::{Camera, Colour},
};

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
        desk.learn(Status {
            scene: "gas".to_owned(),
            largest: 0.5,
            dt: 0.01,
            extent: (DVec3::splat(-3.0), DVec3::splat(3.0)),
            ..Status::default()
        });
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

    // Presses the keys of the clip plane.
    fn clip_keys(&mut self) {
        assert_eq!(self.desk.style.clip, None);
        for (axis, normal) in [("x", DVec3::X), ("y", DVec3::NEG_Y), ("z", DVec3::Z)] {
            assert_eq!(self.press(Key::X), [Wish::Happened("clip")]);
            let clip = self.desk.style.clip.expect("a plane");
            assert_eq!((self.desk.clip.axis.name(), clip.normal), (axis, normal));
        }
        assert_eq!(self.press(Key::CloseBracket), [Wish::Happened("clip")]);
        let less = self.desk.style.clip.expect("a plane").offset;
        (0..2).for_each(|_| assert_eq!(self.press(Key::OpenBracket), [Wish::Happened("clip")]));
        assert!(self.desk.style.clip.expect("a plane").offset > less);
        self.press(Key::X);
        let back = (self.camera().eye - self.camera().target).normalize();
        assert!((self.desk.style.clip.expect("a plane").normal - back).length() < 1e-12);
        self.press(Key::X);
        assert_eq!(self.desk.style.clip, None);
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
    assert_eq!(hand.press(Key::Comma), [Wish::Ask(Command::Back)]);
    assert_eq!(hand.press(Key::R), [Wish::Ask(Command::Reset)]);
    let from = hand.camera().eye - hand.camera().target;
    assert_eq!(hand.press(Key::F), [Wish::Ask(Command::Frame { from, up: DVec3::Z })]);
    assert_eq!(hand.press(Key::F12), [Wish::Screenshot]);
    assert_eq!(hand.press(Key::V), [Wish::Record]);
    assert_eq!(hand.press(Key::K), [Wish::Ask(Command::Compare(true))]);
    assert_eq!(hand.press(Key::N), [Wish::Happened("chains"), Wish::Ask(Command::Contacts(true))]);
    assert_eq!(hand.press(Key::N), [Wish::Happened("chains"), Wish::Ask(Command::Contacts(false))]);
    hand.clip_keys();
    let before = hand.desk.style.colour;
    assert_eq!(hand.press(Key::C), [Wish::Happened("colour")]);
    assert_eq!(hand.desk.style.colour, before.next());
    // All but the colour that needs a comparison.
    (2..Colour::ALL.len()).for_each(|_| drop(hand.press(Key::C)));
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
fn a_drag_with_ctrl_grabs_and_leaves_the_camera_where_it_is() {
    let mut hand = Hand::new();
    let (start, held) = (hand.camera(), Modifiers { ctrl: true, command: true, ..Modifiers::NONE });
    let mut wishes = hand.frame_with(vec![Hand::button(PointerButton::Primary, PLACE, true)], held);
    for part in [0.4, 0.8, 1.0] {
        wishes.extend(hand.frame_with(vec![Event::PointerMoved(PLACE + vec2(60.0, 20.0) * part)], held));
    }
    let end = PLACE + vec2(60.0, 20.0);
    wishes.extend(hand.frame_with(vec![Hand::button(PointerButton::Primary, end, false)], held));
    wishes.extend(hand.frame(vec![]));
    assert_eq!(hand.camera(), start);
    let (rect, size) = hand.desk.place;
    let seen = |ray: &Ray| {
        let (x, y, _) = start.project(ray.from + ray.direction * 5.0, size).unwrap();
        pos2(x as f32 + rect.min.x, y as f32 + rect.min.y)
    };
    let [Wish::Ask(Command::Grab { ray, clip: None }), pulls @ .., Wish::Ask(Command::Release)] = &wishes[..]
    else {
        panic!("{wishes:?}")
    };
    assert!(seen(ray).distance(PLACE) < 0.1 && pulls.len() >= 2, "{wishes:?}");
    let Some(Wish::Ask(Command::Pull(last))) = pulls.last() else { panic!("{wishes:?}") };
    assert!(seen(last).distance(end) < 0.1, "{wishes:?}");
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
fn long_numbers_of_an_inspected_sphere_run_over_nothing() {
    let mut hand = Hand::new();
    let long = DVec3::new(-0.000_123_4, -1.234e-100, -9.876e100);
    let sphere = Sphere { id: 7, position: long, velocity: long, spin: long, ..Sphere::default() };
    let found =
        Inspected { sphere, material: "steel".into(), time: 0.0, neighbour_count: 0, neighbours: vec![] };
    hand.desk.hear(&News::Picked(Some(Box::new(found))));
    // The window finds its size within two frames.
    (0..3).for_each(|_| drop(hand.frame(vec![])));
    let input = RawInput {
        screen_rect: Some(Rect::from_min_size(Pos2::ZERO, SIZE)),
        time: Some(hand.time + 0.02),
        ..RawInput::default()
    };
    let desk = &mut hand.desk;
    let output = hand.egui.run_ui(input, |ui| drop(desk.show(ui, None)));
    let texts = output.shapes.iter().filter_map(|shape| match &shape.shape {
        egui::Shape::Text(text) => Some((text.galley.text().to_owned(), text.visual_bounding_rect())),
        _ => None,
    });
    let texts: Vec<_> = texts.collect();
    output.drop_without_applying_deltas();
    let vectors: Vec<_> = texts.iter().filter(|(text, _)| text.contains("e-100")).collect();
    assert_eq!(vectors.len(), 3, "{texts:?}");
    let names = ["position", "velocity", "speed", "spin", "radius, mass", "material"];
    let own = |(text, _): &&(String, Rect)| text.contains("e-100") || names.contains(&text.as_str());
    // The window is on the right, the panel on the left.
    let window: Vec<_> = texts.iter().filter(own).filter(|(_, rect)| rect.left() > 0.5 * SIZE.x).collect();
    assert_eq!(window.len(), 3 + names.len(), "{texts:?}");
    for (at, (text, rect)) in window.iter().enumerate() {
        assert!(rect.right() <= SIZE.x, "{text} is cut off: {rect:?}");
        for (other, beside) in &window[at + 1..] {
            let common = rect.intersect(*beside);
            let is_apart = common.width() <= 0.0 || common.height() <= 1.0;
            assert!(is_apart, "{text} at {rect:?} runs over {other} at {beside:?}");
        }
    }
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
