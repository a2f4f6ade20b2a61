//! The pipelines of the render passes, and their bindings.

use wgpu::{BindingType, BufferBindingType, ShaderStages, TextureSampleType, TextureViewDimension};

use super::{
    look::{Look, index_of},
    maps::KNOTS,
    style::Colour,
    targets::{DEPTH, HALF_DEPTH, IDS, OPENNESS, SAMPLES, SHADOWS},
    walls::WALL_BINDINGS,
};
use crate::gpu::Context;

const CHAINS: &str = include_str!("../../shaders/render/chains.wgsl");
const LOOK: &str = include_str!("../../shaders/render/look.wgsl");
const LINES: &str =
    concat!(include_str!("../../shaders/render/wall.wgsl"), include_str!("../../shaders/render/lines.wgsl"));
const OCCLUSION: &str = concat!(
    include_str!("../../shaders/render/wall.wgsl"),
    include_str!("../../shaders/render/occlusion.wgsl")
);
const OVERLAP: &str = concat!(
    include_str!("../../shaders/render/state.wgsl"),
    include_str!("../../shaders/render/overlap.wgsl")
);
const PAINT: &str = include_str!("../../shaders/render/paint.wgsl");
const PLACE: &str =
    concat!(include_str!("../../shaders/render/state.wgsl"), include_str!("../../shaders/render/place.wgsl"));
const RANGE: &str = include_str!("../../shaders/render/range.wgsl");
const SHADE: &str =
    concat!(include_str!("../../shaders/render/wall.wgsl"), include_str!("../../shaders/render/shade.wgsl"));
const SHADOW: &str = include_str!("../../shaders/render/shadow.wgsl");
const VISIBILITY: &str = include_str!("../../shaders/render/visibility.wgsl");
const WALLS: &str =
    concat!(include_str!("../../shaders/render/wall.wgsl"), include_str!("../../shaders/render/walls.wgsl"));

/// Threads per workgroup of the passes over all spheres.
pub const GROUP: u32 = 256;

/// Bins of the histogram of values.
pub const BINS: u32 = 2048;

/// Depth bias of walls away from the key light in the shadow pass, in units of the depth slope per texel. With a
/// smaller bias a face at a grazing angle shadows itself; with a larger one light leaks in below the foot of a wall.
const AWAY: f32 = -3.0;

/// Effort per pixel. A GPU overlaps fetches; a processor waits for each of them.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Number of depths from which occlusion is estimated.
    pub occlusion_taps: u32,
    /// Comparisons of 2 x 2 texels at the edge of a shadow: 1 or 4.
    pub shadow_taps: u32,
    /// Side of the shadow map (texels).
    pub shadow_size: u32,
}

impl Effort {
    pub fn of(context: &Context) -> Self {
        if !context.info().is_software() {
            Self { occlusion_taps: 24, shadow_taps: 4, shadow_size: 4096 }
        } else {
            Self { occlusion_taps: 10, shadow_taps: 1, shadow_size: 1024 }
        }
    }
}

/// All pipelines of a renderer, with their bind group layouts.
pub struct Passes {
    pub place: wgpu::ComputePipeline,
    pub enter: wgpu::ComputePipeline,
    pub overlap: wgpu::ComputePipeline,
    pub count: wgpu::ComputePipeline,
    pub settle: wgpu::ComputePipeline,
    pub paint: wgpu::ComputePipeline,
    pub shadow: wgpu::RenderPipeline,
    pub visibility: wgpu::RenderPipeline,
    pub surfaces: wgpu::RenderPipeline,
    pub measure: wgpu::RenderPipeline,
    pub occlude: wgpu::RenderPipeline,
    pub soften: wgpu::RenderPipeline,
    pub shade: wgpu::RenderPipeline,
    pub lines: wgpu::RenderPipeline,
    pub chains: wgpu::RenderPipeline,
    /// Walls visible from both sides, and the pass for their shadows.
    pub bodies: wgpu::RenderPipeline,
    pub casts: wgpu::RenderPipeline,
    /// The far side and the near side of hollow walls.
    pub hollow: wgpu::RenderPipeline,
    pub glass: wgpu::RenderPipeline,
    pub edges: wgpu::RenderPipeline,
    /// Bind group layout of walls.
    pub wall_layout: wgpu::BindGroupLayout,
    pub look: wgpu::Buffer,
    pub look_group: wgpu::BindGroup,
    pub nearer: wgpu::Sampler,
    pub effort: Effort,
}

/// Kind of a shader binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Read,
    Written,
    Ids,
    Loaded,
    Shadows,
    Nearer,
}

/// Targets of a pass over pixels.
#[derive(Clone, Copy)]
enum Into {
    Samples,
    Shadows,
    Picture(wgpu::TextureFormat),
    Over(wgpu::TextureFormat),
}

/// Primitives of a pass over pixels.
#[derive(Clone, Copy)]
enum Form {
    /// Strips of two triangles.
    Strips,
    /// Triangles of walls, optionally without the triangles that face towards the camera, or away from it.
    Facets(Option<wgpu::Face>),
}

struct Maker<'a> {
    context: &'a Context,
    look: wgpu::BindGroupLayout,
    walls: wgpu::BindGroupLayout,
    constants: String,
}

impl Passes {
    pub fn new(context: &Context, format: wgpu::TextureFormat) -> Self {
        let device = &context.device;
        let effort = Effort::of(context);
        let look = device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("look"),
            size: size_of::<Look>() as u64,
            usage: wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        let uniform = BindingType::Buffer {
            ty: BufferBindingType::Uniform,
            has_dynamic_offset: false,
            min_binding_size: None,
        };
        let look_layout = layout(device, &[uniform], ShaderStages::all());
        let look_group = bind(device, &look_layout, &[look.as_entire_binding()]);
        let constants = [
            ("GROUP", GROUP),
            ("KNOTS", KNOTS as u32),
            ("BINS", BINS),
            ("TAPS", effort.occlusion_taps),
            ("SHADOW_TAPS", effort.shadow_taps),
        ];
        let colours = Colour::ALL.iter().map(|&colour| (colour.name().to_uppercase(), index_of(colour)));
        let constants = constants.map(|(name, n)| (name.to_owned(), n)).into_iter().chain(colours);
        let constants = constants.map(|(name, n)| format!("const {name}: u32 = {n}u;\n")).collect();
        let buffers: Vec<_> = [Kind::Read; WALL_BINDINGS].iter().map(|kind| kind.binding()).collect();
        let wall_layout = layout(device, &buffers, ShaderStages::VERTEX_FRAGMENT);
        let maker = Maker { context, look: look_layout, walls: wall_layout.clone(), constants };
        let (read, written) = (Kind::Read, Kind::Written);
        let pixels = [read, Kind::Ids, Kind::Loaded, Kind::Loaded];
        let shading = [read, read, Kind::Ids, Kind::Loaded, Kind::Shadows, Kind::Nearer];
        Self {
            place: maker.compute("place", PLACE, &[read, read, read, written, written, read]),
            enter: maker.compute("enter", OVERLAP, &[read, read, written, written, written]),
            overlap: maker.compute("overlap", OVERLAP, &[read, read, written, written, written]),
            count: maker.compute("count", RANGE, &[read, written, written]),
            settle: maker.compute("settle", RANGE, &[read, written, written]),
            paint: maker.compute("paint", PAINT, &[read, read, read, written]),
            shadow: maker.draw(SHADOW, ["discs", "punch"], &[read], Into::Shadows),
            visibility: maker.draw(VISIBILITY, ["corners", "hit"], &[read], Into::Samples),
            surfaces: maker.draw(VISIBILITY, ["spread", "cover"], &[read], Into::Samples),
            measure: maker.draw(OCCLUSION, ["screen", "measure"], &pixels[..2], Into::Picture(HALF_DEPTH)),
            occlude: maker.draw(OCCLUSION, ["screen", "occlude"], &pixels[..3], Into::Picture(OPENNESS)),
            soften: maker.draw(OCCLUSION, ["screen", "soften"], &pixels, Into::Picture(OPENNESS)),
            shade: maker.draw(SHADE, ["screen", "shade"], &shading, Into::Picture(format)),
            lines: maker.draw(LINES, ["strokes", "stroke"], &pixels[..2], Into::Over(format)),
            chains: maker.draw(CHAINS, ["chains", "chain"], &[read], Into::Over(format)),
            bodies: maker.walls(["facets", "body"], &[read], Into::Samples, None),
            casts: maker.walls(["casts", "block"], &[read], Into::Shadows, None),
            hollow: maker.walls(["facets", "body"], &[read], Into::Samples, Some(wgpu::Face::Front)),
            glass: maker.walls(["facets", "glass"], &pixels[..2], Into::Over(format), Some(wgpu::Face::Back)),
            edges: maker.draw(LINES, ["edges", "stroke"], &pixels[..2], Into::Over(format)),
            wall_layout,
            look,
            look_group,
            nearer: device.create_sampler(&wgpu::SamplerDescriptor {
                label: Some("nearer to the light"),
                mag_filter: wgpu::FilterMode::Linear,
                min_filter: wgpu::FilterMode::Linear,
                compare: Some(wgpu::CompareFunction::GreaterEqual),
                ..Default::default()
            }),
            effort,
        }
    }
}

impl Maker<'_> {
    fn layout(&self, kinds: &[Kind]) -> wgpu::PipelineLayout {
        let device = &self.context.device;
        let stages = if kinds.contains(&Kind::Written) {
            ShaderStages::COMPUTE
        } else {
            ShaderStages::VERTEX_FRAGMENT
        };
        let types: Vec<_> = kinds.iter().map(|kind| kind.binding()).collect();
        let own = layout(device, &types, stages);
        let groups = [Some(&self.look), Some(&own), Some(&self.walls)];
        let count = if stages == ShaderStages::COMPUTE { 2 } else { 3 };
        device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: None,
            bind_group_layouts: &groups[..count],
            immediate_size: 0,
        })
    }

    fn module(&self, label: &str, source: &str) -> wgpu::ShaderModule {
        let text = format!("{}{LOOK}\n{source}", self.constants);
        self.context.device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some(label),
            source: wgpu::ShaderSource::Wgsl(text.into()),
        })
    }

    fn compute(&self, entry: &str, source: &str, kinds: &[Kind]) -> wgpu::ComputePipeline {
        self.context.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some(entry),
            layout: Some(&self.layout(kinds)),
            module: &self.module(entry, source),
            entry_point: Some(entry),
            compilation_options: Default::default(),
            cache: self.context.pipeline_cache(),
        })
    }

    fn draw(&self, source: &str, entries: [&str; 2], kinds: &[Kind], into: Into) -> wgpu::RenderPipeline {
        self.raster(source, entries, kinds, into, Form::Strips)
    }

    fn walls(
        &self,
        entries: [&str; 2],
        kinds: &[Kind],
        into: Into,
        but: Option<wgpu::Face>,
    ) -> wgpu::RenderPipeline {
        self.raster(WALLS, entries, kinds, into, Form::Facets(but))
    }

    fn raster(
        &self,
        source: &str,
        entries: [&str; 2],
        kinds: &[Kind],
        into: Into,
        form: Form,
    ) -> wgpu::RenderPipeline {
        let module = self.module(entries[1], source);
        let (primitive, away) = match form {
            Form::Strips => {
                let topology = wgpu::PrimitiveTopology::TriangleStrip;
                (wgpu::PrimitiveState { topology, ..Default::default() }, 0.0)
            }
            Form::Facets(cull_mode) => {
                let topology = wgpu::PrimitiveTopology::TriangleList;
                (wgpu::PrimitiveState { topology, cull_mode, ..Default::default() }, AWAY)
            }
        };
        let depth = |format, away| wgpu::DepthStencilState {
            format,
            depth_write_enabled: Some(true),
            depth_compare: Some(wgpu::CompareFunction::Greater),
            stencil: Default::default(),
            bias: wgpu::DepthBiasState { slope_scale: away, ..Default::default() },
        };
        let (target, depth_stencil, count) = match into {
            Into::Samples => (Some(IDS.into()), Some(depth(DEPTH, 0.0)), SAMPLES),
            Into::Shadows => (None, Some(depth(SHADOWS, away)), 1),
            Into::Picture(format) => (Some(format.into()), None, 1),
            Into::Over(format) => {
                let blend = Some(wgpu::BlendState::ALPHA_BLENDING);
                (Some(wgpu::ColorTargetState { blend, ..format.into() }), None, 1)
            }
        };
        self.context.device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
            label: Some(entries[1]),
            layout: Some(&self.layout(kinds)),
            vertex: wgpu::VertexState {
                module: &module,
                entry_point: Some(entries[0]),
                compilation_options: Default::default(),
                buffers: &[],
            },
            primitive,
            depth_stencil,
            multisample: wgpu::MultisampleState { count, ..Default::default() },
            fragment: Some(wgpu::FragmentState {
                module: &module,
                entry_point: Some(entries[1]),
                compilation_options: Default::default(),
                targets: if target.is_some() { std::slice::from_ref(&target) } else { &[] },
            }),
            multiview_mask: None,
            cache: self.context.pipeline_cache(),
        })
    }
}

impl Kind {
    fn binding(self) -> BindingType {
        let texture = |sample_type, multisampled| BindingType::Texture {
            sample_type,
            view_dimension: TextureViewDimension::D2,
            multisampled,
        };
        match self {
            Self::Read | Self::Written => BindingType::Buffer {
                ty: BufferBindingType::Storage { read_only: self == Self::Read },
                has_dynamic_offset: false,
                min_binding_size: None,
            },
            Self::Ids => texture(TextureSampleType::Uint, true),
            Self::Loaded => texture(TextureSampleType::Float { filterable: false }, false),
            Self::Shadows => texture(TextureSampleType::Depth, false),
            Self::Nearer => BindingType::Sampler(wgpu::SamplerBindingType::Comparison),
        }
    }
}

fn layout(device: &wgpu::Device, types: &[BindingType], visibility: ShaderStages) -> wgpu::BindGroupLayout {
    let entries: Vec<_> = (0..)
        .zip(types)
        .map(|(binding, &ty)| wgpu::BindGroupLayoutEntry { binding, visibility, ty, count: None })
        .collect();
    device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label: None, entries: &entries })
}

/// Binds resources in order.
pub fn bind(
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
