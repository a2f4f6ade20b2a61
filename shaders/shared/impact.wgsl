// Time of impact of spheres on each other and on planes; shared/approach.wgsl has the wall features. Twin:
// src/cpu/sweep.rs.

// Time of an impact, or NO_IMPACT, and the approach speed at that time.
struct Contact {
    time: f32,
    speed: f32,
}

const NO_CONTACT: Contact = Contact(NO_IMPACT, 0.0);

// Time of first contact. d, w: offset and velocity of one centre relative to the other. The formula uses the offset p at the
// closest approach, because b^2 - a c would cancel.
fn first_contact(d: vec3f, w: vec3f, radius_sum: f32) -> Contact {
    let b = dot(d, w);
    if b >= 0.0 { return NO_CONTACT; }
    let distance = length(d);
    let c = (distance - radius_sum) * (distance + radius_sum);
    if c <= 0.0 { return Contact(0.0, -b / distance); }
    let a = dot(w, w);
    // Slower than the square root of the smallest f32: at rest.
    if a < SMALLEST { return NO_CONTACT; }
    let p = d - w * (b / a);
    let q = a * (radius_sum * radius_sum - dot(p, p));
    if q <= 0.0 { return NO_CONTACT; }
    let root = sqrt(q);
    var t = c / (root - b);
    if distance > 4.0 * radius_sum {
        // One Newton step: over a long path the rounding of q shifts the contact more than the rounding of t does.
        let at = d + w * t;
        let far = length(at);
        let slope = dot(at, w);
        if slope < 0.0 { t -= (far - radius_sum) * (far + radius_sum) / (2.0 * slope); }
    }
    return Contact(max(t, 0.0), root / radius_sum);
}

// Time at which a point at height `gap`, with speed v and acceleration a along the normal, reaches the plane next. For a point
// that leaves the plane this is its return.
fn plane_contact(gap: f32, v: f32, a: f32) -> f32 {
    if v < 0.0 {
        if gap <= 0.0 { return 0.0; }
        let q = v * v - 2.0 * a * gap;
        if q < 0.0 { return NO_IMPACT; }
        return 2.0 * gap / (sqrt(q) - v);
    }
    if a < 0.0 {
        let high = max(gap, 0.0);
        return (v + sqrt(v * v - 2.0 * a * high)) / -a;
    }
    return NO_IMPACT;
}

// Impact under constant acceleration g, within `left`: conservative advancement against the tangent plane, which the centre
// reaches no later than the sphere.
fn against_fixed(d: vec3f, v: vec3f, g: vec3f, radius_sum: f32, left: f32) -> Contact {
    var t = 0.0;
    for (var k = 0u; k < ADVANCES; k++) {
        let at = d + v * t + g * (0.5 * t * t);
        let distance = length(at);
        let normal = at / distance;
        let speed = dot(normal, v + g * t);
        let gap = distance - radius_sum;
        let touching = gap <= TOUCHING * radius_sum;
        if touching && speed < 0.0 { return Contact(t, -speed); }
        let step = plane_contact(select(gap, 0.0, touching), speed, dot(normal, g));
        if step >= NO_IMPACT { return NO_CONTACT; }
        if step == 0.0 { return Contact(t, 0.0); }
        t += step;
        if t >= left { return NO_CONTACT; }
    }
    return NO_CONTACT;
}

// Order of simultaneous impacts of sphere i: by (smaller id, larger id), planes last.
fn precedes(i: u32, a: u32, b: u32) -> bool {
    let a_wall = (a & WALL) != 0u;
    let b_wall = (b & WALL) != 0u;
    if a_wall || b_wall { return select(b_wall, a < b, a_wall && b_wall); }
    let own = tags[i].rank;
    let x = tags[a].rank;
    let y = tags[b].rank;
    let low_x = min(own, x);
    let low_y = min(own, y);
    return low_x < low_y || (low_x == low_y && max(own, x) < max(own, y));
}

// The earliest impact found so far; its delta-v bound is computed at the end.
struct Search {
    best: Event,
    speed: f32,
    // Another impact has the same time: their order is not decided yet.
    is_tied: bool,
}

// Raises the impacts in the two bits of a word to those of a converted pair. Only the invocation of the sphere whose list
// this is changes them meanwhile.
fn convert_bits(at: u32, bit: u32) {
    let hits = (atomicLoad(&work[at]) >> bit) & HITS;
    if hits <= MOST_HITS { atomicAdd(&work[at], (MOST_HITS + 1u - hits) << bit); }
}

fn convert_listed(i: u32, j: u32) -> bool {
    var is_listed = false;
    for (var at = list_begin(i); at < list_end(i); at++) {
        if (lists[at] & INDEX_MASK) != j { continue; }
        convert_bits(flags_word(at), flags_bit(at));
        is_listed = true;
    }
    return is_listed;
}

// `wall` counts the planes first, then the wall features. False where impacts are not counted.
fn convert_wall(i: u32, wall: u32) -> bool {
    if HAS_SHAPES && wall >= wall_count() {
        let place = place_of_feature(i, wall - wall_count());
        if place == NOWHERE { return false; }
        convert_bits(flags_word(place), flags_bit(place));
        return true;
    }
    if wall >= COUNTED_PLANES || !is_near_plane(i, wall) { return false; }
    convert_bits(frame.at_wall_hits + i, 2u * wall);
    return true;
}

// Converts an impact in a crowd, or a late one, to a resting contact; true if it was converted. Twin: `converts_crowded` of
// src/cpu/event.rs, which gives the reasons. Each partner converts the entry in its own list.
fn converts_crowded(i: u32, partner: u32, approach: f32, toi: f32, comes_late: bool, diameter: f32) -> bool {
    if bodies[i].inverse_mass == 0.0 { return false; }
    let is_sphere = (partner & WALL) == 0u;
    if comes_late {
        let radius_sum = select(0.5 * diameter, diameter, is_sphere);
        if !(approach * (frame.h - toi) <= LATE_PATH * radius_sum) { return false; }
    } else {
        if !(approach * frame.h <= CROWDED_PATH * diameter) { return false; }
        let own = pressed(i);
        if is_sphere && bodies[partner].inverse_mass > 0.0 {
            let theirs = pressed(partner);
            if !select(own + theirs >= CROWDED_CONTACTS, max(own, theirs) >= HELD_CONTACTS, min(own, theirs) == 0u) { return false; }
        } else if own < HELD_CONTACTS {
            return false;
        }
    }
    var material = 0u;
    if is_sphere {
        material = material_of(partner);
    } else if HAS_SHAPES && (partner & ~WALL) >= wall_count() {
        material = feature_at((partner & ~WALL) - wall_count()).material;
    } else {
        material = wall_of(partner & ~WALL).material;
    }
    if surface_of(material_of(i), material).restitution >= 1.0 { return false; }
    var is_converted = false;
    if is_sphere {
        is_converted = convert_listed(i, partner);
        // A fixed sphere sweeps nothing.
        if is_converted && bodies[partner].inverse_mass == 0.0 { convert_listed(partner, i); }
    } else {
        is_converted = convert_wall(i, partner & ~WALL);
    }
    if is_converted { atomicStore(&work[CONVERTED], 1u); }
    return is_converted;
}

// Time of impact of sphere i on the image of j in the substep. Every quantity of the pair has the same bits, up to its sign,
// for both spheres. With `fresh` all clocks are 0.
fn pair_contact(a: Mover, c: Cursor, fresh: bool) -> Contact {
    let j = c.other;
    var their_clock = 0.0;
    if !fresh { their_clock = nodes[j].clock; }
    let now = max(a.clock, their_clock);
    let velocity = bodies[j].velocity;
    let d = ((a.offset + a.velocity * (now - a.clock)) - (bodies[j].offset + velocity * (now - their_clock))) - c.shift;
    let w = a.velocity - velocity;
    let left = frame.h - now;
    // Without gravity fixed spheres need no special case.
    var is_fixed = false;
    if HAS_FIXED { is_fixed = bodies[j].inverse_mass == 0.0; }
    if !is_fixed && dot(d, w) >= 0.0 { return NO_CONTACT; }
    let radius_sum = a.radius + bodies[j].radius;
    if HAS_REST && is_constrained(c.flags, d, w, radius_sum, is_fixed, now) { return NO_CONTACT; }
    var contact = NO_CONTACT;
    var begin = d;
    if HAS_FIXED && is_fixed {
        // In the lab frame the fixed sphere is at rest and the other sphere falls.
        let g = frame.gravity;
        begin = d + g * (0.5 * now * now);
        contact = against_fixed(begin, w + g * now, g, radius_sum, left);
    } else {
        // Most pairs are still apart and approaching at the end of the substep.
        let end = d + w * left;
        if dot(end, w) < 0.0 && dot(end, end) > radius_sum * radius_sum * (1.0 + 1e-6) { return NO_CONTACT; }
        contact = first_contact(d, w, radius_sum);
    }
    let toi = now + contact.time;
    if contact.time >= NO_IMPACT || toi >= frame.h { return NO_CONTACT; }
    if HAS_REST {
        let comes_late = is_late(a.i, j, toi, length(begin) - radius_sum);
        if converts_crowded(a.i, j, contact.speed, toi, comes_late, radius_sum) { return NO_CONTACT; }
    }
    return Contact(toi, contact.speed);
}

// Keeps the impact on a candidate if it is the earliest so far.
fn keep_earliest(c: Cursor, contact: Contact, search: ptr<function, Search>) {
    (*search).is_tied |= contact.time == (*search).best.toi && is_some((*search).best);
    if contact.time < (*search).best.toi {
        *search = Search(Event(contact.time, c.other, c.link, 0.0), contact.speed, false);
    }
}

fn consider(a: Mover, c: Cursor, fresh: bool, search: ptr<function, Search>) { keep_earliest(c, pair_contact(a, c, fresh), search); }

// Decides between the impacts of sphere i at the earliest time by their order.
fn settle(i: u32, c: Cursor, contact: Contact, search: ptr<function, Search>) {
    if contact.time == (*search).best.toi && precedes(i, c.other, (*search).best.partner) {
        (*search).best.partner = c.other;
        (*search).best.link = c.link;
        (*search).best.delta_v_bound = 0.0;
        (*search).speed = contact.speed;
    }
}

// The event of the impact found. An event from before the search already has its delta-v bound.
fn event_of(a: Mover, search: Search) -> Event {
    var event = search.best;
    if event.delta_v_bound == 0.0 && is_some(event) && (event.partner & WALL) == 0u {
        event.delta_v_bound = frame.delta_v_bound * search.speed * a.inverse_mass / (a.inverse_mass + bodies[event.partner].inverse_mass);
    }
    return event;
}

fn consider_wall(i: u32, plane: u32, best: ptr<function, Event>) {
    if nodes[i].support == plane + 1u { return; }
    let wall = wall_of(plane);
    if !wall.there { return; }
    let t = nodes[i].clock;
    let gap = wall_gap(wall, i);
    let v = gap.y;
    if HAS_REST && ((v >= -frame.shock && wall_is_constrained(i, plane)) || wall_holds(i, plane, -v)) { return; }
    let contact = plane_contact(gap.x, v, wall.acceleration);
    if contact >= NO_IMPACT { return; }
    let toi = t + contact;
    if toi >= frame.h { return; }
    let partner = WALL | plane;
    let speed = abs(v + wall.acceleration * contact);
    if HAS_REST {
        let comes_late = is_late(i, partner, toi, gap.x);
        if converts_crowded(i, partner, speed, toi, comes_late, 2.0 * bodies[i].radius) { return; }
    }
    if toi < (*best).toi || (toi == (*best).toi && precedes(i, partner, (*best).partner)) {
        *best = Event(toi, partner, 0u, frame.delta_v_bound * speed);
    }
}

// Considers the planes that sphere i could meet.
fn consider_walls(i: u32, best: ptr<function, Event>) {
    if HAS_WALLS {
        let walls = walls_of(i);
        for (var plane = 0u; walls != 0u && plane < wall_count(); plane++) {
            if (walls & (1u << min(plane, 31u))) != 0u { consider_wall(i, plane, best); }
        }
    }
}
