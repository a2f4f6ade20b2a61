// Stage 1: cell and bucket of every sphere, and how many spheres each bucket holds. Twin: src/cpu/bin.rs.

// Moves whole cells from the offset to the cell, wraps periodic axes and holds the others inside the grid.
fn settle_axis(axis: u32, cell: ptr<function, vec3i>, offset: ptr<function, vec3f>) {
    let edge = frame.edge[axis];
    let x = (*offset)[axis];
    if x >= 0.0 && x < edge { return; }
    var moved = floor(x / edge);
    let last = cell_count(axis) - 1;
    let c = (*cell)[axis];
    if !is_periodic(axis) {
        let low = select(-FARTHEST, 0, last >= 0);
        let high = select(FARTHEST, last, last >= 0);
        moved = clamp(moved, f32(low - c), f32(high - c));
    }
    (*offset)[axis] = x - moved * edge;
    // What is beyond FARTHEST, or not finite, is held there: the conversion is defined for it on every device.
    var settled = c + i32(clamp(moved, -2.0 * f32(FARTHEST), 2.0 * f32(FARTHEST)));
    if is_periodic(axis) { settled = modulo(settled, cell_count(axis)); }
    (*cell)[axis] = settled;
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
        // Most have not left their cell.
        if any(offset != source_bodies[i].offset) || any(cell != source_tags[i].cell) {
            source_tags[i].cell = cell;
            source_bodies[i].offset = offset;
        }
        let key = min(bucket_of(row_of(cell.y, cell.z), cell.x), frame.buckets - 1u);
        // The list of pending spheres is free until the sweep.
        atomicStore(&work[frame.at_pending + i], key);
        atomicAdd(&work[frame.at_counts + key], 1u);
    }
    check_loops();
}
