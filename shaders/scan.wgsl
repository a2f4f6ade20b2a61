// Stage `scan`: exclusive prefix sum of the histogram. It sums each part, scans the sums, then scans each part, so that no
// part waits for another. Twin: src/cpu/scan.rs.

const PER_THREAD: u32 = SCAN_PART / SCAN_GROUP;

var<workgroup> partial: array<u32, SCAN_GROUP>;

// Exclusive prefix sum over the workgroup; `partial` holds the inclusive sums afterwards.
fn scan_group(lane: u32, value: u32) -> u32 {
    partial[lane] = value;
    workgroupBarrier();
    for (var step = 1u; step < SCAN_GROUP; step *= 2u) {
        var before = 0u;
        if lane >= step { before = partial[lane - step]; }
        workgroupBarrier();
        partial[lane] += before;
        workgroupBarrier();
    }
    return partial[lane] - value;
}

// One workgroup for each part.
@compute @workgroup_size(SCAN_GROUP)
fn scan_reduce(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32, @builtin(num_workgroups) groups: vec3u) {
    begin(groups);
    let base = group.x * SCAN_PART;
    var sum = 0u;
    for (var k = 0u; k < PER_THREAD; k++) {
        let at = base + k * SCAN_GROUP + lane;
        if at < frame.buckets { sum += atomicLoad(&work[frame.at_counts + at]); }
    }
    scan_group(lane, sum);
    if lane == 0u && !is_halted() { atomicStore(&work[frame.at_sums + group.x], partial[SCAN_GROUP - 1u]); }
}

// A single workgroup.
@compute @workgroup_size(SCAN_GROUP)
fn scan_sums(@builtin(local_invocation_index) lane: u32, @builtin(num_workgroups) groups: vec3u) {
    begin(groups);
    let parts = (frame.buckets + SCAN_PART - 1u) / SCAN_PART;
    var before = 0u;
    for (var base = 0u; base < parts; base += SCAN_GROUP) {
        let at = base + lane;
        var value = 0u;
        if at < parts { value = atomicLoad(&work[frame.at_sums + at]); }
        let sum = before + scan_group(lane, value);
        before += partial[SCAN_GROUP - 1u];
        workgroupBarrier();
        if at < parts && !is_halted() { atomicStore(&work[frame.at_sums + at], sum); }
    }
    if lane == 0u && !is_halted() { atomicStore(&work[frame.at_starts + frame.buckets], before); }
}

// One workgroup for each part. The counts become cursors for scatter.
@compute @workgroup_size(SCAN_GROUP)
fn scan_apply(
    @builtin(workgroup_id) group: vec3u,
    @builtin(local_invocation_index) lane: u32,
    @builtin(num_workgroups) groups: vec3u,
) {
    begin(groups);
    // Each lane takes consecutive buckets, so that one scan over the lanes suffices.
    let base = group.x * SCAN_PART + lane * PER_THREAD;
    var values: array<u32, PER_THREAD>;
    var sum = 0u;
    for (var k = 0u; k < PER_THREAD; k++) {
        if base + k < frame.buckets { values[k] = atomicLoad(&work[frame.at_counts + base + k]); }
        sum += values[k];
    }
    var start = atomicLoad(&work[frame.at_sums + group.x]) + scan_group(lane, sum);
    if is_halted() { return; }
    for (var k = 0u; k < PER_THREAD; k++) {
        if base + k < frame.buckets {
            atomicStore(&work[frame.at_starts + base + k], start);
            atomicStore(&work[frame.at_counts + base + k], start);
        }
        start += values[k];
    }
}
