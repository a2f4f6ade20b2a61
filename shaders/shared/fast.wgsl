// Spheres that are too fast for the candidate lists. Each traverses the cells of its swept capsule and becomes a
// dynamic candidate of the spheres there. To find pairs of fast spheres, each fast sphere first registers in the cells
// of its tube. Twin: src/cpu/fast.rs.

// Path of a fast sphere in the frame of the drift, where slow spheres stay within their motion margin of the position at
// which they were binned.
struct Capsule {
    i: u32,
    home: vec3i,
    begin: vec3f,
    along: vec3f,
    // Largest distance from the line of the cell of a slow sphere that the fast sphere can touch.
    reach: f32,
    // Largest distance from the line of the present surface of such a sphere.
    wide: f32,
    // This sphere's share of half the distance at which two fast spheres become a pair.
    own: f32,
}

fn capsule_of(i: u32) -> Capsule {
    let body = bodies[i];
    let t = nodes[i].clock;
    var radius = body.radius;
    if body.inverse_mass == 0.0 { radius += 0.5 * length(frame.gravity) * frame.h * frame.h; }
    return Capsule(
        i,
        tags[i].cell,
        body.offset - (frame.drifted + frame.drift * t),
        (body.velocity - frame.drift) * (frame.h - t),
        radius + frame.radius_max + frame.motion_margin,
        radius + 2.0 * frame.motion_margin,
        // Slightly more than the passing distance, so that the cell of a pair lies in both tubes.
        (PASSING * 1.001) * radius,
    );
}

// Range of cells along an axis that the part s0..s1 of the line covers, widened by `reach`; clamped to the outermost cells on
// axes that are bounded and not periodic.
fn cells_along(c: Capsule, reach: f32, axis: u32, s0: f32, s1: f32) -> vec2i {
    let p = c.begin[axis] + c.along[axis] * s0;
    let q = c.begin[axis] + c.along[axis] * s1;
    let limit = 67108864.0;
    let edge = frame.edge[axis];
    let low = i32(clamp(floor((min(p, q) - reach) / edge), -limit, limit)) + c.home[axis];
    let high = i32(clamp(floor((max(p, q) + reach) / edge), -limit, limit)) + c.home[axis];
    if is_periodic(axis) || cell_count(axis) == 0 { return vec2i(low, high); }
    let last = cell_count(axis) - 1;
    return vec2i(clamp(low, 0, last), clamp(high, 0, last));
}

// Part of the line between two bounds.
fn clip(p: f32, along: f32, low: f32, high: f32) -> vec2f {
    if along == 0.0 { return vec2f(0.0, 1.0); }
    let a = (low - p) / along;
    let b = (high - p) / along;
    return vec2f(clamp(min(a, b), 0.0, 1.0), clamp(max(a, b), 0.0, 1.0));
}

fn main_axis(c: Capsule) -> u32 {
    let a = abs(c.along);
    var axis = 0u;
    if a.y > a.x { axis = 1u; }
    if a.z > max(a.x, a.y) { axis = 2u; }
    return axis;
}

struct Cell {
    cell: vec3i,
    inside: bool,
}

fn wrap_cell(cell: vec3i) -> Cell {
    let x = wrap_axis(0u, cell.x);
    let y = wrap_axis(1u, cell.y);
    let z = wrap_axis(2u, cell.z);
    return Cell(vec3i(x.cell, y.cell, z.cell), x.inside && y.inside && z.inside);
}

fn distance_to_segment(point: vec3f, begin: vec3f, along: vec3f) -> f32 {
    let square = dot(along, along);
    var s = 0.0;
    if square > 0.0 { s = clamp(dot(point - begin, along) / square, 0.0, 1.0); }
    return length(point - begin - along * s);
}

fn enter_one(slot: u32, i: u32, other: u32, cells: vec3i) {
    let at = slot * DYNAMIC_WORDS;
    let words = bitcast<vec3u>(cells);
    pool[at] = other;
    pool[at + 2u] = words.x;
    pool[at + 3u] = words.y;
    pool[at + 4u] = words.z;
    pool[at + 1u] = atomicExchange(&work[frame.at_heads + i], slot + 1u);
}

fn enter(i: u32, other: u32, cells: vec3i) {
    let slot = atomicAdd(&work[DYNAMIC_COUNT], 2u);
    if slot + 2u > frame.dynamic_capacity {
        overflow(DYNAMIC_NEEDED, slot + 2u);
        return;
    }
    enter_one(slot, i, other, cells);
    enter_one(slot + 1u, other, i, -cells);
}

// Slow spheres in a cell that the capsule may touch.
fn look(c: Capsule, cell: vec3i) {
    let wrapped = wrap_cell(cell);
    if !wrapped.inside { return; }
    let w = wrapped.cell;
    let bucket = bucket_of(row_of(w.y, w.z), w.x);
    let image = cell - c.home;
    let end = atomicLoad(&work[frame.at_starts + bucket + frame.parts]);
    for (var j = atomicLoad(&work[frame.at_starts + bucket]); j < end; j++) {
        if any(tags[j].cell != w) || nodes[j].walk != 0u { continue; }
        let drifted = frame.drifted + frame.drift * nodes[j].clock;
        let place = bodies[j].offset - drifted + cells_shift(image);
        if distance_to_segment(place, c.begin, c.along) <= c.wide + bodies[j].radius { enter(c.i, j, image); }
    }
}

// Registers the sphere in a cell of its tube.
fn visit(c: Capsule, cell: vec3i) {
    let wrapped = wrap_cell(cell);
    if !wrapped.inside { return; }
    let bucket = bucket_of(row_of(wrapped.cell.y, wrapped.cell.z), wrapped.cell.x);
    let slot = atomicAdd(&work[VISIT_COUNT], 1u);
    if slot >= frame.visit_capacity {
        overflow(VISITS_NEEDED, slot + 1u);
        return;
    }
    let at = frame.at_visits + slot * VISIT_WORDS;
    let words = bitcast<vec3u>(cell);
    pool[at] = c.i;
    pool[at + 2u] = words.x;
    pool[at + 3u] = words.y;
    pool[at + 4u] = words.z;
    pool[at + 5u] = nodes[c.i].walk;
    pool[at + 1u] = atomicExchange(&work[frame.at_counts + bucket], slot + 1u);
}

// The cell, relative to i, in which the pair of fast spheres i < k is entered: it contains the point between them when they
// first come near. `inside` is false if they never do. `shift` is the vector from the cell of i to that of k.
fn meeting(i: u32, k: u32, shift: vec3f) -> Cell {
    let now = max(nodes[i].clock, nodes[k].clock);
    let d = (offset_at(i, now) - offset_at(k, now)) - shift;
    let w = bodies[i].velocity - bodies[k].velocity;
    var wide = PASSING * (bodies[i].radius + bodies[k].radius);
    if bodies[i].inverse_mass == 0.0 || bodies[k].inverse_mass == 0.0 {
        wide += length(frame.gravity) * frame.h * frame.h;
    }
    var t = 0.0;
    if dot(d, d) > wide * wide {
        let contact = first_contact(d, w, wide);
        if now + contact.time > frame.h { return Cell(vec3i(0), false); }
        t = contact.time;
    }
    let share = bodies[i].radius / (bodies[i].radius + bodies[k].radius);
    let point = offset_at(i, now + t) - (d + w * t) * share - (frame.drifted + frame.drift * (now + t));
    var cell = vec3i(0);
    for (var axis = 0u; axis < 3u; axis++) {
        var c = i32(floor(point[axis] / frame.edge[axis])) + tags[i].cell[axis];
        if !is_periodic(axis) && cell_count(axis) > 0 { c = clamp(c, 0, cell_count(axis) - 1); }
        cell[axis] = c;
    }
    return Cell(cell, true);
}

// Pairs the sphere with the other fast spheres that pass a cell of its tube.
fn meet(c: Capsule, cell: vec3i) {
    let wrapped = wrap_cell(cell);
    if !wrapped.inside { return; }
    let bucket = bucket_of(row_of(wrapped.cell.y, wrapped.cell.z), wrapped.cell.x);
    var next_visit = atomicLoad(&work[frame.at_counts + bucket]);
    while next_visit != 0u {
        let at = frame.at_visits + (next_visit - 1u) * VISIT_WORDS;
        next_visit = pool[at + 1u];
        let k = pool[at];
        // Skips its own images, which never approach it, and outdated lines. If both spheres traverse now, the smaller index
        // enters the pair.
        let walk = nodes[k].walk;
        if k == c.i || pool[at + 5u] != walk || (walk == nodes[c.i].walk && k < c.i) { continue; }
        let theirs = bitcast<vec3i>(vec3u(pool[at + 2u], pool[at + 3u], pool[at + 4u]));
        if any(wrap_cell(theirs).cell != wrapped.cell) { continue; }
        let cells = tags[k].cell + (cell - theirs) - c.home;
        // The smaller index comes first, so that both spheres compute the same cell.
        if c.i < k {
            let at_cell = meeting(c.i, k, cells_shift(cells));
            if at_cell.inside && all(at_cell.cell == cell) { enter(c.i, k, cells); }
        } else {
            let at_cell = meeting(k, c.i, cells_shift(-cells));
            if at_cell.inside && all(at_cell.cell == theirs) { enter(c.i, k, cells); }
        }
    }
}

const LOOK: u32 = 0u;
const VISIT: u32 = 1u;
const MEET: u32 = 2u;

// Every cell within reach of the line, slab by slab along its main axis; the lanes of a workgroup share the slabs.
fn walk_cells(c: Capsule, purpose: u32, lane: u32, lanes: u32) {
    let reach = select(c.own, c.reach, purpose == LOOK);
    let axis = main_axis(c);
    let slabs = cells_along(c, reach, axis, 0.0, 1.0);
    if slabs.y - slabs.x > LONGEST {
        atomicMax(&work[TOO_LONG], ~tags[c.i].rank);
        halt(HALT_TOO_LONG);
        return;
    }
    let second = (axis + 1u) % 3u;
    let third = (axis + 2u) % 3u;
    let edge = frame.edge[axis];
    for (var a = slabs.x + i32(lane); a <= slabs.y; a += i32(lanes)) {
        // The part of the line that can touch this slab. The outermost slabs extend to infinity.
        let left = select(f32(a - c.home[axis]) * edge - reach, -BEYOND, a == slabs.x);
        let right = select(f32(a - c.home[axis] + 1) * edge + reach, BEYOND, a == slabs.y);
        let part = clip(c.begin[axis], c.along[axis], left, right);
        let bs = cells_along(c, reach, second, part.x, part.y);
        let cs = cells_along(c, reach, third, part.x, part.y);
        for (var b = bs.x; b <= bs.y; b++) {
            for (var d = cs.x; d <= cs.y; d++) {
                var cell = vec3i(0);
                cell[axis] = a;
                cell[second] = b;
                cell[third] = d;
                if purpose == LOOK {
                    look(c, cell);
                } else if purpose == VISIT {
                    visit(c, cell);
                } else {
                    meet(c, cell);
                }
            }
        }
    }
}

// Whether fast spheres have so many candidates and cells that shorter substeps are faster.
fn check_crowd() {
    if is_shortest() { return; }
    if atomicLoad(&work[DYNAMIC_COUNT]) > 2u * frame.sphere_count + 4096u
        || atomicLoad(&work[VISIT_COUNT]) > 8u * frame.sphere_count + 65536u {
        halt(HALT_CROWDED);
    }
}
