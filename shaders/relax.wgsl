// Stage `relax`: pushes apart spheres that still overlap, by position only, and finds the deepest overlap at the end of the
// substep.
// Twin: src/cpu/relax.rs.

// Overlap along `normal`, towards the sphere, in mean diameters of the pair.
struct Overlap {
    normal: vec3f,
    depth: f32,
    diameter: f32,
}

fn pair_overlap(i: u32, offset: vec3f, radius: f32, j: u32, shift: vec3f) -> Overlap {
    let d = (offset - bodies[j].offset) - shift;
    let square = dot(d, d);
    // Most pairs are apart whatever the partner's radius.
    let most = radius + frame.radius_max;
    if square >= most * most { return Overlap(vec3f(0.0), 0.0, most); }
    let sum = radius + bodies[j].radius;
    if square >= sum * sum { return Overlap(vec3f(0.0), 0.0, sum); }
    let distance = sqrt(square);
    // Coincident centres separate along x, the smaller index to the right.
    var normal = vec3f(select(-1.0, 1.0, i < j), 0.0, 0.0);
    if distance > 0.0 { normal = d / distance; }
    return Overlap(normal, (sum - distance) / sum, sum);
}

fn wall_overlap(i: u32, plane: u32) -> Overlap {
    let wall = wall_of(plane);
    let radius = bodies[i].radius;
    if !wall.there { return Overlap(wall.normal, 0.0, 2.0 * radius); }
    let gap = dot(wall.normal, from_wall(wall, i)) - wall.speed * frame.h - radius;
    return Overlap(wall.normal, max(-gap, 0.0) / (2.0 * radius), 2.0 * radius);
}

fn feature_overlap(i: u32, number: u32) -> Overlap {
    let radius = bodies[i].radius;
    let touch = touch_of(feature_at(number), instant_at(i, frame.h));
    return Overlap(touch.normal, select(max(-touch.gap, 0.0) / (2.0 * radius), 0.0, touch.is_shadowed), 2.0 * radius);
}

fn meets_wall(i: u32, plane: u32) -> bool { return (walls_of(i) & (1u << min(plane, 31u))) != 0u; }

// The partner of a fast sphere may be in its list as well.
fn is_listed(i: u32, dynamic: Cursor) -> bool {
    if dynamic.link < CODES { return false; }
    for (var at = list_begin(i); at < list_end(i); at++) {
        let c = candidate(at);
        if c.other == dynamic.other && all(c.shift == dynamic.shift) { return true; }
    }
    return false;
}

var<workgroup> deepest_of_group: atomic<u32>;

// Depths are not negative, so their bits have the same order.
fn deepest(wanted: bool, id: u32, lane: u32, threads: u32, result: u32) {
    var depth = 0.0;
    var in_wall = 0.0;
    if wanted {
        for (var i = id; i < frame.sphere_count; i += threads) {
            let offset = bodies[i].offset;
            let radius = bodies[i].radius;
            var cursor = candidates(i);
            while next(&cursor) {
                // A pair is in both lists.
                if i < cursor.other {
                    depth = max(depth, pair_overlap(i, offset, radius, cursor.other, cursor.shift).depth);
                }
            }
            for (var plane = 0u; HAS_WALLS && plane < wall_count(); plane++) {
                if !meets_wall(i, plane) { continue; }
                let found = wall_overlap(i, plane).depth;
                // Fixed spheres may overlap planes.
                if bodies[i].inverse_mass > 0.0 { in_wall = max(in_wall, found); } else { depth = max(depth, found); }
            }
            if HAS_SHAPES && bodies[i].inverse_mass > 0.0 {
                var seeker = features_of(i);
                while next_feature(&seeker) { in_wall = max(in_wall, feature_overlap(i, seeker.found).depth); }
            }
        }
    }
    // Rare: the host looks up the wall.
    if in_wall > CRUSHED { atomicMax(&work[DEEPEST_CRUSHED], bitcast<u32>(in_wall)); }
    depth = max(depth, in_wall);
    if depth > 0.0 { atomicMax(&deepest_of_group, bitcast<u32>(depth)); }
    workgroupBarrier();
    if lane == 0u {
        let found = atomicLoad(&deepest_of_group);
        if found > 0u { atomicMax(&work[result], found); }
    }
}

@compute @workgroup_size(GROUP)
fn relax_deepest(
    @builtin(global_invocation_id) id: vec3u,
    @builtin(num_workgroups) groups: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    begin(groups);
    // Without a push the report reads this result; a substep that needs one is repeated.
    let result = select(DEEPEST_BEFORE + push_of_dispatch(), DEEPEST, is_last_dispatch());
    deepest(!is_halted(), id.x, lane, groups.x * GROUP, result);
    if is_last_dispatch() && lane == 0u && bitcast<f32>(atomicLoad(&deepest_of_group)) > RELAX_FROM { halt(HALT_ITERATIONS); }
    check_loops();
}

fn is_last_dispatch() -> bool { return ((round_of_dispatch.number | opaque_zero) & LAST_PUSH) != 0u; }

fn push_of_dispatch() -> u32 { return (round_of_dispatch.number | opaque_zero) & (LAST_PUSH - 1u); }

// Number of the first push of a substep.
fn first_push() -> u32 { return select(RELAX_PUSHES - 1u, 0u, HAS_REST); }

fn deepest_before(push: u32) -> f32 { return bitcast<f32>(atomicLoad(&work[DEEPEST_BEFORE + push])); }

// Whether the push of this dispatch moves spheres: the first one if any overlap is deeper than RELAX_FROM, each further one
// if any is still deep and the last pushes have changed the deepest.
fn is_needed() -> bool {
    let push = push_of_dispatch();
    let depth = deepest_before(push);
    if is_halted() || depth <= select(DEEP, RELAX_FROM, push == first_push()) { return false; }
    return push < first_push() + RELAX_PATIENCE || depth != deepest_before(push - RELAX_PATIENCE);
}

// Weight of an overlap in the mean of the corrections of its sphere. `size` is the diameter of the sphere over the mean diameter of the
// pair, and 1 for walls.
fn relax_weight(depth: f32, size: f32) -> f32 {
    let relative = depth * PER_RELAX_FROM;
    // Rounded, because a device may divide with an error in the last place.
    let rounded = max(floor(size * RELAX_SIZES + 0.5), 1.0) * (1.0 / RELAX_SIZES);
    let units = floor(relative * relative * rounded * (1.0 / RELAX_WEIGHT_UNIT));
    return min(units, MOST_RELAX_WEIGHT / RELAX_WEIGHT_UNIT) * RELAX_WEIGHT_UNIT;
}

// Correction of each sphere; the next events are free until the next sweep.
@compute @workgroup_size(GROUP)
fn relax_push(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    begin(groups);
    if !is_needed() { return; }
    for (var i = id.x; i < frame.sphere_count; i += groups.x * GROUP) {
        var push = vec3f(0.0);
        let inverse = bodies[i].inverse_mass;
        if inverse > 0.0 {
            var weights = 0.0;
            // From dynamic candidates, in units of `quantum`: the order of these differs from run to run, and a sum of integers does not
            // depend on it.
            var whole = vec3i(0);
            let quantum = frame.radius_max * exp2(-21.0);
            var cursor = candidates(i);
            while next(&cursor) {
                let overlap = pair_overlap(i, bodies[i].offset, bodies[i].radius, cursor.other, cursor.shift);
                if overlap.depth > RELAX_FROM && !is_listed(i, cursor) {
                    let share = inverse / (inverse + bodies[cursor.other].inverse_mass);
                    let weight = relax_weight(overlap.depth, 2.0 * bodies[i].radius / overlap.diameter);
                    let part = overlap.normal * (RELAX_FACTOR * (overlap.depth - RELAX_SLOP) * overlap.diameter * share * weight);
                    if cursor.link < CODES { push += part; } else { whole += vec3i(floor(part / quantum + 0.5)); }
                    weights += weight;
                }
            }
            push += vec3f(whole) * quantum;
            for (var plane = 0u; plane < wall_count(); plane++) {
                if !meets_wall(i, plane) { continue; }
                let overlap = wall_overlap(i, plane);
                if overlap.depth > RELAX_FROM {
                    let weight = relax_weight(overlap.depth, 1.0);
                    push += overlap.normal * (RELAX_FACTOR * (overlap.depth - RELAX_SLOP) * overlap.diameter * weight);
                    weights += weight;
                }
            }
            if HAS_SHAPES {
                var seeker = features_of(i);
                while next_feature(&seeker) {
                    let overlap = feature_overlap(i, seeker.found);
                    if overlap.depth > RELAX_FROM {
                        let weight = relax_weight(overlap.depth, 1.0);
                        push += overlap.normal * (RELAX_FACTOR * (overlap.depth - RELAX_SLOP) * overlap.diameter * weight);
                        weights += weight;
                    }
                }
            }
            if weights > 0.0 { push /= weights; }
        }
        next_events[i].any = VelocityBound(push.x, push.y);
        next_events[i].others = VelocityBound(push.z, 0.0);
    }
    check_loops();
}

@compute @workgroup_size(GROUP)
fn relax_apply(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    begin(groups);
    if !is_needed() { return; }
    for (var i = id.x; i < frame.sphere_count; i += groups.x * GROUP) {
        let push = vec3f(next_events[i].any.time, next_events[i].any.delta_v_bound, next_events[i].others.time);
        if all(push == vec3f(0.0)) { continue; }
        bodies[i].offset += push;
        nodes[i].motion_margin -= length(push);
        nodes[i].relax_work -= dot(frame.gravity, push) / bodies[i].inverse_mass;
    }
    check_loops();
}

// The deepest overlap that a push leaves.
@compute @workgroup_size(GROUP)
fn relax(
    @builtin(global_invocation_id) id: vec3u,
    @builtin(num_workgroups) groups: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    begin(groups);
    let before = DEEPEST_BEFORE + push_of_dispatch();
    // Where few pushes are dispatched, the report reads the result of the last one.
    let is_last = is_last_dispatch();
    let result = select(before + 1u, DEEPEST, is_last);
    deepest(is_needed(), id.x, lane, groups.x * GROUP, result);
    if is_last && lane == 0u && bitcast<f32>(atomicLoad(&deepest_of_group)) > DEEP { halt(HALT_ITERATIONS); }
    if id.x == 0u && !is_halted() && !is_needed() {
        atomicMax(&work[result], atomicLoad(&work[before]));
    }
    check_loops();
}
