//! Meshes that are simulated with a warning.

use carom::{Mesh, MeshWarning};
use glam::{DQuat, DVec3};

use crate::shapes::{Parts, cube, mesh, sheet};

fn texts(mesh: &Mesh) -> Vec<String> {
    mesh.warnings().iter().map(MeshWarning::to_string).collect()
}

#[test]
fn a_sheet_has_one_rim() {
    let mesh = mesh(sheet(3, |_, _| 0.0));
    let expected = "12 of its edges belong to one triangle only (1 rim, the first edge at (0, 0, 0)-(1, 0, 0)): \
                    spheres can pass there";
    assert_eq!(texts(&mesh), [expected]);
}

#[test]
fn holes_are_counted() {
    // A sheet without two of its squares has three rims; a cube without a triangle has one.
    let (vertices, mut triangles) = sheet(7, |_, _| 0.0);
    triangles.drain(2 * 32..2 * 33);
    triangles.drain(2 * 8..2 * 9);
    let text = texts(&mesh((vertices, triangles)));
    assert!(text[0].starts_with("36 of its edges belong to one triangle only (3 rims"), "{text:?}");
    let (vertices, mut triangles) = cube();
    triangles.remove(4);
    let [MeshWarning::Open { edges: 3, rims: 1, first }] = mesh((vertices, triangles)).warnings()[..] else {
        panic!()
    };
    assert_eq!(first, [DVec3::ZERO, DVec3::X]);
}

#[test]
fn positions_in_warnings_follow_a_transformed_mesh() {
    let moved = mesh(sheet(1, |_, _| 0.0));
    let moved = moved.transformed(0.1, DQuat::from_rotation_z(0.5), DVec3::new(0.0, 0.0, 7.0)).unwrap();
    assert!(texts(&moved)[0].contains("at (0, 0, 7)-(0.0877583, 0.0479426, 7))"), "{:?}", texts(&moved));
}

#[test]
fn flipped_triangles_are_detected_by_their_edges() {
    let (vertices, mut triangles) = cube();
    triangles[0].swap(1, 2);
    let warnings = mesh((vertices, triangles)).warnings();
    let [MeshWarning::Flipped { edges: 3, first }] = warnings[..] else { panic!("{warnings:?}") };
    assert_eq!(first, [DVec3::ZERO, DVec3::Y]);
    assert!(
        warnings[0]
            .to_string()
            .starts_with("3 of its edges lie between a front and a back (the first edge at (0")
    );
}

#[test]
fn a_wall_across_a_sheet_makes_a_crowded_edge() {
    let (mut vertices, mut triangles): Parts = sheet(1, |_, _| 0.0);
    vertices.push(DVec3::Z);
    triangles.push([0, 3, 4]);
    let warnings = mesh((vertices, triangles)).warnings();
    let [MeshWarning::Open { edges: 6, rims: 1, .. }, MeshWarning::Crowded { edges: 1, first }] =
        warnings[..]
    else {
        panic!("{warnings:?}")
    };
    assert_eq!(first, [DVec3::ZERO, DVec3::new(1.0, 1.0, 0.0)]);
    assert!(
        warnings[1].to_string().contains("more than two triangles (the first edge at (0, 0, 0)-(1, 1, 0))")
    );
}

#[test]
fn triangles_without_area_and_doubles_are_left_out() {
    let (mut vertices, mut triangles) = cube();
    let clean = mesh((vertices.clone(), triangles.clone()));
    // Two coincident corners, a corner close to another, a corner on the opposite edge, and three duplicates.
    vertices.extend([DVec3::splat(1e-8), DVec3::X * 0.5]);
    triangles.splice(2..2, [[0, 0, 1], [0, 8, 5], [0, 9, 1]]);
    triangles.extend([[0, 2, 3], [3, 2, 0], [8, 3, 2]]);
    let flawed = mesh((vertices, triangles));
    assert_eq!((flawed.vertices(), flawed.triangles()), (clean.vertices(), clean.triangles()));
    assert_eq!(
        flawed.warnings(),
        [
            MeshWarning::Degenerate { triangles: 3, first: 2 },
            MeshWarning::Duplicate { triangles: 3, first: 15 }
        ]
    );
    assert_eq!(
        texts(&flawed),
        [
            "3 of its triangles have no area (the first is triangle 2): left out",
            "3 of its triangles have the same corners as an earlier one (the first is triangle 15): left out"
        ]
    );
}

#[test]
fn a_needle_is_a_triangle() {
    for (height, thin) in [(1.1e-9, false), (0.9e-9, true)] {
        let vertices = vec![DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::new(0.5, -height, 0.0)];
        let warnings = mesh((vertices, vec![[0, 1, 2], [0, 1, 3]])).warnings();
        assert_eq!(matches!(warnings[0], MeshWarning::Degenerate { .. }), thin, "{warnings:?}");
    }
}
