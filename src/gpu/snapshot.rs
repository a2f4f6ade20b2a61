//! Copies of buffers on the device, to go back to.

use super::{Context, buffers::make_buffer};
use crate::Error;

/// See the module; empty until something was kept.
#[derive(Default)]
pub struct Snapshot {
    buffers: Vec<wgpu::Buffer>,
}

impl Snapshot {
    /// Bytes of what it holds.
    pub fn bytes(&self) -> u64 {
        self.buffers.iter().map(wgpu::Buffer::size).sum()
    }

    /// Makes room for as much as these buffers hold.
    ///
    /// # Errors
    /// [`Error::Capacity`] where the device has none.
    pub fn reallocate(&mut self, context: &Context, sources: &[&wgpu::Buffer]) -> Result<(), Error> {
        let fits = self.buffers.iter().map(wgpu::Buffer::size).eq(sources.iter().map(|s| s.size()));
        if !fits {
            let usage = wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
            // What is too small goes first: the device may not have room for both.
            self.buffers.clear();
            for source in sources {
                self.buffers.push(make_buffer(context, "snapshot", source.size(), usage)?);
            }
        }
        Ok(())
    }

    /// Keeps what these buffers hold when the device comes to this command. There is room for it.
    pub fn keep(&self, encoder: &mut wgpu::CommandEncoder, sources: &[&wgpu::Buffer]) {
        for (source, kept) in sources.iter().zip(&self.buffers) {
            encoder.copy_buffer_to_buffer(source, 0, kept, 0, source.size());
        }
    }

    /// Puts it back.
    pub fn put_back(&self, context: &Context, targets: &[&wgpu::Buffer]) {
        let mut encoder = context.device.create_command_encoder(&Default::default());
        for (kept, target) in self.buffers.iter().zip(targets) {
            // What has grown since holds what was kept in its first part.
            encoder.copy_buffer_to_buffer(kept, 0, target, 0, kept.size().min(target.size()));
        }
        context.queue.submit([encoder.finish()]);
    }
}
