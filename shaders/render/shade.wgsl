// Computes light and colour, once for each object that a pixel sees.

@group(1) @binding(0) var<storage, read> placed: array<vec4f>;
@group(1) @binding(1) var<storage, read> colours: array<vec4f>;
@group(1) @binding(2) var ids: texture_multisampled_2d<u32>;
@group(1) @binding(3) var openness: texture_2d<f32>;
@group(1) @binding(4) var shadows: texture_depth_2d;
@group(1) @binding(5) var nearer: sampler_comparison;

@vertex
fn screen(@builtin(vertex_index) vertex: u32) -> @builtin(position) vec4f { return whole(vertex); }

// In linear light.
fn background(direction: vec3f) -> vec3f {
    let rise = dot(normalize(direction), look.zenith.xyz);
    let t = select(smoothstep(-0.45, 0.75, rise), 0.5, has(PLANAR));
    return mix(vec3f(0.80, 0.82, 0.85), vec3f(0.42, 0.49, 0.60), t);
}

// Part of the key light that gets to a point.
fn lit(p: vec3f) -> f32 {
    let q = (p - look.stage.xyz) / look.light.w;
    let place = vec2f(dot(q, look.light_right.xyz), -dot(q, look.light_up.xyz));
    let depth = 0.5 + 0.5 * dot(q, look.light.xyz) + 5e-4;
    let texel = 1.0 / vec2f(textureDimensions(shadows));
    var sum = 0.0;
    for (var k = 0u; k < SHADOW_TAPS; k++) {
        // Corners of a turned square: with the sampler's own mean of 2 x 2 a soft edge of about four texels.
        let corner = vec2f(f32(k & 1u), f32(k >> 1u)) - 0.5 * f32(SHADOW_TAPS > 1u);
        let at = 0.5 + 0.5 * place + texel * (1.7 * corner + vec2f(0.6, -0.6) * corner.yx);
        sum += textureSampleCompareLevel(shadows, nearer, at, depth);
    }
    let inside = all(abs(q) < vec3f(0.999)) && abs(dot(q, look.light.xyz)) < 1.0;
    return select(1.0, sum / f32(SHADOW_TAPS), inside && has(SHADOW));
}

// Openness at a point of the picture and a depth: of the four nearest of half the resolution, those that are as deep.
fn open_at(pixel: vec2f, depth: f32) -> f32 {
    let at = 0.5 * pixel - 0.25;
    let first = vec2i(floor(at));
    let part = at - floor(at);
    let last = vec2i(textureDimensions(openness)) - 1;
    let slack = 0.25 * look.stage.w;
    var sum = vec2f(0.0);
    for (var k = 0; k < 4; k++) {
        let step = vec2i(k & 1, k >> 1u);
        let tap = textureLoad(openness, clamp(first + step, vec2i(0), last), 0).xy;
        let side = mix(1.0 - part, part, vec2f(step));
        sum += vec2f(tap.x, 1.0) * (side.x * side.y + 0.01) * max(1.0 - abs(tap.y - depth) / slack, 0.002);
    }
    return select(1.0, sum.x / sum.y, has(OCCLUSION));
}

// Light between things of one colour goes to and fro: hollows keep their colour (Jimenez, Wu, Pesce and Jarabo,
// "Practical realtime strategies for accurate indirect occlusion", 2016, equation 10).
fn hollow(open: f32, albedo: vec3f) -> vec3f {
    let a = 2.0404 * albedo - 0.3324;
    let b = -4.7951 * albedo + 0.6417;
    let c = 2.7552 * albedo + 0.6903;
    return max(vec3f(open), ((open * a + b) * open + c) * open);
}

// Compresses highlights and leaves the rest as it is (after Khronos PBR Neutral, 2024, without its darkening).
fn tone(colour: vec3f) -> vec3f {
    let start = 0.76;
    let d = 1.0 - start;
    let peak = max(colour.r, max(colour.g, colour.b));
    let pressed = 1.0 - d * d / (max(peak, start) + d - start);
    let fade = 1.0 - 1.0 / (0.15 * (peak - pressed) + 1.0);
    return select(mix(colour * pressed / max(peak, 1e-6), vec3f(pressed), fade), colour, peak < start);
}

// Shading of one surface point, in linear light before tone mapping.
fn seen(id: u32, pixel: vec2f, direction: vec3f, behind: vec3f) -> vec3f {
    let is_surface = id >= SURFACE;
    let index = select(id - 1u, 0u, is_surface);
    let surface = look.surfaces[select(0u, id & 15u, is_surface)];
    let sphere = placed[index];
    var p = meet(vec4f(sphere.xyz, max(sphere.w, look.least * sphere.z)), direction);
    var n = normalize(p - sphere.xyz);
    let colour = colours[index];
    var albedo = colour.rgb;
    var cover = colour.a;
    if is_surface {
        n = surface.normal.xyz;
        p = direction * dot(surface.middle.xyz, n) / dot(direction, n);
        // A table is seen full on, where the key light is strongest.
        albedo = select(vec3f(0.72, 0.73, 0.74), vec3f(0.33, 0.36, 0.40), has(PLANAR));
        let fade = surface.middle.w;
        let off = length(p - surface.middle.xyz);
        cover = select(1.0, 1.0 - smoothstep(0.25 * fade, fade, off), fade > 0.0);
    }
    if id >= WALL {
        let facet = wall_at(id, direction);
        n = facet.n;
        p = facet.p;
        albedo = WALL_COLOUR;
        cover = 1.0;
    }
    if has(FLAT) { return mix(behind, albedo, cover); }
    let open = open_at(pixel, p.z);
    let facing = dot(n, look.light.xyz);
    var key = max(facing, 0.0);
    key *= lit(p) * (0.35 + 0.65 * open);
    let up = 0.5 + 0.5 * dot(n, look.zenith.xyz);
    // Sky above, light thrown back by the ground below.
    let ambient = mix(vec3f(0.30, 0.29, 0.28), vec3f(0.60, 0.63, 0.68), up);
    // A touch of light from the eye keeps what is turned away from key and sky round.
    let toward = -normalize(direction);
    let fill = 0.16 * max(dot(n, toward), 0.0);
    let half_way = normalize(look.light.xyz + toward);
    let shine = max(dot(n, half_way), 0.0);
    let shine4 = shine * shine * shine * shine;
    let shine16 = shine4 * shine4 * shine4 * shine4;
    let gloss = select(0.35 * shine16 * shine16 * shine16 * shine16, 0.0, is_surface);
    // Walls throw light at each other: one that is turned from the key light is not dark.
    let bounce = select(0.0, 0.25, is_surface && facing < 0.0);
    let light = (ambient + fill + bounce) * hollow(open, albedo) + 1.25 * key * vec3f(1.0, 0.97, 0.92);
    return mix(behind, albedo * light + gloss * key, cover);
}

@fragment
fn shade(@builtin(position) position: vec4f) -> @location(0) vec4f {
    let pixel = vec2i(position.xy);
    let direction = ray(position.xy);
    var samples: array<u32, 4>;
    var left = 0u;
    for (var s = 0u; s < 4u; s++) {
        samples[s] = unpack(textureLoad(ids, pixel, i32(s)).xy);
        left |= select(0u, 1u << s, samples[s] != 0u);
    }
    let behind = background(direction);
    // The mean is taken of what the eye sees, near enough of square roots: else a bright thing's edge is not smooth.
    var sum = f32(4u - countOneBits(left)) * press(behind);
    while left != 0u {
        let id = samples[firstTrailingBit(left)];
        var same = 0u;
        for (var s = 0u; s < 4u; s++) { same |= select(0u, 1u << s, samples[s] == id); }
        left &= ~same;
        sum += f32(countOneBits(same)) * press(seen(id, position.xy, direction, behind));
    }
    let mean = 0.0625 * sum * sum;
    return vec4f(select(to_srgb(mean), mean, has(ENCODED)), 1.0);
}

fn press(colour: vec3f) -> vec3f { return sqrt(max(select(tone(colour), colour, has(FLAT)), vec3f(0.0))); }
