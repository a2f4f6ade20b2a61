// Resting contacts as contact constraints on the velocities at the end of the substep. Twins: `ContactConstraint` of
// src/cpu/constraints.rs and `Bodies` of src/cpu/rest/solve.rs, which give the reasons.

struct ContactImpulse {
    // Along the normal, >= 0.
    normal: f32,
    // Friction, in the plane of contact.
    tangent: vec3f,
    // Angular impulse against rolling (in the plane) and twisting (along the normal).
    moment: vec3f,
}

struct ContactConstraint {
    // The other sphere, or a wall with WALL set: planes first, then wall features, with the side of a narrow pipe from
    // SIDE_SHIFT on. The sphere of the smaller rank owns the constraint.
    j: u32,
    // Cells to the partner's image, encoded as in a candidate.
    code: u32,
    // Unit vector from j to i.
    normal: vec3f,
    // Approach speed that closes the gap by the end of the substep, >= 0. Below 0 the partners bounce: minus the speed at
    // which they separate.
    closing: f32,
    // Distance over the radius sum: scales the radii to the arms of the contact point.
    share: f32,
    // Reduced mass along the normal.
    mass: f32,
    impulse: ContactImpulse,
    friction: f32,
    // Times the reduced radius.
    rolling: f32,
    twisting: f32,
    // Velocity of the wall at the contact, and the index of its motion plus 1.
    wall_velocity: vec3f,
    mover: u32,
}

// Approach speed that closes a gap between surfaces within a time. Gaps of the size of rounding count as closed.
fn closing_speed(gap: f32, diameter: f32, time: f32) -> f32 { return select(0.0, gap / time, gap > TOUCHING * diameter); }

// The wall of a constraint, and the side of the wall.
fn wall_of_constraint(j: u32) -> u32 { return j & ((1u << SIDE_SHIFT) - 1u); }
fn side_of_constraint(j: u32) -> u32 { return (j & ~WALL) >> SIDE_SHIFT; }

fn word(at: u32) -> f32 { return bitcast<f32>(pool[at]); }
fn vector(at: u32) -> vec3f { return vec3f(word(at), word(at + 1u), word(at + 2u)); }

fn put_vector(at: u32, v: vec3f) {
    let bits = bitcast<vec3u>(v);
    pool[at] = bits.x;
    pool[at + 1u] = bits.y;
    pool[at + 2u] = bits.z;
}

fn place_of_constraint(constraint: u32) -> u32 { return frame.at_constraints + constraint * CONSTRAINT_STRIDE; }

fn impulse_of(constraint: u32) -> ContactImpulse {
    let at = place_of_constraint(constraint);
    return ContactImpulse(word(at + 8u), vector(at + 9u), vector(at + 12u));
}

fn put_impulse(constraint: u32, impulse: ContactImpulse) {
    let at = place_of_constraint(constraint);
    pool[at + 8u] = bitcast<u32>(impulse.normal);
    put_vector(at + 9u, impulse.tangent);
    put_vector(at + 12u, impulse.moment);
}

fn constraint_at(constraint: u32) -> ContactConstraint {
    let at = place_of_constraint(constraint);
    var wall_velocity = vec3f(0.0);
    var mover = 0u;
    if HAS_SHAPES && (pool[at] & WALL) != 0u {
        wall_velocity = vector(at + 18u);
        mover = pool[at + 21u];
    }
    return ContactConstraint(
        pool[at],
        pool[at + 1u],
        vector(at + 2u),
        word(at + 5u),
        word(at + 6u),
        word(at + 7u),
        impulse_of(constraint),
        word(at + 15u),
        word(at + 16u),
        word(at + 17u),
        wall_velocity,
        mover,
    );
}

fn put_constraint(constraint: u32, r: ContactConstraint) {
    let at = place_of_constraint(constraint);
    pool[at] = r.j;
    pool[at + 1u] = r.code;
    put_vector(at + 2u, r.normal);
    pool[at + 5u] = bitcast<u32>(r.closing);
    pool[at + 6u] = bitcast<u32>(r.share);
    pool[at + 7u] = bitcast<u32>(r.mass);
    put_impulse(constraint, r.impulse);
    pool[at + 15u] = bitcast<u32>(r.friction);
    pool[at + 16u] = bitcast<u32>(r.rolling);
    pool[at + 17u] = bitcast<u32>(r.twisting);
    if HAS_SHAPES && (r.j & WALL) != 0u {
        put_vector(at + 18u, r.wall_velocity);
        pool[at + 21u] = r.mover;
    }
}

// One of the two partners of a constraint; a wall moves with its wall velocity.
struct Partner {
    // At the end of the substep, in the lab.
    velocity: vec3f,
    inverse_mass: f32,
    spin: vec3f,
    // From the centre to the contact point; 5/2 over the radius, 0 for walls.
    arm: f32,
    turn: f32,
}

struct Pair {
    a: Partner,
    b: Partner,
}

fn partner(i: u32, share: f32) -> Partner {
    let body = bodies[i];
    // Negative if the sphere sleeps.
    let still = body.inverse_mass <= 0.0;
    let velocity = select(body.velocity, vec3f(0.0), still);
    return Partner(velocity, max(body.inverse_mass, 0.0), tags[i].spin, body.radius * share, 2.5 / body.radius);
}

fn partners(i: u32, constraint: ContactConstraint) -> Pair {
    var pair = Pair(partner(i, constraint.share), Partner(constraint.wall_velocity, 0.0, vec3f(0.0), 0.0, 0.0));
    if HAS_SHAPES && constraint.mover != 0u { pair.b.spin = wall_velocity_of(constraint.mover).spin; }
    if (constraint.j & WALL) == 0u { pair.b = partner(constraint.j, constraint.share); }
    return pair;
}

fn put_partner(i: u32, p: Partner) {
    if p.inverse_mass > 0.0 {
        bodies[i].velocity = p.velocity;
        tags[i].spin = p.spin;
    }
}

fn put_partners(i: u32, constraint: ContactConstraint, pair: Pair) {
    put_partner(i, pair.a);
    if (constraint.j & WALL) == 0u { put_partner(constraint.j, pair.b); }
}

fn push(pair: ptr<function, Pair>, impulse: vec3f) {
    (*pair).a.velocity += impulse * (*pair).a.inverse_mass;
    (*pair).b.velocity -= impulse * (*pair).b.inverse_mass;
}

// Factor of the inverse moment of inertia 5/2 1/(m r^2), with the arm close to the radius.
fn ease(p: Partner) -> f32 { return 0.4 * p.turn * p.turn * p.arm * p.inverse_mass; }

fn rub(pair: ptr<function, Pair>, normal: vec3f, impulse: vec3f) {
    push(pair, impulse);
    // The arm is -n on one side and n on the other; the impulse changes sign likewise.
    let torque = cross(impulse, normal);
    (*pair).a.spin += torque * ease((*pair).a);
    (*pair).b.spin += torque * ease((*pair).b);
}

fn turnability(p: Partner) -> f32 { return p.turn * p.turn * p.inverse_mass; }

fn twist(pair: ptr<function, Pair>, impulse: vec3f) {
    (*pair).a.spin += impulse * (0.4 * turnability((*pair).a));
    (*pair).b.spin -= impulse * (0.4 * turnability((*pair).b));
}

fn clamped(v: vec3f, most: f32) -> vec3f {
    let square = dot(v, v);
    // A compiler that sees the root would multiply by its inverse, which rounds once more.
    let length = bitcast<f32>(bitcast<u32>(sqrt(square)) | opaque_zero);
    if square > most * most { return v * (most / length); }
    return v;
}

fn largest(v: vec3f) -> f32 { return max(max(abs(v.x), abs(v.y)), abs(v.z)); }

// Whether neither side yields: both sleep, or one sleeps on a fixed partner. The impulse stays.
fn is_still(i: u32, number: u32) -> bool {
    let j = constraint_partner(number);
    return bodies[i].inverse_mass <= 0.0 && ((j & WALL) != 0u || bodies[j].inverse_mass <= 0.0);
}

// Applies the warm-start impulse of a constraint to its spheres.
fn warm_constraint(i: u32, number: u32) {
    if is_still(i, number) { return; }
    let constraint = constraint_at(number);
    if constraint.impulse.normal <= 0.0 { return; }
    var pair = partners(i, constraint);
    push(&pair, constraint.normal * constraint.impulse.normal);
    if constraint.friction > 0.0 { rub(&pair, constraint.normal, constraint.impulse.tangent); }
    if constraint.rolling != 0.0 || constraint.twisting != 0.0 { twist(&pair, constraint.impulse.moment); }
    put_partners(i, constraint, pair);
}

// Solves a constraint for the present velocities; `relaxation` is a factor on the change of the normal impulse. Returns the
// change of its spheres' velocity.
fn solve_constraint(i: u32, number: u32, relaxation: f32) -> f32 {
    if is_still(i, number) { return 0.0; }
    let constraint = constraint_at(number);
    var impulse = constraint.impulse;
    var pair = partners(i, constraint);
    let speed = dot(constraint.normal, pair.a.velocity - pair.b.velocity);
    impulse.normal = max(impulse.normal + (-constraint.closing - speed) * (constraint.mass * relaxation), 0.0);
    // The surfaces part: no normal impulse, no friction.
    if impulse.normal == 0.0 && constraint.impulse.normal == 0.0 { return 0.0; }
    push(&pair, constraint.normal * (impulse.normal - constraint.impulse.normal));
    if constraint.friction > 0.0 {
        let turning = pair.a.spin * pair.a.arm + pair.b.spin * pair.b.arm;
        let surfaces = (pair.a.velocity - pair.b.velocity) - cross(turning, constraint.normal);
        let slip = surfaces - constraint.normal * dot(constraint.normal, surfaces);
        // A tangential impulse also turns a sphere: it moves the surfaces 1 + 5/2 times as far.
        let mass = constraint.mass / (1.0 + 2.5 * constraint.share * constraint.share);
        impulse.tangent = clamped(impulse.tangent - slip * mass, constraint.friction * impulse.normal);
        rub(&pair, constraint.normal, impulse.tangent - constraint.impulse.tangent);
    }
    if constraint.rolling != 0.0 || constraint.twisting != 0.0 {
        let spin = pair.a.spin - pair.b.spin;
        let inertia = 2.5 / (turnability(pair.a) + turnability(pair.b));
        let wanted = impulse.moment - spin * inertia;
        let along = constraint.normal * dot(constraint.normal, wanted);
        impulse.moment = clamped(wanted - along, constraint.rolling * impulse.normal) + clamped(along, constraint.twisting * impulse.normal);
        twist(&pair, impulse.moment - constraint.impulse.moment);
    }
    put_partners(i, constraint, pair);
    put_impulse(number, impulse);
    let pressed = abs(impulse.normal - constraint.impulse.normal);
    let rubbed = largest(impulse.tangent - constraint.impulse.tangent);
    // Expressed as surface velocity: 5/2 of the angular impulse over the radius.
    let turned = largest(impulse.moment - constraint.impulse.moment) * pair.a.turn;
    return max(max(pressed, rubbed), turned) / constraint.mass;
}
