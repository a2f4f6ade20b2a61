// Ambient occlusion: estimates the share of the sky that nearby objects hide, from the depths of the picture at half
// its resolution, and smooths the estimate. The estimator is that of McGuire, Osman, Bukowski and Hennessy, "The
// Alchemy screen-space ambient obscurance algorithm", 2011.

@group(1) @binding(0) var<storage, read> placed: array<vec4f>;
@group(1) @binding(1) var ids: texture_multisampled_2d<u32>;

@vertex
fn screen(@builtin(vertex_index) vertex: u32) -> @builtin(position) vec4f { return whole(vertex); }

// The pixel of the picture that stands for four.
fn pixel_of(place: vec2i) -> vec2i { return min(2 * place, vec2i(look.size) - 1); }

// How far ahead of the eye; far away where there is nothing.
@fragment
fn measure(@builtin(position) position: vec4f) -> @location(0) f32 {
    let pixel = pixel_of(vec2i(position.xy));
    let id = unpack(textureLoad(ids, pixel, 0).xy);
    let direction = ray(vec2f(pixel) + 0.5);
    let surface = look.surfaces[select(0u, id & 15u, id >= SURFACE)];
    let depth = meet(placed[select(0u, id - 1u, id > 0u && id < SURFACE)], direction).z;
    let n = surface.normal.xyz;
    if id >= WALL { return wall_at(id, direction).p.z; }
    return select(select(depth, dot(surface.middle.xyz, n) / dot(direction, n), id >= SURFACE), FAR, id == 0u);
}

const FAR: f32 = 1e30;

@group(1) @binding(2) var depths: texture_2d<f32>;

// Openness and depth.
@fragment
fn occlude(@builtin(position) position: vec4f) -> @location(0) vec2f {
    let place = vec2i(position.xy);
    let pixel = pixel_of(place);
    let id = unpack(textureLoad(ids, pixel, 0).xy);
    let direction = ray(vec2f(pixel) + 0.5);
    let p = direction * textureLoad(depths, place, 0).x;
    let centre = placed[select(0u, id - 1u, id > 0u && id < SURFACE)].xyz;
    let normal = look.surfaces[select(0u, id & 15u, id >= SURFACE)].normal.xyz;
    var n = select(normalize(p - centre), normal, id >= SURFACE);
    if id >= WALL { n = wall_at(id, direction).n; }
    let reach = look.stage.w;
    // Reach in pixels: few of them tell nothing, many are dear to fetch.
    let across = clamp(0.25 * look.size.y * reach / (look.up.w * p.z), 1.5, 0.1 * look.size.y);
    // Interleaved gradient noise (Jimenez 2014) turns the spiral from pixel to pixel.
    let turn = 6.2831853 * fract(52.9829189 * fract(dot(floor(position.xy), vec2f(0.06711056, 0.00583715))));
    let last = vec2i(textureDimensions(depths)) - 1;
    let begin = ray(vec2f(0.5));
    let step = ray(vec2f(2.5)).xy - begin.xy;
    var hidden = 0.0;
    for (var k = 0; k < i32(TAPS); k++) {
        let part = (f32(k) + 0.5) / f32(TAPS);
        let angle = turn + 2.3999632 * f32(k);
        let to = vec2i(floor(position.xy + across * sqrt(part) * vec2f(cos(angle), sin(angle))));
        let at = clamp(to, vec2i(0), last);
        let depth = textureLoad(depths, at, 0).x;
        let v = vec3f(begin.xy + step * vec2f(at), 1.0) * min(depth, 1e6) - p;
        let square = dot(v, v);
        let near = max(1.0 - square / (reach * reach), 0.0);
        hidden += near * max(dot(v, n) - 2e-4 * p.z, 0.0) * inverseSqrt(square + 1e-4 * reach * reach);
    }
    let open = max(1.0 - 2.2 * hidden / f32(TAPS), 0.0);
    return select(vec2f(1.0, 6e4), vec2f(open, p.z), id != 0u);
}

@group(1) @binding(3) var rough: texture_2d<f32>;

// Mean over 4 x 4, of what is about as deep.
@fragment
fn soften(@builtin(position) position: vec4f) -> @location(0) vec2f {
    let middle = vec2i(position.xy);
    let last = vec2i(textureDimensions(rough)) - 1;
    let depth = textureLoad(rough, middle, 0).y;
    let slack = 0.5 * look.stage.w;
    var sum = vec2f(0.0);
    for (var k = 0; k < 16; k++) {
        let at = clamp(middle + vec2i(k & 3, k >> 2u) - vec2i(1, 1), vec2i(0), last);
        let tap = textureLoad(rough, at, 0).xy;
        sum += vec2f(tap.x, 1.0) * max(1.0 - abs(tap.y - depth) / slack, 0.001);
    }
    return vec2f(sum.x / sum.y, depth);
}
