//! Widgets of the panel.

use egui::{Color32, Response, RichText, TextStyle, Ui};

/// A collapsible section.
pub fn section(ui: &mut Ui, title: &str, is_open: bool, contents: impl FnOnce(&mut Ui)) {
    ui.add_space(3.0);
    egui::CollapsingHeader::new(RichText::new(title).strong())
        .id_salt(title)
        .default_open(is_open)
        .show_unindented(ui, contents);
}

/// A name on the left, a value on the right; a value too long for the rest of the line is on a line of its own.
pub fn row(ui: &mut Ui, name: &str, value: &str) {
    let width = |text: &str, style: TextStyle| {
        let font = style.resolve(ui.style());
        ui.painter().layout_no_wrap(text.to_owned(), font, Color32::WHITE).size().x
    };
    let needed =
        width(name, TextStyle::Body) + ui.spacing().item_spacing.x + width(value, TextStyle::Monospace);
    if needed > ui.available_width() {
        ui.label(RichText::new(name).weak());
        labelled(ui, "", |ui| {
            ui.add(egui::Label::new(RichText::new(value).monospace()).wrap());
        });
        return;
    }
    labelled(ui, name, |ui| {
        ui.label(RichText::new(value).monospace());
    });
}

/// A name on the left, other contents on the right.
pub fn labelled(ui: &mut Ui, name: &str, contents: impl FnOnce(&mut Ui)) {
    ui.horizontal(|ui| {
        ui.label(RichText::new(name).weak());
        ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), contents);
    });
}

/// A framed notice.
pub fn notice(ui: &mut Ui, colour: Color32, text: &str) -> Response {
    ui.add_space(3.0);
    egui::Frame::new()
        .fill(colour.gamma_multiply(0.12))
        .stroke(egui::Stroke::new(1.0, colour.gamma_multiply(0.6)))
        .corner_radius(4)
        .inner_margin(egui::Margin::symmetric(8, 5))
        .show(ui, |ui| {
            ui.set_width(ui.available_width());
            ui.add(egui::Label::new(RichText::new(text).color(colour)).wrap());
        })
        .response
}

/// An integer in groups of three digits.
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push('\u{2009}');
        }
        text.push(digit);
    }
    text
}

/// A number with this many significant digits, without an exponent if that is readable.
pub fn number(x: f64, digits: usize) -> String {
    if x == 0.0 || !x.is_finite() {
        return x.to_string();
    }
    let size = x.abs().log10().floor() as i32;
    if (-4..7).contains(&size) {
        let places = (digits as i32 - 1 - size).max(0) as usize;
        return format!("{x:.places$}");
    }
    format!("{x:.*e}", digits - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_readable() {
        assert_eq!(number(12.3456, 4), "12.35");
        assert_eq!(number(0.000_123_4, 3), "0.000123");
        assert_eq!(number(-1.5e-9, 3), "-1.50e-9");
        assert_eq!(number(147_456.0, 4), "147456");
        assert_eq!(number(0.0, 3), "0");
        assert_eq!(number(f64::NAN, 3), "NaN");
        assert_eq!(grouped(1_234_567), "1\u{2009}234\u{2009}567");
        assert_eq!((grouped(0), grouped(999)), ("0".to_owned(), "999".to_owned()));
    }
}
