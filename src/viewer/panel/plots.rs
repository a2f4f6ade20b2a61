//! Energy and impacts over time, and the stages of a step.

use egui::{Color32, RichText, Ui};
use egui_plot::{Line, Plot, PlotPoints};

use super::parts::number;
use crate::{
    step::schedule::STAGES,
    viewer::run_figures::{Point, RunFigures},
};

/// Height of a plot (points).
const HEIGHT: f32 = 78.0;

/// A colour, and the value of a point to plot in this colour.
type Curve = (Color32, fn(&Point) -> f64);

const KINETIC: Color32 = Color32::from_rgb(96, 178, 255);
const TOTAL: Color32 = Color32::from_rgb(255, 184, 77);
const IMPACTS: Color32 = Color32::from_rgb(120, 205, 140);

/// Plots energy and impacts over time.
pub fn show_history(figures: &RunFigures, ui: &mut Ui) {
    let Some(last) = figures.points.back() else {
        ui.weak("nothing yet");
        return;
    };
    // The axis starts at 0, so that a constant energy is a straight line instead of magnified rounding errors.
    let largest = figures.points.iter().map(|p| p.kinetic.abs().max(p.total.abs())).fold(0.0, f64::max);
    caption(ui, &[("kinetic", KINETIC, last.kinetic), ("total", TOTAL, last.total)]);
    plot(ui, "energy", (0.0, 1.05 * largest), &[(TOTAL, |p| p.total), (KINETIC, |p| p.kinetic)], figures);
    let highest = figures.points.iter().map(|p| p.rate).fold(0.0, f64::max);
    caption(ui, &[("impacts per sphere and time", IMPACTS, last.rate)]);
    plot(ui, "impacts", (0.0, 1.1 * highest), &[(IMPACTS, |p| p.rate)], figures);
}

fn caption(ui: &mut Ui, entries: &[(&str, Color32, f64)]) {
    ui.horizontal_wrapped(|ui| {
        for (name, colour, value) in entries {
            ui.label(RichText::new(*name).small().color(*colour));
            ui.label(RichText::new(number(*value, 5)).small().monospace());
        }
    });
}

fn plot(ui: &mut Ui, name: &str, heights: (f64, f64), lines: &[Curve], figures: &RunFigures) {
    Plot::new(name)
        .height(HEIGHT)
        .show_axes([false, false])
        .show_grid([false, true])
        .allow_zoom(false)
        .allow_drag(false)
        .allow_scroll(false)
        .allow_boxed_zoom(false)
        .show_x(false)
        .show_y(false)
        .include_y(heights.0)
        .include_y(heights.1)
        .set_margin_fraction(egui::vec2(0.01, 0.05))
        .show(ui, |plot| {
            for (colour, value) in lines {
                let points: PlotPoints = figures.points.iter().map(|p| [p.time, value(p)]).collect();
                plot.line(Line::new("", points).color(*colour).width(1.5));
            }
        });
}

/// Shows the milliseconds of every stage as bars.
pub fn show_stages(seconds: &[f64], ui: &mut Ui) {
    let longest = seconds.iter().copied().fold(0.0, f64::max);
    for (stage, &seconds) in STAGES.iter().zip(seconds) {
        let height = 15.0;
        let (rect, response) =
            ui.allocate_exact_size(egui::vec2(ui.available_width(), height), egui::Sense::hover());
        let part = if longest > 0.0 { (seconds / longest) as f32 } else { 0.0 };
        let (left, right) = (rect.left() + 70.0, rect.right() - 52.0);
        let bar = egui::Rect::from_min_max(
            egui::pos2(left, rect.top() + 3.0),
            egui::pos2(left + (right - left) * part, rect.bottom() - 3.0),
        );
        let painter = ui.painter();
        painter.rect_filled(bar, 2.0, KINETIC.gamma_multiply(0.7));
        let font = egui::FontId::proportional(11.0);
        let colour = ui.visuals().text_color();
        painter.text(rect.left_center(), egui::Align2::LEFT_CENTER, stage.name, font, colour);
        let time = format!("{} ms", number(1e3 * seconds, 2));
        painter.text(
            rect.right_center(),
            egui::Align2::RIGHT_CENTER,
            time,
            egui::FontId::monospace(10.0),
            colour,
        );
        response.on_hover_text(stage.purpose);
    }
}
