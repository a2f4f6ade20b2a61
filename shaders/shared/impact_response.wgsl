// Impulses of the selected impacts. Both partners move to the time of impact, and only they change, so momentum,
// angular momentum and energy are exact pair by pair. Twin: src/cpu/collide.rs, which gives the reasons.

// State of one sphere during an impact.
struct ImpactBody {
    i: u32,
    body: Body,
    last_contact: f32,
    motion_margin: f32,
    support: u32,
    // Stopped for the rest of the substep.
    frozen: bool,
    loss: f32,
    virial: f32,
}

fn load(i: u32, t: f32) -> ImpactBody {
    let node = nodes[i];
    var a = ImpactBody(i, bodies[i], tags[i].last_contact, node.motion_margin, node.support, false, node.loss, node.virial);
    let path = a.body.velocity * (t - node.clock);
    a.body.offset += path;
    a.motion_margin -= length(path - frame.drift * (t - node.clock));
    return a;
}

fn store(a: ImpactBody, t: f32) {
    let i = a.i;
    var body = a.body;
    var support = a.support;
    if a.frozen && body.inverse_mass > 0.0 {
        // Other spheres treat it as fixed until the end of the substep.
        let slot = atomicAdd(&work[FROZEN_COUNT], 1u);
        if slot >= frame.frozen_capacity {
            overflow(FROZEN_NEEDED, slot + 1u);
            return;
        }
        let motion = body.velocity + frame.gravity * t;
        let at = frame.at_frozen + slot * FROZEN_WORDS;
        pool[at] = bitcast<u32>(motion.x);
        pool[at + 1u] = bitcast<u32>(motion.y);
        pool[at + 2u] = bitcast<u32>(motion.z);
        pool[at + 3u] = bitcast<u32>(body.inverse_mass);
        body.offset += frame.gravity * (0.5 * t * t);
        body.velocity = vec3f(0.0);
        body.inverse_mass = 0.0;
        support = FROZEN | slot;
    }
    let fast = nodes[i].walk != 0u;
    if !a.frozen && (fast || path_ahead(body.velocity, body.inverse_mass, t) > a.motion_margin) {
        list_walker(i);
        if !fast { atomicAdd(&work[FAST_COUNT], 1u); }
        nodes[i].walk = round + 2u;
        // The old path ends here: the traversal finds the partners on the new path.
        atomicStore(&work[frame.at_heads + i], 0u);
    }
    bodies[i] = body;
    tags[i].last_contact = t;
    nodes[i].clock = t;
    nodes[i].motion_margin = a.motion_margin;
    nodes[i].support = support;
    nodes[i].touched = round + 1u;
    nodes[i].loss = a.loss;
    nodes[i].virial = a.virial;
}

// Ends the support by a plane: the sphere is on the plane and at rest along its normal, whatever its chord velocity
// says.
fn leave_support(a: ptr<function, ImpactBody>, t: f32) -> bool {
    let support = (*a).support;
    if support == 0u || (support & FROZEN) != 0u { return false; }
    let wall = wall_of(support - 1u);
    let cells = tags[(*a).i].cell - wall.cell;
    let height = dot(wall.normal, cells_shift(cells) + ((*a).body.offset - wall.offset));
    let gap = height - (*a).body.radius + 0.5 * wall.acceleration * t * t;
    (*a).body.offset -= wall.normal * gap;
    (*a).motion_margin -= abs(gap);
    let speed = dot(wall.normal, (*a).body.velocity) + wall.acceleration * t;
    (*a).body.velocity -= wall.normal * speed;
    (*a).support = 0u;
    return true;
}

// Restitution by the TC model: an impact takes no energy, by restitution or friction, if one of the partners had a
// contact less than the contact time ago.
fn soften(surface: ptr<function, Surface>, speed: f32, age: f32) -> f32 {
    let e = restitution_at(*surface, speed);
    if !HAS_REST && (e < 1.0 || (*surface).friction > 0.0) && age < frame.contact_time {
        atomicAdd(&work[CONTACT_TIME_COUNT], 1u);
        (*surface).friction = 0.0;
        return 1.0;
    }
    return e;
}

// The impulse on the first sphere, along d, as in src/toolbox/bounce.rs; `speed` is the sum of the two speeds.
fn impulse(d_in: vec3f, w: vec3f, inverse_mass: f32, e: f32, speed: f32) -> vec3f {
    let elastic = e == 1.0;
    let d = d_in * select(1.0, 1.5, elastic);
    let b = dot(d, w);
    if b >= 0.0 || inverse_mass <= 0.0 { return vec3f(0.0); }
    var k = (1.0 + e) * (b / dot(d, d));
    if elastic {
        let u = d * k;
        k = k - (dot(u, u) * 0.5 - dot(u, w)) / b;
    }
    let result = d * (-k / inverse_mass);
    if !all_finite(result) { return vec3f(0.0); }
    // An impact leaves at least the rounding of the speeds as separation.
    let approach = -dot(d_in, w);
    let least = LEAST_REBOUND * speed * length(d_in);
    if e * approach < least && approach > 0.0 { return result * ((1.0 + least / approach) / (1.0 + e)); }
    return result;
}

fn energy_lost(reduced_mass: f32, e: f32, approach: f32, square: f32) -> f32 {
    return 0.5 * reduced_mass * (1.0 - e * e) * approach * approach / square;
}

// `point` is an offset in the cell of sphere a, in the falling frame.
fn record(a: ImpactBody, t: f32, rank: u32, partner: u32, point: vec3f, normal: vec3f, size: f32) {
    if !is_recording() { return; }
    let slot = atomicAdd(&work[LOG_COUNT], 1u);
    if slot >= frame.log_capacity {
        overflow(LOG_NEEDED, slot + 1u);
        return;
    }
    let at = frame.at_log + slot * LOG_WORDS;
    let cell = bitcast<vec3u>(tags[a.i].cell);
    let place = bitcast<vec3u>(point + frame.gravity * (0.5 * t * t));
    let along = bitcast<vec3u>(normal);
    pool[at] = frame.substep;
    pool[at + 1u] = bitcast<u32>(t);
    pool[at + 2u] = rank;
    pool[at + 3u] = partner;
    pool[at + 4u] = cell.x;
    pool[at + 5u] = cell.y;
    pool[at + 6u] = cell.z;
    pool[at + 7u] = place.x;
    pool[at + 8u] = place.y;
    pool[at + 9u] = place.z;
    pool[at + 10u] = along.x;
    pool[at + 11u] = along.y;
    pool[at + 12u] = along.z;
    pool[at + 13u] = bitcast<u32>(size);
}

fn record_pair(a: ImpactBody, other: u32, other_radius: f32, d: vec3f, t: f32, j: vec3f) {
    let point = a.body.offset - d * (a.body.radius / (a.body.radius + other_radius));
    let rank = tags[a.i].rank;
    let theirs = tags[other].rank;
    var normal = vec3f(1.0, 0.0, 0.0);
    let square = dot(d, d);
    if square > SMALLEST { normal = d / sqrt(square); }
    record(a, t, min(rank, theirs), max(rank, theirs), point, normal * select(-1.0, 1.0, rank < theirs), length(j));
}

// Whether a sphere with this approach speed and relative acceleration stays at its partner.
fn rests(approach: f32, acceleration: f32, radius: f32, returns: f32) -> bool {
    let slow = acceleration * max(RESTING * frame.h, 0.5 * returns);
    return approach <= slow || approach * approach <= 2.0 * acceleration * radius * LOWEST_BOUNCE;
}

// Lets a sphere leave along `normal` with the least speed that brings it back at most a few times in a substep; `gain`
// is the velocity that gravity adds in a substep.
fn rebound(a: ptr<function, ImpactBody>, normal: vec3f, approach: f32, gain: f32) {
    let speed = LEAST_GRAVITY_REBOUND * gain;
    (*a).body.velocity += normal * (approach + speed);
    (*a).loss -= 0.5 * (speed * speed - approach * approach) / (*a).body.inverse_mass;
}

// Removes the approach of a new resting contact if a constraint can hold the pair until the end of the substep.
fn convert_to_resting(a: ptr<function, ImpactBody>, partner: u32, normal: vec3f, approach: f32) -> bool {
    let i = (*a).i;
    if (partner & WALL) != 0u && !is_counted(i, partner & ~WALL) { return false; }
    var hits = count_hit(i, partner);
    if hits == 0u { return false; }
    while hits <= MOST_HITS { hits = count_hit(i, partner); }
    let mass = 1.0 / (*a).body.inverse_mass;
    (*a).body.velocity += -normal * approach;
    (*a).loss += 0.5 * mass * approach * approach + along_chord(i, -normal * (approach * mass));
    return true;
}

// Holds a sphere that squeezes a much lighter one: its further impacts count as in a crowd. Twin: `hold_heavy` of
// src/cpu/collide/convert.rs, which gives the reasons.
fn hold_heavy(i: u32, inverse_mass: f32, other: f32) {
    if inverse_mass > 0.0 && other >= HEAVY * inverse_mass { atomicOr(&work[frame.at_pressed + i], MANY_CONTACTS); }
}

// Energy that a supported sphere gains less than one in flight from an impulse: its chord is not its velocity.
fn along_chord(i: u32, push: vec3f) -> f32 { return 0.5 * rested(i) * dot(frame.gravity, push); }

fn pair_impact(a: ptr<function, ImpactBody>, b: ptr<function, ImpactBody>, link: u32, t: f32) {
    let shift = shift_of(link);
    let first = leave_support(a, t);
    let second = leave_support(b, t);
    let d = ((*a).body.offset - (*b).body.offset) - shift;
    let w = (*a).body.velocity - (*b).body.velocity;
    let approach = dot(d, w);
    let square = dot(d, d);
    let distance = sqrt(square);
    if (first || second) && -approach <= RESTING * frame.h * length(frame.gravity) * distance {
        (*a).frozen = true;
        (*b).frozen = true;
        return;
    }
    if approach >= 0.0 { return; }
    if is_late((*a).i, (*b).i, t, distance - ((*a).body.radius + (*b).body.radius)) { atomicAdd(&work[LATE_COUNT], 1u); }
    let age = t - max((*a).last_contact, (*b).last_contact);
    var surface = surface_of(material_of((*a).i), material_of((*b).i));
    let e = soften(&surface, -approach / distance, age);
    let inverse_mass = (*a).body.inverse_mass + (*b).body.inverse_mass;
    let speed = length((*a).body.velocity) + length((*b).body.velocity);
    let j = impulse(d, w, inverse_mass, e, speed);
    var push = j;
    if surface.friction > 0.0 {
        let theirs = (*b).body;
        push += rub(surface.friction, j, d, w, (*a).body.radius + theirs.radius, a, (*b).i, theirs.radius, theirs.inverse_mass);
    }
    (*a).body.velocity += push * (*a).body.inverse_mass;
    (*b).body.velocity -= push * (*b).body.inverse_mass;
    atomicAdd(&work[PAIR_COUNT], 1u);
    if HAS_REST {
        if surface.restitution < 1.0 && count_hit((*a).i, (*b).i) > MOST_HITS {
            hold_heavy((*a).i, (*a).body.inverse_mass, (*b).body.inverse_mass);
            hold_heavy((*b).i, (*b).body.inverse_mass, (*a).body.inverse_mass);
        }
        (*a).loss += along_chord((*a).i, push) - along_chord((*b).i, push);
    }
    (*a).virial += dot(j, d);
    (*a).loss += energy_lost(1.0 / inverse_mass, e, approach, square);
    record_pair(*a, (*b).i, (*b).body.radius, d, t, j);
}

fn fixed_impact(a: ptr<function, ImpactBody>, other: u32, link: u32, t: f32) {
    let theirs = bodies[other];
    let g = frame.gravity;
    leave_support(a, t);
    let d = ((*a).body.offset - theirs.offset) - shift_of(link) + g * (0.5 * t * t);
    let w = (*a).body.velocity + g * t;
    let approach = dot(d, w);
    let square = dot(d, d);
    let distance = sqrt(square);
    let towards = -dot(d, g) / distance;
    var surface = surface_of(material_of((*a).i), material_of(other));
    if towards > 0.0 && rests(-approach / distance, towards, (*a).body.radius, 0.0) {
        if HAS_REST && surface.restitution < 1.0 && convert_to_resting(a, other, d / distance, approach / distance) { return; }
        // The chord that carries a sphere along a plane would leave a curved wall: the sphere hops and slides instead.
        rebound(a, d / distance, -approach / distance, towards * frame.h);
        return;
    }
    if approach >= 0.0 { return; }
    if is_late((*a).i, other, t, distance - ((*a).body.radius + theirs.radius)) { atomicAdd(&work[LATE_COUNT], 1u); }
    let e = soften(&surface, -approach / distance, t - (*a).last_contact);
    let inverse_mass = (*a).body.inverse_mass;
    let j = impulse(d, w, inverse_mass, e, length(w));
    var push = j;
    if surface.friction > 0.0 { push += rub(surface.friction, j, d, w, (*a).body.radius + theirs.radius, a, 0u, 0.0, 0.0); }
    (*a).body.velocity += push * inverse_mass;
    atomicAdd(&work[PAIR_COUNT], 1u);
    if HAS_REST {
        if surface.restitution < 1.0 { count_hit((*a).i, other); }
        (*a).loss += along_chord((*a).i, push);
    }
    (*a).virial += dot(j, d);
    (*a).loss += energy_lost(1.0 / inverse_mass, e, approach, square);
    record_pair(*a, other, theirs.radius, d, t, j);
}

fn collide_selected(slot: u32) {
    let i = atomicLoad(&work[frame.at_selected + slot]);
    let event = next_events[i].event;
    let t = event.toi;
    var a = load(i, t);
    if is_wall(event) {
        wall_impact(&a, event.partner & ~WALL, t);
    } else if bodies[event.partner].inverse_mass == 0.0 {
        // This stage only reads fixed spheres, and no invocation writes them.
        fixed_impact(&a, event.partner, event.link, t);
    } else {
        var b = load(event.partner, t);
        pair_impact(&a, &b, event.link, t);
        store(b, t);
    }
    store(a, t);
}
