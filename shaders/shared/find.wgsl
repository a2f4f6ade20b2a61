// Which contacts rest: at the start of a substep with the loads that they had, and after the rounds. Twin: `Finder` of
// src/cpu/rows/find.rs, which says why.

// What the next substep needs of the rows, by the ranks of the spheres.
@group(1) @binding(3) var<storage, read_write> loads: array<atomic<u32>>;

fn rank_head(rank: u32) -> u32 { return LOADS_HEAD + RANK_WORDS * rank; }
fn past_count(rank: u32) -> u32 { return atomicLoad(&loads[rank_head(rank) + 1u]) & ~RESTED; }
fn has_rested(rank: u32) -> bool { return (atomicLoad(&loads[rank_head(rank) + 1u]) & RESTED) != 0u; }
fn loads_word(at: u32) -> f32 { return bitcast<f32>(atomicLoad(&loads[at])); }
fn place_of_load(load: u32) -> u32 { return rank_head(frame.sphere_count) + load * LOAD_WORDS; }

// Ticks for which a sphere has been calm; none if walls come or go.
fn calm(i: u32) -> u32 {
    if HAS_SHAPES && has_flag(FLAG_WAKE) { return 0u; }
    return atomicLoad(&loads[rank_head(tags[i].rank) + 2u]);
}

// Whether a sphere has been calm for long enough to sleep, as fixed ones never do, and for half as long.
fn is_calm(i: u32) -> bool {
    let calm = calm(i);
    return sleep_ticks() > 0u && calm >= SLEEP && calm < STILL;
}
fn is_drowsy(i: u32) -> bool { return sleep_ticks() > 0u && calm(i) >= SLEEP / 2u; }

fn is_roused() -> bool { return (atomicLoad(&work[UNREST]) & ROUSED) != 0u; }

fn sleeps(i: u32) -> bool { return is_calm(i) && !is_roused(); }

// A load of the substep before; `found` is false where there was no row.
struct Past {
    load: Load,
    found: bool,
}

const NO_PAST: Past = Past(Load(0.0, vec3f(0.0), vec3f(0.0)), false);

fn past_load(rank: u32, partner: u32) -> Past {
    let first = atomicLoad(&loads[rank_head(rank)]);
    let end = first + past_count(rank);
    for (var k = first; k < end; k++) {
        let at = place_of_load(k);
        if atomicLoad(&loads[at]) != partner { continue; }
        let tangent = vec3f(loads_word(at + 2u), loads_word(at + 3u), loads_word(at + 4u));
        let turn = vec3f(loads_word(at + 5u), loads_word(at + 6u), loads_word(at + 7u));
        return Past(Load(loads_word(at + 1u), tangent, turn), true);
    }
    return NO_PAST;
}

// The load that a row of this substep has.
fn present_load(i: u32, j: u32) -> Past {
    for (var row = row_begin(i); row < row_end(i); row++) {
        if row_partner(row) == j { return Past(load_of(row), true); }
    }
    return NO_PAST;
}

// Turned into the plane of contact of now, but for what sleeps.
fn warmed(past: Past, normal: vec3f, scale: f32, sleeping: bool) -> Load {
    if sleeping { return Load(past.load.normal * scale, past.load.tangent * scale, past.load.turn * scale); }
    let tangent = past.load.tangent * scale;
    return Load(past.load.normal * scale, tangent - normal * dot(normal, tangent), past.load.turn * scale);
}

// Whether a contact rests at the start of the substep.
fn rests_now(gap: f32, diameter: f32, approach: f32, past: Past, both_rested: bool) -> bool {
    // A pair that lay next to each other in a pile is pressed together; one that only now comes near bounces.
    let carried = past.found && (past.load.normal > 0.0 || (approach > 0.0 && both_rested));
    return gap <= ROW_GAP * diameter && approach <= frame.shock
        && (carried || (approach <= frame.slow && approach >= -frame.slow));
}

fn is_carried(i: u32, j: u32) -> bool { return rested(i) > 0.0 || rested(j) > 0.0; }

// The row of sphere i with the candidate at a place of its list; false where there is none. `again` after the rounds.
fn pair_row(i: u32, at: u32, again: bool, scale: f32, row: ptr<function, Row>) -> bool {
    let c = candidate(at);
    let j = c.other;
    let rank = tags[i].rank;
    let their_rank = tags[j].rank;
    if their_rank <= rank { return false; }
    let surface = surface_of(material_of(i), material_of(j));
    if surface.restitution >= 1.0 { return false; }
    let inverse_mass = bodies[i].inverse_mass + bodies[j].inverse_mass;
    if inverse_mass == 0.0 { return false; }
    let radius = bodies[i].radius;
    let their_radius = bodies[j].radius;
    let diameter = radius + their_radius;
    var d = (bodies[i].offset - bodies[j].offset) - c.shift;
    if again { d = in_lab(i, j, c.shift).d; }
    let square = dot(d, d);
    let farthest = diameter * (1.0 + ROW_GAP);
    if !again && square > farthest * farthest { return false; }
    let distance = sqrt(square);
    var normal = vec3f(1.0, 0.0, 0.0);
    if distance > 0.0 { normal = d / distance; }
    let gap = distance - diameter;
    var past = NO_PAST;
    if again {
        past = present_load(i, j);
        let is_demoted = (c.flags & HITS) > MOST_HITS;
        if !past.found && !is_demoted && !(is_carried(i, j) && overlap_ahead(i, j, c.shift) > ROW_AHEAD) { return false; }
        has_new_row = has_new_row || !past.found;
    } else {
        past = past_load(rank, their_rank);
        let approach = -dot(normal, bodies[i].velocity - bodies[j].velocity);
        let both_rested = has_rested(rank) && has_rested(their_rank);
        if !rests_now(gap, diameter, approach, past, both_rested) { return false; }
    }
    let share = distance / diameter;
    let closing = max(gap, 0.0) / frame.h;
    let reduced = radius * their_radius / diameter;
    // What sleeps touches what has moved of late.
    if !again && is_calm(i) != is_calm(j) && !(is_drowsy(i) && is_drowsy(j)) { atomicOr(&work[UNREST], ROUSED); }
    let load = warmed(past, normal, scale, !again && is_calm(i));
    *row = Row(j, c.link, normal, closing, share, 1.0 / inverse_mass, load, surface.friction,
        surface.rolling * reduced, surface.twisting * reduced, vec3f(0.0), 0u);
    return true;
}

// How a wall lies to a sphere.
struct Side {
    // As rows name it.
    partner: u32,
    material: u32,
    normal: vec3f,
    gap: f32,
    drive: vec3f,
    mover: u32,
}

fn side_of_plane(i: u32, plane: u32, again: bool) -> Side {
    let wall = wall_of(plane);
    let gap = dot(wall.normal, from_wall(wall, i)) - bodies[i].radius;
    var drive = vec3f(0.0);
    if HAS_SHAPES && wall.mover != 0u {
        drive = drive_at(wall.mover, instant_now(i, again), wall.normal * bodies[i].radius);
    }
    return Side(WALL | plane, wall.material, wall.normal, gap, drive, wall.mover);
}

// At the start of a substep all clocks are 0, whatever they hold.
fn instant_now(i: u32, again: bool) -> Instant {
    if again { return instant_of(i, nodes[i].clock); }
    return instant_at(i, 0.0);
}

fn wall_row(i: u32, side: Side, again: bool, scale: f32, row: ptr<function, Row>) -> bool {
    let surface = surface_of(material_of(i), side.material);
    if surface.restitution >= 1.0 { return false; }
    let j = side.partner;
    let number = wall_of_row(j);
    let radius = bodies[i].radius;
    let rank = tags[i].rank;
    var past = NO_PAST;
    if again {
        past = present_load(i, j);
        var is_demoted = false;
        var ahead = 0.0;
        if HAS_SHAPES && number >= wall_count() {
            is_demoted = is_patch_demoted(i, number - wall_count());
            if rested(i) > 0.0 { ahead = overlap_of_patch_ahead(i, patch_at(number - wall_count())); }
        } else {
            is_demoted = is_wall_demoted(i, number);
            if rested(i) > 0.0 { ahead = overlap_of_wall_ahead(i, wall_of(number)); }
        }
        if !past.found && !is_demoted && ahead <= ROW_AHEAD { return false; }
        has_new_row = has_new_row || !past.found;
    } else {
        past = past_load(rank, j);
        let approach = -dot(side.normal, bodies[i].velocity - side.drive);
        if !rests_now(side.gap, 2.0 * radius, approach, past, has_rested(rank)) { return false; }
    }
    let load = warmed(past, side.normal, scale, !again && is_calm(i));
    *row = Row(j, 0u, side.normal, max(side.gap, 0.0) / frame.h, 1.0, 1.0 / bodies[i].inverse_mass, load, surface.friction,
        surface.rolling * radius, surface.twisting * radius, side.drive, side.mover);
    return true;
}

// Whether a row came in that was not there before.
var<private> has_new_row: bool;

// Counts the rows of sphere i, in the order in which they are solved, and with `writes` puts them down from `first` on.
fn rows_of(i: u32, again: bool, scale: f32, writes: bool, first: u32) -> u32 {
    var row: Row;
    var count = 0u;
    let end = list_end(i);
    for (var at = list_begin(i); at < end; at++) {
        if !pair_row(i, at, again, scale, &row) { continue; }
        if writes {
            put_row(first + count, row);
            if !again {
                hold_side(i, row.j);
                hold_side(row.j, i);
            }
        }
        count++;
    }
    let walls = lists[frame.at_walls + i];
    if HAS_WALLS && bodies[i].inverse_mass > 0.0 {
        for (var plane = 0u; walls != 0u && plane < wall_count(); plane++) {
            if !is_near_plane(i, plane) || !wall_of(plane).there { continue; }
            if !wall_row(i, side_of_plane(i, plane, again), again, scale, &row) { continue; }
            if writes { put_row(first + count, row); }
            count++;
        }
    }
    if HAS_SHAPES && bodies[i].inverse_mass > 0.0 {
        let now = instant_now(i, again);
        var seeker = listed_patches(i);
        while next_patch(&seeker) {
            let p = patch_at(seeker.found);
            for (var side = 0u; side < 3u; side++) {
                let touch = touch_side(p, now, side);
                if touch.is_shadowed || touch.gap > 2.0 * ROW_GAP * now.radius { break; }
                let partner = WALL | (side << SIDE_SHIFT) | (wall_count() + seeker.found);
                let found = Side(partner, p.material, touch.normal, touch.gap, touch.drive, p.mover);
                if !wall_row(i, found, again, scale, &row) { continue; }
                if writes { put_row(first + count, row); }
                count++;
            }
        }
    }
    return count;
}

// Room for so many rows: the first of them, or NO_ROOM.
const NO_ROOM: u32 = 0xffffffffu;

fn take_rows(count: u32) -> u32 {
    let first = atomicAdd(&work[ROW_COUNT], count);
    if first + count <= frame.row_capacity { return first; }
    overflow(ROWS_NEEDED, first + count);
    return NO_ROOM;
}

// Counts the rows of sphere i, makes room for them where they are more than before, and puts them down. One loop, so that
// what compilers put in line they put there once.
fn renew_rows(i: u32, again: bool, scale: f32) {
    let before = row_end(i) - row_begin(i);
    var first = row_begin(i);
    var count = 0u;
    has_new_row = false;
    for (var k = 0u; k < 2u; k++) {
        if k == 1u && (count > before || has_new_row) {
            // Those of before are still read meanwhile.
            first = take_rows(count);
            if first == NO_ROOM { return; }
        }
        if k == 0u || count > 0u { count = rows_of(i, again, scale, k == 1u, first); }
    }
    atomicStore(&work[frame.at_row_heads + 2u * i], first);
    atomicStore(&work[frame.at_row_heads + 2u * i + 1u], count);
}
