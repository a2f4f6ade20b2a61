// Finds the values at the ends of the colour map, on the device alone: builds a histogram of the values, then finds the
// value below which a given share of the spheres lies.

@group(1) @binding(0) var<storage, read> values: array<f32>;
// Histogram; then the bits of the greatest value and those of the least, turned over so that both grow.
@group(1) @binding(1) var<storage, read_write> bins: array<atomic<u32>, BINS + 2>;
// The ends of the map.
@group(1) @binding(2) var<storage, read_write> range: array<f32, 4>;

// Bits of floats from 0 up are in the order of the floats: their upper 11 are BINS bins of an eighth of a power of two.
const SHIFT: u32 = 20u;
// Beyond: never happened.
const LARGEST: f32 = 1e29;

var<workgroup> own: array<atomic<u32>, BINS>;

@compute @workgroup_size(GROUP)
fn count(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
    @builtin(local_invocation_index) lane: u32) {
    for (var k = lane; k < BINS; k += GROUP) { atomicStore(&own[k], 0u); }
    workgroupBarrier();
    var most = 0u;
    var least = 0u;
    for (var i = group.x * GROUP + lane; i < look.sphere_count; i += groups.x * GROUP) {
        let value = values[i];
        if value >= 0.0 && value < LARGEST {
            let bits = bitcast<u32>(value);
            atomicAdd(&own[bits >> SHIFT], 1u);
            most = max(most, bits);
            least = max(least, ~bits);
        }
    }
    atomicMax(&bins[BINS], most);
    atomicMax(&bins[BINS + 1u], least);
    workgroupBarrier();
    for (var k = lane; k < BINS; k += GROUP) {
        let n = atomicLoad(&own[k]);
        if n > 0u { atomicAdd(&bins[k], n); }
    }
}

var<workgroup> parts: array<u32, GROUP>;

@compute @workgroup_size(GROUP)
fn settle(@builtin(local_invocation_index) lane: u32) {
    const EACH: u32 = BINS / GROUP;
    var sum = 0u;
    for (var k = 0u; k < EACH; k++) { sum += atomicLoad(&bins[lane * EACH + k]); }
    parts[lane] = sum;
    workgroupBarrier();
    if lane != 0u { return; }
    if has(LOCKED) {
        range[0] = look.range.x;
        range[1] = look.range.y;
        return;
    }
    var total = 0u;
    for (var k = 0u; k < GROUP; k++) { total += parts[k]; }
    let most = bitcast<f32>(atomicLoad(&bins[BINS]));
    let least = bitcast<f32>(~atomicLoad(&bins[BINS + 1u]));
    var low = select(0.0, least, look.from_least != 0u);
    var high = most;
    if look.quantile < 1.0 && total > 0u {
        let wanted = look.quantile * f32(total);
        var below = 0u;
        var part = 0u;
        while part < GROUP - 1u && f32(below + parts[part]) < wanted {
            below += parts[part];
            part++;
        }
        var bin = part * EACH;
        while bin < part * EACH + EACH - 1u && f32(below + atomicLoad(&bins[bin])) < wanted {
            below += atomicLoad(&bins[bin]);
            bin++;
        }
        let inside = clamp((wanted - f32(below)) / f32(max(atomicLoad(&bins[bin]), 1u)), 0.0, 1.0);
        let from_bin = bitcast<f32>(bin << SHIFT);
        high = clamp(mix(from_bin, bitcast<f32>((bin + 1u) << SHIFT), inside), least, most);
    }
    if total == 0u { low = 0.0; high = 1.0; }
    // All alike: the middle of the map, or its lower end for nothing at all.
    if high <= low {
        let spread = select(1.0, 0.5 * abs(low), low != 0.0);
        if low != 0.0 { low -= spread; }
        high += spread;
    }
    // Grows at once and shrinks slowly, so that colours of a film do not flicker.
    if !has(FRESH) && look.from_least == 0u { high = max(high, mix(range[1], high, 0.02)); }
    range[0] = low;
    range[1] = high;
}
