// Order of the cells for the solver of contact constraints: blocks of cells in eight colours, and the cells of a block in 27
// inner colours. order_constraints.wgsl orders the constraints of a block by it. Twin: src/cpu/blocks.rs, which gives the reasons.
// The first sphere of a cell represents the cell.

// Hidden from lavapipe, as the uniforms of layout.wgsl that alone decide a branch.
fn block_count(axis: u32) -> i32 { return frame.block_count[axis] + i32(opaque_zero); }

// Along one axis: the block of a cell, and the cell's position in the block modulo 3.
fn block_of(axis: u32, cell: i32) -> vec2i {
    let edge = frame.block_edge[axis];
    let blocks = block_count(axis);
    // The first blocks of a period may have one cell more.
    var wide = 0;
    if blocks > 0 { wide = max(frame.count[axis] - edge * blocks, 0); }
    if wide > 0 && cell < wide * (edge + 1) { return vec2i(cell / (edge + 1), cell % (edge + 1) % 3); }
    let rest = cell - wide;
    // Rounded down, also below 0.
    var block = (rest - modulo(rest, edge)) / edge;
    if blocks > 0 { block = min(block, blocks - 1); }
    return vec2i(block, (rest - block * edge) % 3);
}

// First cell of a block along one axis.
fn block_start(axis: u32, block: i32) -> i32 {
    let edge = frame.block_edge[axis];
    let blocks = block_count(axis);
    var wide = 0;
    if blocks > 0 { wide = max(frame.count[axis] - edge * blocks, 0); }
    return block * edge + clamp(block, 0, wide);
}

// Number of a block: by its colour, then its slot.
fn number_of(block: vec3i) -> u32 {
    let colour = u32(modulo(block.z, 2) * 4 + modulo(block.y, 2) * 2 + modulo(block.x, 2));
    var slot = 0u;
    if is_direct() {
        let half = (frame.block_count + vec3i(1)) / 2;
        slot = u32(((block.z / 2) * half.y + block.y / 2) * half.x + block.x / 2);
    } else {
        // Blocks that share a slot cannot touch each other, like all blocks of one colour.
        slot = (row_of(block.y, block.z) ^ (u32(block.x) * 0x27d4eb2fu)) & (frame.slots - 1u);
    }
    return colour * frame.slots + slot;
}

fn number_of_block(cell: vec3i) -> u32 {
    return number_of(vec3i(block_of(0u, cell.x).x, block_of(1u, cell.y).x, block_of(2u, cell.z).x));
}

// Sort key of a cell: by the colour of its block, the block, and the colour of the cell.
fn key_of(cell: vec3i) -> u32 {
    let inner = 9 * block_of(2u, cell.z).y + 3 * block_of(1u, cell.y).y + block_of(0u, cell.x).y;
    return number_of_block(cell) * INNER_COLOURS + u32(inner);
}

// Spheres of the bucket of a cell.
fn bucket_range(cell: vec3i) -> vec2u {
    let bucket = frame.at_starts + bucket_of(row_of(cell.y, cell.z), cell.x);
    return vec2u(atomicLoad(&work[bucket]), atomicLoad(&work[bucket + frame.parts]));
}

// Whether the sphere represents its cell: a bucket may hold several cells, in no order.
fn is_first_of_cell(i: u32, first: u32) -> bool {
    for (var k = first; k < i; k++) {
        if all(tags[k].cell == tags[i].cell) { return false; }
    }
    return true;
}

@compute @workgroup_size(GROUP)
fn rest_count(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    begin(groups);
    if is_halted() { return; }
    for (var i = id.x; i < frame.sphere_count; i += groups.x * GROUP) {
        let cell = tags[i].cell;
        if is_first_of_cell(i, bucket_range(cell).x) { atomicAdd(&work[frame.at_slot_cursors + key_of(cell)], 1u); }
    }
    check_loops();
}

@compute @workgroup_size(GROUP)
fn rest_place(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    begin(groups);
    if is_halted() { return; }
    for (var i = id.x; i < frame.sphere_count; i += groups.x * GROUP) {
        let cell = tags[i].cell;
        let bucket = bucket_range(cell);
        if !is_first_of_cell(i, bucket.x) { continue; }
        let place = frame.at_order + 2u * atomicAdd(&work[frame.at_slot_cursors + key_of(cell)], 1u);
        atomicStore(&work[place], i);
        atomicStore(&work[place + 1u], bucket.y);
    }
    check_loops();
}
