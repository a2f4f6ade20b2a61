// Stage `rest`: finds and solves resting contacts, once before the launch and again after the rounds. Twins:
// src/cpu/rest.rs and src/cpu/constraints.rs, which give the reasons. shared/find_constraints.wgsl finds the constraints,
// shared/blocks.wgsl orders their cells, shared/order_constraints.wgsl orders the constraints of a block, and
// shared/solve_constraints.wgsl solves them.

// Copies the data that the previous state copy kept; `pool` here is that of the other copy. A copy command would run
// even in a halted step.
@compute @workgroup_size(GROUP)
fn rest_hand(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    begin(groups);
    if is_halted() { return; }
    let end = place_of_impulse(pool[IMPULSE_COUNT]);
    for (var k = id.x; k < end; k += groups.x * GROUP) { atomicStore(&warm_start[k], pool[k]); }
    check_loops();
}

// Whether a sphere touches a wall that appears or disappears in the step.
fn touches_changing_wall(i: u32) -> bool {
    let radius = bodies[i].radius;
    let most = min(2.0 * CONSTRAINT_GAP * radius, frame.motion_margin + frame.drift_reach);
    for (var plane = 0u; plane < wall_count(); plane++) {
        let wall = frame.at_motion + WALL_ROWS * plane;
        if (world[wall + 3u].z & 2u) == 0u { continue; }
        let cells = tags[i].cell - bitcast<vec3i>(world[wall + 1u].xyz);
        let to = cells_shift(cells) + (bodies[i].offset - world_row(wall + 2u).xyz);
        if dot(world_row(wall).xyz, to) - radius <= most { return true; }
    }
    let now = Instant(tags[i].cell, bodies[i].offset, vec3f(0.0), radius, 0.0);
    for (var at = list_end(i); at < feature_end(i); at++) {
        let p = feature_at(lists[at]);
        if is_changing(p.wall) && near_of(p, sight_of(p, now, vec3f(0.0)).x).distance <= radius + most { return true; }
    }
    return false;
}

// Wakes the spheres that touch such a wall, before a substep. Twin: `wake_near_changing_walls` of src/cpu/core.rs.
@compute @workgroup_size(GROUP)
fn rest_rouse(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    begin(groups);
    if is_halted() { return; }
    for (var i = id.x; i < frame.sphere_count; i += groups.x * GROUP) {
        let at = rank_head(tags[i].rank) + 2u;
        if atomicLoad(&warm_start[at]) < STILL && touches_changing_wall(i) { atomicStore(&warm_start[at], 0u); }
    }
    check_loops();
}

// Finds the resting contacts at the start of a substep and warm-starts them.
@compute @workgroup_size(GROUP)
fn rest_find(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    begin(groups);
    let past_h = warm_start_word(PAST_H);
    var scale = 0.0;
    if past_h > 0.0 { scale = frame.h / past_h; }
    // Later stages look up past constraints by rank.
    if group.x == 0u && lane == 0u && !is_halted() { atomicStore(&warm_start[IMPULSE_COUNT], 0u); }
    let blocks = (frame.sphere_count + GROUP - 1u) / GROUP;
    for (var block = group.x; block < blocks; block += groups.x) {
        let i = block * GROUP + lane;
        let is_there = i < frame.sphere_count && !is_halted();
        var first = 0u;
        var count = 0u;
        // A single loop keeps the inlined code from being duplicated.
        for (var k = 0u; k < 2u; k++) {
            if k == 1u { first = take_constraints_together(count, lane); }
            let has_any = count > 0u && first != NO_ROOM;
            if is_there && (k == 0u || has_any) { count = constraints_of(i, false, scale, k == 1u, first); }
        }
        if is_there && first != NO_ROOM {
            atomicStore(&work[frame.at_constraint_heads + 2u * i], first);
            atomicStore(&work[frame.at_constraint_heads + 2u * i + 1u], count);
        }
    }
    check_loops();
}

// Changes the normal of a constraint.
fn turn_constraint(at: u32, normal: vec3f) {
    let tangent = vector(at + IMPULSE_PLACE + 1u);
    put_vector(at, normal);
    put_vector(at + IMPULSE_PLACE + 1u, tangent - normal * dot(normal, tangent));
}

// A contact constraint after the rounds, at the later clock of its partners; in the first batch only.
fn follow_row(i: u32, number: u32) {
    let at = place_of_constraint(number);
    let j = pool[at + PARTNER_PLACE];
    var gap = 0.0;
    var diameter = 2.0 * bodies[i].radius;
    var now = nodes[i].clock;
    if (j & WALL) != 0u {
        let wall = wall_of_constraint(j);
        if HAS_SHAPES && wall >= wall_count() {
            // No impact has happened: gap and normal are those of the start.
            if now == 0.0 { return; }
            let touch = touch_side(feature_at(wall - wall_count()), instant_of(i, now), side_of_constraint(j));
            // The sphere crosses an edge to a neighbouring face, or leaves the pipe: the constraint stays unchanged.
            if touch.is_shadowed { return; }
            turn_constraint(at, touch.normal);
            gap = touch.gap;
        } else {
            gap = wall_gap(wall_of(wall), i).x;
        }
    } else {
        // No impact has happened: gap and normal are those of the start.
        if now == 0.0 && nodes[j].clock == 0.0 { return; }
        let apart = in_lab(i, j, shift_of(code_of_constraint(at)));
        let distance = length(apart.d);
        if distance > 0.0 {
            turn_constraint(at, apart.d / distance);
        }
        diameter = bodies[i].radius + bodies[j].radius;
        gap = distance - diameter;
        now = apart.now;
    }
    if word(at + CLOSING_PLACE) < 0.0 { return; }
    pool[at + CLOSING_PLACE] = bitcast<u32>(closing_speed(gap, diameter, left_from(now)));
}

// After the rounds: adds pairs that collided too often, and pairs that the contact constraints drive into each other.
@compute @workgroup_size(GROUP)
fn rest_update(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    begin(groups);
    let batch = batch_of_dispatch();
    if !looks(batch) { return; }
    let any_sleeps = atomicLoad(&work[ASLEEP_COUNT]) > 0u;
    let any_converted = atomicLoad(&work[CONVERTED]) > 0u;
    for (var i = id.x; i < frame.sphere_count; i += groups.x * GROUP) {
        var renews = any_converted && batch == 1u && has_converted(i);
        if batch > 1u {
            let block = number_of_block(tags[i].cell);
            let is_stirred = (atomicLoad(&work[frame.at_stirred + i]) & WAKES_NEXT) != 0u;
            if is_stirred || (wakes_block(block, batch) && sleeps(i)) { atomicOr(&work[frame.at_stirred + i], STIRRED); }
            renews = is_active_block(block, batch);
        }
        // One call for all batches: compilers inline every call.
        if renews { renew_constraints(i); }
        if batch > 1u { continue; }
        // In the first batch the constraints are renewed where an impact was converted.
        activate_near(i, renews, any_sleeps);
        // Constraints of blocks that are not active stay the same: no partner has had an impact.
        for (var constraint = constraint_begin(i); constraint < constraint_end(i); constraint++) { follow_row(i, constraint); }
    }
    check_loops();
}

// Whether any impact of sphere i was converted to a resting contact.
fn has_converted(i: u32) -> bool {
    var end = list_end(i);
    if HAS_SHAPES { end = feature_end(i); }
    for (var at = list_begin(i); at < end; at++) {
        if (flags_at(at) & HITS) > MOST_HITS { return true; }
    }
    for (var plane = 0u; HAS_WALLS && plane < min(wall_count(), COUNTED_PLANES); plane++) {
        if wall_hits(i, plane) > MOST_HITS { return true; }
    }
    return false;
}

// The first batch after the rounds solves the blocks near a sphere that the rounds have changed or that sleeps near a moving wall.
// Twin: `find_active` of src/cpu/rest.rs.
fn activate_near(i: u32, is_converted: bool, any_sleeps: bool) {
    // An impact at the very start leaves the clock at 0, so the time of the last contact is tested too.
    let is_changed = is_converted || nodes[i].clock > 0.0 || tags[i].last_contact >= 0.0;
    // A nearly asleep sphere had its last contact before this substep: the time of that contact is negative.
    let is_struck = any_sleeps && is_nearly_asleep(i) && tags[i].last_contact >= 0.0;
    if is_changed || (any_sleeps && sleeps(i) && is_near_moving_wall(i)) {
        activate_first();
        mark_near(i, 0u, is_struck);
    }
}

// Whether all spheres of a block wake before a batch.
fn wakes_block(block: u32, batch: u32) -> bool { return atomicLoad(&work[frame.at_active_blocks + block]) == 2u * batch + 1u; }

// The next batch solves the blocks with cells within ACTIVE_REACH of sphere i. With `wakes`, the next batch solves the block of the
// sphere and all blocks next to it, and wakes their spheres.
fn mark_near(i: u32, batch: u32, wakes: bool) {
    let cell = tags[i].cell;
    let middle = vec3i(block_of(0u, cell.x).x, block_of(1u, cell.y).x, block_of(2u, cell.z).x);
    for (var k = 0; k < 27; k++) {
        var near = middle + vec3i(k % 3, k / 3 % 3, k / 9) - vec3i(1);
        var is_inside = true;
        for (var axis = 0u; axis < 3u; axis++) {
            let blocks = block_count(axis);
            let step = near[axis] - middle[axis];
            let to_low = cell[axis] - block_start(axis, middle[axis]) + 1;
            let to_high = block_start(axis, middle[axis] + 1) - cell[axis];
            let distance = select(select(0, to_high, step > 0), to_low, step < 0);
            is_inside = is_inside && (wakes || distance <= ACTIVE_REACH);
            if blocks == 0 { continue; }
            if is_periodic(axis) { near[axis] = modulo(near[axis], blocks); }
            is_inside = is_inside && near[axis] >= 0 && near[axis] < blocks;
        }
        if is_inside { atomicMax(&work[frame.at_active_blocks + number_of(near)], 2u * (batch + 1u) + select(0u, 1u, wakes)); }
    }
}

fn velocity_at_begin(i: u32) -> vec3f { return begin_vector(frame.at_begin + i * BEGIN_WORDS); }
fn spin_at_begin(i: u32) -> vec3f { return begin_vector(frame.at_begin + i * BEGIN_WORDS + 3u); }
fn put_velocity_at_begin(i: u32, velocity: vec3f) { put_begin_vector(frame.at_begin + i * BEGIN_WORDS, velocity); }
fn put_spin_at_begin(i: u32, spin: vec3f) { put_begin_vector(frame.at_begin + i * BEGIN_WORDS + 3u, spin); }

fn begin_vector(at: u32) -> vec3f {
    return bitcast<vec3f>(vec3u(atomicLoad(&work[at]), atomicLoad(&work[at + 1u]), atomicLoad(&work[at + 2u])));
}

fn put_begin_vector(at: u32, v: vec3f) {
    let bits = bitcast<vec3u>(v);
    for (var axis = 0u; axis < 3u; axis++) { atomicStore(&work[at + axis], bits[axis]); }
}

// Moves a sphere that begins to bounce to the place and time of its first bounce.
fn fly(i: u32) {
    let left = bitcast<f32>(atomicLoad(&work[frame.at_bounces + i]));
    let time = frame.h - left - nodes[i].clock;
    if left <= 0.0 || time <= 0.0 { return; }
    let path = bodies[i].velocity * time;
    bodies[i].offset += path;
    nodes[i].motion_margin -= length(path - frame.drift * time);
    nodes[i].clock = frame.h - left;
}

// Gives a sphere that wakes the velocity that the impulses on it amount to, so that no momentum is lost.
fn receive(i: u32) {
    let velocity = velocity_at_begin(i);
    bodies[i].velocity += velocity;
    let way = velocity * (frame.h - nodes[i].clock);
    nodes[i].loss += (dot(frame.gravity, way) - 0.5 * dot(velocity, velocity)) / abs(bodies[i].inverse_mass);
    atomicAnd(&work[frame.at_stirred + i], ~GIVEN);
}

// Applies the impulse of a constraint to a sphere: `sign` is 1 for the sphere that owns it, otherwise -1. Without friction or
// resistance the tangent or the moment is 0, because surfaces do not change while impulses are kept.
fn warm(constraint: u32, sign: f32, sphere: ptr<function, Partner>) {
    let impulse = impulse_of(constraint);
    if impulse.normal <= 0.0 { return; }
    let at = place_of_constraint(constraint);
    let normal = vector(at);
    (*sphere).arm = (*sphere).radius * word(at + MASS_PLACE + 1u);
    (*sphere).velocity += (normal * impulse.normal + impulse.tangent) * (sign * (*sphere).inverse_mass);
    // The torque has the same sign on both sides, because the arms have opposite signs, too.
    (*sphere).spin += cross(impulse.tangent, normal) * ease(*sphere);
    (*sphere).spin += impulse.moment * (sign * 0.4 * turnability(*sphere));
}

// Applies the impulses of all contact constraints of sphere i to its velocity in the lab and to its spin. Each sphere gathers its
// own, which takes one pass; in the solving order it would take one for each colour of the blocks. Twin: `warm` of src/cpu/rest.rs,
// which adds in another order.
fn warm_up(i: u32) {
    let radius = bodies[i].radius;
    var sphere = Partner(bodies[i].velocity, bodies[i].inverse_mass, tags[i].spin, radius, 0.0, 2.5 / radius);
    let end = constraint_end(i);
    for (var constraint = constraint_begin(i); constraint < end; constraint++) { warm(constraint, 1.0, &sphere); }
    let rank = tags[i].rank;
    for (var at = list_begin(i); at < list_end(i); at++) {
        let c = candidate(at);
        if (c.flags & CONSTRAINED) == 0u || tags[c.other].rank >= rank { continue; }
        let last = constraint_end(c.other);
        for (var constraint = constraint_begin(c.other); constraint < last; constraint++) {
            if is_with(constraint, i, c.link) { warm(constraint, -1.0, &sphere); }
        }
    }
    bodies[i].velocity = sphere.velocity;
    tags[i].spin = sphere.spin;
}

var<workgroup> asleep_of_group: atomic<u32>;

// Replaces each sphere's velocity by its velocity in the lab at the end of the substep. Before the sweep it also applies the warm
// start. Until `rest_leave` the inverse mass of a sleeping sphere is negative.
@compute @workgroup_size(GROUP)
fn rest_enter(
    @builtin(global_invocation_id) id: vec3u,
    @builtin(num_workgroups) groups: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    begin(groups);
    let batch = batch_of_dispatch();
    var asleep = 0u;
    // No early return, because all lanes have to reach the barrier.
    let end = select(0u, frame.sphere_count, is_active(batch));
    for (var i = id.x; i < end; i += groups.x * GROUP) {
        if batch > 1u && (atomicLoad(&work[frame.at_stirred + i]) & GIVEN) != 0u { receive(i); }
        let velocity = bodies[i].velocity;
        put_velocity_at_begin(i, velocity);
        put_spin_at_begin(i, tags[i].spin);
        if batch > 0u && orders(batch) {
            for (var k = 0u; k < ALL_COLOUR_WORDS; k++) { atomicStore(&work[frame.at_colour_words + i * ALL_COLOUR_WORDS + k], 0u); }
        }
        if bodies[i].inverse_mass == 0.0 { continue; }
        if batch == 1u {
            fly(i);
            if timer_elapsed(i) && wakes_block(number_of_block(tags[i].cell), 1u) { atomicOr(&work[frame.at_stirred + i], STIRRED); }
        }
        if sleeps(i) {
            bodies[i].velocity = vec3f(0.0);
            bodies[i].inverse_mass = -bodies[i].inverse_mass;
            asleep += 1u;
        } else {
            bodies[i].velocity = velocity + frame.gravity * (frame.h - 0.5 * rested(i));
            if batch == 0u { warm_up(i); }
        }
    }
    if batch > 0u { asleep = 0u; }
    if SUMS_IN_GROUP {
        if asleep > 0u { atomicAdd(&asleep_of_group, asleep); }
        workgroupBarrier();
        asleep = 0u;
        if lane == 0u { asleep = atomicLoad(&asleep_of_group); }
    }
    if asleep > 0u { atomicAdd(&work[ASLEEP_COUNT], asleep); }
    check_loops();
}

// Marks supported spheres with the number of the batch.
@compute @workgroup_size(GROUP)
fn rest_mark(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    begin(groups);
    let batch = batch_of_dispatch();
    if !is_active(batch) { return; }
    if id.x == 0u { atomicMax(&work[LAST_IN_CONTACT], batch + 1u); }
    for (var i = id.x; i < frame.sphere_count; i += groups.x * GROUP) {
        for (var constraint = constraint_begin(i); constraint < constraint_end(i); constraint++) {
            if word(place_of_constraint(constraint) + IMPULSE_PLACE) <= 0.0 { continue; }
            let j = constraint_partner(constraint);
            atomicMax(&work[frame.at_in_contact + i], batch + 1u);
            if (j & WALL) == 0u { atomicMax(&work[frame.at_in_contact + j], batch + 1u); }
            if batch > 0u || (j & WALL) != 0u { continue; }
            atomicAdd(&work[frame.at_pressed + i], 1u);
            atomicAdd(&work[frame.at_pressed + j], 1u);
        }
    }
    check_loops();
}

// Rounding error of a sum. A compiler that sees both sides would make it 0.
fn rounding(a: vec3f, b: vec3f) -> vec3f {
    let sum = bitcast<vec3f>(bitcast<vec3u>(a + b) ^ vec3u(opaque_zero));
    return (sum - a) - b;
}

// Converts V back to the falling frame: along the chord if supported, else in flight.
@compute @workgroup_size(GROUP)
fn rest_leave(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    begin(groups);
    let batch = batch_of_dispatch();
    if !is_active(batch) { return; }
    let g = frame.gravity;
    for (var i = id.x; i < frame.sphere_count; i += groups.x * GROUP) {
        if bodies[i].inverse_mass == 0.0 { continue; }
        let stands = bodies[i].inverse_mass < 0.0;
        let inverse_mass = abs(bodies[i].inverse_mass);
        let before = velocity_at_begin(i);
        let spin_before = spin_at_begin(i);
        if stands {
            bodies[i].inverse_mass = inverse_mass;
            if !is_fast(rim_of(i)) { tags[i].spin = vec3f(0.0); }
        }
        let was = rested(i);
        var clock = 0.0;
        if batch > 0u { clock = nodes[i].clock; }
        var time = 0.0;
        if stands || atomicLoad(&work[frame.at_in_contact + i]) == batch + 1u {
            time = was;
            if was <= 0.0 { time = frame.h - clock; }
        } else if was <= 0.0 {
            // In flight for the whole substep: every bit stays.
            bodies[i].velocity = before;
            tags[i].spin = spin_before;
            continue;
        }
        if !stands { turn(i, spin_before * bodies[i].radius, rim_of(i)); }
        let u = bodies[i].velocity - g * (frame.h - 0.5 * time);
        atomicStore(&work[frame.at_rested + i], bitcast<u32>(time));
        bodies[i].velocity = u;
        // Energy lost, as products of small differences: squares would round it away. Rounding of the velocities counts
        // too, except in flight, where the path compensates for it.
        var lost = (before - u) + g * (0.5 * (time - was)) - rounding(u, g * (frame.h - 0.5 * time));
        if was > 0.0 || batch > 0u { lost += rounding(before, g * (frame.h - 0.5 * was)); }
        let sum = (before + u) + g * (2.0 * frame.h - 0.5 * (was + time));
        let spin = tags[i].spin;
        let radius = bodies[i].radius;
        let turned = 0.4 * radius * radius * dot(spin_before - spin, spin_before + spin);
        let way = (u - before) * (frame.h - clock);
        nodes[i].loss += (0.5 * (dot(lost, sum) + turned) + dot(g, way)) / inverse_mass;
    }
    check_loops();
}

// Whether no batch is encoded after this look ahead. If one is needed, the step is repeated with more batches.
fn is_last_look() -> bool { return colour_of_dispatch() >= NO_BATCH; }

// Makes the next batch solve the blocks near a sphere that is driven deep into another or a wall. Returns whether it is.
fn note_ahead(i: u32, batch: u32, overlap: Deepening) -> bool {
    if overlap.ahead <= DEEP || overlap.ahead - max(overlap.now, 0.0) <= DEEPENED { return false; }
    if is_last_look() { halt(HALT_ITERATIONS); }
    atomicMax(&work[AHEAD + batch], bitcast<u32>(overlap.ahead));
    mark_near(i, batch, false);
    return true;
}

// Whether the velocities drive supported spheres deep into others, or contacts no longer balance the weight of sleeping ones.
@compute @workgroup_size(GROUP)
fn rest_ahead(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    begin(groups);
    let batch = batch_of_dispatch();
    if !looks(batch) { return; }
    // A batch is needed, but none is encoded.
    if colour_of_dispatch() == NO_BATCH && is_active(batch) {
        halt(HALT_ITERATIONS);
        return;
    }
    for (var i = id.x; i < frame.sphere_count; i += groups.x * GROUP) {
        var imbalance = 0u;
        if sleeps(i) && (is_near_moving_wall(i) || has_awake_candidate(i)) { imbalance = imbalance_of(i); }
        if imbalance > 0u {
            if is_last_look() { halt(HALT_ITERATIONS); }
            atomicMax(&work[AHEAD + batch], bitcast<u32>(1.0));
            mark_near(i, batch, imbalance > 1u);
            wake_around(i, WAKES_NEXT);
            put_velocity_at_begin(i, given_velocity(i));
            atomicOr(&work[frame.at_stirred + i], GIVEN);
        }
        let end = list_end(i);
        for (var at = list_begin(i); at < end; at++) {
            let c = candidate(at);
            if c.other <= i || !is_in_contact(i, c.other) { continue; }
            if note_ahead(i, batch, overlap_ahead(i, c.other, c.shift)) { mark_near(c.other, batch, false); }
        }
        for (var plane = 0u; HAS_WALLS && plane < wall_count(); plane++) {
            if is_near_plane(i, plane) && rested(i) > 0.0 { note_ahead(i, batch, overlap_of_wall_ahead(i, wall_of(plane))); }
        }
        if HAS_SHAPES && rested(i) > 0.0 {
            var seeker = listed_features(i);
            while next_feature(&seeker) { note_ahead(i, batch, overlap_of_feature_ahead(i, feature_at(seeker.found))); }
        }
    }
    check_loops();
}

// Velocity of a point of a sphere's surface around its centre.
fn rim_of(i: u32) -> vec3f { return tags[i].spin * bodies[i].radius; }

// Whether a point moves faster than at the sleep speed.
fn is_fast(velocity: vec3f) -> bool { return dot(velocity, velocity) > frame.sleep_speed * frame.sleep_speed; }

// Notes whether one solve has changed the spin of a sphere that is awake. Twin: `turn` of src/cpu/sleep.rs.
fn turn(i: u32, before: vec3f, now: vec3f) {
    let change = now - before;
    let least = frame.sleep_speed * (f32(sleep_ticks()) / f32(SLEEP));
    if sleep_ticks() > 0u && dot(change, change) > least * least { atomicOr(&work[frame.at_stirred + i], TURNED); }
}

fn has_turned(i: u32) -> bool { return (atomicLoad(&work[frame.at_stirred + i]) & TURNED) != 0u; }

// Whether a sphere's sleep timer restarts at the end of the substep. `speed` and `rim` are the squares of the speeds of its centre and
// of its surface around the centre.
fn moves(i: u32, speed: f32, rim: f32) -> bool {
    let slow = frame.sleep_speed * frame.sleep_speed;
    let fast = CREEP * CREEP * slow;
    if speed > fast || (rim > fast && speed > slow) { return true; }
    return rested(i) <= 0.0 || is_near_moving_wall(i) || tags[i].last_contact >= -frame.h;
}

// Whether a sphere keeps itself awake.
fn creeps(i: u32) -> bool { return is_fast(bodies[i].velocity) || (is_fast(rim_of(i)) && has_turned(i)); }

// Sleep timer from the sphere's own motion alone.
fn own_timer(i: u32) -> u32 {
    if sleep_ticks() == 0u { return 0u; }
    if bodies[i].inverse_mass == 0.0 { return STILL; }
    let speed = dot(bodies[i].velocity, bodies[i].velocity);
    if moves(i, speed, dot(rim_of(i), rim_of(i))) { return 0u; }
    return min(sleep_timer(i) + sleep_ticks(), select(SLEEP, SLEEP - SPREAD, creeps(i)));
}

// Whether any candidate of a sphere is awake. A fixed one is not.
fn has_awake_candidate(i: u32) -> bool {
    for (var at = list_begin(i); at < list_end(i); at++) {
        let j = candidate(at).other;
        if !sleeps(j) && sleep_timer(j) != STILL { return true; }
    }
    return false;
}

// Velocity that the contact impulses give to a sphere which they no longer hold at rest.
fn given_velocity(i: u32) -> vec3f {
    var push = vec3f(0.0);
    for (var constraint = constraint_begin(i); constraint < constraint_end(i); constraint++) { push += push_of(constraint); }
    for (var at = list_begin(i); at < list_end(i); at++) {
        let c = candidate(at);
        if tags[c.other].rank >= tags[i].rank { continue; }
        for (var constraint = constraint_begin(c.other); constraint < constraint_end(c.other); constraint++) {
            if is_with(constraint, i, c.link) { push -= push_of(constraint); }
        }
    }
    return push * bodies[i].inverse_mass + frame.gravity * frame.h;
}

// Whether a constraint of the candidate with this code is with sphere i. Across a short period, i may touch several images of
// the candidate.
fn is_with(constraint: u32, i: u32, code: u32) -> bool {
    return constraint_partner(constraint) == i && code_of_constraint(place_of_constraint(constraint)) + code == CODES - 1u;
}

fn push_of(number: u32) -> vec3f {
    let impulse = impulse_of(number);
    return vector(place_of_constraint(number)) * impulse.normal + impulse.tangent;
}

// Sum of the contact impulses of a sphere and of their normal parts, in steps of its weight.
struct Push {
    sum: vec3i,
    load: i32,
}

// Twin: `imbalance` of src/cpu/sleep.rs.
fn add_push(push: ptr<function, Push>, number: u32, scale: f32, sign: f32) {
    let impulse = impulse_of(number);
    let steps = push_of(number) * (sign * scale);
    (*push).sum += vec3i(floor(clamp(steps, vec3f(-MOST_STEPS), vec3f(MOST_STEPS)) + 0.5));
    (*push).load += i32(floor(min(impulse.normal * scale, MOST_STEPS) + 0.5));
}

// How far the contacts of a sphere are from balancing its weight: 0 = not, 1 = slightly, 2 = strongly.
fn imbalance_of(i: u32) -> u32 {
    let gravity = length(frame.gravity);
    let scale = STEPS_OF_WEIGHT * bodies[i].inverse_mass / (gravity * frame.h);
    var push = Push(vec3i(0), 0);
    for (var constraint = constraint_begin(i); constraint < constraint_end(i); constraint++) { add_push(&push, constraint, scale, 1.0); }
    for (var at = list_begin(i); at < list_end(i); at++) {
        let c = candidate(at);
        if tags[c.other].rank >= tags[i].rank { continue; }
        for (var constraint = constraint_begin(c.other); constraint < constraint_end(c.other); constraint++) {
            if is_with(constraint, i, c.link) { add_push(&push, constraint, scale, -1.0); }
        }
    }
    let left = vec3f(push.sum) / STEPS_OF_WEIGHT + frame.gravity / gravity;
    let most = WAKE_SHARE * (1.0 + f32(push.load) / STEPS_OF_WEIGHT);
    let square = dot(left, left);
    if square > STRONG * STRONG { return 2u; }
    return select(0u, 1u, square > most * most);
}

// Largest sleep timer of the neighbours of a sphere.
fn most_beside(timer: u32) -> u32 { return min(max(timer, BESIDE_MOVING - SPREAD) + SPREAD, STILL); }

// Largest sleep timer of sphere i beside sphere j, whose own motion leaves it `timer`. A sphere that spins in its sleep wakes beside one that
// moves or turns. One that moves has a timer of 0.
fn timer_beside(i: u32, j: u32, timer: u32) -> u32 {
    let most = most_beside(timer);
    if timer == STILL || !is_fast(rim_of(i)) || !creeps(j) { return most; }
    return min(most, SLEEP - SPREAD);
}

// Whether a sphere is neither fixed nor asleep.
fn is_awake(i: u32) -> bool { return bodies[i].inverse_mass != 0.0 && !sleeps(i); }

// Sleep timer at the end of the substep, as STILL minus ticks.
@compute @workgroup_size(GROUP)
fn rest_wake(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    begin(groups);
    if is_halted() { return; }
    for (var i = id.x; i < frame.sphere_count; i += groups.x * GROUP) {
        let own = own_timer(i);
        atomicMax(&work[frame.at_woken + i], STILL - own);
        for (var constraint = constraint_begin(i); constraint < constraint_end(i); constraint++) {
            let j = constraint_partner(constraint);
            let at = place_of_constraint(constraint);
            let lasts = word(at + IMPULSE_PLACE) > 0.0 && word(at + CLOSING_PLACE) >= 0.0;
            if lasts { atomicMax(&work[frame.at_in_contact + i], LASTING); }
            if (j & WALL) != 0u { continue; }
            if lasts { atomicMax(&work[frame.at_in_contact + j], LASTING); }
            let theirs = own_timer(j);
            // Fixed spheres do not limit the timers of their neighbours, nor do sleeping ones those of sleeping ones.
            if sleep_ticks() == 0u || !(is_awake(i) || is_awake(j)) { continue; }
            if own < STILL { atomicMax(&work[frame.at_woken + i], STILL - timer_beside(i, j, theirs)); }
            if theirs < STILL { atomicMax(&work[frame.at_woken + j], STILL - timer_beside(j, i, own)); }
        }
    }
    check_loops();
}

// Work of walls on a sphere that rests on them. Twin: `add_wall_work` of src/cpu/rest.rs.
fn feel_constraint(i: u32, number: u32) {
    if !(HAS_WALLS || HAS_SHAPES) || (constraint_partner(number) & WALL) == 0u { return; }
    let impulse = impulse_of(number);
    if impulse.normal <= 0.0 { return; }
    let at = place_of_constraint(number);
    let normal = vector(at);
    let push = normal * impulse.normal + impulse.tangent;
    var velocity = vec3f(0.0);
    var spin = vec3f(0.0);
    if HAS_SHAPES && pool[at + WALL_VELOCITY_PLACE + 3u] != 0u {
        velocity = vector(at + WALL_VELOCITY_PLACE);
        spin = wall_velocity_of(pool[at + WALL_VELOCITY_PLACE + 3u]).spin;
        add_exactly(frame.at_wall_loads, dot(push, velocity) + dot(impulse.moment, spin));
    }
    let wall = number_of_wall(wall_of_constraint(constraint_partner(number)));
    let point = bodies[i].offset - normal * bodies[i].radius;
    feel_wall(wall, push, impulse.moment, velocity, spin, tags[i].cell, point);
}

// Allocates impulses for each lane; all lanes of the workgroup take part.
fn take_impulses_together(count: u32, lane: u32) -> u32 {
    if !SUMS_IN_GROUP { return atomicAdd(&warm_start[IMPULSE_COUNT], count); }
    let place = place_in_group(count, lane);
    if lane == 0u { first_of_group = atomicAdd(&warm_start[IMPULSE_COUNT], atomicLoad(&total_of_group)); }
    return workgroupUniformLoad(&first_of_group) + place;
}

// Keeps the impulses of the contacts of sphere i from place `first` on, and its sleep timer.
fn keep_contacts(i: u32, first: u32, count: u32) {
    var at = place_of_impulse(first);
    for (var constraint = constraint_begin(i); constraint < constraint_end(i); constraint++) {
        var key = constraint_partner(constraint);
        if (key & WALL) == 0u { key = tags[key].rank; }
        atomicStore(&warm_start[at], key);
        // A bounce ends with the substep.
        let bounces = word(place_of_constraint(constraint) + CLOSING_PLACE) < 0.0;
        for (var k = 0u; k < IMPULSE_WORDS - 1u; k++) {
            let place = select(MOMENT_PLACE - 4u, IMPULSE_PLACE, k < 4u) + k;
            atomicStore(&warm_start[at + 1u + k], select(pool[place_of_constraint(constraint) + place], 0u, bounces));
        }
        at += IMPULSE_WORDS;
        feel_constraint(i, constraint);
    }
    let in_contact = atomicLoad(&work[frame.at_in_contact + i]) == LASTING;
    let head = rank_head(tags[i].rank);
    atomicStore(&warm_start[head], first);
    atomicStore(&warm_start[head + 1u], count | select(0u, RESTED, in_contact));
    var sleep_timer = STILL - atomicLoad(&work[frame.at_woken + i]);
    if sleep_timer < STILL && (atomicLoad(&work[frame.at_stirred + i]) & ~TURNED) != 0u { sleep_timer = min(sleep_timer, SLEEP - SPREAD); }
    atomicStore(&warm_start[head + 2u], sleep_timer);
    // Reading first keeps the memory shared.
    if sleep_timer < SLEEP && atomicLoad(&work[WAKE_STATE]) == 0u { atomicOr(&work[WAKE_STATE], AWAKE); }
}

// Keeps the impulses to warm-start the next substep.
@compute @workgroup_size(GROUP)
fn rest_keep(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    begin(groups);
    if group.x == 0u && lane == 0u && !is_halted() { atomicStore(&warm_start[PAST_H], bitcast<u32>(frame.h)); }
    let blocks = (frame.sphere_count + GROUP - 1u) / GROUP;
    for (var block = group.x; block < blocks; block += groups.x) {
        let i = block * GROUP + lane;
        let is_there = i < frame.sphere_count && !is_halted();
        var count = 0u;
        if is_there { count = constraint_end(i) - constraint_begin(i); }
        let first = take_impulses_together(count, lane);
        if is_there { keep_contacts(i, first, count); }
    }
    check_loops();
}
