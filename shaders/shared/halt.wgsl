// Halt bits: the reasons why the stages stop, and the functions that set the bits. broad.wgsl or view.wgsl declares the
// buffer `work`.

fn is_halted() -> bool { return (atomicLoad(&work[HALT]) | atomicLoad(&work[BROKEN])) != 0u; }

// A halted step is repeated from its start, so no state needs repair here.
fn halt(reason: u32) { atomicOr(&work[HALT], reason); }

// At least one driver (llvmpipe) silently ends all loops of an invocation after 65,535 iterations in total. Every entry
// point with long loops calls this last: loops that no longer iterate were truncated, and the host spreads the work
// over more invocations.
fn check_loops() {
    var turns = 0u;
    for (var k = 0u; k < 3u + opaque_zero; k++) { turns += 1u + opaque_zero; }
    if turns < 3u { halt(IF_CUT); }
}

// A buffer is too small: the host enlarges it and repeats the step.
fn overflow(which: u32, needed: u32) {
    atomicMax(&work[which], needed);
    halt(HALT_OVERFLOW);
}
