//! Test surfaces, and files that hold them.

use carom::Mesh;
use glam::DVec3;

pub type Parts = (Vec<DVec3>, Vec<[u32; 3]>);

/// The unit cube, corner `i` at the bits of `i`, all triangles with their fronts outside.
pub fn cube() -> Parts {
    let corners = (0..8).map(|i| DVec3::new(f64::from(i & 1), f64::from(i >> 1 & 1), f64::from(i >> 2 & 1)));
    let faces = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
    let triangles = faces.into_iter().flat_map(|[a, b, c, d]| [[a, b, c], [a, c, d]]);
    (corners.collect(), triangles.collect())
}

/// A sheet of `n` by `n` squares of side 1, two triangles each, with a height as a function of position.
pub fn sheet(n: u32, height: impl Fn(f64, f64) -> f64) -> Parts {
    let across = n + 1;
    let vertices = (0..across * across).map(|i| {
        let (x, y) = (f64::from(i % across), f64::from(i / across));
        DVec3::new(x, y, height(x, y))
    });
    let triangles = (0..n * n).flat_map(|i| {
        let a = i / n * across + i % n;
        let (b, c, d) = (a + 1, a + across, a + across + 1);
        [[a, b, d], [a, d, c]]
    });
    (vertices.collect(), triangles.collect())
}

/// Triangles with three corners of their own each, as in an STL file.
pub fn soup((vertices, triangles): &Parts) -> Parts {
    let corners = triangles.iter().flatten().map(|corner| vertices[*corner as usize]).collect();
    let own = (0..triangles.len() as u32).map(|i| [3 * i, 3 * i + 1, 3 * i + 2]).collect();
    (corners, own)
}

pub fn mesh((vertices, triangles): Parts) -> Mesh {
    Mesh::new(vertices, triangles).unwrap()
}

pub fn refusal((vertices, triangles): Parts) -> String {
    Mesh::new(vertices, triangles).expect_err("should be refused").to_string()
}

/// A binary STL with this header.
pub fn binary_stl(parts: &Parts, header: &str) -> Vec<u8> {
    let mut bytes = header.as_bytes().to_vec();
    bytes.resize(80, b' ');
    bytes.extend((parts.1.len() as u32).to_le_bytes());
    for triangle in &parts.1 {
        bytes.extend([0; 12]);
        for corner in triangle {
            for x in parts.0[*corner as usize].to_array() {
                bytes.extend((x as f32).to_le_bytes());
            }
        }
        bytes.extend([0; 2]);
    }
    bytes
}

/// The lines of a text STL between `solid` and `endsolid`.
pub fn facets(parts: &Parts) -> String {
    let mut text = String::new();
    for triangle in &parts.1 {
        text += "  facet normal 0 0 1\n    outer loop\n";
        for corner in triangle {
            let v = parts.0[*corner as usize];
            text += &format!("      vertex {:e} {:e} {:e}\n", v.x, v.y, v.z);
        }
        text += "    endloop\n  endfacet\n";
    }
    text
}

pub fn text_stl(parts: &Parts) -> String {
    format!("solid cube\n{}endsolid cube\n", facets(parts))
}

pub fn obj(parts: &Parts) -> String {
    let vertices = parts.0.iter().map(|v| format!("v {} {} {}\n", v.x, v.y, v.z));
    let faces = parts.1.iter().map(|[a, b, c]| format!("f {} {} {}\n", a + 1, b + 1, c + 1));
    vertices.chain(faces).collect()
}
