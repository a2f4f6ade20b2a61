// Computes the centre of every sphere in the camera frame, and the value that the sphere's colour shows.

// Id and material, by rank.
@group(1) @binding(2) var<storage, read> kinds: array<vec2u>;
// Centre and radius in the frame of the eye.
@group(1) @binding(3) var<storage, read_write> placed: array<vec4f>;
@group(1) @binding(4) var<storage, read_write> values: array<f32>;
// Number of contacts and force, or the difference, by rank; shorter without them.
@group(1) @binding(5) var<storage, read> figures: array<vec2f>;

fn figure_of(rank: u32) -> vec2f {
    if rank >= arrayLength(&figures) { return vec2f(0.0); }
    return figures[rank];
}

fn value_of(i: u32) -> f32 {
    switch look.colour {
        case SPEED: { return length(bodies[i].velocity); }
        case RADIUS: { return bodies[i].radius; }
        case MATERIAL: { return f32(kinds[tags[i].rank].y); }
        case ID: { return f32(kinds[tags[i].rank].x); }
        case IMPACTS: { return -tags[i].last_contact; }
        case SPIN: { return length(tags[i].spin); }
        case CONTACTS, DIFFERENCE: { return figure_of(tags[i].rank).x; }
        case FORCE: { return figure_of(tags[i].rank).y; }
        // Overlaps are a pass of their own.
        default: { return 0.0; }
    }
}

@compute @workgroup_size(GROUP)
fn place(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let i = id.y * groups.x * GROUP + id.x;
    if i >= look.sphere_count { return; }
    // Integers first: far from the origin a difference of cells is as exact as near it.
    let place = settled(i);
    let d = vec3f(place.cell - look.cell) * look.edge + (place.offset - look.offset);
    let centre = vec3f(dot(d, look.right.xyz), dot(d, look.up.xyz), dot(d, look.forward.xyz));
    placed[i] = vec4f(centre, bodies[i].radius);
    // A point far behind the eye: no pass draws it.
    if dot(look.clip.xyz, centre) > look.clip.w { placed[i] = vec4f(0.0, 0.0, -1e30, 0.0); }
    values[i] = value_of(i);
}
