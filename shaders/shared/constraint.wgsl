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
    // Number of the pair of materials.
    surface: u32,
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

fn surface_of_constraint(at: u32) -> u32 { return pool[at + SURFACE_PLACE] & SURFACE_MASK; }

// Cells to the partner's image, encoded as in a candidate.
fn code_of_constraint(at: u32) -> u32 { return (pool[at + SURFACE_PLACE] >> SURFACE_BITS) & CODE_MASK; }

fn impulse_of(constraint: u32) -> ContactImpulse {
    let at = place_of_constraint(constraint);
    return ContactImpulse(word(at + IMPULSE_PLACE), vector(at + IMPULSE_PLACE + 1u), vector(at + MOMENT_PLACE));
}

fn put_constraint(constraint: u32, r: ContactConstraint) {
    let at = place_of_constraint(constraint);
    put_vector(at, r.normal);
    pool[at + CLOSING_PLACE] = bitcast<u32>(r.closing);
    pool[at + IMPULSE_PLACE] = bitcast<u32>(r.impulse.normal);
    put_vector(at + IMPULSE_PLACE + 1u, r.impulse.tangent);
    pool[at + MASS_PLACE] = bitcast<u32>(r.mass);
    pool[at + MASS_PLACE + 1u] = bitcast<u32>(r.share);
    pool[at + SURFACE_PLACE] = r.surface | (r.code << SURFACE_BITS);
    put_vector(at + MOMENT_PLACE, r.impulse.moment);
    pool[at + PARTNER_PLACE] = r.j;
    if HAS_SHAPES && (r.j & WALL) != 0u {
        put_vector(at + WALL_VELOCITY_PLACE, r.wall_velocity);
        pool[at + WALL_VELOCITY_PLACE + 3u] = r.mover;
    }
}

// One of the two partners of a constraint; a wall moves with its wall velocity.
struct Partner {
    // At the end of the substep, in the lab.
    velocity: vec3f,
    inverse_mass: f32,
    spin: vec3f,
    // The radius, from the centre to the contact point, and 5/2 over the radius; all 0 for walls.
    radius: f32,
    arm: f32,
    turn: f32,
}

struct Pair {
    a: Partner,
    b: Partner,
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

// Changes the push of a constraint, its normal and its tangential impulse, for the present velocities of its spheres, and applies
// the change. `friction` is the coefficient. `relaxation` is a factor on the change of the normal impulse. Returns the change of the
// velocity, times the mass.
fn press(constraint: ContactConstraint, friction: f32, pair: ptr<function, Pair>, impulse: ptr<function, ContactImpulse>, relaxation: f32) -> f32 {
    let normal_before = constraint.impulse.normal;
    let speed = dot(constraint.normal, (*pair).a.velocity - (*pair).b.velocity);
    (*impulse).normal = max(normal_before + (-constraint.closing - speed) * (constraint.mass * relaxation), 0.0);
    // The surfaces part: no normal impulse, no friction.
    if (*impulse).normal == 0.0 && normal_before == 0.0 { return 0.0; }
    push(pair, constraint.normal * ((*impulse).normal - normal_before));
    let pressed = abs((*impulse).normal - normal_before);
    if friction <= 0.0 { return pressed; }
    let before = constraint.impulse.tangent;
    let turning = (*pair).a.spin * (*pair).a.arm + (*pair).b.spin * (*pair).b.arm;
    let surfaces = ((*pair).a.velocity - (*pair).b.velocity) - cross(turning, constraint.normal);
    let slip = surfaces - constraint.normal * dot(constraint.normal, surfaces);
    // A tangential impulse also turns a sphere: it moves the surfaces 1 + 5/2 times as far.
    let mass = constraint.mass / (1.0 + 2.5 * constraint.share * constraint.share);
    (*impulse).tangent = clamped(before - slip * mass, friction * (*impulse).normal);
    rub(pair, constraint.normal, (*impulse).tangent - before);
    return max(pressed, largest((*impulse).tangent - before));
}

// The same for the angular impulse of a constraint that resists rolling or twisting, after its push: `resistance` to the one and to
// the other, times the reduced radius.
fn roll(constraint: ContactConstraint, resistance: vec2f, pair: ptr<function, Pair>, impulse: ptr<function, ContactImpulse>) -> f32 {
    if (*impulse).normal == 0.0 && constraint.impulse.normal == 0.0 { return 0.0; }
    let before = constraint.impulse.moment;
    let spin = (*pair).a.spin - (*pair).b.spin;
    let inertia = 2.5 / (turnability((*pair).a) + turnability((*pair).b));
    let wanted = before - spin * inertia;
    let along = constraint.normal * dot(constraint.normal, wanted);
    let rolled = clamped(wanted - along, resistance.x * (*impulse).normal);
    (*impulse).moment = rolled + clamped(along, resistance.y * (*impulse).normal);
    twist(pair, (*impulse).moment - before);
    // Expressed as surface velocity: 5/2 of the angular impulse over the radius.
    return largest((*impulse).moment - before) * (*pair).a.turn;
}
