// The sweep of a single sphere, and which spheres are swept again after impacts. Twin: `resweep` of src/cpu/rounds.rs.

fn is_touched(i: u32) -> bool { return nodes[i].touched == round + 1u; }

fn append_pending(i: u32) {
    let slot = atomicAdd(&work[round_block(round + 1u) + PENDING], 1u);
    atomicStore(&work[at_pending(round + 1u) + slot], i);
}

fn mark_affected_by(i: u32) {
    let stamp = 2u * round + 2u;
    if atomicMax(&work[frame.at_marks + i], stamp) < stamp {
        atomicStore(&work[frame.at_near + count_up(AFFECTED)], i);
    }
    mark_neighbours(i, stamp, AFFECTED, false);
}

// The partners of a selected impact and all spheres that could meet them.
fn mark_affected(slot: u32) {
    let i = atomicLoad(&work[frame.at_selected + slot]);
    let event = next_events[i].event;
    let sides = select(1u, 2u, !is_wall(event) && is_touched(event.partner));
    for (var side = 0u; side < sides; side++) { mark_affected_by(select(i, event.partner, side == 1u)); }
}

// Whether sphere i needs a full sweep: an impact touched it or its partner.
fn is_stale(i: u32) -> bool {
    if is_touched(i) { return true; }
    let partner = next_events[i].event.partner;
    return (partner & WALL) == 0u && is_some(next_events[i].event) && is_touched(partner);
}

// Bits of the first listed candidates of sphere i that were touched.
fn touched_near(i: u32) -> u32 {
    let first = list_begin(i);
    let count = min(list_end(i) - first, PICKED);
    var picked = 0u;
    for (var k = 0u; k < count; k++) {
        picked |= select(0u, 1u << k, is_touched(lists[first + k] & INDEX_MASK));
    }
    return picked;
}

// Fast path for the many spheres that meet no fast sphere; false, without any change, if the full sweep is needed.
fn sweep_partly_listed(i: u32) -> bool {
    let picked = touched_near(i);
    var event = next_events[i].event;
    if picked != 0u {
        let a = mover(i);
        var search = Search(event, 0.0, false);
        let first = list_begin(i);
        for (var left = picked; left != 0u; left &= left - 1u) {
            consider(a, candidate(first + firstTrailingBit(left)), false, &search);
        }
        if search.is_tied { return false; }
        if a.inverse_mass != 0.0 {
            event = event_of(a, search);
            next_events[i].event = event;
        }
    }
    if is_some(event) { append_pending(i); }
    return true;
}

// The earliest impact of sphere i before the end of the substep, or the event `kept` if that is earlier. With `is_full` all candidates and
// walls count, otherwise touched candidates. One loop with one call of each function: compilers inline every call.
fn sweep_sphere(i: u32, kept: Event, is_full: bool) -> Event {
    let a = mover(i);
    // Other spheres find their impacts on fixed spheres.
    if a.inverse_mass == 0.0 { return NO_EVENT; }
    var search = Search(kept, 0.0, false);
    var cursor = candidates(i);
    if !is_full { pick(&cursor, touched_near(i)); }
    var settles = false;
    loop {
        while next(&cursor) {
            if !is_full && !settles && !is_touched(cursor.other) { continue; }
            let contact = pair_contact(a, cursor, false);
            if settles { settle(i, cursor, contact, &search); } else { keep_earliest(cursor, contact, &search); }
        }
        // Several impacts at one time are looked at again.
        if settles || !search.is_tied { break; }
        settles = true;
        cursor = candidates(i);
    }
    var best = event_of(a, search);
    if is_full {
        consider_walls(i, &best);
        consider_features(i, &best);
    }
    return best;
}

// Sweeps a sphere whose next event may have changed, and lists it for the next round if an impact is pending. With `fully`, or
// if the sphere or its partner was touched, all candidates count.
fn resweep(i: u32, fully: bool) {
    let is_full = fully || is_stale(i);
    var kept = NO_EVENT;
    if !is_full { kept = next_events[i].event; }
    let event = sweep_sphere(i, kept, is_full);
    next_events[i].event = event;
    if is_some(event) { append_pending(i); }
}

// A pending sphere without touched neighbours stays pending.
fn keep_pending(slot: u32) {
    let i = atomicLoad(&work[at_pending(round) + slot]);
    if atomicLoad(&work[frame.at_marks + i]) != 2u * round + 2u { append_pending(i); }
}
