// Contact flags mark the pairs that a contact constraint holds, and count the impacts of a pair: a pair that collides
// too often becomes a resting contact. Both lists of a pair hold the same flags. Twins: src/cpu/event.rs and
// src/cpu/neighbors.rs.

fn flags_word(place: u32) -> u32 { return frame.at_flags + ((place - frame.at_entries) >> 3u); }
fn flags_bit(place: u32) -> u32 { return 4u * ((place - frame.at_entries) & 7u); }

// Contact flags of the candidate at an index of the lists: HITS, CONSTRAINED.
fn flags_at(place: u32) -> u32 { return (atomicLoad(&work[flags_word(place)]) >> flags_bit(place)) & 15u; }

// Contact flags of a pair; 0 if the spheres are not candidates of each other.
fn flags_of(i: u32, j: u32) -> u32 {
    for (var at = list_begin(i); at < list_end(i); at++) {
        if (lists[at] & INDEX_MASK) == j { return flags_at(at); }
    }
    return 0u;
}

fn constrain_side(i: u32, j: u32) {
    for (var at = list_begin(i); at < list_end(i); at++) {
        if (lists[at] & INDEX_MASK) == j { atomicOr(&work[flags_word(at)], CONSTRAINED << flags_bit(at)); }
    }
}

// Impacts of the pair including this one; 0 if not candidates. Neither sphere is in another impact meanwhile.
fn hit_side(i: u32, j: u32) -> u32 {
    var hits = 0u;
    for (var at = list_begin(i); at < list_end(i); at++) {
        if (lists[at] & INDEX_MASK) != j { continue; }
        let before = flags_at(at) & HITS;
        hits = min(before + 1u, HITS);
        atomicAdd(&work[flags_word(at)], (hits - before) << flags_bit(at));
    }
    return hits;
}

// Index of a wall feature in the list of sphere i; NOWHERE for a feature that only a fast sphere meets.
const NOWHERE: u32 = 0xffffffffu;

fn place_of_feature(i: u32, number: u32) -> u32 {
    let end = feature_end(i);
    for (var at = list_end(i); at < end; at++) {
        if lists[at] == number { return at; }
    }
    return NOWHERE;
}

fn is_feature_converted(i: u32, number: u32) -> bool {
    let place = place_of_feature(i, number);
    return place != NOWHERE && (flags_at(place) & HITS) > MOST_HITS;
}

fn hit_feature(i: u32, number: u32) -> u32 {
    let place = place_of_feature(i, number);
    if place == NOWHERE { return 0u; }
    let before = flags_at(place) & HITS;
    let hits = min(before + 1u, HITS);
    atomicAdd(&work[flags_word(place)], (hits - before) << flags_bit(place));
    return hits;
}

// Whether a pair with so many impacts has no further impact at this approach speed.
fn is_held(hits: u32, approach: f32, diameter: f32) -> bool {
    return hits > MOST_HITS && (approach * frame.h <= CROWDED_PATH * diameter || hits > MOST_HITS + 1u);
}

fn is_supported(i: u32) -> bool { return rested(i) > 0.0; }

fn pressed(i: u32) -> u32 { return atomicLoad(&work[frame.at_pressed + i]); }

// Whether an impact of surfaces with this gap is out of order: they overlap, unless the contact solver left the overlap.
fn is_late(i: u32, partner: u32, toi: f32, gap: f32) -> bool {
    // A gap that is not a number is no overlap.
    if !(-gap > frame.slop) { return false; }
    return !HAS_REST || !(toi == 0.0 || is_supported(i) || ((partner & WALL) == 0u && is_supported(partner)));
}

fn wall_hits(i: u32, plane: u32) -> u32 {
    if plane >= COUNTED_PLANES { return 0u; }
    return (atomicLoad(&work[frame.at_wall_hits + i]) >> (2u * plane)) & HITS;
}

// `wall` counts the planes first, then the wall features.
fn hit_wall(i: u32, wall: u32) -> u32 {
    if HAS_SHAPES && wall >= wall_count() { return hit_feature(i, wall - wall_count()); }
    let plane = wall;
    if plane >= COUNTED_PLANES { return 0u; }
    let before = wall_hits(i, plane);
    let hits = min(before + 1u, HITS);
    atomicAdd(&work[frame.at_wall_hits + i], (hits - before) << (2u * plane));
    return hits;
}

// Counts an impact with a sphere, or a wall with WALL set.
fn count_hit(i: u32, partner: u32) -> u32 {
    var hits = 0u;
    if (partner & WALL) != 0u {
        hits = hit_wall(i, partner & ~WALL);
    } else {
        hits = hit_side(i, partner);
        if hits > 0u { hit_side(partner, i); }
    }
    if hits > MOST_HITS { atomicStore(&work[CONVERTED], 1u); }
    return hits;
}

// Whether a contact may rest on a wall: a fast sphere also meets walls outside its list.
fn is_counted(i: u32, wall: u32) -> bool {
    if HAS_SHAPES && wall >= wall_count() { return place_of_feature(i, wall - wall_count()) != NOWHERE; }
    return is_near_plane(i, wall);
}

fn is_near_plane(i: u32, plane: u32) -> bool { return (lists[frame.at_walls + i] & (1u << min(plane, 31u))) != 0u; }

fn is_wall_converted(i: u32, plane: u32) -> bool { return wall_hits(i, plane) > MOST_HITS && is_near_plane(i, plane); }

fn wall_holds(i: u32, plane: u32, approach: f32) -> bool {
    return is_near_plane(i, plane) && is_held(wall_hits(i, plane), approach, 2.0 * bodies[i].radius);
}

fn rested(i: u32) -> f32 { return bitcast<f32>(atomicLoad(&work[frame.at_rested + i])); }

fn constraint_begin(i: u32) -> u32 { return atomicLoad(&work[frame.at_constraint_heads + 2u * i]); }
fn constraint_end(i: u32) -> u32 { return constraint_begin(i) + atomicLoad(&work[frame.at_constraint_heads + 2u * i + 1u]); }

// Partner of a contact constraint.
fn constraint_partner(constraint: u32) -> u32 { return pool[frame.at_constraints + constraint * CONSTRAINT_STRIDE + PARTNER_PLACE]; }

// Whether sphere i rests on a wall.
fn wall_is_constrained(i: u32, wall: u32) -> bool {
    for (var constraint = constraint_begin(i); constraint < constraint_end(i); constraint++) {
        if constraint_partner(constraint) == (WALL | wall) { return true; }
    }
    return false;
}

// Whether a contact constraint holds a pair: no impact unless the approach is too fast. Relative offset and velocity at
// time `now`, in the falling frame.
fn is_constrained(flags: u32, d_falling: vec3f, w_falling: vec3f, radius_sum: f32, is_fixed: bool, now: f32) -> bool {
    if flags == 0u { return false; }
    var d = d_falling;
    var w = w_falling;
    if is_fixed {
        d += frame.gravity * (0.5 * now * now);
        w += frame.gravity * now;
    }
    let square = dot(d, d);
    let b = dot(d, w);
    let farthest = radius_sum * FAR;
    let slow = b >= 0.0 || b * b <= frame.shock * frame.shock * square;
    return square < farthest * farthest
        && ((slow && (flags & CONSTRAINED) != 0u) || is_held(flags & HITS, -b / sqrt(square), radius_sum));
}

// Centre and velocity of i relative to j in the lab at the later of their clocks, and that time.
struct Apart {
    d: vec3f,
    w: vec3f,
    now: f32,
    // The frame falls past fixed spheres: 1 if j is fixed, -1 if i is, 0 for neither.
    falls: f32,
}

fn in_lab(i: u32, j: u32, shift: vec3f) -> Apart {
    let a = mover(i);
    let b = mover(j);
    let t = max(a.clock, b.clock);
    let d = ((a.offset + a.velocity * (t - a.clock)) - (b.offset + b.velocity * (t - b.clock))) - shift;
    let w = a.velocity - b.velocity;
    if a.inverse_mass != 0.0 && b.inverse_mass != 0.0 { return Apart(d, w, t, 0.0); }
    let falls = select(-1.0, 1.0, b.inverse_mass == 0.0);
    let g = frame.gravity * falls;
    return Apart(d + g * (0.5 * t * t), w + g * t, t, falls);
}

// Deepening of two surfaces in the course of a substep; negative for a gap.
struct Deepening {
    // At the clock of the partners.
    now: f32,
    // At the end of the substep, without further impacts.
    ahead: f32,
}

// Deepening of two spheres, in mean diameters.
fn overlap_ahead(i: u32, j: u32, shift: vec3f) -> Deepening {
    let apart = in_lab(i, j, shift);
    let left = frame.h - apart.now;
    var end = apart.d + apart.w * left;
    if apart.falls != 0.0 { end += frame.gravity * (0.5 * left * left * apart.falls); }
    let radius_sum = bodies[i].radius + bodies[j].radius;
    return Deepening(1.0 - length(apart.d) / radius_sum, 1.0 - length(end) / radius_sum);
}

// Gap between a sphere and a plane at the sphere's clock, and its rate.
fn wall_gap(wall: Wall, i: u32) -> vec2f {
    let t = nodes[i].clock;
    var height = dot(wall.normal, from_wall(wall, i)) + 0.5 * wall.acceleration * t * t;
    var speed = dot(wall.normal, bodies[i].velocity) + wall.acceleration * t;
    if HAS_SHAPES {
        height -= wall.speed * t;
        speed -= wall.speed;
    }
    return vec2f(height - bodies[i].radius, speed);
}

// Deepening of a sphere and a plane, in diameters.
fn overlap_of_wall_ahead(i: u32, wall: Wall) -> Deepening {
    if !wall.there { return Deepening(0.0, 0.0); }
    let now = wall_gap(wall, i);
    let left = frame.h - nodes[i].clock;
    let end = now.x + now.y * left + 0.5 * wall.acceleration * left * left;
    let diameter = 2.0 * bodies[i].radius;
    return Deepening(-now.x / diameter, -end / diameter);
}
