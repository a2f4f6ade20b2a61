// What all passes of a picture know; `src/render/look.rs` mirrors the struct. Lengths are in the spheres' units, vectors
// in the frame of the eye (right, up, forward) unless said otherwise.

struct Look {
    // Axes of the eye in the world; w: tangents of half the field of view along x and y, and the nearest depth.
    right: vec4f,
    up: vec4f,
    forward: vec4f,
    // Cell of the eye, and the eye in that cell.
    cell: vec3i,
    sphere_count: u32,
    offset: vec3f,
    flags: u32,
    edge: vec3f,
    colour: u32,
    // Cells of a period; 0 = not periodic.
    cells: vec3i,
    // Least radius of a sphere in the picture, at depth 1.
    least: f32,
    size: vec2f,
    range: vec2f,
    // Towards the key light; towards the zenith.
    light: vec4f,
    zenith: vec4f,
    map: array<vec4f, 7>,
    materials: array<vec4f, 8>,
}

@group(0) @binding(0) var<uniform> look: Look;

const FLAT: u32 = 1u;

// From the eye through a point of the picture (pixels from the upper left corner); depth 1.
fn ray(pixel: vec2f) -> vec3f {
    let ndc = vec2f(2.0, -2.0) * pixel / look.size + vec2f(-1.0, 1.0);
    return vec3f(ndc * vec2f(look.right.w, look.up.w), 1.0);
}
