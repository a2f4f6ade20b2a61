// Stage `select`: selects the impacts that may happen in this round. Twin: src/cpu/select.rs; the decision is made in
// shared/causality.wgsl.

// Lists the threats of the round and the spheres that could interfere with its impacts.
@compute @workgroup_size(GROUP)
fn select_near(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    begin(groups);
    round = round_of_dispatch.number;
    if is_halted() { return; }
    let pending = counter(PENDING);
    let everywhere = is_dense();
    for (var slot = id.x; slot < pending; slot += groups.x * GROUP) {
        let threat = threat_of(atomicLoad(&work[at_pending(round) + slot]));
        let threat_slot = store_threat(threat);
        if threat_slot != NO_SLOT { enter_threat(threat_slot, threat); }
        if !everywhere { mark_near(slot); }
    }
    check_loops();
}

// Lists the spheres that could interfere with those of the first list.
@compute @workgroup_size(GROUP)
fn select_around(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    begin(groups);
    round = round_of_dispatch.number;
    if is_halted() { return; }
    if is_dense() {
        let apart = counter(AROUND);
        for (var slot = id.x; slot < apart; slot += groups.x * GROUP) {
            propagate(atomicLoad(&work[frame.at_near + slot]));
        }
        check_loops();
        return;
    }
    let near = counter(NEAR);
    for (var slot = id.x; slot < near; slot += groups.x * GROUP) { mark_around(slot); }
    check_loops();
}

// First propagation of the listed spheres, or of all spheres in a dense round.
@compute @workgroup_size(GROUP)
fn select_propagate(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    begin(groups);
    round = round_of_dispatch.number;
    if is_halted() || counter(PENDING) == 0u { return; }
    if is_dense() {
        for (var i = id.x; i < frame.sphere_count; i += groups.x * GROUP) {
            if is_apart(i) {
                atomicStore(&work[frame.at_near + count_up(AROUND)], i);
            } else {
                var propagate = begin_propagation(i);
                propagate_listed(&propagate);
                end_propagation(propagate);
            }
        }
    } else {
        let marked = counter(NEAR) + counter(AROUND);
        for (var slot = id.x; slot < marked; slot += groups.x * GROUP) { propagate_marked(slot); }
    }
    check_loops();
}

@compute @workgroup_size(GROUP)
fn select_impacts(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    begin(groups);
    round = round_of_dispatch.number;
    if is_halted() { return; }
    let pending = counter(PENDING);
    if id.x == 0u {
        note_busy(pending);
        if pending > 0u && round >= longest_chain() { halt(HALT_STUCK); }
    }
    for (var slot = id.x; slot < pending; slot += groups.x * GROUP) {
        let i = atomicLoad(&work[at_pending(round) + slot]);
        let event = next_events[i].event;
        if is_mutual(i, event) && !is_threatened_near(i, event.toi) { select_undisturbed(i, event); }
    }
    check_loops();
}
