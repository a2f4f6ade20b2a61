//! Contents of the device buffers: the structs that shaders share with Rust, the table of regions, and the words of the
//! work buffer.

use glam::{IVec3, UVec3, UVec4, Vec3};

use super::wgsl::{Member, WgslStruct, WgslType, shared_structs};
use crate::state::{
    constants::{self, ITERATION_BATCHES},
    levels,
};

/// The regions of buffers, in the order of their places in memory. Each region is declared here and nowhere else.
///
/// One line declares a region: `name: [words of an element; elements],`, where `s` stands for the `Sizes` of `buffer_layout.rs`.
/// The line yields the offset `name` in [`BufferLayout`](super::buffer_layout::BufferLayout) and in [`RegionOffsets`], the member
/// `at_name` of `Frame` in WGSL, and its share of the buffer's length, which is checked against the limits of the adapter.
///
/// `buffer length after [..], .. { regions }` declares a buffer. The arrays in front of the regions need no offset: shaders know where
/// these begin. The unit is a word of 4 bytes; in the buffer `world` it is a row of 16 bytes. The regions of `repeat rows [times]`
/// are repeated, `rows` apart.
macro_rules! regions {
    ($then:ident) => {
        $then! { s;
            buffer work_words after [1; CONTROL_END] {
                /// Spheres of each bucket; in rounds the first visit of each, plus 1. The broad phase clears from here to
                /// `heads`, every substep from `DYNAMIC_COUNT` to `starts`.
                counts: [1; s.buckets],
                /// First dynamic candidate of each sphere, plus 1.
                heads: [1; s.spheres],
                /// Stamp of the last round that marked the sphere for a re-sweep.
                marks: [1; s.spheres],
                /// Time that each sphere has been in contact.
                rested: [1; s.resting(s.spheres)],
                /// First contact constraint of each sphere, and their number.
                constraint_heads: [2; s.resting(s.spheres)],
                /// Impacts of each sphere with planes, two bits for each plane.
                wall_hits: [1; s.resting(s.spheres)],
                /// Last batch of iterations, plus 1, in which the sphere was in contact.
                in_contact: [1; s.resting(s.spheres)],
                /// Pressed contacts of each sphere with spheres before the sweep; `MANY_CONTACTS` or more of one that squeezes a much lighter sphere
                /// in the rounds.
                pressed: [1; s.resting(s.spheres)],
                /// Time from the bounce of each sphere in a crowd to the end of the substep, as the bits of a float.
                bounces: [1; s.resting(s.spheres)],
                /// Twice the last batch of iterations in which each block is active, plus 1 if its spheres wake before; by
                /// colour and slot.
                active_blocks: [1; s.order_keys() / u64::from(INNER_COLOURS)],
                /// Colours and local index of each sphere among the contact constraints of a block, for each colour of blocks.
                colour_words: [ALL_COLOUR_WORDS; s.resting(s.spheres)],
                /// Whether the substep wakes each sphere: `STIRRED` for now, `WAKES_NEXT` from the next batch of iterations on; and
                /// whether it is `TURNED`.
                stirred: [1; s.resting(s.spheres)],
                /// `STILL` minus the sleep timer that its neighbours leave to each sphere.
                woken: [1; s.resting(s.spheres)],
                /// Contact flags: four bits for each candidate.
                flags: [1; s.resting(u64::from(s.capacities.entries).div_ceil(8))],
                /// The table of threats. First the lists by coarse cell: the first threat of each, plus 1. Then the list of
                /// threats of long reach. Then a bit for each level at which any is listed.
                threat_lists: [1; threat_lists(s.spheres) + 2],
                /// Begin of each bucket, and the end of the last.
                starts: [1; s.buckets + 1],
                /// Sums of the parts of a scan.
                sums: [1; s.buckets.max(s.order_keys()).div_ceil(u64::from(SCAN_PART))],
                /// Pending spheres of a round; two lists in turn.
                pending: [2; s.spheres],
                /// Spheres near an impact of the round.
                near: [1; s.spheres],
                /// Spheres whose impacts the round selects.
                selected: [1; s.spheres],
                /// Fast spheres whose paths the round traverses.
                walkers: [1; s.spheres],
                /// Number of cells at each position in the order of contact constraints. Cleared, up to `slot_starts`, before the count.
                slot_cursors: [1; s.order_keys()],
                /// Start of each position in that order, and the end of the last.
                slot_starts: [1; s.resting(s.order_keys() + 1)],
                /// First sphere of each cell in that order, and the end.
                order: [2; s.resting(s.spheres)],
                /// Work on contacts that rest, then impulse, angular impulse and work of each wall.
                wall_loads: [1; s.wall_load_words()],
                /// Spheres in the boxes of sinks and sources; the report ends with them.
                watched: [WATCH_WORDS; s.watch_capacity()],
                /// Velocity and spin of each sphere before its contacts are solved. In this buffer, like the next region, because the pool
                /// of many spheres would exceed a binding.
                begin: [BEGIN_WORDS; s.resting(s.spheres)],
                /// Spheres of the constraints of each block: two for each constraint at most. Last, so that other regions keep their
                /// offsets if the room for constraints grows.
                block_spheres: [2; s.constraints()],
            }
            // Before the regions: begin and end of each sphere's list.
            buffer list_words after [2; s.spheres] {
                /// Place of each sphere in its cell, in one word that the search for candidates reads.
                rough_places: [1; s.spheres],
                /// Bits of the planes in reach of each sphere.
                walls: [1; s.spheres],
                /// End of the wall features behind each sphere's list.
                feature_ends: [1; if s.static_world.has_shapes { s.spheres } else { 0 }],
                /// Candidates and wall features.
                entries: [1; s.capacities.entries],
            }
            // Before the regions: dynamic candidates. The solver of contact constraints reads rows of four words, so all counts are
            // multiples of four.
            buffer pool_words after [DYNAMIC_WORDS; fours(s.capacities.dynamic_candidates)] {
                /// Visits of fast spheres to buckets.
                visits: [VISIT_WORDS; fours(s.capacities.visits)],
                /// Impacts that may send a sphere beyond its candidates.
                threats: [THREAT_WORDS; fours(s.capacities.threats)],
                /// Velocities of spheres that were stopped.
                frozen: [FROZEN_WORDS; fours(s.capacities.frozen)],
                /// Recorded impacts.
                log: [LOG_WORDS; fours(s.capacities.log)],
                constraints: [constraint_words(s.static_world.has_shapes); fours(s.constraints())],
                /// Constraints in solving order. A batch orders each constraint at most once, so there is always room.
                ordered: [1; fours(s.constraints())],
                /// The blocks with constraints to be solved, by colour.
                ordered_blocks: [BLOCK_WORDS; s.order_keys() / u64::from(INNER_COLOURS)],
            }
            // Head, ranks and contact impulses; no region.
            buffer warm_start_words after
                [WARM_START_HEAD; s.resting(1)],
                [RANK_WORDS; s.resting(s.spheres)],
                [IMPULSE_WORDS; s.constraints()] {}
            buffer world_rows after {
                /// Of each pair of materials.
                surfaces: [SURFACE_ROWS; s.static_world.materials * s.static_world.materials],
                /// Material of each rank, four in a row.
                materials: [1; if s.static_world.materials > 1 { s.spheres.div_ceil(4) } else { 0 }],
                /// Wall features.
                features: [FEATURE_ROWS; s.static_world.features],
                /// Unit vectors along the edges at corners of triangles.
                fans: [1; s.static_world.fans],
                /// Sets of wall features.
                sets: [SET_ROWS; s.static_world.sets],
                /// Nodes of the trees of these sets.
                tree: [NODE_ROWS; s.static_world.nodes],
                /// Boxes of sinks and sources.
                watches: [WATCH_ROWS; s.static_world.watches],
            }
            // Positions of walls in each substep.
            repeat motion_rows [s.blocks()] {
                /// Planes.
                motion: [WALL_ROWS; s.static_world.planes],
                /// Pivots of all walls.
                sites: [SITE_ROWS; s.static_world.walls],
                /// Motions of walls.
                movers: [MOVER_ROWS; s.static_world.movers],
            }
        }
    };
}
pub(super) use regions;

macro_rules! region_offsets {
    ($s:ident; $(
        buffer $length:ident after $([$head_words:expr; $head:expr]),* {
            $($(#[$doc:meta])* $region:ident: [$words:expr; $count:expr],)*
        }
        $(repeat $rows:ident [$times:expr] {
            $($(#[$repeated_doc:meta])* $repeated:ident: [$repeated_words:expr; $repeated_count:expr],)*
        })?
    )*) => {
        region_offsets! { $($($region)* $($($repeated)*)?)* }
    };
    ($($region:ident)*) => {
        const REGION_COUNT: usize = [$(stringify!($region)),*].len();

        /// Offset of every region in its buffer: the members `at_*` of `Frame` in WGSL.
        #[repr(C)]
        #[derive(Clone, Copy, Debug, Default, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
        pub struct RegionOffsets {
            $(pub $region: u32,)*
        }

        impl WgslType for RegionOffsets {
            const ALIGN: usize = 4;

            fn declare(member: &str) -> String {
                [$(u32::declare(&format!("{member}_{}", stringify!($region)))),*].concat()
            }
        }

        impl WgslStruct for RegionOffsets {
            const NAME: &'static str = "RegionOffsets";
            const MEMBERS: &'static [Member] = &[$(Member {
                name: stringify!($region),
                offset: std::mem::offset_of!(RegionOffsets, $region),
                size: 4,
                align: 4,
                declare: u32::declare,
            }),*];
        }
    };
}

regions!(region_offsets);

shared_structs! { structs_as_wgsl;
    /// A sphere's hot half.
    struct Body {
        /// Centre, from the corner of its cell (scaled units).
        offset: Vec3,
        /// Radius (scaled units).
        radius: f32,
        /// Velocity (scaled units).
        velocity: Vec3,
        /// 1 / mass (scaled units); 0 = fixed.
        inverse_mass: f32,
    }

    /// A sphere's other half.
    struct Tag {
        /// The cell.
        cell: IVec3,
        /// Place among the ids in ascending order: stands for the id.
        rank: u32,
        /// Angular velocity (scaled units).
        spin: Vec3,
        /// Time of the last contact; <= 0. Counted from the end of the step, in shaders from the start of the substep.
        last_contact: f32,
    }

    /// State of a sphere in the present substep.
    struct Node {
        /// Time of the body's offset and velocity.
        clock: f32,
        /// Path that its candidates still cover.
        motion_margin: f32,
        /// Plane that carries it, plus 1; FROZEN | slot for one that was stopped; 0 = neither.
        support: u32,
        /// Number of its last traversal as a fast sphere; 0 = not fast.
        walk: u32,
        /// Round in which it was last touched, plus 1.
        touched: u32,
        /// Energy lost, summed over the step.
        loss: f32,
        /// Distance * impulse, summed over the step.
        virial: f32,
        /// Potential energy gained by relax, summed over the step.
        relax_work: f32,
    }

    /// The earliest impact of a sphere in the substep.
    struct Event {
        /// Time of impact; NO_IMPACT or beyond = none.
        toi: f32,
        /// Index of the sphere, or WALL with the number of a wall: planes first, then features.
        partner: u32,
        /// Image of the partner: code of a candidate, or CODES + place among the dynamic candidates.
        link: u32,
        /// Bound on the change of the sphere's velocity in the impact.
        delta_v_bound: f32,
    }

    /// From `time` on, a sphere's velocity may differ by up to `delta_v_bound` from the present one.
    struct VelocityBound {
        time: f32,
        delta_v_bound: f32,
    }

    /// A sphere's next impact, and when anything, or a neighbour of it, may change its velocity.
    struct NextEvent {
        event: Event,
        any: VelocityBound,
        others: VelocityBound,
    }

    /// One substep, and the offsets of regions. Lengths, times and masses in scaled units.
    struct Frame {
        gravity: Vec3,
        h: f32,
        drift: Vec3,
        /// Motion margin of the broad phase.
        motion_margin: f32,
        drifted: Vec3,
        /// Path of the drift itself between two broad phases.
        drift_reach: f32,
        edge: Vec3,
        radius_max: f32,
        /// Cells along each axis; 0 = without end.
        count: IVec3,
        sphere_count: u32,
        periodic: UVec3,
        layers: i32,
        /// Cells along the edges of a block.
        block_edge: IVec3,
        /// Blocks of a colour, or places for them where there is no end.
        slots: u32,
        /// Blocks along each axis; 0 = without end.
        block_count: IVec3,
        constraint_capacity: u32,
        /// 1 / edge.
        per_edge: Vec3,
        /// Buckets of a cell: one for each of its parts, where sizes differ.
        parts: u32,
        /// In a step that shrinks the box: edges of the cells as a share of those before, and the number of cells before.
        ratio: Vec3,
        contact_time: f32,
        old_count: IVec3,
        slop: f32,
        /// Of each level, the coarsest first: parts along x and y, the first of them, bits of the largest radius.
        /// `src/state/levels.rs` gives the reasons.
        levels: [UVec4; levels::MOST_LEVELS],
        buckets: u32,
        direct: u32,
        wall_count: u32,
        material_count: u32,
        flags: u32,
        substep: u32,
        entry_capacity: u32,
        dynamic_capacity: u32,
        visit_capacity: u32,
        threat_capacity: u32,
        frozen_capacity: u32,
        log_capacity: u32,
        wide_rounds: u32,
        /// Rounds of one dispatch of the tail.
        tail_rounds: u32,
        /// Smallest radius of all spheres.
        radius_min: f32,
        /// Bound on the change of a velocity in an impact, in units of reduced mass / own mass * approach speed.
        delta_v_bound: f32,
        /// Speed of approach below which a contact rests.
        slow: f32,
        /// Speed of approach above which a resting contact has an impact nevertheless.
        shock: f32,
        /// Change of a velocity below which contacts are solved.
        settled: f32,
        /// Change of a velocity in the first solve above which a block is solved again after the rounds.
        unsettled: f32,
        /// Speed below which the sleep timer of a sphere advances.
        sleep_speed: f32,
        /// Advance of a sleep timer in a substep; 0 = no sphere ever sleeps.
        sleep_ticks: u32,
        set_count: u32,
        /// Share of velocities that half of the drag of a step takes.
        slowing: f32,
        /// Of the bucket of a whole cell, where cells are hashed.
        bucket_mask: u32,
        /// Boxes of sinks and sources, and those to test: bit `min(number, 31)`.
        watch_count: u32,
        watch_set: u32,
        watch_capacity: u32,
        /// Spheres for which the buffers have room, and ranks of the warm start.
        room: u32,
        /// Spheres that sinks have taken.
        removed_count: u32,
        /// Number of lists of threats by coarse cell, a power of two, minus 1.
        threat_mask: u32,
        at: RegionOffsets,
        /// Fills up to a multiple of 16 bytes; 31 words lie between `levels` and `at`.
        unused: [u32; (31 + REGION_COUNT).wrapping_neg() % 4],
    }

    /// Number of the round, or of the pass and colour of contact constraints, of a dispatch.
    struct Round {
        number: u32,
    }
}

/// Number of the first iteration of a batch over the resting contacts. Iterations are numbered through: those before the
/// sweep are batch 0, and each batch after the rounds has twice as many as the one before.
pub const fn first_iteration(batch: u32) -> u32 {
    if batch == 0 { 0 } else { ITERATIONS_BEFORE + ITERATIONS_AFTER * ((1 << (batch - 1)) - 1) }
}

// The blocks of all colours fill the workgroups that order them.
const _: () = assert!(COLOURS.is_multiple_of(BLOCKS_AT_ONCE));

// The sentinels are no colours.
const _: () = assert!(COLOURS <= NO_BATCH);

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
    /// Rounds that look at all spheres instead of making lists, because many spheres are affected.
    DENSE_ROUNDS = 1;
    /// Pending spheres up to which one workgroup finishes a round sooner than dispatches over the whole array would.
    BUSY_PENDING = 64;
    /// Pending spheres above which one workgroup does not begin: it would run for too long.
    MOST_TAIL_PENDING = 2048;

    // Flags of a frame.
    FLAG_GRAVITY = 1;
    FLAG_RECORD = 2;
    FLAG_STRICT = 4;
    FLAG_FIRST_BUILD = 8;
    /// No shorter substeps are possible.
    FLAG_SHORTEST = 16;
    /// Long chains of impacts, and impacts out of order, are left to the CPU.
    FLAG_LEAVES_CHAINS = 64;
    /// The paths of fast spheres are searched in dispatches of their own.
    FLAG_WALKS = 128;

    /// Marks a partner that is a wall.
    WALL = 1 << 31;
    /// Marks the support of a stopped sphere.
    FROZEN = 1 << 31;
    /// Rough places from here on are of spheres beyond their cell, or in its very last corner.
    OUTSIDE = u32::MAX - 3;
    /// Bits of a candidate's index.
    CODE_SHIFT = 27;
    INDEX_MASK = (1 << 27) - 1;
    /// Round number of the traversals at launch, before the first round.
    LAUNCH = u32::MAX;

    // Words of a record.
    DYNAMIC_WORDS = 5;
    VISIT_WORDS = 6;
    THREAT_WORDS = 10;
    /// Word of a threat that names the next one of its list, plus 1.
    NEXT_THREAT = 9;
    FROZEN_WORDS = 4;
    LOG_WORDS = 14;

    /// Words of a contact constraint, and of its warm-start data.
    CONSTRAINT_WORDS = 16;
    /// Words of a contact constraint if walls may move.
    MOVING_CONSTRAINT_WORDS = 20;
    IMPULSE_WORDS = 8;
    /// Places in a contact constraint, in rows of four words. The normal is at its start; the tangential impulse follows the normal
    /// one, and the share follows the mass.
    CLOSING_PLACE = 3;
    IMPULSE_PLACE = 4;
    MASS_PLACE = 8;
    /// The pair of materials, as a row of the matrix of surfaces; from [`SURFACE_BITS`] on the cells to the partner's image, as in a
    /// candidate; from `COLOUR_SHIFT` on the colour.
    SURFACE_PLACE = 10;
    SURFACE_BITS = 21;
    SURFACE_MASK = (1 << SURFACE_BITS) - 1;
    CODE_MASK = 31;
    COLOUR_SHIFT = SURFACE_BITS + 5;
    /// Indices of both spheres in their block: 15 bits, [`RESISTS`], and from bit 16 on the partner or [`NOT_STAGED`]. In a block with too many
    /// spheres, the index of the first sphere, with bit 31 for resistance.
    LOCALS_PLACE = 11;
    MOMENT_PLACE = 12;
    PARTNER_PLACE = 15;
    WALL_VELOCITY_PLACE = 16;
    /// Velocity and spin of a sphere before its contacts were solved.
    BEGIN_WORDS = 6;

    /// The warm start begins with the length of its substep and the number of impulses. Then follow for every rank: the place of
    /// its first impulse, their number and whether any contact carries the sphere, and its sleep timer.
    WARM_START_HEAD = 4;
    RANK_WORDS = 3;
    PAST_H = 0;
    IMPULSE_COUNT = 1;
    RESTED = 1 << 31;
    /// Ticks of the sleep timers.
    SLEEP = crate::state::constants::SLEEP;
    BESIDE_MOVING = crate::state::constants::BESIDE_MOVING;
    SPREAD = crate::state::constants::SPREAD;
    STILL = crate::state::constants::STILL;

    /// Colours of the cells of a block in which contacts are solved.
    INNER_COLOURS = 27;
    COLOURS = crate::state::constants::COLOURS as u32;
    CONSTRAINT_COLOURS = crate::state::constants::CONSTRAINT_COLOURS as u32;
    /// Blocks whose constraints a workgroup divides into colours at the same time, and its lanes for each of them.
    BLOCKS_AT_ONCE = 8;
    BLOCK_LANES = 8;
    /// Words of a sphere in a block: bits of the colours of its constraints, and its index among the spheres of the block plus 1.
    COLOUR_WORDS = 2;
    /// The same for the blocks of all colours.
    ALL_COLOUR_WORDS = COLOUR_WORDS * COLOURS;
    /// Flag of a constraint that resists rolling or twisting, and index of a wall, in the local indices of its partners.
    RESISTS = 1 << 15;
    NOT_STAGED = (1 << 16) - 1;
    /// Words of a block with constraints: number of colours, number of spheres, the first of its constraints in solving order, number
    /// of the block, the largest share of the heavier sphere in the mass of a pair, and from `COLOUR_STARTS` on the start of each
    /// colour and the end of the last.
    BLOCK_WORDS = COLOUR_STARTS + CONSTRAINT_COLOURS + 2;
    COLOUR_STARTS = 5;
    /// Spheres of a block whose velocities fit into the memory of a workgroup.
    MOST_STAGED = 480;
    ITERATIONS_BEFORE = constants::ITERATIONS_BEFORE;
    ITERATIONS_AFTER = constants::ITERATIONS_AFTER;
    SWEEPS = constants::SWEEPS;
    RELAX_PUSHES = constants::RELAX_PUSHES;
    RELAX_PATIENCE = constants::RELAX_PATIENCE;
    /// Flag in the number of the last push, or of the measurement where no push follows, if a step that needs more pushes is
    /// repeated.
    LAST_PUSH = 1 << 8;
    /// Mark of spheres whose contacts last until the next substep. It exceeds the numbers of all batches.
    LASTING = ITERATION_BATCHES + 2;
    /// End of the numbers of passes.
    MOST_ITERATIONS = first_iteration(ITERATION_BATCHES + 1);
    /// Bits of a dispatch's number that are the colour, below those of the pass.
    COLOUR_BITS = 4;
    /// In place of a colour: `ITERATIONS_AFTER` iterations over all colours, beginning with this one. For the look ahead:
    /// no further batch follows.
    ALL_COLOURS = (1 << COLOUR_BITS) - 1;
    /// In place of a colour, for the look ahead: no batch after the rounds is encoded.
    NO_BATCH = ALL_COLOURS - 1;

    /// Two bits of a candidate's four count its impacts, one says that a contact which rests holds the pair.
    HITS = 3;
    CONSTRAINED = 4;
    /// Planes whose impacts are counted.
    COUNTED_PLANES = crate::state::constants::COUNTED_PLANES as u32;

    // Rows of four words in the buffer of the world: of a pair of materials, a plane, a wall's pivot, a wall's motion, a wall
    // feature, a set of features and a node of its tree.
    SURFACE_ROWS = 2;
    WALL_ROWS = 4;
    SITE_ROWS = 2;
    MOVER_ROWS = 7;
    FEATURE_ROWS = 9;
    SET_ROWS = 3;
    NODE_ROWS = 2;
    /// Rows of the box of a sink or a source.
    WATCH_ROWS = 4;
    /// Words of a sphere in such a box: its body and tag.
    WATCH_WORDS = 16;
    /// Most spheres in these boxes that a report holds; the host reads the whole state if there are more.
    MOST_WATCHED = 2048;
    /// Bits of the number of features of a leaf.
    LEAF_BITS = 3;
    KIND_FRUSTUM = 0;
    KIND_CAP = 1;
    KIND_TRIANGLE = 2;
    /// Flag in the feature count of a sphere: a wall in its reach moves.
    WALL_MOVES = 1 << 31;
    /// First bit of the side of a narrow pipe in the partner of a contact constraint.
    SIDE_SHIFT = crate::state::constants::SIDE_SHIFT;
    /// Wall load, three words each: impulse, angular impulse, work.
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
    /// Pending spheres that the rounds of a substep left.
    LEFT_PENDING = 9;
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
    /// Impacts that became resting contacts.
    CROWDED_COUNT = 28;
    /// Spheres in the boxes of sinks and sources.
    WATCHED_COUNT = 29;
    /// Most rounds of a substep with more than [`BUSY_PENDING`] pending spheres.
    BUSY_ROUNDS = 30;
    /// Whether dispatches searched the path of any fast sphere.
    WALKED = 31;
    CLASS_COUNTS = 32;
    /// Whether each of three passes of pushes in a smaller box found overlaps; three passes take turns.
    PUSH_FOUND = CLASS_COUNTS + crate::state::sums::CLASSES as u32;
    /// Number of these passes that were needed, and whether they pushed any sphere beyond its motion margin.
    PUSH_COUNT = PUSH_FOUND + 3;
    PUSHED_FAR = PUSH_FOUND + 4;
    STEP_END = PUSH_FOUND + 5;
    CANDIDATE_COUNT = STEP_END;
    /// Spheres whose lists are longer than one pass of the search keeps.
    LONG_COUNT = STEP_END + 1;
    SAMPLE_WORDS = STEP_END + 2;

    // Then counts of a substep.
    DYNAMIC_COUNT = SAMPLE_WORDS + 3 * crate::state::sums::SAMPLE as u32;
    VISIT_COUNT = DYNAMIC_COUNT + 1;
    FROZEN_COUNT = DYNAMIC_COUNT + 2;
    FAST_COUNT = DYNAMIC_COUNT + 3;
    /// Deepest overlap, in mean diameters: before the first push and after each push.
    DEEPEST_BEFORE = AHEAD + ITERATION_BATCHES;
    DEEPEST = DEEPEST_BEFORE + RELAX_PUSHES;
    EARLIEST = DYNAMIC_COUNT + 4;
    TAIL_ROUND = DYNAMIC_COUNT + 5;
    REACHED = DYNAMIC_COUNT + 6;
    CONSTRAINT_COUNT = DYNAMIC_COUNT + 7;
    /// Whether any pair collided too often in the substep.
    CONVERTED = DYNAMIC_COUNT + 8;
    /// Number of the last solve of contact constraints.
    LAST_IN_CONTACT = DYNAMIC_COUNT + 9;
    /// For each batch after the rounds whether it solves: of the first, 1.0 if any block is active; of the others, the deepest overlap
    /// ahead that the batch before left.
    AHEAD = DYNAMIC_COUNT + 10;
    /// Spheres that sleep, and whether any will be awake.
    ASLEEP_COUNT = DEEPEST + 1;
    WAKE_STATE = ASLEEP_COUNT + 1;
    AWAKE = 1;
    /// The sphere is woken, or will be for the next batch of iterations.
    STIRRED = 1;
    WAKES_NEXT = 2;
    /// It will then receive the velocity in its part of `begin`.
    GIVEN = 4;
    /// A solve has changed the spin of the sphere, which is awake.
    TURNED = 8;
    /// Largest change of a velocity by a contact, of each pass.
    CHANGES = WAKE_STATE + 1;
    /// Last batch, plus 1, in which contact constraints were ordered; then the number of constraints that each batch ordered, and
    /// of the blocks with constraints of each batch and colour.
    LAST_ORDERED = CHANGES + MOST_ITERATIONS;
    ORDERED_COUNT = LAST_ORDERED + 1;
    BLOCK_COUNTS = ORDERED_COUNT + ITERATION_BATCHES + 1;
    LAUNCH_BLOCK = BLOCK_COUNTS + COLOURS * (ITERATION_BATCHES + 1);
    ROUND_BLOCKS = LAUNCH_BLOCK + ROUND_WORDS;
    /// Rounds that can be done over the whole array.
    MOST_WIDE_ROUNDS = 48;
    PART_WORDS = ROUND_BLOCKS + (MOST_WIDE_ROUNDS + 2) * ROUND_WORDS;
    /// Parts of the audit.
    MOST_PARTS = 1024;
    AUDIT_SUMS = 14;
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
    /// A sphere is fast, and no dispatch searches its path.
    HALT_WALKS = 256;
    /// Spheres overlap in the smaller box after all passes of pushes that were dispatched.
    HALT_PUSHES = 512;
    /// These passes pushed a sphere beyond its motion margin.
    HALT_PUSHED_FAR = 1024;
}

/// Words of a contact that rests.
pub fn constraint_words(has_shapes: bool) -> u32 {
    if has_shapes { MOVING_CONSTRAINT_WORDS } else { CONSTRAINT_WORDS }
}
