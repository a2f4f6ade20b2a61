// Stage 4: the candidates of every sphere: all it could meet before the next broad phase while neither of the two
// leaves its path budget. Twin: src/cpu/neighbors.rs.

var<workgroup> counts: array<u32, GROUP>;
var<workgroup> first_entry: u32;

// Candidates found while the search runs; those that do not fit are searched for once more.
const KEPT: u32 = 32u;

struct Finder {
    i: u32,
    // Of its cell; the word knows x modulo 4.
    x: u32,
    cell_x: i32,
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

// Whether the sphere's surface is near enough to that of j, in an image `shift` away.
fn is_near(finder: ptr<function, Finder>, j: u32, shift: vec3f) -> bool {
    let d = ((*finder).offset - bodies[j].offset) - shift;
    let near = ((*finder).radius + bodies[j].radius) + 2.0 * frame.budget;
    return dot(d, d) <= near * near;
}

// Spheres start..end of a row of up to three cells, the middle one (0, dy, dz) away. Where each is in its cell is known
// to a thousandth of the edge from one word; the few for which that is not enough are looked at closely.
fn search(finder: ptr<function, Finder>, start: u32, end: u32, dy: i32, dz: i32, wrapped: i32) {
    let step = frame.edge * (1.0 / 1024.0);
    let base = (*finder).offset - cells_shift(vec3i(0, dy, dz)) - 0.5 * step;
    let x_edge = frame.edge.x;
    // Half the diagonal of what the word leaves open, and a hair for rounding.
    let open = 0.5 * length(step) + 1e-5 * (x_edge + frame.edge.y + frame.edge.z);
    let surely_not = (*finder).radius + frame.radius_max + 2.0 * frame.budget + open;
    let surely = max((*finder).radius + frame.radius_min + 2.0 * frame.budget - open, 0.0);
    let own_x = (*finder).x;
    let code = u32(9 * dz + 3 * dy + 13);
    for (var j = start; j < end; j++) {
        let word = nodes[j].touched;
        // -1, 0, 1 for the left, the middle and the right cell.
        var side = i32((word - own_x + 1u) & 3u) - 1;
        if wrapped != 0 { side = wrapped; }
        let place = vec3f(f32((word >> 2u) & 1023u), f32((word >> 12u) & 1023u), f32(word >> 22u));
        var d = base - place * step;
        d.x -= f32(side) * x_edge;
        let square = dot(d, d);
        let known = word < OUTSIDE;
        if known && square > surely_not * surely_not { continue; }
        if !known { side = select(tags[j].cell.x - (*finder).cell_x, wrapped, wrapped != 0); }
        if known && square <= surely * surely || is_near(finder, j, cells_shift(vec3i(side, dy, dz))) {
            found(finder, j, u32(i32(code) + side));
        }
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
            if is_direct() {
                let last = cell_count(0u) - 1;
                let low = bucket_of(row, max(cell.x - 1, 0));
                let high = bucket_of(row, min(cell.x + 1, last));
                search(finder, starts(low), starts(high + 1u), dy, dz, 0);
                if is_periodic(0u) && (cell.x == 0 || cell.x == last) {
                    if cell.x == 0 {
                        let bucket = bucket_of(row, last);
                        search(finder, starts(bucket), starts(bucket + 1u), dy, dz, -1);
                    }
                    if cell.x == last {
                        let bucket = bucket_of(row, 0);
                        search(finder, starts(bucket), starts(bucket + 1u), dy, dz, 1);
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
                        if all(tags[j].cell == wanted) && is_near(finder, j, shift) {
                            found(finder, j, u32(9 * dz + 3 * dy + 13 + dx));
                        }
                    }
                }
            }
        }
    }
}

fn walls_in_reach(i: u32) -> u32 {
    var reached = 0u;
    let path = frame.budget + frame.drift_reach;
    for (var plane = 0u; plane < wall_count(); plane++) {
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
    begin(groups);
    let blocks = (frame.sphere_count + GROUP - 1u) / GROUP;
    for (var block = group.x; block < blocks; block += groups.x) {
        let i = block * GROUP + lane;
        var finder = Finder(i, 0u, 0, vec3f(0.0), 0.0, false, 0u, 0u, 0u);
        let alive = i < frame.sphere_count && !is_halted();
        if alive {
            finder.cell_x = tags[i].cell.x;
            finder.x = u32(finder.cell_x);
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
