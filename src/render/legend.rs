//! The legend: name, range and unit of the quantity that colours show.

use egui::{Align2, Color32, CornerRadius, FontId, Painter, Pos2, Rect, Stroke, pos2, vec2};

use super::{
    differences::SMALLEST,
    maps::MATERIALS,
    style::{Colour, Style},
};
use crate::gpu::Context;

/// Width of the colour bar, and spacing between picture edge, panel and contents (points).
const WIDTH: f32 = 190.0;
const BAR: f32 = 10.0;
const GAP: f32 = 10.0;
const TEXT: f32 = 12.5;

const INK: Color32 = Color32::from_rgb(38, 42, 48);
const PAPER: Color32 = Color32::from_rgba_premultiplied(205, 207, 210, 210);

/// Least side of a picture with a legend (pixels). Smaller pictures are too small for text.
pub const LEAST_SIDE: u32 = 64;

/// Steps of the gradient; colours between steps are interpolated.
const STEPS: usize = 64;

/// Contents of a legend.
#[derive(Clone, Copy)]
pub struct Content<'a> {
    pub style: &'a Style,
    /// Values at the ends of the colour map (units of the system); `None` until they are known.
    pub range: Option<[f64; 2]>,
    /// Names of the materials, in the order of their colours.
    pub materials: &'a [String],
}

/// Draws a legend over a picture.
pub struct Legend {
    context: egui::Context,
    renderer: egui_wgpu::Renderer,
}

impl Legend {
    pub fn new(context: &Context, format: wgpu::TextureFormat) -> Self {
        let options = egui_wgpu::RendererOptions { dithering: false, ..Default::default() };
        Self {
            context: egui::Context::default(),
            renderer: egui_wgpu::Renderer::new(&context.device, format, options),
        }
    }

    /// Draws over a picture.
    pub fn draw(
        &mut self,
        context: &Context,
        encoder: &mut wgpu::CommandEncoder,
        target: &wgpu::TextureView,
        size: [u32; 2],
        content: Content<'_>,
    ) {
        let Content { style, range, materials } = content;
        // The legend takes the same share of the picture on every screen, but never becomes too small to read.
        let pixels_per_point = (size[1] as f32 / 640.0).max(1.0);
        let screen = Rect::from_min_size(Pos2::ZERO, vec2(size[0] as f32, size[1] as f32) / pixels_per_point);
        let mut input = egui::RawInput { screen_rect: Some(screen), ..Default::default() };
        if let Some(viewport) = input.viewports.get_mut(&input.viewport_id) {
            viewport.native_pixels_per_point = Some(pixels_per_point);
        }
        let mut output = self.context.run_pass(input, |ui| {
            let painter = ui.layer_painter(egui::LayerId::background());
            if style.colour == Colour::Material {
                names(&painter, screen, materials);
            } else {
                bar(&painter, screen, style, range);
            }
        });
        let (device, queue) = (&context.device, &context.queue);
        for (id, deltas) in output.textures_delta.set.drain() {
            for delta in deltas {
                self.renderer.update_texture(device, queue, id, &delta);
            }
        }
        let jobs = self.context.tessellate(std::mem::take(&mut output.shapes), output.pixels_per_point);
        let descriptor = egui_wgpu::ScreenDescriptor { size_in_pixels: size, pixels_per_point };
        let extra = self.renderer.update_buffers(device, queue, encoder, &jobs, &descriptor);
        debug_assert!(extra.is_empty(), "only callbacks make commands of their own");
        {
            let pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
                label: Some("legend"),
                color_attachments: &[Some(wgpu::RenderPassColorAttachment {
                    view: target,
                    depth_slice: None,
                    resolve_target: None,
                    ops: wgpu::Operations { load: wgpu::LoadOp::Load, store: wgpu::StoreOp::Store },
                })],
                ..Default::default()
            });
            self.renderer.render(&mut pass.forget_lifetime(), &jobs, &descriptor);
        }
        for id in output.textures_delta.free.drain() {
            self.renderer.free_texture(&id);
        }
    }
}

// Draws a panel of this size (points) in the lower left corner; returns the upper left corner of its contents.
fn panel(painter: &Painter, screen: Rect, width: f32, height: f32) -> Pos2 {
    let outer = vec2(width, height) + vec2(2.0, 2.0) * GAP;
    let corner = pos2(screen.left() + GAP, screen.bottom() - GAP - outer.y);
    painter.rect_filled(Rect::from_min_size(corner, outer), CornerRadius::same(6), PAPER);
    corner + vec2(GAP, GAP)
}

fn bar(painter: &Painter, screen: Rect, style: &Style, range: Option<[f64; 2]>) {
    let width = WIDTH.min(screen.width() - 4.0 * GAP);
    let row = TEXT + 4.0;
    let corner = panel(painter, screen, width, 2.0 * row + BAR);
    let font = FontId::proportional(TEXT);
    painter.text(corner, Align2::LEFT_TOP, title(style.colour), font.clone(), INK);
    let bar = Rect::from_min_size(corner + vec2(0.0, row), vec2(width, BAR));
    let mut mesh = egui::Mesh::default();
    for k in 0..=STEPS {
        let part = k as f32 / STEPS as f32;
        // Ages start with the newest, at the upper end of the map.
        let value = if style.colour == Colour::Impacts { 1.0 - part } else { part };
        let [r, g, b] = style.map.colour(f64::from(value)).map(|c| (255.0 * c).round() as u8);
        for y in [bar.top(), bar.bottom()] {
            mesh.colored_vertex(pos2(bar.left() + part * width, y), Color32::from_rgb(r, g, b));
        }
        if k > 0 {
            let first = 2 * k as u32 - 2;
            mesh.add_triangle(first, first + 1, first + 2);
            mesh.add_triangle(first + 1, first + 2, first + 3);
        }
    }
    painter.add(mesh);
    let Some([low, high]) = range.filter(|[low, high]| low < high) else { return };
    let is_power = style.colour == Colour::Difference;
    let step = if is_power { step(high - low).ceil() } else { step(high - low) };
    let first = (low / step - 1e-6).ceil() as i64;
    let last = (high / step + 1e-6).floor() as i64;
    for tick in first..=last {
        let value = tick as f64 * step;
        let x = bar.left() + ((value - low) / (high - low)) as f32 * width;
        painter.line_segment([pos2(x, bar.bottom()), pos2(x, bar.bottom() + 3.0)], Stroke::new(1.0, INK));
        let text = painter.layout_no_wrap(
            if is_power { power(value) } else { number(value, step) },
            font.clone(),
            INK,
        );
        // Numbers at the ends of the bar stay inside the panel.
        let half = 0.5 * text.size().x;
        let middle = x.clamp(bar.left() + half - 4.0, bar.right() - half + 4.0);
        painter.galley(pos2(middle - half, bar.bottom() + 4.0), text, INK);
    }
}

fn names(painter: &Painter, screen: Rect, materials: &[String]) {
    let font = FontId::proportional(TEXT);
    let shown = materials.len().min(MATERIALS.len());
    let row = TEXT + 5.0;
    let texts: Vec<_> = materials[..shown]
        .iter()
        .map(|name| painter.layout_no_wrap(name.clone(), font.clone(), INK))
        .collect();
    let widest = texts.iter().map(|text| text.size().x).fold(0.0, f32::max);
    let corner = panel(painter, screen, widest + row, row * shown as f32);
    for (k, (text, colour)) in texts.into_iter().zip(MATERIALS).enumerate() {
        let [r, g, b] = colour.map(|c| (255.0 * c).round() as u8);
        let y = corner.y + row * k as f32;
        painter.circle_filled(pos2(corner.x + 5.0, y + 0.5 * row), 5.0, Color32::from_rgb(r, g, b));
        painter.galley(pos2(corner.x + row, y + 1.0), text, INK);
    }
}

fn title(colour: Colour) -> &'static str {
    match colour {
        Colour::Speed => "speed",
        Colour::Radius => "radius",
        Colour::Material => "material",
        Colour::Id => "id",
        Colour::Impacts => "time since last contact",
        Colour::Overlap => "overlap / diameter",
        Colour::Spin => "spin",
        Colour::Contacts => "number of contacts",
        Colour::Force => "contact forces / weight",
        Colour::Difference => "difference / diameter",
    }
}

// Distance between ticks: 1, 2 or 5 times a power of ten, with two to five ticks in the range.
fn step(range: f64) -> f64 {
    let power = 10f64.powf((range / 2.0).log10().floor());
    [5.0, 2.0, 1.0].into_iter().map(|n| n * power).find(|step| range / step >= 2.0).unwrap_or(power)
}

// Formats a difference by its power of ten.
fn power(value: f64) -> String {
    format!("1e{}", value.round() as i32 + SMALLEST)
}

// Formats a value with as many digits as neighbouring ticks need to differ.
fn number(value: f64, step: f64) -> String {
    let digits = -step.log10().floor();
    if (1e-4..1e5).contains(&value.abs().max(step)) {
        format!("{value:.*}", digits.max(0.0) as usize)
    } else if value == 0.0 {
        "0".to_owned()
    } else {
        let spare = (value.abs().log10().floor() + digits).clamp(0.0, 6.0);
        format!("{value:.*e}", spare as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_neither_few_nor_many() {
        for exponent in -300..300 {
            for mantissa in [1.0, 1.3, 1.99, 2.0, 3.7, 4.99, 5.0, 7.2, 9.99] {
                let range = mantissa * 10f64.powi(exponent);
                let count = range / step(range);
                assert!((1.999..=5.001).contains(&count), "{count} of {} in {range}", step(range));
            }
        }
        assert_eq!([step(1.0), step(3.0), step(9.0)], [0.5, 1.0, 2.0]);
    }

    #[test]
    fn numbers_of_neighbouring_ticks_differ() {
        for (value, step, text) in [
            (0.0, 0.5, "0.0"),
            (1.5, 0.5, "1.5"),
            (20.0, 5.0, "20"),
            (0.0, 2e-9, "0"),
            (4e-9, 2e-9, "4e-9"),
            (12e7, 1e7, "1.2e8"),
            (32_000.0, 2000.0, "32000"),
        ] {
            assert_eq!(number(value, step), text);
        }
    }
}
