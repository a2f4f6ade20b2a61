//! Draws the cost of a sphere against the number of spheres, as SVG.

use std::error::Error;

use plotters::chart::ChartBuilder;
use plotters::coord::Shift;
use plotters::prelude::{
    BindKeyPoints, Circle, Color, Cross, DrawingArea, DynElement, IntoDrawingArea, IntoDynElement,
    IntoLogRange, LineSeries, Rectangle, SVGBackend, Text, TriangleMarker, WHITE,
};
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::measure::Row;
use crate::cli::{
    chart::{COLORS, FONT, FRAME, GRID, TITLE_FONT, color, font, width},
    text::counted,
};

// Lengths in pixels.
const MARGIN: i32 = 20;
const TITLE_HEIGHT: i32 = 36;
const PLOT_WIDTH: i32 = 660;
const PLOT_HEIGHT: i32 = 420;
const Y_LABELS: u32 = 72;
const X_LABELS: u32 = 48;
const LEGEND_SAMPLE: i32 = 34;
const LEGEND_LINE: i32 = 22;
const CAPTION_LINE: i32 = 18;
const MARKER: i32 = 4;
// Space beside the outermost points, and the smallest extent of an axis, as factors. Every factor of 4 contains two or more
// of the numbers 1, 2, 5, 10.
const AXIS_SPACE: f64 = 1.3;
const AXIS_EXTENT: f64 = 4.0;

/// Rows of one scene, backend and number of threads.
struct Series {
    label: String,
    /// Number of spheres, and nanoseconds for a sphere and step; in ascending order.
    points: Vec<(f64, f64)>,
}

/// The chart of the rows; `caption` is printed below, line by line.
pub fn svg(rows: &[Row], caption: &[String]) -> Result<String, Box<dyn Error>> {
    draw(&series(rows), caption)
}

fn series(rows: &[Row]) -> Vec<Series> {
    let mut found: Vec<Series> = vec![];
    for row in rows {
        let threads = row.threads.map(|threads| format!(", {}", counted(threads as u64, "thread")));
        let label = format!("{}, {}{}", row.scene, row.backend_label(), threads.unwrap_or_default());
        let point = (row.sphere_count as f64, 1e6 * row.median_ms / row.sphere_count as f64);
        let k = found.iter().position(|series| series.label == label).unwrap_or_else(|| {
            found.push(Series { label, points: vec![] });
            found.len() - 1
        });
        // A scene whose sources have not poured yet has no sphere, and a logarithmic axis has no zero.
        if point.0 > 0.0 && point.1 > 0.0 {
            found[k].points.push(point);
        }
    }
    found.iter_mut().for_each(|series| series.points.sort_by(|a, b| a.0.total_cmp(&b.0)));
    found
}

fn draw(all: &[Series], caption: &[String]) -> Result<String, Box<dyn Error>> {
    let legend_width = LEGEND_SAMPLE + all.iter().map(|series| width(&series.label)).max().unwrap_or(0);
    let caption_width = caption.iter().map(|line| width(line)).max().unwrap_or(0);
    let total_width = (2 * MARGIN + caption_width).max(3 * MARGIN + PLOT_WIDTH + legend_width);
    let middle = PLOT_HEIGHT.max(MARGIN + LEGEND_LINE * all.len() as i32);
    let caption_top = MARGIN + TITLE_HEIGHT + middle + MARGIN;
    let total_height = caption_top + CAPTION_LINE * caption.len() as i32 + MARGIN;

    let mut text = String::new();
    let root = SVGBackend::with_string(&mut text, (total_width as u32, total_height as u32));
    let root = root.into_drawing_area();
    root.fill(&WHITE)?;
    let title = "Cost of a step against the number of spheres".to_owned();
    root.draw(&Text::new(title, (MARGIN, MARGIN), font(TITLE_FONT)))?;
    for (line, y) in caption.iter().zip((caption_top..).step_by(CAPTION_LINE as usize)) {
        root.draw(&Text::new(line.clone(), (MARGIN, y), font(FONT)))?;
    }
    let (left, top) = (MARGIN, MARGIN + TITLE_HEIGHT);
    plot(&root.clone().shrink((left, top), (PLOT_WIDTH, PLOT_HEIGHT)), all)?;
    let x = left + PLOT_WIDTH + MARGIN;
    for ((k, series), y) in all.iter().enumerate().zip((top + FONT..).step_by(LEGEND_LINE as usize)) {
        // A rectangle, so that each line of the picture is a series.
        root.draw(&Rectangle::new([(x, y - 1), (x + LEGEND_SAMPLE - 8, y + 1)], color(k).filled()))?;
        root.draw(&marker(k, (x + LEGEND_SAMPLE / 2 - 4, y)))?;
        let at = Pos::new(HPos::Left, VPos::Center);
        root.draw(&Text::new(series.label.clone(), (x + LEGEND_SAMPLE, y), font(FONT).pos(at)))?;
    }
    root.present()?;
    drop(root);
    Ok(text)
}

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

fn plot(area: &Area, all: &[Series]) -> Result<(), Box<dyn Error>> {
    let points = || all.iter().flat_map(|series| &series.points);
    let (x, y) = (Axis::new(points().map(|point| point.0)), Axis::new(points().map(|point| point.1)));
    let mut chart =
        ChartBuilder::on(area).x_label_area_size(X_LABELS).y_label_area_size(Y_LABELS).build_cartesian_2d(
            (x.least..x.most).log_scale().with_key_points(x.ticks),
            (y.least..y.most).log_scale().with_key_points(y.ticks),
        )?;
    chart
        .configure_mesh()
        .bold_line_style(GRID)
        .axis_style(FRAME)
        .label_style(font(FONT))
        .axis_desc_style(font(FONT))
        .x_desc("spheres")
        .y_desc("median time per sphere and step (ns)")
        .x_label_formatter(&|x| tick(*x))
        .y_label_formatter(&|y| tick(*y))
        .draw()?;
    for (k, series) in all.iter().enumerate() {
        if series.points.len() > 1 {
            chart.draw_series(LineSeries::new(series.points.iter().copied(), color(k).stroke_width(2)))?;
        }
        chart.draw_series(series.points.iter().map(|point| marker(k, *point)))?;
    }
    Ok(())
}

// The range of a logarithmic axis, and its labelled values.
struct Axis {
    least: f64,
    most: f64,
    ticks: Vec<f64>,
}

impl Axis {
    fn new(values: impl Iterator<Item = f64>) -> Self {
        let ends = values.fold((f64::INFINITY, 0.0f64), |(a, b), x| (a.min(x), b.max(x)));
        // Without points the chart is empty.
        let (first, last) = if ends.1 > 0.0 { ends } else { (1.0, 1.0) };
        let widened = (AXIS_EXTENT * first / last).sqrt().max(AXIS_SPACE);
        let (least, most) = (first / widened, last * widened);
        let decades = (most / least).log10();
        let steps: &[f64] = if decades < 3.5 { &[1.0, 2.0, 5.0] } else { &[1.0] };
        let powers = least.log10().floor() as i32..=most.log10().floor() as i32;
        let values = powers.flat_map(|power| steps.iter().map(move |step| step * 10f64.powi(power)));
        let ticks = values.filter(|x| (least..=most).contains(x)).collect();
        Self { least, most, ticks }
    }
}

// `5`, `200 k`, `10 M`.
fn tick(x: f64) -> String {
    let (value, suffix) = match x {
        x if x >= 1e6 => (1e-6 * x, " M"),
        x if x >= 1e3 => (1e-3 * x, " k"),
        _ => (x, ""),
    };
    // Ticks have one digit, except for a rounding of the powers and the division.
    format!("{}{suffix}", (1e9 * value).round() / 1e9)
}

// The shape changes with the colour and again when the colours repeat, so 18 series differ.
fn marker<'a, At: Clone + 'static>(k: usize, at: At) -> DynElement<'static, SVGBackend<'a>, At> {
    match (k + k / COLORS.len()) % 3 {
        0 => Circle::new(at, MARKER, color(k).filled()).into_dyn(),
        1 => TriangleMarker::new(at, MARKER + 2, color(k).filled()).into_dyn(),
        _ => Cross::new(at, MARKER, color(k).stroke_width(2)).into_dyn(),
    }
}

#[cfg(test)]
mod tests {
    use roxmltree::Document;

    use super::*;

    fn series(label: &str, points: &[(f64, f64)]) -> Series {
        Series { label: label.to_owned(), points: points.to_vec() }
    }

    #[test]
    fn ticks_are_round_numbers_inside_the_axis() {
        let axis = Axis::new([1e4, 1e6].into_iter());
        assert!(axis.least < 1e4 && axis.most > 1e6);
        let labels: Vec<String> = axis.ticks.iter().map(|x| tick(*x)).collect();
        assert_eq!(labels, ["10 k", "20 k", "50 k", "100 k", "200 k", "500 k", "1 M"]);
        assert_eq!([0.02, 0.5, 50.0, 500.0].map(tick), ["0.02", "0.5", "50", "500"]);
        for x in [1e-3, 3.0, 10.0, 7777.0] {
            let axis = Axis::new([x].into_iter());
            assert!(axis.least < x && x < axis.most && axis.ticks.len() >= 2, "{x}: {:?}", axis.ticks);
        }
        assert!(Axis::new([1.0, 1e9].into_iter()).ticks.len() == 10);
        assert!(!Axis::new(std::iter::empty()).ticks.is_empty());
    }

    #[test]
    fn all_text_lies_inside_the_picture() {
        let long = "a/folder/with/a/long/name/scene<&>.toml, gpu (software)";
        let all: Vec<Series> = (0..30).map(|k| series(&format!("{long} {k}"), &[(1e3, 100.0)])).collect();
        let caption = ["W".repeat(180), "below".to_owned()];
        let text = draw(&all, &caption).unwrap();
        let document = Document::parse(&text).unwrap();
        let number =
            |node: roxmltree::Node, name: &str| node.attribute(name).unwrap().parse::<f64>().unwrap();
        let svg = document.root_element();
        let texts = svg.children().filter(|node| node.has_tag_name("text"));
        let mut labels = 0;
        for node in texts.filter(|node| node.attribute("text-anchor") == Some("start")) {
            let label = node.text().unwrap().trim();
            let length = 0.6 * number(node, "font-size") * label.chars().count() as f64;
            assert!(number(node, "x") + length <= number(svg, "width"), "{label}");
            assert!(number(node, "y") + 20.0 <= number(svg, "height"), "{label}");
            labels += usize::from(label.starts_with(long));
        }
        assert_eq!(labels, all.len());
    }

    #[test]
    fn series_differ_by_colour_or_marker() {
        let looks: Vec<_> = (0..18).map(|k| (k % COLORS.len(), (k + k / COLORS.len()) % 3)).collect();
        for (k, look) in looks.iter().enumerate() {
            assert!(!looks[..k].contains(look), "series {k}");
        }
    }

    #[test]
    fn a_chart_without_points_is_drawn() {
        let text = draw(&[series("empty", &[])], &[]).unwrap();
        assert!(Document::parse(&text).is_ok());
    }
}
