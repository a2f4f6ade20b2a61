// Values passed between the invocations of a workgroup, through storage as `rest_solve` and `rounds` pass them, and through
// workgroup memory as `scan` and `audit` do. An invocation that reads an old value counts it. LANES and TURNS come from
// src/doctor/litmus/barriers.rs, as does the attribute of `rows`.

/*ATTRIBUTE*/ @group(0) @binding(0) var<storage, read_write> rows: array<vec4u>;
@group(0) @binding(1) var<storage, read_write> counts: array<atomic<u32>>;

var<workgroup> group_rows: array<vec4u, LANES>;

// Another value in every group, turn and lane.
fn value(group: u32, turn: u32, lane: u32) -> vec4u {
    let seed = (group * 0x9e3779b9u) ^ (turn * 0x85ebca6bu) ^ (lane * 0xc2b2ae35u);
    return vec4u(seed, seed ^ 0x5bd1e995u, ~seed, seed + 0x27d4eb2fu);
}

// The lane whose value a lane reads: in another subgroup for most lanes and turns.
fn other_lane(turn: u32, lane: u32) -> u32 { return (lane + 9u + turn * 7u) % LANES; }

@compute @workgroup_size(LANES)
fn through_storage(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
    let base = group.x * LANES;
    var stale = 0u;
    for (var turn = 0u; turn < TURNS; turn++) {
        rows[base + lane] = value(group.x, turn, lane);
        storageBarrier(); // from the write to the read
        let other = other_lane(turn, lane);
        stale += u32(any(rows[base + other] != value(group.x, turn, other)));
        storageBarrier();
    }
    atomicAdd(&counts[0], stale);
    atomicAdd(&counts[1], TURNS);
}

@compute @workgroup_size(LANES)
fn through_workgroup(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
    var stale = 0u;
    for (var turn = 0u; turn < TURNS; turn++) {
        group_rows[lane] = value(group.x, turn, lane);
        workgroupBarrier();
        let other = other_lane(turn, lane);
        stale += u32(any(group_rows[other] != value(group.x, turn, other)));
        workgroupBarrier();
    }
    atomicAdd(&counts[0], stale);
    atomicAdd(&counts[1], TURNS);
}
