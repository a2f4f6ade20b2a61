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

// The partner of an impact on a wall.
const NO_BODY: ImpactBody = ImpactBody(0u, Body(), 0.0, 0.0, 0u, false, 0.0, 0.0);

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

// Records the impact of two spheres in the order of their ranks.
fn record(a: ptr<function, ImpactBody>, b: ptr<function, ImpactBody>, encounter: Encounter, t: f32, size: f32) {
    if !is_recording() { return; }
    let slot = atomicAdd(&work[LOG_COUNT], 1u);
    if slot >= frame.log_capacity {
        overflow(LOG_NEEDED, slot + 1u);
        return;
    }
    let d = encounter.d;
    let radius = (*a).body.radius;
    var first = tags[(*a).i].rank;
    var second = WALL | encounter.wall;
    var share = radius;
    var normal = d;
    if !encounter.is_wall {
        let theirs = tags[(*b).i].rank;
        normal = vec3f(1.0, 0.0, 0.0);
        if encounter.square > SMALLEST { normal = d / sqrt(encounter.square); }
        normal *= select(-1.0, 1.0, first < theirs);
        second = max(first, theirs);
        first = min(first, theirs);
        share = radius / (radius + (*b).body.radius);
    }
    let at = frame.at_log + slot * LOG_WORDS;
    let cell = bitcast<vec3u>(tags[(*a).i].cell);
    let place = bitcast<vec3u>((*a).body.offset - d * share + frame.gravity * (0.5 * t * t));
    let along = bitcast<vec3u>(normal);
    pool[at] = frame.substep;
    pool[at + 1u] = bitcast<u32>(t);
    pool[at + 2u] = first;
    pool[at + 3u] = second;
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
    var hits = 0u;
    loop {
        hits = count_hit(i, partner);
        if hits == 0u { return false; }
        if hits > MOST_HITS { break; }
    }
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

// The geometry of an impact and the motion of the partners relative to each other.
struct Encounter {
    // As in events.
    partner: u32,
    is_wall: bool,
    // The partner is a wall feature.
    is_feature: bool,
    // The partner is a fixed sphere.
    is_fixed: bool,
    // From the partner to the sphere: vector between the centres, or unit normal of the wall.
    d: vec3f,
    // Square of its length, and its length.
    square: f32,
    distance: f32,
    // Velocity relative to the partner. At a plane the velocity of the surfaces differs from it along the plane, because the frame falls.
    w: vec3f,
    slide: vec3f,
    gap: f32,
    // Acceleration of the partner's surface towards the sphere.
    towards: f32,
    material: u32,
    // Number of the wall among all walls, velocity of its surface, and whether it moves.
    wall: u32,
    wall_velocity: vec3f,
    moves: bool,
}

fn encounter_of_spheres(a: ptr<function, ImpactBody>, b: ptr<function, ImpactBody>, link: u32, t: f32) -> Encounter {
    let is_fixed = (*b).body.inverse_mass == 0.0;
    var d = ((*a).body.offset - (*b).body.offset) - shift_of(link);
    var w = (*a).body.velocity - (*b).body.velocity;
    if is_fixed {
        d += frame.gravity * (0.5 * t * t);
        w += frame.gravity * t;
    }
    let square = dot(d, d);
    let distance = sqrt(square);
    let towards = select(0.0, -dot(d, frame.gravity) / distance, is_fixed);
    let gap = distance - ((*a).body.radius + (*b).body.radius);
    let material = material_of((*b).i);
    return Encounter((*b).i, false, false, is_fixed, d, square, distance, w, w, gap, towards, material, 0u, vec3f(0.0), false);
}

// Impact of two spheres, of a sphere and a fixed one, or of a sphere and a wall; `supported`: a support by a plane has ended just now.
// One function for all, because compilers inline every call.
fn respond(a: ptr<function, ImpactBody>, b: ptr<function, ImpactBody>, encounter: Encounter, supported: bool, t: f32) {
    let is_pair = !encounter.is_wall && !encounter.is_fixed;
    let d = encounter.d;
    let w = encounter.w;
    let distance = encounter.distance;
    let approach = dot(d, w);
    if is_pair && supported && -approach <= RESTING * frame.h * length(frame.gravity) * distance {
        (*a).frozen = true;
        (*b).frozen = true;
        return;
    }
    var surface = surface_of(material_of((*a).i), encounter.material);
    let is_plane = encounter.is_wall && !encounter.is_feature;
    var returns = 0.0;
    if is_plane { returns = select(0.0, frame.contact_time, surface.restitution < 1.0 || surface.threshold > 0.0); }
    let towards = encounter.towards;
    let may_rest = towards > 0.0 && (!is_plane || (encounter.partner & ~WALL) < 255u);
    if may_rest && rests(-approach / distance, towards, (*a).body.radius, returns) {
        let normal = d / distance;
        let speed = approach / distance;
        if HAS_REST && surface.restitution < 1.0 && convert_to_resting(a, encounter.partner, normal, speed) { return; }
        if HAS_SHAPES && encounter.is_feature {
            turn_off(a, w, normal, speed, LEAST_GRAVITY_REBOUND * towards * frame.h);
        } else if !is_plane || supported || encounter.moves {
            // The chord that carries a sphere along a plane would leave a curved wall: the sphere hops and slides instead. In a
            // groove the sphere would need a chord along both planes; it hops off the second and stays on the first. A moving
            // wall does not carry spheres along a chord.
            rebound(a, normal, -speed, towards * frame.h);
        } else {
            // In the falling frame the plane accelerates: take the chord of its path to the end of the substep.
            let chord = 0.5 * towards * (frame.h + t);
            (*a).body.velocity += normal * (chord - dot(normal, (*a).body.velocity));
            (*a).support = (encounter.partner & ~WALL) + 1u;
            (*a).loss += 0.5 * speed * speed / (*a).body.inverse_mass;
        }
        return;
    }
    if approach >= 0.0 { return; }
    if is_late((*a).i, select(encounter.partner, WALL, encounter.is_wall), t, encounter.gap) { atomicAdd(&work[LATE_COUNT], 1u); }
    let inverse_mass = (*a).body.inverse_mass + (*b).body.inverse_mass;
    var last_contact = (*a).last_contact;
    var speed = length(w);
    if is_pair {
        last_contact = max(last_contact, (*b).last_contact);
        speed = length((*a).body.velocity) + length((*b).body.velocity);
    }
    // Exception: a moving wall can press a sphere that cannot move away, and elastic impacts on the wall would add energy
    // without limit.
    let e = soften(&surface, -approach / distance, select(t - last_contact, NO_IMPACT, encounter.moves));
    let j = impulse(d, w, inverse_mass, e, speed);
    var push = j;
    if surface.friction > 0.0 {
        let radius = (*a).body.radius;
        var across = d;
        if encounter.is_wall { across = d * radius; }
        var theirs = 0.0;
        if is_pair { theirs = (*b).body.radius; }
        push += rub(surface.friction, j, across, encounter.slide, radius + (*b).body.radius, a, (*b).i, theirs, (*b).body.inverse_mass);
    }
    (*a).body.velocity += push * (*a).body.inverse_mass;
    (*b).body.velocity -= push * (*b).body.inverse_mass;
    atomicAdd(&work[select(PAIR_COUNT, WALL_COUNT, encounter.is_wall)], 1u);
    if HAS_REST {
        if surface.restitution < 1.0 && count_hit((*a).i, encounter.partner) > MOST_HITS && is_pair {
            hold_heavy((*a).i, (*a).body.inverse_mass, (*b).body.inverse_mass);
            hold_heavy((*b).i, (*b).body.inverse_mass, (*a).body.inverse_mass);
        }
        var gain = along_chord((*a).i, push);
        if is_pair { gain -= along_chord((*b).i, push); }
        (*a).loss += gain;
    }
    if !encounter.is_wall { (*a).virial += dot(j, d); }
    (*a).loss += energy_lost(1.0 / inverse_mass, e, approach, encounter.square);
    record(a, b, encounter, t, length(j));
}

fn collide_selected(slot: u32) {
    let i = atomicLoad(&work[frame.at_selected + slot]);
    let event = next_events[i].event;
    let t = event.toi;
    let against_wall = is_wall(event);
    var a = NO_BODY;
    var b = NO_BODY;
    // A sphere that rests on one plane and strikes something else first gets its true velocity.
    var supported = false;
    for (var side = 0u; side < select(2u, 1u, against_wall); side++) {
        var one = load(select(i, event.partner, side == 1u), t);
        supported = leave_support(&one, t) || supported;
        if side == 0u { a = one; } else { b = one; }
    }
    var encounter: Encounter;
    if against_wall { encounter = encounter_of_wall(&a, event.partner, t); } else { encounter = encounter_of_spheres(&a, &b, event.link, t); }
    let before = a.body.velocity;
    respond(&a, &b, encounter, supported, t);
    if against_wall { load_wall(&a, encounter, a.body.velocity - before, t); }
    // This stage only reads fixed spheres, and no invocation writes them.
    let moving = select(2u, 1u, against_wall || encounter.is_fixed);
    for (var side = 0u; side < moving; side++) {
        var one = a;
        if side == 1u { one = b; }
        store(one, t);
    }
}
