//! Data of a facet about its neighbours.

use carom::{Facet, Mesh};
use glam::{DQuat, DVec3};

use crate::shapes::{cube, mesh, sheet};

/// Unit vector perpendicular to edge `k`, into the facet.
fn inward(facet: &Facet, k: usize) -> DVec3 {
    let [a, b, c] = [0, 1, 2].map(|step| facet.corners[(k + step) % 3]);
    (c - a).reject_from(b - a).normalize()
}

fn near(a: DVec3, b: DVec3) -> bool {
    (a - b).length() < 1e-12
}

/// Gates by triangle and edge, for any order of the corners in the triangle.
fn gate_of(mesh: &Mesh, triangle: usize, ends: [DVec3; 2]) -> DVec3 {
    let facet = mesh.facets().nth(triangle).unwrap();
    let edge = |k: usize| [facet.corners[k], facet.corners[(k + 1) % 3]];
    let k = (0..3).find(|k| edge(*k) == ends || edge(*k) == [ends[1], ends[0]]).unwrap();
    facet.gates[k]
}

#[test]
fn a_cube_has_flat_diagonals_and_turns_a_quarter_at_its_edges() {
    let mesh = mesh(cube());
    assert_eq!(mesh.facets().len(), 12);
    let (mut flat, mut square) = (0, 0);
    for facet in mesh.facets() {
        let front =
            (facet.corners[1] - facet.corners[0]).cross(facet.corners[2] - facet.corners[0]).normalize();
        for k in 0..3 {
            let edge = facet.corners[(k + 1) % 3] - facet.corners[k];
            if edge.length() > 1.2 {
                assert!(near(facet.gates[k], -inward(&facet, k)), "{facet:?}");
                flat += 1;
            } else {
                // The neighbour leads away from the front.
                assert!(near(facet.gates[k], -front), "{facet:?}");
                square += 1;
            }
        }
    }
    assert_eq!((flat, square), (12, 24));
}

#[test]
fn the_order_of_corners_changes_no_gate() {
    let (vertices, triangles) = cube();
    let straight = mesh((vertices.clone(), triangles.clone()));
    for flipped in 1_u32..1 << 12 {
        let mut triangles = triangles.clone();
        for (index, triangle) in triangles.iter_mut().enumerate() {
            if flipped >> index & 1 == 1 {
                triangle.swap(0, 1);
            }
            triangle.rotate_left(flipped as usize % 3);
        }
        let turned = mesh((vertices.clone(), triangles));
        for (triangle, facet) in turned.facets().enumerate() {
            for k in 0..3 {
                let ends = [facet.corners[k], facet.corners[(k + 1) % 3]];
                assert!(near(facet.gates[k], gate_of(&straight, triangle, ends)));
            }
        }
    }
}

#[test]
fn a_rim_has_no_gate() {
    let mesh = mesh(sheet(1, |_, _| 0.0));
    let gates: Vec<_> = mesh.facets().map(|facet| facet.gates).collect();
    let inner = DVec3::new(-1.0, 1.0, 0.0).normalize();
    assert_eq!((gates[0][0], gates[0][1]), (DVec3::ZERO, DVec3::ZERO));
    assert!(near(gates[0][2], inner));
    assert!(near(gates[1][0], -inner));
    assert_eq!((gates[1][1], gates[1][2]), (DVec3::ZERO, DVec3::ZERO));
}

#[test]
fn gates_are_unit_vectors_in_the_plane_of_the_neighbour_at_every_angle() {
    for step in -35..=35 {
        let angle = f64::from(step) * std::f64::consts::PI / 36.0;
        // Two flat triangles on both sides of the x axis, one lifted by the angle.
        let wing = DQuat::from_rotation_x(angle) * DVec3::new(0.3, -1.0, 0.0);
        let vertices = vec![DVec3::ZERO, DVec3::X, DVec3::new(0.6, 2.0, 0.0), wing];
        let mesh = mesh((vertices, vec![[0, 1, 2], [0, 1, 3]]));
        let expected = DQuat::from_rotation_x(angle) * DVec3::NEG_Y;
        let gates: Vec<_> = mesh.facets().map(|facet| facet.gates[0]).collect();
        assert!(near(gates[0], expected), "{angle}");
        assert!(near(gates[1], DVec3::Y), "{angle}");
    }
}

#[test]
fn gates_of_needles_and_of_every_unit_are_exact() {
    for size in [1e-300, 1e-150, 1e-12, 1.0, 1e12, 1e150, 1e300] {
        // The neighbour is a needle with its apex over the middle or the end of the edge, where it must not be welded.
        for (x, height) in [(0.5, 1e-8), (0.5, 1e-4), (0.5, 1.0), (1.0, 1e-6), (1.0, 1.0)] {
            let vertices = [DVec3::ZERO, DVec3::X, DVec3::new(0.3, 1.0, 0.0), DVec3::new(x, 0.0, -height)];
            let vertices = vertices.map(|v| v * size).to_vec();
            let gate = mesh((vertices, vec![[0, 1, 2], [1, 3, 0]])).facets().next().unwrap().gates[0];
            assert!(near(gate, DVec3::NEG_Z), "{size} {height} {x}: {gate}");
        }
    }
}

#[test]
fn around_a_crowded_edge_each_facet_continues_in_the_straightest() {
    // Wings around the z axis, in degrees: three as a T, a cross, and many at angles whose differences are all
    // distinct.
    let many: Vec<f64> = (0..40).map(|i| f64::from(i * i) * 0.2227).collect();
    for wings in [&[0.0, 180.0, 90.0][..], &[0.0, 90.0, 180.0, 270.0], &[10.0, 20.0, 35.0], &many] {
        let direction =
            |degrees: f64| DVec3::new(degrees.to_radians().cos(), degrees.to_radians().sin(), 0.0);
        let mut vertices = vec![DVec3::ZERO, DVec3::Z];
        vertices.extend(wings.iter().map(|degrees| direction(*degrees) + DVec3::Z * 0.4));
        let triangles = (0..wings.len() as u32).map(|i| [0, 1, i + 2]).collect();
        let mesh = mesh((vertices, triangles));
        for (me, facet) in mesh.facets().enumerate() {
            let own = direction(wings[me]);
            let others = (0..wings.len()).filter(|other| *other != me).map(|other| direction(wings[other]));
            let straightest = others.clone().map(|other| other.dot(own)).fold(1.0, f64::min);
            let gate = facet.gates[0];
            assert!(others.clone().any(|other| near(gate, other)), "{wings:?} {me}: {gate}");
            assert!((gate.dot(own) - straightest).abs() < 1e-12, "{wings:?} {me}: {gate}");
        }
    }
}
