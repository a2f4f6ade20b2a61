//! The compute pipelines, one per entry point, compiled when they are first needed.

use std::{collections::HashMap, sync::OnceLock, time::Instant};

use rayon::prelude::*;

use super::{
    Context,
    layout::{Frame, Round},
    shaders::{Adapted, Module, Variant},
};
use crate::Error;

/// Pipelines by entry point, and their bind group layouts.
pub struct Pipelines {
    modules: Vec<(&'static Module, OnceLock<wgpu::ShaderModule>)>,
    entries: HashMap<&'static str, EntryPoint>,
    /// The layouts of the groups of buffers, in the order of [`Group`](super::shaders::Group).
    layouts: [wgpu::PipelineLayout; 3],
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

struct EntryPoint {
    /// Index of its module.
    module: usize,
    pipeline: OnceLock<wgpu::ComputePipeline>,
}

/// Bindings of the buffers that shaders only read.
const BROAD_READ_ONLY: &[u32] = &[6];
const VIEW_READ_ONLY: &[u32] = &[4, 6];

/// Storage buffers per bind group; WebGPU guarantees no more.
const STORAGE_BUFFERS: u32 = 8;

impl Pipelines {
    /// Pipelines for one kind of system, of which none is compiled yet.
    pub fn new(context: &Context, variant: Variant) -> Self {
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
        let layouts = [&broad, &view, &rest].map(layout);
        let modules: Vec<_> = variant.modules().map(|module| (module, OnceLock::new())).collect();
        let entries = modules
            .iter()
            .enumerate()
            .flat_map(|(module, (of, _))| of.entries.iter().map(move |entry| (*entry, module)))
            .map(|(entry, module)| (entry, EntryPoint { module, pipeline: OnceLock::new() }))
            .collect();
        Self { modules, entries, layouts, variant, uniforms, broad, view, rest }
    }

    /// All entry points.
    pub fn entries(&self) -> impl Iterator<Item = &'static str> {
        self.entries.keys().copied()
    }

    /// Compiles the pipelines of these entry points that are not compiled yet, on all cores.
    ///
    /// # Errors
    /// [`Error::DeviceLost`], [`Error::Unsupported`] if the driver rejects a shader.
    pub fn compile(
        &self,
        context: &Context,
        entries: impl Iterator<Item = &'static str>,
    ) -> Result<(), Error> {
        let mut missing: Vec<_> = entries.filter(|e| self.entries[e].pipeline.get().is_none()).collect();
        if missing.is_empty() {
            return Ok(());
        }
        let begin = Instant::now();
        missing.sort_unstable();
        missing.dedup();
        let mut modules: Vec<_> = missing.iter().map(|entry| self.entries[entry].module).collect();
        modules.sort_unstable();
        modules.dedup();
        // A driver compiles for seconds, and most compile one pipeline on one core. No thread waits for another one that compiles the
        // same: rayon may run it on the stack of that other one, which would wait for ever. The first result counts.
        modules.into_par_iter().try_for_each(|module| -> Result<(), Error> {
            let (module, shader) = &self.modules[module];
            if shader.get().is_none() {
                shader.set(checked(context, || shader_module(context, module, self.variant))?).ok();
            }
            Ok(())
        })?;
        missing.into_par_iter().try_for_each(|entry| -> Result<(), Error> {
            let EntryPoint { module, pipeline: compiled } = &self.entries[entry];
            let (module, shader) = &self.modules[*module];
            let shader = shader.get().expect("compiled above");
            let layout = &self.layouts[module.group as usize];
            compiled.set(checked(context, || pipeline(context, shader, entry, layout))?).ok();
            Ok(())
        })?;
        context.check()?;
        context.save_pipeline_cache();
        context.compiled_for(begin.elapsed());
        Ok(())
    }

    #[cfg(test)]
    pub fn is_compiled(&self, entry: &str) -> bool {
        self.entries[entry].pipeline.get().is_some()
    }

    /// The pipeline of an entry point, which must be compiled.
    pub fn get(&self, entry: &str) -> &wgpu::ComputePipeline {
        self.entries[entry].pipeline.get().expect("a compiled pipeline")
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
