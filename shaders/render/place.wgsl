// Where every sphere is, seen from the eye, and the value that its colour stands for.

// As carom::gpu::Body and Tag, in the spheres' units.
struct Body {
    offset: vec3f,
    radius: f32,
    velocity: vec3f,
    inverse_mass: f32,
}

struct Tag {
    cell: vec3i,
    rank: u32,
    spin: vec3f,
    last_contact: f32,
}

@group(1) @binding(0) var<storage, read> bodies: array<Body>;
@group(1) @binding(1) var<storage, read> tags: array<Tag>;
// Id and material, by rank.
@group(1) @binding(2) var<storage, read> kinds: array<vec2u>;
// Centre and radius in the frame of the eye.
@group(1) @binding(3) var<storage, read_write> placed: array<vec4f>;
@group(1) @binding(4) var<storage, read_write> values: array<f32>;

// Centre, from the eye, in the axes of the world. Offsets may reach beyond the cell: whole cells are moved, and those of
// periodic axes wrapped into the box.
fn from_eye(i: u32) -> vec3f {
    var offset = bodies[i].offset;
    var cell = tags[i].cell;
    for (var axis = 0u; axis < 3u; axis++) {
        let n = look.cells[axis];
        if n > 0 {
            let moved = floor(offset[axis] / look.edge[axis]);
            offset[axis] -= moved * look.edge[axis];
            let c = (cell[axis] + i32(moved)) % n;
            cell[axis] = select(c, c + n, c < 0);
        }
    }
    return vec3f(cell - look.cell) * look.edge + (offset - look.offset);
}

fn value_of(i: u32) -> f32 {
    switch look.colour {
        case 0u: { return length(bodies[i].velocity); }
        case 1u: { return bodies[i].radius; }
        case 2u: { return f32(kinds[tags[i].rank].y); }
        case 3u: { return f32(kinds[tags[i].rank].x); }
        case 4u: { return -tags[i].last_contact; }
        default: { return 0.0; }
    }
}

@compute @workgroup_size(GROUP)
fn place(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let i = id.y * groups.x * GROUP + id.x;
    if i >= look.sphere_count { return; }
    let d = from_eye(i);
    let centre = vec3f(dot(d, look.right.xyz), dot(d, look.up.xyz), dot(d, look.forward.xyz));
    placed[i] = vec4f(centre, bodies[i].radius);
    values[i] = value_of(i);
}
