// The buffers of a substep, and functions with which its stages read them. Twin: src/cpu/event.rs.

@group(1) @binding(0) var<storage, read_write> bodies: array<Body>;
@group(1) @binding(1) var<storage, read_write> tags: array<Tag>;
@group(1) @binding(2) var<storage, read_write> nodes: array<Node>;
@group(1) @binding(4) var<storage, read> lists: array<u32>;
@group(1) @binding(5) var<storage, read_write> work: array<atomic<u32>>;
@group(1) @binding(6) var<storage, read> world: array<vec4u>;
@group(1) @binding(7) var<storage, read_write> pool: array<u32>;

// The present round: from a uniform in a dispatch, counted by the tail.
var<private> round: u32;

const NO_EVENT: Event = Event(NO_IMPACT, 0xffffffffu, 0u, 0.0);

// The halt bit for a truncated loop.
const IF_CUT: u32 = HALT_CUT;

// The counters of a round; the tail alternates between two blocks.
fn round_block(number: u32) -> u32 {
    let wide = frame.wide_rounds;
    let block = ROUND_BLOCKS + ROUND_WORDS * select(wide + (number & 1u), number, number < wide);
    return select(block, LAUNCH_BLOCK, number == LAUNCH);
}

// Whether the round visits all spheres instead of lists.
fn is_dense() -> bool { return (round | opaque_zero) < DENSE_ROUNDS; }

fn counter(which: u32) -> u32 { return atomicLoad(&work[round_block(round) + which]); }
fn count_up(which: u32) -> u32 { return atomicAdd(&work[round_block(round) + which], 1u); }

// Lists a sphere whose path has to be searched. The tail searches the paths of its own rounds.
fn list_walker(i: u32) {
    atomicStore(&work[frame.at_walkers + count_up(WALKERS)], i);
    let is_in_tail = round != LAUNCH && round >= (frame.wide_rounds | opaque_zero);
    if !has_flag(FLAG_WALKS) && !is_in_tail { halt(HALT_WALKS); }
}

fn at_pending(number: u32) -> u32 { return frame.at_pending + (number & 1u) * frame.sphere_count; }

fn is_some(event: Event) -> bool { return event.toi < NO_IMPACT; }
fn is_wall(event: Event) -> bool { return (HAS_WALLS || HAS_SHAPES) && is_some(event) && (event.partner & WALL) != 0u; }

fn dynamic_cells(place: u32) -> vec3i {
    let at = place * DYNAMIC_WORDS;
    return bitcast<vec3i>(vec3u(pool[at + 2u], pool[at + 3u], pool[at + 4u]));
}

// Vector from a sphere's cell to the cell of the image that a link names.
fn shift_of(link: u32) -> vec3f {
    if link < CODES { return cells_shift(code_cells(link)); }
    return cells_shift(dynamic_cells(link - CODES));
}

// Position of a sphere's list.
fn list_begin(i: u32) -> u32 { return lists[2u * i]; }
fn list_end(i: u32) -> u32 { return lists[2u * i + 1u]; }

// The wall features that the sphere could meet follow the list; a bit says whether a wall in reach moves.
fn feature_end(i: u32) -> u32 { return lists[frame.at_feature_ends + i] & ~WALL_MOVES; }
fn is_near_moving_wall(i: u32) -> bool { return HAS_SHAPES && (lists[frame.at_feature_ends + i] & WALL_MOVES) != 0u; }

// Iterator over the candidates of a sphere: the list, then the dynamic candidates.
struct Cursor {
    // Bits of the first candidates of the list that come first, and where the list begins.
    picked: u32,
    begin: u32,
    at: u32,
    end: u32,
    // Index of the next dynamic candidate, plus 1; 0 = none.
    dynamic: u32,
    other: u32,
    link: u32,
    shift: vec3f,
    // The sphere that has these candidates, and the present pair.
    owner: u32,
    flags: u32,
}

fn candidates(i: u32) -> Cursor {
    let head = atomicLoad(&work[frame.at_heads + i]);
    return Cursor(0u, 0u, list_begin(i), list_end(i), head, 0u, 0u, vec3f(0.0), i, 0u);
}

// Advances to the next candidate, given by `other`, `link` and `shift`; false at the end.
fn next(cursor: ptr<function, Cursor>) -> bool {
    let is_picked = (*cursor).picked != 0u;
    let is_listed = is_picked || (*cursor).at < (*cursor).end;
    if !is_listed && (*cursor).dynamic == 0u { return false; }
    // A divergent branch costs both sides, so the rare side is kept short.
    let picked = (*cursor).begin + firstTrailingBit((*cursor).picked);
    let place = select(min((*cursor).at, (*cursor).end - 1u), picked, is_picked);
    let entry = lists[place];
    (*cursor).picked &= (*cursor).picked - 1u;
    (*cursor).at += u32(is_listed && !is_picked);
    (*cursor).other = entry & INDEX_MASK;
    (*cursor).link = entry >> CODE_SHIFT;
    var cells = code_cells(entry >> CODE_SHIFT);
    if !is_listed {
        let place = (*cursor).dynamic - 1u;
        (*cursor).other = pool[place * DYNAMIC_WORDS];
        (*cursor).dynamic = pool[place * DYNAMIC_WORDS + 1u];
        (*cursor).link = CODES + place;
        cells = dynamic_cells(place);
    }
    if HAS_REST {
        if is_listed {
            (*cursor).flags = flags_at(place);
        } else {
            (*cursor).flags = flags_of((*cursor).owner, (*cursor).other);
        }
    }
    (*cursor).shift = cells_shift(cells);
    return true;
}

// Bits select from the first 32 candidates of the list: lanes that run in lockstep are faster if they test all candidates
// first and then process the selected ones.
const PICKED: u32 = 32u;

// Whether a sphere has more candidates than these. Such spheres are processed separately, because a divergent branch would
// charge the rare case to all lanes.
fn is_apart(i: u32) -> bool {
    let long = list_end(i) - list_begin(i) > PICKED;
    return long || atomicLoad(&work[frame.at_heads + i]) != 0u;
}

// Leaves of the first 32 candidates only those in `picked`.
fn pick(cursor: ptr<function, Cursor>, picked: u32) {
    (*cursor).picked = picked;
    (*cursor).begin = (*cursor).at;
    (*cursor).at = min((*cursor).at + PICKED, (*cursor).end);
}

// The candidate at an index of the lists.
fn candidate(at: u32) -> Cursor {
    let entry = lists[at];
    let code = entry >> CODE_SHIFT;
    var flags = 0u;
    if HAS_REST { flags = flags_at(at); }
    return Cursor(0u, 0u, 0u, 0u, 0u, entry & INDEX_MASK, code, cells_shift(code_cells(code)), 0u, flags);
}

// A sphere and its line, loaded once.
struct Mover {
    i: u32,
    offset: vec3f,
    radius: f32,
    velocity: vec3f,
    inverse_mass: f32,
    clock: f32,
}

fn mover(i: u32) -> Mover {
    let body = bodies[i];
    return Mover(i, body.offset, body.radius, body.velocity, body.inverse_mass, nodes[i].clock);
}

// Offset of a sphere at time t in the falling frame.
fn offset_at(i: u32, t: f32) -> vec3f {
    return bodies[i].offset + bodies[i].velocity * (t - nodes[i].clock);
}

// Path from time t to the end of the substep relative to the drift; fixed spheres stay in the lab.
fn path_ahead(u: vec3f, inverse_mass: f32, t: f32) -> f32 {
    let left = frame.h - t;
    if inverse_mass > 0.0 { return length(u - frame.drift) * left; }
    return length(frame.drift) * left + 0.5 * length(frame.gravity) * (frame.h * frame.h - t * t);
}

struct Wall {
    normal: vec3f,
    // Gravity along the normal.
    acceleration: f32,
    cell: vec3i,
    material: u32,
    offset: vec3f,
    // Velocity along the normal.
    speed: f32,
    // Index of its mover, plus 1; number among all walls.
    mover: u32,
    number: u32,
    there: bool,
}

fn wall_of(plane: u32) -> Wall {
    let at = frame.at_motion + WALL_ROWS * plane;
    let a = world_row(at);
    let b = world[at + 1u];
    let c = world_row(at + 2u);
    var wall = Wall(a.xyz, a.w, bitcast<vec3i>(b.xyz), b.w, c.xyz, 0.0, 0u, plane, true);
    if HAS_SHAPES {
        let d = world[at + 3u];
        wall.speed = c.w;
        wall.mover = d.x;
        wall.number = d.y;
        wall.there = (d.z & 1u) != 0u;
    }
    return wall;
}

// Vector from the plane's point to the sphere's centre at the sphere's clock.
fn from_wall(wall: Wall, i: u32) -> vec3f {
    return cells_shift(tags[i].cell - wall.cell) + (bodies[i].offset - wall.offset);
}

fn walls_of(i: u32) -> u32 {
    return select(lists[frame.at_walls + i], 0xffffffffu, nodes[i].walk != 0u);
}

fn material_of(i: u32) -> u32 {
    if (frame.material_count | opaque_zero) <= 1u { return 0u; }
    let rank = tags[i].rank;
    return world[frame.at_materials + rank / 4u][rank % 4u];
}

// Surface properties of a pair of materials.
struct Surface {
    restitution: f32,
    friction: f32,
    rolling: f32,
    twisting: f32,
    // Approach speed below which the restitution fades.
    threshold: f32,
}

fn restitution_at(surface: Surface, speed: f32) -> f32 {
    if speed < surface.threshold { return surface.restitution * (speed / surface.threshold); }
    return surface.restitution;
}

// Number of a pair of materials.
fn surface_number(a: u32, b: u32) -> u32 { return a * frame.material_count + b; }

fn surface_of(a: u32, b: u32) -> Surface { return surface_at(surface_number(a, b)); }

fn surface_at(number: u32) -> Surface {
    let at = frame.at_surfaces + SURFACE_ROWS * number;
    let first = world_row(at);
    return Surface(first.x, first.y, first.z, first.w, world_row(at + 1u).x);
}
