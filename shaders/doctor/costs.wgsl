// One primitive operation many times, for the host to time, src/doctor/costs.rs. Every entry point leaves a result that the
// host checks, so that no compiler leaves the work out. LANES and TURNS come from there.

@group(0) @binding(0) var<storage, read_write> results: array<atomic<u32>>;
@group(0) @binding(1) var<storage, read> chain: array<u32>;

// As in the stages, so that no loop has a number of turns that the compiler knows.
var<private> opaque_zero: u32;

@compute @workgroup_size(LANES)
fn nothing(@builtin(global_invocation_id) id: vec3u) {
    if id.x == 0u { atomicAdd(&results[0], 1u); }
}

@compute @workgroup_size(LANES)
fn storage_barriers(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    opaque_zero = groups.y - 1u;
    var turns = 0u;
    for (var k = 0u; k < TURNS; k++) {
        turns += 1u + opaque_zero;
        storageBarrier();
    }
    if id.x == 0u { atomicAdd(&results[0], turns); }
}

@compute @workgroup_size(LANES)
fn workgroup_barriers(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    opaque_zero = groups.y - 1u;
    var turns = 0u;
    for (var k = 0u; k < TURNS; k++) {
        turns += 1u + opaque_zero;
        workgroupBarrier();
    }
    if id.x == 0u { atomicAdd(&results[0], turns); }
}

@compute @workgroup_size(LANES)
fn atomics_apart(@builtin(global_invocation_id) id: vec3u) {
    for (var k = 0u; k < TURNS; k++) { atomicAdd(&results[1u + id.x], 1u); }
}

@compute @workgroup_size(LANES)
fn atomics_on_one(@builtin(global_invocation_id) id: vec3u) {
    for (var k = 0u; k < TURNS; k++) { atomicAdd(&results[0], 1u); }
}

// Every load needs the result of the one before.
@compute @workgroup_size(1)
fn dependent_loads() {
    var at = 0u;
    for (var k = 0u; k < TURNS; k++) { at = chain[at]; }
    atomicStore(&results[0], at);
}
