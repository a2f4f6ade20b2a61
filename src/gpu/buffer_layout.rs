//! Where everything lies in the buffers, and how large they have to be.

use super::layout::{
    AUDIT_SUMS, BEGIN_WORDS, Body, CONTROL_END, DYNAMIC_WORDS, FROZEN_WORDS, Frame, IMPULSE_WORDS,
    INNER_COLOURS, LOG_WORDS, MOST_PARTS, NextEvent, Node, RANK_WORDS, SCAN_PART, THREAT_WORDS, Tag,
    VISIT_WORDS, WALL_LOAD_WORDS, WARM_START_HEAD, constraint_words,
};
use super::static_world::{self, StaticWorld};
use crate::{
    Error,
    cpu::blocks::Axis,
    state::{
        constants::{COLOURS, SETTLED, SHOCK, SLOW},
        grid::Grid,
    },
    walls::world::World,
};

/// Room for what there may be more or less of; all but `entries` in records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacities {
    /// Candidates of all spheres.
    pub entries: u32,
    pub dynamic_candidates: u32,
    pub visits: u32,
    pub threats: u32,
    pub frozen: u32,
    pub log: u32,
    /// Contacts that rest, where they may.
    pub constraints: u32,
    /// Substeps for which there is room to say where walls are, where they move.
    pub blocks: u32,
}

impl Capacities {
    /// What most systems need; the rest grows.
    pub fn for_spheres(count: usize, record: bool) -> Self {
        let n = count as u32;
        Self {
            entries: 10 * n + 4096,
            dynamic_candidates: n / 64 + 1024,
            visits: n / 64 + 4096,
            threats: 1024,
            frozen: 256,
            log: if record { n / 2 + 1024 } else { 1 },
            constraints: 3 * n + 1024,
            blocks: 16,
        }
    }

    /// Room for one record of each kind: every step has to grow something.
    #[cfg(test)]
    pub fn tiny() -> Self {
        Self {
            entries: 1,
            dynamic_candidates: 2,
            visits: 1,
            threats: 1,
            frozen: 1,
            log: 1,
            constraints: 1,
            blocks: 1,
        }
    }
}

/// Spheres for each place of a block where cells have no end.
const SPHERES_OF_SLOT: u32 = 128;

/// Spheres that a workgroup of the audit sums at least.
const PART_SPHERES: u32 = 4096;

/// Offsets of the regions of the shared buffers and their lengths, in words; `world` says its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferLayout {
    pub capacities: Capacities,
    pub sphere_count: u32,
    pub counts: u32,
    pub heads: u32,
    pub marks: u32,
    pub starts: u32,
    pub sums: u32,
    pub pending: u32,
    pub near: u32,
    pub selected: u32,
    pub walkers: u32,
    pub work_words: u64,
    pub walls: u32,
    pub feature_ends: u32,
    pub entries: u32,
    pub list_words: u64,
    pub visits: u32,
    pub threats: u32,
    pub frozen: u32,
    pub log: u32,
    pub pool_words: u64,
    pub static_world: StaticWorld,
    pub world: static_world::StaticWorldLayout,
    /// Blocks of a colour in which contacts are solved, or places for them; 0 where contacts never rest.
    pub slots: u32,
    pub rested: u32,
    pub constraint_heads: u32,
    pub wall_hits: u32,
    pub in_contact: u32,
    pub stirred: u32,
    pub flags: u32,
    pub slot_cursors: u32,
    pub slot_starts: u32,
    pub order: u32,
    /// What walls felt, with their number of words.
    pub wall_loads: u32,
    pub wall_load_words: u32,
    pub begin: u32,
    pub constraints: u32,
    pub warm_start_words: u64,
}

// Lays regions one behind the other.
struct Ruler(u64);

impl Ruler {
    fn take(&mut self, words: u64) -> u32 {
        let at = self.0;
        self.0 += words;
        // What does not fit in 32 bits does not fit in a binding either, and is refused there.
        at as u32
    }
}

/// BufferLayout of the order of contacts that rest: by colour, block and colour inside the block.
fn keys(slots: u32) -> u64 {
    COLOURS as u64 * u64::from(slots) * u64::from(INNER_COLOURS)
}

/// Blocks of a colour, or where cells have no end places for as many as spheres may need.
pub fn slots(grid: &Grid, count: usize) -> u32 {
    if grid.direct {
        Axis::of(grid).iter().map(|axis| (axis.blocks as u32).div_ceil(2)).product()
    } else {
        (count as u32 / SPHERES_OF_SLOT).next_power_of_two().max(8)
    }
}

/// Speeds that decide on contacts in a substep of length `h`: slow, shock, settled.
pub fn speeds(world: &World, h: f32) -> [f32; 3] {
    let gravity = world.gravity.length();
    // Shorter substeps, because there are many impacts, must not ask for more of them.
    let slow = SLOW * gravity * h.max(world.rest_substep);
    [slow, SHOCK * slow, SETTLED * gravity * h]
}

impl BufferLayout {
    pub fn new(
        count: usize,
        buckets: usize,
        static_world: StaticWorld,
        slots: u32,
        capacities: Capacities,
    ) -> Self {
        let (n, buckets) = (count as u64, buckets as u64);
        // What only contacts that rest need.
        let resting = if slots > 0 { n } else { 0 };
        let constraints_most = if slots > 0 { u64::from(capacities.constraints) } else { 0 };
        let keys = keys(slots);
        let mut work = Ruler(u64::from(CONTROL_END));
        let counts = work.take(buckets);
        let heads = work.take(n);
        let marks = work.take(n);
        let rested = work.take(resting);
        let constraint_heads = work.take(2 * resting);
        let wall_hits = work.take(resting);
        let in_contact = work.take(resting);
        let stirred = work.take(resting);
        let flags = work.take(if slots > 0 { u64::from(capacities.entries).div_ceil(8) } else { 0 });
        let starts = work.take(buckets + 1);
        let sums = work.take(buckets.max(keys).div_ceil(u64::from(SCAN_PART)));
        let pending = work.take(2 * n);
        let near = work.take(n);
        let selected = work.take(n);
        let walkers = work.take(n);
        let slot_cursors = work.take(keys);
        let slot_starts = work.take(if slots > 0 { keys + 1 } else { 0 });
        let order = work.take(2 * resting);
        // Work on what rests first, then the sums of each wall.
        let wall_load_words =
            if static_world.walls > 0 { 3 + WALL_LOAD_WORDS * static_world.walls } else { 0 };
        let wall_loads = work.take(u64::from(wall_load_words));
        // Where each sphere's list begins and ends.
        let mut list = Ruler(2 * n);
        let walls_at = list.take(n);
        let feature_ends = list.take(if static_world.has_shapes { n } else { 0 });
        let entries = list.take(u64::from(capacities.entries));
        let mut pool = Ruler(u64::from(capacities.dynamic_candidates) * u64::from(DYNAMIC_WORDS));
        let visits = pool.take(u64::from(capacities.visits) * u64::from(VISIT_WORDS));
        let threats = pool.take(u64::from(capacities.threats) * u64::from(THREAT_WORDS));
        let frozen = pool.take(u64::from(capacities.frozen) * u64::from(FROZEN_WORDS));
        let log = pool.take(u64::from(capacities.log) * u64::from(LOG_WORDS));
        let begin = pool.take(resting * u64::from(BEGIN_WORDS));
        let constraints = pool.take(constraints_most * u64::from(constraint_words(static_world.has_shapes)));
        let warm_start_words = match slots {
            0 => 0,
            _ => {
                u64::from(WARM_START_HEAD)
                    + u64::from(RANK_WORDS) * n
                    + constraints_most * u64::from(IMPULSE_WORDS)
            }
        };
        let blocks = if static_world.is_restless { capacities.blocks } else { 1 };
        let world = static_world.layout(n, blocks);
        Self {
            capacities,
            sphere_count: count as u32,
            counts,
            heads,
            marks,
            starts,
            sums,
            pending,
            near,
            selected,
            walkers,
            work_words: work.0,
            walls: walls_at,
            feature_ends,
            entries,
            list_words: list.0,
            visits,
            threats,
            frozen,
            log,
            pool_words: pool.0,
            static_world,
            world,
            slots,
            rested,
            constraint_heads,
            wall_hits,
            in_contact,
            stirred,
            flags,
            slot_cursors,
            slot_starts,
            order,
            wall_loads,
            wall_load_words,
            begin,
            constraints,
            warm_start_words,
        }
    }

    /// Name and bytes of every buffer; `state` counts both copies.
    pub fn sizes(&self) -> [(&'static str, u64); 12] {
        let n = u64::from(self.sphere_count).max(1);
        let state = |size: usize| n * size as u64;
        [
            ("bodies", state(size_of::<Body>())),
            ("bodies", state(size_of::<Body>())),
            ("tags", state(size_of::<Tag>())),
            ("tags", state(size_of::<Tag>())),
            ("nodes", state(size_of::<Node>())),
            ("fates", state(size_of::<NextEvent>())),
            ("lists", 4 * self.list_words),
            ("work", 4 * self.work_words),
            ("world", 16 * self.world.rows),
            ("pool", 4 * self.pool_words),
            ("loads", 4 * self.warm_start_words),
            ("loads", 4 * self.warm_start_words),
        ]
    }

    /// Bytes of all buffers on the device.
    pub fn bytes(&self) -> u64 {
        self.sizes().iter().map(|&(_, bytes)| bytes).sum()
    }

    /// Words that the host reads after every step.
    pub fn report_words(&self) -> u64 {
        u64::from(CONTROL_END) - u64::from((MOST_PARTS - self.parts()) * AUDIT_SUMS)
    }

    /// The same in bytes, with what walls felt.
    pub fn report_bytes(&self) -> u64 {
        4 * (self.report_words() + u64::from(self.wall_load_words))
    }

    /// Workgroups of the audit: the order of its sums is that of the count alone.
    pub fn parts(&self) -> u32 {
        self.sphere_count.div_ceil(PART_SPHERES).clamp(1, MOST_PARTS)
    }

    /// The frame of a substep as far as it is the same for all.
    pub fn frame(&self, grid: &Grid, world: &World, radius_max: f32) -> Frame {
        let c = &self.capacities;
        let axes = Axis::of(grid);
        let mut frame = Frame {
            gravity: world.gravity,
            edge: grid.edge,
            radius_max,
            count: grid.count,
            sphere_count: self.sphere_count,
            periodic: glam::UVec3::from_array(grid.periodic.map(u32::from)),
            layers: grid.layers,
            block_edge: axes.map(|axis| axis.edge).into(),
            slots: self.slots,
            block_count: axes.map(|axis| axis.blocks).into(),
            constraint_capacity: c.constraints,
            buckets: grid.buckets as u32,
            direct: u32::from(grid.direct),
            wall_count: world.walls.len() as u32,
            material_count: world.material_count as u32,
            contact_time: world.contact_time,
            slop: world.slop,
            delta_v_bound: world.delta_v_bound,
            at_counts: self.counts,
            at_heads: self.heads,
            at_marks: self.marks,
            at_starts: self.starts,
            at_sums: self.sums,
            at_pending: self.pending,
            at_near: self.near,
            at_selected: self.selected,
            at_walkers: self.walkers,
            at_walls: self.walls,
            at_entries: self.entries,
            entry_capacity: c.entries,
            at_visits: self.visits,
            at_threats: self.threats,
            at_frozen: self.frozen,
            at_log: self.log,
            dynamic_capacity: c.dynamic_candidates,
            visit_capacity: c.visits,
            threat_capacity: c.threats,
            frozen_capacity: c.frozen,
            log_capacity: c.log,
            at_rested: self.rested,
            at_constraint_heads: self.constraint_heads,
            at_flags: self.flags,
            at_wall_hits: self.wall_hits,
            at_in_contact: self.in_contact,
            at_woken: self.stirred,
            at_slots: self.slot_starts,
            at_slot_cursors: self.slot_cursors,
            at_order: self.order,
            at_begin: self.begin,
            at_constraints: self.constraints,
            at_feature_ends: self.feature_ends,
            at_wall_loads: self.wall_loads,
            bucket_mask: (grid.buckets / grid.levels.parts as usize - 1) as u32,
            per_edge: grid.levels.per_edge,
            parts: grid.levels.parts,
            levels: grid.levels.words(),
            ..Frame::default()
        };
        self.world.enter(&self.static_world, 0, &mut frame);
        frame
    }

    /// The frame in which the scan sums what belongs to each place of the order of contacts.
    pub fn frame_of_order(&self) -> Frame {
        Frame {
            buckets: keys(self.slots) as u32,
            at_counts: self.slot_cursors,
            at_starts: self.slot_starts,
            at_sums: self.sums,
            sphere_count: self.sphere_count,
            ..Frame::default()
        }
    }

    /// Refuses what the device cannot bind, before anything is allocated.
    ///
    /// # Errors
    /// [`Error::Capacity`] with the largest number of spheres that fits.
    pub fn check(&self, limits: &wgpu::Limits, buckets: usize) -> Result<(), Error> {
        let sorted = buckets.max(keys(self.slots) as usize);
        let (parts, most) =
            (sorted.div_ceil(SCAN_PART as usize), limits.max_compute_workgroups_per_dimension as usize);
        if parts > most {
            return Err(Error::Capacity(format!(
                "{} spheres need {sorted} buckets, but the adapter sorts into {} at most; use fewer spheres",
                self.sphere_count,
                most * SCAN_PART as usize
            )));
        }
        let most = limits.max_buffer_size.min(limits.max_storage_buffer_binding_size);
        let over = |layout: &Self| layout.sizes().into_iter().find(|&(_, bytes)| bytes > most);
        let Some((name, bytes)) = over(self) else { return Ok(()) };
        let n = f64::from(self.sphere_count.max(1));
        // Everything grows with the number of spheres: scale all of it down until it fits.
        let fits = |count: u64| {
            let share = count as f64 / n;
            let scaled = |x: u32| (f64::from(x) * share).ceil() as u32;
            let c = self.capacities;
            // Part of the room is the same for few as for many.
            let least = Capacities::for_spheres(count as usize, c.log > 1);
            let capacities = Capacities {
                entries: scaled(c.entries).max(least.entries),
                dynamic_candidates: scaled(c.dynamic_candidates).max(least.dynamic_candidates),
                visits: scaled(c.visits).max(least.visits),
                log: scaled(c.log).max(least.log),
                constraints: scaled(c.constraints).max(least.constraints),
                ..c
            };
            let buckets = (buckets as f64 * share).ceil() as usize;
            let slots = scaled(self.slots);
            over(&Self::new(count as usize, buckets, self.static_world, slots, capacities)).is_none()
        };
        let (mut low, mut high) = (0, u64::from(self.sphere_count));
        while low + 1 < high {
            let middle = (low + high) / 2;
            if fits(middle) { low = middle } else { high = middle }
        }
        Err(Error::Capacity(format!(
            "{} spheres need a buffer of {bytes} bytes ({name}), but the adapter allows {most}; at most {low} such \
             spheres fit",
            self.sphere_count
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_large_is_refused_with_the_number_that_fits() {
        refuses(0);
        refuses(1);
    }

    // With so many places of blocks for a hundred spheres.
    fn refuses(slots: u32) {
        let limits = wgpu::Limits { max_storage_buffer_binding_size: 1 << 20, ..wgpu::Limits::default() };
        let layout = |n: usize| {
            let slots = slots * n as u32 / 100;
            let static_world = StaticWorld { materials: 1, ..StaticWorld::default() };
            BufferLayout::new(n, n, static_world, slots, Capacities::for_spheres(n, false))
        };
        assert_eq!(layout(1000).check(&limits, 1000), Ok(()));
        let Err(Error::Capacity(text)) = layout(1_000_000).check(&limits, 1_000_000) else { panic!() };
        let most: usize = text.split("at most ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
        assert!(
            layout(most).check(&limits, most).is_ok()
                && layout(most + most / 50).check(&limits, most).is_err()
        );
    }
}
