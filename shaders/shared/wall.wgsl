// What happens where spheres meet walls. Twin: src/cpu/collide/wall.rs, which says why.

// What a wall is to an impact.
struct Blow {
    // Number among all walls.
    wall: u32,
    normal: vec3f,
    // Velocity of the surface.
    drive: vec3f,
    moves: bool,
    // Acceleration towards the sphere.
    towards: f32,
    material: u32,
    gap: f32,
}

fn blow_of_plane(a: ptr<function, Striker>, plane: u32, t: f32) -> Blow {
    let wall = wall_of(plane);
    let g = wall.acceleration;
    let height = dot(wall.normal, cells_shift(tags[(*a).i].cell - wall.cell) + ((*a).body.offset - wall.offset));
    let gap = (height + (0.5 * g * t - wall.speed) * t) - (*a).body.radius;
    var drive = vec3f(0.0);
    if HAS_SHAPES && wall.mover != 0u {
        drive = drive_at(wall.mover, striker_at(a, t), wall.normal * (*a).body.radius);
    }
    return Blow(wall.number, wall.normal, drive, wall.mover != 0u, -g, wall.material, gap);
}

// In the lab.
fn striker_at(a: ptr<function, Striker>, t: f32) -> Instant {
    let g = frame.gravity;
    let body = (*a).body;
    return Instant(tags[(*a).i].cell, body.offset + g * (0.5 * t * t), body.velocity + g * t, body.radius, t);
}

fn blow_of_patch(a: ptr<function, Striker>, number: u32, t: f32) -> Blow {
    let p = patch_at(number);
    let touch = touch_of(p, striker_at(a, t));
    let towards = touch.bend - dot(touch.normal, frame.gravity);
    return Blow(p.wall, touch.normal, touch.drive, p.mover != 0u, towards, p.material, touch.gap);
}

// Lets a sphere that slides along a wall leave it at this speed: its way is turned, not sped up, as far as it is fast enough for that.
fn turn_off(a: ptr<function, Striker>, w: vec3f, normal: vec3f, approach: f32, speed: f32) {
    let along = w - normal * approach;
    let square = dot(along, along);
    let gain = speed * speed - approach * approach;
    if gain <= 0.0 || square <= gain {
        (*a).body.velocity += normal * (speed - approach);
        (*a).loss -= 0.5 * gain / (*a).body.inverse_mass;
        return;
    }
    // sqrt(1 - x) - 1, without the cancellation.
    let share = gain / square;
    let slower = -share / (1.0 + sqrt(1.0 - share));
    (*a).body.velocity += normal * (speed - approach) + along * slower;
}

// `wall` counts the planes first, then the patches.
fn strike_wall(a: ptr<function, Striker>, wall: u32, t: f32) {
    // A sphere that rests on one plane and meets another goes on from its true state.
    let supported = leave_support(a, t);
    let before = (*a).body.velocity;
    var blow: Blow;
    let is_patch = HAS_SHAPES && wall >= wall_count();
    if is_patch { blow = blow_of_patch(a, wall - wall_count(), t); } else { blow = blow_of_plane(a, wall, t); }
    strike_surface(a, wall, is_patch, supported, blow, t);
    let push = ((*a).body.velocity - before) / (*a).body.inverse_mass;
    let o = striker_at(a, t);
    feel_wall(blow.wall, push, vec3f(0.0), blow.drive, vec3f(0.0), o.cell, o.offset - blow.normal * o.radius);
}

fn strike_surface(a: ptr<function, Striker>, wall: u32, is_patch: bool, supported: bool, blow: Blow, t: f32) {
    let normal = blow.normal;
    let inverse_mass = (*a).body.inverse_mass;
    // Along a plane the frame falls as well; across it, as it does.
    let slide = ((*a).body.velocity + frame.gravity * t) - blow.drive;
    var w = slide;
    if !is_patch { w = ((*a).body.velocity - normal * (blow.towards * t)) - blow.drive; }
    let approach = dot(normal, w);
    var surface = surface_of(material_of((*a).i), blow.material);
    var returns = 0.0;
    if !is_patch { returns = select(0.0, frame.contact_time, surface.restitution < 1.0 || surface.threshold > 0.0); }
    let may_rest = blow.towards > 0.0 && (is_patch || wall < 255u);
    if may_rest && rests(-approach, blow.towards, (*a).body.radius, returns) {
        if HAS_REST && surface.restitution < 1.0 && lay_down(a, WALL | wall, normal, approach) { return; }
        if is_patch {
            turn_off(a, w, normal, approach, LEAST_HOP * blow.towards * frame.h);
            return;
        }
        if supported || blow.moves {
            // In a groove: two chords at once would need their edge. Hopping off the second, it stays on the first. And nothing that
            // moves carries along a chord.
            hop_off(a, normal, -approach, blow.towards * frame.h);
            return;
        }
        // In the falling frame the plane accelerates; the chord of its way to the end of the substep.
        let chord = 0.5 * blow.towards * (frame.h + t);
        (*a).body.velocity += normal * (chord - dot(normal, (*a).body.velocity));
        (*a).support = wall + 1u;
        (*a).loss += 0.5 * approach * approach / inverse_mass;
        return;
    }
    if approach >= 0.0 { return; }
    if -blow.gap > frame.slop { atomicAdd(&work[LATE_COUNT], 1u); }
    // But a wall that moves presses what has no room, and elastic impacts on it would pump energy into that without end.
    let age = select(t - (*a).last_contact, NO_IMPACT, blow.moves);
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
    record(*a, t, tags[(*a).i].rank, WALL | blow.wall, point, normal, length(j));
}
