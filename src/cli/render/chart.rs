//! Draws a chart of energies or impacts over time below the picture.

use carom::gpu::{Context, wgpu};
use carom::render::Image;
use carom::{Error, StepReport};
use egui::{Align2, Color32, FontId, Pos2, Rect, Stroke, pos2, vec2};

use crate::cli::{arguments::Plotted, text::number};

/// Share of the height of the picture for the chart.
const SHARE: f64 = 0.26;

const FORMAT: wgpu::TextureFormat = wgpu::TextureFormat::Rgba8Unorm;

const PAPER: Color32 = Color32::from_rgb(18, 20, 26);
const LINES: Color32 = Color32::from_rgb(58, 63, 75);
const TEXT: Color32 = Color32::from_rgb(190, 196, 208);
const CURVE: Color32 = Color32::from_rgb(253, 197, 73);
const SECOND: Color32 = Color32::from_rgb(86, 180, 233);

/// Sizes of the picture and of the chart below it.
pub fn divide([width, height]: [u32; 2]) -> ([u32; 2], [u32; 2]) {
    let rows = ((f64::from(height) * SHARE) as u32).max(1);
    ([width, height - rows], [width, rows])
}

/// A chart with the points drawn so far.
pub struct Chart {
    context: Context,
    egui: egui::Context,
    renderer: egui_wgpu::Renderer,
    texture: wgpu::Texture,
    copy: wgpu::Buffer,
    size: [u32; 2],
    plotted: Plotted,
    /// Time of the first and the last frame.
    times: [f64; 2],
    /// Time, kinetic and total energy relative to the first one; or time and impacts.
    points: Vec<[f64; 3]>,
    start_energy: f64,
}

impl Chart {
    /// A chart between these times, for a run that starts with these kinetic and total energies.
    pub fn new(
        context: &Context,
        size: [u32; 2],
        plotted: Plotted,
        times: [f64; 2],
        [kinetic, total]: [f64; 2],
    ) -> Self {
        let [width, height] = size;
        let texture = context.device.create_texture(&wgpu::TextureDescriptor {
            label: Some("chart"),
            size: wgpu::Extent3d { width, height, depth_or_array_layers: 1 },
            mip_level_count: 1,
            sample_count: 1,
            dimension: wgpu::TextureDimension::D2,
            format: FORMAT,
            usage: wgpu::TextureUsages::RENDER_ATTACHMENT | wgpu::TextureUsages::COPY_SRC,
            view_formats: &[],
        });
        let copy = context.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("chart for the host"),
            size: u64::from(stride(width)) * u64::from(height),
            usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        let options = egui_wgpu::RendererOptions::PREDICTABLE;
        let unit = unit(total);
        let has_start = times[0] == 0.0 && plotted == Plotted::Energy;
        Self {
            context: context.clone(),
            egui: egui::Context::default(),
            renderer: egui_wgpu::Renderer::new(&context.device, FORMAT, options),
            texture,
            copy,
            size,
            plotted,
            times,
            points: has_start.then_some([0.0, kinetic / unit, total / unit]).into_iter().collect(),
            start_energy: total,
        }
    }

    /// Adds a point for a step.
    pub fn add(&mut self, report: &StepReport) {
        if report.time < self.times[0] {
            return;
        }
        let unit = unit(self.start_energy);
        self.points.push(match self.plotted {
            Plotted::Energy => {
                let total = report.kinetic_energy + report.potential_energy;
                [report.time, report.kinetic_energy / unit, total / unit]
            }
            Plotted::Impacts => {
                let impacts = (report.pair_impacts + report.wall_impacts) as f64;
                [report.time, impacts, impacts]
            }
        });
    }

    /// Draws the chart and appends it below a picture.
    pub fn below(&mut self, picture: Image) -> Result<Image, Error> {
        let chart = self.draw()?;
        let Image { width, height, mut rgba } = picture;
        rgba.extend_from_slice(&chart);
        Ok(Image { width, height: height + self.size[1], rgba })
    }

    fn draw(&mut self) -> Result<Vec<u8>, Error> {
        let [width, height] = self.size;
        // Keeps letters readable at any size of the picture.
        let scale = (height as f32 / 130.0).clamp(0.75, 4.0);
        let screen = vec2(width as f32, height as f32) / scale;
        let area = Rect::from_min_size(Pos2::ZERO, screen);
        let input = egui::RawInput { screen_rect: Some(area), ..egui::RawInput::default() };
        self.egui.set_pixels_per_point(scale);
        let egui = self.egui.clone();
        let mut output =
            egui.run_ui(input, |ui| self.paint(&ui.ctx().layer_painter(egui::LayerId::background()), area));
        let jobs = egui.tessellate(output.shapes, output.pixels_per_point);
        let Self { context, renderer, texture, copy, .. } = self;
        let (device, queue) = (&context.device, &context.queue);
        for (id, deltas) in &output.textures_delta.set {
            deltas.iter().for_each(|delta| renderer.update_texture(device, queue, *id, delta));
        }
        let mut encoder =
            device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("chart") });
        let descriptor = egui_wgpu::ScreenDescriptor {
            size_in_pixels: [width, height],
            pixels_per_point: output.pixels_per_point,
        };
        let before = renderer.update_buffers(device, queue, &mut encoder, &jobs, &descriptor);
        let view = texture.create_view(&wgpu::TextureViewDescriptor::default());
        {
            let [r, g, b, _] = PAPER.to_array().map(|c| f64::from(c) / 255.0);
            let pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
                label: Some("chart"),
                color_attachments: &[Some(wgpu::RenderPassColorAttachment {
                    view: &view,
                    depth_slice: None,
                    resolve_target: None,
                    ops: wgpu::Operations {
                        load: wgpu::LoadOp::Clear(wgpu::Color { r, g, b, a: 1.0 }),
                        store: wgpu::StoreOp::Store,
                    },
                })],
                ..Default::default()
            });
            renderer.render(&mut pass.forget_lifetime(), &jobs, &descriptor);
        }
        encoder.copy_texture_to_buffer(
            texture.as_image_copy(),
            wgpu::TexelCopyBufferInfo {
                buffer: copy,
                layout: wgpu::TexelCopyBufferLayout {
                    offset: 0,
                    bytes_per_row: Some(stride(width)),
                    rows_per_image: None,
                },
            },
            wgpu::Extent3d { width, height, depth_or_array_layers: 1 },
        );
        queue.submit(before.into_iter().chain([encoder.finish()]));
        for id in &output.textures_delta.free {
            renderer.free_texture(id);
        }
        // Every texture change has been applied.
        output.textures_delta.clear();
        read(context, copy, width)
    }

    fn paint(&self, painter: &egui::Painter, area: Rect) {
        let energy = self.plotted == Plotted::Energy;
        let most = self.points.iter().map(|p| p[1].max(p[2])).fold(if energy { 1.0 } else { 4.0 }, f64::max);
        let least = self.points.iter().map(|p| p[1].min(p[2])).fold(0.0, f64::min);
        let (low, high) = (least * 1.2, most * 1.25);
        let plot = Rect::from_min_max(area.min + vec2(44.0, 24.0), area.max - vec2(14.0, 22.0));
        let [first, last] = self.times;
        let at = |time: f64, value: f64| {
            let x = (time - first) / (last - first).max(f64::MIN_POSITIVE);
            let y = (value - low) / (high - low);
            pos2(plot.min.x + x as f32 * plot.width(), plot.max.y - y as f32 * plot.height())
        };
        let small = FontId::proportional(11.0);
        for value in ticks(low, high, 3) {
            let y = at(first, value).y;
            painter.hline(plot.x_range(), y, Stroke::new(1.0, LINES));
            let text = label(value, high - low);
            painter.text(pos2(plot.min.x - 6.0, y), Align2::RIGHT_CENTER, text, small.clone(), TEXT);
        }
        for time in ticks(first, last, 6) {
            let x = at(time, low).x;
            painter.vline(x, plot.y_range(), Stroke::new(1.0, LINES));
            let text = label(time, last - first);
            painter.text(pos2(x, plot.max.y + 4.0), Align2::CENTER_TOP, text, small.clone(), TEXT);
        }
        let curve = |k: usize| self.points.iter().map(|p| at(p[0], p[k])).collect::<Vec<_>>();
        let has_potential = self.points.iter().any(|p| (p[1] - p[2]).abs() > 1e-6);
        if has_potential {
            painter.line(curve(1), Stroke::new(1.5, SECOND));
        }
        painter.line(curve(2), Stroke::new(2.0, CURVE));
        if let Some(now) = self.points.last() {
            painter.circle_filled(at(now[0], now[2]), 3.5, CURVE);
        }
        self.write(painter, plot, has_potential);
    }

    fn write(&self, painter: &egui::Painter, plot: Rect, has_potential: bool) {
        let font = FontId::proportional(13.0);
        let title = match (self.plotted, has_potential) {
            (Plotted::Energy, true) => "energy, of that at the start: total and kinetic",
            (Plotted::Energy, false) => "energy, of that at the start",
            (Plotted::Impacts, _) => "impacts in a step",
        };
        let y = plot.min.y - 5.0;
        painter.text(pos2(plot.min.x, y), Align2::LEFT_BOTTOM, title, font.clone(), TEXT);
        if let Some(now) = self.points.last() {
            let value = match self.plotted {
                Plotted::Energy => format!("change {}", number(now[2] - self.start_energy.signum(), 2)),
                Plotted::Impacts => format!("{:.0}", now[1]),
            };
            let state = format!("{value}   time {}", number(now[0], 3));
            painter.text(pos2(plot.max.x, y), Align2::RIGHT_BOTTOM, state, font, TEXT);
        }
    }
}

// Unit of the energies in the chart.
fn unit(start_energy: f64) -> f64 {
    if start_energy == 0.0 { 1.0 } else { start_energy.abs() }
}

// About `count` round values within a range.
fn ticks(low: f64, high: f64, count: usize) -> Vec<f64> {
    let span = high - low;
    // A range without width, apart from rounding, has no ticks.
    if !(span > 1e-6 * high.abs().max(f64::MIN_POSITIVE) && span.is_finite()) {
        return vec![];
    }
    let rough = span / count as f64;
    let power = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|k| k * power).into_iter().find(|step| *step >= rough);
    let step = step.unwrap_or(10.0 * power);
    let first = (low / step).ceil() as i64;
    (first..).map(|k| k as f64 * step).take_while(|value| *value <= high + 1e-9 * span).collect()
}

// With enough decimals for the span.
fn label(value: f64, span: f64) -> String {
    let decimals = (2.0 - span.abs().max(1e-12).log10().ceil()).clamp(0.0, 9.0) as usize;
    format!("{value:.decimals$}")
}

fn stride(width: u32) -> u32 {
    (4 * width).next_multiple_of(wgpu::COPY_BYTES_PER_ROW_ALIGNMENT)
}

fn read(context: &Context, copy: &wgpu::Buffer, width: u32) -> Result<Vec<u8>, Error> {
    let lost = |reason: String| {
        context.report_lost(&reason);
        context.check().err().unwrap_or(Error::DeviceLost(reason))
    };
    copy.slice(..).map_async(wgpu::MapMode::Read, |_| ());
    context.wait_for(None)?;
    let rgba = {
        let bytes = copy.slice(..).get_mapped_range().map_err(|e| lost(e.to_string()))?;
        let rows = bytes.chunks_exact(stride(width) as usize);
        rows.flat_map(|row| &row[..4 * width as usize]).copied().collect()
    };
    copy.unmap();
    Ok(rgba)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_within_the_range() {
        assert_eq!(ticks(0.0, 1.25, 3), [0.0, 0.5, 1.0]);
        assert_eq!(ticks(0.0, 2.0, 6), [0.0, 0.5, 1.0, 1.5, 2.0]);
        assert_eq!((ticks(3.0, 3.0, 6), ticks(1.0, 1.00000002, 6)), (vec![], vec![]));
        assert_eq!((label(0.5, 1.25), label(100.0, 900.0)), ("0.5".to_owned(), "100".to_owned()));
    }
}
