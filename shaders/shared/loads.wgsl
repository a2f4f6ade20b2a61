// What walls feel: sums of forces, torques and work, in parts of 2^-32, so that their order does not matter. Twin: src/cpu/walls.rs.

// Adds to a sum of two words.
fn add_exactly(at: u32, x: f32) {
    if x == 0.0 { return; }
    let size = min(abs(x), 2e9);
    let whole = floor(size);
    var low = u32((size - whole) * 4294967296.0);
    var high = u32(whole);
    if x < 0.0 {
        low = ~low + 1u;
        high = ~high + u32(low == 0u);
    }
    let before = atomicAdd(&work[at], low);
    atomicAdd(&work[at + 1u], high + u32(before + low < before));
}

// A push on a sphere of a wall that moves with `drive` and turns with `spin` there, and what turns the sphere besides; `point` is an
// offset in the cell.
fn feel_wall(wall: u32, push: vec3f, turn: vec3f, drive: vec3f, spin: vec3f, cell: vec3i, point: vec3f) {
    let site = frame.at_sites + SITE_ROWS * wall;
    let arm = cells_shift(cell - bitcast<vec3i>(world[site].xyz)) + (point - world[site + 1u].xyz);
    let twist = cross(arm, push) + turn;
    let at = frame.at_wall_loads + 2u + WALL_LOAD_WORDS * wall;
    for (var axis = 0u; axis < 3u; axis++) {
        add_exactly(at + 2u * axis, push[axis]);
        add_exactly(at + 6u + 2u * axis, twist[axis]);
    }
    if HAS_SHAPES { add_exactly(at + 12u, dot(push, drive) + dot(turn, spin)); }
}
