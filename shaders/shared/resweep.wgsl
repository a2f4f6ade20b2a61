// Sweeps touched spheres and their neighbours again. Twin: `resweep` of src/cpu/rounds.rs.

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
    mark_affected_by(i);
    if !is_wall(event) && nodes[event.partner].touched == round + 1u { mark_affected_by(event.partner); }
}

// Whether sphere i needs a full sweep: an impact touched it or its partner.
fn is_stale(i: u32) -> bool {
    if is_touched(i) { return true; }
    let partner = next_events[i].event.partner;
    return (partner & WALL) == 0u && is_some(next_events[i].event) && is_touched(partner);
}

// Sweeps sphere i against all candidates, and lists it for the next round if an impact is pending.
fn sweep_fully(i: u32) {
    let event = sweep_sphere(i, false);
    next_events[i].event = event;
    if is_some(event) { append_pending(i); }
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

// Sweeps sphere i against the candidates in `bits`.
fn sweep_picked(i: u32, a: Mover, picked: u32, search: ptr<function, Search>) {
    var left = picked;
    let first = list_begin(i);
    while left != 0u {
        let c = candidate(first + firstTrailingBit(left));
        left &= left - 1u;
        consider(a, c, false, search);
    }
}

// Sweeps sphere i against touched candidates only.
fn sweep_partly(i: u32) {
    let picked = touched_near(i);
    var event = next_events[i].event;
    var cursor = candidates_beyond(i);
    // No neighbour has changed.
    if picked != 0u || cursor.at < cursor.end || cursor.dynamic != 0u {
        let a = mover(i);
        if a.inverse_mass != 0.0 {
            var search = Search(event, 0.0, false);
            sweep_picked(i, a, picked, &search);
            while next(&cursor) {
                if is_touched(cursor.other) { consider(a, cursor, false, &search); }
            }
            settle_tie(i, a, &search);
            event = event_of(a, search);
            next_events[i].event = event;
        }
    }
    if is_some(event) { append_pending(i); }
}

// Fast path for the many spheres that meet no fast sphere; false, without any change, if the full sweep is needed.
fn sweep_partly_listed(i: u32) -> bool {
    let picked = touched_near(i);
    var event = next_events[i].event;
    if picked != 0u {
        let a = mover(i);
        var search = Search(event, 0.0, false);
        sweep_picked(i, a, picked, &search);
        if search.is_tied { return false; }
        if a.inverse_mass != 0.0 {
            event = event_of(a, search);
            next_events[i].event = event;
        }
    }
    if is_some(event) { append_pending(i); }
    return true;
}

// A sphere whose next event may have changed.
fn resweep(i: u32) {
    if is_stale(i) { sweep_fully(i); } else { sweep_partly(i); }
}

// A pending sphere without touched neighbours stays pending.
fn keep_pending(slot: u32) {
    let i = atomicLoad(&work[at_pending(round) + slot]);
    if atomicLoad(&work[frame.at_marks + i]) != 2u * round + 2u { append_pending(i); }
}
