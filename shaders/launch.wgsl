// Stage `launch`: half of the drag before and after a step. At the start of a substep: resets the clocks and finds the
// spheres that are too fast for the candidate lists. Twin: src/cpu/launch.rs.

@compute @workgroup_size(GROUP)
fn launch(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    begin(groups);
    round = LAUNCH;
    if is_halted() { return; }
    for (var i = id.x; i < frame.sphere_count; i += groups.x * GROUP) {
        let body = bodies[i];
        nodes[i].clock = 0.0;
        nodes[i].support = 0u;
        nodes[i].touched = 0u;
        let fast = path_ahead(body.velocity, body.inverse_mass, 0.0) > nodes[i].motion_margin;
        nodes[i].walk = u32(fast);
        if fast {
            list_walker(i);
            atomicAdd(&work[FAST_COUNT], 1u);
        }
    }
    check_loops();
}

// Applies half of the drag of a step. Twin: src/cpu/drag.rs.
@compute @workgroup_size(GROUP)
fn launch_drag(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    begin(groups);
    if is_halted() { return; }
    for (var i = id.x; i < frame.sphere_count; i += groups.x * GROUP) {
        let body = bodies[i];
        if body.inverse_mass == 0.0 { continue; }
        // Subtracts the loss of velocity: it has more correct digits than the remaining velocity.
        let slower = body.velocity - body.velocity * frame.slowing;
        bodies[i].velocity = slower;
        nodes[i].loss += 0.5 * dot(body.velocity - slower, body.velocity + slower) / body.inverse_mass;
    }
    check_loops();
}
