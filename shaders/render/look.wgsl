// Uniforms of all passes of a picture; `src/render/look.rs` mirrors the structs. Lengths are in the spheres' units; points and
// vectors are in the camera frame (right, up, forward) unless stated otherwise.

// A rectangle of a wall or floor.
struct Surface {
    // Its centre; w: distance from the centre at which it fades out, 0 = never.
    middle: vec4f,
    normal: vec4f,
    // From the middle to its edges.
    across: vec4f,
    along: vec4f,
}

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
    // Ends of the map, unless they are found on the device.
    range: vec2f,
    // Towards the key light; w: half the width of what it lights, 0 = no shadows.
    light: vec4f,
    light_right: vec4f,
    light_up: vec4f,
    // Middle of what the key light lights; w: how far occlusion reaches.
    stage: vec4f,
    zenith: vec4f,
    // Normal of the clip plane, towards the hidden side; w: its distance from the eye along the normal.
    clip: vec4f,
    // Origin of the contact network; w: factor from the user's lengths to those of the spheres.
    network: vec4f,
    map: array<vec4f, KNOTS>,
    materials: array<vec4f, 8>,
    surface_count: u32,
    line_count: u32,
    // Share of the spheres that the automatic range covers, and whether the range begins at the least value or at 0.
    quantile: f32,
    from_least: u32,
    surfaces: array<Surface, 16>,
    lines: array<vec4f, 24>,
}

@group(0) @binding(0) var<uniform> look: Look;

const FLAT: u32 = 1u;
const SHADOW: u32 = 2u;
const OCCLUSION: u32 = 4u;
// The target stores sRGB by itself.
const ENCODED: u32 = 8u;
const LOCKED: u32 = 16u;
// The range of the picture before is of no use for this one.
const FRESH: u32 = 32u;
// Seen from straight above: no horizon.
const PLANAR: u32 = 64u;

fn has(flag: u32) -> bool { return (look.flags & flag) != 0u; }

// Ids of surfaces; those of walls are above them, see `wall.wgsl`.
const SURFACE: u32 = 0x80000000u;

// From the eye through a point of the picture (pixels from the upper left corner); depth 1.
fn ray(pixel: vec2f) -> vec3f {
    let ndc = vec2f(2.0, -2.0) * pixel / look.size + vec2f(-1.0, 1.0);
    return vec3f(ndc * vec2f(look.right.w, look.up.w), 1.0);
}

fn pack(id: u32) -> vec2u { return vec2u(id & 0xffffu, id >> 16u); }
fn unpack(id: vec2u) -> u32 { return id.x | (id.y << 16u); }

// Where a ray of depth 1 meets a sphere, or passes it nearest.
fn meet(sphere: vec4f, direction: vec3f) -> vec3f {
    let square = dot(direction, direction);
    let along = dot(sphere.xyz, direction) / square;
    let off = sphere.xyz - along * direction;
    let deep = sqrt(max(sphere.w * sphere.w - dot(off, off), 0.0) / square);
    // From inside, the far side.
    let t = select(along - deep, along + deep, along - deep < look.forward.w);
    return t * direction;
}

// The whole picture as one triangle.
fn whole(vertex: u32) -> vec4f {
    return vec4f(f32(vertex & 1u) * 4.0 - 1.0, f32(vertex >> 1u) * 4.0 - 1.0, 0.5, 1.0);
}

fn to_srgb(c: vec3f) -> vec3f {
    return select(1.055 * pow(max(c, vec3f(0.0)), vec3f(1.0 / 2.4)) - 0.055, 12.92 * c, c <= vec3f(0.0031308));
}
