// The buffers of the broad phase.

@group(1) @binding(0) var<storage, read_write> source_bodies: array<Body>;
@group(1) @binding(1) var<storage, read_write> source_tags: array<Tag>;
@group(1) @binding(2) var<storage, read_write> bodies: array<Body>;
@group(1) @binding(3) var<storage, read_write> tags: array<Tag>;
@group(1) @binding(4) var<storage, read_write> lists: array<u32>;
@group(1) @binding(5) var<storage, read_write> work: array<atomic<u32>>;
@group(1) @binding(6) var<storage, read> world: array<vec4f>;
@group(1) @binding(7) var<storage, read_write> nodes: array<Node>;

fn is_halted() -> bool { return atomicLoad(&work[HALT]) != 0u; }

// As in view.wgsl; shorter substeps would not help.
fn check_loops() {
    var turns = 0u;
    for (var k = 0u; k < 3u + opaque_zero; k++) { turns += 1u + opaque_zero; }
    if turns < 3u { atomicOr(&work[HALT], HALT_CUT | HALT_STUCK); }
}
