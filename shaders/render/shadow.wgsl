// Renders the shadow map: the depth of the sphere nearest to the key light. Here a sphere is a flat disc through its
// centre. The lit half of the sphere is nearer to the light than the disc, so the sphere never casts a shadow on its
// lit half, whatever the precision. No fragment has to compute a depth.

@group(1) @binding(0) var<storage, read> placed: array<vec4f>;

struct Disc {
    @builtin(position) position: vec4f,
    @location(0) place: vec2f,
}

@vertex
fn discs(@builtin(vertex_index) vertex: u32, @builtin(instance_index) i: u32) -> Disc {
    let sphere = placed[i];
    let p = (sphere.xyz - look.stage.xyz) / look.light.w;
    let corner = 2.0 * vec2f(f32(vertex & 1u), f32(vertex >> 1u)) - 1.0;
    var disc: Disc;
    disc.place = corner;
    let centre = vec3f(dot(p, look.light_right.xyz), dot(p, look.light_up.xyz), dot(p, look.light.xyz));
    disc.position = vec4f(centre.xy + corner * sphere.w / look.light.w, 0.5 + 0.5 * centre.z, 1.0);
    return disc;
}

@fragment
fn punch(disc: Disc) {
    if dot(disc.place, disc.place) > 1.0 { discard; }
}
