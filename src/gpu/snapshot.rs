//! Copies of buffers on the device, for restoring them later.

use super::{Context, buffers::make_buffer};
use crate::Error;

/// Copies of a list of buffers; empty until the first `keep`.
#[derive(Default)]
pub struct Snapshot {
    buffers: Vec<wgpu::Buffer>,
}

impl Snapshot {
    /// Size of the copies (bytes).
    pub fn bytes(&self) -> u64 {
        self.buffers.iter().map(wgpu::Buffer::size).sum()
    }

    /// Allocates copies as large as these buffers.
    ///
    /// # Errors
    /// [`Error::Capacity`] if the device has no memory for them.
    pub fn reallocate(&mut self, context: &Context, sources: &[&wgpu::Buffer]) -> Result<(), Error> {
        let fits = self.buffers.iter().map(wgpu::Buffer::size).eq(sources.iter().map(|s| s.size()));
        if !fits {
            let usage = wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
            // The old copies are freed first: the device may not have memory for both.
            self.buffers.clear();
            for source in sources {
                self.buffers.push(make_buffer(context, "snapshot", source.size(), usage)?);
            }
        }
        Ok(())
    }

    /// The commands that copy the buffers. Precondition: the copies are allocated.
    pub fn keep(&self, sources: &[&wgpu::Buffer]) -> impl FnOnce(&mut wgpu::CommandEncoder) + use<> {
        let copies: Vec<_> =
            sources.iter().map(|source| (*source).clone()).zip(self.buffers.clone()).collect();
        move |commands| {
            for (source, kept) in copies {
                commands.copy_buffer_to_buffer(&source, 0, &kept, 0, source.size());
            }
        }
    }

    /// Restores the buffers.
    pub fn put_back(&self, context: &Context, targets: &[&wgpu::Buffer]) {
        let mut encoder = context.device.create_command_encoder(&Default::default());
        for (kept, target) in self.buffers.iter().zip(targets) {
            // A buffer that has grown since holds the copy in its first part.
            encoder.copy_buffer_to_buffer(kept, 0, target, 0, kept.size().min(target.size()));
        }
        context.queue.submit([encoder.finish()]);
    }
}
