//! Measures the copy bandwidth of the device, an upper bound on the rate at which a stage can read and write memory.

use std::time::Instant;

use super::{Context, buffers::make_buffer, readback::download};
use crate::Error;

/// Bytes of a copy if memory allows: more than the caches of most devices hold; a smaller copy would measure the
/// caches.
const MOST_BYTES: u64 = 256 << 20;

/// Bytes of a copy on a software adapter: a processor is slower and has smaller caches.
const MOST_SOFTWARE_BYTES: u64 = 64 << 20;

/// A copy of fewer bytes would only measure caches.
const LEAST_BYTES: u64 = 4 << 20;

/// Copies per measurement: enough to make the submission time negligible.
const COPIES: u32 = 8;

/// Number of measurements. The fastest counts, because interference only slows a copy down.
const ROUNDS: u32 = 3;

/// Two timestamps.
struct Stamps {
    queries: wgpu::QuerySet,
    resolved: wgpu::Buffer,
    nanoseconds: f64,
}

impl Stamps {
    // Returns `None` if the device writes no timestamps.
    fn new(context: &Context) -> Result<Option<Self>, Error> {
        if !context.device.features().contains(wgpu::Features::TIMESTAMP_QUERY) {
            return Ok(None);
        }
        let usage = wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC;
        Ok(Some(Self {
            queries: context.device.create_query_set(&wgpu::QuerySetDescriptor {
                label: Some("copies"),
                ty: wgpu::QueryType::Timestamp,
                count: 2,
            }),
            resolved: make_buffer(context, "timestamps", 16, usage)?,
            nanoseconds: f64::from(context.queue.get_timestamp_period()),
        }))
    }

    // Only passes can write timestamps without a feature that few devices have, so this encodes an empty pass.
    fn write(&self, encoder: &mut wgpu::CommandEncoder, index: u32) {
        encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
            label: Some("timestamp"),
            timestamp_writes: Some(wgpu::ComputePassTimestampWrites {
                query_set: &self.queries,
                beginning_of_pass_write_index: (index == 0).then_some(index),
                end_of_pass_write_index: (index == 1).then_some(index),
            }),
        });
    }

    fn seconds(&self, bytes: &[u8]) -> f64 {
        let stamps: Vec<u64> = bytemuck::pod_collect_to_vec(bytes);
        stamps[1].saturating_sub(stamps[0]) as f64 * self.nanoseconds * 1e-9
    }
}

impl Context {
    /// Bytes per second, read and written together, at which the device copies one buffer into another: a reference
    /// for stages that mostly move bytes. Uses timestamps if the device writes them, otherwise the host's clock. Takes
    /// up to a second on a slow device, and allocates up to half a gibibyte of its memory.
    ///
    /// On a software adapter the result is the copy speed of the driver on the processor, often on a single thread.
    ///
    /// # Errors
    /// [`Error::DeviceLost`]; [`Error::Capacity`] if the device cannot allocate a few megabytes.
    pub fn copy_bandwidth(&self) -> Result<f64, Error> {
        self.check()?;
        let (from, to) = self.two_buffers()?;
        let stamps = Stamps::new(self)?;
        // The first copy clears both buffers and faults in their pages.
        self.seconds_of_copies(1, &from, &to, None)?;
        let mut best = f64::INFINITY;
        for _ in 0..ROUNDS {
            best = best.min(self.seconds_of_copies(COPIES, &from, &to, stamps.as_ref())?);
        }
        Ok(2.0 * from.size() as f64 * f64::from(COPIES) / best)
    }

    fn two_buffers(&self) -> Result<(wgpu::Buffer, wgpu::Buffer), Error> {
        let usage = wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
        let most = if self.info().is_software() { MOST_SOFTWARE_BYTES } else { MOST_BYTES };
        let mut bytes = most.min(self.device.limits().max_buffer_size);
        loop {
            let make = || make_buffer(self, "copy", bytes, usage);
            match make().and_then(|from| Ok((from, make()?))) {
                Err(Error::Capacity(_)) if bytes > LEAST_BYTES => bytes /= 2,
                other => return other,
            }
        }
    }

    fn seconds_of_copies(
        &self,
        copies: u32,
        from: &wgpu::Buffer,
        to: &wgpu::Buffer,
        stamps: Option<&Stamps>,
    ) -> Result<f64, Error> {
        let mut encoder =
            self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("copies") });
        if let Some(stamps) = stamps {
            stamps.write(&mut encoder, 0);
        }
        for _ in 0..copies {
            encoder.copy_buffer_to_buffer(from, 0, to, 0, from.size());
        }
        if let Some(stamps) = stamps {
            stamps.write(&mut encoder, 1);
            encoder.resolve_query_set(&stamps.queries, 0..2, &stamps.resolved, 0);
        }
        let start = Instant::now();
        self.queue.submit([encoder.finish()]);
        // Reading any byte of the result waits for all copies.
        download(self, &[(to, 0, 16)])?;
        let wall = start.elapsed().as_secs_f64();
        let Some(stamps) = stamps else { return Ok(wall) };
        let timed = stamps.seconds(&download(self, &[(&stamps.resolved, 0, 16)])?[0]);
        // A driver may write both timestamps at once, because the passes are empty, or write none.
        Ok(if timed > 0.5 * wall && timed <= wall { timed } else { wall })
    }
}
