// Light and colour, once for each thing that a pixel sees.

@group(1) @binding(0) var<storage, read> placed: array<vec4f>;
@group(1) @binding(1) var<storage, read> values: array<f32>;
@group(1) @binding(2) var ids: texture_multisampled_2d<u32>;

@vertex
fn screen(@builtin(vertex_index) vertex: u32) -> @builtin(position) vec4f {
    // One triangle over all of the picture.
    return vec4f(f32(vertex & 1u) * 4.0 - 1.0, f32(vertex >> 1u) * 4.0 - 1.0, 0.5, 1.0);
}

fn to_linear(c: vec3f) -> vec3f {
    return select(pow((c + 0.055) / 1.055, vec3f(2.4)), c / 12.92, c <= vec3f(0.04045));
}

fn to_srgb(c: vec3f) -> vec3f {
    return select(1.055 * pow(c, vec3f(1.0 / 2.4)) - 0.055, 12.92 * c, c <= vec3f(0.0031308));
}

// In sRGB.
fn colour_of(value: f32) -> vec3f {
    if look.colour == 2u { return look.materials[u32(value) % 8u].rgb; }
    let t = clamp((value - look.range.x) / max(look.range.y - look.range.x, 1e-30), 0.0, 1.0);
    var sum = look.map[6].rgb;
    for (var k = 5; k >= 0; k--) { sum = sum * t + look.map[k].rgb; }
    return clamp(sum, vec3f(0.0), vec3f(1.0));
}

fn background(pixel: vec2f) -> vec3f {
    return mix(vec3f(0.93, 0.94, 0.96), vec3f(0.70, 0.74, 0.80), pixel.y / look.size.y);
}

fn sphere_colour(index: u32, direction: vec3f) -> vec3f {
    let sphere = placed[index];
    let base = colour_of(values[index]);
    if (look.flags & FLAT) != 0u { return base; }
    let square = dot(direction, direction);
    let along = dot(sphere.xyz, direction) / square;
    let off = sphere.xyz - along * direction;
    let t = along - sqrt(max(sphere.w * sphere.w - dot(off, off), 0.0) / square);
    let normal = normalize(t * direction - sphere.xyz);
    let key = max(dot(normal, look.light.xyz), 0.0);
    let sky = 0.5 + 0.5 * dot(normal, look.zenith.xyz);
    return to_srgb(min(to_linear(base) * (0.25 + 0.35 * sky + 0.7 * key), vec3f(1.0)));
}

@fragment
fn shade(@builtin(position) position: vec4f) -> @location(0) vec4f {
    let pixel = vec2i(position.xy);
    let direction = ray(position.xy);
    var sum = vec3f(0.0);
    for (var s = 0; s < 4; s++) {
        let id = textureLoad(ids, pixel, s).xy;
        let index = id.x | (id.y << 16u);
        if index == 0u { sum += background(position.xy); } else { sum += sphere_colour(index - 1u, direction); }
    }
    return vec4f(0.25 * sum, 1.0);
}
