// Solves the resting contacts block by block. Twin: src/cpu/rest/solve.rs, which gives the reasons. shared/constraint.wgsl solves
// one constraint.

// First iteration and the one after the last; likewise for colours.
var<workgroup> group_plan: vec4u;
var<workgroup> group_blocks: u32;
var<workgroup> group_change: atomic<u32>;
var<workgroup> group_most: f32;

// Range that a dispatch solves: one iteration over blocks of one colour, or, if one workgroup suffices, several over
// all.
fn plan_of_dispatch() -> vec4u {
    let batch = batch_of_dispatch();
    let number = pass_of_dispatch();
    let colour = colour_of_dispatch();
    if !is_active(batch) { return vec4u(0u); }
    // Iterations end when no constraint changes any velocity.
    if number > first_iteration(batch) && bitcast<f32>(atomicLoad(&work[CHANGES + number - 1u])) <= frame.settled { return vec4u(0u); }
    if colour != ALL_COLOURS { return vec4u(number, number + 1u, colour, colour + 1u); }
    return vec4u(number, select(number + ITERATIONS_AFTER, ITERATIONS_BEFORE, batch == 0u), 0u, COLOURS);
}

// The solver reads and writes rows of four words, because at least one driver (llvmpipe) goes through the lanes for each load.
@group(1) @binding(7) var<storage, read_write> rows: array<vec4u>;

fn pool_word(at: u32) -> u32 { return rows[at / 4u][at % 4u]; }
fn float_row(at: u32) -> vec4f { return bitcast<vec4f>(rows[at]); }

// Velocity and inverse mass, then spin and radius of each sphere of the block.
var<workgroup> group_bodies: array<vec4f, 2u * MOST_STAGED>;

// Row of the constraint at a place of the order.
fn ordered_row(place: u32) -> u32 { return (frame.at_constraints + pool_word(frame.at_ordered + place) * CONSTRAINT_STRIDE) / 4u; }

// A contact constraint without the fields that only some constraints need: moment, partner, wall.
fn pressing_constraint(row: u32, masses: vec4u) -> ContactConstraint {
    let normal = float_row(row);
    let push = float_row(row + IMPULSE_PLACE / 4u);
    let impulse = ContactImpulse(push.x, push.yzw, vec3f(0.0));
    let scales = bitcast<vec2f>(masses.xy);
    let surface = masses.z & SURFACE_MASK;
    return ContactConstraint(0u, 0u, normal.xyz, normal.w, scales.y, scales.x, impulse, surface, vec3f(0.0), 0u);
}

fn load_wall(row: u32, constraint: ptr<function, ContactConstraint>) {
    let wall = rows[row + WALL_VELOCITY_PLACE / 4u];
    (*constraint).wall_velocity = bitcast<vec3f>(wall.xyz);
    (*constraint).mover = wall.w;
}

// Solves a constraint for its pair, and stores its impulse.
fn solve_pair(row: u32, pressing: ContactConstraint, pair: ptr<function, Pair>, resists: bool, relaxation: f32) -> f32 {
    // Neither side moves any longer, because both were stopped in the rounds: the impulse stays.
    if (*pair).a.inverse_mass + (*pair).b.inverse_mass == 0.0 { return 0.0; }
    var constraint = pressing;
    var impulse = constraint.impulse;
    let surface = surface_at(constraint.surface);
    var change = press(constraint, surface.friction, pair, &impulse, relaxation);
    rows[row + IMPULSE_PLACE / 4u] = bitcast<vec4u>(vec4f(impulse.normal, impulse.tangent));
    // A loop, because some drivers execute a branch for all.
    for (var is_left = resists; is_left; is_left = false) {
        // The partner follows the moment.
        let words = rows[row + MOMENT_PLACE / 4u];
        constraint.impulse.moment = bitcast<vec3f>(words.xyz);
        impulse.moment = constraint.impulse.moment;
        let resistance = vec2f(surface.rolling, surface.twisting) * reduced_radius(*pair);
        change = max(change, roll(constraint, resistance, pair, &impulse));
        rows[row + MOMENT_PLACE / 4u] = vec4u(bitcast<vec3u>(impulse.moment), words.w);
    }
    return change / constraint.mass;
}

// Of a wall, the radius of the sphere.
fn reduced_radius(pair: Pair) -> f32 {
    let radius = pair.a.radius;
    if pair.b.radius == 0.0 { return radius; }
    return radius * pair.b.radius / (radius + pair.b.radius);
}

fn wall_partner(constraint: ContactConstraint) -> Partner {
    var spin = vec3f(0.0);
    if HAS_SHAPES && constraint.mover != 0u { spin = wall_velocity_of(constraint.mover).spin; }
    return Partner(constraint.wall_velocity, 0.0, spin, 0.0, 0.0, 0.0);
}

fn staged_partner(local: u32, share: f32) -> Partner {
    let motion = group_bodies[2u * local];
    let spin = group_bodies[2u * local + 1u];
    return Partner(motion.xyz, motion.w, spin.xyz, spin.w, spin.w * share, 2.5 / spin.w);
}

fn stage_partner(local: u32, p: Partner) {
    if p.inverse_mass <= 0.0 { return; }
    group_bodies[2u * local] = vec4f(p.velocity, p.inverse_mass);
    group_bodies[2u * local + 1u] = vec4f(p.spin, p.radius);
}

// Solves the constraint at a place of the order, with the spheres of its block in the memory of the workgroup.
fn solve_staged(place: u32, relaxation: f32) -> f32 {
    let row = ordered_row(place);
    let masses = rows[row + MASS_PLACE / 4u];
    var constraint = pressing_constraint(row, masses);
    let a = masses.w & (RESISTS - 1u);
    let b = masses.w >> 16u;
    if HAS_SHAPES && b == NOT_STAGED { load_wall(row, &constraint); }
    var pair = Pair(staged_partner(a, constraint.share), wall_partner(constraint));
    if b != NOT_STAGED { pair.b = staged_partner(b, constraint.share); }
    let change = solve_pair(row, constraint, &pair, (masses.w & RESISTS) != 0u, relaxation);
    stage_partner(a, pair.a);
    if b != NOT_STAGED { stage_partner(b, pair.b); }
    return change;
}

fn partner(i: u32, share: f32) -> Partner {
    let body = bodies[i];
    // Negative if the sphere sleeps.
    let still = body.inverse_mass <= 0.0;
    let velocity = select(body.velocity, vec3f(0.0), still);
    return Partner(velocity, max(body.inverse_mass, 0.0), tags[i].spin, body.radius, body.radius * share, 2.5 / body.radius);
}

fn put_partner(i: u32, p: Partner) {
    if p.inverse_mass > 0.0 {
        bodies[i].velocity = p.velocity;
        tags[i].spin = p.spin;
    }
}

// Solves the constraint at a place of the order with its spheres in the buffers, because the block has too many spheres for the
// memory of a workgroup.
fn solve_unstaged(place: u32, relaxation: f32) -> f32 {
    let row = ordered_row(place);
    let masses = rows[row + MASS_PLACE / 4u];
    var constraint = pressing_constraint(row, masses);
    let i = masses.w & ~WALL;
    let j = rows[row + PARTNER_PLACE / 4u][PARTNER_PLACE % 4u];
    let is_wall = (j & WALL) != 0u;
    if HAS_SHAPES && is_wall { load_wall(row, &constraint); }
    var pair = Pair(partner(i, constraint.share), wall_partner(constraint));
    if !is_wall { pair.b = partner(j, constraint.share); }
    let change = solve_pair(row, constraint, &pair, (masses.w & WALL) != 0u, relaxation);
    put_partner(i, pair.a);
    if !is_wall { put_partner(j, pair.b); }
    return change;
}

// A block with constraints to be solved.
struct OrderedBlock {
    colours: u32,
    spheres: u32,
    // Index of the first sphere in the list of all blocks.
    first: u32,
    // Index of the start of each colour.
    starts: u32,
    // Number of the block: by its colour, then its slot.
    number: u32,
    // Factor on the change of normal impulses where they are over-relaxed.
    over_relaxation: f32,
}

fn ordered_block(colour: u32, number: u32) -> OrderedBlock {
    let head = frame.at_ordered_blocks + BLOCK_WORDS * (colour * frame.slots + number);
    return OrderedBlock(pool_word(head), pool_word(head + 1u), frame.at_block_spheres + 2u * pool_word(head + 2u), head + COLOUR_STARTS, pool_word(head + 3u), over_relaxation(bitcast<f32>(pool_word(head + 4u))));
}

// `heavier` is the largest share of the heavier sphere in the mass of a pair. Twin: `over_relaxation` of src/cpu/rest/lanes.rs.
fn over_relaxation(heavier: f32) -> f32 { return clamp(2.0 / (1.0 + sqrt(max(1.0 - heavier, 0.0))), OVER_RELAXATION, MOST_OVER_RELAXATION); }

var<workgroup> group_colour_count: u32;

fn stage_spheres(block: OrderedBlock, lane: u32) {
    if block.spheres > MOST_STAGED { return; }
    for (var k = lane; k < block.spheres; k += REST_GROUP) {
        let i = atomicLoad(&work[block.first + k]);
        let body = bodies[i];
        let moves = body.inverse_mass > 0.0;
        group_bodies[2u * k] = select(vec4f(0.0), vec4f(body.velocity, body.inverse_mass), moves);
        group_bodies[2u * k + 1u] = vec4f(tags[i].spin, body.radius);
    }
}

fn put_spheres(block: OrderedBlock, lane: u32) {
    if block.spheres > MOST_STAGED { return; }
    for (var k = lane; k < block.spheres; k += REST_GROUP) {
        let i = atomicLoad(&work[block.first + k]);
        let motion = group_bodies[2u * k];
        if motion.w <= 0.0 { continue; }
        bodies[i].velocity = motion.xyz;
        tags[i].spin = group_bodies[2u * k + 1u].xyz;
    }
}

// Solves the constraints of one colour of a block side by side; those that fit no colour one after the other.
fn solve_colour(block: OrderedBlock, colour: u32, relaxation: f32, lane: u32) -> f32 {
    let end = pool_word(block.starts + colour + 1u);
    var place = pool_word(block.starts + colour) + lane;
    var step = REST_GROUP;
    if colour == CONSTRAINT_COLOURS {
        place = select(end, place, lane == 0u);
        step = 1u;
    }
    let is_staged = block.spheres <= MOST_STAGED;
    var change = 0.0;
    // Two loops, because some drivers execute both sides of a branch.
    for (; place < end && is_staged; place += step) { change = max(change, solve_staged(place, relaxation)); }
    for (; place < end; place += step) { change = max(change, solve_unstaged(place, relaxation)); }
    return change;
}

// Solves the constraints of a block in an iteration, unless the block is not active. Returns the largest change of a velocity in the
// last sweep.
fn solve_block(block: OrderedBlock, lane: u32, number: u32) -> f32 {
    let batch = batch_of_dispatch();
    if lane == 0u { group_colour_count = select(0u, block.colours, batch == 0u || is_active_block(block.number, batch)); }
    let colours = workgroupUniformLoad(&group_colour_count);
    if colours == 0u { return 0.0; }
    stage_spheres(block, lane);
    workgroupBarrier();
    // The last iteration of the last batch removes the oscillations that over-relaxation leaves.
    let relaxation = select(1.0, block.over_relaxation, batch > 1u && number + 1u < MOST_ITERATIONS);
    let visits = colours * SWEEPS;
    var change = 0.0;
    for (var k = 0u; k < visits; k++) {
        if k % colours == 0u { change = 0.0; }
        change = max(change, solve_colour(block, k % colours, relaxation, lane));
        storageBarrier();
        workgroupBarrier();
    }
    put_spheres(block, lane);
    // The first batch after the rounds solves the block again.
    if number + 1u == ITERATIONS_BEFORE && change > frame.unsettled {
        activate_first();
        atomicMax(&work[frame.at_active_blocks + block.number], 2u);
    }
    storageBarrier();
    workgroupBarrier();
    return change;
}

// Number of blocks with constraints of a colour.
fn count_blocks(colour: u32) -> u32 {
    let last = atomicLoad(&work[LAST_ORDERED]);
    if last == 0u { return 0u; }
    return atomicLoad(&work[block_counter(last - 1u, colour)]);
}

// Solves the contacts of the blocks; the lanes of one workgroup share a block.
@compute @workgroup_size(REST_GROUP)
fn rest_solve(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    begin(groups);
    if lane == 0u { group_plan = plan_of_dispatch(); }
    let plan = workgroupUniformLoad(&group_plan);
    for (var number = plan.x; number < plan.y; number++) {
        var change = 0.0;
        for (var colour = plan.z; colour < plan.w; colour++) {
            if lane == 0u { group_blocks = count_blocks(colour); }
            let blocks = workgroupUniformLoad(&group_blocks);
            for (var k = group.x; k < blocks; k += groups.x) { change = max(change, solve_block(ordered_block(colour, k), lane, number)); }
        }
        // The bit patterns of positive floats have the order of their values.
        if change > 0.0 { atomicMax(&group_change, bitcast<u32>(change)); }
        workgroupBarrier();
        if lane == 0u {
            let found = atomicExchange(&group_change, 0u);
            if found > 0u { atomicMax(&work[CHANGES + number], found); }
            group_most = bitcast<f32>(found);
        }
        let most = workgroupUniformLoad(&group_most);
        if most <= frame.settled { break; }
    }
    check_loops();
}
