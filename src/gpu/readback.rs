//! Copies bytes from the device to the host.

use std::{
    sync::mpsc::{Receiver, channel},
    time::{Duration, Instant},
};

use super::{Context, buffers::make_buffer};
use crate::Error;

/// Longest delay between a finished result and its callback.
const PATIENCE: Duration = Duration::from_secs(10);

/// A buffer being mapped.
pub struct Pending {
    buffer: wgpu::Buffer,
    bytes: u64,
    mapped: Receiver<Result<(), wgpu::BufferAsyncError>>,
    submission: wgpu::SubmissionIndex,
    /// When the host submitted the work that fills the buffer.
    pub submitted: Instant,
}

impl Pending {
    /// Requests the buffer once the submission that fills it is done.
    pub fn new(
        buffer: wgpu::Buffer,
        bytes: u64,
        submission: wgpu::SubmissionIndex,
        submitted: Instant,
    ) -> Self {
        let (done, mapped) = channel();
        buffer.slice(..bytes).map_async(wgpu::MapMode::Read, move |result| {
            // The receiver is gone if the engine was dropped.
            let _ = done.send(result);
        });
        Self { buffer, bytes, mapped, submission, submitted }
    }

    /// Waits for the bytes; returns them and the buffer.
    ///
    /// # Errors
    /// [`Error::DeviceLost`].
    pub fn wait(self, context: &Context) -> Result<(Vec<u8>, wgpu::Buffer), Error> {
        let lost = |reason: String| context.lost(reason);
        context.wait_for(Some(self.submission))?;
        // Another thread that polls the device may run the callback, slightly later.
        match self.mapped.recv_timeout(PATIENCE) {
            Ok(Ok(())) => {}
            Ok(Err(error)) => return Err(lost(error.to_string())),
            Err(_) => return Err(lost("a result did not come back".to_owned())),
        }
        let bytes = {
            let view = self.buffer.slice(..self.bytes).get_mapped_range().map_err(|e| lost(e.to_string()))?;
            view.to_vec()
        };
        self.buffer.unmap();
        Ok((bytes, self.buffer))
    }
}

/// Waits for the bytes of a mappable buffer that already submitted work fills.
///
/// # Errors
/// [`Error::DeviceLost`].
pub fn read_now(context: &Context, buffer: &wgpu::Buffer, bytes: u64) -> Result<Vec<u8>, Error> {
    let submission = context.queue.submit([]);
    Pending::new(buffer.clone(), bytes, submission, Instant::now()).wait(context).map(|(bytes, _)| bytes)
}

/// Copies parts of buffers (buffer, first byte, bytes) to the host and waits for them.
///
/// # Errors
/// [`Error::DeviceLost`], [`Error::Capacity`] if the device has no memory for the copy.
pub fn download(context: &Context, sources: &[(&wgpu::Buffer, u64, u64)]) -> Result<Vec<Vec<u8>>, Error> {
    let usage = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
    let mut encoder =
        context.device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("read") });
    let mut copies = vec![];
    for &(source, from, bytes) in sources {
        let copy = make_buffer(context, "copy for the host", bytes, usage)?;
        if bytes > 0 {
            encoder.copy_buffer_to_buffer(source, from, &copy, 0, bytes);
        }
        copies.push((copy, bytes));
    }
    let (submitted, submission) = (Instant::now(), context.queue.submit([encoder.finish()]));
    copies
        .into_iter()
        .map(|(copy, bytes)| {
            if bytes == 0 {
                return Ok(vec![]);
            }
            Pending::new(copy, bytes, submission.clone(), submitted).wait(context).map(|(bytes, _)| bytes)
        })
        .collect()
}
