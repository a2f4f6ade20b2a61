//! The passes of a picture, in order.

use super::{
    camera::Camera,
    legend::{Content, LEAST_SIDE, Legend},
    look::{Circumstances, Look, View, scale},
    passes::{BINS, GROUP, Passes, bind},
    range::Readback,
    render_world::RenderWorld,
    spheres::{Spheres, buffer},
    style::{Colour, Range, Style},
    targets::Targets,
    walls::{Drawn, WallBuffers},
};
use crate::gpu::Context;

/// Words of the histogram: the bins and two more.
const HISTOGRAM: u64 = BINS as u64 + 2;

/// Workgroups along x of the passes over all spheres; WebGPU guarantees 65,535.
const ACROSS: u32 = 1 << 15;

/// Most workgroups that share the histogram: enough to fill a device, few enough that the final sum is cheap.
const COUNTERS: u32 = 256;

/// Draws spheres into textures.
///
/// Each picture needs a submit of its own, because all pictures share one uniform buffer.
pub struct Renderer {
    pub(super) context: Context,
    passes: Passes,
    walls: WallBuffers,
    legend: Legend,
    targets: Option<Targets>,
    /// Per sphere: centre and radius relative to the camera; value of its colour quantity; colour.
    placed: wgpu::Buffer,
    values: wgpu::Buffer,
    colours: wgpu::Buffer,
    /// Heads of the per-cell sphere lists, for overlaps.
    heads: wgpu::Buffer,
    following: wgpu::Buffer,
    histogram: wgpu::Buffer,
    /// The values at the ends of the colour map.
    pub(super) range: wgpu::Buffer,
    readback: Readback,
    is_encoded: bool,
    /// Quantity of the range on the device: colour, and the unit of its values.
    ranged: Option<(Colour, f64)>,
}

/// Contents of a picture.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// The spheres, in device buffers.
    pub spheres: &'a Spheres,
    /// The world around the spheres.
    pub render_world: &'a RenderWorld,
    /// The point of view.
    pub camera: &'a Camera,
    /// Colours and light.
    pub style: &'a Style,
}

/// Results of [`Renderer::prepare`] for [`Renderer::paint`].
pub(super) struct Prepared {
    look: Look,
    size: [u32; 2],
    /// Unit of the values of the colour quantity.
    pub scale: f64,
}

impl Renderer {
    /// Compiles the shaders for pictures of this format: 8 bits per channel, with or without sRGB encoding.
    /// [`Context::check`] reports faults of the device.
    pub fn new(context: &Context, format: wgpu::TextureFormat) -> Self {
        let passes = Passes::new(context, format);
        Self {
            context: context.clone(),
            walls: WallBuffers::new(context, &passes.wall_layout),
            passes,
            legend: Legend::new(context, format),
            targets: None,
            placed: buffer(context, "placed", 16),
            values: buffer(context, "values", 4),
            colours: buffer(context, "colours", 16),
            heads: buffer(context, "heads", 32),
            following: buffer(context, "following", 4),
            histogram: buffer(context, "histogram", 4 * HISTOGRAM),
            range: buffer(context, "range", 16),
            readback: Readback::new(context),
            is_encoded: format.is_srgb(),
            ranged: None,
        }
    }

    /// Encodes a picture that fills `size` pixels (width, height) of the target. The caller submits; this function
    /// waits for nothing. With an automatic range the legend shows the numbers of the previous picture.
    pub fn draw(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        target: &wgpu::TextureView,
        size: [u32; 2],
        frame: Frame<'_>,
    ) {
        let prepared = self.prepare(encoder, size, frame);
        let style = frame.style;
        let range = self.readback.latest(&self.context, style.colour);
        if style.legend && style.range == Range::Automatic {
            self.readback.ask(encoder, &self.range, style.colour, prepared.scale);
        }
        self.paint(encoder, target, &prepared, frame, range);
    }

    /// The ends of the colour map (units of the system) that the last legend could show; `None` before they are read
    /// back from the device, or if no legend requested them.
    pub fn range(&self) -> Option<[f64; 2]> {
        let (colour, _) = self.ranged?;
        self.readback.known(colour)
    }

    /// Places the spheres and finds the range of their values.
    pub(super) fn prepare(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        size: [u32; 2],
        frame: Frame<'_>,
    ) -> Prepared {
        let Frame { spheres, render_world, camera, style } = frame;
        let device = self.context.device.clone();
        let size = size.map(|n| n.max(1));
        let scale = scale(style.colour, &spheres.cells);
        let ranged = Some((style.colour, scale));
        let circumstances = Circumstances { is_encoded: self.is_encoded, is_fresh: self.ranged != ranged };
        self.ranged = ranged;
        let look = Look::new(size, spheres, render_world, camera, style, circumstances);
        self.context.queue.write_buffer(&self.passes.look, 0, bytemuck::bytes_of(&look));
        let (walls, view) = (render_world.walls(), View::new(camera, spheres));
        self.walls.follow(&self.context, &self.passes.wall_layout, walls, render_world.time(), &view);
        let count = u64::from(spheres.count);
        for (buffer_of, label, stride) in [
            (&mut self.placed, "placed", 16),
            (&mut self.values, "values", 4),
            (&mut self.colours, "colours", 16),
        ] {
            if buffer_of.size() < stride * count {
                *buffer_of = buffer(&self.context, label, stride * count);
            }
        }
        if style.colour == Colour::Overlap {
            let lists = (2 * count).next_power_of_two();
            if self.following.size() < 4 * count || self.heads.size() != 4 * lists.max(8) {
                self.heads = buffer(&self.context, "heads", 4 * lists.max(8));
                self.following = buffer(&self.context, "following", 4 * count);
            }
            encoder.clear_buffer(&self.heads, 0, None);
        }
        if self.targets.as_ref().is_none_or(|targets| targets.size != size) {
            self.targets = Some(Targets::new(&device, size, self.passes.effort.shadow_size));
        }
        encoder.clear_buffer(&self.histogram, 0, None);
        let mut pass = encoder
            .begin_compute_pass(&wgpu::ComputePassDescriptor { label: Some("place"), ..Default::default() });
        pass.set_bind_group(0, &self.passes.look_group, &[]);
        let groups = spheres.count.div_ceil(GROUP);
        let over_all = [groups.min(ACROSS), groups.div_ceil(ACROSS)];
        let mut run = |pipeline: &wgpu::ComputePipeline, buffers: &[&wgpu::Buffer], groups: [u32; 2]| {
            let buffers: Vec<_> = buffers.iter().map(|buffer| buffer.as_entire_binding()).collect();
            pass.set_pipeline(pipeline);
            pass.set_bind_group(1, &bind(&device, &pipeline.get_bind_group_layout(1), &buffers), &[]);
            pass.dispatch_workgroups(groups[0], groups[1], 1);
        };
        let figures = spheres.figures(style.colour);
        let placing = [&spheres.bodies, &spheres.tags, &spheres.kinds, &self.placed, &self.values, figures];
        run(&self.passes.place, &placing, over_all);
        if style.colour == Colour::Overlap {
            let finding = [&spheres.bodies, &spheres.tags, &self.heads, &self.following, &self.values];
            run(&self.passes.enter, &finding, over_all);
            run(&self.passes.overlap, &finding, over_all);
        }
        let ranging = [&self.values, &self.histogram, &self.range];
        if style.range == Range::Automatic && groups > 0 {
            run(&self.passes.count, &ranging, [groups.min(COUNTERS), 1]);
        }
        run(&self.passes.settle, &ranging, [1, 1]);
        let painting = [&self.placed, &self.values, &self.range, &self.colours];
        run(&self.passes.paint, &painting, over_all);
        Prepared { look, size, scale }
    }

    /// Draws the prepared picture; the legend shows `range`.
    pub(super) fn paint(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        target: &wgpu::TextureView,
        prepared: &Prepared,
        frame: Frame<'_>,
        range: Option<[f64; 2]>,
    ) {
        let Frame { spheres, render_world, style, .. } = frame;
        let Some(targets) = &self.targets else { return };
        let (passes, look) = (&self.passes, &prepared.look);
        let lit = !style.flat;
        let walls = if style.bounds { self.walls.drawn() } else { Drawn::default() };
        let corners = |triangles: &std::ops::Range<u32>| 3 * triangles.start..3 * triangles.end;
        let placed = || self.placed.as_entire_binding();
        let view = wgpu::BindingResource::TextureView;
        if lit && style.shadow {
            let mut pass = begin(encoder, "shadow", None, Some((&targets.shadows, 0.0)));
            self.set(&mut pass, &passes.shadow, &[placed()]);
            pass.draw(0..4, 0..spheres.count);
            if !walls.bodies.is_empty() {
                self.set(&mut pass, &passes.casts, &[placed()]);
                pass.draw(corners(&walls.bodies), 0..1);
            }
        }
        {
            let ids = Some((&targets.ids, wgpu::LoadOp::Clear(wgpu::Color::TRANSPARENT)));
            let mut pass = begin(encoder, "visibility", ids, Some((&targets.depth, 0.0)));
            self.set(&mut pass, &passes.visibility, &[placed()]);
            pass.draw(0..4, 0..spheres.count);
            self.set(&mut pass, &passes.surfaces, &[placed()]);
            pass.draw(0..4, 0..look.surface_count);
            for (pipeline, triangles) in [(&passes.bodies, &walls.bodies), (&passes.hollow, &walls.hollow)] {
                if !triangles.is_empty() {
                    self.set(&mut pass, pipeline, &[placed()]);
                    pass.draw(corners(triangles), 0..1);
                }
            }
        }
        let [rough, openness] = &targets.openness;
        if lit && style.ambient_occlusion {
            let mut pass = begin(encoder, "half depth", Some((&targets.half_depth, clear())), None);
            self.set(&mut pass, &passes.measure, &[placed(), view(&targets.ids)]);
            pass.draw(0..3, 0..1);
            drop(pass);
            let mut pass = begin(encoder, "occlusion", Some((rough, clear())), None);
            let sources = [placed(), view(&targets.ids), view(&targets.half_depth)];
            self.set(&mut pass, &passes.occlude, &sources);
            pass.draw(0..3, 0..1);
            drop(pass);
            let mut pass = begin(encoder, "smooth occlusion", Some((openness, clear())), None);
            let sources = [placed(), view(&targets.ids), view(&targets.half_depth), view(rough)];
            self.set(&mut pass, &passes.soften, &sources);
            pass.draw(0..3, 0..1);
        }
        {
            let mut pass = begin(encoder, "shade", Some((target, clear())), None);
            let sources = [
                placed(),
                self.colours.as_entire_binding(),
                view(&targets.ids),
                view(openness),
                view(&targets.shadows),
                wgpu::BindingResource::Sampler(&passes.nearer),
            ];
            self.set(&mut pass, &passes.shade, &sources);
            pass.draw(0..3, 0..1);
            if !walls.hollow.is_empty() {
                self.set(&mut pass, &passes.glass, &[placed(), view(&targets.ids)]);
                pass.draw(corners(&walls.hollow), 0..1);
            }
            if walls.lines > 0 {
                self.set(&mut pass, &passes.edges, &[placed(), view(&targets.ids)]);
                pass.draw(0..4, 0..walls.lines);
            }
            if look.line_count > 0 {
                self.set(&mut pass, &passes.lines, &[placed(), view(&targets.ids)]);
                pass.draw(0..4, 0..look.line_count);
            }
            if let Some((links, count)) = spheres.links().filter(|_| style.chains) {
                self.set(&mut pass, &passes.chains, &[links.as_entire_binding()]);
                pass.draw(0..4, 0..count);
            }
        }
        if style.legend && prepared.size.iter().all(|&side| side >= LEAST_SIDE) {
            let range = match style.range {
                Range::Locked(low, high) => Some([low, high]),
                Range::Automatic => range,
            };
            let content = Content { style, range, materials: &render_world.materials };
            self.legend.draw(&self.context, encoder, target, prepared.size, content);
        }
    }

    /// Converts the ends of the colour map from device bytes to units of the system.
    pub(super) fn in_units(prepared: &Prepared, bytes: &[u8]) -> [f64; 2] {
        let ends: Vec<f32> = bytemuck::pod_collect_to_vec(&bytes[..8]);
        [0, 1].map(|k| f64::from(ends[k]) * prepared.scale)
    }

    fn set(
        &self,
        pass: &mut wgpu::RenderPass<'_>,
        pipeline: &wgpu::RenderPipeline,
        resources: &[wgpu::BindingResource<'_>],
    ) {
        let group = bind(&self.context.device, &pipeline.get_bind_group_layout(1), resources);
        pass.set_pipeline(pipeline);
        pass.set_bind_group(0, &self.passes.look_group, &[]);
        pass.set_bind_group(1, &group, &[]);
        pass.set_bind_group(2, self.walls.group(), &[]);
    }
}

fn clear() -> wgpu::LoadOp<wgpu::Color> {
    wgpu::LoadOp::Clear(wgpu::Color::BLACK)
}

fn begin<'a>(
    encoder: &'a mut wgpu::CommandEncoder,
    label: &str,
    colour: Option<(&wgpu::TextureView, wgpu::LoadOp<wgpu::Color>)>,
    depth: Option<(&wgpu::TextureView, f32)>,
) -> wgpu::RenderPass<'a> {
    let colour = colour.map(|(view, load)| wgpu::RenderPassColorAttachment {
        view,
        depth_slice: None,
        resolve_target: None,
        ops: wgpu::Operations { load, store: wgpu::StoreOp::Store },
    });
    encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
        label: Some(label),
        color_attachments: if colour.is_some() { std::slice::from_ref(&colour) } else { &[] },
        depth_stencil_attachment: depth.map(|(view, clear)| wgpu::RenderPassDepthStencilAttachment {
            view,
            depth_ops: Some(wgpu::Operations {
                load: wgpu::LoadOp::Clear(clear),
                store: wgpu::StoreOp::Store,
            }),
            stencil_ops: None,
        }),
        ..Default::default()
    })
}
