// Friction in an impact. Twin: src/cpu/collide/friction.rs, which gives the reasons.

// Frictional impulse on sphere a for the normal impulse j; also changes the spins of both partners. The partner's radius and
// inverse mass are 0 for a wall.
fn rub(
    coefficient: f32,
    j: vec3f,
    d: vec3f,
    w: vec3f,
    radius_sum: f32,
    a: ptr<function, ImpactBody>,
    partner: u32,
    radius: f32,
    inverse_mass: f32,
) -> vec3f {
    let own = (*a).body.inverse_mass;
    var rim = tags[(*a).i].spin * (*a).body.radius;
    if inverse_mass > 0.0 { rim += tags[partner].spin * radius; }
    let square = dot(d, d);
    let surfaces = w - cross(rim / radius_sum, d);
    let slip = surfaces - d * (dot(surfaces, d) / square);
    let speed = length(slip);
    let rate = (own + inverse_mass) * (1.0 + 2.5 * (square / (radius_sum * radius_sum)));
    let size = min(coefficient * length(j), speed / rate);
    let result = slip * (-size / speed);
    if speed <= 0.0 || !all_finite(result) { return vec3f(0.0); }
    let twist = cross(result, d) * (2.5 / radius_sum);
    tags[(*a).i].spin += twist * (own / (*a).body.radius);
    if inverse_mass > 0.0 { tags[partner].spin += twist * (inverse_mass / radius); }
    (*a).loss += size * (speed - 0.5 * rate * size);
    return result;
}
