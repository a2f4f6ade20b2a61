// The uniforms, and what all stages read from them. Structs that Rust shares, `Frame` and its offsets `at_*` among
// them, are generated from `src/gpu/layout.rs`. Lengths, times and masses are in scaled units.

@group(0) @binding(0) var<uniform> frame: Frame;
@group(0) @binding(1) var<uniform> round_of_dispatch: Round;

// Always 0, though no compiler can know. At least one driver (lavapipe) recompiles a shader for the values of uniforms
// that alone decide a branch or a loop: at every dispatch, for milliseconds, and it never frees the compiled code.
// `a && b` is a branch too.
var<private> opaque_zero: u32;

// First in every entry point: dispatches have one workgroup along y.
fn begin(groups: vec3u) { opaque_zero = groups.y - 1u; }

fn has_flag(flag: u32) -> bool { return ((frame.flags | opaque_zero) & flag) != 0u; }
fn has_gravity() -> bool { return has_flag(FLAG_GRAVITY); }
fn is_recording() -> bool { return has_flag(FLAG_RECORD); }
fn is_strict() -> bool { return has_flag(FLAG_STRICT); }
fn is_shortest() -> bool { return has_flag(FLAG_SHORTEST); }
fn is_first_build() -> bool { return has_flag(FLAG_FIRST_BUILD); }
fn is_direct() -> bool { return (frame.direct | opaque_zero) != 0u; }
fn is_periodic(axis: u32) -> bool { return (frame.periodic[axis] | opaque_zero) != 0u; }
fn cell_count(axis: u32) -> i32 { return frame.count[axis] + i32(opaque_zero); }
fn wall_count() -> u32 { return frame.wall_count | opaque_zero; }
fn sleep_ticks() -> u32 { return frame.sleep_ticks | opaque_zero; }

// A row of the world as floats. Rows are read as integers, because a driver may flush integers that look like denormal floats.
fn world_row(at: u32) -> vec4f { return bitcast<vec4f>(world[at]); }

// Vector between cells.
fn cells_shift(cells: vec3i) -> vec3f { return vec3f(cells) * frame.edge; }

// Cells from a sphere's cell to that of a candidate: code = 9 dz + 3 dy + dx + 13. The divisions are exact below 32.
fn code_cells(code: u32) -> vec3i {
    let z = (code * 57u) >> 9u;
    let rest = code - 9u * z;
    let y = (rest * 11u) >> 5u;
    return vec3i(i32(rest - 3u * y), i32(y), i32(z)) - vec3i(1);
}

// WGSL lets compilers assume that neither infinities nor NaN occur: test the bits instead.
fn finite(x: f32) -> bool { return (bitcast<u32>(x) & 0x7f800000u) != 0x7f800000u; }
fn all_finite(v: vec3f) -> bool { return finite(v.x) && finite(v.y) && finite(v.z); }

fn modulo(a: i32, n: i32) -> i32 {
    let r = a % n;
    return select(r, r + n, r < 0);
}

// First bucket of the row of cells (y, z).
fn row_of(y: i32, z: i32) -> u32 {
    if is_direct() {
        return u32((z * frame.count.y + y) * frame.count.x);
    }
    var h = (u32(y) * 0x9e3779b1u) ^ (u32(z) * 0x85ebca77u);
    h ^= h >> 15u;
    h = h * 0x2c1b3c6du;
    return h ^ (h >> 13u);
}

// First bucket of a cell; the buckets of its parts follow.
fn bucket_of(constraint: u32, x: i32) -> u32 {
    let k = constraint + u32(x);
    return select(k & frame.bucket_mask, k, is_direct()) * frame.parts;
}

// Wraps a coordinate beyond the grid; `inside` is false outside walls, where no cell exists.
struct Wrapped {
    cell: i32,
    inside: bool,
}

fn wrap_axis(axis: u32, c: i32) -> Wrapped {
    let n = cell_count(axis);
    if n == 0 || (c >= 0 && c < n) { return Wrapped(c, true); }
    if is_periodic(axis) { return Wrapped(modulo(c, n), true); }
    return Wrapped(c, false);
}

// The same at most one period beyond the grid; division by a non-constant is expensive.
fn wrap_next(axis: u32, c: i32) -> Wrapped {
    let n = cell_count(axis);
    if n == 0 || (c >= 0 && c < n) { return Wrapped(c, true); }
    return Wrapped(select(c - n, c + n, c < 0), is_periodic(axis));
}
