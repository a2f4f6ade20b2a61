// Impacts of spheres on walls. Twin: src/cpu/collide/wall.rs, which gives the reasons.

// `partner` numbers the planes first, then the wall features.
fn encounter_of_wall(a: ptr<function, ImpactBody>, partner: u32, t: f32) -> Encounter {
    let wall = partner & ~WALL;
    if HAS_SHAPES && wall >= wall_count() { return encounter_of_feature(a, partner, t); }
    return encounter_of_plane(a, partner, t);
}

fn encounter_of_plane(a: ptr<function, ImpactBody>, partner: u32, t: f32) -> Encounter {
    let wall = wall_of(partner & ~WALL);
    let normal = wall.normal;
    let g = wall.acceleration;
    let height = dot(normal, cells_shift(tags[(*a).i].cell - wall.cell) + ((*a).body.offset - wall.offset));
    let gap = (height + (0.5 * g * t - wall.speed) * t) - (*a).body.radius;
    var wall_velocity = vec3f(0.0);
    if HAS_SHAPES && wall.mover != 0u {
        wall_velocity = wall_velocity_at(wall.mover, impact_body_at(a, t), normal * (*a).body.radius);
    }
    // The frame falls along the plane too; across the plane the difference matters.
    let w = ((*a).body.velocity + normal * (g * t)) - wall_velocity;
    let slide = ((*a).body.velocity + frame.gravity * t) - wall_velocity;
    return Encounter(partner, true, false, false, normal, 1.0, 1.0, w, slide, gap, -g, wall.material, wall.number, wall_velocity, wall.mover != 0u);
}

fn encounter_of_feature(a: ptr<function, ImpactBody>, partner: u32, t: f32) -> Encounter {
    let p = feature_at((partner & ~WALL) - wall_count());
    let touch = touch_of(p, impact_body_at(a, t));
    let towards = touch.bend - dot(touch.normal, frame.gravity);
    let w = ((*a).body.velocity + frame.gravity * t) - touch.wall_velocity;
    return Encounter(partner, true, true, false, touch.normal, 1.0, 1.0, w, w, touch.gap, towards, p.material, p.wall, touch.wall_velocity, p.mover != 0u);
}

// The sphere at time t, in the lab frame.
fn impact_body_at(a: ptr<function, ImpactBody>, t: f32) -> Instant {
    let g = frame.gravity;
    let body = (*a).body;
    return Instant(tags[(*a).i].cell, body.offset + g * (0.5 * t * t), body.velocity + g * t, body.radius, t);
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

// Adds the change of a sphere's velocity in an impact to the loads on the wall.
fn load_wall(a: ptr<function, ImpactBody>, encounter: Encounter, change: vec3f, t: f32) {
    let push = change / (*a).body.inverse_mass;
    let o = impact_body_at(a, t);
    feel_wall(encounter.wall, push, vec3f(0.0), encounter.wall_velocity, vec3f(0.0), o.cell, o.offset - encounter.d * o.radius);
}
