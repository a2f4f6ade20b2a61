// Numbers of the iterations over resting contacts.

// The dispatch number encodes iteration and colour. Iterations are numbered consecutively: first those before the launch, then the
// batches after the rounds, each with twice as many as the one before.
fn pass_of_dispatch() -> u32 { return (round_of_dispatch.number | opaque_zero) >> COLOUR_BITS; }
fn colour_of_dispatch() -> u32 { return (round_of_dispatch.number | opaque_zero) & ALL_COLOURS; }

fn batch_of_dispatch() -> u32 {
    let number = pass_of_dispatch();
    if number < ITERATIONS_BEFORE { return 0u; }
    return 1u + firstLeadingBit((number - ITERATIONS_BEFORE) / ITERATIONS_AFTER + 1u);
}

// First iteration of a batch. Numbering: `first_iteration` of src/gpu/layout.rs.
fn first_iteration(batch: u32) -> u32 {
    if batch == 0u { return 0u; }
    return ITERATIONS_BEFORE + ITERATIONS_AFTER * ((1u << (batch - 1u)) - 1u);
}

// Whether to solve: constraints exist, and the last batch still drives spheres into others.
fn is_active(batch: u32) -> bool {
    if is_halted() { return false; }
    if batch >= 2u { return bitcast<f32>(atomicLoad(&work[AHEAD + batch - 2u])) > DEEP; }
    let has_constraints = atomicLoad(&work[CONSTRAINT_COUNT]) > 0u;
    return has_constraints || (batch == 1u && atomicLoad(&work[CONVERTED]) > 0u);
}

// Whether a batch after the rounds solves a block.
fn is_active_block(block: u32, batch: u32) -> bool { return atomicLoad(&work[frame.at_active_blocks + block]) / 2u == batch; }

// Counter of the blocks with constraints of a block colour.
fn block_counter(batch: u32, colour: u32) -> u32 { return BLOCK_COUNTS + batch * COLOURS + colour; }
