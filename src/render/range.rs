//! Reads the values at the ends of the colour map back for the legend. The values arrive one or two pictures
//! late, so that the host never waits.

use std::sync::mpsc::{Receiver, channel};

use super::style::Colour;
use crate::gpu::Context;

/// Size of the values at both ends of the colour map (bytes).
const BYTES: u64 = 8;

/// Stage of a readback.
enum State {
    Idle,
    /// A copy is encoded; the copy is submitted before the next picture begins.
    Copied,
    Mapping(Receiver<bool>),
}

/// Asynchronous readback of the values at the ends of the colour map.
pub struct Readback {
    buffer: wgpu::Buffer,
    state: State,
    /// The requested quantity, and the unit of its values.
    asked: (Colour, f64),
    latest: Option<(Colour, [f64; 2])>,
}

impl Readback {
    pub fn new(context: &Context) -> Self {
        let buffer = context.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("range for the host"),
            size: BYTES,
            usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        Self { buffer, state: State::Idle, asked: (Colour::Speed, 1.0), latest: None }
    }

    /// Requests the values at the ends of the colour map, unless a request is in flight.
    pub fn ask(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        range: &wgpu::Buffer,
        colour: Colour,
        unit: f64,
    ) {
        if matches!(self.state, State::Idle) {
            encoder.copy_buffer_to_buffer(range, 0, &self.buffer, 0, BYTES);
            self.asked = (colour, unit);
            self.state = State::Copied;
        }
    }

    /// Advances the readback, and returns the latest values received if they belong to this quantity. Call before encoding
    /// another picture.
    pub fn latest(&mut self, context: &Context, colour: Colour) -> Option<[f64; 2]> {
        match &self.state {
            State::Idle => {}
            State::Copied => {
                let (done, mapped) = channel();
                self.buffer.slice(..).map_async(wgpu::MapMode::Read, move |result| {
                    // The receiver is gone if the renderer was dropped.
                    let _ = done.send(result.is_ok());
                });
                self.state = State::Mapping(mapped);
            }
            State::Mapping(mapped) => {
                // Device faults are reported elsewhere.
                let _ = context.device.poll(wgpu::PollType::Poll);
                if let Ok(is_mapped) = mapped.try_recv() {
                    if is_mapped {
                        self.take();
                        self.buffer.unmap();
                    }
                    self.state = State::Idle;
                }
            }
        }
        self.known(colour)
    }

    /// The latest values received, if they belong to this quantity.
    pub fn known(&self, colour: Colour) -> Option<[f64; 2]> {
        self.latest.filter(|(of, _)| *of == colour).map(|(_, ends)| ends)
    }

    fn take(&mut self) {
        let Ok(view) = self.buffer.slice(..).get_mapped_range() else { return };
        let ends: Vec<f32> = bytemuck::pod_collect_to_vec(&view);
        let (colour, unit) = self.asked;
        if ends[0] < ends[1] {
            self.latest = Some((colour, [0, 1].map(|k| f64::from(ends[k]) * unit)));
        }
    }
}
