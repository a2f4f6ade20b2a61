// Bit patterns that are no ordinary numbers: integers read as floats, as carom keeps them in the buffer `world`, and
// denormal numbers. The host checks the results, src/doctor/litmus/bits.rs. The functions `finite` and `all_finite` are
// carom's own.

@group(0) @binding(0) var<storage, read> rows: array<vec4f>;
@group(0) @binding(1) var<storage, read_write> copies: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> outputs: array<vec4u>;

@compute @workgroup_size(LANES)
fn bits(@builtin(global_invocation_id) id: vec3u) {
    let i = id.x;
    if i >= arrayLength(&rows) { return; }
    let row = rows[i];
    copies[i] = row;
    // The bits, sums and halves of the numbers, and a test of each.
    outputs[3u * i] = bitcast<vec4u>(row);
    outputs[3u * i + 1u] = bitcast<vec4u>(vec4f(row.x + row.y, row.x * 0.5, row.x - row.x, row.y * 1.0));
    outputs[3u * i + 2u] = vec4u(u32(finite(row.x)), u32(all_finite(row.xyz)), u32(row.x == row.x), u32(row.x > 0.0));
}
