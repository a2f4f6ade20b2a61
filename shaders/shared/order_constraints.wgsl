// Solving order of the contact constraints of a block: in colours, such that the constraints of one colour share no moving
// sphere and are solved side by side. Twin: `order_block` of src/cpu/constraints.rs.
//
// A workgroup orders several blocks. Neighbouring lanes belong to different blocks, because the blocks of a workgroup have about
// the same number of constraints, but few cells of a block have the same inner colour. The cells of one inner colour share no
// sphere, so their constraints are divided into colours side by side, with the same result as one after the other.

// The constraints have as many colours, and a place for those that fit none of them.
const COLOUR_PLACES: u32 = CONSTRAINT_COLOURS + 1u;

// Of each block: number of constraints of each colour, then the place of the next one; number of all constraints; place of the
// first; number of spheres; the largest share of the heavier sphere in the mass of a pair that moves, as the bits of a float.
var<workgroup> group_colours: array<atomic<u32>, BLOCKS_AT_ONCE * COLOUR_PLACES>;
var<workgroup> group_constraints: array<atomic<u32>, BLOCKS_AT_ONCE>;
var<workgroup> group_firsts: array<atomic<u32>, BLOCKS_AT_ONCE>;
var<workgroup> group_spheres: array<atomic<u32>, BLOCKS_AT_ONCE>;
var<workgroup> group_heavier: array<atomic<u32>, BLOCKS_AT_ONCE>;
var<workgroup> group_total: u32;

// Whether a batch orders constraints: the first batch after the rounds does so only if the constraints may have changed since the
// batch before the sweep.
fn orders(batch: u32) -> bool {
    if batch != 1u { return true; }
    let is_ordered = atomicLoad(&work[LAST_ORDERED]) == 1u;
    return !is_ordered || atomicLoad(&work[CONVERTED]) > 0u || atomicLoad(&work[ASLEEP_COUNT]) > 0u;
}

fn place_of_colours(i: u32, colour: u32) -> u32 { return frame.at_colour_words + i * ALL_COLOUR_WORDS + colour * COLOUR_WORDS; }

// First cell of an inner colour of a block, as an index into the order of cells.
fn cells_begin(block: u32, inner: u32) -> u32 { return atomicLoad(&work[frame.at_slot_starts + block * INNER_COLOURS + inner]); }

// Index of a sphere among those of its block; the first call for a sphere appends it.
fn local_index(member: u32, place: u32, i: u32) -> u32 {
    var local = atomicLoad(&work[place + 1u]);
    if local == 0u {
        local = atomicAdd(&group_spheres[member], 1u) + 1u;
        atomicStore(&work[place + 1u], local);
        atomicStore(&work[frame.at_block_spheres + 2u * atomicLoad(&group_firsts[member]) + local - 1u], i);
    }
    return local - 1u;
}

// Chooses the colours of the constraints that sphere i owns.
fn choose_colours(member: u32, block_colour: u32, i: u32) {
    let place = place_of_colours(i, block_colour);
    let inverse_mass = bodies[i].inverse_mass;
    let moves = inverse_mass > 0.0;
    var heavier = 0.0;
    var colours = atomicLoad(&work[place]);
    let end = constraint_end(i);
    for (var constraint = constraint_begin(i); constraint < end; constraint++) {
        let at = place_of_constraint(constraint);
        let j = pool[at + PARTNER_PLACE];
        let is_wall = (j & WALL) != 0u;
        let partner = select(j, i, is_wall);
        let partner_place = place_of_colours(partner, block_colour);
        let partner_moves = !is_wall && bodies[partner].inverse_mass > 0.0;
        var colour = COLOUR_PLACES;
        if moves || partner_moves {
            let partner_colours = select(0u, atomicLoad(&work[partner_place]), partner_moves);
            colour = countTrailingZeros(~(select(0u, colours, moves) | partner_colours));
            if colour < CONSTRAINT_COLOURS {
                colours |= 1u << colour;
                if partner_moves { atomicStore(&work[partner_place], partner_colours | (1u << colour)); }
            }
            atomicAdd(&group_colours[member * COLOUR_PLACES + colour], 1u);
            if moves && partner_moves { heavier = max(heavier, max(inverse_mass, bodies[partner].inverse_mass) * word(at + MASS_PLACE)); }
            let own_index = local_index(member, place, i);
            let partner_index = local_index(member, partner_place, partner);
            let surface = surface_at(surface_of_constraint(at));
            let resists = surface.rolling != 0.0 || surface.twisting != 0.0;
            let flag = select(0u, RESISTS, resists);
            pool[at + LOCALS_PLACE] = own_index | flag | (select(partner_index, NOT_STAGED, is_wall) << 16u);
        }
        pool[at + SURFACE_PLACE] = (pool[at + SURFACE_PLACE] & ((1u << COLOUR_SHIFT) - 1u)) | (colour << COLOUR_SHIFT);
    }
    atomicStore(&work[place], colours);
    if heavier > 0.0 { atomicMax(&group_heavier[member], bitcast<u32>(heavier)); }
}

// Puts the constraints that sphere i owns in their places.
fn put_in_order(member: u32, i: u32) {
    let is_staged = atomicLoad(&group_spheres[member]) <= MOST_STAGED;
    let end = constraint_end(i);
    for (var constraint = constraint_begin(i); constraint < end; constraint++) {
        let at = place_of_constraint(constraint);
        let colour = pool[at + SURFACE_PLACE] >> COLOUR_SHIFT;
        if colour >= COLOUR_PLACES { continue; }
        let place = atomicAdd(&group_colours[member * COLOUR_PLACES + colour], 1u);
        pool[frame.at_ordered + place] = constraint;
        // The first bit marks resistance.
        if !is_staged { pool[at + LOCALS_PLACE] = i | select(0u, WALL, (pool[at + LOCALS_PLACE] & RESISTS) != 0u); }
    }
}

// Allocates places for the colours of a block, and appends the block to those with constraints.
fn allocate_colours(member: u32, batch: u32, block: u32) {
    let first = atomicLoad(&group_firsts[member]);
    var begins: array<u32, COLOUR_PLACES>;
    var at = first;
    var colours = 0u;
    for (var colour = 0u; colour < COLOUR_PLACES; colour++) {
        let count = atomicExchange(&group_colours[member * COLOUR_PLACES + colour], at);
        begins[colour] = at;
        at += count;
        if count > 0u { colours = colour + 1u; }
    }
    if colours == 0u { return; }
    let block_colour = block / frame.slots;
    let number = atomicAdd(&work[block_counter(batch, block_colour)], 1u);
    let head = frame.at_ordered_blocks + BLOCK_WORDS * (block_colour * frame.slots + number);
    pool[head] = colours;
    pool[head + 1u] = atomicLoad(&group_spheres[member]);
    pool[head + 2u] = first;
    pool[head + 3u] = block;
    pool[head + 4u] = atomicLoad(&group_heavier[member]);
    for (var colour = 0u; colour < COLOUR_PLACES; colour++) { pool[head + COLOUR_STARTS + colour] = begins[colour]; }
    pool[head + COLOUR_STARTS + COLOUR_PLACES] = at;
}

// Number of constraints of the spheres of some cells of a block.
fn count_constraints(block: u32, lane: u32) -> u32 {
    var count = 0u;
    let end = cells_begin(block, INNER_COLOURS);
    for (var cell = cells_begin(block, 0u) + lane; cell < end; cell += BLOCK_LANES) {
        let head = atomicLoad(&work[frame.at_order + 2u * cell]);
        let last = atomicLoad(&work[frame.at_order + 2u * cell + 1u]);
        for (var i = head; i < last; i++) {
            if is_direct() || all(tags[i].cell == tags[head].cell) { count += constraint_end(i) - constraint_begin(i); }
        }
    }
    return count;
}

// Visits the spheres of the cells of one inner colour in a block: chooses the colours of their constraints, or puts these in order.
fn visit_cells(member: u32, block: u32, inner: u32, lane: u32, chooses: bool) {
    let end = cells_begin(block, inner + 1u);
    for (var cell = cells_begin(block, inner) + lane; cell < end; cell += BLOCK_LANES) {
        let head = atomicLoad(&work[frame.at_order + 2u * cell]);
        let last = atomicLoad(&work[frame.at_order + 2u * cell + 1u]);
        for (var i = head; i < last; i++) {
            if !is_direct() && any(tags[i].cell != tags[head].cell) { continue; }
            if chooses { choose_colours(member, block / frame.slots, i); } else { put_in_order(member, i); }
        }
    }
}

// Orders the constraints of the blocks.
@compute @workgroup_size(BLOCKS_AT_ONCE * BLOCK_LANES)
fn rest_order(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
    @builtin(local_invocation_index) index: u32,
) {
    begin(groups);
    let batch = batch_of_dispatch();
    let member = index % BLOCKS_AT_ONCE;
    let lane = index / BLOCKS_AT_ONCE;
    let is_ordering = is_active(batch) && orders(batch);
    if is_ordering && index == 0u { atomicMax(&work[LAST_ORDERED], batch + 1u); }
    for (var first = group.x * BLOCKS_AT_ONCE; first < COLOURS * frame.slots; first += groups.x * BLOCKS_AT_ONCE) {
        let block = first + member;
        for (var colour = lane; colour < COLOUR_PLACES; colour += BLOCK_LANES) { atomicStore(&group_colours[member * COLOUR_PLACES + colour], 0u); }
        if lane == 0u {
            atomicStore(&group_constraints[member], 0u);
            atomicStore(&group_spheres[member], 0u);
            atomicStore(&group_heavier[member], 0u);
        }
        workgroupBarrier();
        if is_ordering && (batch == 0u || is_active_block(block, batch)) { atomicAdd(&group_constraints[member], count_constraints(block, lane)); }
        workgroupBarrier();
        if lane == 0u {
            let count = atomicLoad(&group_constraints[member]);
            if count > 0u { atomicStore(&group_firsts[member], atomicAdd(&work[ORDERED_COUNT + batch], count)); }
        }
        if index == 0u {
            group_total = 0u;
            for (var k = 0u; k < BLOCKS_AT_ONCE; k++) { group_total += atomicLoad(&group_constraints[k]); }
        }
        if workgroupUniformLoad(&group_total) == 0u { continue; }
        let is_empty = atomicLoad(&group_constraints[member]) == 0u;
        for (var inner = 0u; inner < INNER_COLOURS; inner++) {
            if !is_empty { visit_cells(member, block, inner, lane, true); }
            storageBarrier();
            workgroupBarrier();
        }
        if lane == 0u && !is_empty { allocate_colours(member, batch, block); }
        workgroupBarrier();
        for (var inner = 0u; inner < INNER_COLOURS; inner++) {
            if !is_empty { visit_cells(member, block, inner, lane, false); }
            // Constraints that fit no colour keep the order of the list.
            workgroupBarrier();
        }
    }
    check_loops();
}
