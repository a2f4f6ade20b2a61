//! The compute pipelines, one per entry point.

use std::collections::HashMap;

use super::{
    Context,
    layout::{Frame, Round},
    shaders::{Group, Variant, rest_lanes},
};
use crate::Error;

/// Pipelines by entry point, and their bind group layouts.
pub struct Pipelines {
    entries: HashMap<&'static str, wgpu::ComputePipeline>,
    /// The kind of system that the pipelines are compiled for.
    pub variant: Variant,
    /// Frame and round.
    pub uniforms: wgpu::BindGroupLayout,
    /// The buffers of the broad phase.
    pub broad: wgpu::BindGroupLayout,
    /// The buffers of a substep.
    pub view: wgpu::BindGroupLayout,
    /// The buffers of a substep for resting contacts.
    pub rest: wgpu::BindGroupLayout,
}

/// Bindings of the buffers that shaders only read.
const BROAD_READ_ONLY: &[u32] = &[6];
const VIEW_READ_ONLY: &[u32] = &[4, 6];

/// Storage buffers per bind group; WebGPU guarantees no more.
const STORAGE_BUFFERS: u32 = 8;

impl Pipelines {
    /// Compiles all shaders for one kind of system.
    ///
    /// # Errors
    /// [`Error::DeviceLost`], [`Error::Unsupported`] if the driver rejects a shader.
    pub fn new(context: &Context, variant: Variant) -> Result<Self, Error> {
        let device = &context.device;
        let scope = device.push_error_scope(wgpu::ErrorFilter::Validation);
        let uniform = |binding, size| wgpu::BindGroupLayoutEntry {
            binding,
            visibility: wgpu::ShaderStages::COMPUTE,
            ty: wgpu::BindingType::Buffer {
                ty: wgpu::BufferBindingType::Uniform,
                has_dynamic_offset: true,
                min_binding_size: wgpu::BufferSize::new(size),
            },
            count: None,
        };
        let uniforms = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: Some("uniforms"),
            entries: &[uniform(0, size_of::<Frame>() as u64), uniform(1, size_of::<Round>() as u64)],
        });
        let storage = |label, read_only: &[u32]| {
            let entries: Vec<_> = (0..STORAGE_BUFFERS)
                .map(|binding| wgpu::BindGroupLayoutEntry {
                    binding,
                    visibility: wgpu::ShaderStages::COMPUTE,
                    ty: wgpu::BindingType::Buffer {
                        ty: wgpu::BufferBindingType::Storage { read_only: read_only.contains(&binding) },
                        has_dynamic_offset: false,
                        min_binding_size: None,
                    },
                    count: None,
                })
                .collect();
            device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
                label: Some(label),
                entries: &entries,
            })
        };
        let broad = storage("broad phase", BROAD_READ_ONLY);
        let view = storage("substep", VIEW_READ_ONLY);
        let rest = storage("rest", VIEW_READ_ONLY);
        let layout = |storage| {
            device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
                label: Some("carom"),
                bind_group_layouts: &[Some(&uniforms), Some(storage)],
                immediate_size: 0,
            })
        };
        let (broad_layout, view_layout, rest_layout) = (layout(&broad), layout(&view), layout(&rest));
        let mut entries = HashMap::new();
        for module in variant.modules() {
            let text = module.source(variant, rest_lanes(context.is_hardware()));
            #[cfg(test)]
            let text = context.with_slips(module.name, text);
            let source = wgpu::ShaderModuleDescriptor {
                label: Some(module.name),
                source: wgpu::ShaderSource::Wgsl(text.into()),
            };
            let shader = device.create_shader_module(source);
            for &entry in module.entries {
                let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                    label: Some(entry),
                    layout: Some(match module.group {
                        Group::Broad => &broad_layout,
                        Group::Substep => &view_layout,
                        Group::Rest => &rest_layout,
                    }),
                    module: &shader,
                    entry_point: Some(entry),
                    compilation_options: wgpu::PipelineCompilationOptions {
                        zero_initialize_workgroup_memory: true,
                        ..Default::default()
                    },
                    cache: context.pipeline_cache(),
                });
                entries.insert(entry, pipeline);
            }
        }
        if let Some(error) = pollster::block_on(scope.pop()) {
            context.check()?;
            return Err(Error::Unsupported(format!("{} refuses a shader: {error}", context.info())));
        }
        context.save_pipeline_cache();
        Ok(Self { entries, variant, uniforms, broad, view, rest })
    }

    /// The pipeline of an entry point.
    pub fn get(&self, entry: &str) -> &wgpu::ComputePipeline {
        &self.entries[entry]
    }
}
