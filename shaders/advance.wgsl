// Stage `advance`: moves every sphere to the end of the substep and back into the lab frame. Twin: src/cpu/advance.rs.

// Results of the rounds of the substep.
fn report() {
    var used = round;
    if round == frame.wide_rounds {
        used = 0u;
        for (var k = 0u; k < (frame.wide_rounds | opaque_zero); k++) {
            used += u32(atomicLoad(&work[ROUND_BLOCKS + k * ROUND_WORDS + PENDING]) > 0u);
        }
    }
    atomicMax(&work[ROUNDS_MAX], used);
    atomicMax(&work[FAST_MAX], atomicLoad(&work[FAST_COUNT]));
    atomicAdd(&work[STOPPED_COUNT], atomicLoad(&work[FROZEN_COUNT]));
}

@compute @workgroup_size(GROUP)
fn advance(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    begin(groups);
    if is_halted() { return; }
    // Uniform over all invocations: this stage does not write it.
    round = max(atomicLoad(&work[TAIL_ROUND]), frame.wide_rounds);
    if counter(PENDING) > 0u {
        if id.x == 0u {
            atomicMax(&work[LEFT_PENDING], counter(PENDING));
            halt(HALT_UNFINISHED);
        }
        return;
    }
    if is_strict() && atomicLoad(&work[LATE_COUNT]) > 0u {
        if id.x == 0u { halt(HALT_LATE); }
        return;
    }
    if id.x == 0u { report(); }
    let h = frame.h;
    let fall = frame.gravity * (0.5 * h * h);
    let square = dot(frame.gravity, frame.gravity);
    let per_square = 1.0 / max(square, 1e-30);
    let most_lift = MOST_LIFT / sqrt(max(square, 1e-30));
    for (var i = id.x; i < frame.sphere_count; i += groups.x * GROUP) {
        var body = bodies[i];
        let node = nodes[i];
        tags[i].last_contact = max(tags[i].last_contact - h, NEVER);
        nodes[i].motion_margin = node.motion_margin - path_ahead(body.velocity, body.inverse_mass, node.clock);
        if (node.support & FROZEN) != 0u {
            // The sphere continues with its motion from before the stop.
            let at = frame.at_frozen + (node.support & ~FROZEN) * FROZEN_WORDS;
            bodies[i].velocity = bitcast<vec3f>(vec3u(pool[at], pool[at + 1u], pool[at + 2u]));
            bodies[i].inverse_mass = bitcast<f32>(pool[at + 3u]);
            continue;
        }
        if body.inverse_mass == 0.0 { continue; }
        let u = body.velocity;
        // A supported sphere moves along the chord of its path.
        var gain = frame.gravity * h;
        if HAS_REST { gain = frame.gravity * (h - 0.5 * rested(i)); }
        // Hidden from the compiler: it could simplify (u + gain) - u to gain and so lose the rounding.
        var v = bitcast<vec3f>(bitcast<vec3u>(u + gain) ^ vec3u(opaque_zero));
        if HAS_REST && rested(i) > 0.0 && node.clock == 0.0 && node.support == 0u && all(v == vec3f(0.0)) {
            // A sphere at rest keeps its position to the bit; the chord would cancel the fall except for rounding.
            bodies[i].velocity = vec3f(0.0);
            continue;
        }
        // In a fall every step rounds the velocity in the same direction. The path uses the mean of the two rounded
        // velocities; otherwise a bounce would not return to its height.
        let rounded = (v - u) - gain;
        // One addition: a separate addition of the small fall would round in the same direction in every step.
        var correction = rounded * (0.5 * h);
        var flies = square > 0.0;
        if HAS_REST { flies = flies && rested(i) <= 0.0; }
        if flies {
            // The rounded velocity has another energy. A small displacement along gravity restores the sum.
            let lift = 0.5 * dot(rounded, u + v) * per_square;
            correction += frame.gravity * clamp(lift, -most_lift, most_lift);
        }
        body.offset += u * (h - node.clock) + (fall + correction);
        if node.support != 0u {
            let wall = wall_of(node.support - 1u);
            v -= wall.normal * dot(wall.normal, v);
            let to_wall = cells_shift(tags[i].cell - wall.cell) + (body.offset - wall.offset);
            body.offset -= wall.normal * (dot(wall.normal, to_wall) - body.radius);
        }
        bodies[i].offset = body.offset;
        if has_gravity() { bodies[i].velocity = v; }
    }
    check_loops();
}
