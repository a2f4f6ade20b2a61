// Stage 5: the start of a substep: clocks to 0, and who is too fast for the candidate lists. Twin: src/cpu/launch.rs.

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
        let fast = path_ahead(body.velocity, body.inverse_mass, 0.0) > nodes[i].budget;
        nodes[i].walk = u32(fast);
        if fast {
            atomicStore(&work[frame.at_walkers + count_up(WALKERS)], i);
            atomicAdd(&work[FAST_COUNT], 1u);
        }
    }
    check_loops();
}
