//! The panel beside the spheres, and the overlay.

mod overlay;
mod parts;
mod plots;
mod world;

pub use overlay::{mark_inspected, show_help, show_inspected, show_messages};
pub use world::Draft;

use egui::{Color32, RichText, Ui};

use super::{command::Command, keys::Action, view::Desk};
use crate::Backend;
use parts::{grouped, number, row, section};

/// Width of the panel (points).
const WIDTH: f32 = 268.0;

/// Colour of warnings.
pub const WARNING: Color32 = Color32::from_rgb(255, 184, 77);
/// Colour of failures.
pub const ALARM: Color32 = Color32::from_rgb(255, 107, 107);
/// Colour of highlights.
pub const ACCENT: Color32 = Color32::from_rgb(96, 178, 255);

/// Sets a dark style with little contrast, so that the spheres stand out.
pub fn dress(context: &egui::Context) {
    context.set_theme(egui::Theme::Dark);
    context.all_styles_mut(|style| {
        style.spacing.item_spacing = egui::vec2(6.0, 5.0);
        style.spacing.slider_width = 118.0;
        style.visuals.panel_fill = Color32::from_rgb(27, 29, 33);
        style.visuals.window_fill = Color32::from_rgba_unmultiplied(27, 29, 33, 240);
        style.visuals.extreme_bg_color = Color32::from_rgb(18, 20, 23);
        style.visuals.selection.bg_fill = Color32::from_rgb(38, 92, 148);
        style.visuals.hyperlink_color = ACCENT;
        style.visuals.widgets.noninteractive.fg_stroke.color = Color32::from_gray(205);
        style.visuals.widgets.inactive.fg_stroke.color = Color32::from_gray(215);
        style.interaction.selectable_labels = false;
    });
}

/// Shows the panel.
pub fn show(desk: &mut Desk, ui: &mut Ui) {
    let frame =
        egui::Frame::new().fill(ui.visuals().panel_fill).inner_margin(egui::Margin::symmetric(12, 10));
    egui::Panel::left("panel").exact_size(WIDTH).resizable(false).frame(frame).show(ui, |ui| {
        egui::ScrollArea::vertical().auto_shrink([false, false]).show(ui, |ui| {
            show_head(desk, ui);
            show_troubles(desk, ui);
            section(ui, "time", true, |ui| world::show_time(desk, ui));
            section(ui, "world", true, |ui| world::show_world(desk, ui));
            section(ui, "backend", true, |ui| show_backend(desk, ui));
            section(ui, "colours", true, |ui| world::show_style(desk, ui));
            section(ui, "clip plane", true, |ui| world::show_clip(desk, ui));
            section(ui, "energy and impacts", true, |ui| {
                plots::show_history(&desk.status.figures, ui);
                if desk.status.crowded > 0 {
                    row(ui, "impacts as contacts", &grouped(desk.status.crowded));
                }
            });
            section(ui, "stages", false, |ui| show_stages(desk, ui));
            section(ui, "shoot", false, |ui| world::show_launcher(desk, ui));
        });
    });
}

fn show_head(desk: &mut Desk, ui: &mut Ui) {
    let mut chosen = desk.status.scene.clone();
    let width = ui.available_width() - ui.spacing().button_padding.x * 2.0;
    let title = RichText::new(&chosen).strong();
    egui::ComboBox::from_id_salt("scene").selected_text(title).width(width).show_ui(ui, |ui| {
        for name in &desk.scenes {
            ui.selectable_value(&mut chosen, name.clone(), name);
        }
    });
    if chosen != desk.status.scene {
        desk.ask(Command::Load(chosen));
    }
    ui.horizontal(|ui| {
        let context = ui.ctx().clone();
        let label = if desk.status.paused { "go on" } else { "pause" };
        let mut button = |desk: &mut Desk, label: &str, hint: &str, action| {
            let wide = egui::Button::new(label).min_size(egui::vec2(54.0, 24.0));
            if ui.add(wide).on_hover_text(hint).clicked() {
                desk.act(action, &context);
            }
        };
        button(desk, label, "Space", Action::Pause);
        button(desk, "step", "one step (.)", Action::Step);
        button(desk, "back", "one step back (,)", Action::Back);
        button(desk, "reset", "back to the start of the scene (R)", Action::Reset);
    });
    ui.horizontal(|ui| {
        ui.spacing_mut().item_spacing.x = 3.0;
        let context = ui.ctx().clone();
        for (label, hint, action) in [
            ("picture", "save it as a PNG (F12)", Action::Screenshot),
            ("film", "record a GIF, or end it (V)", Action::Record),
            ("frame", "all spheres into the picture (F)", Action::Frame),
            ("help", "keys and mouse (?)", Action::Help),
            ("hide", "hide the panel (H)", Action::Panel),
        ] {
            if ui.small_button(label).on_hover_text(hint).clicked() {
                desk.act(action, &context);
            }
        }
    });
    ui.add_space(2.0);
    let status = &desk.status;
    row(ui, "spheres", &grouped(status.sphere_count as u64));
    row(ui, "time", &format!("{}  (step {})", number(status.time, 5), grouped(status.step)));
    let (back, bytes) = status.history;
    row(ui, "steps kept", &format!("{}  ({} MB)", grouped(back as u64), grouped(bytes as u64 / 1_000_000)));
}

// Shows counters that should be zero, and the reason why the run has stopped.
fn show_troubles(desk: &Desk, ui: &mut Ui) {
    let status = &desk.status;
    if let Some(failed) = &status.failed {
        parts::notice(ui, ALARM, &format!("{failed}\nR goes back to the start."));
    }
    let counters = [
        (status.late, "late", "collisions found out of order"),
        (status.stopped, "stopped", "spheres stopped at an impact, the last resort"),
        (status.unresolved, "unresolved", "spheres with a collision still pending at the end of a step"),
        (status.figures.overflow, "overflow", "buffers grown and the steps done again; nothing was lost"),
    ];
    let troubles: Vec<_> = counters.iter().filter(|(count, ..)| *count > 0).collect();
    if troubles.is_empty() {
        return;
    }
    let text = troubles.iter().map(|(count, name, _)| format!("{name} {}", grouped(*count)));
    let text = text.collect::<Vec<_>>().join(", ");
    let hint =
        troubles.iter().map(|(_, name, what)| format!("{name}: {what}")).collect::<Vec<_>>().join("\n");
    parts::notice(ui, WARNING, &text).on_hover_text(hint);
}

fn show_backend(desk: &mut Desk, ui: &mut Ui) {
    let mut backend = desk.status.backend;
    ui.horizontal(|ui| {
        for choice in [Backend::Cpu, Backend::Gpu, Backend::Exact] {
            ui.selectable_value(&mut backend, choice, choice.name());
        }
    });
    if backend != desk.status.backend {
        desk.ask(Command::Backend(backend));
    }
    let (name, is_gpu) = &desk.adapter;
    let what = if *is_gpu { "draws" } else { "draws in software" };
    let what =
        if desk.status.backend == Backend::Gpu { format!("computes and {what}") } else { what.to_owned() };
    ui.add(egui::Label::new(RichText::new(format!("{name} {what}")).weak()).wrap());
    if desk.status.backend == Backend::Gpu {
        row(ui, "waits of the host", &grouped(desk.status.figures.blocking_reads));
        let mut is_compared = desk.status.compared.is_some();
        let hint = "cpu takes each step too, from the same state (K)";
        if ui.checkbox(&mut is_compared, "compare with cpu").on_hover_text(hint).changed() {
            desk.ask(Command::Compare(is_compared));
        }
        if let Some((steps, largest)) = desk.status.compared {
            row(ui, "steps compared", &grouped(steps));
            if let Some((distance, id)) = largest {
                let text = format!("{} d  (sphere {id})", number(distance, 3));
                row(ui, "largest difference", &text);
            }
        }
    }
}

fn show_stages(desk: &mut Desk, ui: &mut Ui) {
    let status = &desk.status;
    row(ui, "a step", &format!("{} ms", number(1e3 * status.figures.step_seconds, 3)));
    plots::show_stages(&status.figures.stage_seconds, ui);
    if status.backend == Backend::Gpu {
        let mut profiled = status.profiled;
        let hint = "the device writes timestamps around every stage, and each step waits for them";
        if ui.checkbox(&mut profiled, "time the stages").on_hover_text(hint).changed() {
            desk.ask(Command::Profile(profiled));
        }
    } else if status.figures.stage_seconds.is_empty() && status.step > 0 {
        ui.weak("this backend has no stages");
    }
}
