//! Invalid meshes.

use glam::DVec3;

use crate::shapes::{cube, refusal};

#[test]
fn coordinates_that_are_not_finite() {
    for (bad, shown) in [(f64::NAN, "NaN"), (f64::INFINITY, "inf"), (f64::NEG_INFINITY, "-inf")] {
        let (mut vertices, triangles) = cube();
        vertices[5].y = bad;
        let expected = format!("vertex 5 is at (1, {shown}, 1); every coordinate is a finite number");
        assert_eq!(refusal((vertices, triangles)), expected);
    }
}

#[test]
fn corners_that_are_not_there() {
    let (vertices, mut triangles) = cube();
    triangles[7][2] = 8;
    let text = refusal((vertices.clone(), triangles));
    assert_eq!(text, "triangle 7 names vertex 8; there are 8 vertices, counted from 0");
    assert!(refusal((vec![], vec![[0, 0, 0]])).contains("triangle 0 names vertex 0; there are 0"));
}

#[test]
fn no_triangles() {
    assert!(refusal((cube().0, vec![])).contains("no triangles"));
}

#[test]
fn too_many_triangles() {
    let text = refusal((cube().0, vec![[0, 1, 2]; (1 << 24) + 1]));
    assert_eq!(text, "the mesh has 16777217 triangles; at most 16777216 are possible, so split the mesh");
}

#[test]
fn triangles_none_of_which_has_an_area() {
    let line = vec![DVec3::ZERO, DVec3::X, DVec3::X * 3.0];
    let text = refusal((line.clone(), vec![[0, 1, 2], [0, 0, 1]]));
    assert!(text.starts_with("none of 2 triangles has an area"), "{text}");
    assert!(text.contains("(0, 0, 0), (1, 0, 0) and (3, 0, 0)"), "{text}");
    assert!(refusal((line, vec![[1, 1, 1]])).starts_with("none of 1 triangles has an area"));
}

#[test]
fn extents_that_overflow() {
    let far = vec![DVec3::X * -1e308, DVec3::X * 1e308, DVec3::Y];
    let text = refusal((far, vec![[0, 1, 2]]));
    assert!(text.starts_with("the mesh reaches from (-1e308, 0, 0) to (1e308, 1, 0)"), "{text}");
}
