// Position of spheres relative to wall features. Twin: src/cpu/feature.rs, which gives the reasons.

// Position of a sphere relative to a wall.
struct Touch {
    gap: f32,
    // Unit vector from the wall to the sphere, in the lab frame.
    normal: vec3f,
    // Velocity of the wall's surface at the nearest point.
    wall_velocity: vec3f,
    // Acceleration of the surface towards the sphere, caused by its curvature at the sphere's velocity.
    bend: f32,
    // Another feature of the same surface is nearer.
    is_shadowed: bool,
}

// Sphere i at time t on its present line, in the lab frame.
fn instant_of(i: u32, t: f32) -> Instant {
    let g = frame.gravity;
    return Instant(tags[i].cell, offset_at(i, t) + g * (0.5 * t * t), bodies[i].velocity + g * t, bodies[i].radius, t);
}

// Sphere i with its present position and velocity, at a time that differs from its clock.
fn instant_at(i: u32, t: f32) -> Instant {
    let body = bodies[i];
    return Instant(tags[i].cell, body.offset, body.velocity, body.radius, t);
}

// Velocity of the surface of a moving wall at the point `below` the sphere's centre.
fn wall_velocity_at(mover: u32, o: Instant, below: vec3f) -> vec3f {
    let wall_velocity = wall_velocity_of(mover);
    return wall_velocity.velocity + cross(wall_velocity.spin, arm_of(wall_velocity, o.cell, o.offset, o.t) - below);
}

fn bend_of(p: WallFeature, s: Sight, near: Near, radius: f32) -> f32 {
    if p.kind == KIND_CAP {
        if dot(near.normal, s.x) >= 0.0 { return 0.0; }
        let across = s.w - near.normal * dot(near.normal, s.w);
        return dot(across, across) / max(length(s.x), 0.5 * radius);
    }
    if p.kind == KIND_FRUSTUM {
        let axis = world_row(p.at + 3u).xyz;
        let out = s.x - axis * dot(axis, s.x);
        let far = length(out);
        if far == 0.0 { return 0.0; }
        let inward = -dot(near.normal, out) / far;
        let around = dot(cross(axis, out), s.w) / far;
        return max(inward, 0.0) * around * around / max(far, 0.5 * radius);
    }
    return 0.0;
}

// Contact on another side of a narrow pipe, a third of the circumference to the left (1) or right (2) of the nearest point;
// shadowed if there is none.
fn near_side(p: WallFeature, x: vec3f, side: u32) -> Near {
    let none = Near(0.0, vec3f(0.0), true);
    if p.kind != KIND_FRUSTUM { return none; }
    let frustum = frustum_at(p);
    let place = place_by(frustum.axis, x);
    var across = vec2f(-frustum.along.y, frustum.along.x);
    let start = place.at - frustum.start;
    if dot(across, start) < 0.0 { across = -across; }
    let s = dot(start, frustum.along);
    if across.x >= 0.0 || s <= 0.0 || s >= frustum.length { return none; }
    let turn = select(-0.8660254, 0.8660254, side == 1u);
    let out = place.out * -0.5 + cross(frustum.axis, place.out) * turn;
    let there = vec2f(-0.5 * place.at.x, place.at.y) - frustum.start;
    let along = dot(there, frustum.along);
    if along <= 0.0 || along >= frustum.length { return none; }
    return Near(dot(across, there), out * across.x + frustum.axis * across.y, false);
}

// Position of a sphere relative to one side of a wall feature; shadowed if the feature has no such side.
fn touch_side(p: WallFeature, o: Instant, side: u32) -> Touch {
    let s = sight_of(p, o, frame.gravity);
    var near = near_of(p, s.x);
    if side != 0u { near = near_side(p, s.x, side); }
    let normal = out_of(p, near.normal, o.t);
    var wall_velocity = vec3f(0.0);
    if p.mover != 0u { wall_velocity = wall_velocity_at(p.mover, o, normal * near.distance); }
    return Touch(near.distance - o.radius, normal, wall_velocity, bend_of(p, s, near, o.radius), near.is_shadowed);
}

fn touch_of(p: WallFeature, o: Instant) -> Touch { return touch_side(p, o, 0u); }

// Deepening of sphere i and a wall feature, in diameters.
fn overlap_of_feature_ahead(i: u32, p: WallFeature) -> Deepening {
    var overlap = vec2f(0.0);
    for (var k = 0u; k < 2u; k++) {
        let t = touch_of(p, instant_of(i, select(frame.h, nodes[i].clock, k == 0u)));
        if !t.is_shadowed { overlap[k] = -t.gap / (2.0 * bodies[i].radius); }
    }
    return Deepening(overlap.x, overlap.y);
}

// The wall features in the list of sphere i.
fn listed_features(i: u32) -> Seeker {
    let o = vec3f(0.0);
    let none = frame.set_count;
    return Seeker(list_end(i), feature_end(i), none, 0u, 0u, 0u, 0u, o, o, vec3i(0), o, o, vec2f(0.0), 0.0, 0.0, 0u);
}

// The wall features that sphere i could meet in the substep.
fn features_of(i: u32) -> Seeker {
    if nodes[i].walk == 0u { return listed_features(i); }
    let start = instant_of(i, nodes[i].clock);
    let to = instant_of(i, frame.h);
    let h = frame.h;
    // Margins: the path falls below its chord, and a turning wall sweeps over an arc.
    let reach = (start.radius + frame.slop) * 1.001 + 0.125 * length(frame.gravity) * h * h;
    return seek(start.cell, start.offset, to.offset, vec2f(start.t, to.t), reach, h);
}

// Advances to the next feature whose wall is present; false at the end.
fn next_feature(seeker: ptr<function, Seeker>) -> bool {
    var more = true;
    var absent = true;
    while more && absent {
        if (*seeker).at < (*seeker).end {
            (*seeker).found = lists[(*seeker).at];
            (*seeker).at += 1u;
        } else {
            more = seek_next(seeker);
        }
        absent = more && !is_there(feature_at((*seeker).found).wall);
    }
    return more;
}

// Unit vector from a wall to sphere i at time t; planes are numbered first, then wall features.
fn normal_of_wall(i: u32, wall: u32, t: f32) -> vec3f {
    if HAS_SHAPES && wall >= wall_count() { return touch_of(feature_at(wall - wall_count()), instant_of(i, t)).normal; }
    return wall_of(wall).normal;
}

// Number, among all walls, of a plane or of the wall of a feature.
fn number_of_wall(wall: u32) -> u32 {
    if HAS_SHAPES && wall >= wall_count() { return feature_at(wall - wall_count()).wall; }
    return wall_of(wall).number;
}
