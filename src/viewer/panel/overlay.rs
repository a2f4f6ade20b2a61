//! The overlay on the picture: messages, help, and the properties of the inspected sphere.

use egui::{Align2, Color32, FontId, Painter, Rect, RichText, Ui};
use glam::DVec3;

use super::{
    ACCENT, ALARM,
    parts::{number, row},
};
use crate::viewer::{
    command::Command,
    keys::{HANDS, KEYS},
    view::Desk,
};

/// Width of the inspection window (points).
const WIDTH: f32 = 300.0;

/// Least radius of the ring around the inspected sphere (points).
const RING: f32 = 7.0;

/// Shows messages, and the essential figures if the panel is hidden.
pub fn show_messages(desk: &Desk, ui: &Ui, rect: Rect) {
    let painter = ui.painter();
    if desk.eye.is_none() {
        painter.text(
            rect.center(),
            Align2::CENTER_CENTER,
            "setting up ...",
            FontId::proportional(18.0),
            Color32::GRAY,
        );
    }
    if let Some((seconds, frames)) = desk.film {
        let text = format!("recording: {seconds:.1} s, {frames} frames; V ends it");
        boxed(painter, rect.left_top() + egui::vec2(22.0, 50.0), &text, ALARM);
    }
    // The legend is below.
    let at = rect.left_top() + egui::vec2(22.0, 18.0);
    if let (false, Some(failed)) = (desk.panel, &desk.status.failed) {
        boxed(painter, at, failed, ALARM);
    } else if let Some((text, left)) = desk.message() {
        boxed(painter, at, text, Color32::WHITE);
        ui.ctx().request_repaint_after_secs(left as f32);
    } else if desk.status.paused && desk.eye.is_some() {
        boxed(painter, at, "paused: Space goes on, . steps, ? helps", Color32::LIGHT_GRAY);
    }
}

fn boxed(painter: &Painter, at: egui::Pos2, text: &str, colour: Color32) {
    let galley = painter.layout(text.to_owned(), FontId::proportional(14.0), colour, 520.0);
    let rect = Align2::LEFT_TOP.anchor_size(at, galley.size());
    painter.rect_filled(rect.expand2(egui::vec2(9.0, 5.0)), 5.0, Color32::from_black_alpha(170));
    painter.galley(rect.min, galley, colour);
}

/// Shows the help on keys and mouse.
pub fn show_help(desk: &mut Desk, context: &egui::Context) {
    let mut open = desk.help;
    egui::Window::new("keys and mouse")
        .open(&mut open)
        .anchor(Align2::CENTER_CENTER, [0.0, 0.0])
        .collapsible(false)
        .resizable(false)
        .show(context, |ui| {
            egui::Grid::new("help").num_columns(2).spacing([22.0, 5.0]).show(ui, |ui| {
                let keys = KEYS.iter().map(|binding| (binding.label, binding.help));
                for (what, does) in HANDS.iter().copied().chain(keys) {
                    ui.label(RichText::new(what).color(ACCENT));
                    ui.label(does);
                    ui.end_row();
                }
            });
        });
    desk.help = open;
}

/// Shows the properties of the inspected sphere.
pub fn show_inspected(desk: &mut Desk, context: &egui::Context) {
    let Some(inspected) = desk.inspected.clone() else { return };
    let (sphere, mut open) = (&inspected.sphere, true);
    let is_old = inspected.time != desk.status.time;
    let vector = |v: DVec3| format!("{} {} {}", number(v.x, 4), number(v.y, 4), number(v.z, 4));
    let mut look = false;
    egui::Window::new(format!("sphere {}", sphere.id))
        .id(egui::Id::unique("inspected"))
        .open(&mut open)
        .anchor(Align2::RIGHT_TOP, [-12.0, 12.0])
        .default_width(WIDTH)
        .collapsible(false)
        .resizable(false)
        .show(context, |ui| {
            ui.set_width(WIDTH);
            row(ui, "position", &vector(sphere.position));
            row(ui, "velocity", &vector(sphere.velocity));
            row(ui, "speed", &number(sphere.velocity.length(), 4));
            row(ui, "spin", &vector(sphere.spin));
            row(ui, "radius, mass", &format!("{}, {}", number(sphere.radius, 4), number(sphere.mass, 4)));
            let held = if sphere.fixed { ", held in place" } else { "" };
            row(ui, "material", &format!("{}{held}", inspected.material));
            row(ui, "neighbours within d/2", &inspected.neighbour_count.to_string());
            for neighbour in &inspected.neighbours {
                row(ui, &format!("    {}", neighbour.id), &format!("gap {}", number(neighbour.gap, 3)));
            }
            if is_old {
                ui.horizontal(|ui| {
                    ui.weak(format!("as it was at time {}", number(inspected.time, 5)));
                    look = ui.small_button("look again").clicked();
                });
            }
        });
    if look {
        desk.ask(Command::Look);
    }
    if !open {
        desk.inspected = None;
        desk.ask(Command::Forget);
    }
}

/// Draws a ring around the inspected sphere if its position is current.
pub fn mark_inspected(desk: &Desk, painter: &Painter) {
    let (Some(eye), Some(inspected)) = (&desk.eye, &desk.inspected) else { return };
    if inspected.time != desk.status.time {
        return;
    }
    let (rect, size) = desk.place;
    let camera = eye.camera();
    let sphere = &inspected.sphere;
    if desk.style.clip.is_some_and(|clip| clip.hides(sphere.position)) {
        return;
    }
    let Some((x, y, depth)) = camera.project(sphere.position, size) else { return };
    let scale = rect.height() / size[1] as f32;
    let slope = (0.5 * camera.fov.to_radians()).tan();
    let radius = 0.5 * rect.height() * (sphere.radius / (depth * slope)) as f32;
    let centre = rect.min + egui::vec2(x as f32, y as f32) * scale;
    let painter = painter.with_clip_rect(rect);
    painter.circle_stroke(
        centre,
        radius.max(RING) + 2.5,
        egui::Stroke::new(3.5, Color32::from_black_alpha(150)),
    );
    painter.circle_stroke(centre, radius.max(RING) + 2.5, egui::Stroke::new(1.8, Color32::WHITE));
}
