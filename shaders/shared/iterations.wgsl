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

// Whether a batch solves: before the rounds if constraints exist, after them if any block is active.
fn is_active(batch: u32) -> bool {
    if is_halted() { return false; }
    if batch > 0u { return bitcast<f32>(atomicLoad(&work[AHEAD + batch - 1u])) > DEEP; }
    return atomicLoad(&work[CONSTRAINT_COUNT]) > 0u;
}

// Whether a batch looks for active blocks, and after its solve for overlaps ahead. The first batch looks ahead even if no block is
// active, because no earlier look ahead has seen what the solve before the rounds left.
fn looks(batch: u32) -> bool {
    if batch != 1u { return is_active(batch); }
    return !is_halted() && (atomicLoad(&work[CONSTRAINT_COUNT]) > 0u || atomicLoad(&work[CONVERTED]) > 0u);
}

// Makes the first batch after the rounds solve. Reading first keeps the memory shared.
fn activate_first() {
    if atomicLoad(&work[AHEAD]) == 0u { atomicMax(&work[AHEAD], bitcast<u32>(1.0)); }
}

// Whether a batch after the rounds solves a block.
fn is_active_block(block: u32, batch: u32) -> bool { return atomicLoad(&work[frame.at_active_blocks + block]) / 2u == batch; }

// Counter of the blocks with constraints of a block colour.
fn block_counter(batch: u32, colour: u32) -> u32 { return BLOCK_COUNTS + batch * COLOURS + colour; }
