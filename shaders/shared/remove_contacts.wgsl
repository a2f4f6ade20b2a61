// Removes spheres from the data that contacts keep for the next substep: copies the data of the other spheres to the other copy,
// under their new ranks. `pool` is the copy from which the data comes. Spheres that touched a removed one wake.

fn timer_when_woken(timer: u32) -> u32 { return select(0u, timer, timer == STILL); }

// Copies the impulses of a rank, except for those with removed spheres. Returns their number; bit 31 tells whether any was
// left out.
fn carry_impulses(first: u32, count: u32) -> u32 {
    var carried = 0u;
    var any_left = false;
    for (var k = 0u; k < count; k++) {
        let source = place_of_impulse(first + k);
        var key = pool[source];
        if (key & WALL) == 0u {
            let partner = new_rank(key);
            any_left = any_left || partner.is_removed;
            if partner.is_removed { continue; }
            key = partner.place;
        }
        let goal = place_of_impulse(first + carried);
        atomicStore(&warm_start[goal], key);
        for (var word = 1u; word < IMPULSE_WORDS; word++) { atomicStore(&warm_start[goal + word], pool[source + word]); }
        carried++;
    }
    return carried | select(0u, 1u << 31u, any_left);
}

@compute @workgroup_size(GROUP)
fn remove_contacts(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    begin(groups);
    if is_halted() { return; }
    if id.x < WARM_START_HEAD { atomicStore(&warm_start[id.x], pool[id.x]); }
    for (var rank = id.x; rank < frame.sphere_count; rank += groups.x * GROUP) {
        let to = new_rank(rank);
        if to.is_removed { continue; }
        let source = rank_head(rank);
        let head = rank_head(to.place);
        let carried = carry_impulses(pool[source], pool[source + 1u] & ~RESTED);
        let timer = pool[source + 2u];
        atomicStore(&warm_start[head], pool[source]);
        atomicStore(&warm_start[head + 1u], (carried & ~(1u << 31u)) | (pool[source + 1u] & RESTED));
        atomicStore(&warm_start[head + 2u], select(timer, timer_when_woken(timer), (carried >> 31u) != 0u));
    }
    // New spheres find nothing at the ranks that have become free.
    for (var rank = frame.sphere_count - frame.removed_count + id.x; rank < frame.room; rank += groups.x * GROUP) {
        for (var word = 0u; word < RANK_WORDS; word++) { atomicStore(&warm_start[rank_head(rank) + word], 0u); }
    }
    check_loops();
}

// Wakes the partners of the removed spheres: a removed sphere of smaller rank held the impulse.
@compute @workgroup_size(GROUP)
fn wake_partners(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    begin(groups);
    if is_halted() { return; }
    let count = frame.removed_count | opaque_zero;
    for (var k = id.x; k < count; k += groups.x * GROUP) {
        let head = rank_head(atomicLoad(&work[frame.at_pending + frame.removed_count + k]));
        let end = pool[head] + (pool[head + 1u] & ~RESTED);
        for (var impulse = pool[head]; impulse < end; impulse++) {
            let key = pool[place_of_impulse(impulse)];
            if (key & WALL) != 0u { continue; }
            let partner = new_rank(key);
            if partner.is_removed { continue; }
            let timer = rank_head(partner.place) + 2u;
            atomicStore(&warm_start[timer], timer_when_woken(atomicLoad(&warm_start[timer])));
        }
    }
    check_loops();
}
