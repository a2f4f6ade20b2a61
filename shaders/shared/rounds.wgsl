// The last rounds of a substep, after the rounds over the whole array: one workgroup processes the few pending spheres
// until no impact is left. Twin: src/cpu/rounds.rs.

var<workgroup> agreed_word: u32;

// A word of `work`, uniform over all lanes: every earlier write is complete for all of them.
fn agreed(lane: u32, word: u32) -> u32 {
    storageBarrier();
    if lane == 0u { agreed_word = atomicLoad(&work[word]); }
    return workgroupUniformLoad(&agreed_word);
}

fn agreed_counter(lane: u32, which: u32) -> u32 { return agreed(lane, round_block(round) + which); }

// The pending spheres of the present round; none if the step is halted.
fn agreed_pending(lane: u32) -> u32 {
    storageBarrier();
    if lane == 0u { agreed_word = select(counter(PENDING), 0u, is_halted()); }
    return workgroupUniformLoad(&agreed_word);
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
    if lane == 0u { atomicStore(&work[EARLIEST], 0x7f800000u); }
    storageBarrier();
    for (var slot = lane; slot < pending; slot += TAIL_GROUP) {
        let i = atomicLoad(&work[at_pending(round) + slot]);
        atomicMin(&work[EARLIEST], bitcast<u32>(next_events[i].event.toi));
    }
    return agreed(lane, EARLIEST);
}

@compute @workgroup_size(TAIL_GROUP)
fn rounds(@builtin(local_invocation_index) lane: u32, @builtin(num_workgroups) groups: vec3u) {
    begin(groups);
    // A function variable: barriers need control flow that the compiler can prove uniform.
    var number = max(agreed(lane, TAIL_ROUND), frame.wide_rounds);
    round = number;
    var reached = agreed(lane, REACHED);
    var pending = agreed_pending(lane);
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
            _ = store_threat(threat_of(atomicLoad(&work[at_pending(round) + slot])));
            mark_near(slot);
        }
        let near = agreed_counter(lane, NEAR);
        for (var slot = lane; slot < near; slot += TAIL_GROUP) { mark_around(slot); }
        let marked = near + agreed_counter(lane, AROUND);
        for (var slot = lane; slot < marked; slot += TAIL_GROUP) { propagate_marked(slot); }
        storageBarrier();
        for (var slot = lane; slot < pending; slot += TAIL_GROUP) {
            let i = atomicLoad(&work[at_pending(round) + slot]);
            let event = next_events[i].event;
            if is_mutual(i, event) && !is_threatened(i, event.toi) { select_undisturbed(i, event); }
        }
        storageBarrier();
        if lane == 0u && counter(SELECTED) == 0u { select_earliest(pending); }
        let selected = agreed_counter(lane, SELECTED);
        for (var slot = lane; slot < selected; slot += TAIL_GROUP) { collide_selected(slot); }
        let walkers = agreed_counter(lane, WALKERS);
        // One call for all purposes: compilers inline every call.
        for (var purpose = LOOK; purpose <= MEET; purpose++) {
            for (var slot = 0u; slot < walkers; slot++) {
                walk_cells(capsule_of(atomicLoad(&work[frame.at_walkers + slot])), purpose, lane, TAIL_GROUP);
            }
            storageBarrier();
        }
        if walkers > 0u && lane == 0u { check_crowd(); }
        for (var slot = lane; slot < selected; slot += TAIL_GROUP) { mark_affected(slot); }
        let affected = agreed_counter(lane, AFFECTED);
        for (var slot = lane; slot < affected; slot += TAIL_GROUP) {
            resweep(atomicLoad(&work[frame.at_near + slot]), false);
        }
        for (var slot = lane; slot < pending; slot += TAIL_GROUP) { keep_pending(slot); }
        number += 1u;
        round = number;
        pending = agreed_pending(lane);
    }
    if lane == 0u {
        atomicStore(&work[TAIL_ROUND], number);
        atomicStore(&work[REACHED], reached);
    }
    check_loops();
}
