// Stage `sweep`: the earliest impact of each sphere over its candidates and the walls. Twin: src/cpu/sweep.rs; the sweep
// itself is in shared/impact.wgsl.

fn keep_event(i: u32, event: Event) {
    next_events[i].event = event;
    if is_some(event) { atomicStore(&work[at_pending(0u) + count_up(PENDING)], i); }
}

// Sweeps spheres that meet no fast sphere.
@compute @workgroup_size(GROUP)
fn sweep(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    begin(groups);
    if is_halted() { return; }
    for (var i = id.x; i < frame.sphere_count; i += groups.x * GROUP) {
        let a = mover(i);
        let end = list_end(i);
        var search = Search(NO_EVENT, 0.0, false);
        for (var at = list_begin(i); at < end; at++) {
            consider(a, candidate(at), true, &search);
        }
        if search.is_tied || atomicLoad(&work[frame.at_heads + i]) != 0u {
            let slot = atomicAdd(&work[LAUNCH_BLOCK + AFFECTED], 1u);
            atomicStore(&work[frame.at_near + slot], i);
            continue;
        }
        var event = NO_EVENT;
        // Fixed spheres sweep nothing; others sweep against them.
        if a.inverse_mass != 0.0 {
            event = event_of(a, search);
            consider_walls(i, &event);
            consider_features(i, &event);
        }
        keep_event(i, event);
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
        keep_event(i, sweep_sphere(i, true));
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
    let affected = counter(AFFECTED);
    if is_dense() {
        for (var slot = id.x; slot < affected; slot += groups.x * GROUP) {
            sweep_fully(atomicLoad(&work[frame.at_near + slot]));
        }
        // If nothing was touched, every pending impact stays pending.
        if counter(SELECTED) > 0u {
            check_loops();
            return;
        }
    } else {
        for (var slot = id.x; slot < affected; slot += groups.x * GROUP) {
            resweep(atomicLoad(&work[frame.at_near + slot]));
        }
    }
    let pending = counter(PENDING);
    for (var slot = id.x; slot < pending; slot += groups.x * GROUP) { keep_pending(slot); }
    check_loops();
}
