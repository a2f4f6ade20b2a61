//! Measures the time of each stage with timestamps that the device writes around every pass.

use super::{Context, buffers::make_buffer};
use crate::{Error, step::schedule::STAGES};

/// Timestamps per query set: the most that WebGPU allows.
const QUERIES: u32 = 4096;

/// Timestamp queries around passes, and the seconds of each stage.
pub struct Timing {
    queries: wgpu::QuerySet,
    resolved: wgpu::Buffer,
    readback: wgpu::Buffer,
    /// The stage of every pass so far.
    stages: Vec<usize>,
    /// Seconds per stage since the last `take`.
    seconds: Vec<f64>,
    period: f64,
}

impl Timing {
    /// Returns `None` if the adapter writes no timestamps.
    ///
    /// # Errors
    /// [`Error::Capacity`] if the device has no memory for the timestamps.
    pub fn new(context: &Context) -> Result<Option<Self>, Error> {
        use wgpu::BufferUsages as Usage;
        let device = &context.device;
        if !device.features().contains(wgpu::Features::TIMESTAMP_QUERY) {
            return Ok(None);
        }
        let queries = device.create_query_set(&wgpu::QuerySetDescriptor {
            label: Some("stages"),
            ty: wgpu::QueryType::Timestamp,
            count: QUERIES,
        });
        let bytes = 8 * u64::from(QUERIES);
        Ok(Some(Self {
            queries,
            resolved: make_buffer(context, "timestamps", bytes, Usage::QUERY_RESOLVE | Usage::COPY_SRC)?,
            readback: make_buffer(context, "timestamps", bytes, Usage::MAP_READ | Usage::COPY_DST)?,
            stages: vec![],
            seconds: vec![0.0; STAGES.len()],
            period: f64::from(context.queue.get_timestamp_period()),
        }))
    }

    /// Timestamps for the next pass; `None` if the query set is full. Further passes are not timed.
    pub fn writes(&mut self, stage: &str) -> Option<wgpu::ComputePassTimestampWrites<'_>> {
        let at = 2 * self.stages.len() as u32;
        if at + 2 > QUERIES {
            return None;
        }
        self.stages.push(STAGES.iter().position(|s| s.name == stage).expect("a stage of the table"));
        Some(wgpu::ComputePassTimestampWrites {
            query_set: &self.queries,
            beginning_of_pass_write_index: Some(at),
            end_of_pass_write_index: Some(at + 1),
        })
    }

    /// Encodes the end of timing, after the last pass of a step.
    pub fn resolve(&self, encoder: &mut wgpu::CommandEncoder) {
        let count = 2 * self.stages.len() as u32;
        if count > 0 {
            encoder.resolve_query_set(&self.queries, 0..count, &self.resolved, 0);
            encoder.copy_buffer_to_buffer(&self.resolved, 0, &self.readback, 0, 8 * u64::from(count));
        }
    }

    /// Adds the times of the completed submission; waits for the copy.
    ///
    /// # Errors
    /// [`Error::DeviceLost`].
    pub fn read(&mut self, context: &Context) -> Result<(), Error> {
        if self.stages.is_empty() {
            return Ok(());
        }
        let bytes = super::readback::read_now(context, &self.readback, 16 * self.stages.len() as u64)?;
        let stamps: Vec<u64> = bytemuck::pod_collect_to_vec(&bytes);
        for (stage, pair) in self.stages.drain(..).zip(stamps.chunks_exact(2)) {
            self.seconds[stage] += pair[1].saturating_sub(pair[0]) as f64 * self.period * 1e-9;
        }
        Ok(())
    }

    /// Seconds per stage since the last call.
    pub fn take(&mut self) -> Vec<f64> {
        std::mem::replace(&mut self.seconds, vec![0.0; STAGES.len()])
    }
}
