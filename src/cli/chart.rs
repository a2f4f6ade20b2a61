//! Charts of curves and histograms, as SVG and PNG.

use std::error::Error;
use std::sync::Once;

use plotters::chart::{ChartBuilder, ChartContext};
use plotters::coord::Shift;
use plotters::coord::cartesian::Cartesian2d;
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::{
    BitMapBackend, Circle, Color, DrawingArea, DrawingBackend, FontStyle, IntoDrawingArea, IntoFont,
    LineSeries, PathElement, RGBColor, Rectangle, SVGBackend, Text, TextStyle, WHITE,
};
use plotters::style::register_font;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// Colours that remain distinct with every common colour blindness. (Okabe & Ito, "Color Universal Design", 2008, without
/// yellow, which is too light for lines on white, and without black, the colour of the text.)
pub const COLORS: [RGBColor; 6] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(230, 159, 0),
];
const INK: RGBColor = RGBColor(40, 40, 40);
pub const FRAME: RGBColor = RGBColor(120, 120, 120);
pub const GRID: RGBColor = RGBColor(220, 220, 220);

// Lengths in pixels.
pub const FONT: i32 = 13;
pub const TITLE_FONT: i32 = 18;
const SIZE: (u32, u32) = (820, 520);
const MARGIN: i32 = 20;
const TITLE_HEIGHT: i32 = 32;
const LEGEND_HEIGHT: i32 = 24;
const LEGEND_SAMPLE: i32 = 34;
const Y_LABELS: u32 = 76;
const X_LABELS: u32 = 48;
// Width of a character over the size of the font. The fonts of the reader are unknown; DejaVu Sans, among the widest, has
// 0.6 on average.
const CHARACTER_WIDTH: f64 = 0.62;

/// The colour of series `k`.
pub fn color(k: usize) -> RGBColor {
    COLORS[k % COLORS.len()]
}

/// Upper bound of the width of a text in the usual size, in pixels.
pub fn width(text: &str) -> i32 {
    (CHARACTER_WIDTH * f64::from(FONT) * text.chars().count() as f64).ceil() as i32
}

/// The font of all texts, in a size in pixels.
pub fn font(size: i32) -> TextStyle<'static> {
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(|| {
        // The font is part of the program, so that pictures need no fonts of the system. It cannot be invalid.
        let result = register_font("sans-serif", FontStyle::Normal, epaint_default_fonts::UBUNTU_LIGHT);
        debug_assert!(result.is_ok());
    });
    // The library divides the size of a font by 1.24.
    ("sans-serif", 1.24 * f64::from(size)).into_font().color(&INK)
}

/// The form in which a series is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Line,
    Points,
    /// A bar from 0 around each point, as wide as the distance of the points.
    Bars,
}

/// A named list of points. Points without a place on a logarithmic axis are left out.
#[derive(Clone, Debug)]
pub struct Series {
    pub label: String,
    pub form: Form,
    pub points: Vec<(f64, f64)>,
    /// Half lengths of the error bars along y, one for each point; empty if there are none.
    pub errors: Vec<f64>,
}

impl Series {
    pub fn new(label: impl Into<String>, form: Form, points: Vec<(f64, f64)>) -> Self {
        Self { label: label.into(), form, points, errors: vec![] }
    }

    // The ends of the error bars.
    fn error_bars(&self) -> impl Iterator<Item = [(f64, f64); 2]> {
        self.points.iter().zip(&self.errors).map(|(&(x, y), error)| [(x, y - error), (x, y + error)])
    }
}

/// A chart with two axes.
#[derive(Clone, Debug)]
pub struct Chart {
    pub title: String,
    /// Labels of the axes.
    pub labels: [String; 2],
    /// Which axes are logarithmic.
    pub logarithmic: [bool; 2],
    pub series: Vec<Series>,
}

impl Chart {
    /// The chart as SVG.
    pub fn svg(&self) -> Result<String, Box<dyn Error>> {
        let mut text = String::new();
        self.draw(&SVGBackend::with_string(&mut text, SIZE).into_drawing_area())?;
        Ok(text)
    }

    /// The chart as PNG.
    pub fn png(&self) -> Result<Vec<u8>, Box<dyn Error>> {
        let mut pixels = vec![0; SIZE.0 as usize * SIZE.1 as usize * 3];
        self.draw(&BitMapBackend::with_buffer(&mut pixels, SIZE).into_drawing_area())?;
        let mut bytes = vec![];
        let mut encoder = png::Encoder::new(&mut bytes, SIZE.0, SIZE.1);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        let mut writer = encoder.write_header()?;
        writer.write_image_data(&pixels)?;
        writer.finish()?;
        Ok(bytes)
    }

    fn draw<D: DrawingBackend>(&self, root: &DrawingArea<D, Shift>) -> Result<(), Box<dyn Error>>
    where
        D::ErrorType: 'static,
    {
        root.fill(&WHITE)?;
        root.draw(&Text::new(self.title.clone(), (MARGIN, MARGIN), font(TITLE_FONT)))?;
        let (mut x, mut y) = (MARGIN, MARGIN + TITLE_HEIGHT + LEGEND_HEIGHT / 2);
        for (k, series) in self.series.iter().enumerate() {
            let length = LEGEND_SAMPLE + width(&series.label);
            if x > MARGIN && x + length > SIZE.0 as i32 - MARGIN {
                (x, y) = (MARGIN, y + LEGEND_HEIGHT);
            }
            let half = if series.form == Form::Bars { 5 } else { 1 };
            root.draw(&Rectangle::new(
                [(x, y - half), (x + LEGEND_SAMPLE - 8, y + half)],
                color(k).filled(),
            ))?;
            let place = Pos::new(HPos::Left, VPos::Center);
            root.draw(&Text::new(series.label.clone(), (x + LEGEND_SAMPLE, y), font(FONT).pos(place)))?;
            x += length + MARGIN;
        }
        let top = y + LEGEND_HEIGHT;
        let size = (SIZE.0 as i32 - 2 * MARGIN, SIZE.1 as i32 - top - MARGIN);
        self.plot(&root.clone().shrink((MARGIN, top), size))?;
        root.present()?;
        Ok(())
    }

    fn plot<D: DrawingBackend>(&self, area: &DrawingArea<D, Shift>) -> Result<(), Box<dyn Error>>
    where
        D::ErrorType: 'static,
    {
        let place = |(x, y): (f64, f64)| (self.place(0, x), self.place(1, y));
        let is_shown = |(x, y): &(f64, f64)| x.is_finite() && y.is_finite();
        let shown: Vec<Vec<(f64, f64)>> = self
            .series
            .iter()
            .map(|series| series.points.iter().map(|point| place(*point)).filter(is_shown).collect())
            .collect();
        let has_bars = self.series.iter().any(|series| series.form == Form::Bars);
        // The ends that have no place on a logarithmic axis are drawn at the value itself.
        let bar = |[(x, low), (_, high)]: [(f64, f64); 2]| {
            let (x, low, middle, high) = (
                self.place(0, x),
                self.place(1, low),
                self.place(1, 0.5 * (low + high)),
                self.place(1, high),
            );
            let low = if low.is_finite() { low } else { middle };
            [(x, low), (x, high)]
        };
        let error_bars: Vec<Vec<[(f64, f64); 2]>> = self
            .series
            .iter()
            .map(|series| series.error_bars().map(bar).filter(|ends| ends.iter().all(is_shown)).collect())
            .collect();
        let all = || shown.iter().flatten().chain(error_bars.iter().flatten().flatten());
        let bars = |(series, _): &(&Series, &Vec<(f64, f64)>)| series.form == Form::Bars;
        let ends = self.series.iter().zip(&shown).filter(bars).flat_map(|(_, points)| {
            let half = half_width(points);
            points.iter().flat_map(move |p| [p.0 - half, p.0 + half])
        });
        let x = Axis::new(all().map(|p| p.0).chain(ends), self.logarithmic[0], false);
        let y = Axis::new(all().map(|p| p.1), self.logarithmic[1], has_bars);
        let bottom = y.least;
        let mut chart = ChartBuilder::on(area)
            .x_label_area_size(X_LABELS)
            .y_label_area_size(Y_LABELS)
            .build_cartesian_2d(x, y)?;
        chart
            .configure_mesh()
            .bold_line_style(GRID)
            .axis_style(FRAME)
            .label_style(font(FONT))
            .axis_desc_style(font(FONT))
            .x_desc(self.labels[0].clone())
            .y_desc(self.labels[1].clone())
            .draw()?;
        for (k, (series, points)) in self.series.iter().zip(&shown).enumerate() {
            let style = color(k).stroke_width(1);
            chart.draw_series(error_bars[k].iter().map(|ends| PathElement::new(ends.to_vec(), style)))?;
            draw_series(&mut chart, series.form, points.clone(), color(k), bottom)?;
        }
        Ok(())
    }

    // The place of a value on an axis.
    fn place(&self, axis: usize, value: f64) -> f64 {
        match self.logarithmic[axis] {
            true if value > 0.0 => value.log10(),
            true => f64::NAN,
            false => value,
        }
    }
}

type Plane = Cartesian2d<Axis, Axis>;

fn draw_series<D: DrawingBackend>(
    chart: &mut ChartContext<D, Plane>,
    form: Form,
    points: Vec<(f64, f64)>,
    color: RGBColor,
    bottom: f64,
) -> Result<(), Box<dyn Error>>
where
    D::ErrorType: 'static,
{
    match form {
        Form::Line => {
            chart.draw_series(LineSeries::new(points, color.stroke_width(2)))?;
        }
        Form::Points => {
            chart.draw_series(points.into_iter().map(|point| Circle::new(point, 3, color.filled())))?;
        }
        Form::Bars => {
            let half = half_width(&points);
            let style = color.mix(0.45).filled();
            let bar = |(x, y): (f64, f64)| Rectangle::new([(x - half, bottom), (x + half, y)], style);
            chart.draw_series(points.into_iter().map(bar))?;
        }
    }
    Ok(())
}

// Half of the smallest distance of points along x, in ascending order; for a single point 1/2.
fn half_width(points: &[(f64, f64)]) -> f64 {
    let gaps = points.windows(2).map(|pair| pair[1].0 - pair[0].0);
    let half = 0.5 * gaps.fold(f64::INFINITY, f64::min);
    if half.is_finite() { half } else { 0.5 }
}

// The range of an axis, and its labelled places.
struct Axis {
    least: f64,
    most: f64,
    ticks: Vec<f64>,
    logarithmic: bool,
}

impl Axis {
    // `from_zero`: a linear axis begins at 0 if no value is below it.
    fn new(places: impl Iterator<Item = f64>, logarithmic: bool, from_zero: bool) -> Self {
        let (a, b) = places.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), x| (a.min(x), b.max(x)));
        let (a, b) = if a <= b { (a, b) } else { (0.0, 1.0) };
        let a = if from_zero && !logarithmic { a.min(0.0) } else { a };
        // Equal values get an axis around them, wide enough that its labels differ.
        let space = if b - a > 1e-9 * a.abs().max(b.abs()) { 0.04 * (b - a) } else { 0.1 * a.abs().max(1.0) };
        let starts_at_zero = a == 0.0 && !logarithmic;
        let (least, most) = (if starts_at_zero { 0.0 } else { a - space }, b + space);
        let ticks = if logarithmic { powers(least, most) } else { round_values(least, most) };
        Self { least, most, ticks, logarithmic }
    }
}

impl Ranged for Axis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        RangedCoordf64::from(self.range()).map(value, limit)
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        self.ticks.clone()
    }

    fn range(&self) -> std::ops::Range<f64> {
        self.least..self.most
    }
}

impl ValueFormatter<f64> for Axis {
    fn format_ext(&self, place: &f64) -> String {
        tick(*place, self.logarithmic)
    }
}

// Logarithms of powers of ten and, where they are few, of 2 and 5 times these; on a short axis, of values of any form.
fn powers(least: f64, most: f64) -> Vec<f64> {
    let every = ((most - least) / 8.0).ceil().max(1.0);
    let steps: &[f64] = if most - least < 3.0 { &[1.0, 2.0, 5.0] } else { &[1.0] };
    let first = (least / every).floor() as i64;
    let decades = (first..=(most / every).floor() as i64).map(|k| k as f64 * every);
    let ticks = decades.flat_map(|decade| steps.iter().map(move |step| decade + step.log10()));
    let ticks: Vec<f64> = ticks.filter(|tick| (least..=most).contains(tick)).collect();
    if ticks.len() < 2 {
        return round_values(10f64.powf(least), 10f64.powf(most)).into_iter().map(f64::log10).collect();
    }
    ticks
}

// About six values of the form 1, 2 or 5 times a power of ten.
fn round_values(least: f64, most: f64) -> Vec<f64> {
    let rough = (most - least) / 6.0;
    let power = 10f64.powf(rough.log10().floor());
    let step =
        [1.0, 2.0, 5.0, 10.0].into_iter().map(|m| m * power).find(|step| *step >= rough).unwrap_or(rough);
    let first = (least / step).ceil() as i64;
    (first..=(most / step).floor() as i64).map(|k| k as f64 * step).collect()
}

fn tick(place: f64, logarithmic: bool) -> String {
    let value = if logarithmic { 10f64.powf(place) } else { place };
    let size = value.abs();
    if size < 1e-14 {
        return "0".to_owned();
    }
    if !(1e-3..1e5).contains(&size) {
        let text = format!("{value:.2e}");
        let (mantissa, power) = text.split_once('e').unwrap_or((&text, "0"));
        return format!("{}e{power}", mantissa.trim_end_matches('0').trim_end_matches('.'));
    }
    let text = format!("{value:.6}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use roxmltree::Document;

    use super::*;

    fn chart(points: &[(f64, f64)], logarithmic: [bool; 2]) -> Chart {
        let series = |form| Series::new(format!("{form:?} <&>"), form, points.to_vec());
        Chart {
            title: "A title".to_owned(),
            labels: ["x".to_owned(), "y".to_owned()],
            logarithmic,
            series: [Form::Line, Form::Points, Form::Bars].map(series).to_vec(),
        }
    }

    #[test]
    fn every_kind_of_chart_is_drawn() {
        let curve: Vec<(f64, f64)> = (0..50).map(|k| (f64::from(k), f64::from(k * k))).collect();
        for points in
            [&curve[..], &[], &[(1.0, 1.0)], &[(0.0, 0.0), (f64::NAN, 1e300)], &[(1e-30, 5.0), (1e30, 5.0)]]
        {
            for logarithmic in [[false, false], [true, true], [false, true]] {
                let chart = chart(points, logarithmic);
                assert!(Document::parse(&chart.svg().unwrap()).is_ok());
                let png = chart.png().unwrap();
                let info = png::Decoder::new(std::io::Cursor::new(&png)).read_info().unwrap();
                assert_eq!((info.info().width, info.info().height), SIZE);
            }
        }
    }

    #[test]
    fn ticks_are_round_and_inside_the_axis() {
        let labels = |axis: Axis| axis.ticks.iter().map(|t| tick(*t, axis.logarithmic)).collect::<Vec<_>>();
        assert_eq!(labels(Axis::new([0.0, 5.0].into_iter(), false, false)), ["0", "1", "2", "3", "4", "5"]);
        assert_eq!(
            labels(Axis::new([-3.0, 1.0].into_iter(), true, false)),
            ["0.001", "0.01", "0.1", "1", "10"]
        );
        assert_eq!(labels(Axis::new([0.0, 1.0].into_iter(), true, false)), ["1", "2", "5", "10"]);
        assert_eq!(labels(Axis::new([0.1, 0.15].into_iter(), true, false)), ["1.3", "1.35", "1.4"]);
        for values in [[1e-9, 2e-9], [7.0, 7.0], [0.0, 0.0], [-4e8, 3e9]] {
            let axis = Axis::new(values.into_iter(), false, true);
            assert!(
                axis.ticks.len() >= 2 && axis.ticks.iter().all(|t| (axis.least..=axis.most).contains(t)),
                "{values:?}"
            );
        }
    }
}
