// Impacts of spheres on walls. Twin: src/cpu/collide/wall.rs, which gives the reasons.

// Properties of a wall that an impact needs.
struct WallContact {
    // Number among all walls.
    wall: u32,
    normal: vec3f,
    // Velocity of the wall's surface.
    wall_velocity: vec3f,
    moves: bool,
    // Acceleration of the surface towards the sphere.
    towards: f32,
    material: u32,
    gap: f32,
}

fn contact_of_plane(a: ptr<function, ImpactBody>, plane: u32, t: f32) -> WallContact {
    let wall = wall_of(plane);
    let g = wall.acceleration;
    let height = dot(wall.normal, cells_shift(tags[(*a).i].cell - wall.cell) + ((*a).body.offset - wall.offset));
    let gap = (height + (0.5 * g * t - wall.speed) * t) - (*a).body.radius;
    var wall_velocity = vec3f(0.0);
    if HAS_SHAPES && wall.mover != 0u {
        wall_velocity = wall_velocity_at(wall.mover, impact_body_at(a, t), wall.normal * (*a).body.radius);
    }
    return WallContact(wall.number, wall.normal, wall_velocity, wall.mover != 0u, -g, wall.material, gap);
}

// The sphere at time t, in the lab frame.
fn impact_body_at(a: ptr<function, ImpactBody>, t: f32) -> Instant {
    let g = frame.gravity;
    let body = (*a).body;
    return Instant(tags[(*a).i].cell, body.offset + g * (0.5 * t * t), body.velocity + g * t, body.radius, t);
}

fn contact_of_feature(a: ptr<function, ImpactBody>, number: u32, t: f32) -> WallContact {
    let p = feature_at(number);
    let touch = touch_of(p, impact_body_at(a, t));
    let towards = touch.bend - dot(touch.normal, frame.gravity);
    return WallContact(p.wall, touch.normal, touch.wall_velocity, p.mover != 0u, towards, p.material, touch.gap);
}

// Lets a sphere that slides along a wall leave it at `speed`: its velocity is rotated, and increased only if the sphere is too
// slow for that.
fn turn_off(a: ptr<function, ImpactBody>, w: vec3f, normal: vec3f, approach: f32, speed: f32) {
    let along = w - normal * approach;
    let square = dot(along, along);
    let gain = speed * speed - approach * approach;
    if gain <= 0.0 || square <= gain {
        (*a).body.velocity += normal * (speed - approach);
        (*a).loss -= 0.5 * gain / (*a).body.inverse_mass;
        return;
    }
    // sqrt(1 - x) - 1 without cancellation.
    let share = gain / square;
    let slower = -share / (1.0 + sqrt(1.0 - share));
    (*a).body.velocity += normal * (speed - approach) + along * slower;
}

// `wall` numbers the planes first, then the wall features.
fn wall_impact(a: ptr<function, ImpactBody>, wall: u32, t: f32) {
    // A sphere that rests on one plane and strikes another wall first gets its true velocity.
    let supported = leave_support(a, t);
    let before = (*a).body.velocity;
    var wall_contact: WallContact;
    let is_feature = HAS_SHAPES && wall >= wall_count();
    if is_feature { wall_contact = contact_of_feature(a, wall - wall_count(), t); } else { wall_contact = contact_of_plane(a, wall, t); }
    surface_impact(a, wall, is_feature, supported, wall_contact, t);
    let push = ((*a).body.velocity - before) / (*a).body.inverse_mass;
    let o = impact_body_at(a, t);
    feel_wall(wall_contact.wall, push, vec3f(0.0), wall_contact.wall_velocity, vec3f(0.0), o.cell, o.offset - wall_contact.normal * o.radius);
}

fn surface_impact(a: ptr<function, ImpactBody>, wall: u32, is_feature: bool, supported: bool, wall_contact: WallContact, t: f32) {
    let normal = wall_contact.normal;
    let inverse_mass = (*a).body.inverse_mass;
    // The frame falls along the plane too; across the plane the difference matters.
    let slide = ((*a).body.velocity + frame.gravity * t) - wall_contact.wall_velocity;
    var w = slide;
    if !is_feature { w = ((*a).body.velocity - normal * (wall_contact.towards * t)) - wall_contact.wall_velocity; }
    let approach = dot(normal, w);
    var surface = surface_of(material_of((*a).i), wall_contact.material);
    var returns = 0.0;
    if !is_feature { returns = select(0.0, frame.contact_time, surface.restitution < 1.0 || surface.threshold > 0.0); }
    let may_rest = wall_contact.towards > 0.0 && (is_feature || wall < 255u);
    if may_rest && rests(-approach, wall_contact.towards, (*a).body.radius, returns) {
        if HAS_REST && surface.restitution < 1.0 && convert_to_resting(a, WALL | wall, normal, approach) { return; }
        if is_feature {
            turn_off(a, w, normal, approach, LEAST_GRAVITY_REBOUND * wall_contact.towards * frame.h);
            return;
        }
        if supported || wall_contact.moves {
            // In a groove the sphere would need a chord along both planes; it hops off the second and stays on the first. A
            // moving wall does not carry spheres along a chord.
            rebound(a, normal, -approach, wall_contact.towards * frame.h);
            return;
        }
        // In the falling frame the plane accelerates: take the chord of its path to the end of the substep.
        let chord = 0.5 * wall_contact.towards * (frame.h + t);
        (*a).body.velocity += normal * (chord - dot(normal, (*a).body.velocity));
        (*a).support = wall + 1u;
        (*a).loss += 0.5 * approach * approach / inverse_mass;
        return;
    }
    if approach >= 0.0 { return; }
    if is_late((*a).i, WALL, t, wall_contact.gap) { atomicAdd(&work[LATE_COUNT], 1u); }
    // Exception: a moving wall can press a sphere that cannot move away, and elastic impacts on the wall would add energy
    // without limit.
    let age = select(t - (*a).last_contact, NO_IMPACT, wall_contact.moves);
    let e = soften(&surface, -approach, age);
    let j = impulse(normal, w, inverse_mass, e, length(w));
    var push = j;
    if surface.friction > 0.0 {
        let radius = (*a).body.radius;
        push += rub(surface.friction, j, normal * radius, slide, radius, a, 0u, 0.0, 0.0);
    }
    (*a).body.velocity += push * inverse_mass;
    atomicAdd(&work[WALL_COUNT], 1u);
    if HAS_REST {
        if surface.restitution < 1.0 { count_hit((*a).i, WALL | wall); }
        (*a).loss += along_chord((*a).i, push);
    }
    (*a).loss += energy_lost(1.0 / inverse_mass, e, approach, 1.0);
    let point = (*a).body.offset - normal * (*a).body.radius;
    record(*a, t, tags[(*a).i].rank, WALL | wall_contact.wall, point, normal, length(j));
}
