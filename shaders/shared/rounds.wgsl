// The last rounds of a substep, after the rounds over the whole array: one workgroup processes the few pending spheres
// until no impact is left. Twin: src/cpu/rounds.rs.

var<workgroup> shared_count: u32;
var<workgroup> shared_flag: u32;

// A counter of the round, uniform over all lanes: every earlier write is complete for all of them.
fn agreed(lane: u32, which: u32) -> u32 {
    storageBarrier();
    workgroupBarrier();
    if lane == 0u { shared_count = counter(which); }
    return workgroupUniformLoad(&shared_count);
}

fn agreed_word(lane: u32, word: u32) -> u32 {
    storageBarrier();
    workgroupBarrier();
    if lane == 0u { shared_count = atomicLoad(&work[word]); }
    return workgroupUniformLoad(&shared_count);
}

fn agreed_halt(lane: u32) -> bool {
    storageBarrier();
    workgroupBarrier();
    if lane == 0u { shared_flag = u32(is_halted()); }
    return workgroupUniformLoad(&shared_flag) != 0u;
}

// The earliest pending impact of all, used when partners differ in the last bit and no impact is selected.
fn select_earliest(pending: u32) {
    var best = NO_IMPACT;
    var chosen = 0xffffffffu;
    for (var slot = 0u; slot < pending; slot++) {
        let i = atomicLoad(&work[at_pending(round) + slot]);
        let toi = next_events[i].event.toi;
        if toi < best || (toi == best && tags[i].rank < tags[chosen].rank) {
            best = toi;
            chosen = i;
        }
    }
    atomicStore(&work[frame.at_selected], chosen);
    atomicStore(&work[round_block(round) + SELECTED], 1u);
}

// Time of the earliest pending impact, as bits: times are not negative, so their bits have the same order.
fn earliest_pending(pending: u32, lane: u32) -> u32 {
    storageBarrier();
    workgroupBarrier();
    if lane == 0u { atomicStore(&work[EARLIEST], 0x7f800000u); }
    storageBarrier();
    workgroupBarrier();
    for (var slot = lane; slot < pending; slot += TAIL_GROUP) {
        let i = atomicLoad(&work[at_pending(round) + slot]);
        atomicMin(&work[EARLIEST], bitcast<u32>(next_events[i].event.toi));
    }
    storageBarrier();
    workgroupBarrier();
    if lane == 0u { shared_count = atomicLoad(&work[EARLIEST]); }
    return workgroupUniformLoad(&shared_count);
}

@compute @workgroup_size(TAIL_GROUP)
fn rounds(@builtin(local_invocation_index) lane: u32, @builtin(num_workgroups) groups: vec3u) {
    begin(groups);
    // A function variable: barriers need control flow that the compiler can prove uniform.
    var number = max(agreed_word(lane, TAIL_ROUND), frame.wide_rounds);
    round = number;
    var reached = agreed_word(lane, REACHED);
    var pending = agreed(lane, PENDING);
    if agreed_halt(lane) { pending = 0u; }
    // The host repeats the substep with more rounds over the whole array.
    pending = select(pending, 0u, (pending > MOST_TAIL_PENDING) & (frame.wide_rounds < MOST_WIDE_ROUNDS));
    // More pending spheres than this are quicker to split than to finish, if the substep can be split.
    let crowd = select(max(frame.sphere_count / 20u, CROWD), 0xffffffffu, (frame.flags & FLAG_SHORTEST) != 0u);
    // As `longest_chain`, from the uniform alone: barriers need control flow that the compiler can prove uniform.
    let long = select(0xffffffffu, LONG_ROUNDS, (frame.flags & FLAG_LEAVES_CHAINS) != 0u);
    // After so many rounds another dispatch continues.
    let end = number + frame.tail_rounds;
    while pending > 0u && number < end {
        if number % STUCK_ROUNDS == 0u {
            // The earliest impact has to become later, or the rounds never end.
            let earliest = earliest_pending(pending, lane);
            // Before the first round the limit does not apply.
            if number > 0u && earliest <= reached {
                if lane == 0u { halt(HALT_STUCK); }
                break;
            }
            reached = earliest;
        }
        if number >= long {
            if lane == 0u { halt(HALT_STUCK); }
            break;
        }
        if number >= CROWDED_ROUNDS && pending > crowd {
            if lane == 0u { halt(HALT_CROWDED); }
            break;
        }
        if lane == 0u { note_busy(pending); }
        if lane < ROUND_WORDS { atomicStore(&work[round_block(round + 1u) + lane], 0u); }
        for (var slot = lane; slot < pending; slot += TAIL_GROUP) {
            note_threat(atomicLoad(&work[at_pending(round) + slot]));
            mark_near(slot);
        }
        let near = agreed(lane, NEAR);
        for (var slot = lane; slot < near; slot += TAIL_GROUP) { mark_around(slot); }
        let marked = near + agreed(lane, AROUND);
        for (var slot = lane; slot < marked; slot += TAIL_GROUP) { propagate_marked(slot); }
        storageBarrier();
        workgroupBarrier();
        for (var slot = lane; slot < pending; slot += TAIL_GROUP) { select_pending(slot); }
        var selected = agreed(lane, SELECTED);
        if selected == 0u {
            if lane == 0u { select_earliest(pending); }
            selected = agreed(lane, SELECTED);
        }
        for (var slot = lane; slot < selected; slot += TAIL_GROUP) { collide_selected(slot); }
        let walkers = agreed(lane, WALKERS);
        for (var slot = 0u; slot < walkers; slot++) {
            let capsule = capsule_of(atomicLoad(&work[frame.at_walkers + slot]));
            walk_cells(capsule, LOOK, lane, TAIL_GROUP);
            walk_cells(capsule, VISIT, lane, TAIL_GROUP);
        }
        storageBarrier();
        workgroupBarrier();
        for (var slot = 0u; slot < walkers; slot++) {
            let capsule = capsule_of(atomicLoad(&work[frame.at_walkers + slot]));
            walk_cells(capsule, MEET, lane, TAIL_GROUP);
        }
        storageBarrier();
        workgroupBarrier();
        if walkers > 0u && lane == 0u { check_crowd(); }
        for (var slot = lane; slot < selected; slot += TAIL_GROUP) { mark_affected(slot); }
        let affected = agreed(lane, AFFECTED);
        for (var slot = lane; slot < affected; slot += TAIL_GROUP) {
            resweep(atomicLoad(&work[frame.at_near + slot]));
        }
        for (var slot = lane; slot < pending; slot += TAIL_GROUP) { keep_pending(slot); }
        storageBarrier();
        workgroupBarrier();
        number += 1u;
        round = number;
        pending = agreed(lane, PENDING);
        if agreed_halt(lane) { break; }
    }
    if lane == 0u {
        atomicStore(&work[TAIL_ROUND], number);
        atomicStore(&work[REACHED], reached);
    }
    check_loops();
}
