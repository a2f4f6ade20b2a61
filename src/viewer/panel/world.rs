//! The settings in the panel: pace, world, style and launcher.

use egui::{ComboBox, DragValue, RichText, Slider, Ui};
use glam::DVec3;

use super::parts::{labelled, number, row};
use crate::{
    Dimensions,
    render::{Colour, Map, Range},
    viewer::{clip_control::ClipAxis, command::Command, view::Desk},
};

/// Values that the user is dragging. The worker receives a value when the drag ends, because each change sets up the
/// engine again.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Draft {
    gravity: Option<DVec3>,
    restitution: Option<f64>,
    dt: Option<f64>,
}

/// A widget whose value changes during a drag and is returned when the drag ends.
fn settled<T: Copy + PartialEq>(
    draft: &mut Option<T>,
    present: T,
    edit: impl FnOnce(&mut T) -> egui::Response,
) -> Option<T> {
    let mut value = draft.unwrap_or(present);
    let response = edit(&mut value);
    if response.changed() {
        *draft = Some(value);
    }
    let let_go =
        response.drag_stopped() || response.lost_focus() || !(response.dragged() || response.has_focus());
    if let_go { draft.take().filter(|value| *value != present) } else { None }
}

/// Shows pace and ratio.
pub fn show_time(desk: &mut Desk, ui: &mut Ui) {
    let mut pace = desk.status.pace;
    let mut scale = pace.unwrap_or(1.0);
    labelled(ui, "time scale", |ui| {
        let slider = Slider::new(&mut scale, 0.01..=10.0).logarithmic(true).suffix("x");
        let hint = "units of simulated time for each second";
        if ui.add_enabled(pace.is_some(), slider).on_hover_text(hint).changed() {
            pace = Some(scale);
        }
    });
    let mut is_free = pace.is_none();
    if ui.checkbox(&mut is_free, "as fast as it can").changed() {
        pace = if is_free { None } else { Some(scale) };
    }
    if pace != desk.status.pace {
        // Set at once; otherwise the slider would jump back until the worker answers.
        desk.status.pace = pace;
        desk.ask(Command::Pace(pace));
    }
    let figures = &desk.status.figures;
    let ratio = match figures.ratio() {
        Some(ratio) if !desk.status.paused => format!("{}x", number(ratio, 3)),
        _ => "-".to_owned(),
    };
    row(ui, "simulated / wall time", &ratio);
    let frames = desk.frames.len();
    row(ui, "step, frames", &format!("{} ms, {frames}/s", number(1e3 * figures.step_seconds, 3)));
}

/// Shows gravity, restitution and time step.
pub fn show_world(desk: &mut Desk, ui: &mut Ui) {
    let status = &desk.status;
    let axes = if status.dimensions == Dimensions::Two { 2 } else { 3 };
    let (periodic, present) = (status.periodic, status.gravity);
    let step = 0.05 * present.length().max(1.0);
    let gravity = settled(&mut desk.draft.gravity, present, |value| {
        let mut all: Option<egui::Response> = None;
        labelled(ui, "gravity", |ui| {
            // In reverse, because the line is laid out from the right.
            for axis in (0..axes).rev() {
                let drag = DragValue::new(&mut value[axis]).speed(step).max_decimals(3);
                let hint = if periodic[axis] { "none along a periodic axis" } else { ["x", "y", "z"][axis] };
                let one =
                    ui.add_enabled(!periodic[axis], drag).on_hover_text(hint).on_disabled_hover_text(hint);
                all = Some(all.take().map_or(one.clone(), |all| all | one));
            }
        });
        all.expect("there are axes")
    });
    if let Some(gravity) = gravity {
        desk.ask(Command::Gravity(gravity));
    }
    let (restitution, is_one) = desk.status.restitution;
    let name = if is_one { "restitution" } else { "restitution (differs)" };
    let restitution = settled(&mut desk.draft.restitution, restitution, |value| {
        let mut response = None;
        labelled(ui, name, |ui| {
            let slider = Slider::new(value, 0.0..=1.0).max_decimals(3);
            response = Some(ui.add(slider).on_hover_text("of all pairs of materials; 1 = elastic"));
        });
        response.expect("a slider")
    });
    if let Some(restitution) = restitution {
        desk.ask(Command::Restitution(restitution));
    }
    let dt = desk.status.dt;
    let dt = settled(&mut desk.draft.dt, dt, |value| {
        let mut response = None;
        labelled(ui, "dt", |ui| {
            let drag = DragValue::new(value).speed(0.01 * dt).range(1e-12..=1e12).max_decimals(9);
            response = Some(ui.add(drag).on_hover_text("outer step; substeps are chosen"));
        });
        response.expect("a value")
    });
    if let Some(dt) = dt {
        desk.ask(Command::Dt(dt));
    }
}

/// Shows the colour quantity and the drawing options.
pub fn show_style(desk: &mut Desk, ui: &mut Ui) {
    let is_compared = desk.status.compared.is_some();
    let style = &mut desk.style;
    let before = style.colour;
    labelled(ui, "colour", |ui| {
        ComboBox::from_id_salt("colour").selected_text(style.colour.name()).show_ui(ui, |ui| {
            let is_shown = |colour: &&Colour| **colour != Colour::Difference || is_compared;
            for &colour in Colour::ALL.iter().filter(is_shown) {
                ui.selectable_value(&mut style.colour, colour, colour.name());
            }
        });
    });
    if style.colour != before {
        // The old range belongs to another quantity.
        style.range = Range::Automatic;
    }
    labelled(ui, "map", |ui| {
        for &map in Map::ALL.iter().rev() {
            ui.selectable_value(&mut style.map, map, map.name());
        }
    });
    labelled(ui, "range", |ui| {
        let mut locked = matches!(style.range, Range::Locked(..));
        if ui.checkbox(&mut locked, "locked").changed() {
            style.range = if locked { Range::Locked(0.0, 1.0) } else { Range::Automatic };
        }
        if let Range::Locked(low, high) = &mut style.range {
            let speed = 0.01 * (*high - *low).abs().max(1e-6);
            ui.add(DragValue::new(high).speed(speed).max_decimals(4));
            ui.label(RichText::new("to").weak());
            ui.add(DragValue::new(low).speed(speed).max_decimals(4));
        }
    });
    ui.horizontal_wrapped(|ui| {
        ui.checkbox(&mut style.shadow, "shadow");
        ui.checkbox(&mut style.ambient_occlusion, "occlusion");
        ui.checkbox(&mut style.bounds, "bounds");
        ui.checkbox(&mut style.ground, "ground");
        ui.checkbox(&mut style.legend, "legend");
        ui.checkbox(&mut style.flat, "flat");
        ui.checkbox(&mut style.chains, "forces").on_hover_text("contacts as lines, as wide as their forces");
    });
    let shows_contacts = style.chains || style.colour.needs_contacts();
    if let Some(missing) = desk.status.contacts_missing.as_ref().filter(|_| shows_contacts) {
        ui.add(egui::Label::new(RichText::new(missing).weak()).wrap());
    }
}

/// Shows direction and position of the clip plane.
pub fn show_clip(desk: &mut Desk, ui: &mut Ui) {
    let Some(camera) = desk.eye.as_ref().map(|eye| *eye.camera()) else { return };
    let (extent, mut axis) = (desk.status.extent, desk.clip.axis);
    labelled(ui, "across", |ui| {
        // In reverse, because the line is laid out from the right.
        for choice in ClipAxis::ALL.into_iter().rev() {
            ui.selectable_value(&mut axis, choice, choice.name());
        }
    });
    if axis != desk.clip.axis {
        desk.clip.choose(axis, extent, &camera);
    }
    if axis != ClipAxis::Off {
        labelled(ui, "hidden part", |ui| {
            ui.add(Slider::new(&mut desk.clip.part, 0.0..=1.0).max_decimals(3));
        });
        if axis != ClipAxis::View {
            ui.checkbox(&mut desk.clip.is_low, "hide the lower side");
        }
    }
}

/// Shows the settings of a shot.
pub fn show_launcher(desk: &mut Desk, ui: &mut Ui) {
    let radius = desk.launcher.calibre * desk.status.largest;
    labelled(ui, "size", |ui| {
        let slider = Slider::new(&mut desk.launcher.calibre, 0.25..=10.0).logarithmic(true).suffix("x");
        ui.add(slider).on_hover_text(format!("of the largest sphere: radius {}", number(radius, 3)));
    });
    labelled(ui, "speed", |ui| {
        let pull = 0.02 * desk.launcher.speed.abs().max(1e-3);
        ui.add(DragValue::new(&mut desk.launcher.speed).speed(pull).range(0.0..=1e9).max_decimals(3));
    });
    ui.weak("B shoots at the cursor");
}
