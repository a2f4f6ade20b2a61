//! Formats numbers and tables for human readers.

/// `x` with `digits` significant digits, as a plain decimal if that is short, otherwise with an exponent.
pub fn number(x: f64, digits: usize) -> String {
    let size = x.abs();
    if size == 0.0 {
        return "0".to_owned();
    }
    if !size.is_finite() || !(1e-3..1e6).contains(&size) {
        return format!("{x:.*e}", digits.saturating_sub(1));
    }
    let before = size.log10().floor() as i32 + 1;
    let after = (digits as i32 - before).max(0) as usize;
    format!("{x:.after$}")
}

/// `x` with a suffix k, M or G: `4.13 M`.
pub fn scaled(x: f64) -> String {
    let (value, suffix) = match x.abs() {
        size if size >= 1e9 => (x / 1e9, " G"),
        size if size >= 1e6 => (x / 1e6, " M"),
        size if size >= 1e4 => (x / 1e3, " k"),
        _ => (x, ""),
    };
    format!("{}{suffix}", number(value, 3))
}

/// An integer with thousands separated: `32 768`.
pub fn grouped(x: u64) -> String {
    let digits = x.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (place, digit) in digits.char_indices() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// A duration: `0.42 s`, `3 min 20 s`, `2 h 05 min`.
pub fn duration(seconds: f64) -> String {
    let whole = seconds.max(0.0).round();
    if seconds < 100.0 {
        format!("{} s", number(seconds, 3))
    } else if whole < 6000.0 {
        format!("{} min {:02} s", (whole / 60.0).floor(), whole % 60.0)
    } else {
        format!("{} h {:02} min", (whole / 3600.0).floor(), ((whole % 3600.0) / 60.0).floor())
    }
}

/// `1 step`, `2 steps`.
pub fn counted(count: u64, noun: &str) -> String {
    format!("{} {noun}{}", grouped(count), if count == 1 { "" } else { "s" })
}

/// Alignment of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    Left,
    Right,
}

/// A table with aligned columns, two spaces between them.
pub struct Table {
    aligns: Vec<Align>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with this header.
    pub fn new(header: &[(&str, Align)]) -> Self {
        Self {
            aligns: header.iter().map(|(_, align)| *align).collect(),
            rows: vec![header.iter().map(|(text, _)| (*text).to_owned()).collect()],
        }
    }

    /// Adds a row; it has as many cells as the header.
    pub fn row(&mut self, cells: Vec<String>) {
        debug_assert_eq!(cells.len(), self.aligns.len());
        self.rows.push(cells);
    }
}

impl std::fmt::Display for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let width =
            |column: usize| self.rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..self.aligns.len()).map(width).collect();
        for row in &self.rows {
            let mut line = String::new();
            for (column, ((cell, &width), align)) in row.iter().zip(&widths).zip(&self.aligns).enumerate() {
                if column > 0 {
                    line.push_str("  ");
                }
                match align {
                    Align::Left => line.push_str(&format!("{cell:<width$}")),
                    Align::Right => line.push_str(&format!("{cell:>width$}")),
                }
            }
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_significant_digits() {
        for (x, text) in [
            (0.0, "0"),
            (1.0, "1.00"),
            (-12.345, "-12.3"),
            (123456.7, "123457"),
            (1.5e-7, "1.50e-7"),
            (2e9, "2.00e9"),
        ] {
            assert_eq!(number(x, 3), text);
        }
        assert_eq!(number(f64::INFINITY, 3), "inf");
        assert_eq!(scaled(4_130_000.0), "4.13 M");
        assert_eq!(grouped(1_032_768), "1 032 768");
        assert_eq!(duration(200.0), "3 min 20 s");
        assert_eq!(duration(0.42), "0.420 s");
        assert_eq!(counted(1, "step"), "1 step");
    }

    #[test]
    fn columns_stand_under_their_header() {
        let mut table = Table::new(&[("name", Align::Left), ("n", Align::Right), ("why", Align::Left)]);
        table.row(vec!["gas".into(), "32768".into(), "a gas".into()]);
        assert_eq!(table.to_string(), "name      n  why\ngas   32768  a gas\n");
    }
}
