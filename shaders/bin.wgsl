// Stage `bin`: cell and bucket of every sphere, and the number of spheres in each bucket. Twin: src/cpu/bin.rs.

// Moves whole cells from the offset to the cell, wraps on periodic axes and clamps to the grid on the others.
fn settle_axis(axis: u32, cell: ptr<function, vec3i>, offset: ptr<function, vec3f>) {
    let edge = frame.edge[axis];
    let x = (*offset)[axis];
    if x >= 0.0 && x < edge { return; }
    let whole = floor(x / edge);
    let last = cell_count(axis) - 1;
    let c = (*cell)[axis];
    var low = -BEYOND;
    var high = BEYOND;
    if !is_periodic(axis) {
        low = f32(select(-FARTHEST, 0, last >= 0) - c);
        high = f32(select(FARTHEST, last, last >= 0) - c);
    }
    var moved = clamp(whole, low, high);
    var inside = x - moved * edge;
    // Rounding may leave the offset just outside the cell. A repeated step must not change a settled cell.
    if moved == whole {
        // The comparison is false for NaN, which `audit` counts later.
        if inside < 0.0 { inside = 0.0; }
        if inside >= edge && moved < high {
            inside = 0.0;
            moved += 1.0;
        }
    }
    (*offset)[axis] = inside;
    // Clamped to FARTHEST, because devices define the conversion to an integer only within its range.
    var settled = c + i32(clamp(moved, -2.0 * f32(FARTHEST), 2.0 * f32(FARTHEST)));
    if is_periodic(axis) { settled = modulo(settled, cell_count(axis)); }
    (*cell)[axis] = settled;
}

// Index of the part of its cell in which a sphere lies.
fn part_of(offset: vec3f, radius: f32) -> u32 {
    var k = 0u;
    for (var finer = 1u; finer < MOST_LEVELS; finer++) {
        let level = frame.levels[finer];
        k = select(k, finer, level.x != 0u && radius <= bitcast<f32>(level.z));
    }
    let level = frame.levels[k];
    let parts = level_parts(level.x);
    // A sphere outside the grid lies in the outermost part of an outermost cell.
    let at = vec3u(clamp(floor(offset * (frame.per_edge * vec3f(parts))), vec3f(0.0), vec3f(parts - 1)));
    return level.y + (at.z * level.x + at.y) * level.x + at.x;
}

@compute @workgroup_size(GROUP)
fn bin(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    begin(groups);
    if is_halted() { return; }
    for (var i = id.x; i < frame.sphere_count; i += groups.x * GROUP) {
        var cell = source_tags[i].cell;
        var offset = source_bodies[i].offset;
        settle_axis(0u, &cell, &offset);
        settle_axis(1u, &cell, &offset);
        settle_axis(2u, &cell, &offset);
        // Most spheres have not left their cell.
        if any(offset != source_bodies[i].offset) || any(cell != source_tags[i].cell) {
            source_tags[i].cell = cell;
            source_bodies[i].offset = offset;
        }
        var key = bucket_of(row_of(cell.y, cell.z), cell.x);
        if IS_MIXED { key += part_of(offset, source_bodies[i].radius); }
        key = min(key, frame.buckets - 1u);
        // Buckets are stored in the list of pending spheres, which is unused until the sweep.
        atomicStore(&work[frame.at_pending + i], key);
        atomicAdd(&work[frame.at_counts + key], 1u);
    }
    check_loops();
}
