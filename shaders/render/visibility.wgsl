// Finds the sphere or surface that each sample of a pixel sees.
//
// The power of the eye with respect to a sphere is |c|^2 - r^2, with the centre c relative to the eye. The points of
// equal power with respect to two disjoint spheres form a plane between the spheres. The eye and the sphere of smaller
// power are on the same side of this plane, so every ray that meets both spheres meets the sphere of smaller power
// first. A single depth for each sphere therefore orders disjoint spheres exactly, and no fragment has to compute a
// depth.

@group(1) @binding(0) var<storage, read> placed: array<vec4f>;

// A quad around the outline of a sphere. With a ray m away from the centre at depth 1, p, the outline is where
// |c x d|^2 = r^2 |d|^2, divided by c.z^2: m.m + (p x m)^2 = k |p + m|^2 + k; nothing cancels.
struct Quad {
    @builtin(position) position: vec4f,
    // Of m.x^2, m.x m.y and m.y^2; k.
    @location(0) @interpolate(flat) squares: vec4f,
    // p, and the rest of the form: of m.x and m.y.
    @location(1) @interpolate(flat) rest: vec4f,
    @location(2) @interpolate(flat) id: vec2u,
}

// Bounds of the outline along one axis of the picture: the tangents to a circle through the eye.
// x, z: centre across and ahead, z > r > 0. (Mara and McGuire, JCGT 2(2), 70, 2013.)
fn tangents(x: f32, z: f32, r: f32) -> vec2f {
    let root = r * sqrt(max(x * x + z * z - r * r, 0.0));
    return (x * z + vec2f(-root, root)) / (z * z - r * r);
}

@vertex
fn corners(@builtin(vertex_index) vertex: u32, @builtin(instance_index) i: u32) -> Quad {
    let sphere = placed[i];
    let near = look.forward.w;
    let r = max(sphere.w, look.least * sphere.z);
    var quad: Quad;
    if sphere.z - r <= near {
        // Behind the eye, around it or beside it.
        quad.position = vec4f(2.0, 2.0, 2.0, 1.0);
        return quad;
    }
    let margin = vec2f(-0.5, 0.5) * 2.0;
    let across = tangents(sphere.x, sphere.z, r) / look.right.w + margin / look.size.x;
    let along = tangents(sphere.y, sphere.z, r) / look.up.w + margin / look.size.y;
    let place = vec2f(select(across.x, across.y, (vertex & 1u) != 0u), select(along.x, along.y, vertex > 1u));
    quad.position = vec4f(place, near * inverseSqrt(dot(sphere.xyz, sphere.xyz) - r * r), 1.0);
    let p = sphere.xy / sphere.z;
    let k = (r / sphere.z) * (r / sphere.z);
    quad.squares = vec4f(1.0 + p.y * p.y - k, -2.0 * p.x * p.y, 1.0 + p.x * p.x - k, k * (1.0 + dot(p, p)));
    quad.rest = vec4f(p, -2.0 * k * p);
    quad.id = pack(i + 1u);
    return quad;
}

struct Seen {
    @location(0) id: vec2u,
    @builtin(sample_mask) mask: u32,
}

@fragment
fn hit(quad: Quad) -> Seen {
    // The standard pattern of four samples.
    let m = ray(quad.position.xy).xy - quad.rest.xy;
    let step = 2.0 / look.size * vec2f(look.right.w, look.up.w);
    let x = m.x + step.x * vec4f(-0.125, 0.375, -0.375, 0.125);
    let y = m.y - step.y * vec4f(-0.375, -0.125, 0.125, 0.375);
    let shape = (quad.squares.x * x + quad.squares.y * y + quad.rest.z) * x
        + (quad.squares.z * y + quad.rest.w) * y;
    let bits = select(vec4u(0u), vec4u(1u, 2u, 4u, 8u), shape <= vec4f(quad.squares.w));
    return Seen(quad.id, bits.x | bits.y | bits.z | bits.w);
}

struct Piece {
    @builtin(position) position: vec4f,
    @location(0) @interpolate(flat) id: vec2u,
}

// Surfaces are behind all spheres: they are seen from their free side alone, where the spheres are too.
const BEHIND: f32 = 1e-9;

@vertex
fn spread(@builtin(vertex_index) vertex: u32, @builtin(instance_index) i: u32) -> Piece {
    let surface = look.surfaces[i];
    let corner = 2.0 * vec2f(f32(vertex & 1u), f32(vertex >> 1u)) - 1.0;
    let p = surface.middle.xyz + corner.x * surface.across.xyz + corner.y * surface.along.xyz;
    var piece: Piece;
    piece.id = pack(SURFACE | i);
    piece.position = vec4f(p.xy / vec2f(look.right.w, look.up.w), BEHIND * look.forward.w, p.z);
    if dot(surface.middle.xyz, surface.normal.xyz) >= 0.0 { piece.position = vec4f(2.0, 2.0, 2.0, 1.0); }
    return piece;
}

@fragment
fn cover(piece: Piece) -> @location(0) vec2u { return piece.id; }
