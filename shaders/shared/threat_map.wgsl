// The map of threats: a bit for each coarse cell (several cells may share one), set where a threat of the round may strike a sphere. Most
// impacts happen where no bit is set and need not be tested with every threat: both impacts and threats grow with the number of
// spheres. `sweep_touched` clears the map; the tail, which has few of both, does without. src/cpu/threats.rs has a table instead.

// Coarse cells have 2, 4, 8 up to 256 cells along an edge.
const MAP_LEVELS: u32 = 8u;

fn map_shift(level: u32) -> u32 { return 1u + level; }

// The bit of the coarse cell that contains a cell.
fn map_bit(level: u32, cell: vec3i) -> u32 {
    let c = bitcast<vec3u>(cell >> vec3u(map_shift(level)));
    var h = (c.x * 0x9e3779b1u) ^ (c.y * 0x85ebca77u) ^ (c.z * 0xc2b2ae3du) ^ (level * 0x27d4eb2fu);
    h ^= h >> 15u;
    h = h * 0x2c1b3c6du;
    return (h ^ (h >> 13u)) & frame.map_mask;
}

fn set_map_bit(bit: u32) { atomicOr(&work[frame.at_threat_map + (bit >> 5u)], 1u << (bit & 31u)); }
fn has_map_bit(bit: u32) -> bool { return (atomicLoad(&work[frame.at_threat_map + (bit >> 5u)]) & (1u << (bit & 31u))) != 0u; }

// The word behind the bits of the coarse cells: the levels of all threats, and whether any reaches too far for the map.
fn place_of_levels() -> u32 { return frame.at_threat_map + ((frame.map_mask + 1u) >> 5u); }
const EVERYWHERE: u32 = 1u << MAP_LEVELS;

// The cell of a place, moved back with the drift from `time` to the start of the substep; not wrapped.
fn cell_at_start(cell: vec3i, offset: vec3f, time: f32) -> vec3i {
    let most = vec3f(67108864.0);
    return cell + vec3i(clamp(floor((offset - frame.drift * time) / frame.edge), -most, most));
}

fn wrapped_along(axis: u32, cell: i32) -> i32 {
    if !is_periodic(axis) { return cell; }
    return modulo(cell, cell_count(axis));
}

// Cells along an axis, `reach` to both sides of `middle`, at distances of `width`, and the last one. Where they pass the end of a period,
// whose last coarse cell may be narrower, also the last and the first cell of the period.
struct Samples {
    axis: u32,
    low: i32,
    high: i32,
    width: i32,
    regular: i32,
    count: i32,
}

fn samples(axis: u32, middle: i32, reach: i32, width: i32) -> Samples {
    let low = middle - reach;
    let high = middle + reach;
    let regular = (high - low) / width + 2;
    let passes_end = is_periodic(axis) && (low < 0 || high >= cell_count(axis));
    return Samples(axis, low, high, width, regular, regular + select(0, 2, passes_end));
}

fn sample(s: Samples, k: i32) -> i32 {
    let cell = wrapped_along(s.axis, min(s.low + k * s.width, s.high));
    return select(select(0, cell_count(s.axis) - 1, k == s.regular), cell, k < s.regular);
}

// Sets the bits of all coarse cells with spheres that a threat may strike. A sphere whose path exceeds the motion margin is fast, so its
// impact is a threat itself and marks its own place.
fn mark_reach(threat: Threat) {
    // A little more than the substep, because `verify` shifts impacts at its end. The radii are those of `is_threatened`.
    let reach = 3.0 * threat.radius + threat.speed * (1.01 * frame.h - threat.time) + frame.motion_margin + frame.radius_max;
    let middle = cell_at_start(threat.cell, threat.offset, threat.time);
    // One cell more for the rounding of places.
    let cells = vec3i(clamp(ceil(vec3f(reach) / frame.edge), vec3f(0.0), vec3f(1e6))) + vec3i(1);
    var level = 0u;
    while level < MAP_LEVELS && any(cells > vec3i(2 << map_shift(level))) { level += 1u; }
    atomicOr(&work[place_of_levels()], 1u << level);
    if level == MAP_LEVELS { return; }
    let width = 1 << map_shift(level);
    let xs = samples(0u, middle.x, cells.x, width);
    let ys = samples(1u, middle.y, cells.y, width);
    let zs = samples(2u, middle.z, cells.z, width);
    for (var z = 0; z < zs.count; z++) {
        for (var y = 0; y < ys.count; y++) {
            for (var x = 0; x < xs.count; x++) {
                set_map_bit(map_bit(level, vec3i(sample(xs, x), sample(ys, y), sample(zs, z))));
            }
        }
    }
}

// Whether no threat can strike sphere i before `limit`, by the map alone.
fn is_spared(i: u32, limit: f32) -> bool {
    var levels = atomicLoad(&work[place_of_levels()]);
    if (levels & EVERYWHERE) != 0u { return false; }
    let there = cell_at_start(tags[i].cell, offset_at(i, limit), limit);
    let cell = vec3i(wrapped_along(0u, there.x), wrapped_along(1u, there.y), wrapped_along(2u, there.z));
    while levels != 0u {
        if has_map_bit(map_bit(firstTrailingBit(levels), cell)) { return false; }
        levels &= levels - 1u;
    }
    return true;
}
