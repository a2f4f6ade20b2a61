// Stage `scatter`: stores the whole state in bucket order. Within a bucket spheres are sorted by id, so the order depends
// neither on the threads nor on the previous order. Twin: src/cpu/scatter.rs.

// Stores the spheres of a bucket in any order; `scatter` sorts them.
@compute @workgroup_size(GROUP)
fn scatter_order(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    begin(groups);
    if is_halted() { return; }
    for (var i = id.x; i < frame.sphere_count; i += groups.x * GROUP) {
        let key = atomicLoad(&work[frame.at_pending + i]);
        let slot = atomicAdd(&work[frame.at_counts + key], 1u);
        atomicStore(&work[frame.at_near + slot], i);
    }
    check_loops();
}

// One word that decides most distance tests of `neighbors`: the position in the cell to a thousandth of the edge, and the
// cell's x modulo 4. Values from OUTSIDE on mark spheres outside the grid.
fn rough_place(body: Body, tag: Tag) -> u32 {
    let share = body.offset / frame.edge;
    let x = u32(tag.cell.x) & 3u;
    if any(share < vec3f(0.0)) || any(share >= vec3f(1.0)) { return OUTSIDE | x; }
    let steps = min(vec3u(share * 1024.0), vec3u(1023u));
    return (steps.z << 22u) | (steps.y << 12u) | (steps.x << 2u) | x;
}

@compute @workgroup_size(GROUP)
fn scatter(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    begin(groups);
    if is_halted() { return; }
    for (var slot = id.x; slot < frame.sphere_count; slot += groups.x * GROUP) {
        let i = atomicLoad(&work[frame.at_near + slot]);
        let tag = source_tags[i];
        let key = atomicLoad(&work[frame.at_pending + i]);
        let start = atomicLoad(&work[frame.at_starts + key]);
        let end = atomicLoad(&work[frame.at_starts + key + 1u]);
        var place = start;
        for (var other = start; other < end; other++) {
            let rank = source_tags[atomicLoad(&work[frame.at_near + other])].rank;
            place += u32(rank < tag.rank);
        }
        let body = source_bodies[i];
        bodies[place] = body;
        tags[place] = tag;
        lists[frame.at_rough_places + place] = rough_place(body, tag);
        nodes[place].motion_margin = frame.motion_margin;
        if is_first_build() {
            nodes[place].loss = 0.0;
            nodes[place].virial = 0.0;
            nodes[place].relax_work = 0.0;
        }
    }
    check_loops();
}
