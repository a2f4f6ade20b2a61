//! A copy of the contents of the device's buffers on the host.

use glam::Vec3;

use super::{PRESENT, contacts, harness::Site, twin::Twin};
use crate::gpu::{
    Context,
    buffer_layout::BufferLayout,
    buffers::Buffers,
    host_mirror::HostMirror,
    layout::{
        Body, CANDIDATE_COUNT, CODE_SHIFT, DYNAMIC_COUNT, DYNAMIC_WORDS, Event, FAST_COUNT, FROZEN,
        FROZEN_COUNT, FROZEN_WORDS, LAUNCH, LAUNCH_BLOCK, NextEvent, Node, OUTSIDE, PENDING, ROUND_BLOCKS,
        ROUND_WORDS, SELECTED, Tag, VISIT_COUNT, VISIT_WORDS, VelocityBound, WALKERS, WALL_MOVES,
    },
    readback::download,
    shaders::NO_IMPACT,
};
use crate::{
    Error,
    cpu::{event, fast::END, select},
    state::columns::State,
};

/// The contents of the buffers that passes read and write.
#[derive(Clone, Debug, PartialEq)]
pub struct Memory {
    pub bodies: [Vec<Body>; 2],
    pub tags: [Vec<Tag>; 2],
    pub nodes: Vec<Node>,
    pub next_events: Vec<NextEvent>,
    pub lists: Vec<u32>,
    pub work: Vec<u32>,
    pub pool: Vec<u32>,
    /// The warm start that belongs to the present copy of the state.
    pub warm_start: Vec<u32>,
}

/// Word of a counter of a round.
pub fn counter(round: u32, which: u32) -> usize {
    let block = if round == LAUNCH { LAUNCH_BLOCK } else { ROUND_BLOCKS + round * ROUND_WORDS };
    (block + which) as usize
}

/// WGSL has no infinity.
pub fn time(t: f32) -> f32 {
    if t.is_finite() { t } else { NO_IMPACT }
}

/// A state in the form of the device.
pub fn columns(state: &State, host: &HostMirror) -> (Vec<Body>, Vec<Tag>) {
    let sphere = |i: usize| {
        let body = Body {
            offset: state.offset(i),
            radius: state.radius(i),
            velocity: state.velocity(i),
            inverse_mass: state.inverse_mass(i),
        };
        let tag = Tag {
            cell: state.cell[i].truncate(),
            rank: host.ids.binary_search(&state.id[i]).expect("an id of the system") as u32,
            spin: state.spin[i].truncate(),
            last_contact: state.spin[i].w,
        };
        (body, tag)
    };
    (0..state.len()).map(sphere).unzip()
}

fn event(event: event::Event) -> Event {
    let event::Event { toi, partner, link, delta_v_bound } = event;
    Event { toi: time(toi), partner, link, delta_v_bound }
}

fn velocity_bound(velocity_bound: select::VelocityBound) -> VelocityBound {
    VelocityBound { time: time(velocity_bound.time), delta_v_bound: velocity_bound.delta_v_bound }
}

impl Memory {
    /// All zero.
    pub fn new(layout: &BufferLayout) -> Self {
        let n = layout.sphere_count as usize;
        Self {
            bodies: [vec![Body::default(); n], vec![Body::default(); n]],
            tags: [vec![Tag::default(); n], vec![Tag::default(); n]],
            nodes: vec![Node::default(); n],
            next_events: vec![NextEvent::default(); n],
            lists: vec![0; layout.list_words as usize],
            work: vec![0; layout.work_words as usize],
            pool: vec![0; layout.pool_words as usize],
            warm_start: vec![0; layout.warm_start_words as usize],
        }
    }

    /// The input of a broad phase: the twin's state in the copy that is not present.
    pub fn source(site: &Site, twin: &Twin) -> Self {
        let mut memory = Self::new(&site.layout);
        let source = 1 - PRESENT;
        (memory.bodies[source], memory.tags[source]) = columns(&twin.core.state, &site.host);
        memory
    }

    /// Whether the state of the twin fits into these buffers.
    pub fn fits(twin: &Twin, layout: &BufferLayout) -> bool {
        let (core, room) = (&twin.core, &layout.capacities);
        let n = core.state.len();
        let listed = |i: usize| core.lists.of(i).len() + core.lists.features(i).len();
        let handed_on = |i: usize| core.constraints.handed_on(i).0.len();
        let entries = if twin.has_lists { (0..n).map(listed).sum() } else { 0 };
        let constraints = (0..n).map(handed_on).sum::<usize>().max(core.constraints.count);
        [
            (entries, room.entries),
            (core.dynamic_candidates.pool.len(), room.dynamic_candidates),
            (core.dynamic_candidates.visits.len(), room.visits),
            (twin.rounds.frozen.len(), room.frozen),
            (if layout.slots > 0 { constraints } else { 0 }, room.constraints),
        ]
        .into_iter()
        .all(|(used, capacity)| used <= capacity as usize)
    }

    /// The twin's state, candidates, dynamic candidates, events and contact constraints; the lists of rounds are empty.
    pub fn of(site: &Site, twin: &Twin) -> Self {
        let (core, Site { host, layout, .. }) = (&twin.core, site);
        let mut memory = Self::new(layout);
        (memory.bodies[PRESENT], memory.tags[PRESENT]) = columns(&core.state, host);
        for (i, node) in memory.nodes.iter_mut().enumerate() {
            *node = Node {
                clock: core.clock[i],
                motion_margin: core.motion_margin[i],
                support: u32::from(core.support[i]),
                walk: u32::from(core.dynamic_candidates.is_fast(i)),
                ..Node::default()
            };
        }
        for (i, next_event) in memory.next_events.iter_mut().enumerate() {
            let first = twin.rounds.propagation().first(i, twin.frame.h);
            *next_event = NextEvent {
                event: event(twin.rounds.events[i]),
                any: velocity_bound(first.any),
                others: velocity_bound(first.others),
            };
        }
        if twin.has_starts {
            memory.put(layout.starts, &core.starts);
        }
        if twin.has_lists {
            memory.put_lists(twin, layout);
        }
        memory.put_dynamic(twin, layout);
        for (slot, (i, motion)) in twin.rounds.frozen.iter().enumerate() {
            memory.nodes[*i as usize].support = FROZEN | slot as u32;
            let at = (layout.frozen + slot as u32 * FROZEN_WORDS) as usize;
            memory.pool[at..at + 4].copy_from_slice(&motion.to_array().map(f32::to_bits));
        }
        if layout.slots > 0 {
            contacts::put(twin, host, layout, &mut memory);
        }
        memory.work[FROZEN_COUNT as usize] = twin.rounds.frozen.len() as u32;
        memory.work[FAST_COUNT as usize] = core.dynamic_candidates.fast_count() as u32;
        memory
    }

    fn put_lists(&mut self, twin: &Twin, layout: &BufferLayout) {
        let lists = &twin.core.lists;
        let mut at = layout.entries as usize;
        for i in 0..self.nodes.len() {
            let place = 2 * i;
            self.lists[place] = at as u32;
            for candidate in lists.of(i) {
                self.lists[at] = candidate.code() << CODE_SHIFT | candidate.index() as u32;
                at += 1;
            }
            self.lists[place + 1] = at as u32;
            self.lists[layout.walls as usize + i] = lists.walls(i);
            if layout.static_world.has_shapes {
                for &feature in lists.features(i) {
                    self.lists[at] = feature;
                    at += 1;
                }
                let driven = if lists.is_near_moving_wall(i) { WALL_MOVES } else { 0 };
                self.lists[layout.feature_ends as usize + i] = at as u32 | driven;
            }
        }
        self.work[CANDIDATE_COUNT as usize] = at as u32 - layout.entries;
    }

    fn put_dynamic(&mut self, twin: &Twin, layout: &BufferLayout) {
        let dynamic_candidates = &twin.core.dynamic_candidates;
        let link = |place: u32| if place == END { 0 } else { place + 1 };
        for (i, &head) in dynamic_candidates.head.iter().enumerate() {
            self.work[layout.heads as usize + i] = link(head);
        }
        for (place, dynamic) in dynamic_candidates.pool.iter().enumerate() {
            let cells = dynamic.cells.to_array().map(|c| c as u32);
            let record = [dynamic.other, link(dynamic.next), cells[0], cells[1], cells[2]];
            let at = place * DYNAMIC_WORDS as usize;
            self.pool[at..at + record.len()].copy_from_slice(&record);
        }
        for (bucket, &head) in dynamic_candidates.visit_head.iter().enumerate() {
            self.work[layout.counts as usize + bucket] = link(head);
        }
        for (place, visit) in dynamic_candidates.visits.iter().enumerate() {
            // A path that the sphere has left has another number than its present traversal.
            let walk = u32::from(place as u32 >= dynamic_candidates.latest_walk[visit.sphere as usize]);
            let cell = visit.cell.to_array().map(|c| c as u32);
            let record = [visit.sphere, link(visit.next), cell[0], cell[1], cell[2], walk];
            let at = layout.visits as usize + place * VISIT_WORDS as usize;
            self.pool[at..at + record.len()].copy_from_slice(&record);
        }
        self.work[DYNAMIC_COUNT as usize] = dynamic_candidates.pool.len() as u32;
        self.work[VISIT_COUNT as usize] = dynamic_candidates.visits.len() as u32;
    }

    /// Clears the words that a step clears before each substep.
    pub fn begin_substep(&mut self, layout: &BufferLayout) {
        self.work[DYNAMIC_COUNT as usize..layout.starts as usize].fill(0);
    }

    /// Writes words into the work buffer.
    pub fn put(&mut self, at: u32, words: &[u32]) {
        self.work[at as usize..at as usize + words.len()].copy_from_slice(words);
    }

    /// Words of the work buffer.
    pub fn get(&self, at: u32, count: usize) -> &[u32] {
        &self.work[at as usize..at as usize + count]
    }

    /// Writes the pending spheres of a round.
    pub fn put_pending(&mut self, layout: &BufferLayout, round: u32, list: &[u32]) {
        self.put(at_pending(layout, round), list);
        self.work[counter(round, PENDING)] = list.len() as u32;
    }

    /// The pending spheres of a round.
    pub fn pending(&self, layout: &BufferLayout, round: u32) -> Vec<u32> {
        self.get(at_pending(layout, round), self.work[counter(round, PENDING)] as usize).to_vec()
    }

    /// Writes the selected impacts of a round.
    pub fn put_selected(&mut self, layout: &BufferLayout, round: u32, list: &[u32]) {
        self.put(layout.selected, list);
        self.work[counter(round, SELECTED)] = list.len() as u32;
    }

    pub fn selected(&self, layout: &BufferLayout, round: u32) -> Vec<u32> {
        self.get(layout.selected, self.work[counter(round, SELECTED)] as usize).to_vec()
    }

    pub fn walkers(&self, layout: &BufferLayout, round: u32) -> Vec<u32> {
        self.get(layout.walkers, self.work[counter(round, WALKERS)] as usize).to_vec()
    }

    /// The place of a sphere's list, and its candidates as code and index.
    pub fn list(&self, i: usize) -> (std::ops::Range<usize>, &[u32]) {
        let place = 2 * i;
        let range = self.lists[place] as usize..self.lists[place + 1] as usize;
        (range.clone(), self.lists.get(range).unwrap_or(&[]))
    }

    /// The wall features of a sphere, where the world has any, and whether a wall in its reach moves.
    pub fn features(&self, layout: &BufferLayout, i: usize) -> (std::ops::Range<usize>, &[u32], bool) {
        if !layout.static_world.has_shapes {
            return (0..0, &[], false);
        }
        let end = self.lists[layout.feature_ends as usize + i];
        let range = self.lists[2 * i + 1] as usize..(end & !WALL_MOVES) as usize;
        (range.clone(), self.lists.get(range).unwrap_or(&[]), end & WALL_MOVES != 0)
    }

    /// The dynamic candidates of a sphere, and the cells to their images.
    pub fn dynamic_candidates(&self, layout: &BufferLayout, i: usize) -> Vec<(u32, [i32; 3])> {
        let mut next = self.work[layout.heads as usize + i];
        let mut found = vec![];
        while next != 0 && found.len() <= self.pool.len() {
            let at = (next as usize - 1) * DYNAMIC_WORDS as usize;
            let record = &self.pool[at..at + DYNAMIC_WORDS as usize];
            found.push((record[0], [2, 3, 4].map(|k| record[k] as i32)));
            next = record[1];
        }
        found
    }

    pub fn upload(&self, context: &Context, buffers: &Buffers) {
        let write = |buffer: &wgpu::Buffer, bytes: &[u8]| context.queue.write_buffer(buffer, 0, bytes);
        for k in [0, 1] {
            buffers.write_state(&context.queue, k, 0, &self.bodies[k], &self.tags[k]);
        }
        write(&buffers.nodes, bytemuck::cast_slice(&self.nodes));
        write(&buffers.next_events, bytemuck::cast_slice(&self.next_events));
        write(&buffers.lists, bytemuck::cast_slice(&self.lists));
        write(&buffers.work, bytemuck::cast_slice(&self.work));
        write(&buffers.pool, bytemuck::cast_slice(&self.pool));
        write(&buffers.warm_start[PRESENT], bytemuck::cast_slice(&self.warm_start));
    }

    /// # Errors
    /// [`Error::DeviceLost`], [`Error::Capacity`].
    pub fn download(context: &Context, buffers: &Buffers, layout: &BufferLayout) -> Result<Self, Error> {
        let n = u64::from(layout.sphere_count);
        let [a, b] = &buffers.bodies;
        let [c, d] = &buffers.tags;
        let sources = [
            (a, n * size_of::<Body>() as u64),
            (b, n * size_of::<Body>() as u64),
            (c, n * size_of::<Tag>() as u64),
            (d, n * size_of::<Tag>() as u64),
            (&buffers.nodes, n * size_of::<Node>() as u64),
            (&buffers.next_events, n * size_of::<NextEvent>() as u64),
            (&buffers.lists, 4 * layout.list_words),
            (&buffers.work, 4 * layout.work_words),
            (&buffers.pool, 4 * layout.pool_words),
            (&buffers.warm_start[PRESENT], 4 * layout.warm_start_words),
        ];
        let read = download(context, &sources.map(|(buffer, bytes)| (buffer, 0, bytes)))?;
        fn of<T: bytemuck::Pod>(bytes: &[u8]) -> Vec<T> {
            bytemuck::pod_collect_to_vec(bytes)
        }
        Ok(Self {
            bodies: [of(&read[0]), of(&read[1])],
            tags: [of(&read[2]), of(&read[3])],
            nodes: of(&read[4]),
            next_events: of(&read[5]),
            lists: of(&read[6]),
            work: of(&read[7]),
            pool: of(&read[8]),
            warm_start: of(&read[9]),
        })
    }
}

fn at_pending(layout: &BufferLayout, round: u32) -> u32 {
    layout.pending + (round & 1) * layout.sphere_count
}

/// Place of a sphere in its cell to a thousandth of the edge, in the encoding of `rough_place` in shaders/scatter.wgsl.
pub fn rough_place(body: &Body, tag: &Tag, edge: Vec3) -> u32 {
    let share = body.offset / edge;
    let x = tag.cell.x as u32 & 3;
    if share.cmplt(Vec3::ZERO).any() || share.cmpge(Vec3::ONE).any() {
        return OUTSIDE | x;
    }
    let step = |k: usize| ((share[k] * 1024.0) as u32).min(1023);
    step(2) << 22 | step(1) << 12 | step(0) << 2 | x
}
