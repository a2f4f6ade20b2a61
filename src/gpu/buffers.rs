//! The buffers on the device and their bindings to the stages.

use super::{
    Context,
    buffer_layout::BufferLayout,
    host_mirror::HostMirror,
    layout::{
        Body, COLOUR_BITS, Frame, LAST_PUSH, LAUNCH, MOST_ITERATIONS, MOST_WIDE_ROUNDS, RANK_WORDS,
        RELAX_PUSHES, Round, Tag, WARM_START_HEAD,
    },
    pipelines::Pipelines,
    static_world, watch,
};
use crate::Error;

/// Distance between two uniforms: a multiple of the alignment that WebGPU guarantees (bytes).
pub const UNIFORM_STRIDE: u64 = (size_of::<Frame>() as u64).next_multiple_of(256);

/// Numbers of a dispatch: rounds, or the pass and the colour of the contacts that are solved.
const MOST_NUMBERS: u32 = MOST_ITERATIONS << COLOUR_BITS;

const _: () = assert!(MOST_WIDE_ROUNDS <= MOST_NUMBERS && LAST_PUSH + RELAX_PUSHES <= MOST_NUMBERS);

/// Where the uniform of a round lies; that of the launch is the last.
pub fn round_offset(number: u32) -> u32 {
    let place = if number == LAUNCH { MOST_NUMBERS } else { number };
    place * UNIFORM_STRIDE as u32
}

/// See the module.
pub struct Buffers {
    pub layout: BufferLayout,
    /// Two copies of the state: a step reads one and leaves its result in the other.
    pub bodies: [wgpu::Buffer; 2],
    pub tags: [wgpu::Buffer; 2],
    pub nodes: wgpu::Buffer,
    pub next_events: wgpu::Buffer,
    pub lists: wgpu::Buffer,
    pub work: wgpu::Buffer,
    pub world: wgpu::Buffer,
    pub pool: wgpu::Buffer,
    /// Warm-start data of the resting contacts, one buffer per copy of the state.
    pub warm_start: [wgpu::Buffer; 2],
    /// The spheres in a box that has shrunk, before they are sorted: bodies and tags.
    scaled: [wgpu::Buffer; 2],
    pub frames: wgpu::Buffer,
    /// The frames written last; the last frame serves the scan of the order of contacts.
    pub frame_count: u32,
    rounds: wgpu::Buffer,
    /// Bindings of a broad phase from copy k into the other copy.
    pub broad: [wgpu::BindGroup; 2],
    /// Bindings of `compress` from copy k, and of the broad phase from its result into the other copy.
    pub shrink: [wgpu::BindGroup; 2],
    pub broad_scaled: [wgpu::BindGroup; 2],
    /// Bindings of the stages on copy k.
    pub view: [wgpu::BindGroup; 2],
    pub rest: [wgpu::BindGroup; 2],
    /// Bindings that carry the warm-start data from the other copy to copy k.
    pub hand: [wgpu::BindGroup; 2],
    pub uniforms: wgpu::BindGroup,
}

/// Makes a buffer; its memory is zero.
///
/// # Errors
/// [`Error::Capacity`] with the bytes asked for.
pub fn make_buffer(
    context: &Context,
    label: &str,
    bytes: u64,
    usage: wgpu::BufferUsages,
) -> Result<wgpu::Buffer, Error> {
    let device = &context.device;
    let memory = device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
    let validation = device.push_error_scope(wgpu::ErrorFilter::Validation);
    let buffer = device.create_buffer(&wgpu::BufferDescriptor {
        label: Some(label),
        size: bytes.max(16).next_multiple_of(16),
        usage,
        mapped_at_creation: false,
    });
    let refused = pollster::block_on(validation.pop());
    let missing = pollster::block_on(memory.pop());
    if let Some(error) = missing.or(refused) {
        context.check()?;
        return Err(Error::Capacity(format!(
            "{} has no room for a buffer of {bytes} bytes ({label}): {error}",
            context.info()
        )));
    }
    Ok(buffer)
}

// Binds buffers to the bindings from 0.
fn bind(context: &Context, layout: &wgpu::BindGroupLayout, buffers: [&wgpu::Buffer; 8]) -> wgpu::BindGroup {
    let entries: Vec<_> = (0..)
        .zip(buffers)
        .map(|(binding, buffer)| wgpu::BindGroupEntry { binding, resource: buffer.as_entire_binding() })
        .collect();
    let descriptor = wgpu::BindGroupDescriptor { label: None, layout, entries: &entries };
    context.device.create_bind_group(&descriptor)
}

impl Buffers {
    /// Allocates everything; of the buffers before those are kept, with what they hold, that have the right size.
    ///
    /// # Errors
    /// [`Error::Capacity`] where the device has no room.
    pub fn new(
        context: &Context,
        pipelines: &Pipelines,
        layout: BufferLayout,
        before: Option<&Self>,
    ) -> Result<Self, Error> {
        use wgpu::BufferUsages as Usage;
        let made = make_storage(context, &layout, before)?;
        let [
            body_a,
            body_b,
            tag_a,
            tag_b,
            nodes,
            next_events,
            lists,
            work,
            world,
            pool,
            warm_start_a,
            warm_start_b,
            scaled_bodies,
            scaled_tags,
        ] = <[wgpu::Buffer; 14]>::try_from(made).expect("as many buffers as sizes");
        let frames = make_buffer(context, "frames", 8 * UNIFORM_STRIDE, Usage::UNIFORM | Usage::COPY_DST)?;
        let rounds = make_rounds(context)?;
        let (bodies, tags, warm_start) = ([body_a, body_b], [tag_a, tag_b], [warm_start_a, warm_start_b]);
        if let Some(before) = before {
            keep(context, before, &layout, &work, [&bodies, &tags, &warm_start]);
        }
        let group = |layout: &_, buffers: [&wgpu::Buffer; 8]| bind(context, layout, buffers);
        let sort = |[from_bodies, from_tags]: [&wgpu::Buffer; 2],
                    [to_bodies, to_tags]: [&wgpu::Buffer; 2]| {
            group(
                &pipelines.broad,
                [from_bodies, from_tags, to_bodies, to_tags, &lists, &work, &world, &nodes],
            )
        };
        let (copy, scaled) = (|k: usize| [&bodies[k], &tags[k]], [&scaled_bodies, &scaled_tags]);
        let broad = [0, 1].map(|k| sort(copy(k), copy(1 - k)));
        let shrink = [0, 1].map(|k| sort(copy(k), scaled));
        let broad_scaled = [0, 1].map(|k| sort(scaled, copy(1 - k)));
        let view = [0, 1].map(|k| {
            group(&pipelines.view, [&bodies[k], &tags[k], &nodes, &next_events, &lists, &work, &world, &pool])
        });
        let rest = [0, 1].map(|k| {
            group(
                &pipelines.rest,
                [&bodies[k], &tags[k], &nodes, &warm_start[k], &lists, &work, &world, &pool],
            )
        });
        let hand = [0, 1].map(|k| {
            let from = &warm_start[1 - k];
            group(
                &pipelines.rest,
                [&bodies[k], &tags[k], &nodes, &warm_start[k], &lists, &work, &world, from],
            )
        });
        let uniforms = bind_uniforms(context, pipelines, &frames, &rounds);
        Ok(Self {
            layout,
            bodies,
            tags,
            nodes,
            next_events,
            lists,
            work,
            world,
            pool,
            warm_start,
            scaled: [scaled_bodies, scaled_tags],
            frames,
            frame_count: 1,
            rounds,
            broad,
            shrink,
            broad_scaled,
            view,
            rest,
            hand,
            uniforms,
        })
    }

    /// Puts what contacts keep of copy `k` into copy 0.
    pub fn bring_warm_start(&self, context: &Context, k: usize) {
        if k != 0 {
            let mut encoder = context.device.create_command_encoder(&Default::default());
            encoder.copy_buffer_to_buffer(
                &self.warm_start[k],
                0,
                &self.warm_start[0],
                0,
                self.warm_start[k].size(),
            );
            context.queue.submit([encoder.finish()]);
        }
    }

    /// Copy `k` of the state.
    pub fn state(&self, k: usize) -> [&wgpu::Buffer; 3] {
        [&self.bodies[k], &self.tags[k], &self.warm_start[k]]
    }

    /// The data that a substep on copy `k` overwrites and needs for a repetition.
    pub fn substep_state(&self, k: usize) -> [&wgpu::Buffer; 4] {
        [&self.bodies[k], &self.tags[k], &self.nodes, &self.warm_start[k]]
    }

    // The buffers with their sizes, in the order of `BufferLayout::sizes`.
    fn sized(&self) -> [(u64, &wgpu::Buffer); 14] {
        let [a, b] = &self.bodies;
        let [c, d] = &self.tags;
        let [e, f] = &self.warm_start;
        let [g, h] = &self.scaled;
        let Self { nodes, next_events, lists, work, world, pool, .. } = self;
        let buffers = [a, b, c, d, nodes, next_events, lists, work, world, pool, e, f, g, h];
        let sizes = self.layout.sizes();
        std::array::from_fn(|k| (sizes[k].1, buffers[k]))
    }

    /// Puts down the frames of a step, and one more for the order of contacts.
    ///
    /// # Errors
    /// [`Error::Capacity`] where the device has no room for so many.
    pub fn write_frames(
        &mut self,
        context: &Context,
        pipelines: &Pipelines,
        frames: &[Frame],
    ) -> Result<(), Error> {
        let order = [self.layout.frame_of_order()];
        self.frame_count = frames.len() as u32 + 1;
        let bytes = u64::from(self.frame_count) * UNIFORM_STRIDE;
        if bytes > self.frames.size() {
            let usage = wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST;
            self.frames = make_buffer(context, "frames", 2 * bytes, usage)?;
            self.uniforms = bind_uniforms(context, pipelines, &self.frames, &self.rounds);
        }
        let mut data = vec![0; bytes as usize];
        for (slot, frame) in data.chunks_exact_mut(UNIFORM_STRIDE as usize).zip(frames.iter().chain(&order)) {
            slot[..size_of::<Frame>()].copy_from_slice(bytemuck::bytes_of(frame));
        }
        context.queue.write_buffer(&self.frames, 0, &data);
        Ok(())
    }

    /// Puts down what no sphere moves, with walls where they are in the present substep.
    pub fn write_world(&self, queue: &wgpu::Queue, host: &HostMirror) {
        let mut words =
            static_world::still(&self.layout.offsets(), &host.domain.world, host.materials.iter().copied());
        words.extend(watch::rows(&host.boxes, &host.domain.units, &host.domain.grid));
        queue.write_buffer(&self.world, 0, bytemuck::cast_slice(&words));
        let mut words = vec![];
        static_world::motion(&host.domain.world, &host.domain.units, &host.domain.grid, &mut words);
        self.write_motion(queue, &words);
    }

    /// Puts down where walls are in substeps, from the first block on.
    pub fn write_motion(&self, queue: &wgpu::Queue, words: &[u32]) {
        let at = 16 * u64::from(self.layout.motion);
        queue.write_buffer(&self.world, at, bytemuck::cast_slice(words));
    }

    /// Writes spheres into copy `k` of the state, from index `first` on.
    pub fn write_state(&self, queue: &wgpu::Queue, k: usize, first: usize, bodies: &[Body], tags: &[Tag]) {
        let at = |size: usize| (first * size) as u64;
        queue.write_buffer(&self.bodies[k], at(size_of::<Body>()), bytemuck::cast_slice(bodies));
        queue.write_buffer(&self.tags[k], at(size_of::<Tag>()), bytemuck::cast_slice(tags));
    }

    /// Writes the materials of the ranks from `first` on.
    pub fn write_materials(&self, queue: &wgpu::Queue, host: &HostMirror, first: usize) {
        if host.domain.world.material_count > 1 && first < host.materials.len() {
            let at = 16 * u64::from(self.layout.materials) + 4 * first as u64;
            queue.write_buffer(&self.world, at, bytemuck::cast_slice(&host.materials[first..]));
        }
    }
}

// The storage buffers; of those before, the ones of the right size stay, with what they hold.
fn make_storage(
    context: &Context,
    layout: &BufferLayout,
    before: Option<&Buffers>,
) -> Result<Vec<wgpu::Buffer>, Error> {
    use wgpu::BufferUsages as Usage;
    let storage = Usage::STORAGE | Usage::COPY_DST | Usage::COPY_SRC;
    let mut made = vec![];
    let kept = before.map(Buffers::sized);
    for (k, (label, bytes)) in layout.sizes().into_iter().enumerate() {
        if let Some((_, buffer)) = kept.as_ref().map(|kept| &kept[k]).filter(|(size, _)| *size == bytes) {
            made.push(wgpu::Buffer::clone(buffer));
            continue;
        }
        // Renderers read the state as vertices.
        let usage = if label == "bodies" { storage | Usage::VERTEX } else { storage };
        made.push(make_buffer(context, label, bytes, usage)?);
    }
    Ok(made)
}

// The number of every dispatch, each at its offset.
fn make_rounds(context: &Context) -> Result<wgpu::Buffer, Error> {
    let usage = wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST;
    let count = u64::from(MOST_NUMBERS) + 1;
    let rounds = make_buffer(context, "rounds", count * UNIFORM_STRIDE, usage)?;
    let mut numbers = vec![0; (count * UNIFORM_STRIDE) as usize];
    for number in (0..MOST_NUMBERS).chain([LAUNCH]) {
        let at = round_offset(number) as usize;
        numbers[at..at + size_of::<Round>()].copy_from_slice(bytemuck::bytes_of(&Round { number }));
    }
    context.queue.write_buffer(&rounds, 0, &numbers);
    Ok(rounds)
}

// The state and the warm-start data outlive buffers that become too small; so do the results of the broad phase, if only the pool
// and the end of the buffer `work` grow. The warm-start data is indexed by rank, whatever the capacity; the impulses follow the heads
// of all ranks for which there is room.
fn keep(
    context: &Context,
    before: &Buffers,
    layout: &BufferLayout,
    work: &wgpu::Buffer,
    [bodies, tags, warm_start]: [&[wgpu::Buffer; 2]; 3],
) {
    let mut encoder = context.device.create_command_encoder(&Default::default());
    // Room for more constraints changes only the end of the buffer. What the broad phase wrote stays valid.
    let regions = |of: &BufferLayout| (of.room, of.slots, of.capacities.entries, of.block_spheres);
    let only_end_moves = regions(layout) == regions(&before.layout);
    if before.work != *work && only_end_moves {
        encoder.copy_buffer_to_buffer(&before.work, 0, work, 0, before.work.size().min(work.size()));
    }
    let impulses = |room: u32| 4 * u64::from(WARM_START_HEAD + RANK_WORDS * room);
    let (old, new) = (impulses(before.layout.room), impulses(layout.room));
    let moves = old != new && layout.slots > 0;
    for (before, now, moves) in [
        (&before.bodies, bodies, false),
        (&before.tags, tags, false),
        (&before.warm_start, warm_start, moves),
    ] {
        for (from, to) in before.iter().zip(now).filter(|(from, to)| from != to) {
            let (from_size, to_size) = (from.size(), to.size());
            if moves {
                encoder.copy_buffer_to_buffer(from, 0, to, 0, old.min(new));
                encoder.copy_buffer_to_buffer(from, old, to, new, (from_size - old).min(to_size - new));
            } else {
                encoder.copy_buffer_to_buffer(from, 0, to, 0, from_size.min(to_size));
            }
        }
    }
    context.queue.submit([encoder.finish()]);
}

fn bind_uniforms(
    context: &Context,
    pipelines: &Pipelines,
    frames: &wgpu::Buffer,
    rounds: &wgpu::Buffer,
) -> wgpu::BindGroup {
    let one = |buffer, size| {
        wgpu::BindingResource::Buffer(wgpu::BufferBinding {
            buffer,
            offset: 0,
            size: wgpu::BufferSize::new(size),
        })
    };
    context.device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: Some("uniforms"),
        layout: &pipelines.uniforms,
        entries: &[
            wgpu::BindGroupEntry { binding: 0, resource: one(frames, size_of::<Frame>() as u64) },
            wgpu::BindGroupEntry { binding: 1, resource: one(rounds, size_of::<Round>() as u64) },
        ],
    })
}
