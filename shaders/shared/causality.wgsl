// Selects the impacts that may happen now: each is the earliest of both partners, and no third sphere can forestall it.
// Twins: src/cpu/select.rs, which gives the reasons, and src/cpu/threats.rs.

const AT_REST: VelocityBound = VelocityBound(NO_IMPACT, 0.0);

// Relevant effects of a sphere's next impact before `limit`. Most spheres have no impact; that takes one load.
fn velocity_bound_of(i: u32, limit: f32) -> VelocityBound {
    let time = next_events[i].event.toi;
    if time < limit { return VelocityBound(time, next_events[i].event.delta_v_bound); }
    return AT_REST;
}

// The sphere with the smaller index answers for a pair; a sphere that meets a fixed partner answers for itself.
fn is_mutual(i: u32, event: Event) -> bool {
    if !is_some(event) { return false; }
    if is_wall(event) { return true; }
    let j = event.partner;
    if bodies[j].inverse_mass == 0.0 { return true; }
    return i < j && next_events[j].event.partner == i;
}

// Earliest time at which two disturbed spheres can touch: the gap of their lines against the sum of the velocity cones.
fn touch(i: Mover, k: Mover, shift: vec3f, a: VelocityBound, b: VelocityBound) -> f32 {
    let restless = min(a.time, b.time);
    let delta_v_bound = a.delta_v_bound + b.delta_v_bound;
    let t = max(max(restless, i.clock), k.clock);
    let d = ((i.offset + i.velocity * (t - i.clock)) - (k.offset + k.velocity * (t - k.clock))) - shift;
    let w = i.velocity - k.velocity;
    // |d + w s| = reach + bound s, the first root as in the sweep.
    let reach = i.radius + k.radius + delta_v_bound * (t - restless);
    let distance = length(d);
    let c = (distance - reach) * (distance + reach);
    if c <= 0.0 { return t; }
    let half = dot(d, w) - reach * delta_v_bound;
    let square = dot(w, w) - delta_v_bound * delta_v_bound;
    let q = half * half - square * c;
    if q < 0.0 || (half >= 0.0 && square >= 0.0) { return NO_IMPACT; }
    let below = sqrt(q) - half;
    // Slightly early: the discriminant cancels here, and an early time only costs a round.
    if below <= 0.0 { return NO_IMPACT; }
    return t + 0.999 * (c / below);
}

// Touch of k with its neighbour m that may turn k before `limit`, if an earlier impact disturbs one of the two; with
// `deep` also after other impacts of m. The time is NO_IMPACT if there is none.
fn turn(k: u32, k_line: Mover, own: VelocityBound, partner: u32, m: u32, shift: vec3f, deep: bool, limit: f32) -> VelocityBound {
    if own.delta_v_bound == 0.0 {
        // Lines that meet are an impact of their own. This is the common case, and it takes one load.
        var time = 0.0;
        if deep { time = next_events[m].any.time; } else { time = next_events[m].event.toi; }
        if time >= limit { return AT_REST; }
    }
    // The impact of the two with each other is `own`; they meet again only if a third sphere turns one back.
    let mutual = own.delta_v_bound > 0.0 && partner == m && next_events[m].event.partner == k;
    var theirs = AT_REST;
    if deep {
        if mutual { theirs = next_events[m].others; } else { theirs = next_events[m].any; }
    } else {
        if mutual { return AT_REST; }
        theirs = velocity_bound_of(m, limit);
    }
    if theirs.time >= limit && mutual { return AT_REST; }
    var time = max(own.time, theirs.time);
    let m_line = mover(m);
    if !mutual { time = touch(k_line, m_line, shift, own, theirs); }
    if time >= limit { return AT_REST; }
    let speed = length(m_line.velocity - k_line.velocity) + own.delta_v_bound + theirs.delta_v_bound;
    let inverse_sum = k_line.inverse_mass + m_line.inverse_mass;
    return VelocityBound(time, own.delta_v_bound + frame.delta_v_bound * speed * k_line.inverse_mass / inverse_sum);
}

// Bits of the listed neighbours of k that an impact may disturb before `limit`: all if k itself is struck by then.
fn restless(k: u32, own: VelocityBound, deep: bool, limit: f32) -> u32 {
    let first = list_begin(k);
    let count = min(list_end(k) - first, PICKED);
    if own.delta_v_bound != 0.0 { return select((1u << (count & 31u)) - 1u, 0xffffffffu, count == PICKED); }
    var picked = 0u;
    for (var n = 0u; n < count; n++) {
        let m = lists[first + n] & INDEX_MASK;
        var time = 0.0;
        if deep { time = next_events[m].any.time; } else { time = next_events[m].event.toi; }
        picked |= select(0u, 1u << n, time < limit);
    }
    return picked;
}

// First propagation: effects of the next impacts of sphere k and of its neighbours on k.
struct Propagation {
    k: u32,
    line: Mover,
    own: VelocityBound,
    partner: u32,
    others: VelocityBound,
}

fn propagate_by(propagate: ptr<function, Propagation>, m: u32, shift: vec3f) {
    let velocity_bound = turn((*propagate).k, (*propagate).line, (*propagate).own, (*propagate).partner, m, shift, false, frame.h);
    (*propagate).others.time = min((*propagate).others.time, velocity_bound.time);
    (*propagate).others.delta_v_bound = max((*propagate).others.delta_v_bound, velocity_bound.delta_v_bound);
}

fn begin_propagation(k: u32) -> Propagation { return Propagation(k, mover(k), velocity_bound_of(k, frame.h), next_events[k].event.partner, AT_REST); }

// Via the first listed neighbours.
fn propagate_listed(propagate: ptr<function, Propagation>) {
    let k = (*propagate).k;
    let first = list_begin(k);
    var picked = restless(k, (*propagate).own, false, frame.h);
    while picked != 0u {
        let c = candidate(first + firstTrailingBit(picked));
        picked &= picked - 1u;
        propagate_by(propagate, c.other, c.shift);
    }
}

fn end_propagation(propagate: Propagation) {
    next_events[propagate.k].any = VelocityBound(min(propagate.own.time, propagate.others.time), max(propagate.own.delta_v_bound, propagate.others.delta_v_bound));
    next_events[propagate.k].others = propagate.others;
}

fn propagate(k: u32) {
    var propagate = begin_propagation(k);
    var cursor = candidates(k);
    pick(&cursor, restless(k, propagate.own, false, frame.h));
    while next(&cursor) { propagate_by(&propagate, cursor.other, cursor.shift); }
    end_propagation(propagate);
}

// Whether sphere k can touch i, which keeps its line, before `limit`: after its own impact, or after touching one more.
fn reaches(i: Mover, k: u32, shift: vec3f, limit: f32) -> bool {
    let own = velocity_bound_of(k, limit);
    let line = mover(k);
    if line.inverse_mass == 0.0 { return false; }
    let partner = next_events[k].event.partner;
    var cursor = candidates(k);
    pick(&cursor, restless(k, own, true, limit));
    var velocity_bound = own;
    var is_possible = own.delta_v_bound > 0.0;
    var is_reached = false;
    // One loop with one call of each function: compilers inline every call.
    loop {
        is_reached = is_possible && touch(i, line, shift, AT_REST, velocity_bound) < limit;
        if is_reached || !next(&cursor) { break; }
        velocity_bound = turn(k, line, own, partner, cursor.other, cursor.shift, true, limit);
        is_possible = velocity_bound.time < limit;
    }
    return is_reached;
}

// Whether only `partner` can reach i before `limit` once earlier impacts have happened.
fn undisturbed(i: u32, partner: u32, limit: f32) -> bool {
    let line = mover(i);
    var cursor = candidates(i);
    while next(&cursor) {
        if cursor.other != partner && reaches(line, cursor.other, cursor.shift, limit) { return false; }
    }
    return true;
}

// An impact whose partners may afterwards leave the reach of other spheres' candidate lists.
struct Threat {
    time: f32,
    cell: vec3i,
    offset: vec3f,
    radius: f32,
    // Bound on the speed after the impact, relative to the drift; negative if the impact is no threat.
    speed: f32,
}

const NO_THREAT: Threat = Threat(0.0, vec3i(0), vec3f(0.0), 0.0, -1.0);

// The next impact of sphere i as a threat.
fn threat_of(i: u32) -> Threat {
    let event = next_events[i].event;
    let along = bodies[i].velocity - frame.drift;
    let left = frame.h - event.toi;
    let fast = nodes[i].walk != 0u;
    let leaves = 2.0 * nodes[i].motion_margin;
    // Rejects nearly all impacts.
    if !fast && (length(along) + event.delta_v_bound) * left <= leaves { return NO_THREAT; }
    let place = offset_at(i, event.toi);
    var normal = vec3f(0.0);
    if is_wall(event) {
        normal = normal_of_wall(i, event.partner & ~WALL, event.toi);
    } else {
        let d = place - offset_at(event.partner, event.toi) - shift_of(event.link);
        let square = dot(d, d);
        if square > SMALLEST { normal = d / sqrt(square); }
    }
    var speed = max(length(along), length(along + normal * event.delta_v_bound));
    // Friction turns the velocity change away from the normal.
    if bitcast<f32>(bitcast<u32>(frame.delta_v_bound) | opaque_zero) > 2.0 { speed = length(along) + event.delta_v_bound; }
    if !fast && speed * left <= leaves { return NO_THREAT; }
    return Threat(event.toi, tags[i].cell, place, bodies[i].radius, speed);
}

// No threat, or no room for it.
const NO_SLOT: u32 = 0xffffffffu;

// Stores a threat; returns its slot, or NO_SLOT.
fn store_threat(threat: Threat) -> u32 {
    if threat.speed < 0.0 { return NO_SLOT; }
    let slot = count_up(THREATS);
    if slot >= frame.threat_capacity {
        overflow(THREATS_NEEDED, slot + 1u);
        return NO_SLOT;
    }
    let at = frame.at_threats + slot * THREAT_WORDS;
    let cell = bitcast<vec3u>(threat.cell);
    let offset = bitcast<vec3u>(threat.offset);
    pool[at] = bitcast<u32>(threat.time);
    pool[at + 1u] = cell.x;
    pool[at + 2u] = cell.y;
    pool[at + 3u] = cell.z;
    pool[at + 4u] = offset.x;
    pool[at + 5u] = offset.y;
    pool[at + 6u] = offset.z;
    pool[at + 7u] = bitcast<u32>(threat.radius);
    pool[at + 8u] = bitcast<u32>(threat.speed);
    return slot;
}

fn nearest_cells(cells: vec3i) -> vec3i {
    var c = cells;
    for (var axis = 0u; axis < 3u; axis++) {
        if is_periodic(axis) {
            let n = cell_count(axis);
            c[axis] = modulo(c[axis] + n / 2, n) - n / 2;
        }
    }
    return c;
}

// A sphere that threats may strike before a time: its place then, and its speed relative to the drift.
struct Target {
    limit: f32,
    cell: vec3i,
    place: vec3f,
    radius: f32,
    speed: f32,
}

fn target_of(i: u32, limit: f32) -> Target {
    let body = bodies[i];
    return Target(limit, tags[i].cell, offset_at(i, limit), body.radius, length(body.velocity - frame.drift));
}

// Whether a sphere that leaves the threat at `at` could strike the target.
fn strikes(at: u32, target_sphere: Target) -> bool {
    let left = target_sphere.limit - bitcast<f32>(pool[at]);
    if left <= 0.0 { return false; }
    let cell = bitcast<vec3i>(vec3u(pool[at + 1u], pool[at + 2u], pool[at + 3u]));
    let offset = bitcast<vec3f>(vec3u(pool[at + 4u], pool[at + 5u], pool[at + 6u]));
    let shift = cells_shift(nearest_cells(cell - target_sphere.cell));
    let d = target_sphere.place - offset - shift - frame.drift * left;
    let speed = bitcast<f32>(pool[at + 8u]) + target_sphere.speed;
    // The second radius is that of the partner, which may fly off too.
    let reach = target_sphere.radius + 3.0 * bitcast<f32>(pool[at + 7u]) + speed * left;
    return dot(d, d) <= reach * reach;
}

// Whether a sphere that leaves any threat could strike sphere i before `limit`.
fn is_threatened(i: u32, limit: f32) -> bool {
    let threats = min(counter(THREATS), frame.threat_capacity);
    if threats == 0u { return false; }
    let target_sphere = target_of(i, limit);
    var is_struck = false;
    for (var k = 0u; k < threats && !is_struck; k++) { is_struck = strikes(frame.at_threats + k * THREAT_WORDS, target_sphere); }
    return is_struck;
}

// Lists the neighbours of sphere i whose first propagation is needed.
fn mark_neighbours(i: u32, stamp: u32, which: u32, from_end: bool) {
    var cursor = candidates(i);
    while next(&cursor) {
        let k = cursor.other;
        // Most are marked already: reading first keeps the memory shared.
        if atomicLoad(&work[frame.at_marks + k]) >= stamp { continue; }
        if atomicMax(&work[frame.at_marks + k], stamp) < stamp {
            let slot = count_up(which);
            atomicStore(&work[frame.at_near + select(slot, frame.sphere_count - 1u - slot, from_end)], k);
        }
    }
}

fn mark_near(slot: u32) {
    let i = atomicLoad(&work[at_pending(round) + slot]);
    let event = next_events[i].event;
    if !is_mutual(i, event) { return; }
    let sides = select(1u, 2u, !is_wall(event) && bodies[event.partner].inverse_mass != 0.0);
    for (var side = 0u; side < sides; side++) {
        mark_neighbours(select(i, event.partner, side == 1u), 2u * round + 1u, NEAR, false);
    }
}

fn mark_around(slot: u32) {
    mark_neighbours(atomicLoad(&work[frame.at_near + slot]), 2u * round + 1u, AROUND, true);
}

// First propagation of a marked sphere.
fn propagate_marked(slot: u32) {
    let near = counter(NEAR);
    let place = select(frame.sphere_count - 1u - (slot - near), slot, slot < near);
    propagate(atomicLoad(&work[frame.at_near + place]));
}

// Counts the rounds that are better done over the whole array.
fn note_busy(pending: u32) {
    if pending > BUSY_PENDING { atomicMax(&work[BUSY_ROUNDS], round + 1u); }
}

// Rounds of a substep; longer chains of impacts are left to the CPU.
fn longest_chain() -> u32 { return select(0xffffffffu, LONG_ROUNDS, has_flag(FLAG_LEAVES_CHAINS)); }

// Selects an impact that no threat forestalls, unless other impacts may.
fn select_undisturbed(i: u32, event: Event) {
    // The sphere itself, then its partner if an impact can disturb the partner.
    let both = !is_wall(event) && bodies[event.partner].inverse_mass != 0.0;
    for (var side = 0u; side < select(1u, 2u, both); side++) {
        let one = select(i, event.partner, side == 1u);
        if !undisturbed(one, select(event.partner, i, side == 1u), event.toi) { return; }
    }
    atomicStore(&work[frame.at_selected + count_up(SELECTED)], i);
}
