// Finds resting contacts at the start of a substep, with a warm start, and again after the rounds. Twin: `Finder` of
// src/cpu/constraints/find.rs, which gives the reasons.

fn past_count(rank: u32) -> u32 { return atomicLoad(&warm_start[rank_head(rank) + 1u]) & ~RESTED; }
fn has_rested(rank: u32) -> bool { return (atomicLoad(&warm_start[rank_head(rank) + 1u]) & RESTED) != 0u; }
fn warm_start_word(at: u32) -> f32 { return bitcast<f32>(atomicLoad(&warm_start[at])); }

// Sleep timer of a sphere in ticks.
fn sleep_timer(i: u32) -> u32 { return atomicLoad(&warm_start[rank_head(tags[i].rank) + 2u]); }

// Whether the sleep timer of a sphere has run out, never for fixed spheres, and whether half of the time has passed.
fn timer_elapsed(i: u32) -> bool {
    let sleep_timer = sleep_timer(i);
    return sleep_ticks() > 0u && sleep_timer >= SLEEP && sleep_timer < STILL;
}
// Whether a sphere is neither fixed nor asleep at the start of a substep.
fn may_move(i: u32) -> bool { return bodies[i].inverse_mass != 0.0 && !timer_elapsed(i); }
fn is_nearly_asleep(i: u32) -> bool { return sleep_ticks() > 0u && sleep_timer(i) >= SLEEP / 2u; }

fn sleeps(i: u32) -> bool { return timer_elapsed(i) && (atomicLoad(&work[frame.at_stirred + i]) & STIRRED) == 0u; }

// Wakes a sphere and its candidates: `when` is STIRRED for now, WAKES_NEXT for the next batch of iterations.
fn wake_around(i: u32, when: u32) {
    atomicOr(&work[frame.at_stirred + i], when);
    for (var at = list_begin(i); at < list_end(i); at++) { atomicOr(&work[frame.at_stirred + candidate(at).other], when); }
}

// Impulse of the previous substep; `found` is false if no constraint existed. The rest is of a constraint of this substep.
struct Past {
    impulse: ContactImpulse,
    found: bool,
    normal: vec3f,
    closing: f32,
    share: f32,
}

const NO_PAST: Past = Past(ContactImpulse(0.0, vec3f(0.0), vec3f(0.0)), false, vec3f(0.0), 0.0, 0.0);

fn past_impulse(rank: u32, partner: u32) -> Past {
    let first = atomicLoad(&warm_start[rank_head(rank)]);
    let end = first + past_count(rank);
    for (var k = first; k < end; k++) {
        let at = place_of_impulse(k);
        if atomicLoad(&warm_start[at]) != partner { continue; }
        let tangent = vec3f(warm_start_word(at + 2u), warm_start_word(at + 3u), warm_start_word(at + 4u));
        let moment = vec3f(warm_start_word(at + 5u), warm_start_word(at + 6u), warm_start_word(at + 7u));
        return Past(ContactImpulse(warm_start_word(at + 1u), tangent, moment), true, vec3f(0.0), 0.0, 0.0);
    }
    return NO_PAST;
}

// The constraint of this substep with an image of a sphere, or with a wall, whose code is 0.
fn present_constraint(i: u32, j: u32, code: u32) -> Past {
    for (var constraint = constraint_begin(i); constraint < constraint_end(i); constraint++) {
        let at = place_of_constraint(constraint);
        if constraint_partner(constraint) == j && code_of_constraint(at) == code {
            return Past(impulse_of(constraint), true, vector(at), word(at + CLOSING_PLACE), word(at + MASS_PLACE + 1u));
        }
    }
    return NO_PAST;
}

// Rotated into the present contact plane; sleeping spheres keep theirs unrotated.
fn warmed(past: Past, normal: vec3f, scale: f32, stays: bool) -> ContactImpulse {
    if stays { return ContactImpulse(past.impulse.normal * scale, past.impulse.tangent * scale, past.impulse.moment * scale); }
    let tangent = past.impulse.tangent * scale;
    return ContactImpulse(past.impulse.normal * scale, tangent - normal * dot(normal, tangent), past.impulse.moment * scale);
}

// Whether a contact rests at the start of the substep.
fn rests_now(gap: f32, diameter: f32, approach: f32, is_slow: bool, past: Past, both_rested: bool) -> bool {
    // Neighbours in a pile are pressed together; a sphere that only now arrives bounces.
    let in_contact = past.found && (past.impulse.normal > 0.0 || (approach > 0.0 && both_rested));
    return gap <= CONSTRAINT_GAP * diameter && approach <= frame.shock
        && (in_contact || is_slow);
}

// Time from `now` to the end of the substep, for which a constraint limits the approach.
fn left_from(now: f32) -> f32 { return max(frame.h - now, SHORTEST * frame.h); }

fn is_in_contact(i: u32, j: u32) -> bool { return rested(i) > 0.0 || rested(j) > 0.0; }

// The times during which gravity adds to a sphere's velocity in the falling frame until time t, and from then to the end
// of the substep.
fn fall_times(i: u32, t: f32) -> vec2f {
    if bodies[i].inverse_mass == 0.0 { return vec2f(0.0); }
    if rested(i) > 0.0 { return vec2f(frame.h - 0.5 * rested(i), 0.0); }
    return vec2f(t, frame.h - t);
}

fn direction(d: vec3f, distance: f32) -> vec3f {
    if distance > 0.0 { return d / distance; }
    return vec3f(1.0, 0.0, 0.0);
}

// Constraint of sphere i with the candidate at an index of its list; false if none. `again` means after the rounds.
fn pair_constraint(i: u32, at: u32, again: bool, scale: f32, constraint: ptr<function, ContactConstraint>) -> bool {
    let c = candidate(at);
    let j = c.other;
    let rank = tags[i].rank;
    let their_rank = tags[j].rank;
    if their_rank <= rank { return false; }
    let number = surface_number(material_of(i), material_of(j));
    let surface = surface_at(number);
    if surface.restitution >= 1.0 { return false; }
    let inverse_mass = bodies[i].inverse_mass + bodies[j].inverse_mass;
    if inverse_mass == 0.0 { return false; }
    if again {
        let present = present_constraint(i, j, c.link);
        if present.found {
            *constraint = ContactConstraint(j, c.link, present.normal, present.closing, present.share, 1.0 / inverse_mass, present.impulse, number, vec3f(0.0), 0u);
            return true;
        }
    }
    let radius = bodies[i].radius;
    let their_radius = bodies[j].radius;
    let diameter = radius + their_radius;
    var d = (bodies[i].offset - bodies[j].offset) - c.shift;
    var now = 0.0;
    if again {
        let apart = in_lab(i, j, c.shift);
        d = apart.d;
        now = apart.now;
    }
    let square = dot(d, d);
    let farthest = diameter * (1.0 + CONSTRAINT_GAP);
    if !again && square > farthest * farthest { return false; }
    var distance = sqrt(square);
    var normal = direction(d, distance);
    let gap = distance - diameter;
    let relative = bodies[i].velocity - bodies[j].velocity;
    let approach = -dot(normal, relative);
    var closing = closing_speed(gap, diameter, select(frame.h, left_from(now), again));
    var past = NO_PAST;
    if again {
        let is_converted = (c.flags & HITS) > MOST_HITS;
        if !is_converted && !(is_in_contact(i, j) && overlap_ahead(i, j, c.shift).ahead > CONSTRAINT_AHEAD) { return false; }
        has_new_constraint = true;
        new_converted += select(0u, 1u, is_converted);
        if is_converted && approach > 0.0 && now + max(gap, 0.0) / approach <= frame.h && min(pressed(i), pressed(j)) == 0u {
            // One of the partners was in flight: they bounce, if they meet within the substep.
            let time = max(gap, 0.0) / approach;
            let g = dot(frame.gravity, normal);
            let own = fall_times(i, now + time);
            let theirs = fall_times(j, now + time);
            let arrival = max(approach - g * (own.x - theirs.x), 0.0);
            let speed = restitution_at(surface, arrival) * arrival;
            let parting = speed + g * (own.y - theirs.y);
            if speed > frame.slow && parting > 0.0 {
                closing = -parting;
                // A sphere in flight keeps its path until it arrives.
                d += relative * time;
                distance = length(d);
                normal = direction(d, distance);
                let left = bitcast<u32>(left_from(now + time));
                if pressed(i) == 0u { atomicMax(&work[frame.at_bounces + i], left); }
                if pressed(j) == 0u { atomicMax(&work[frame.at_bounces + j], left); }
            }
        }
    } else {
        past = past_impulse(rank, their_rank);
        let both_rested = has_rested(rank) && has_rested(their_rank);
        let is_slow = approach <= frame.slow && approach >= -frame.slow;
        if !rests_now(gap, diameter, approach, is_slow, past, both_rested) { return false; }
    }
    let share = distance / diameter;
    // A sleeping sphere touches one that has moved recently.
    if !again && timer_elapsed(i) != timer_elapsed(j) && !(is_nearly_asleep(i) && is_nearly_asleep(j)) { wake_around(select(j, i, timer_elapsed(i)), STIRRED); }
    let impulse = warmed(past, normal, scale, !again && !may_move(i) && !may_move(j));
    *constraint = ContactConstraint(j, c.link, normal, closing, share, 1.0 / inverse_mass, impulse, number, vec3f(0.0), 0u);
    return true;
}

// Position of a wall relative to a sphere.
struct Side {
    // Encoded as in constraints.
    partner: u32,
    material: u32,
    normal: vec3f,
    gap: f32,
    wall_velocity: vec3f,
    mover: u32,
}

fn side_of_plane(i: u32, plane: u32, again: bool) -> Side {
    let wall = wall_of(plane);
    let gap = dot(wall.normal, from_wall(wall, i)) - bodies[i].radius;
    var wall_velocity = vec3f(0.0);
    if HAS_SHAPES && wall.mover != 0u {
        wall_velocity = wall_velocity_at(wall.mover, instant_now(i, again), wall.normal * bodies[i].radius);
    }
    return Side(WALL | plane, wall.material, wall.normal, gap, wall_velocity, wall.mover);
}

// At the start of a substep every clock counts as 0, whatever its stored value.
fn instant_now(i: u32, again: bool) -> Instant {
    if again { return instant_of(i, nodes[i].clock); }
    return instant_at(i, 0.0);
}

fn wall_constraint(i: u32, side: Side, again: bool, scale: f32, constraint: ptr<function, ContactConstraint>) -> bool {
    let surface = surface_number(material_of(i), side.material);
    if surface_at(surface).restitution >= 1.0 { return false; }
    let j = side.partner;
    let number = wall_of_constraint(j);
    let radius = bodies[i].radius;
    let rank = tags[i].rank;
    var past = NO_PAST;
    if again {
        past = present_constraint(i, j, 0u);
        var is_converted = false;
        var ahead = 0.0;
        if HAS_SHAPES && number >= wall_count() {
            is_converted = is_feature_converted(i, number - wall_count());
            if rested(i) > 0.0 { ahead = overlap_of_feature_ahead(i, feature_at(number - wall_count())).ahead; }
        } else {
            is_converted = is_wall_converted(i, number);
            if rested(i) > 0.0 { ahead = overlap_of_wall_ahead(i, wall_of(number)).ahead; }
        }
        if !past.found && !is_converted && ahead <= CONSTRAINT_AHEAD { return false; }
        has_new_constraint = has_new_constraint || !past.found;
        new_converted += select(0u, 1u, !past.found && is_converted);
    } else {
        past = past_impulse(rank, j);
        let approach = -dot(side.normal, bodies[i].velocity - side.wall_velocity);
        // Square of the speed at which the surfaces would meet. It is the same at any point of a bounce.
        let arrival_squared = approach * approach + 2.0 * max(0.0, -dot(side.normal, frame.gravity)) * max(0.0, side.gap);
        let is_slow = arrival_squared <= frame.slow * frame.slow;
        if !rests_now(side.gap, 2.0 * radius, approach, is_slow, past, has_rested(rank)) { return false; }
    }
    let impulse = warmed(past, side.normal, scale, !again && !may_move(i));
    let left = select(frame.h, left_from(nodes[i].clock), again);
    *constraint = ContactConstraint(j, 0u, side.normal, closing_speed(side.gap, 2.0 * radius, left), 1.0, 1.0 / bodies[i].inverse_mass, impulse, surface,
        side.wall_velocity, side.mover);
    return true;
}

// Whether a constraint was added that did not exist before.
var<private> has_new_constraint: bool;

// Constraints of the present sphere that impacts became.
var<private> new_converted: u32;

// Counts the constraints of sphere i in solving order; with `writes`, also stores them from `first` on.
fn constraints_of(i: u32, again: bool, scale: f32, writes: bool, first: u32) -> u32 {
    var constraint: ContactConstraint;
    var count = 0u;
    let end = list_end(i);
    for (var at = list_begin(i); at < end; at++) {
        if !pair_constraint(i, at, again, scale, &constraint) { continue; }
        if writes {
            put_constraint(first + count, constraint);
            if !again {
                constrain_side(i, constraint.j);
                constrain_side(constraint.j, i);
            }
        }
        count++;
    }
    let walls = lists[frame.at_walls + i];
    if HAS_WALLS && bodies[i].inverse_mass > 0.0 {
        for (var plane = 0u; walls != 0u && plane < wall_count(); plane++) {
            if !is_near_plane(i, plane) || !wall_of(plane).there { continue; }
            if !wall_constraint(i, side_of_plane(i, plane, again), again, scale, &constraint) { continue; }
            if writes { put_constraint(first + count, constraint); }
            count++;
        }
    }
    if HAS_SHAPES && bodies[i].inverse_mass > 0.0 {
        let now = instant_now(i, again);
        var seeker = listed_features(i);
        while next_feature(&seeker) {
            let p = feature_at(seeker.found);
            for (var side = 0u; side < 3u; side++) {
                let touch = touch_side(p, now, side);
                if touch.is_shadowed || touch.gap > 2.0 * CONSTRAINT_GAP * now.radius { break; }
                let partner = WALL | (side << SIDE_SHIFT) | (wall_count() + seeker.found);
                let found = Side(partner, p.material, touch.normal, touch.gap, touch.wall_velocity, p.mover);
                if !wall_constraint(i, found, again, scale, &constraint) { continue; }
                if writes { put_constraint(first + count, constraint); }
                count++;
            }
        }
    }
    return count;
}

// Allocates constraints: the index of the first, or NO_ROOM.
const NO_ROOM: u32 = 0xffffffffu;

fn take_constraints(count: u32) -> u32 {
    let first = atomicAdd(&work[CONSTRAINT_COUNT], count);
    if first + count <= frame.constraint_capacity { return first; }
    overflow(CONSTRAINTS_NEEDED, first + count);
    return NO_ROOM;
}

// Allocates constraints for each lane; all lanes of the workgroup take part.
fn take_constraints_together(count: u32, lane: u32) -> u32 {
    if !SUMS_IN_GROUP {
        var first = 0u;
        if count > 0u { first = take_constraints(count); }
        return first;
    }
    let place = place_in_group(count, lane);
    if lane == 0u { first_of_group = take_constraints(atomicLoad(&total_of_group)); }
    let first = workgroupUniformLoad(&first_of_group);
    return select(first + place, NO_ROOM, first == NO_ROOM);
}

// After the rounds: counts the constraints of sphere i, allocates space if their number grew, and stores them. A single loop
// keeps the inlined code from being duplicated.
fn renew_constraints(i: u32) {
    let before = constraint_end(i) - constraint_begin(i);
    var first = constraint_begin(i);
    var count = 0u;
    has_new_constraint = false;
    for (var k = 0u; k < 2u; k++) {
        if k == 1u && (count > before || has_new_constraint) {
            // The previous constraints are still read meanwhile.
            first = take_constraints(count);
            if first == NO_ROOM { return; }
        }
        new_converted = 0u;
        if k == 0u || count > 0u { count = constraints_of(i, true, 1.0, k == 1u, first); }
    }
    if new_converted > 0u { atomicAdd(&work[CROWDED_COUNT], new_converted); }
    atomicStore(&work[frame.at_constraint_heads + 2u * i], first);
    atomicStore(&work[frame.at_constraint_heads + 2u * i + 1u], count);
}
