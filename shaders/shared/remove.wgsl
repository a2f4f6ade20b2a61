// Removes spheres from the state: copies the others to the other copy of the state and closes the gaps of indices and ranks.

@compute @workgroup_size(GROUP)
fn remove(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    begin(groups);
    if is_halted() { return; }
    for (var i = id.x; i < frame.sphere_count; i += groups.x * GROUP) {
        let to = new_index(i);
        if to.is_removed { continue; }
        bodies[to.place] = source_bodies[i];
        var tag = source_tags[i];
        tag.rank = new_rank(tag.rank).place;
        tags[to.place] = tag;
    }
    check_loops();
}
