// Finds the spheres in the boxes of sinks and sources at the end of a step and copies them into the report. The boxes come
// from src/step/watch.rs, and src/gpu/watch.rs reads the copies. The host decides in f64, so a sphere near the surface of a
// box counts as inside.

// Least distance from the surface, in cell edges, and least distance relative to the lengths that are subtracted.
const NEAR_EDGES: f32 = 1e-3;
const NEAR_SHARE: f32 = 1e-6;

// Coordinate of a sphere's centre relative to a face of a box, and its uncertainty.
struct Height {
    value: f32,
    error: f32,
}

// `cells` moves the sphere to another image.
fn height_over(i: u32, axis: u32, cell: i32, offset: f32, cells: i32) -> Height {
    let edge = frame.edge[axis];
    let own = bodies[i].offset[axis];
    let shift = f32(tags[i].cell[axis] - cell + cells) * edge;
    return Height(shift + (own - offset), NEAR_EDGES * edge + NEAR_SHARE * (abs(shift) + abs(own)));
}

// Whether an image of a sphere is between the two faces of a box across an axis.
fn is_between(i: u32, axis: u32, number: u32, cells: i32) -> bool {
    let at = frame.at_watches + WATCH_ROWS * number;
    let low = height_over(i, axis, bitcast<vec4i>(world[at + 1u])[axis], world_row(at)[axis], cells);
    let high = height_over(i, axis, bitcast<vec4i>(world[at + 3u])[axis], world_row(at + 2u)[axis], cells);
    let reach = world_row(at).w * bodies[i].radius;
    return low.value >= -(reach + low.error) && high.value <= reach + high.error;
}

fn is_in_box(i: u32, number: u32) -> bool {
    for (var axis = 0u; axis < 3u; axis++) {
        var inside = is_between(i, axis, number, 0);
        if !inside && is_periodic(axis) {
            let cells = cell_count(axis);
            inside = is_between(i, axis, number, cells) || is_between(i, axis, number, -cells);
        }
        if !inside { return false; }
    }
    return true;
}

fn is_watched(i: u32) -> bool {
    let count = frame.watch_count | opaque_zero;
    let chosen = frame.watch_set | opaque_zero;
    for (var number = 0u; number < count; number++) {
        if (chosen & (1u << min(number, 31u))) != 0u && is_in_box(i, number) { return true; }
    }
    return false;
}

// The words of a sphere's body and tag. The index replaces the time of the last contact, which the host does not need.
fn tell(i: u32, record: u32) {
    let body = bodies[i];
    let tag = tags[i];
    let words = array<u32, WATCH_WORDS>(
        bitcast<u32>(body.offset.x), bitcast<u32>(body.offset.y), bitcast<u32>(body.offset.z), bitcast<u32>(body.radius),
        bitcast<u32>(body.velocity.x), bitcast<u32>(body.velocity.y), bitcast<u32>(body.velocity.z),
        bitcast<u32>(body.inverse_mass),
        bitcast<u32>(tag.cell.x), bitcast<u32>(tag.cell.y), bitcast<u32>(tag.cell.z), tag.rank,
        bitcast<u32>(tag.spin.x), bitcast<u32>(tag.spin.y), bitcast<u32>(tag.spin.z), i,
    );
    for (var k = 0u; k < WATCH_WORDS; k++) {
        atomicStore(&work[frame.at_watched + record * WATCH_WORDS + k], words[k]);
    }
}

@compute @workgroup_size(GROUP)
fn watch(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    begin(groups);
    if is_halted() { return; }
    for (var i = id.x; i < frame.sphere_count; i += groups.x * GROUP) {
        if !is_watched(i) { continue; }
        let record = atomicAdd(&work[WATCHED_COUNT], 1u);
        // The host reads the whole state if the count exceeds the capacity.
        if record < frame.watch_capacity { tell(i, record); }
    }
    check_loops();
}
