// Stage `collide`: the impulses of the selected impacts, and the grid traversals of the spheres that became fast. Twins:
// src/cpu/collide.rs and src/cpu/fast.rs; shared/impact_response.wgsl computes a single impact.

@compute @workgroup_size(GROUP)
fn collide(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    begin(groups);
    round = round_of_dispatch.number;
    if is_halted() { return; }
    let selected = counter(SELECTED);
    for (var slot = id.x; slot < selected; slot += groups.x * GROUP) { collide_selected(slot); }
    check_loops();
}

// One workgroup per walker: finds slow spheres on its path, and registers the path for other fast spheres.
@compute @workgroup_size(GROUP)
fn collide_walk(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    begin(groups);
    round = round_of_dispatch.number;
    if is_halted() { return; }
    let walkers = counter(WALKERS);
    for (var slot = group.x; slot < walkers; slot += groups.x) {
        let capsule = capsule_of(atomicLoad(&work[frame.at_walkers + slot]));
        walk_cells(capsule, LOOK, lane, GROUP);
        walk_cells(capsule, VISIT, lane, GROUP);
    }
    check_loops();
}

// Finds the other fast spheres.
@compute @workgroup_size(GROUP)
fn collide_meet(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    begin(groups);
    round = round_of_dispatch.number;
    if is_halted() { return; }
    let walkers = counter(WALKERS);
    for (var slot = group.x; slot < walkers; slot += groups.x) {
        let capsule = capsule_of(atomicLoad(&work[frame.at_walkers + slot]));
        walk_cells(capsule, MEET, lane, GROUP);
    }
    if walkers > 0u && group.x == 0u && lane == 0u {
        atomicStore(&work[WALKED], 1u);
        check_crowd();
    }
    check_loops();
}
