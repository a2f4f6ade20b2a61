// Stage `audit`: sums over all spheres: energies, momentum, speeds and the number of non-finite states. Twin: src/cpu/audit.rs.
//
// Each workgroup sums one range of spheres; the host adds these sums in f64, in a fixed order.

// Index of each sum: 0 kinetic energy; 1.. momentum; 4.. mass * cell; 7.. mass * offset, separate so that cell and offset do
// not round each other; 10 energy lost; 11 virial; 12 work of relax; 13 the part of the kinetic energy in
// the spins.
var<workgroup> parts: array<array<f32, AUDIT_SUMS>, GROUP>;

// Spheres of each speed class.
var<workgroup> classes_of_group: array<atomic<u32>, CLASSES>;

struct Sums {
    kinetic: f32,
    momentum: vec3f,
    mass_cell: vec3f,
    mass_offset: vec3f,
    loss: f32,
    virial: f32,
    relax_work: f32,
    spin: f32,
}

fn add_sphere(i: u32, sums: ptr<function, Sums>) {
    let body = bodies[i];
    let tag = tags[i];
    (*sums).loss += nodes[i].loss;
    (*sums).virial += nodes[i].virial;
    (*sums).relax_work += nodes[i].relax_work;
    // Speeds whose squares overflow count as infinite.
    let square = dot(body.velocity, body.velocity);
    if !(finite(square) && all_finite(body.offset) && all_finite(tag.spin)) {
        atomicAdd(&work[NONFINITE_COUNT], 1u);
        atomicOr(&work[BROKEN], 1u);
        // The smallest id, stored inverted: cleared words are 0.
        atomicMax(&work[NONFINITE_FIRST], ~tag.rank);
        return;
    }
    // The bits of the square give the class without a scale. Fixed spheres move too, relative to the drift.
    let relative = body.velocity - frame.drift;
    let class_index = min(bitcast<u32>(dot(relative, relative)) >> CLASS_SHIFT, CLASSES - 1u);
    atomicAdd(&classes_of_group[class_index], 1u);
    if body.inverse_mass == 0.0 { return; }
    let mass = 1.0 / body.inverse_mass;
    let inertia = 0.4 * body.radius * body.radius;
    (*sums).kinetic += 0.5 * mass * (square + inertia * dot(tag.spin, tag.spin));
    (*sums).spin += 0.5 * mass * inertia * dot(tag.spin, tag.spin);
    (*sums).momentum += body.velocity * mass;
    (*sums).mass_cell += vec3f(tag.cell) * mass;
    (*sums).mass_offset += body.offset * mass;
}

@compute @workgroup_size(GROUP)
fn audit(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    begin(groups);
    // A non-finite value that this stage finds must not stop part of the stage.
    let halted = atomicLoad(&work[HALT]) != 0u;
    // The same number of whole blocks for every workgroup, so that the order of the sums depends on the count alone.
    let blocks = (frame.sphere_count + GROUP - 1u) / GROUP;
    let per_group = (blocks + groups.x - 1u) / groups.x;
    var sums = Sums(0.0, vec3f(0.0), vec3f(0.0), vec3f(0.0), 0.0, 0.0, 0.0, 0.0);
    if !halted {
        for (var block = group.x * per_group; block < min((group.x + 1u) * per_group, blocks); block++) {
            let i = block * GROUP + lane;
            if i < frame.sphere_count { add_sphere(i, &sums); }
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
    parts[lane] = array<f32, AUDIT_SUMS>(
        sums.kinetic,
        sums.momentum.x, sums.momentum.y, sums.momentum.z,
        sums.mass_cell.x, sums.mass_cell.y, sums.mass_cell.z,
        sums.mass_offset.x, sums.mass_offset.y, sums.mass_offset.z,
        sums.loss,
        sums.virial,
        sums.relax_work,
        sums.spin,
    );
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
    for (var k = lane; k < CLASSES; k += GROUP) {
        let count = atomicLoad(&classes_of_group[k]);
        if count > 0u { atomicAdd(&work[CLASS_COUNTS + k], count); }
    }
    check_loops();
}
