// Shapes of wall features, and the vector from a point to the nearest point of a feature. Twins: src/walls/features/shape.rs,
// which gives the reasons, and `sight` of src/walls/features.rs.

// Position of a wall feature in `world`, and its properties.
struct WallFeature {
    at: u32,
    kind: u32,
    wall: u32,
    material: u32,
    // Index of the mover of its wall, plus 1; 0 for a wall at rest.
    mover: u32,
    // Whether the feature turns with its wall.
    turns: bool,
}

fn feature_at(number: u32) -> WallFeature {
    let at = frame.at_features + FEATURE_ROWS * number;
    let rest = world[at + 2u];
    return WallFeature(at, world[at].w, world[at + 1u].w, rest.x, rest.y, rest.z != 0u);
}

// Motion of a wall in the present substep.
struct WallVelocity {
    cell: vec3i,
    offset: vec3f,
    velocity: vec3f,
    spin: vec3f,
    turn: mat3x3f,
}

// `mover` is the index plus 1.
fn wall_velocity_of(mover: u32) -> WallVelocity {
    let at = frame.at_movers + MOVER_ROWS * (mover - 1u);
    return WallVelocity(
        bitcast<vec3i>(world[at].xyz),
        world_row(at + 1u).xyz,
        world_row(at + 2u).xyz,
        world_row(at + 3u).xyz,
        mat3x3f(world_row(at + 4u).xyz, world_row(at + 5u).xyz, world_row(at + 6u).xyz),
    );
}

// Vector from the pivot at time t to an offset in a cell.
fn arm_of(wall_velocity: WallVelocity, cell: vec3i, offset: vec3f, t: f32) -> vec3f {
    return cells_shift(cell - wall_velocity.cell) + (offset - wall_velocity.offset) - wall_velocity.velocity * t;
}

// Whether a wall is present in this substep.
fn is_there(wall: u32) -> bool { return (world[frame.at_sites + SITE_ROWS * wall + 1u].w & 1u) != 0u; }
// Whether a wall appears or disappears in this step.
fn is_changing(wall: u32) -> bool { return (world[frame.at_sites + SITE_ROWS * wall + 1u].w & 2u) != 0u; }

// Rotates a vector by axis times angle; the angle is at most about half a radian.
fn turned(v: vec3f, by: vec3f) -> vec3f {
    let a = dot(by, by);
    let sine = 1.0 - a * (1.0 / 6.0 - a * (1.0 / 120.0 - a * (1.0 / 5040.0)));
    let cosine = 0.5 - a * (1.0 / 24.0 - a * (1.0 / 720.0 - a * (1.0 / 40320.0)));
    let across = cross(by, v);
    return v + across * sine + cross(by, across) * cosine;
}

// A sphere at one time, in the lab frame.
struct Instant {
    cell: vec3i,
    offset: vec3f,
    velocity: vec3f,
    radius: f32,
    t: f32,
}

// Position and velocity of a sphere in the frame of a wall feature, and a bound on its acceleration.
struct Sight {
    x: vec3f,
    w: vec3f,
    acceleration: f32,
}

// A sphere with acceleration g in the frame of a wall feature.
fn sight_of(p: WallFeature, o: Instant, g: vec3f) -> Sight {
    let place = world_row(p.at + 1u).xyz;
    if p.mover == 0u {
        let cell = bitcast<vec3i>(world[p.at].xyz);
        return Sight(cells_shift(o.cell - cell) + (o.offset - place), o.velocity, length(g));
    }
    let wall_velocity = wall_velocity_of(p.mover);
    let r = arm_of(wall_velocity, o.cell, o.offset, o.t);
    let w = o.velocity - wall_velocity.velocity;
    if !p.turns { return Sight(r - place, w, length(g)); }
    let seen = w - cross(wall_velocity.spin, r);
    let back = wall_velocity.spin * -o.t;
    let rate = length(wall_velocity.spin);
    // Vector times matrix multiplies by the transpose.
    return Sight(
        turned(r, back) * wall_velocity.turn - place,
        turned(seen, back) * wall_velocity.turn,
        length(g) + rate * (2.5 * length(seen) + 1.5 * rate * length(r)),
    );
}

// Rotates a vector from the frame of a wall feature to the lab frame at time t.
fn out_of(p: WallFeature, v: vec3f, t: f32) -> vec3f {
    if p.mover == 0u || !p.turns { return v; }
    let wall_velocity = wall_velocity_of(p.mover);
    return turned(wall_velocity.turn * v, wall_velocity.spin * t);
}

// Vector from the nearest point of a wall feature to a point.
struct Near {
    distance: f32,
    // Unit vector from the nearest point of the feature.
    normal: vec3f,
    // Whether the point lies past an edge where the continuing surface is nearer.
    is_shadowed: bool,
}

// Surface of revolution of a line segment, given by distances from the axis and heights along the axis.
struct Frustum {
    axis: vec3f,
    length: f32,
    start: vec2f,
    along: vec2f,
    // Directions into the surface that continues at each end.
    gates: vec4f,
}

fn frustum_at(p: WallFeature) -> Frustum {
    let axis = world_row(p.at + 3u);
    let line = world_row(p.at + 4u);
    return Frustum(axis.xyz, axis.w, line.xy, line.zw, world_row(p.at + 5u));
}

// The rim of a spherical cap: a ring without width.
fn rim_at(p: WallFeature) -> Frustum {
    return Frustum(world_row(p.at + 3u).xyz, 0.0, world_row(p.at + 4u).xy, vec2f(1.0, 0.0), vec4f(0.0));
}

// A unit vector perpendicular to another one, by the formula of glam.
fn any_across(v: vec3f) -> vec3f {
    let sign = select(1.0, -1.0, v.z < 0.0);
    let a = -1.0 / (sign + v.z);
    let b = v.x * v.y * a;
    return vec3f(b, sign + v.y * v.y * a, -v.y);
}

// Coordinates of a point in the half plane of a ring, and the unit vector away from the axis.
struct Place {
    at: vec2f,
    out: vec3f,
}

fn place_by(axis: vec3f, x: vec3f) -> Place {
    let height = dot(axis, x);
    let out = x - axis * height;
    let far = length(out);
    if far > 0.0 { return Place(vec2f(far, height), out / far); }
    return Place(vec2f(far, height), any_across(axis));
}

fn near_frustum(frustum: Frustum, x: vec3f) -> Near {
    let place = place_by(frustum.axis, x);
    let start = place.at - frustum.start;
    let s = dot(start, frustum.along);
    if s > 0.0 && s < frustum.length {
        // Distance from the line: exact at any distance.
        let across = vec2f(-frustum.along.y, frustum.along.x);
        let height = dot(across, start);
        let normal = select(across, -across, height < 0.0);
        return Near(abs(height), place.out * normal.x + frustum.axis * normal.y, false);
    }
    let is_last = s > 0.0;
    let v = start - frustum.along * select(0.0, frustum.length, is_last);
    let distance = length(v);
    var normal = vec2f(-frustum.along.y, frustum.along.x);
    if distance > 0.0 { normal = v / distance; }
    let shadowed = dot(normal, select(frustum.gates.xy, frustum.gates.zw, is_last)) > LEAN;
    return Near(distance, place.out * normal.x + frustum.axis * normal.y, shadowed);
}

fn near_cap(p: WallFeature, x: vec3f) -> Near {
    let axis = world_row(p.at + 3u);
    let rim = world_row(p.at + 4u);
    let height = dot(axis.xyz, x);
    let out = x - axis.xyz * height;
    let far = length(out);
    if rim.z != 0.0 || far * rim.y <= height * rim.x {
        let size = length(x);
        var up = axis.xyz;
        if size > 0.0 { up = x / size; }
        let over = size - axis.w;
        return Near(abs(over), select(up, -up, over < 0.0), false);
    }
    var unit = any_across(axis.xyz);
    if far > 0.0 { unit = out / far; }
    let v = vec2f(far, height) - rim.xy;
    let distance = length(v);
    var normal = vec2f(1.0, 0.0);
    if distance > 0.0 { normal = v / distance; }
    return Near(distance, unit * normal.x + axis.xyz * normal.y, false);
}

// Regions of a triangle by Ericson, Real-Time Collision Detection (2005), 5.1.5: finds the region of the nearest point, then
// computes the vector once.
fn near_triangle(p: WallFeature, x: vec3f) -> Near {
    let ab = world_row(p.at + 3u).xyz;
    let ac = world_row(p.at + 4u).xyz;
    let d1 = dot(ab, x);
    let d2 = dot(ac, x);
    let bx = x - ab;
    let cx = x - ac;
    let d3 = dot(ab, bx);
    let d4 = dot(ac, bx);
    let d5 = dot(ab, cx);
    let d6 = dot(ac, cx);
    let vc = d1 * d4 - d3 * d2;
    let vb = d5 * d2 - d1 * d6;
    let va = d3 * d6 - d5 * d4;
    let facing = vec3f(world_row(p.at + 3u).w, world_row(p.at + 4u).w, world_row(p.at + 5u).w);
    var v = vec3f(0.0);
    // Directions in which the surface continues: one direction at an edge, a fan at a corner.
    var gate = vec3f(0.0);
    var fan = vec2u(0u);
    if d1 <= 0.0 && d2 <= 0.0 {
        v = x;
        fan = vec2u(world[p.at + 6u].w, world[p.at + 7u].w);
    } else if d3 >= 0.0 && d4 <= d3 {
        v = bx;
        fan = world[p.at + 8u].xy;
    } else if d6 >= 0.0 && d5 <= d6 {
        v = cx;
        fan = world[p.at + 8u].zw;
    } else if vc <= 0.0 && d1 >= 0.0 && d3 <= 0.0 {
        v = x - ab * (d1 / (d1 - d3));
        gate = world_row(p.at + 5u).xyz;
    } else if vb <= 0.0 && d2 >= 0.0 && d6 <= 0.0 {
        v = x - ac * (d2 / (d2 - d6));
        gate = world_row(p.at + 7u).xyz;
    } else if va <= 0.0 && d4 >= d3 && d5 >= d6 {
        v = bx - (ac - ab) * ((d4 - d3) / ((d4 - d3) + (d5 - d6)));
        gate = world_row(p.at + 6u).xyz;
    } else {
        let height = dot(facing, x);
        return Near(abs(height), select(facing, -facing, height < 0.0), false);
    }
    let distance = length(v);
    var normal = facing;
    if distance > 0.0 { normal = v / distance; }
    var shadowed = dot(normal, gate) > LEAN;
    for (var k = fan.x; k < fan.y && !shadowed; k++) {
        shadowed = dot(normal, world_row(frame.at_fans + k).xyz) > LEAN;
    }
    return Near(distance, normal, shadowed);
}

// Vector from a wall feature to the point x in its frame.
fn near_of(p: WallFeature, x: vec3f) -> Near {
    if p.kind == KIND_FRUSTUM { return near_frustum(frustum_at(p), x); }
    if p.kind == KIND_CAP { return near_cap(p, x); }
    return near_triangle(p, x);
}

// Iterator over the wall features near the path of a sphere, from its list or from the trees of boxes.
struct Seeker {
    // Position in the list.
    at: u32,
    end: u32,
    // Position in the trees: the next set, the node, the features of a leaf.
    next_set: u32,
    node: u32,
    node_end: u32,
    leaf: u32,
    leaf_end: u32,
    low: vec3f,
    high: vec3f,
    // The path: offsets in a cell at two times.
    cell: vec3i,
    start: vec3f,
    to: vec3f,
    span: vec2f,
    // Largest distance of a feature from the path, and the time during which turning features sweep.
    reach: f32,
    whirl: f32,
    // The feature found.
    found: u32,
}

// Iterates over all sets of features, along a path between two offsets in a cell at two times.
fn seek(cell: vec3i, start: vec3f, to: vec3f, span: vec2f, reach: f32, whirl: f32) -> Seeker {
    let o = vec3f(0.0);
    return Seeker(0u, 0u, 0u, 0u, 0u, 0u, 0u, o, o, cell, start, to, span, reach, whirl, 0u);
}

fn enter_set(seeker: ptr<function, Seeker>) {
    let at = frame.at_sets + SET_ROWS * (*seeker).next_set;
    let place = world[at];
    let offset = world[at + 1u];
    let centre = bitcast<vec3f>(offset.xyz);
    let tree = world[at + 2u];
    let mover = place.w;
    let cell = (*seeker).cell;
    var a = cells_shift(cell - bitcast<vec3i>(place.xyz)) + ((*seeker).start - centre);
    var b = cells_shift(cell - bitcast<vec3i>(place.xyz)) + ((*seeker).to - centre);
    var slack = (*seeker).reach;
    if mover != 0u {
        let wall_velocity = wall_velocity_of(mover);
        a = arm_of(wall_velocity, cell, (*seeker).start, (*seeker).span.x);
        b = arm_of(wall_velocity, cell, (*seeker).to, (*seeker).span.y);
        if offset.w != 0u {
            a = a * wall_velocity.turn;
            b = b * wall_velocity.turn;
            slack += length(wall_velocity.spin) * (*seeker).whirl * max(length(a), length(b));
        }
    }
    (*seeker).low = min(a, b) - slack;
    (*seeker).high = max(a, b) + slack;
    (*seeker).node = tree.x;
    (*seeker).node_end = tree.y;
    (*seeker).next_set += 1u;
}

// Advances to the next feature; false at the end.
fn seek_next(seeker: ptr<function, Seeker>) -> bool {
    while (*seeker).leaf >= (*seeker).leaf_end {
        if (*seeker).node >= (*seeker).node_end {
            if (*seeker).next_set >= (frame.set_count | opaque_zero) { return false; }
            enter_set(seeker);
            continue;
        }
        let at = frame.at_tree + NODE_ROWS * (*seeker).node;
        let low = world[at];
        let high = world[at + 1u];
        if all(bitcast<vec3f>(low.xyz) <= (*seeker).high) && all(bitcast<vec3f>(high.xyz) >= (*seeker).low) {
            let leaf = high.w;
            (*seeker).leaf = leaf >> LEAF_BITS;
            (*seeker).leaf_end = (leaf >> LEAF_BITS) + (leaf & ((1u << LEAF_BITS) - 1u));
            (*seeker).node += 1u;
        } else {
            (*seeker).node = low.w;
        }
    }
    (*seeker).found = (*seeker).leaf;
    (*seeker).leaf += 1u;
    return true;
}
