// The table of threats: each threat is listed at its coarse cell, so that an impact is tested with those near it only. Both impacts and
// threats grow with the number of spheres. The table is empty at the start of a substep, and `sweep_touched` empties it at the end of a
// round. The tail, which has few of both, does without. src/cpu/threats.rs has a table of its own.

// The coarse cells of a level have 4, 8, 16 up to 512 cells along an edge, at least twice the reach of the threats listed there.
const TABLE_LEVELS: u32 = 8u;

fn width_of(level: u32) -> i32 { return 4 << level; }

// Place of the word with the first threat of a coarse cell, plus 1; several coarse cells may share a list. Threats of longer reach have a
// list of their own.
fn place_of_list(level: u32, cell: vec3i) -> u32 {
    if level == TABLE_LEVELS { return frame.at_threat_lists + frame.threat_mask + 1u; }
    let c = bitcast<vec3u>(cell >> vec3u(2u + level));
    var h = (c.x * 0x9e3779b1u) ^ (c.y * 0x85ebca77u) ^ (c.z * 0xc2b2ae3du) ^ (level * 0x27d4eb2fu);
    h ^= h >> 15u;
    h = h * 0x2c1b3c6du;
    return frame.at_threat_lists + ((h ^ (h >> 13u)) & frame.threat_mask);
}

// Place of the word with a bit for each level at which any threat is listed.
fn place_of_levels() -> u32 { return frame.at_threat_lists + frame.threat_mask + 2u; }

// The cell of a place, moved back with the drift from `time` to the start of the substep; not wrapped.
fn cell_at_start(cell: vec3i, offset: vec3f, time: f32) -> vec3i {
    let most = vec3f(67108864.0);
    return cell + vec3i(clamp(floor((offset - frame.drift * time) / frame.edge), -most, most));
}

// Lists a threat, which is in its slot already.
fn enter_threat(slot: u32, threat: Threat) {
    // A little more than the substep, because `verify` shifts impacts at its end. The radii are those of `strikes`.
    let reach = 3.0 * threat.radius + threat.speed * (1.01 * frame.h - threat.time) + frame.motion_margin + frame.radius_max;
    // One cell more for the rounding of places.
    let cells = vec3i(clamp(ceil(vec3f(reach) / frame.edge), vec3f(0.0), vec3f(1e6))) + vec3i(1);
    var level = 0u;
    while level < TABLE_LEVELS && any(2 * cells > vec3i(width_of(level))) { level += 1u; }
    let there = cell_at_start(threat.cell, threat.offset, threat.time);
    let cell = vec3i(wrap_axis(0u, there.x).cell, wrap_axis(1u, there.y).cell, wrap_axis(2u, there.z).cell);
    let next_threat = atomicExchange(&work[place_of_list(level, cell)], slot + 1u);
    pool[frame.at_threats + slot * THREAT_WORDS + NEXT_THREAT] = next_threat;
    atomicOr(&work[place_of_levels()], 1u << level);
}

// Cells to look at along an axis. Coarse cells are `2 * reach` wide, so an interval of `reach` to both sides of a cell touches two of them at
// most: those of its ends. If it passes the end of a period, the last coarse cell may be narrower, so the last cell of the period is a
// third sample.
struct Samples {
    axis: u32,
    low: i32,
    reach: i32,
    count: i32,
}

fn samples(axis: u32, middle: i32, reach: i32) -> Samples {
    let low = middle - reach;
    let passes_end = is_periodic(axis) && (low < 0 || middle + reach >= cell_count(axis));
    return Samples(axis, low, reach, select(2, 3, passes_end));
}

fn sample(s: Samples, k: i32) -> i32 {
    if k > 1 { return cell_count(s.axis) - 1; }
    return wrap_axis(s.axis, s.low + 2 * k * s.reach).cell;
}

// As `is_threatened`, with the table. The reach of a listed threat includes the motion margin, for the path of sphere i. A sphere with a longer
// path is tested with all threats.
fn is_threatened_near(i: u32, limit: f32) -> bool {
    let threats = min(counter(THREATS), frame.threat_capacity);
    if threats == 0u { return false; }
    let target_sphere = target_of(i, limit);
    let looks_at_all = target_sphere.speed * limit > frame.motion_margin;
    var levels = select(atomicLoad(&work[place_of_levels()]), 1u, looks_at_all);
    let middle = cell_at_start(tags[i].cell, target_sphere.place, limit);
    var is_struck = false;
    while levels != 0u && !is_struck {
        let level = firstTrailingBit(levels);
        levels &= levels - 1u;
        let reach = width_of(level) / 2;
        let xs = samples(0u, middle.x, reach);
        let ys = samples(1u, middle.y, reach);
        let zs = samples(2u, middle.z, reach);
        // Threats of longer reach are in one list.
        let count = select(xs.count * ys.count * zs.count, 1, level == TABLE_LEVELS || looks_at_all);
        for (var k = 0; k < count && !is_struck; k++) {
            let cell = vec3i(sample(xs, k % xs.count), sample(ys, k / xs.count % ys.count), sample(zs, k / (xs.count * ys.count)));
            var threat = select(atomicLoad(&work[place_of_list(level, cell)]), threats, looks_at_all);
            while threat != 0u && !is_struck {
                let at = frame.at_threats + (threat - 1u) * THREAT_WORDS;
                is_struck = strikes(at, target_sphere);
                threat = select(pool[at + NEXT_THREAT], threat - 1u, looks_at_all);
            }
        }
    }
    return is_struck;
}
