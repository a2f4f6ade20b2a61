// The state of the engines, as the passes over all spheres read it.

// As carom::gpu::Body and Tag, in the spheres' units.
struct Body {
    offset: vec3f,
    radius: f32,
    velocity: vec3f,
    inverse_mass: f32,
}

struct Tag {
    cell: vec3i,
    rank: u32,
    spin: vec3f,
    last_contact: f32,
}

@group(1) @binding(0) var<storage, read> bodies: array<Body>;
@group(1) @binding(1) var<storage, read> tags: array<Tag>;

// Where a sphere is: offsets of the engines may reach beyond the cell.
struct Place {
    cell: vec3i,
    offset: vec3f,
}

fn wrapped(axis: u32, cell: i32) -> i32 {
    let n = look.cells[axis];
    if n == 0 { return cell; }
    let c = cell % n;
    return select(c, c + n, c < 0);
}

// Whole cells out of the offset, those of periodic axes wrapped into the box.
fn settled(i: u32) -> Place {
    var place = Place(tags[i].cell, bodies[i].offset);
    for (var axis = 0u; axis < 3u; axis++) {
        let moved = floor(place.offset[axis] / look.edge[axis]);
        place.offset[axis] -= moved * look.edge[axis];
        place.cell[axis] = wrapped(axis, place.cell[axis] + i32(moved));
    }
    return place;
}
