//! What the buffers hold: the structs of `shaders/shared/layout.wgsl`, and the words of the work buffer.

use crate::state::constants;
use bytemuck::{Pod, Zeroable};
use glam::{IVec3, UVec3, UVec4, Vec3};

use crate::state::{constants::ITERATION_BATCHES, levels};

/// A sphere's hot half.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct Body {
    /// Centre, from the corner of its cell (scaled units).
    pub offset: Vec3,
    /// Radius (scaled units).
    pub radius: f32,
    /// Velocity (scaled units).
    pub velocity: Vec3,
    /// 1 / mass (scaled units); 0 = fixed.
    pub inverse_mass: f32,
}

/// A sphere's other half.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct Tag {
    /// The cell.
    pub cell: IVec3,
    /// Place among the ids in ascending order.
    pub rank: u32,
    /// Angular velocity (scaled units).
    pub spin: Vec3,
    /// Time of the last contact, counted from the end of the step; <= 0.
    pub last_contact: f32,
}

/// What a sphere is doing in the present substep.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct Node {
    pub clock: f32,
    pub motion_margin: f32,
    pub support: u32,
    pub walk: u32,
    pub touched: u32,
    pub loss: f32,
    pub virial: f32,
    pub relax_work: f32,
}

/// The earliest impact of a sphere.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct Event {
    pub toi: f32,
    pub partner: u32,
    pub link: u32,
    pub delta_v_bound: f32,
}

/// From `time` on a velocity may differ by up to `delta_v_bound`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct VelocityBound {
    pub time: f32,
    pub delta_v_bound: f32,
}

/// What may happen to a sphere.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct NextEvent {
    pub event: Event,
    pub any: VelocityBound,
    pub others: VelocityBound,
}

/// One substep, and where everything lies; words unless said otherwise.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct Frame {
    pub gravity: Vec3,
    pub h: f32,
    pub drift: Vec3,
    pub motion_margin: f32,
    pub drifted: Vec3,
    pub drift_reach: f32,
    pub edge: Vec3,
    pub radius_max: f32,
    pub count: IVec3,
    pub sphere_count: u32,
    pub periodic: UVec3,
    pub layers: i32,
    pub block_edge: IVec3,
    pub slots: u32,
    pub block_count: IVec3,
    pub constraint_capacity: u32,
    pub buckets: u32,
    pub direct: u32,
    pub wall_count: u32,
    pub material_count: u32,
    pub contact_time: f32,
    pub slop: f32,
    pub flags: u32,
    pub substep: u32,
    pub at_counts: u32,
    pub at_heads: u32,
    pub at_marks: u32,
    pub at_starts: u32,
    pub at_sums: u32,
    pub at_pending: u32,
    pub at_near: u32,
    pub at_selected: u32,
    pub at_walkers: u32,
    pub at_walls: u32,
    pub at_entries: u32,
    pub entry_capacity: u32,
    pub at_visits: u32,
    pub at_threats: u32,
    pub at_frozen: u32,
    pub at_log: u32,
    pub dynamic_capacity: u32,
    pub visit_capacity: u32,
    pub threat_capacity: u32,
    pub frozen_capacity: u32,
    pub log_capacity: u32,
    pub at_surfaces: u32,
    pub at_materials: u32,
    pub wide_rounds: u32,
    pub tail_rounds: u32,
    pub radius_min: f32,
    pub delta_v_bound: f32,
    pub at_rested: u32,
    pub at_constraint_heads: u32,
    pub at_flags: u32,
    pub at_wall_hits: u32,
    pub at_in_contact: u32,
    pub at_woken: u32,
    pub at_slots: u32,
    pub at_slot_cursors: u32,
    pub at_order: u32,
    pub at_begin: u32,
    pub at_constraints: u32,
    pub slow: f32,
    pub shock: f32,
    pub settled: f32,
    pub sleep_speed: f32,
    pub sleep_ticks: u32,
    pub at_motion: u32,
    pub at_sites: u32,
    pub at_movers: u32,
    pub at_features: u32,
    pub at_fans: u32,
    pub at_sets: u32,
    pub at_tree: u32,
    pub set_count: u32,
    pub at_feature_ends: u32,
    pub at_wall_loads: u32,
    pub slowing: f32,
    pub unused: u32,
    pub bucket_mask: u32,
    pub per_edge: Vec3,
    pub parts: u32,
    pub levels: [UVec4; levels::MOST_LEVELS],
}

/// Which round a dispatch belongs to.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct Round {
    pub number: u32,
}

/// Number of the first pass of a turn in which contacts that rest are solved. Passes are numbered through: those before the
/// sweep are turn 0, with pass 0 for the loads of the substep before, and each turn has twice as many as the one before.
pub const fn first_iteration(batch: u32) -> u32 {
    if batch == 0 { 0 } else { ITERATIONS_AFTER << (batch - 1) }
}

// Passes before the sweep leave those of the first turn their numbers and never end early; the sentinel is no colour.
const _: () = assert!(ITERATIONS_BEFORE == 1 && ITERATIONS_AFTER.is_power_of_two() && COLOURS <= ALL_COLOURS);

macro_rules! words {
    ($($(#[$doc:meta])* $name:ident = $value:expr;)*) => {
        $($(#[$doc])* pub const $name: u32 = $value;)*
        /// The same for the shaders.
        pub const WORDS: &[(&str, u32)] = &[$((stringify!($name), $name)),*];
    };
}

words! {
    /// Spheres of a workgroup. More leave lanes idle where lists are short, fewer cost scheduling.
    GROUP = 64;
    /// Lanes of the workgroup that finishes the rounds.
    TAIL_GROUP = 256;
    /// Lanes of a workgroup of the scan.
    SCAN_GROUP = 256;
    /// Buckets that a workgroup of the scan sums.
    SCAN_PART = 4096;
    /// Rounds that look at all spheres instead of making lists: so many are concerned.
    DENSE_ROUNDS = 1;

    // Flags of a frame.
    FLAG_GRAVITY = 1;
    FLAG_RECORD = 2;
    FLAG_STRICT = 4;
    FLAG_FIRST_BUILD = 8;
    /// No shorter substeps are possible.
    FLAG_SHORTEST = 16;
    /// Walls come or go: all wake.
    FLAG_WAKE = 32;

    /// Marks a partner that is a wall.
    WALL = 1 << 31;
    /// Marks the support of a stopped sphere.
    FROZEN = 1 << 31;
    /// Rough places from here on are of spheres beyond their cell, or in its very last corner.
    OUTSIDE = u32::MAX - 3;
    /// Bits of a candidate's index.
    CODE_SHIFT = 27;
    INDEX_MASK = (1 << 27) - 1;
    /// The number that stands for a round before the first: the walks at launch.
    LAUNCH = u32::MAX;

    // Words of a record.
    DYNAMIC_WORDS = 5;
    VISIT_WORDS = 6;
    THREAT_WORDS = 9;
    FROZEN_WORDS = 4;
    LOG_WORDS = 14;

    /// Of a contact that rests, and of what the next substep needs of it.
    CONSTRAINT_WORDS = 18;
    /// The same where walls may move.
    MOVING_CONSTRAINT_WORDS = 22;
    IMPULSE_WORDS = 8;
    /// Velocity and spin of a sphere before its contacts were solved.
    BEGIN_WORDS = 6;

    /// The loads begin with the length of the substep that they are of, and how many there are; then comes for every rank
    /// where its loads begin, how many it has and whether any contact carries it, and for how long it has been calm.
    WARM_START_HEAD = 4;
    RANK_WORDS = 3;
    PAST_H = 0;
    IMPULSE_COUNT = 1;
    RESTED = 1 << 31;
    /// Calm that it takes to sleep, and that of what neither moves nor is moved.
    SLEEP = crate::state::constants::SLEEP;
    STILL = crate::state::constants::STILL;

    /// Lanes that solve the contacts of a block, and colours of the cells of one.
    REST_GROUP = 8;
    INNER_COLOURS = 27;
    COLOURS = crate::state::constants::COLOURS as u32;
    ITERATIONS_BEFORE = constants::ITERATIONS_BEFORE;
    ITERATIONS_AFTER = constants::ITERATIONS_AFTER;
    /// End of the numbers of passes.
    MOST_ITERATIONS = first_iteration(ITERATION_BATCHES + 1);
    /// Bits of a dispatch's number that are the colour, below those of the pass.
    COLOUR_BITS = 4;
    /// Instead of a colour: `ITERATIONS_AFTER` passes from this one on over all colours. For the look ahead: no other turn comes.
    ALL_COLOURS = (1 << COLOUR_BITS) - 1;

    /// Two bits of a candidate's four count its impacts, one says that a contact which rests holds the pair.
    HITS = 3;
    CONSTRAINED = 4;
    /// Planes whose impacts are counted.
    COUNTED_PLANES = crate::state::constants::COUNTED_PLANES as u32;

    // ContactConstraints of four in the buffer of the world: of a pair of materials, a plane, a wall's pivot, what moves walls, a patch, a set of
    // patches and a node of its tree.
    SURFACE_ROWS = 2;
    WALL_ROWS = 4;
    SITE_ROWS = 2;
    MOVER_ROWS = 7;
    FEATURE_ROWS = 9;
    SET_ROWS = 3;
    NODE_ROWS = 2;
    /// Bits of the number of patches of a leaf.
    LEAF_BITS = 3;
    KIND_FRUSTUM = 0;
    KIND_CAP = 1;
    KIND_TRIANGLE = 2;
    /// Marks the end of the patches of a sphere in whose reach a wall moves.
    WALL_MOVES = 1 << 31;
    /// Where rows say on which side of a narrow pipe they are.
    SIDE_SHIFT = crate::state::constants::SIDE_SHIFT;
    /// Three words each of what a wall felt: impulse, angular impulse, work.
    WALL_LOAD_WORDS = 21;

    // The work buffer begins with what only the host clears: why everything stands still, and what room is needed.
    HALT = 0;
    CANDIDATES_NEEDED = 1;
    DYNAMIC_NEEDED = 2;
    VISITS_NEEDED = 3;
    THREATS_NEEDED = 4;
    FROZEN_NEEDED = 5;
    LOG_NEEDED = 6;
    CONSTRAINTS_NEEDED = 8;
    /// Something is not finite: the steps after this one leave what was there before.
    BROKEN = 7;
    STICKY_END = 16;

    // Then counts of a step.
    PAIR_COUNT = 16;
    WALL_COUNT = 17;
    CONTACT_TIME_COUNT = 18;
    LATE_COUNT = 19;
    STOPPED_COUNT = 20;
    ROUNDS_MAX = 21;
    FAST_MAX = 22;
    NONFINITE_COUNT = 23;
    NONFINITE_FIRST = 24;
    LOG_COUNT = 25;
    TOO_LONG = 26;
    /// Deepest overlap with a wall in any substep, also before it was relaxed, if that crushes.
    DEEPEST_CRUSHED = 27;
    CLASS_COUNTS = 32;
    STEP_END = CLASS_COUNTS + crate::state::sums::CLASSES as u32;
    CANDIDATE_COUNT = STEP_END;
    /// Spheres whose lists are longer than one pass of the search keeps.
    LONG_COUNT = STEP_END + 1;
    SAMPLE_WORDS = STEP_END + 2;

    // Then counts of a substep.
    DYNAMIC_COUNT = SAMPLE_WORDS + 3 * crate::state::sums::SAMPLE as u32;
    VISIT_COUNT = DYNAMIC_COUNT + 1;
    FROZEN_COUNT = DYNAMIC_COUNT + 2;
    FAST_COUNT = DYNAMIC_COUNT + 3;
    DEEPEST_BEFORE = DYNAMIC_COUNT + 4;
    DEEPEST = DYNAMIC_COUNT + 5;
    EARLIEST = DYNAMIC_COUNT + 6;
    TAIL_ROUND = DYNAMIC_COUNT + 7;
    REACHED = DYNAMIC_COUNT + 8;
    CONSTRAINT_COUNT = DYNAMIC_COUNT + 9;
    /// Whether any pair collided too often in the substep.
    CONVERTED = DYNAMIC_COUNT + 10;
    /// Number of the last time that contacts were solved.
    LAST_IN_CONTACT = DYNAMIC_COUNT + 11;
    /// Deepest overlap ahead after each turn.
    AHEAD = DYNAMIC_COUNT + 12;
    /// Spheres that sleep; whether any will be awake, and whether all were woken.
    ASLEEP_COUNT = AHEAD + ITERATION_BATCHES - 1;
    WAKE_STATE = ASLEEP_COUNT + 1;
    AWAKE = 1;
    ALL_WOKEN = 2;
    /// Largest change of a velocity by a contact, of each pass.
    CHANGES = WAKE_STATE + 1;
    LAUNCH_BLOCK = CHANGES + MOST_ITERATIONS;
    ROUND_BLOCKS = LAUNCH_BLOCK + ROUND_WORDS;
    /// Rounds that can be done over the whole array.
    MOST_WIDE_ROUNDS = 48;
    PART_WORDS = ROUND_BLOCKS + (MOST_WIDE_ROUNDS + 2) * ROUND_WORDS;
    /// Parts of the audit.
    MOST_PARTS = 1024;
    AUDIT_SUMS = 13;
    CONTROL_END = PART_WORDS + MOST_PARTS * AUDIT_SUMS;

    // Words of a round's block.
    PENDING = 0;
    NEAR = 1;
    AROUND = 2;
    SELECTED = 3;
    WALKERS = 4;
    AFFECTED = 5;
    THREATS = 6;
    ROUND_WORDS = 8;

    // Reasons to halt.
    HALT_OVERFLOW = 1;
    HALT_CROWDED = 2;
    HALT_STUCK = 4;
    HALT_LATE = 8;
    HALT_TOO_LONG = 16;
    HALT_CUT = 32;
    HALT_UNFINISHED = 64;
    HALT_ITERATIONS = 128;
}

/// Words of a contact that rests.
pub fn constraint_words(has_shapes: bool) -> u32 {
    if has_shapes { MOVING_CONSTRAINT_WORDS } else { CONSTRAINT_WORDS }
}

/// A struct: name, size, fields with their offsets.
#[cfg(test)]
pub type Struct = (&'static str, usize, Vec<(&'static str, usize)>);

/// Every struct that both sides know: what the test of the layout compares.
#[cfg(test)]
pub fn structs() -> Vec<Struct> {
    macro_rules! fields {
        ($name:ident: $($field:ident),*) => {
            (stringify!($name), size_of::<$name>(), vec![$((stringify!($field), std::mem::offset_of!($name, $field))),*])
        };
    }
    vec![
        fields!(Body: offset, radius, velocity, inverse_mass),
        fields!(Tag: cell, rank, spin, last_contact),
        fields!(Node: clock, motion_margin, support, walk, touched, loss, virial, relax_work),
        fields!(Event: toi, partner, link, delta_v_bound),
        fields!(VelocityBound: time, delta_v_bound),
        fields!(NextEvent: event, any, others),
        fields!(Frame: gravity, h, drift, motion_margin, drifted, drift_reach, edge, radius_max, count, sphere_count, periodic,
            layers, block_edge, slots, block_count, constraint_capacity, buckets, direct, wall_count, material_count, contact_time, slop, flags, substep, at_counts, at_heads,
            at_marks, at_starts, at_sums, at_pending, at_near, at_selected, at_walkers, at_walls, at_entries,
            entry_capacity, at_visits, at_threats, at_frozen, at_log, dynamic_capacity, visit_capacity, threat_capacity,
            frozen_capacity, log_capacity, at_surfaces, at_materials, wide_rounds, tail_rounds, radius_min, delta_v_bound,
            at_rested, at_constraint_heads, at_flags, at_wall_hits, at_in_contact, at_woken, at_slots, at_slot_cursors, at_order, at_begin,
            at_constraints, slow, shock, settled, sleep_speed, sleep_ticks, at_motion, at_sites, at_movers,
            at_features, at_fans, at_sets, at_tree, set_count, at_feature_ends, at_wall_loads, slowing, unused,
            bucket_mask, per_edge, parts, levels),
        fields!(Round: number),
    ]
}
