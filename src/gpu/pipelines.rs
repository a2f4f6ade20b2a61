//! The compute pipelines, one per entry point.

use std::collections::HashMap;

use rayon::prelude::*;

use super::{
    Context,
    layout::{Frame, Round},
    shaders::{Adapted, Group, Module, Variant},
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
    /// Compiles all shaders for one kind of system, on all cores.
    ///
    /// # Errors
    /// [`Error::DeviceLost`], [`Error::Unsupported`] if the driver rejects a shader.
    pub fn new(context: &Context, variant: Variant) -> Result<Self, Error> {
        let device = &context.device;
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
        let layouts = [layout(&broad), layout(&view), layout(&rest)];
        let modules: Vec<&Module> = variant.modules().collect();
        // A driver compiles for seconds, and most compile one pipeline on one core.
        let shaders = modules
            .par_iter()
            .map(|module| checked(context, || shader_module(context, module, variant)))
            .collect::<Result<Vec<_>, Error>>()?;
        let entries: Vec<(usize, &'static str)> = modules
            .iter()
            .enumerate()
            .flat_map(|(k, module)| module.entries.iter().map(move |e| (k, *e)))
            .collect();
        let entries = entries
            .par_iter()
            .map(|&(k, entry)| {
                let layout = &layouts[match modules[k].group {
                    Group::Broad => 0,
                    Group::Substep => 1,
                    Group::Rest => 2,
                }];
                checked(context, || (entry, pipeline(context, &shaders[k], entry, layout)))
            })
            .collect::<Result<HashMap<_, _>, Error>>()?;
        context.check()?;
        context.save_pipeline_cache();
        Ok(Self { entries, variant, uniforms, broad, view, rest })
    }

    /// The pipeline of an entry point.
    pub fn get(&self, entry: &str) -> &wgpu::ComputePipeline {
        &self.entries[entry]
    }
}

// Calls a function that creates something; error scopes belong to a thread.
fn checked<T>(context: &Context, create: impl FnOnce() -> T) -> Result<T, Error> {
    let scope = context.device.push_error_scope(wgpu::ErrorFilter::Validation);
    let created = create();
    match pollster::block_on(scope.pop()) {
        None => Ok(created),
        Some(error) => {
            context.check()?;
            Err(Error::Unsupported(format!("{} refuses a shader: {error}", context.info())))
        }
    }
}

fn shader_module(context: &Context, module: &Module, variant: Variant) -> wgpu::ShaderModule {
    let text = module.source(variant, Adapted::to(context));
    #[cfg(test)]
    let text = context.with_slips(module.name, text);
    context.device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: Some(module.name),
        source: wgpu::ShaderSource::Wgsl(text.into()),
    })
}

fn pipeline(
    context: &Context,
    module: &wgpu::ShaderModule,
    entry: &'static str,
    layout: &wgpu::PipelineLayout,
) -> wgpu::ComputePipeline {
    context.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: Some(entry),
        layout: Some(layout),
        module,
        entry_point: Some(entry),
        compilation_options: wgpu::PipelineCompilationOptions {
            zero_initialize_workgroup_memory: true,
            ..Default::default()
        },
        cache: context.pipeline_cache(),
    })
}
