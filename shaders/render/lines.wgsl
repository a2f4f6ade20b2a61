// Draws the edges of the box and of walls over the finished picture. The opacity of an edge in a pixel is proportional
// to the number of samples that see nothing nearer than the edge.

@group(1) @binding(0) var<storage, read> placed: array<vec4f>;
@group(1) @binding(1) var ids: texture_multisampled_2d<u32>;

struct Line {
    @builtin(position) position: vec4f,
    // Pixels from the middle of the line.
    @location(0) @interpolate(linear) off: f32,
    @location(1) @interpolate(linear) depth: f32,
    @location(2) @interpolate(flat) cover: f32,
}

// How dark edges are, and marks on surfaces.
const EDGE: f32 = 0.6;
const MARK: f32 = 0.3;

// Half the width (pixels).
const HALF: f32 = 0.7;

// An edge of a wall lies on the wall: it is hidden by walls that are nearer by more than this part of its distance. Less, and
// lines are broken where a face is seen edge on; more, and they shine through walls that are close together.
const ON_WALL: f32 = 4e-3;

@vertex
fn strokes(@builtin(vertex_index) vertex: u32, @builtin(instance_index) i: u32) -> Line {
    return between(look.lines[2u * i].xyz, look.lines[2u * i + 1u].xyz, vertex);
}

@vertex
fn edges(@builtin(vertex_index) vertex: u32, @builtin(instance_index) i: u32) -> Line {
    let ends = wall_lines[i];
    let place = wall_places[ends.z];
    var line = between(
        settled_at(place, wall_vertices[ends.x]),
        settled_at(place, wall_vertices[ends.y]),
        vertex,
    );
    line.cover = select(EDGE, MARK, ends.w == 1u);
    if place.origin.w == 0.0 { line.position = vec4f(2.0, 2.0, 2.0, 1.0); }
    return line;
}

fn between(begins: vec3f, ends: vec3f, vertex: u32) -> Line {
    var a = begins;
    var b = ends;
    let near = look.forward.w;
    var line: Line;
    line.cover = EDGE;
    if max(a.z, b.z) <= near {
        line.position = vec4f(2.0, 2.0, 2.0, 1.0);
        return line;
    }
    // Parts behind the camera are clipped.
    if a.z < near { a = mix(a, b, (near - a.z) / (b.z - a.z)); }
    if b.z < near { b = mix(b, a, (near - b.z) / (a.z - b.z)); }
    let scale = 0.5 * look.size / vec2f(look.right.w, look.up.w);
    let begin = scale * a.xy / a.z;
    let to = scale * b.xy / b.z;
    let way = normalize(to - begin + vec2f(1e-9, 0.0));
    let side = 2.0 * f32(vertex & 1u) - 1.0;
    let is_end = vertex >= 2u;
    line.off = side * (HALF + 1.0);
    line.depth = near / select(a.z, b.z, is_end);
    let place = select(begin, to, is_end) + line.off * vec2f(-way.y, way.x);
    line.position = vec4f(place / (0.5 * look.size), 0.5, 1.0);
    return line;
}

@fragment
fn stroke(line: Line) -> @location(0) vec4f {
    var seen = 0.0;
    let direction = ray(line.position.xy);
    let own = look.forward.w / line.depth;
    for (var s = 0; s < 4; s++) {
        let id = unpack(textureLoad(ids, vec2i(line.position.xy), s).xy);
        // The sides of the box and planes are never before an edge.
        let is_sphere = id > 0u && id < SURFACE;
        var depth = meet(placed[select(0u, id - 1u, is_sphere)], direction).z;
        if id >= WALL { depth = wall_at(id, direction).p.z * (1.0 + ON_WALL); }
        seen += select(0.25, 0.0, (is_sphere || id >= WALL) && depth < own);
    }
    let cover = clamp(HALF + 0.5 - abs(line.off), 0.0, 1.0);
    return vec4f(vec3f(select(0.22, 0.04, has(ENCODED))), line.cover * cover * seen);
}
