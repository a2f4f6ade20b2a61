// Draws the contacts as lines over the finished picture. The width of a line is proportional to the normal force. Nothing
// hides the lines except the clip plane, because the forces inside a heap are what they show.

// A line between two centres, or from a centre to a wall; ends relative to the origin of the network (length).
struct Link {
    begin: vec3f,
    radius: f32,
    end: vec3f,
    // Force, relative to that of the widest line.
    share: f32,
}

@group(1) @binding(0) var<storage, read> links: array<Link>;

struct Line {
    @builtin(position) position: vec4f,
    // Pixels from the middle of the line, and half its width there.
    @location(0) @interpolate(linear) off: f32,
    @location(1) @interpolate(linear) half_width: f32,
    @location(2) @interpolate(flat) share: f32,
}

// Least half width (pixels): thinner lines flicker.
const THINNEST: f32 = 0.4;

// Colours of the weakest and the strongest line, in linear light.
const WEAK: vec3f = vec3f(0.90, 0.42, 0.10);
const STRONG: vec3f = vec3f(0.42, 0.01, 0.02);

fn in_view(p: vec3f) -> vec3f {
    let d = p * look.network.w;
    return look.network.xyz + vec3f(dot(d, look.right.xyz), dot(d, look.up.xyz), dot(d, look.forward.xyz));
}

@vertex
fn chains(@builtin(vertex_index) vertex: u32, @builtin(instance_index) i: u32) -> Line {
    let link = links[i];
    var a = in_view(link.begin);
    var b = in_view(link.end);
    let near = look.forward.w;
    var line: Line;
    line.share = link.share;
    line.position = vec4f(2.0, 2.0, 2.0, 1.0);
    let is_clipped = dot(look.clip.xyz, 0.5 * (a + b)) > look.clip.w;
    if is_clipped || max(a.z, b.z) <= near { return line; }
    // Parts behind the camera are clipped.
    if a.z < near { a = mix(a, b, (near - a.z) / (b.z - a.z)); }
    if b.z < near { b = mix(b, a, (near - b.z) / (a.z - b.z)); }
    let scale = 0.5 * look.size / vec2f(look.right.w, look.up.w);
    let begin = scale * a.xy / a.z;
    let to = scale * b.xy / b.z;
    let way = normalize(to - begin + vec2f(1e-9, 0.0));
    let side = 2.0 * f32(vertex & 1u) - 1.0;
    let is_end = vertex >= 2u;
    let depth = select(a.z, b.z, is_end);
    line.half_width = max(link.radius * look.network.w * scale.y / depth, THINNEST);
    line.off = side * (line.half_width + 1.0);
    let place = select(begin, to, is_end) + line.off * vec2f(-way.y, way.x);
    line.position = vec4f(place / (0.5 * look.size), 0.5, 1.0);
    return line;
}

@fragment
fn chain(line: Line) -> @location(0) vec4f {
    let across = clamp(line.off / line.half_width, -1.0, 1.0);
    // As round as a rod that is lit from the eye.
    let round = select(0.55 + 0.45 * sqrt(1.0 - across * across), 1.0, has(FLAT));
    let colour = mix(WEAK, STRONG, line.share) * round;
    let cover = clamp(line.half_width + 0.5 - abs(line.off), 0.0, 1.0);
    return vec4f(select(to_srgb(colour), colour, has(ENCODED)), cover);
}
