// Wall loads: sums of forces, torques and work in units of 2^-64, independent of order. Twin: src/cpu/walls.rs.

// Adds to a sum of three words, the least significant first.
fn add_exactly(at: u32, x: f32) {
    if x == 0.0 { return; }
    let size = min(abs(x), 2e9);
    let whole = floor(size);
    // Scaling by powers of two is exact, so each part is the exact remainder of the one before.
    let parts = (size - whole) * 4294967296.0;
    let least = (parts - floor(parts)) * 4294967296.0;
    var words = vec3u(u32(least), u32(parts), u32(whole));
    if x < 0.0 {
        words = ~words;
        words.x += 1u;
        words.y += u32(words.x == 0u);
        words.z += u32(words.x == 0u && words.y == 0u);
    }
    let low = atomicAdd(&work[at], words.x);
    let in_contact = u32(low + words.x < low);
    let middle = words.y + in_contact;
    let before = atomicAdd(&work[at + 1u], middle);
    // At most one of the two overflows.
    let again = u32(middle < in_contact) + u32(before + middle < before);
    atomicAdd(&work[at + 2u], words.z + again);
}

// Books the impulse of a wall on a sphere and the angular impulse besides; the wall moves with `wall_velocity` and
// turns with `spin` at `point`, an offset in the cell.
fn feel_wall(wall: u32, push: vec3f, turn: vec3f, wall_velocity: vec3f, spin: vec3f, cell: vec3i, point: vec3f) {
    let site = frame.at_sites + SITE_ROWS * wall;
    let arm = cells_shift(cell - bitcast<vec3i>(world[site].xyz)) + (point - world_row(site + 1u).xyz);
    let twist = cross(arm, push) + turn;
    let at = frame.at_wall_loads + 3u + WALL_LOAD_WORDS * wall;
    for (var axis = 0u; axis < 3u; axis++) {
        add_exactly(at + 3u * axis, push[axis]);
        add_exactly(at + 9u + 3u * axis, twist[axis]);
    }
    if HAS_SHAPES { add_exactly(at + 18u, dot(push, wall_velocity) + dot(turn, spin)); }
}
