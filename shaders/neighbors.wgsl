// Stage 4: the candidates of every sphere: all it could meet before the next broad phase while neither of the two
// leaves its path budget. Twin: src/cpu/neighbors.rs.

var<workgroup> counts: array<u32, GROUP>;
var<workgroup> first_entry: u32;

// Candidates found while the search runs; those that do not fit are searched for once more.
const KEPT: u32 = 32u;

struct Finder {
    i: u32,
    offset: vec3f,
    radius: f32,
    fixed: bool,
    found: u32,
    // Where found entries go, and how many may: 0 while they are only counted.
    at: u32,
    room: u32,
}

var<private> kept: array<u32, KEPT>;

fn found(finder: ptr<function, Finder>, j: u32, code: u32) {
    if j == (*finder).i { return; }
    if (*finder).fixed && bodies[j].inverse_mass == 0.0 { return; }
    let entry = (code << CODE_SHIFT) | j;
    let k = (*finder).found;
    if (*finder).room > 0u {
        if k < (*finder).room { lists[(*finder).at + k] = entry; }
    } else if k < KEPT {
        kept[k] = entry;
    }
    (*finder).found = k + 1u;
}

// Spheres start..end, the cells of which are `side` cells along x away.
fn search(finder: ptr<function, Finder>, start: u32, end: u32, shift: vec3f, code: u32) {
    let offset = (*finder).offset;
    let reach = (*finder).radius;
    for (var j = start; j < end; j++) {
        let d = (offset - bodies[j].offset) - shift;
        let near = (reach + bodies[j].radius) + 2.0 * frame.budget;
        if dot(d, d) <= near * near { found(finder, j, code); }
    }
}

fn starts(bucket: u32) -> u32 { return atomicLoad(&work[frame.at_starts + bucket]); }

fn search_all(finder: ptr<function, Finder>) {
    let i = (*finder).i;
    let cell = tags[i].cell;
    let farthest = ((*finder).radius + frame.radius_max + 2.0 * frame.budget) * (1.0 + 1e-4);
    for (var dz = -frame.layers; dz <= frame.layers; dz++) {
        let z = wrap_axis(2u, cell.z + dz);
        if !z.inside { continue; }
        for (var dy = -1; dy <= 1; dy++) {
            let y = wrap_axis(1u, cell.y + dy);
            if !y.inside { continue; }
            // How far the sphere is from the cells of the row; a corner is often out of reach.
            let o = (*finder).offset;
            let gap = vec2f(
                select(select(0.0, max(o.y, 0.0), dy < 0), max(frame.edge.y - o.y, 0.0), dy > 0),
                select(select(0.0, max(o.z, 0.0), dz < 0), max(frame.edge.z - o.z, 0.0), dz > 0),
            );
            if dot(gap, gap) > farthest * farthest { continue; }
            let row = row_of(y.cell, z.cell);
            let code = u32(9 * dz + 3 * dy + 13);
            if frame.direct != 0u {
                for (var dx = -1; dx <= 1; dx++) {
                    let shift = cells_shift(vec3i(dx, dy, dz));
                    let x = cell.x + dx;
                    if x >= 0 && x < frame.count.x {
                        let bucket = bucket_of(row, x);
                        search(finder, starts(bucket), starts(bucket + 1u), shift, code + u32(dx));
                    }
                }
                if frame.periodic.x != 0u {
                    let last = frame.count.x - 1;
                    if cell.x == 0 {
                        let bucket = bucket_of(row, last);
                        let shift = cells_shift(vec3i(-1, dy, dz));
                        search(finder, starts(bucket), starts(bucket + 1u), shift, code - 1u);
                    }
                    if cell.x == last {
                        let bucket = bucket_of(row, 0);
                        let shift = cells_shift(vec3i(1, dy, dz));
                        search(finder, starts(bucket), starts(bucket + 1u), shift, code + 1u);
                    }
                }
            } else {
                for (var dx = -1; dx <= 1; dx++) {
                    let x = wrap_axis(0u, cell.x + dx);
                    if !x.inside { continue; }
                    let bucket = bucket_of(row, x.cell);
                    let wanted = vec3i(x.cell, y.cell, z.cell);
                    let shift = cells_shift(vec3i(dx, dy, dz));
                    // Several cells may share a bucket.
                    for (var j = starts(bucket); j < starts(bucket + 1u); j++) {
                        if all(tags[j].cell == wanted) { search(finder, j, j + 1u, shift, code + u32(dx)); }
                    }
                }
            }
        }
    }
}

fn walls_in_reach(i: u32) -> u32 {
    var reached = 0u;
    let path = frame.budget + frame.drift_reach;
    for (var plane = 0u; plane < frame.wall_count; plane++) {
        let normal = world[3u * plane].xyz;
        let cells = tags[i].cell - bitcast<vec3i>(world[3u * plane + 1u].xyz);
        let to = cells_shift(cells) + (bodies[i].offset - world[3u * plane + 2u].xyz);
        let gap = dot(normal, to) - bodies[i].radius;
        if gap <= path * 1.001 + frame.slop { reached |= 1u << min(plane, 31u); }
    }
    return reached;
}

// One workgroup after the other takes a block of GROUP spheres, whose entries follow each other.
@compute @workgroup_size(GROUP)
fn neighbors(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let blocks = (frame.sphere_count + GROUP - 1u) / GROUP;
    for (var block = group.x; block < blocks; block += groups.x) {
        let i = block * GROUP + lane;
        var finder = Finder(i, vec3f(0.0), 0.0, false, 0u, 0u, 0u);
        let alive = i < frame.sphere_count && !is_halted();
        if alive {
            finder.offset = bodies[i].offset;
            finder.radius = bodies[i].radius;
            finder.fixed = bodies[i].inverse_mass == 0.0;
            search_all(&finder);
            lists[frame.at_walls + i] = walls_in_reach(i);
        }
        let count = finder.found;
        counts[lane] = count;
        workgroupBarrier();
        for (var step = 1u; step < GROUP; step *= 2u) {
            var before = 0u;
            if lane >= step { before = counts[lane - step]; }
            workgroupBarrier();
            counts[lane] += before;
            workgroupBarrier();
        }
        if lane == 0u { first_entry = atomicAdd(&work[CANDIDATE_COUNT], counts[GROUP - 1u]); }
        workgroupBarrier();
        let total = counts[GROUP - 1u];
        let start = first_entry + counts[lane] - count;
        let fits = first_entry + total <= frame.entry_capacity;
        if alive {
            if !fits {
                // The count goes on to the end, so that the host knows what is needed.
                atomicMax(&work[CANDIDATES_NEEDED], first_entry + total);
                atomicOr(&work[HALT], HALT_OVERFLOW);
            } else {
                // One more than there are spheres in each block: where the last list ends.
                let at = frame.at_entries + start;
                lists[block * (GROUP + 1u) + lane] = at;
                if lane == GROUP - 1u || i == frame.sphere_count - 1u {
                    lists[block * (GROUP + 1u) + lane + 1u] = at + count;
                }
                if count <= KEPT {
                    for (var k = 0u; k < count; k++) { lists[at + k] = kept[k]; }
                } else {
                    finder.found = 0u;
                    finder.at = at;
                    finder.room = count;
                    search_all(&finder);
                }
            }
        }
        workgroupBarrier();
    }
}
