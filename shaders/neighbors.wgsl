// Stage `neighbors`: the candidates of every sphere, which are all spheres that it could meet before the next broad phase
// while both stay within their motion margins. Twin: src/cpu/neighbors.rs.

// Number of entries of the spheres of a workgroup, and the index of the first.
var<workgroup> entries_of_group: atomic<u32>;
var<workgroup> first_entry: u32;

// The buffer has no space for the entries.
const NO_ROOM: u32 = 0xffffffffu;

// Candidates that one pass of the search keeps; longer lists take several passes.
const KEPT: u32 = 32u;

var<private> kept: array<u32, KEPT>;

struct Finder {
    i: u32,
    cell: vec3i,
    offset: vec3f,
    radius: f32,
    fixed: bool,
    // Number of candidates found, and the first one that this pass keeps.
    found: u32,
    first: u32,
    // Bit k: kept[k] still needs the exact distance test.
    unclear: u32,
    // Every candidate gets the exact distance test at once.
    close: bool,
    // Index and length of the list that this pass writes; length 0: the pass keeps its candidates instead.
    list: u32,
    room: u32,
}

fn starts(bucket: u32) -> u32 { return atomicLoad(&work[frame.at_starts + bucket]); }

// Whether the sphere's surface is near enough to that of j, in an image `shift` away.
fn is_near(finder: ptr<function, Finder>, j: u32, shift: vec3f) -> bool {
    let d = ((*finder).offset - bodies[j].offset) - shift;
    let near = ((*finder).radius + bodies[j].radius) + 2.0 * frame.motion_margin;
    return dot(d, d) <= near * near;
}

// Whether j is a candidate, by the exact distance. Two fixed spheres are never candidates.
fn is_candidate(finder: ptr<function, Finder>, j: u32, shift: vec3f) -> bool {
    return is_near(finder, j, shift) && !((*finder).fixed && bodies[j].inverse_mass == 0.0);
}

// Inserts a candidate at its place; a pass keeps only the candidates of its window.
fn found(finder: ptr<function, Finder>, entry: u32, clear: bool) {
    let k = (*finder).found - (*finder).first;
    if (IS_MIXED || !IS_DIRECT) && (*finder).found < (*finder).room { lists[(*finder).list + (*finder).found] = entry; }
    if k < KEPT {
        kept[k] = entry;
        (*finder).unclear |= select(1u << k, 0u, clear);
    }
    (*finder).found += 1u;
}

// Spheres start..end of a row of up to three cells around the cell (0, dy, dz) away; spheres that wrap along x all lie in
// the cell `wrapped`. One word gives each position in its cell to a thousandth of the edge; the few undecided spheres get the
// exact distance test later.
fn search_row(finder: ptr<function, Finder>, start: u32, end: u32, dy: i32, dz: i32, wrapped: i32) {
    let step = frame.edge * (1.0 / 1024.0);
    let base = (*finder).offset - cells_shift(vec3i(0, dy, dz)) - 0.5 * step;
    let x_edge = frame.edge.x;
    // Half the diagonal of the word's resolution, and a little for rounding.
    let open = 0.5 * length(step) + 1e-5 * (x_edge + frame.edge.y + frame.edge.z);
    let surely_not = (*finder).radius + frame.radius_max + 2.0 * frame.motion_margin + open;
    let surely = max((*finder).radius + frame.radius_min + 2.0 * frame.motion_margin - open, 0.0);
    let own_x = u32((*finder).cell.x) - 1u;
    let code = u32(9 * dz + 3 * dy + 13);
    for (var j = start; j < end; j++) {
        let word = lists[frame.at_rough_places + j];
        let outside = word >= OUTSIDE;
        // -1, 0, 1 for the left, the middle and the right cell.
        let side = select(i32((word - own_x) & 3u) - 1, wrapped, wrapped != 0);
        let place = vec3f(f32((word >> 2u) & 1023u), f32((word >> 12u) & 1023u), f32(word >> 22u));
        let d = base - place * step - vec3f(f32(side) * x_edge, 0.0, 0.0);
        let square = dot(d, d);
        if (square <= surely_not * surely_not || outside) && j != (*finder).i {
            found(finder, ((code + u32(side)) << CODE_SHIFT) | j, square <= surely * surely && !outside);
        }
    }
}

// A cell of a hashed grid, (dx, dy, dz) away: its bucket may hold spheres of other cells.
fn search_cell(finder: ptr<function, Finder>, bucket: u32, cell: vec3i, away: vec3i) {
    let code = u32(9 * away.z + 3 * away.y + away.x + 13);
    let shift = cells_shift(away);
    let end = starts(bucket + 1u);
    for (var j = starts(bucket); j < end; j++) {
        if all(tags[j].cell == cell) && j != (*finder).i && is_candidate(finder, j, shift) {
            found(finder, (code << CODE_SHIFT) | j, true);
        }
    }
}

// Range of parts along one axis, both ends included, that holds all centres of a level within reach.
fn span(offset: f32, reach: f32, scale: f32, parts: i32) -> vec2i {
    let most = f32(parts);
    // A sphere outside the grid lies in the outermost part of an outermost cell.
    let low = clamp(floor((offset - reach) * scale), -most, most - 1.0);
    let high = clamp(floor((offset + reach) * scale), 0.0, 2.0 * most - 1.0);
    return vec2i(i32(low), i32(high));
}

// Distance of an offset from a part along an axis; from the nearest face of the cell if the offset is outside the cell.
fn gap_to(offset: f32, part: i32, scale: f32, parts: i32) -> f32 {
    let at = clamp(offset * scale, 0.0, f32(parts));
    return max(max(f32(part) - at, at - f32(part + 1)), 0.0) / scale;
}

// Number of cells between the sphere's cell and a part.
fn cells_to(part: i32, parts: i32) -> i32 { return i32(part >= parts) - i32(part < 0); }

// Spheres start..end of one cell, `away` from the finder's.
fn search_part(finder: ptr<function, Finder>, start: u32, end: u32, cell: vec3i, away: vec3i) {
    let code = u32(9 * away.z + 3 * away.y + away.x + 13);
    let shift = cells_shift(away);
    for (var j = start; j < end; j++) {
        if !IS_DIRECT && any(tags[j].cell != cell) { continue; }
        if j != (*finder).i && is_candidate(finder, j, shift) { found(finder, (code << CODE_SHIFT) | j, true); }
    }
}

// With divided cells: the parts of a level within reach. Twin: src/cpu/neighbors/parts.rs.
fn search_level(finder: ptr<function, Finder>, level: vec4u) {
    let home = (*finder).cell;
    let offset = (*finder).offset;
    let parts = level_parts(level.x);
    let scale = frame.per_edge * vec3f(parts);
    let reach = ((*finder).radius + bitcast<f32>(level.z) + 2.0 * frame.motion_margin) * (1.0 + REACH_HAIR);
    let spans_z = span(offset.z, reach, scale.z, parts.z);
    for (var part_z = spans_z.x; part_z <= spans_z.y; part_z++) {
        let dz = cells_to(part_z, parts.z);
        let z = wrap_next(2u, home.z + dz);
        if !z.inside { continue; }
        let gap_z = gap_to(offset.z, part_z, scale.z, parts.z);
        let within_z = max(reach * reach - gap_z * gap_z, 0.0);
        let spans_y = span(offset.y, sqrt(within_z), scale.y, parts.y);
        for (var part_y = spans_y.x; part_y <= spans_y.y; part_y++) {
            let dy = cells_to(part_y, parts.y);
            let y = wrap_next(1u, home.y + dy);
            if !y.inside { continue; }
            let gap_y = gap_to(offset.y, part_y, scale.y, parts.y);
            let spans_x = span(offset.x, sqrt(max(within_z - gap_y * gap_y, 0.0)), scale.x, parts.x);
            let row = row_of(y.cell, z.cell);
            let before = i32(level.y) + ((part_z - dz * parts.z) * parts.y + part_y - dy * parts.y) * parts.x;
            for (var dx = cells_to(spans_x.x, parts.x); dx <= cells_to(spans_x.y, parts.x); dx++) {
                let x = wrap_next(0u, home.x + dx);
                if !x.inside { continue; }
                let first = bucket_of(row, x.cell) + u32(before);
                let low = u32(max(spans_x.x - dx * parts.x, 0));
                let high = u32(min(spans_x.y - dx * parts.x, parts.x - 1));
                let cell = vec3i(x.cell, y.cell, z.cell);
                search_part(finder, starts(first + low), starts(first + high + 1u), cell, vec3i(dx, dy, dz));
            }
        }
    }
}

// Whether cells are divided at all.
fn has_parts() -> bool { return (frame.parts | opaque_zero) > 1u; }

fn search_parts(finder: ptr<function, Finder>) {
    for (var k = 0u; k < MOST_LEVELS; k++) {
        if frame.levels[k].x == opaque_zero { break; }
        search_level(finder, frame.levels[k]);
    }
}

fn search(finder: ptr<function, Finder>) {
    if IS_MIXED && has_parts() {
        search_parts(finder);
        return;
    }
    let cell = (*finder).cell;
    let o = (*finder).offset;
    let farthest = ((*finder).radius + frame.radius_max + 2.0 * frame.motion_margin) * (1.0 + 1e-4);
    let last = cell_count(0u) - 1;
    for (var constraint_number = 0; constraint_number < 9; constraint_number++) {
        let dz = constraint_number / 3 - 1;
        let dy = constraint_number % 3 - 1;
        let z = wrap_next(2u, cell.z + dz);
        let y = wrap_next(1u, cell.y + dy);
        // Distance of the sphere from the cells of the row; a corner is often out of reach.
        let gap_y = select(select(0.0, max(o.y, 0.0), dy < 0), max(frame.edge.y - o.y, 0.0), dy > 0);
        let gap_z = select(select(0.0, max(o.z, 0.0), dz < 0), max(frame.edge.z - o.z, 0.0), dz > 0);
        // Square of the reach along x within the row.
        let along = farthest * farthest - (gap_y * gap_y + gap_z * gap_z);
        if !z.inside || !y.inside || along < 0.0 || abs(dz) > frame.layers { continue; }
        let row = row_of(y.cell, z.cell);
        if IS_DIRECT {
            let to_left = max(o.x, 0.0);
            let to_right = max(frame.edge.x - o.x, 0.0);
            let left = to_left * to_left <= along;
            let right = to_right * to_right <= along;
            // If x wraps, a row has one or two more parts at its other end: the left one first, then the right one.
            let wraps_left = left && cell.x == 0 && is_periodic(0u);
            let wraps_right = right && cell.x == last && is_periodic(0u);
            let parts = 1 + i32(wraps_left) + i32(wraps_right);
            for (var part = 0; part < parts; part++) {
                var wrapped = 0;
                if part > 0 { wrapped = select(1, -1, part == 1 && wraps_left); }
                var low = cell.x - i32(left && cell.x > 0);
                var high = cell.x + i32(right && cell.x < last);
                if wrapped != 0 {
                    low = select(0, last, wrapped < 0);
                    high = low;
                }
                search_row(finder, starts(bucket_of(row, low)), starts(bucket_of(row, high) + 1u), dy, dz, wrapped);
            }
        } else {
            for (var dx = -1; dx <= 1; dx++) {
                let x = wrap_next(0u, cell.x + dx);
                if x.inside {
                    search_cell(finder, bucket_of(row, x.cell), vec3i(x.cell, y.cell, z.cell), vec3i(dx, dy, dz));
                }
            }
        }
    }
}

// Applies the exact distance test to undecided candidates and keeps the candidates of this pass in order. Returns their number.
fn settle_unclear(finder: ptr<function, Finder>) -> u32 {
    let all_kept = min((*finder).found - (*finder).first, KEPT);
    var unclear = (*finder).unclear;
    if (*finder).fixed && !(*finder).close { unclear = 0xffffffffu; }
    if unclear == 0u { return all_kept; }
    var left = 0u;
    for (var k = 0u; k < all_kept; k++) {
        let entry = kept[k];
        let j = entry & INDEX_MASK;
        var is_in = true;
        if ((unclear >> k) & 1u) != 0u {
            is_in = is_candidate(finder, j, cells_shift(code_cells(entry >> CODE_SHIFT)));
        }
        if is_in {
            kept[left] = entry;
            left += 1u;
        }
    }
    return left;
}

// One pass of the search: keeps candidates from number `first` on. Returns the number of candidates kept.
fn pass_from(finder: ptr<function, Finder>, first: u32) -> u32 {
    (*finder).found = 0u;
    (*finder).first = first;
    (*finder).unclear = 0u;
    search(finder);
    return settle_unclear(finder);
}

fn walls_in_reach(i: u32) -> u32 {
    var reached = 0u;
    let path = frame.motion_margin + frame.drift_reach;
    for (var plane = 0u; HAS_WALLS && plane < wall_count(); plane++) {
        let wall = frame.at_motion + WALL_ROWS * plane;
        let normal = world_row(wall).xyz;
        let cells = tags[i].cell - bitcast<vec3i>(world[wall + 1u].xyz);
        let to = cells_shift(cells) + (bodies[i].offset - world_row(wall + 2u).xyz);
        let gap = dot(normal, to) - bodies[i].radius;
        if gap <= path * 1.001 + frame.slop { reached |= 1u << min(plane, 31u); }
    }
    return reached;
}

// Whether one of these planes moves.
fn any_moves(planes: u32) -> u32 {
    for (var plane = 0u; planes != 0u && plane < wall_count(); plane++) {
        let mover = world[frame.at_motion + WALL_ROWS * plane + 3u].x;
        if mover != 0u && (planes & (1u << min(plane, 31u))) != 0u { return WALL_MOVES; }
    }
    return 0u;
}

// Number of wall features that sphere i may reach on its path, with WALL_MOVES if any of them moves. Stores the features from
// index `at` on, unless `at` is NO_ROOM.
fn features_in_reach(i: u32, at: u32) -> u32 {
    let body = bodies[i];
    if body.inverse_mass == 0.0 { return 0u; }
    // A thousandth more, as for planes.
    let reach = body.radius + (frame.motion_margin + frame.drift_reach) * 1.001 + frame.slop;
    let now = Instant(tags[i].cell, body.offset, vec3f(0.0), body.radius, 0.0);
    var seeker = seek(now.cell, now.offset, now.offset, vec2f(0.0), reach, 0.0);
    var count = 0u;
    var driven = 0u;
    while seek_next(&seeker) {
        let p = feature_at(seeker.found);
        if near_of(p, sight_of(p, now, vec3f(0.0)).x).distance > reach { continue; }
        if at != NO_ROOM { lists[at + count] = seeker.found; }
        count += 1u;
        driven |= select(0u, WALL_MOVES, p.mover != 0u);
    }
    return count | driven;
}

fn finder_of(i: u32) -> Finder {
    let body = bodies[i];
    let close = !IS_DIRECT || (IS_MIXED && has_parts());
    return Finder(i, tags[i].cell, body.offset, body.radius, body.inverse_mass == 0.0, 0u, 0u, 0u, close, 0u, 0u);
}

// One pass nearly always suffices.
fn count_of(finder: ptr<function, Finder>) -> u32 {
    var count = 0u;
    for (var first = 0u; first == 0u || first < (*finder).found; first += KEPT) {
        count += pass_from(finder, first);
        if (*finder).close { return (*finder).found; }
    }
    return count;
}

// Each workgroup takes blocks of GROUP spheres; the entries of a block are contiguous, in any order of its spheres.
@compute @workgroup_size(GROUP)
fn neighbors(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    begin(groups);
    let blocks = (frame.sphere_count + GROUP - 1u) / GROUP;
    for (var block = group.x; block < blocks; block += groups.x) {
        let i = block * GROUP + lane;
        let alive = i < frame.sphere_count && !is_halted();
        if lane == 0u { atomicStore(&entries_of_group, 0u); }
        workgroupBarrier();
        var count = 0u;
        var found = 0u;
        var features = 0u;
        if alive {
            var finder = finder_of(i);
            let walls = walls_in_reach(i);
            lists[frame.at_walls + i] = walls;
            count = count_of(&finder);
            found = finder.found;
            if HAS_SHAPES { features = features_in_reach(i, NO_ROOM) | any_moves(walls); }
        }
        let feature_count = features & ~WALL_MOVES;
        let before = atomicAdd(&entries_of_group, count + feature_count);
        workgroupBarrier();
        if lane == 0u {
            let total = atomicLoad(&entries_of_group);
            first_entry = atomicAdd(&work[CANDIDATE_COUNT], total);
            if first_entry + total > frame.entry_capacity {
                // The count continues to the end, so that the host learns the required capacity.
                overflow(CANDIDATES_NEEDED, first_entry + total);
                first_entry = NO_ROOM;
            }
        }
        workgroupBarrier();
        if alive && first_entry != NO_ROOM {
            let at = frame.at_entries + first_entry + before;
            lists[2u * i] = at;
            lists[2u * i + 1u] = at + count;
            if HAS_SHAPES {
                lists[frame.at_feature_ends + i] = (at + count + feature_count) | (features & WALL_MOVES);
                if feature_count > 0u { _ = features_in_reach(i, at + count); }
            }
            if found <= KEPT {
                for (var k = 0u; k < count; k++) { lists[at + k] = kept[k]; }
            } else {
                atomicStore(&work[frame.at_near + atomicAdd(&work[LONG_COUNT], 1u)], i);
            }
        }
    }
    check_loops();
}

// The lists that need several passes.
@compute @workgroup_size(GROUP)
fn neighbors_long(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    begin(groups);
    if is_halted() { return; }
    let long = atomicLoad(&work[LONG_COUNT]);
    for (var slot = id.x; slot < long; slot += groups.x * GROUP) {
        let i = atomicLoad(&work[frame.at_near + slot]);
        let at = lists[2u * i];
        let count = lists[2u * i + 1u] - at;
        var finder = finder_of(i);
        // If a compiler rounds the two searches differently, this bound still prevents writes past the list.
        if finder.close {
            finder.list = at;
            finder.room = count;
            _ = pass_from(&finder, 0u);
            continue;
        }
        var done = 0u;
        for (var first = 0u; done < count; first += KEPT) {
            let more = min(pass_from(&finder, first), count - done);
            for (var k = 0u; k < more; k++) { lists[at + done + k] = kept[k]; }
            done += more;
            if first >= finder.found { break; }
        }
    }
    check_loops();
}
