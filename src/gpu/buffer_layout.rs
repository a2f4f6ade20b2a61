//! Offsets of all regions in the device buffers, and the sizes of these buffers.

// All of it: elements of regions are counted in its constants.
use super::layout::*;
use super::static_world::StaticWorld;
use crate::{
    Error,
    cpu::blocks::Axis,
    state::{
        constants::{COLOURS, SETTLED, SHOCK, UNSETTLED},
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
    /// Capacities that suffice for most systems; others grow.
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
    #[cfg(any(test, feature = "files"))]
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

/// Spheres that a workgroup of the audit sums at least.
const PART_SPHERES: u32 = 4096;

/// Numbers on which the lengths of regions depend.
struct Sizes {
    spheres: u64,
    buckets: u64,
    static_world: StaticWorld,
    /// Blocks of a colour; 0 where contacts never rest.
    slots: u32,
    capacities: Capacities,
}

impl Sizes {
    // `count` where contacts may rest, else 0.
    fn resting(&self, count: u64) -> u64 {
        if self.slots > 0 { count } else { 0 }
    }

    fn order_keys(&self) -> u64 {
        keys(self.slots)
    }

    fn constraints(&self) -> u64 {
        self.resting(self.capacities.constraints.into())
    }

    // Work on contacts that rest first, then the sums of each wall.
    fn wall_load_words(&self) -> u32 {
        let walls = self.static_world.walls;
        if walls > 0 { 3 + WALL_LOAD_WORDS * walls } else { 0 }
    }

    fn watch_capacity(&self) -> u32 {
        if self.static_world.watches > 0 { (self.spheres as u32).min(MOST_WATCHED) } else { 0 }
    }

    // Substeps for which positions of walls are stored.
    fn blocks(&self) -> u32 {
        if self.static_world.is_restless { self.capacities.blocks } else { 1 }
    }
}

// Lays regions one behind the other.
struct Ruler(u64);

impl Ruler {
    fn take(&mut self, words: u64) -> u32 {
        let at = self.0;
        self.0 += words;
        // An offset beyond 32 bits exceeds a binding too, which the check of the limits refuses.
        at as u32
    }
}

// The next multiple of four.
fn fours(count: impl Into<u64>) -> u64 {
    count.into().next_multiple_of(4)
}

// Words of so many elements.
fn array(words: u32, count: impl Into<u64>) -> u64 {
    u64::from(words) * count.into()
}

macro_rules! buffer_layout {
    ($s:ident; $(
        buffer $length:ident after $([$head_words:expr; $head:expr]),* {
            $($(#[$doc:meta])* $region:ident: [$words:expr; $count:expr],)*
        }
        $(repeat $rows:ident [$times:expr] {
            $($(#[$repeated_doc:meta])* $repeated:ident: [$repeated_words:expr; $repeated_count:expr],)*
        })?
    )*) => {
        /// Offset of every region in its buffer, and lengths of the buffers: in words of 4 bytes, in `world` in rows of 16 bytes.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct BufferLayout {
            pub capacities: Capacities,
            /// Spheres for which the buffers have room.
            pub room: u32,
            /// Spheres present, at most `room`.
            pub sphere_count: u32,
            pub static_world: StaticWorld,
            /// Blocks of a colour in which contacts are solved, or places for them; 0 where contacts never rest.
            pub slots: u32,
            /// Length of the region `wall_loads`.
            pub wall_load_words: u32,
            /// Length of the region `watched`.
            pub watched_words: u32,
            $(
                pub $length: u64,
                $($(#[$doc])* pub $region: u32,)*
                $(
                    /// Distance between the repetitions of the regions that follow.
                    pub $rows: u32,
                    $($(#[$repeated_doc])* pub $repeated: u32,)*
                )?
            )*
        }

        impl BufferLayout {
            fn lay($s: &Sizes) -> Self {
                $(
                    let mut ruler = Ruler(0);
                    $(ruler.take(array($head_words, $head));)*
                    $(let $region = ruler.take(array($words, $count));)*
                    $(
                        let first = ruler.0;
                        $(let $repeated = ruler.take(array($repeated_words, $repeated_count));)*
                        let $rows = (ruler.0 - first) as u32;
                        ruler.0 = first + array($rows, $times);
                    )?
                    let $length = ruler.0;
                )*
                Self {
                    capacities: $s.capacities,
                    room: $s.spheres as u32,
                    sphere_count: $s.spheres as u32,
                    static_world: $s.static_world,
                    slots: $s.slots,
                    wall_load_words: $s.wall_load_words(),
                    watched_words: WATCH_WORDS * $s.watch_capacity(),
                    $($length, $($region,)* $($rows, $($repeated,)*)?)*
                }
            }

            /// The offsets for shaders.
            pub fn offsets(&self) -> RegionOffsets {
                RegionOffsets {
                    $($($region: self.$region,)* $($($repeated: self.$repeated,)*)?)*
                }
            }

            /// Sets the offsets of walls to their positions in substep number `block`.
            pub fn enter_motion(&self, block: u32, frame: &mut Frame) {
                $($($(frame.at.$repeated = self.$repeated + block * self.$rows;)*)?)*
            }
        }
    };
}

regions!(buffer_layout);

/// Lists of threats by coarse cell: a power of two, about one for 16 spheres.
fn threat_lists(spheres: u64) -> u64 {
    (spheres / 16).next_power_of_two().max(64)
}

/// Places of the order of contacts that rest: by colour, block and colour inside the block.
fn keys(slots: u32) -> u64 {
    COLOURS as u64 * u64::from(slots) * u64::from(INNER_COLOURS)
}

/// Speeds that decide on contacts in a substep of length `h`: slow, shock, settled, unsettled.
pub fn speeds(world: &World, h: f32) -> [f32; 4] {
    let gravity = world.gravity.length();
    let slow = world.slow_speed(h);
    [slow, SHOCK * slow, SETTLED * gravity * h, UNSETTLED * gravity * h]
}

impl BufferLayout {
    /// The layout of buffers with room for this number of spheres, all of them present.
    pub fn new(
        room: usize,
        buckets: usize,
        static_world: StaticWorld,
        slots: u32,
        capacities: Capacities,
    ) -> Self {
        let (spheres, buckets) = (room as u64, buckets as u64);
        Self::lay(&Sizes { spheres, buckets, static_world, slots, capacities })
    }

    /// Name and bytes of every buffer; `state` counts both copies.
    pub fn sizes(&self) -> [(&'static str, u64); 14] {
        let n = u64::from(self.room).max(1);
        let state = |size: usize| n * size as u64;
        let scaled = |size: usize| if self.static_world.shrinks { state(size) } else { 0 };
        [
            ("bodies", state(size_of::<Body>())),
            ("bodies", state(size_of::<Body>())),
            ("tags", state(size_of::<Tag>())),
            ("tags", state(size_of::<Tag>())),
            ("nodes", state(size_of::<Node>())),
            ("next_events", state(size_of::<NextEvent>())),
            ("lists", 4 * self.list_words),
            ("work", 4 * self.work_words),
            ("world", 16 * self.world_rows.max(1)),
            ("pool", 4 * self.pool_words),
            ("warm_start", 4 * self.warm_start_words),
            ("warm_start", 4 * self.warm_start_words),
            ("scaled_bodies", scaled(size_of::<Body>())),
            ("scaled_tags", scaled(size_of::<Tag>())),
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

    /// The same in bytes, with the wall loads and the watched spheres.
    pub fn report_bytes(&self) -> u64 {
        4 * (self.report_words() + u64::from(self.wall_load_words) + u64::from(self.watched_words))
    }

    /// Most spheres in the boxes of sinks and sources that a report holds.
    pub fn watch_capacity(&self) -> u32 {
        self.watched_words / WATCH_WORDS
    }

    /// Workgroups of the audit: the order of its sums is that of the count alone.
    pub fn parts(&self) -> u32 {
        self.sphere_count.div_ceil(PART_SPHERES).clamp(1, MOST_PARTS)
    }

    /// The frame of a substep as far as it is the same for all.
    pub fn frame(&self, grid: &Grid, world: &World, radius_max: f32) -> Frame {
        let c = &self.capacities;
        let axes = Axis::of(grid);
        Frame {
            gravity: world.gravity,
            edge: grid.edge,
            radius_max,
            count: grid.count,
            sphere_count: self.sphere_count,
            room: self.room,
            threat_mask: threat_lists(self.room.into()) as u32 - 1,
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
            entry_capacity: c.entries,
            dynamic_capacity: c.dynamic_candidates,
            visit_capacity: c.visits,
            threat_capacity: c.threats,
            frozen_capacity: c.frozen,
            log_capacity: c.log,
            bucket_mask: (grid.buckets / grid.levels.parts as usize - 1) as u32,
            per_edge: grid.levels.per_edge,
            parts: grid.levels.parts,
            levels: grid.levels.words(),
            set_count: self.static_world.sets,
            watch_count: self.static_world.watches,
            watch_capacity: self.watch_capacity(),
            at: self.offsets(),
            ..Frame::default()
        }
    }

    /// The frame in which the scan sums what belongs to each place of the order of contacts.
    pub fn frame_of_order(&self) -> Frame {
        Frame {
            buckets: keys(self.slots) as u32,
            at: RegionOffsets {
                counts: self.slot_cursors,
                starts: self.slot_starts,
                sums: self.sums,
                ..RegionOffsets::default()
            },
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
        let surfaces = self.static_world.materials.pow(2);
        if self.slots > 0 && surfaces > 1 << SURFACE_BITS {
            return Err(Error::Capacity(format!(
                "{surfaces} pairs of materials, but the gpu backend tells apart {} where contacts rest; use fewer materials",
                1 << SURFACE_BITS
            )));
        }
        let most = limits.max_buffer_size.min(limits.max_storage_buffer_binding_size);
        let Some((name, bytes)) = self.first_above(most) else { return Ok(()) };
        let fitting = self.most_fitting(most, buckets, u64::from(self.room));
        Err(Error::Capacity(format!(
            "{} spheres need a buffer of {bytes} bytes ({name}), but the adapter allows {most}; at most {fitting} such \
             spheres fit",
            self.sphere_count
        )))
    }

    // The first buffer of more than `most` bytes.
    fn first_above(&self, most: u64) -> Option<(&'static str, u64)> {
        self.sizes().into_iter().find(|&(_, bytes)| bytes > most)
    }

    /// The layout for another number of such spheres. Everything grows with their number.
    pub fn scaled_to(&self, count: u64, buckets: usize) -> (Self, usize) {
        let share = count as f64 / f64::from(self.room.max(1));
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
        (Self::new(count as usize, buckets, self.static_world, slots, capacities), buckets)
    }

    // The largest number of such spheres, below `bound`, whose buffers have at most `most` bytes each.
    fn most_fitting(&self, most: u64, buckets: usize, bound: u64) -> u64 {
        let fits = |count| self.scaled_to(count, buckets).0.first_above(most).is_none();
        largest(bound, fits)
    }

    /// The largest number of such spheres, below `bound`, that a device with these limits can hold.
    #[cfg(feature = "files")]
    pub fn most_spheres(&self, limits: &wgpu::Limits, buckets: usize, bound: u64) -> u64 {
        largest(bound, |count| {
            let (layout, buckets) = self.scaled_to(count, buckets);
            layout.check(limits, buckets).is_ok()
        })
    }
}

// The largest number below `bound` that fits, by bisection.
fn largest(bound: u64, fits: impl Fn(u64) -> bool) -> u64 {
    let (mut low, mut high) = (0, bound);
    while low + 1 < high {
        let middle = (low + high) / 2;
        if fits(middle) { low = middle } else { high = middle }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_large_is_refused_with_the_number_that_fits() {
        refuses(0);
        refuses(1);
    }

    #[test]
    fn more_pairs_of_materials_than_a_contact_tells_apart_are_refused() {
        let layout = |materials, slots| {
            let static_world = StaticWorld { materials, ..StaticWorld::default() };
            BufferLayout::new(100, 100, static_world, slots, Capacities::for_spheres(100, false))
        };
        let limits = wgpu::Limits::default();
        assert_eq!(layout(1448, 8).check(&limits, 100), Ok(()));
        let refused = layout(1449, 8).check(&limits, 100).unwrap_err();
        assert!(refused.to_string().contains("2099601 pairs of materials"), "{refused}");
        assert_eq!(layout(1449, 0).check(&limits, 100), Ok(()));
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
