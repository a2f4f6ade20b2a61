// Computes the colour of every sphere in linear light, and its opacity.

@group(1) @binding(0) var<storage, read> placed: array<vec4f>;
@group(1) @binding(1) var<storage, read> values: array<f32>;
// The ends of the map.
@group(1) @binding(2) var<storage, read> range: array<f32, 4>;
@group(1) @binding(3) var<storage, read_write> colours: array<vec4f>;

fn to_linear(c: vec3f) -> vec3f {
    return select(pow((c + 0.055) / 1.055, vec3f(2.4)), c / 12.92, c <= vec3f(0.04045));
}

// In sRGB.
fn colour_of(value: f32) -> vec3f {
    if look.colour == MATERIAL { return look.materials[u32(value) % 8u].rgb; }
    var t = clamp((value - range[0]) / max(range[1] - range[0], 1e-30), 0.0, 1.0);
    // Spheres struck recently have the upper end of the map.
    if look.colour == IMPACTS { t = 1.0 - t; }
    let at = t * f32(KNOTS - 1u);
    let below = min(u32(at), KNOTS - 2u);
    return mix(look.map[below].rgb, look.map[below + 1u].rgb, at - f32(below));
}

@compute @workgroup_size(GROUP)
fn paint(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let i = id.y * groups.x * GROUP + id.x;
    if i >= look.sphere_count { return; }
    // A sphere drawn larger than it is becomes transparent, but never completely.
    let part = placed[i].w / max(look.least * placed[i].z, 1e-30);
    let cover = select(clamp(part * part, LEAST_COVER, 1.0), 1.0, part <= 0.0);
    colours[i] = vec4f(to_linear(colour_of(values[i])), cover);
}

const LEAST_COVER: f32 = 0.5;
