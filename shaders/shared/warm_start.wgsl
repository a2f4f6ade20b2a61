// The next substep starts from the impulses and sleep timers in this buffer. Ranks of spheres are the keys.

@group(1) @binding(3) var<storage, read_write> warm_start: array<atomic<u32>>;

fn rank_head(rank: u32) -> u32 { return WARM_START_HEAD + RANK_WORDS * rank; }
fn place_of_impulse(impulse: u32) -> u32 { return rank_head(frame.room) + impulse * IMPULSE_WORDS; }
