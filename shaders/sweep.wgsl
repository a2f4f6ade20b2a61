// Stage `sweep`: the earliest impact of each sphere over its candidates and the walls. Twin: src/cpu/sweep.rs. The impact of a
// pair is in shared/impact.wgsl, the sweep of a single sphere in shared/resweep.wgsl.

// Stores the next event of sphere i, unless the sphere is apart. Returns whether an impact is pending.
fn sweep_listed(i: u32) -> bool {
    let a = mover(i);
    let end = list_end(i);
    var search = Search(NO_EVENT, 0.0, false);
    for (var at = list_begin(i); at < end; at++) {
        consider(a, candidate(at), true, &search);
    }
    if search.is_tied || atomicLoad(&work[frame.at_heads + i]) != 0u {
        let slot = atomicAdd(&work[LAUNCH_BLOCK + AFFECTED], 1u);
        atomicStore(&work[frame.at_near + slot], i);
        return false;
    }
    var event = NO_EVENT;
    // Fixed spheres sweep nothing; others sweep against them.
    if a.inverse_mass != 0.0 {
        event = event_of(a, search);
        consider_walls(i, &event);
        consider_features(i, &event);
    }
    next_events[i].event = event;
    return is_some(event);
}

// Places for the pending spheres of each lane in the list of the first round; all lanes of the workgroup take part.
fn take_pending_together(count: u32, lane: u32) -> u32 {
    if !SUMS_IN_GROUP {
        var place = 0u;
        if count > 0u { place = atomicAdd(&work[ROUND_BLOCKS + PENDING], count); }
        return place;
    }
    let place = place_in_group(count, lane);
    if lane == 0u { first_of_group = atomicAdd(&work[ROUND_BLOCKS + PENDING], atomicLoad(&total_of_group)); }
    return workgroupUniformLoad(&first_of_group) + place;
}

// Sweeps spheres that meet no fast sphere.
@compute @workgroup_size(GROUP)
fn sweep(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    begin(groups);
    let blocks = (frame.sphere_count + GROUP - 1u) / GROUP;
    for (var block = group.x; block < blocks; block += groups.x) {
        let i = block * GROUP + lane;
        var is_pending = false;
        if i < frame.sphere_count && !is_halted() { is_pending = sweep_listed(i); }
        let place = take_pending_together(u32(is_pending), lane);
        if is_pending { atomicStore(&work[at_pending(0u) + place], i); }
    }
    check_loops();
}

// Sweeps the other spheres.
@compute @workgroup_size(GROUP)
fn sweep_apart(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    begin(groups);
    if is_halted() { return; }
    let apart = atomicLoad(&work[LAUNCH_BLOCK + AFFECTED]);
    for (var slot = id.x; slot < apart; slot += groups.x * GROUP) {
        let i = atomicLoad(&work[frame.at_near + slot]);
        let event = sweep_sphere(i, NO_EVENT, true);
        next_events[i].event = event;
        if is_some(event) { atomicStore(&work[at_pending(0u) + count_up(PENDING)], i); }
    }
    check_loops();
}

// After the impacts of a round: lists spheres that could meet a touched one. In a dense round every sphere checks
// itself.
@compute @workgroup_size(GROUP)
fn sweep_mark(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    begin(groups);
    round = round_of_dispatch.number;
    if is_halted() { return; }
    if is_dense() {
        if counter(SELECTED) == 0u { return; }
        for (var i = id.x; i < frame.sphere_count; i += groups.x * GROUP) {
            if is_stale(i) || is_apart(i) || !sweep_partly_listed(i) {
                atomicStore(&work[frame.at_near + count_up(AFFECTED)], i);
            }
        }
        check_loops();
        return;
    }
    let selected = counter(SELECTED);
    for (var slot = id.x; slot < selected; slot += groups.x * GROUP) { mark_affected(slot); }
    check_loops();
}

// Sweeps the listed spheres again.
@compute @workgroup_size(GROUP)
fn sweep_touched(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    begin(groups);
    round = round_of_dispatch.number;
    if is_halted() { return; }
    // Empties the table of threats for the next round: the lists by coarse cell, the list of long reach and the levels.
    if counter(THREATS) > 0u {
        for (var word = id.x; word < frame.threat_mask + 3u; word += groups.x * GROUP) { atomicStore(&work[frame.at_threat_lists + word], 0u); }
    }
    let affected = counter(AFFECTED);
    let everywhere = is_dense();
    for (var slot = id.x; slot < affected; slot += groups.x * GROUP) {
        resweep(atomicLoad(&work[frame.at_near + slot]), everywhere);
    }
    var pending = counter(PENDING);
    // In a dense round every sphere has checked itself, if anything was touched.
    if everywhere && counter(SELECTED) > 0u { pending = 0u; }
    for (var slot = id.x; slot < pending; slot += groups.x * GROUP) { keep_pending(slot); }
    check_loops();
}
