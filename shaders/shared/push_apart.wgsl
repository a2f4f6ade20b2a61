// Pushes apart the spheres that overlap in the smaller box of a compression, by position only. Twin: src/cpu/compress.rs.
//
// Every pass moves all spheres at once. The next events, which are free until the next sweep, hold two sets of displacements: a
// pass reads one and writes the other. A position is rounded too coarsely for the small pushes of a dense system. A pass after one
// that found no overlap does nothing, so the host may encode more passes than are needed.

// Number of the pass. From pass 7 on the numbers 1 to 6 repeat, which keeps the parity of the pass and its place among three counters.
fn pass_of_dispatch() -> u32 { return round_of_dispatch.number | opaque_zero; }

fn found_of(pass_number: u32) -> u32 { return PUSH_FOUND + pass_number % 3u; }

// Displacement of a sphere before a pass.
fn moved_before(i: u32, pass_number: u32) -> vec3f {
    if pass_number == 0u { return vec3f(0.0); }
    // Not the whole record: another lane may write the other set.
    if pass_number % 2u == 0u {
        return vec3f(next_events[i].event.toi, next_events[i].event.delta_v_bound, next_events[i].others.delta_v_bound);
    }
    return vec3f(next_events[i].any.time, next_events[i].any.delta_v_bound, next_events[i].others.time);
}

fn put_moved(i: u32, pass_number: u32, moved: vec3f) {
    if pass_number % 2u == 0u {
        next_events[i].any = VelocityBound(moved.x, moved.y);
        next_events[i].others.time = moved.z;
    } else {
        next_events[i].event.toi = moved.x;
        next_events[i].event.delta_v_bound = moved.y;
        next_events[i].others.delta_v_bound = moved.z;
    }
}

// Whether the pass finds anything to do. The counters of three passes take turns: a pass reads that of the pass before, counts in
// its own, and clears that of the pass after.
fn begins_pass(pass_number: u32, id: u32) -> bool {
    let is_needed = pass_number == 0u || atomicLoad(&work[found_of(pass_number + 2u)]) != 0u;
    if id == 0u {
        atomicStore(&work[found_of(pass_number + 1u)], 0u);
        if is_needed { atomicAdd(&work[PUSH_COUNT], 1u); }
    }
    return is_needed;
}

// Each sphere of a pair that is nearer than the gap allows moves by half of the missing distance. The larger sphere of a pair of very
// different sizes moves less.
@compute @workgroup_size(GROUP)
fn compress_push(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    begin(groups);
    if is_halted() { return; }
    let pass_number = pass_of_dispatch();
    if !begins_pass(pass_number, id.x) { return; }
    var overlaps = false;
    for (var i = id.x; i < frame.sphere_count; i += groups.x * GROUP) {
        let moved = moved_before(i, pass_number);
        let offset = bodies[i].offset;
        let radius = bodies[i].radius;
        if length(moved) > frame.motion_margin { atomicOr(&work[PUSHED_FAR], 1u); }
        var push = vec3f(0.0);
        var longest = 0.0;
        var is_mixed = false;
        for (var at = list_begin(i); at < list_end(i); at++) {
            let c = candidate(at);
            let other = bodies[c.other].radius;
            let d = ((offset - bodies[c.other].offset) - c.shift) + (moved - moved_before(c.other, pass_number));
            let sum = radius + other;
            let aim = sum * (1.0 + PUSH_GAP);
            let square = dot(d, d);
            if square >= aim * aim { continue; }
            overlaps = overlaps || square < sum * sum;
            let apart = sqrt(square);
            // Coincident centres separate along x, the smaller index to the right.
            var normal = vec3f(select(-1.0, 1.0, i < c.other), 0.0, 0.0);
            if apart > 0.0 { normal = d / apart; }
            let mixes = max(radius, other) > PUSH_MIXED * min(radius, other);
            let reach = (aim - apart) * select(0.5, other / sum, mixes);
            push += normal * reach;
            longest = max(longest, reach);
            is_mixed = is_mixed || mixes;
        }
        let size = length(push);
        if is_mixed && size > longest { push *= longest / size; }
        put_moved(i, pass_number, moved + push);
    }
    if overlaps { atomicOr(&work[found_of(pass_number)], 1u); }
    check_loops();
}

// Takes over the displacements that the last pass found free of overlaps.
@compute @workgroup_size(GROUP)
fn compress_settle(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    begin(groups);
    if is_halted() { return; }
    // The last pass that was needed.
    let pass_number = atomicLoad(&work[PUSH_COUNT]) - 1u;
    let is_far = atomicLoad(&work[PUSHED_FAR]) != 0u;
    let is_left = atomicLoad(&work[found_of(pass_number)]) != 0u;
    if is_far || is_left {
        if id.x == 0u { halt(select(HALT_PUSHES, HALT_PUSHED_FAR, is_far)); }
        return;
    }
    if pass_number == 0u { return; }
    for (var i = id.x; i < frame.sphere_count; i += groups.x * GROUP) {
        let moved = moved_before(i, pass_number);
        if any(moved != vec3f(0.0)) {
            bodies[i].offset += moved;
            nodes[i].motion_margin -= length(moved);
        }
    }
    check_loops();
}
