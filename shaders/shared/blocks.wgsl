// In which order rows are solved: blocks of cells in eight colours, and inside a block cells in 27 colours of their own.
// Twin: src/cpu/blocks.rs, which says why. Spheres of a cell follow each other; the first of them stands for the cell.

// Along one axis: the block of a cell, and its place there modulo 3.
fn block_of(axis: u32, cell: i32) -> vec2i {
    let edge = frame.block_edge[axis];
    let blocks = frame.block_count[axis];
    // Rounded down, also below 0.
    var block = (cell - modulo(cell, edge)) / edge;
    if blocks > 0 { block = min(block, blocks - 1); }
    return vec2i(block, (cell - block * edge) % 3);
}

// Where the cell is in the order: by the colour of its block, by the block, by its own colour.
fn key_of(cell: vec3i) -> u32 {
    let x = block_of(0u, cell.x);
    let y = block_of(1u, cell.y);
    let z = block_of(2u, cell.z);
    let colour = u32(modulo(z.x, 2) * 4 + modulo(y.x, 2) * 2 + modulo(x.x, 2));
    let inner = u32(9 * z.y + 3 * y.y + x.y);
    var slot = 0u;
    if is_direct() {
        let half = (frame.block_count + vec3i(1)) / 2;
        slot = u32(((z.x / 2) * half.y + y.x / 2) * half.x + x.x / 2);
    } else {
        // Blocks that share a slot are out of reach of each other, as all of their colour.
        slot = (row_of(y.x, z.x) ^ (u32(x.x) * 0x27d4eb2fu)) & (frame.slots - 1u);
    }
    return (colour * frame.slots + slot) * INNER_COLOURS + inner;
}

fn is_first_of_cell(i: u32) -> bool { return i == 0u || any(tags[i - 1u].cell != tags[i].cell); }

@compute @workgroup_size(GROUP)
fn rest_count(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    begin(groups);
    if is_halted() { return; }
    for (var i = id.x; i < frame.sphere_count; i += groups.x * GROUP) {
        if is_first_of_cell(i) { atomicAdd(&work[frame.at_slot_cursors + key_of(tags[i].cell)], 1u); }
    }
    check_loops();
}

@compute @workgroup_size(GROUP)
fn rest_place(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    begin(groups);
    if is_halted() { return; }
    for (var i = id.x; i < frame.sphere_count; i += groups.x * GROUP) {
        if !is_first_of_cell(i) { continue; }
        let cell = tags[i].cell;
        var end = i + 1u;
        while end < frame.sphere_count && all(tags[end].cell == cell) { end++; }
        let place = frame.at_order + 2u * atomicAdd(&work[frame.at_slot_cursors + key_of(cell)], 1u);
        atomicStore(&work[place], i);
        atomicStore(&work[place + 1u], end);
    }
    check_loops();
}
