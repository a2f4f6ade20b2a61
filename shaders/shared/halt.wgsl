// Why the stages stand still, and how they come to. What it names is in the buffers' files.

fn is_halted() -> bool { return (atomicLoad(&work[HALT]) | atomicLoad(&work[BROKEN])) != 0u; }

// A step that is halted is done again from its start, so nothing needs to be put right here.
fn halt(reason: u32) { atomicOr(&work[HALT], reason); }

// At least one driver (llvmpipe) ends all loops of an invocation once they have taken 65,535 turns together, and says
// nothing. Last in every entry point with long loops: loops that no longer turn were cut, and the host spreads the work
// over more invocations.
fn check_loops() {
    var turns = 0u;
    for (var k = 0u; k < 3u + opaque_zero; k++) { turns += 1u + opaque_zero; }
    if turns < 3u { halt(IF_CUT); }
}

// A buffer is too small: the host makes room for what is needed and does the step again.
fn overflow(which: u32, needed: u32) {
    atomicMax(&work[which], needed);
    halt(HALT_OVERFLOW);
}
