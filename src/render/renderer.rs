//! The passes of a picture.

use super::{
    camera::Camera,
    look::Look,
    scenery::Scenery,
    spheres::{Spheres, buffer},
    style::Style,
    targets::{DEPTH, IDS, SAMPLES, Targets},
};
use crate::gpu::Context;

const LOOK: &str = include_str!("../../shaders/render/look.wgsl");
const PLACE: &str = include_str!("../../shaders/render/place.wgsl");
const VISIBILITY: &str = include_str!("../../shaders/render/visibility.wgsl");
const SHADE: &str = include_str!("../../shaders/render/shade.wgsl");

/// Threads of a workgroup of the passes over all spheres.
const GROUP: u32 = 64;

/// Draws spheres into textures.
pub struct Renderer {
    context: Context,
    place: wgpu::ComputePipeline,
    visibility: wgpu::RenderPipeline,
    shade: wgpu::RenderPipeline,
    look: wgpu::Buffer,
    look_group: wgpu::BindGroup,
    targets: Option<Targets>,
    placed: wgpu::Buffer,
    values: wgpu::Buffer,
}

impl Renderer {
    /// Compiles the shaders for pictures of this format: one with 8 bits a channel, sRGB or not.
    pub fn new(context: &Context, format: wgpu::TextureFormat) -> Self {
        let device = &context.device;
        let look = device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("look"),
            size: size_of::<Look>() as u64,
            usage: wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        let look_layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: Some("look"),
            entries: &[wgpu::BindGroupLayoutEntry {
                binding: 0,
                visibility: wgpu::ShaderStages::all(),
                ty: wgpu::BindingType::Buffer {
                    ty: wgpu::BufferBindingType::Uniform,
                    has_dynamic_offset: false,
                    min_binding_size: None,
                },
                count: None,
            }],
        });
        let look_group = bind(device, &look_layout, &[look.as_entire_binding()]);
        let layout = |kinds: &[Kind]| {
            let visibility = if kinds.contains(&Kind::Written) {
                wgpu::ShaderStages::COMPUTE
            } else {
                wgpu::ShaderStages::VERTEX_FRAGMENT
            };
            let entries: Vec<_> = (0..)
                .zip(kinds)
                .map(|(binding, kind)| wgpu::BindGroupLayoutEntry {
                    binding,
                    visibility,
                    ty: kind.binding(),
                    count: None,
                })
                .collect();
            let own = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
                label: None,
                entries: &entries,
            });
            device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
                label: None,
                bind_group_layouts: &[Some(&look_layout), Some(&own)],
                immediate_size: 0,
            })
        };
        let module = |label: &str, source: &str| {
            device.create_shader_module(wgpu::ShaderModuleDescriptor {
                label: Some(label),
                source: wgpu::ShaderSource::Wgsl(format!("{LOOK}\n{source}").into()),
            })
        };
        let compute = |label, source, kinds: &[Kind]| {
            device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                label: Some(label),
                layout: Some(&layout(kinds)),
                module: &module(label, source),
                entry_point: Some(label),
                compilation_options: Default::default(),
                cache: context.pipeline_cache(),
            })
        };
        let (read, written) = (Kind::Read, Kind::Written);
        let place = compute("place", PLACE, &[read, read, read, written, written]);
        let draw = |label, source, entries: [&str; 2], kinds: &[Kind], format, is_visibility| {
            let module = module(label, source);
            device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
                label: Some(label),
                layout: Some(&layout(kinds)),
                vertex: wgpu::VertexState {
                    module: &module,
                    entry_point: Some(entries[0]),
                    compilation_options: Default::default(),
                    buffers: &[],
                },
                primitive: wgpu::PrimitiveState {
                    topology: wgpu::PrimitiveTopology::TriangleStrip,
                    ..Default::default()
                },
                depth_stencil: if is_visibility {
                    Some(wgpu::DepthStencilState {
                        format: DEPTH,
                        depth_write_enabled: Some(true),
                        depth_compare: Some(wgpu::CompareFunction::Greater),
                        stencil: Default::default(),
                        bias: Default::default(),
                    })
                } else {
                    None
                },
                multisample: wgpu::MultisampleState {
                    count: if is_visibility { SAMPLES } else { 1 },
                    ..Default::default()
                },
                fragment: Some(wgpu::FragmentState {
                    module: &module,
                    entry_point: Some(entries[1]),
                    compilation_options: Default::default(),
                    targets: &[Some(format)],
                }),
                multiview_mask: None,
                cache: context.pipeline_cache(),
            })
        };
        let visibility = draw("visibility", VISIBILITY, ["corners", "cast"], &[read], IDS.into(), true);
        let shade = draw("shade", SHADE, ["screen", "shade"], &[read, read, Kind::Ids], format.into(), false);
        Self {
            context: context.clone(),
            place,
            visibility,
            shade,
            look,
            look_group,
            targets: None,
            placed: buffer(context, "placed", 16),
            values: buffer(context, "values", 16),
        }
    }

    /// Encodes a picture that fills the target, `size` pixels (width, height) of it. Nothing is submitted.
    #[expect(clippy::too_many_arguments, reason = "where, what, how: each is a thing of its own")]
    pub fn draw(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        target: &wgpu::TextureView,
        size: [u32; 2],
        spheres: &Spheres,
        scenery: &Scenery,
        camera: &Camera,
        style: &Style,
    ) {
        let device = self.context.device.clone();
        let size = size.map(|n| n.max(1));
        let look = Look::new(size, spheres, scenery, camera, style);
        self.context.queue.write_buffer(&self.look, 0, bytemuck::bytes_of(&look));
        let count = u64::from(spheres.count);
        for (buffer_of, label, stride) in [(&mut self.placed, "placed", 16), (&mut self.values, "values", 4)]
        {
            if buffer_of.size() < stride * count {
                *buffer_of = buffer(&self.context, label, stride * count);
            }
        }
        if self.targets.as_ref().is_none_or(|targets| targets.size != size) {
            self.targets = Some(Targets::new(&device, size));
        }
        let Some(targets) = &self.targets else { return };
        {
            let mut pass = encoder.begin_compute_pass(&Default::default());
            let buffers = [&spheres.bodies, &spheres.tags, &spheres.kinds, &self.placed, &self.values];
            let group = bind(
                &device,
                &self.place.get_bind_group_layout(1),
                &buffers.map(|buffer| buffer.as_entire_binding()),
            );
            pass.set_pipeline(&self.place);
            pass.set_bind_group(0, &self.look_group, &[]);
            pass.set_bind_group(1, &group, &[]);
            let groups = spheres.count.div_ceil(GROUP);
            let rows = groups.div_ceil(1 << 15);
            pass.dispatch_workgroups(groups.min(1 << 15), rows, 1);
        }
        {
            let mut pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
                label: Some("visibility"),
                color_attachments: &[Some(colour(&targets.ids, wgpu::Color::TRANSPARENT))],
                depth_stencil_attachment: Some(wgpu::RenderPassDepthStencilAttachment {
                    view: &targets.depth,
                    depth_ops: Some(wgpu::Operations {
                        load: wgpu::LoadOp::Clear(0.0),
                        store: wgpu::StoreOp::Store,
                    }),
                    stencil_ops: None,
                }),
                ..Default::default()
            });
            let group =
                bind(&device, &self.visibility.get_bind_group_layout(1), &[self.placed.as_entire_binding()]);
            pass.set_pipeline(&self.visibility);
            pass.set_bind_group(0, &self.look_group, &[]);
            pass.set_bind_group(1, &group, &[]);
            pass.draw(0..4, 0..spheres.count);
        }
        let mut pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
            label: Some("shade"),
            color_attachments: &[Some(colour(target, wgpu::Color::BLACK))],
            ..Default::default()
        });
        let group = bind(
            &device,
            &self.shade.get_bind_group_layout(1),
            &[
                self.placed.as_entire_binding(),
                self.values.as_entire_binding(),
                wgpu::BindingResource::TextureView(&targets.ids),
            ],
        );
        pass.set_pipeline(&self.shade);
        pass.set_bind_group(0, &self.look_group, &[]);
        pass.set_bind_group(1, &group, &[]);
        pass.draw(0..3, 0..1);
    }
}

/// What a shader is bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Read,
    Written,
    Ids,
}

impl Kind {
    fn binding(self) -> wgpu::BindingType {
        match self {
            Self::Read | Self::Written => wgpu::BindingType::Buffer {
                ty: wgpu::BufferBindingType::Storage { read_only: self == Self::Read },
                has_dynamic_offset: false,
                min_binding_size: None,
            },
            Self::Ids => wgpu::BindingType::Texture {
                sample_type: wgpu::TextureSampleType::Uint,
                view_dimension: wgpu::TextureViewDimension::D2,
                multisampled: true,
            },
        }
    }
}

fn bind(
    device: &wgpu::Device,
    layout: &wgpu::BindGroupLayout,
    resources: &[wgpu::BindingResource<'_>],
) -> wgpu::BindGroup {
    let entries: Vec<_> = (0..)
        .zip(resources)
        .map(|(binding, resource)| wgpu::BindGroupEntry { binding, resource: resource.clone() })
        .collect();
    device.create_bind_group(&wgpu::BindGroupDescriptor { label: None, layout, entries: &entries })
}

fn colour(view: &wgpu::TextureView, clear: wgpu::Color) -> wgpu::RenderPassColorAttachment<'_> {
    wgpu::RenderPassColorAttachment {
        view,
        depth_slice: None,
        resolve_target: None,
        ops: wgpu::Operations { load: wgpu::LoadOp::Clear(clear), store: wgpu::StoreOp::Store },
    }
}
