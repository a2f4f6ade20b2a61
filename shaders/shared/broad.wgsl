// The buffers of the broad phase.

@group(1) @binding(0) var<storage, read_write> source_bodies: array<Body>;
@group(1) @binding(1) var<storage, read_write> source_tags: array<Tag>;
@group(1) @binding(2) var<storage, read_write> bodies: array<Body>;
@group(1) @binding(3) var<storage, read_write> tags: array<Tag>;
@group(1) @binding(4) var<storage, read_write> lists: array<u32>;
@group(1) @binding(5) var<storage, read_write> work: array<atomic<u32>>;
@group(1) @binding(6) var<storage, read> world: array<vec4u>;
@group(1) @binding(7) var<storage, read_write> nodes: array<Node>;

// Parts of a cell along each axis at a level.
fn level_parts(parts: u32) -> vec3i { return vec3i(i32(parts), i32(parts), select(1, i32(parts), frame.layers != 0)); }

// Halt bit for a truncated loop: shorter substeps would not help.
const IF_CUT: u32 = HALT_CUT | HALT_STUCK;
