// Time of impact of spheres on wall features, by conservative advancement. Twins: src/cpu/feature.rs and
// src/walls/features/shape.rs, which give the reasons.

// Time at which a point at height `gap` above a plane reaches the plane.
fn tangent_time(gap: f32, rate: f32) -> f32 {
    if rate < 0.0 { return gap / -rate; }
    return NO_IMPACT;
}

// The smallest root > 0 of a s^2 + 2 b s + c with c > 0, given the square root of the discriminant.
fn known_root(a: f32, b: f32, c: f32, root: f32) -> f32 {
    let below = root - b;
    if (a >= 0.0 && b >= 0.0) || below <= 0.0 { return NO_IMPACT; }
    return c / below;
}

fn first_root(a: f32, b: f32, c: f32) -> f32 {
    let q = b * b - a * c;
    if q < 0.0 { return NO_IMPACT; }
    return known_root(a, b, c, sqrt(q));
}

fn frustum_time(frustum: Frustum, x: vec3f, w: vec3f, near: Near, gap: f32) -> f32 {
    let place = place_by(frustum.axis, x);
    let outward = dot(near.normal, place.out);
    let upward = dot(near.normal, frustum.axis);
    if outward >= 0.0 { return tangent_time(gap, dot(near.normal, w)); }
    let rise = upward * dot(frustum.axis, w);
    let level = w - frustum.axis * dot(frustum.axis, w);
    let inward = -outward;
    let far = place.at.x;
    let square = inward * inward;
    // start + rise s = inward |out + level s|, the discriminant as a sum of squares.
    let start = gap + inward * far;
    let away = dot(place.out, level);
    let around = dot(level, level) - away * away;
    let c = gap * (gap + 2.0 * inward * far);
    let mixed = start * away - rise * far;
    let root = inward * sqrt(mixed * mixed + max(around, 0.0) * c);
    return known_root(rise * rise - square * dot(level, level), start * rise - square * far * away, c, root);
}

fn cap_time(p: WallFeature, x: vec3f, w: vec3f, radius: f32) -> f32 {
    let own = world_row(p.at + 3u).w;
    let size = length(x);
    let over = size - own;
    let square = dot(w, w);
    let way = dot(x, w);
    let room = own - radius;
    var whole = NO_IMPACT;
    if abs(over) <= radius {
        let q = way * way - square * (size - room) * (size + room);
        if room > 0.0 && way < 0.0 && q > 0.0 { whole = (sqrt(q) - way) / square; }
    } else if over > 0.0 {
        whole = first_root(square, way, (over - radius) * (over + 2.0 * own + radius));
    } else if square >= SMALLEST {
        let c = (size - room) * (size + room);
        whole = sqrt(max(way * way - square * c, 0.0)) / square - way / square;
    }
    if world_row(p.at + 4u).z != 0.0 { return whole; }
    let rim = rim_at(p);
    let near = near_frustum(rim, x);
    let gap = near.distance - radius;
    if gap <= 0.0 { return 0.0; }
    return min(frustum_time(rim, x, w, near, gap), whole);
}

// A time before which a point at x with velocity w does not come nearer than `radius`.
fn safe_time(p: WallFeature, s: Sight, near: Near, radius: f32) -> f32 {
    let gap = near.distance - radius;
    if gap <= 0.0 { return 0.0; }
    if p.kind == KIND_FRUSTUM { return frustum_time(frustum_at(p), s.x, s.w, near, gap); }
    if p.kind == KIND_CAP { return cap_time(p, s.x, s.w, radius); }
    return tangent_time(gap, dot(near.normal, s.w));
}

// Time at which a point that leaves the surface it touches returns to it, perhaps on the other side of a pipe.
fn chord_time(p: WallFeature, s: Sight, near: Near) -> f32 {
    if p.kind == KIND_CAP {
        let square = dot(s.w, s.w);
        let way = dot(s.x, s.w);
        if dot(near.normal, s.x) < 0.0 && way <= 0.0 && square >= SMALLEST { return -2.0 * way / square; }
    }
    if p.kind == KIND_FRUSTUM {
        let axis = world_row(p.at + 3u).xyz;
        let place = place_by(axis, s.x);
        let inward = -dot(near.normal, place.out);
        let rise = dot(near.normal, axis) * dot(axis, s.w);
        let level = s.w - axis * dot(axis, s.w);
        let a = rise * rise - inward * inward * dot(level, level);
        let b = inward * place.at.x * dot(near.normal, s.w);
        if inward > 0.0 && a < 0.0 && b >= 0.0 { return -2.0 * b / a; }
    }
    return NO_IMPACT;
}

// A time without impact; NO_IMPACT if there is none within `left`. The second estimate reduces the gap by the path that the
// acceleration may add.
fn advance_by(p: WallFeature, s: Sight, near: Near, radius: f32, left: f32) -> f32 {
    let gap = near.distance - radius;
    let k = s.acceleration;
    var lost = 0.0;
    var least = NO_IMPACT;
    var time = 0.0;
    for (var look = 0u; look < 2u; look++) {
        time = safe_time(p, s, near, radius + lost);
        if look == 1u || k == 0.0 { break; }
        let span = min(time, left);
        lost = 0.5 * k * span * span;
        if lost > 0.5 * gap {
            lost = 0.5 * gap;
            least = sqrt(gap / k);
        }
    }
    time = min(time, least);
    return select(NO_IMPACT, time, time < left);
}

// Time at which a sphere that touches a wall feature and leaves it returns; 0 if it does not leave; NO_IMPACT if it never
// returns.
fn return_time(p: WallFeature, s: Sight, near: Near, rate: f32) -> f32 {
    var pull = -dot(near.normal, frame.gravity);
    if p.turns { pull = s.acceleration; }
    let chord = chord_time(p, s, near);
    if rate == 0.0 { return select(NO_IMPACT, 0.0, pull > 0.0 || chord == 0.0); }
    if pull <= 0.0 { return chord; }
    // The limits of the quotient for a chord of zero and of infinite length.
    if chord == 0.0 { return 0.0; }
    return rate / (select(rate / chord, 0.0, chord >= NO_IMPACT) + 0.5 * pull);
}

// Time of impact of sphere i on a wall feature before the end of the substep, and the approach speed.
fn feature_contact(i: u32, p: WallFeature) -> Contact {
    let h = frame.h;
    var t = nodes[i].clock;
    var last = NO_CONTACT;
    for (var k = 0u; k < ADVANCES; k++) {
        let o = instant_of(i, t);
        let s = sight_of(p, o, frame.gravity);
        let near = near_of(p, s.x);
        let rate = dot(near.normal, s.w);
        let gap = near.distance - o.radius;
        let touching = gap <= TOUCHING * o.radius + BLUR * length(s.x);
        var step = 0.0;
        if touching && near.is_shadowed {
            step = LOOK_AGAIN * o.radius / max(length(s.w), SMALLEST);
        } else if touching {
            if rate < 0.0 { return Contact(t, -rate); }
            step = return_time(p, s, near, rate);
        } else {
            step = advance_by(p, s, near, o.radius, h - t);
            last = NO_CONTACT;
            if rate < 0.0 && !near.is_shadowed && gap < max(frame.slop, 1e-3 * o.radius) { last = Contact(t, -rate); }
        }
        if step >= NO_IMPACT { return NO_CONTACT; }
        if step == 0.0 { return Contact(t, 0.0); }
        t += step;
        if t >= h { return NO_CONTACT; }
    }
    // Touching and still approaching: an impact.
    return last;
}

// Whether a contact constraint holds sphere i on a wall feature, so that there is no impact.
fn feature_holds(i: u32, number: u32, touch: Touch) -> bool {
    let is_constrained = wall_is_constrained(i, wall_count() + number);
    let is_converted = is_feature_converted(i, number);
    let rate = dot(touch.normal, instant_of(i, nodes[i].clock).velocity - touch.wall_velocity);
    if is_converted && is_held(flags_at(place_of_feature(i, number)) & HITS, -rate, 2.0 * bodies[i].radius) { return true; }
    // A sphere that leaves fast, or moves fast along the pipe's circumference, may meet the other side.
    return is_constrained && rate >= -frame.shock && rate + touch.bend * frame.h <= frame.shock;
}

// Considers the wall features that sphere i could meet.
fn consider_features(i: u32, best: ptr<function, Event>) {
    if !HAS_SHAPES { return; }
    var seeker = features_of(i);
    while next_feature(&seeker) {
        let p = feature_at(seeker.found);
        let contact = feature_contact(i, p);
        let partner = WALL | (wall_count() + seeker.found);
        if contact.time >= frame.h { continue; }
        if HAS_REST {
            // Only here, because most features are not met.
            let touch = touch_of(p, instant_of(i, nodes[i].clock));
            if feature_holds(i, seeker.found, touch) { continue; }
            let comes_late = contact.time > 0.0 && is_late(i, partner, contact.time, touch.gap);
            if converts_crowded(i, partner, contact.speed, contact.time, comes_late, 2.0 * bodies[i].radius) { continue; }
        }
        if contact.time < (*best).toi || (contact.time == (*best).toi && precedes(i, partner, (*best).partner)) {
            *best = Event(contact.time, partner, 0u, frame.delta_v_bound * contact.speed);
        }
    }
}
