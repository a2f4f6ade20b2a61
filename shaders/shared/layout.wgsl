// What the buffers hold; `src/gpu/layout.rs` mirrors every struct. Lengths, times and masses in scaled units.

// A sphere's hot half.
struct Body {
    // Offset inside the cell.
    offset: vec3f,
    radius: f32,
    velocity: vec3f,
    // 0 = fixed.
    inverse_mass: f32,
}

// A sphere's other half.
struct Tag {
    cell: vec3i,
    // Place among the ids in ascending order: stands for the id.
    rank: u32,
    spin: vec3f,
    // Counted from the start of the substep, <= 0 there.
    last_contact: f32,
}

// What a sphere is doing in the present substep.
struct Node {
    // Time of the body's offset and velocity.
    clock: f32,
    // Path it may still take before its candidates no longer cover it.
    motion_margin: f32,
    // Plane that carries it, plus 1; FROZEN | slot for one that was stopped; 0 = neither.
    support: u32,
    // Number of its last walk as a fast sphere; 0 = not fast.
    walk: u32,
    // Round in which it was last touched, plus 1.
    touched: u32,
    // Sums over the step: energy lost, distance * impulse, potential energy gained by relax.
    loss: f32,
    virial: f32,
    relax_work: f32,
}

// The earliest impact of a sphere in the substep.
struct Event {
    // NO_IMPACT or beyond: none.
    toi: f32,
    // Index of the sphere, or WALL with the number of a wall: planes first, then patches.
    partner: u32,
    // Which image of the partner: code of a candidate, or CODES + place among the extras.
    link: u32,
    // Bound on the change of the sphere's velocity in the impact.
    delta_v_bound: f32,
}

// From `time` on, a sphere's velocity may differ by up to `delta_v_bound` from the one it has.
struct VelocityBound {
    time: f32,
    delta_v_bound: f32,
}

// What may happen to a sphere: next, by anything, by its neighbours.
struct NextEvent {
    event: Event,
    any: VelocityBound,
    others: VelocityBound,
}

// One substep, and where everything lies.
struct Frame {
    gravity: vec3f,
    h: f32,
    drift: vec3f,
    // Path budget of the broad phase.
    motion_margin: f32,
    drifted: vec3f,
    // How far the drift itself goes between two broad phases.
    drift_reach: f32,
    edge: vec3f,
    radius_max: f32,
    // Cells along each axis; 0 = without end.
    count: vec3i,
    sphere_count: u32,
    periodic: vec3u,
    layers: i32,
    // Cells along the edges of a block, and blocks along each axis; 0 = without end.
    block_edge: vec3i,
    // Blocks of a colour, or places for them where there is no end.
    slots: u32,
    block_count: vec3i,
    constraint_capacity: u32,
    buckets: u32,
    direct: u32,
    wall_count: u32,
    material_count: u32,
    contact_time: f32,
    slop: f32,
    flags: u32,
    substep: u32,
    at_counts: u32,
    at_heads: u32,
    at_marks: u32,
    at_starts: u32,
    at_sums: u32,
    at_pending: u32,
    at_near: u32,
    at_selected: u32,
    at_walkers: u32,
    at_walls: u32,
    at_entries: u32,
    entry_capacity: u32,
    at_visits: u32,
    at_threats: u32,
    at_frozen: u32,
    at_log: u32,
    dynamic_capacity: u32,
    visit_capacity: u32,
    threat_capacity: u32,
    frozen_capacity: u32,
    log_capacity: u32,
    // In `world`, in vec4f.
    at_surfaces: u32,
    at_materials: u32,
    wide_rounds: u32,
    // Rounds that one dispatch of the tail does.
    tail_rounds: u32,
    // Smallest radius of all spheres.
    radius_min: f32,
    // Bound on the change of a velocity in an impact, in units of the reduced mass over the own times the speed of
    // approach.
    delta_v_bound: f32,
    at_rested: u32,
    at_constraint_heads: u32,
    at_flags: u32,
    at_wall_hits: u32,
    at_in_contact: u32,
    at_woken: u32,
    at_slots: u32,
    at_slot_cursors: u32,
    at_order: u32,
    // In `pool`.
    at_begin: u32,
    at_constraints: u32,
    // Speeds of approach: below the first a contact rests, above the second it is an impact all the same.
    slow: f32,
    shock: f32,
    // Change of a velocity below which contacts are solved.
    settled: f32,
    // Speed below which a sphere is calm, and what a substep of calm counts; 0 = nobody ever sleeps.
    sleep_speed: f32,
    sleep_ticks: u32,
    // In `world`: planes, pivots of all walls and what moves them, as they are in the substep; patches, with fans, and the trees
    // over them.
    at_motion: u32,
    at_sites: u32,
    at_movers: u32,
    at_features: u32,
    at_fans: u32,
    at_sets: u32,
    at_tree: u32,
    set_count: u32,
    // In `lists`; in `work`.
    at_feature_ends: u32,
    at_wall_loads: u32,
    // Share of velocities that half of the drag of a step takes.
    slowing: f32,
    // A vector begins at a multiple of 16 bytes.
    unused: u32,
    // Of the bucket of a whole cell, where cells are hashed.
    bucket_mask: u32,
    // 1 / edge.
    per_edge: vec3f,
    // Buckets of a cell: one for each of its parts, where sizes differ.
    parts: u32,
    // Of each level, the coarsest first: parts along x and y, the first of them, bits of the largest radius. src/model/levels.rs
    // says why.
    levels: array<vec4u, MOST_LEVELS>,
}

// Which round a dispatch belongs to.
struct Round {
    number: u32,
}

@group(0) @binding(0) var<uniform> frame: Frame;
@group(0) @binding(1) var<uniform> round_of_dispatch: Round;

// 0, though no compiler can know. At least one driver (lavapipe) compiles a shader anew for the values of uniforms that
// alone decide a branch or a loop: at every dispatch, for milliseconds, and it never frees what it has compiled. `a && b` is
// a branch too.
var<private> opaque_zero: u32;

// First in every entry point: dispatches have one workgroup along y.
fn begin(groups: vec3u) { opaque_zero = groups.y - 1u; }

fn has_flag(flag: u32) -> bool { return ((frame.flags | opaque_zero) & flag) != 0u; }
fn has_gravity() -> bool { return has_flag(FLAG_GRAVITY); }
fn is_recording() -> bool { return has_flag(FLAG_RECORD); }
fn is_strict() -> bool { return has_flag(FLAG_STRICT); }
fn is_shortest() -> bool { return has_flag(FLAG_SHORTEST); }
fn is_first_build() -> bool { return has_flag(FLAG_FIRST_BUILD); }
fn is_direct() -> bool { return (frame.direct | opaque_zero) != 0u; }
fn is_periodic(axis: u32) -> bool { return (frame.periodic[axis] | opaque_zero) != 0u; }
fn cell_count(axis: u32) -> i32 { return frame.count[axis] + i32(opaque_zero); }
fn wall_count() -> u32 { return frame.wall_count | opaque_zero; }
fn sleep_ticks() -> u32 { return frame.sleep_ticks | opaque_zero; }

// Vector between cells.
fn cells_shift(cells: vec3i) -> vec3f { return vec3f(cells) * frame.edge; }

// Cells from a sphere's cell to that of a candidate: code = 9 dz + 3 dy + dx + 13. The divisions are exact below 32.
fn code_cells(code: u32) -> vec3i {
    let z = (code * 57u) >> 9u;
    let rest = code - 9u * z;
    let y = (rest * 11u) >> 5u;
    return vec3i(i32(rest - 3u * y), i32(y), i32(z)) - vec3i(1);
}

// WGSL lets compilers suppose that there are neither infinities nor NaN: the bits tell.
fn finite(x: f32) -> bool { return (bitcast<u32>(x) & 0x7f800000u) != 0x7f800000u; }
fn all_finite(v: vec3f) -> bool { return finite(v.x) && finite(v.y) && finite(v.z); }

fn modulo(a: i32, n: i32) -> i32 {
    let r = a % n;
    return select(r, r + n, r < 0);
}

// First bucket of the row of cells (y, z).
fn row_of(y: i32, z: i32) -> u32 {
    if is_direct() {
        return u32((z * frame.count.y + y) * frame.count.x);
    }
    var h = (u32(y) * 0x9e3779b1u) ^ (u32(z) * 0x85ebca77u);
    h ^= h >> 15u;
    h = h * 0x2c1b3c6du;
    return h ^ (h >> 13u);
}

// First bucket of a cell; those of its parts follow.
fn bucket_of(constraint: u32, x: i32) -> u32 {
    let k = constraint + u32(x);
    return select(k & frame.bucket_mask, k, is_direct()) * frame.parts;
}

// Where a coordinate beyond the grid really is; `inside` is false where there is nothing, outside walls.
struct Wrapped {
    cell: i32,
    inside: bool,
}

fn wrap_axis(axis: u32, c: i32) -> Wrapped {
    let n = cell_count(axis);
    if n == 0 || (c >= 0 && c < n) { return Wrapped(c, true); }
    if is_periodic(axis) { return Wrapped(modulo(c, n), true); }
    return Wrapped(c, false);
}

// The same at most one period beyond; a division by what is not constant is dear.
fn wrap_next(axis: u32, c: i32) -> Wrapped {
    let n = cell_count(axis);
    if n == 0 || (c >= 0 && c < n) { return Wrapped(c, true); }
    return Wrapped(select(c - n, c + n, c < 0), is_periodic(axis));
}
