//! The ends of the map on their way to the legend, a picture or two late, so that nobody waits.

use std::sync::mpsc::{Receiver, channel};

use super::style::Colour;
use crate::gpu::Context;

/// Bytes of the two ends.
const BYTES: u64 = 8;

/// Where the ends are on their way.
enum State {
    Idle,
    /// A copy is encoded; once the next picture is begun it was submitted.
    Copied,
    Mapping(Receiver<bool>),
}

/// See the module.
pub struct Readback {
    buffer: wgpu::Buffer,
    state: State,
    /// What is on its way: colour, and unit of its values.
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

    /// Asks for the ends, unless they are on their way already.
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

    /// The latest ends that came, if they are of this colour; before another picture is encoded.
    pub fn latest(&mut self, context: &Context, colour: Colour) -> Option<[f64; 2]> {
        match &self.state {
            State::Idle => {}
            State::Copied => {
                let (done, mapped) = channel();
                self.buffer.slice(..).map_async(wgpu::MapMode::Read, move |result| {
                    // Nobody listens any more where the renderer is gone.
                    let _ = done.send(result.is_ok());
                });
                self.state = State::Mapping(mapped);
            }
            State::Mapping(mapped) => {
                // What is wrong with the device shows elsewhere.
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

    /// The ends that came last, if they are of this colour.
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
