// Finds the deepest overlap of every sphere with another sphere, in mean diameters of the pair. Cells are at least as
// wide as the largest sphere, so a sphere overlaps only spheres in its own cell and the 26 cells around. Each cell is
// hashed to a list of spheres.

// The first sphere of each list plus 1, then the next one after every sphere; 0 = none. A power of two of lists.
@group(1) @binding(2) var<storage, read_write> heads: array<atomic<u32>>;
@group(1) @binding(3) var<storage, read_write> following: array<u32>;
@group(1) @binding(4) var<storage, read_write> values: array<f32>;

fn list_of(cell: vec3i) -> u32 {
    let c = bitcast<vec3u>(cell);
    var h = (c.x * 0x85ebca77u) ^ (c.y * 0x9e3779b1u) ^ (c.z * 0xc2b2ae3du);
    h ^= h >> 15u;
    h *= 0x2c1b3c6du;
    return (h ^ (h >> 13u)) & (arrayLength(&heads) - 1u);
}

@compute @workgroup_size(GROUP)
fn enter(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let i = id.y * groups.x * GROUP + id.x;
    if i >= look.sphere_count { return; }
    following[i] = atomicExchange(&heads[list_of(settled(i).cell)], i + 1u);
}

@compute @workgroup_size(GROUP)
fn overlap(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let i = id.y * groups.x * GROUP + id.x;
    if i >= look.sphere_count { return; }
    let own = settled(i);
    var deepest = 0.0;
    for (var code = 0; code < 27; code++) {
        let step = vec3i(code % 3, code / 3 % 3, code / 9) - vec3i(1);
        let beside = own.cell + step;
        let cell = vec3i(wrapped(0u, beside.x), wrapped(1u, beside.y), wrapped(2u, beside.z));
        var j = atomicLoad(&heads[list_of(cell)]);
        while j != 0u {
            let other = settled(j - 1u);
            if j - 1u != i && all(other.cell == cell) {
                let d = vec3f(step) * look.edge + (other.offset - own.offset);
                let sum = bodies[i].radius + bodies[j - 1u].radius;
                deepest = max(deepest, 1.0 - length(d) / sum);
            }
            j = following[j - 1u];
        }
    }
    values[i] = deepest;
}
