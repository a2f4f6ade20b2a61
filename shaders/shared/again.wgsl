// The sweep of what was touched and of what is near it. Twin: `sweep_again` of src/cpu/rounds.rs.

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

// The partners of a selected impact and all that could meet them.
fn mark_affected(slot: u32) {
    let i = atomicLoad(&work[frame.at_selected + slot]);
    let event = fates[i].event;
    mark_affected_by(i);
    if !is_wall(event) && nodes[event.partner].touched == round + 1u { mark_affected_by(event.partner); }
}

// Sweeps sphere i against all if it or its partner was touched, else against the touched alone; puts it on the next
// round's list if an impact is pending.
fn sweep_again(i: u32) {
    var event = fates[i].event;
    let stale = is_some(event) && !is_wall(event) && is_touched(event.partner);
    let a = sweeper(i);
    if is_touched(i) || stale {
        event = sweep_sphere(i);
        fates[i].event = event;
    } else if a.inverse_mass != 0.0 {
        var cursor = candidates(i);
        while next(&cursor) {
            if is_touched(cursor.other) { consider(i, a, cursor.other, cursor.link, cursor.shift, &event); }
        }
        fates[i].event = event;
    }
    if is_some(event) { append_pending(i); }
}

// A pending sphere that nothing near has touched stays pending.
fn keep_pending(slot: u32) {
    let i = atomicLoad(&work[at_pending(round) + slot]);
    if atomicLoad(&work[frame.at_marks + i]) != 2u * round + 2u { append_pending(i); }
}
