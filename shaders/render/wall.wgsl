// Walls other than planes. One list holds the triangles of all these walls. `src/render/walls` fills the buffers and
// mirrors their layout.

// Where a wall is in the frame of the eye.
struct WallPlace {
    // Its own axes; unit of length included.
    axes: array<vec4f, 3>,
    // The origin of its vertices; w: 0 where it is not there at this time.
    origin: vec4f,
}

// Position from the origin of the wall (three floats), and the normal.
@group(2) @binding(0) var<storage, read> wall_vertices: array<vec4u>;
// Three vertices and the wall.
@group(2) @binding(1) var<storage, read> wall_triangles: array<vec4u>;
@group(2) @binding(2) var<storage, read> wall_places: array<WallPlace>;
// Two vertices, the wall, and 1 for a mark on a surface, 0 for an edge of it.
@group(2) @binding(3) var<storage, read> wall_lines: array<vec4u>;

// Ids of triangles of walls: they are above those of surfaces.
const WALL: u32 = 0xc0000000u;

// A vertex whose normal is that of the face.
const NO_NORMAL: u32 = 0x80008000u;

fn turned(place: WallPlace, v: vec3f) -> vec3f {
    return v.x * place.axes[0].xyz + v.y * place.axes[1].xyz + v.z * place.axes[2].xyz;
}

fn settled_at(place: WallPlace, vertex: vec4u) -> vec3f {
    return turned(place, bitcast<vec3f>(vertex.xyz)) + place.origin.xyz;
}

// A direction from the two fractions that it was folded into.
fn unfolded(packed: u32) -> vec3f {
    let flat = unpack2x16snorm(packed);
    let z = 1.0 - abs(flat.x) - abs(flat.y);
    let fold = vec2f(max(-z, 0.0));
    return vec3f(flat - select(fold, -fold, flat < vec2f(0.0)), z);
}

struct WallPoint {
    p: vec3f,
    // Unit normal, towards the eye.
    n: vec3f,
}

// Where a ray of depth 1 meets a triangle of a wall (Moeller and Trumbore 1997). Samples beside the middle of a pixel may see
// what its ray misses: then the plane of the triangle stands for it, as far as its depths go.
fn wall_at(id: u32, direction: vec3f) -> WallPoint {
    let triangle = wall_triangles[id & ~WALL];
    let place = wall_places[triangle.w];
    let corners = array(wall_vertices[triangle.x], wall_vertices[triangle.y], wall_vertices[triangle.z]);
    let a = settled_at(place, corners[0]);
    let ab = settled_at(place, corners[1]) - a;
    let ac = settled_at(place, corners[2]) - a;
    // Outward: the frame of the eye is left-handed.
    let flat = cross(ac, ab);
    let toward = dot(flat, direction);
    let far = a.z + max(max(ab.z, ac.z), 0.0);
    let t = dot(flat, a) / select(toward, 1e-30, toward == 0.0);
    let depth = clamp(select(t, far, t <= 0.0), a.z + min(min(ab.z, ac.z), 0.0), far);
    var n = flat;
    if corners[0].w != NO_NORMAL {
        let volume = dot(ab, cross(direction, ac));
        let scale = 1.0 / select(volume, 1e-30, volume == 0.0);
        let u = clamp(dot(ac, cross(direction, a)) * scale, 0.0, 1.0);
        let v = clamp(dot(direction, cross(ab, a)) * scale, 0.0, 1.0 - u);
        let bent = (1.0 - u - v) * unfolded(corners[0].w) + u * unfolded(corners[1].w) + v * unfolded(corners[2].w);
        n = turned(place, bent);
    }
    // By where the eye is, since the ray may miss the plane.
    let side = select(1.0, -1.0, dot(flat, a) > 0.0);
    return WallPoint(depth * direction, side * normalize(n));
}

// The colour of walls, in linear light: darker than floor and background, so that they stand out from both.
const WALL_COLOUR: vec3f = vec3f(0.42, 0.45, 0.49);
