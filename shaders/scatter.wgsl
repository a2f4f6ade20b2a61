// Stage 3: the whole state into bucket order. Within a bucket spheres are ranked by id, so the order does not depend
// on which thread came first or on the order before. Twin: src/cpu/scatter.rs.

// Any order within the bucket.
@compute @workgroup_size(GROUP)
fn scatter_order(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    if is_halted() { return; }
    for (var i = id.x; i < frame.sphere_count; i += groups.x * GROUP) {
        let key = atomicLoad(&work[frame.at_pending + i]);
        let slot = atomicAdd(&work[frame.at_counts + key], 1u);
        atomicStore(&work[frame.at_near + slot], i);
    }
}

@compute @workgroup_size(GROUP)
fn scatter(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
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
        bodies[place] = source_bodies[i];
        tags[place] = tag;
        nodes[place].budget = frame.budget;
        if is_first_build() {
            nodes[place].loss = 0.0;
            nodes[place].virial = 0.0;
            nodes[place].relax_work = 0.0;
        }
    }
}
