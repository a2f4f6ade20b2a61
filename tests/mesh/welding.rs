//! Welding of vertices.

use carom::Mesh;
use glam::DVec3;

use crate::shapes::{cube, mesh, sheet, soup};

#[test]
fn a_cube_of_loose_triangles_is_a_cube() {
    let loose = soup(&cube());
    assert_eq!(loose.0.len(), 36);
    let welded = mesh(loose);
    assert_eq!((welded.vertices().len(), welded.triangles().len()), (8, 12));
    assert_eq!(welded.bounds(), [DVec3::ZERO, DVec3::ONE]);
    assert_eq!(welded.warnings(), []);
}

#[test]
fn vertices_keep_their_order_and_stray_ones_are_left_out() {
    let (mut vertices, triangles) = cube();
    let original = mesh((vertices.clone(), triangles.clone()));
    assert_eq!((original.vertices(), original.triangles()), (&vertices[..], &triangles[..]));
    vertices.insert(3, DVec3::splat(1e6));
    let shifted = triangles.into_iter().map(|t| t.map(|corner| corner + u32::from(corner >= 3))).collect();
    assert_eq!(mesh((vertices, shifted)), original);
}

#[test]
fn corners_that_round_to_neighbouring_f32_are_welded_at_any_position() {
    // Loose triangles of a bent sheet at several positions, with corners alternately rounded up and down to f32.
    for (scale, shift) in [(1.0, 0.0), (1e-3, 0.0), (37.7, -500.0)] {
        let bent = sheet(30, |x, y| (x * 0.3).sin() * (y * 0.2).cos());
        let (vertices, triangles) = soup(&bent);
        let rounded = |index: usize, v: DVec3| {
            let v = (v * scale + shift).as_vec3();
            let v = if index.is_multiple_of(2) { v } else { v.map(f32::next_up) };
            v.as_dvec3()
        };
        let vertices = vertices.into_iter().enumerate().map(|(index, v)| rounded(index, v)).collect();
        let welded = mesh((vertices, triangles));
        assert_eq!((welded.vertices().len(), welded.triangles().len()), (31 * 31, 1800), "{scale} {shift}");
        assert_eq!(welded.warnings().len(), 1, "{:?}", welded.warnings());
    }
}

#[test]
fn welding_ends_at_its_tolerance() {
    // Two triangles; a corner of the second lies at this distance from a corner of the first. The longest side is 10.
    let apart = |gap: f64| {
        let vertices = [[0.0, 0.0], [10.0, 0.0], [0.0, 1.0], [gap, 0.0], [3.0, -1.0], [9.0, -1.0]];
        let vertices = vertices.map(|[x, y]| DVec3::new(x, y, 0.0)).to_vec();
        Mesh::new(vertices, vec![[0, 1, 2], [3, 4, 5]]).unwrap().vertices().len()
    };
    assert_eq!((apart(0.0), apart(2.3e-6), apart(2.5e-6)), (5, 5, 6));
}
