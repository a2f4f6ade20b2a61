// Stage `compress`: scales all positions with a box that shrinks. shaders/shared/push_apart.wgsl then pushes apart the spheres that
// overlap. Twin: src/cpu/compress.rs.

// Moves the position along an axis from the cells before to those after, with the box. The offset may lie outside the cell.
fn remap_axis(axis: u32, cell: ptr<function, vec3i>, offset: ptr<function, vec3f>) {
    let old = frame.old_count[axis] + i32(opaque_zero);
    let count = cell_count(axis);
    let scaled = (*offset)[axis] * frame.ratio[axis];
    if old == count {
        (*offset)[axis] = scaled;
        return;
    }
    // Whole cells are divided as integers, so that the precision is the same everywhere.
    let cells = (*cell)[axis] * count;
    let rest = (f32(cells % old) + scaled * frame.per_edge[axis] * f32(count)) / f32(old);
    let whole = floor(rest);
    (*cell)[axis] = modulo(cells / old + i32(whole), count);
    (*offset)[axis] = (rest - whole) * frame.edge[axis];
}

// Writes the spheres to the other copy in the same order.
@compute @workgroup_size(GROUP)
fn compress(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    begin(groups);
    if is_halted() { return; }
    for (var i = id.x; i < frame.sphere_count; i += groups.x * GROUP) {
        var body = source_bodies[i];
        var tag = source_tags[i];
        var cell = tag.cell;
        var offset = body.offset;
        for (var axis = 0u; axis < 3u; axis++) {
            if is_periodic(axis) { remap_axis(axis, &cell, &offset); }
        }
        body.offset = offset;
        tag.cell = cell;
        bodies[i] = body;
        tags[i] = tag;
    }
    check_loops();
}
