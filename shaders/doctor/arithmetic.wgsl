// Arithmetic whose accuracy and rounding the host checks, src/doctor/litmus/arithmetic.rs. The functions `all_finite` and
// `impulse`, and the constants, are carom's own; the host puts their text before this one.

struct Input {
    a: vec4f,
    b: vec4f,
}

@group(0) @binding(0) var<storage, read> inputs: array<Input>;
@group(0) @binding(1) var<storage, read_write> outputs: array<u32>;

// Zero, but no compiler knows it.
var<private> opaque_zero: u32;

fn hidden(x: f32) -> f32 { return bitcast<f32>(bitcast<u32>(x) ^ opaque_zero); }

fn put(i: u32, place: u32, x: f32) { outputs[i * OUTPUTS + place] = bitcast<u32>(x); }

fn two_sum(a: f32, b: f32, sum: f32) -> f32 {
    let part = sum - a;
    return (a - (sum - part)) + (b - part);
}

@compute @workgroup_size(LANES)
fn arithmetic(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    opaque_zero = groups.y - 1u;
    for (var i = id.x; i < arrayLength(&inputs); i += groups.x * LANES) {
        let a = inputs[i].a;
        let b = inputs[i].b;
        put(i, 0u, a.x / b.x);
        put(i, 1u, sqrt(abs(a.y)));
        put(i, 2u, length(a.xyz));
        put(i, 3u, dot(a.xyz, b.xyz));
        put(i, 4u, a.x * b.y + a.z);
        put(i, 5u, inverseSqrt(abs(a.y)));
        // Rounding errors of a sum, plain and as carom hides them.
        put(i, 6u, ((a.x + a.w) - a.x) - a.w);
        put(i, 7u, (hidden(a.x + a.w) - a.x) - a.w);
        put(i, 8u, two_sum(a.x, a.w, a.x + a.w));
        put(i, 9u, two_sum(a.x, a.w, hidden(a.x + a.w)));
    }
}

// The impulses of elastic impacts, with the correction of their energy.
@compute @workgroup_size(LANES)
fn impacts(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    for (var i = id.x; i < arrayLength(&inputs); i += groups.x * LANES) {
        let d = inputs[i].a.xyz;
        let w = inputs[i].b.xyz;
        let change = impulse(d, w, 1.0, 1.0, length(w));
        put(i, 0u, change.x);
        put(i, 1u, change.y);
        put(i, 2u, change.z);
    }
}

// The same product and sum in another pipeline, inside a loop and among other sums.
@compute @workgroup_size(LANES)
fn product_and_sum(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    opaque_zero = groups.y - 1u;
    for (var i = id.x; i < arrayLength(&inputs); i += groups.x * LANES) {
        let a = inputs[i].a;
        let b = inputs[i].b;
        var products = vec2f(a.x * b.y, a.y * b.x);
        var sum = 0.0;
        for (var k = 0u; k < 2u + opaque_zero; k++) {
            let product = select(products.y, products.x, k == 1u);
            sum = product + select(a.w, a.z, k == 1u);
        }
        put(i, 0u, sum);
        put(i, 1u, a.x * b.y + a.z);
    }
}
