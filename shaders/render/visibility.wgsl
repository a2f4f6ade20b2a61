// Which sphere each sample of a pixel sees: one quad a sphere, and a ray for each fragment.

@group(1) @binding(0) var<storage, read> placed: array<vec4f>;

struct Quad {
    @builtin(position) position: vec4f,
    @location(0) @interpolate(flat) sphere: vec4f,
    @location(1) @interpolate(flat) index: u32,
}

// Bounds of a sphere's outline along one axis of the picture: the tangents to a circle through the eye.
// x, z: centre across and ahead, z > r > 0. (Mara and McGuire, JCGT 2(2), 70, 2013.)
fn tangents(x: f32, z: f32, r: f32) -> vec2f {
    let root = r * sqrt(max(x * x + z * z - r * r, 0.0));
    return (x * z + vec2f(-root, root)) / (z * z - r * r);
}

@vertex
fn corners(@builtin(vertex_index) vertex: u32, @builtin(instance_index) i: u32) -> Quad {
    let sphere = placed[i];
    let near = look.forward.w;
    var quad: Quad;
    quad.sphere = sphere;
    quad.sphere.w = max(sphere.w, look.least * sphere.z);
    quad.index = i + 1u;
    let r = quad.sphere.w;
    let corner = vec2f(f32(vertex & 1u), f32(vertex >> 1u));
    if sphere.z + r <= near {
        // Behind the eye.
        quad.position = vec4f(2.0, 2.0, 2.0, 1.0);
        return quad;
    }
    var across = vec2f(-1.0, 1.0);
    var along = vec2f(-1.0, 1.0);
    if sphere.z - r > near {
        let margin = 1.0 / look.size;
        across = tangents(sphere.x, sphere.z, r) / look.right.w + margin.x * vec2f(-1.0, 1.0);
        along = tangents(sphere.y, sphere.z, r) / look.up.w + margin.y * vec2f(-1.0, 1.0);
    }
    quad.position = vec4f(mix(across.x, across.y, corner.x), mix(along.x, along.y, corner.y), 0.5, 1.0);
    return quad;
}

struct Seen {
    @location(0) id: vec2u,
    @builtin(frag_depth) depth: f32,
    @builtin(sample_mask) mask: u32,
}

// Square of how far inside the outline a ray passes (< 0: outside). The vector from the ray to the centre does not
// cancel, as the difference of squares would.
fn inside(sphere: vec4f, direction: vec3f) -> f32 {
    let along = dot(sphere.xyz, direction) / dot(direction, direction);
    let off = sphere.xyz - along * direction;
    return sphere.w * sphere.w - dot(off, off);
}

@fragment
fn hit(quad: Quad) -> Seen {
    let pixel = quad.position.xy;
    let sphere = quad.sphere;
    // The standard pattern of four samples.
    let a = inside(sphere, ray(pixel + vec2f(-0.125, -0.375)));
    let b = inside(sphere, ray(pixel + vec2f(0.375, -0.125)));
    let c = inside(sphere, ray(pixel + vec2f(-0.375, 0.125)));
    let d = inside(sphere, ray(pixel + vec2f(0.125, 0.375)));
    let mask = select(0u, 1u, a >= 0.0) | select(0u, 2u, b >= 0.0) | select(0u, 4u, c >= 0.0)
        | select(0u, 8u, d >= 0.0);
    let t = meet(sphere, ray(pixel)).z;
    return Seen(pack(quad.index), look.forward.w / t, mask);
}

struct Patch {
    @builtin(position) position: vec4f,
    @location(0) @interpolate(flat) id: u32,
}

// Walls and floors, seen from their free side alone: what is between the eye and the spheres is left out.
@vertex
fn spread(@builtin(vertex_index) vertex: u32, @builtin(instance_index) i: u32) -> Patch {
    let surface = look.surfaces[i];
    let corner = 2.0 * vec2f(f32(vertex & 1u), f32(vertex >> 1u)) - 1.0;
    let p = surface.middle.xyz + corner.x * surface.across.xyz + corner.y * surface.along.xyz;
    var piece: Patch;
    piece.id = SURFACE | i;
    piece.position = vec4f(p.xy / vec2f(look.right.w, look.up.w), look.forward.w, p.z);
    if dot(surface.middle.xyz, surface.normal.xyz) >= 0.0 { piece.position = vec4f(2.0, 2.0, 2.0, 1.0); }
    return piece;
}

@fragment
fn cover(seen: Patch) -> @location(0) vec2u { return pack(seen.id); }
