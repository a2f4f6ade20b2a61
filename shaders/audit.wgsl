// Stage 11: the sums over all spheres: energies, momentum, speeds, what is not finite. Twin: src/cpu/audit.rs.
//
// Each workgroup sums a range of spheres of its own; the host adds the parts in f64, in their order.

// The sums: 0 kinetic energy; 1.. momentum; 4.. mass * cell and 7.. mass * offset, apart so that neither rounds the
// other; 10 energy lost, 11 virial, 12 work of relax.
var<workgroup> parts: array<array<f32, AUDIT_SUMS>, GROUP>;

fn add(lane: u32, k: u32, value: f32) { parts[lane][k] += value; }

fn add_sphere(i: u32, lane: u32) {
    let body = bodies[i];
    let tag = tags[i];
    let node = nodes[i];
    add(lane, 10u, node.loss);
    add(lane, 11u, node.virial);
    add(lane, 12u, node.relax_work);
    // Speeds whose squares overflow are as good as infinite.
    let square = dot(body.velocity, body.velocity);
    if !(finite(square) && all_finite(body.offset) && all_finite(tag.spin)) {
        atomicAdd(&work[NONFINITE_COUNT], 1u);
        // The smallest: cleared words are 0.
        atomicMax(&work[NONFINITE_FIRST], ~tag.rank);
        return;
    }
    // The bits of the square are its class: no scale is needed. Fixed spheres move too, relative to the drift.
    let relative = body.velocity - frame.drift;
    let class_index = min(bitcast<u32>(dot(relative, relative)) >> CLASS_SHIFT, CLASSES - 1u);
    atomicAdd(&work[CLASS_COUNTS + class_index], 1u);
    if body.inverse_mass == 0.0 { return; }
    let mass = 1.0 / body.inverse_mass;
    let inertia = 0.4 * body.radius * body.radius;
    add(lane, 0u, 0.5 * mass * (square + inertia * dot(tag.spin, tag.spin)));
    let momentum = body.velocity * mass;
    let cell = vec3f(tag.cell) * mass;
    let offset = body.offset * mass;
    for (var axis = 0u; axis < 3u; axis++) {
        add(lane, 1u + axis, momentum[axis]);
        add(lane, 4u + axis, cell[axis]);
        add(lane, 7u + axis, offset[axis]);
    }
}

@compute @workgroup_size(GROUP)
fn audit(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let halted = is_halted();
    // As many whole blocks for each workgroup, so that the order of the sums depends on the count alone.
    let blocks = (frame.sphere_count + GROUP - 1u) / GROUP;
    let per_group = (blocks + groups.x - 1u) / groups.x;
    for (var k = 0u; k < AUDIT_SUMS; k++) { parts[lane][k] = 0.0; }
    if !halted {
        for (var block = group.x * per_group; block < min((group.x + 1u) * per_group, blocks); block++) {
            let i = block * GROUP + lane;
            if i < frame.sphere_count { add_sphere(i, lane); }
        }
        // Velocities of an even sample, for the median.
        let stride = max((frame.sphere_count + SAMPLE - 1u) / SAMPLE, 1u);
        for (var k = group.x * GROUP + lane; k * stride < frame.sphere_count; k += groups.x * GROUP) {
            let velocity = bitcast<vec3u>(bodies[k * stride].velocity);
            atomicStore(&work[SAMPLE_WORDS + 3u * k], velocity.x);
            atomicStore(&work[SAMPLE_WORDS + 3u * k + 1u], velocity.y);
            atomicStore(&work[SAMPLE_WORDS + 3u * k + 2u], velocity.z);
        }
    }
    for (var half = GROUP / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if lane < half {
            for (var k = 0u; k < AUDIT_SUMS; k++) { parts[lane][k] += parts[lane + half][k]; }
        }
    }
    workgroupBarrier();
    if lane < AUDIT_SUMS && !halted {
        atomicStore(&work[PART_WORDS + group.x * AUDIT_SUMS + lane], bitcast<u32>(parts[0][lane]));
    }
}
