// Draws the triangles of walls: as opaque bodies among the spheres, as shadow casters, and as glass in front of the
// inside of a wall.

@group(1) @binding(0) var<storage, read> placed: array<vec4f>;

struct Facet {
    @builtin(position) position: vec4f,
    @location(0) @interpolate(flat) id: u32,
}

const NOWHERE: vec4f = vec4f(2.0, 2.0, 2.0, 1.0);

@vertex
fn facets(@builtin(vertex_index) vertex: u32) -> Facet {
    let triangle = wall_triangles[vertex / 3u];
    let place = wall_places[triangle.w];
    let p = settled_at(place, wall_vertices[triangle[vertex % 3u]]);
    var facet: Facet;
    facet.id = WALL | (vertex / 3u);
    facet.position = vec4f(p.xy / vec2f(look.right.w, look.up.w), look.forward.w, p.z);
    if place.origin.w == 0.0 { facet.position = NOWHERE; }
    return facet;
}

struct Seen {
    @location(0) id: vec2u,
    @builtin(frag_depth) depth: f32,
}

// Spheres have one depth each, the root of the power |c|^2 - r^2 (see `visibility.wgsl`). A ray meets a sphere at two
// distances whose product is that power: what is before the sphere is nearer than the root, what is behind it further.
// Asking for the sample makes the position that of the sample: by the depth in the middle of a pixel, faces beyond a crest
// would be seen before it.
@fragment
fn body(facet: Facet, @builtin(sample_index) sample: u32) -> Seen {
    let d = ray(facet.position.xy);
    let depth = facet.position.z * inverseSqrt(dot(d, d));
    return Seen(pack(facet.id), select(depth, 0.0, sample >= 4u));
}

@vertex
fn casts(@builtin(vertex_index) vertex: u32) -> @builtin(position) vec4f {
    let triangle = wall_triangles[vertex / 3u];
    let place = wall_places[triangle.w];
    let p = (settled_at(place, wall_vertices[triangle[vertex % 3u]]) - look.stage.xyz) / look.light.w;
    let seen = vec3f(dot(p, look.light_right.xyz), dot(p, look.light_up.xyz), 0.5 + 0.5 * dot(p, look.light.xyz));
    return select(vec4f(seen, 1.0), NOWHERE, place.origin.w == 0.0);
}

@fragment
fn block() {}

@group(1) @binding(1) var ids: texture_multisampled_2d<u32>;

// Part of the light from behind that glass takes away, seen full on and along its surface: what is inside is seen as it is,
// and the outline is clear all the same.
const FULL_ON: f32 = 0.10;
const ALONG: f32 = 0.55;

@fragment
fn glass(facet: Facet) -> @location(0) vec4f {
    let direction = ray(facet.position.xy);
    let own = wall_at(facet.id, direction);
    var seen = 0.0;
    for (var s = 0; s < 4; s++) {
        let id = unpack(textureLoad(ids, vec2i(facet.position.xy), s).xy);
        let is_sphere = id > 0u && id < SURFACE;
        var depth = meet(placed[select(0u, id - 1u, is_sphere)], direction).z;
        if id >= WALL { depth = wall_at(id, direction).p.z; }
        seen += select(0.25, 0.0, (is_sphere || id >= WALL) && depth < own.p.z);
    }
    let toward = -normalize(direction);
    let edge = 1.0 - clamp(dot(own.n, toward), 0.0, 1.0);
    let half_way = normalize(look.light.xyz + toward);
    let shine = select(pow(max(dot(own.n, half_way), 0.0), 60.0), 0.0, has(FLAT));
    let cover = mix(FULL_ON, ALONG, edge * edge * edge) + 0.35 * shine;
    let up = 0.5 + 0.5 * dot(own.n, look.zenith.xyz);
    let light = select(0.55 + 0.25 * up, 1.0, has(FLAT));
    let colour = WALL_COLOUR * light + shine;
    return vec4f(select(to_srgb(colour), colour, has(ENCODED)), cover * seen);
}
