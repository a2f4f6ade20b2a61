//! Compute shaders of the doctor: compiles, binds, runs and times them.

use std::time::Instant;

use crate::{
    Error,
    gpu::{Context, buffers::make_buffer, readback::download},
};

/// Invocations of a workgroup in the shaders of the doctor; as in most stages.
pub const LANES: u32 = 64;

/// A compiled entry point.
pub struct Kernel {
    pipeline: wgpu::ComputePipeline,
}

impl Kernel {
    /// Compiles an entry point of a shader. `name` is the name of the module in messages.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the driver refuses the shader, [`Error::DeviceLost`].
    pub fn new(context: &Context, name: &'static str, text: &str, entry: &str) -> Result<Self, Error> {
        let device = &context.device;
        let text = text.to_owned();
        #[cfg(test)]
        let text = context.with_slips(name, text);
        let scope = device.push_error_scope(wgpu::ErrorFilter::Validation);
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some(name),
            source: wgpu::ShaderSource::Wgsl(text.into()),
        });
        let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some(entry),
            layout: None,
            module: &module,
            entry_point: Some(entry),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            cache: context.pipeline_cache(),
        });
        if let Some(error) = pollster::block_on(scope.pop()) {
            context.check()?;
            return Err(Error::Unsupported(format!("{} refuses the shader {name}: {error}", context.info())));
        }
        Ok(Self { pipeline })
    }

    // The bindings of the buffers by their numbers.
    fn bind(&self, context: &Context, buffers: &[(u32, &wgpu::Buffer)]) -> wgpu::BindGroup {
        let entries: Vec<_> = buffers
            .iter()
            .map(|&(binding, buffer)| wgpu::BindGroupEntry { binding, resource: buffer.as_entire_binding() })
            .collect();
        context.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("doctor"),
            layout: &self.pipeline.get_bind_group_layout(0),
            entries: &entries,
        })
    }

    /// Runs the entry point once and waits for the words of the last buffer.
    ///
    /// # Errors
    /// [`Error::DeviceLost`], [`Error::Capacity`].
    pub fn run(
        &self,
        context: &Context,
        buffers: &[(u32, &wgpu::Buffer)],
        groups: u32,
    ) -> Result<Vec<u32>, Error> {
        self.time(context, buffers, groups, 1)?;
        let (_, last) = buffers.last().expect("a buffer for results");
        words(context, last)
    }

    /// Runs the entry point `times` times in one submit and waits for the end.
    ///
    /// # Errors
    /// [`Error::DeviceLost`], [`Error::Capacity`].
    pub fn time(
        &self,
        context: &Context,
        buffers: &[(u32, &wgpu::Buffer)],
        groups: u32,
        times: u32,
    ) -> Result<Timed, Error> {
        let group = self.bind(context, buffers);
        let stamps = Stamps::new(context)?;
        let begin = Instant::now();
        let mut encoder =
            context.device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("doctor") });
        {
            let timestamp_writes = stamps.as_ref().map(Stamps::writes);
            let descriptor = wgpu::ComputePassDescriptor { label: Some("doctor"), timestamp_writes };
            let mut pass = encoder.begin_compute_pass(&descriptor);
            pass.set_pipeline(&self.pipeline);
            pass.set_bind_group(0, &group, &[]);
            for _ in 0..times {
                pass.dispatch_workgroups(groups, 1, 1);
            }
        }
        if let Some(stamps) = &stamps {
            encoder.resolve_query_set(&stamps.queries, 0..2, &stamps.resolved, 0);
        }
        context.queue.submit([encoder.finish()]);
        // Reading any byte waits for all of it.
        let (_, any) = buffers.first().expect("a buffer");
        download(context, &[(any, 0, 16)])?;
        let wall = begin.elapsed().as_secs_f64();
        let device = stamps.map(|stamps| stamps.seconds(context)).transpose()?.flatten();
        context.check()?;
        Ok(Timed { wall, device })
    }
}

/// Seconds of a submit.
#[derive(Clone, Copy)]
pub struct Timed {
    /// By the clock of the host, from the begin of encoding to the end of the wait.
    pub wall: f64,
    /// By timestamps, where the device writes them.
    pub device: Option<f64>,
}

/// Two timestamps around a pass.
struct Stamps {
    queries: wgpu::QuerySet,
    resolved: wgpu::Buffer,
    period: f64,
}

impl Stamps {
    fn new(context: &Context) -> Result<Option<Self>, Error> {
        if !context.device.features().contains(wgpu::Features::TIMESTAMP_QUERY) {
            return Ok(None);
        }
        let usage = wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC;
        let queries = context.device.create_query_set(&wgpu::QuerySetDescriptor {
            label: Some("doctor"),
            ty: wgpu::QueryType::Timestamp,
            count: 2,
        });
        let period = f64::from(context.queue.get_timestamp_period());
        Ok(Some(Self { queries, resolved: make_buffer(context, "timestamps", 16, usage)?, period }))
    }

    fn writes(&self) -> wgpu::ComputePassTimestampWrites<'_> {
        wgpu::ComputePassTimestampWrites {
            query_set: &self.queries,
            beginning_of_pass_write_index: Some(0),
            end_of_pass_write_index: Some(1),
        }
    }

    // None if the device wrote the same time twice.
    fn seconds(&self, context: &Context) -> Result<Option<f64>, Error> {
        let bytes = download(context, &[(&self.resolved, 0, 16)])?;
        let stamps: Vec<u64> = bytemuck::pod_collect_to_vec(&bytes[0]);
        let ticks = stamps[1].saturating_sub(stamps[0]);
        Ok((ticks > 0).then_some(ticks as f64 * self.period * 1e-9))
    }
}

/// A storage buffer with these words.
///
/// # Errors
/// [`Error::Capacity`].
pub fn storage(context: &Context, words: &[u32]) -> Result<wgpu::Buffer, Error> {
    use wgpu::BufferUsages as Usage;
    let usage = Usage::STORAGE | Usage::COPY_SRC | Usage::COPY_DST;
    let buffer = make_buffer(context, "doctor", 4 * words.len() as u64, usage)?;
    context.queue.write_buffer(&buffer, 0, bytemuck::cast_slice(words));
    Ok(buffer)
}

/// The words of a storage buffer.
///
/// # Errors
/// [`Error::DeviceLost`].
pub fn words(context: &Context, buffer: &wgpu::Buffer) -> Result<Vec<u32>, Error> {
    let bytes = download(context, &[(buffer, 0, buffer.size())])?;
    Ok(bytemuck::pod_collect_to_vec(&bytes[0]))
}
