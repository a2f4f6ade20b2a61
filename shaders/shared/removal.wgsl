// The spheres that sinks have taken. The host writes their indices, then their ranks, each in ascending order, to the list of
// pending spheres, which is unused between two steps.

// Number of entries below `value` in the list at `at`.
fn entries_below(at: u32, value: u32) -> u32 {
    var low = 0u;
    var high = frame.removed_count | opaque_zero;
    while low < high {
        let middle = (low + high) / 2u;
        if atomicLoad(&work[at + middle]) < value { low = middle + 1u; } else { high = middle; }
    }
    return low;
}

// Place of an index or rank after the removal; `is_removed` for the removed ones.
struct NewPlace {
    place: u32,
    is_removed: bool,
}

fn place_after(at: u32, value: u32) -> NewPlace {
    let below = entries_below(at, value);
    let is_listed = below < (frame.removed_count | opaque_zero) && atomicLoad(&work[at + below]) == value;
    return NewPlace(value - below, is_listed);
}

fn new_index(i: u32) -> NewPlace { return place_after(frame.at_pending, i); }
fn new_rank(rank: u32) -> NewPlace { return place_after(frame.at_pending + frame.removed_count, rank); }
