//! Meshes scaled, turned and shifted.

use std::f64::consts::FRAC_PI_2;

use carom::Mesh;
use glam::{DQuat, DVec3};

use crate::shapes::{cube, mesh};

fn refusal(scale: f64, turn: DQuat, shift: DVec3) -> String {
    mesh(cube()).transformed(scale, turn, shift).expect_err("should be refused").to_string()
}

#[test]
fn a_mesh_is_scaled_then_turned_then_shifted() {
    let turn = DQuat::from_rotation_z(FRAC_PI_2);
    let moved = mesh(cube()).transformed(2.0, turn, DVec3::new(10.0, 0.0, 0.0)).unwrap();
    let near = |a: DVec3, b: DVec3| (a - b).length() < 1e-12;
    assert!(near(moved.vertices()[1], DVec3::new(10.0, 2.0, 0.0)));
    let [low, high] = moved.bounds();
    assert!(near(low, DVec3::new(8.0, 0.0, 0.0)) && near(high, DVec3::new(10.0, 2.0, 2.0)));
    for (facet, old) in moved.facets().zip(mesh(cube()).facets()) {
        assert!((0..3).all(|k| near(facet.gates[k], turn * old.gates[k])));
    }
}

#[test]
fn no_move_changes_nothing() {
    let mesh: Mesh = mesh(cube());
    assert_eq!(mesh.transformed(1.0, DQuat::IDENTITY, DVec3::ZERO).unwrap(), mesh);
}

#[test]
fn transforms_out_of_range_are_refused() {
    for scale in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let text = refusal(scale, DQuat::IDENTITY, DVec3::ZERO);
        assert_eq!(text, format!("the scale of a mesh is {scale}; it is finite and > 0"));
    }
    for turn in [DQuat::from_xyzw(0.0, 0.0, 0.0, 0.9), DQuat::from_xyzw(0.0, f64::NAN, 0.0, 1.0)] {
        assert!(refusal(1.0, turn, DVec3::ZERO).contains("it has length 1"));
    }
    assert!(refusal(1.0, DQuat::IDENTITY, DVec3::X * f64::NAN).starts_with("the shift of a mesh is (NaN, "));
}

#[test]
fn transforms_that_overflow_or_lose_an_area_are_refused() {
    let text = refusal(1e308, DQuat::IDENTITY, DVec3::X * 1e308);
    assert!(text.contains("vertex 1 is at (inf, 0, 0)"), "{text}");
    let text = refusal(1.0, DQuat::IDENTITY, DVec3::X * 1e17);
    assert_eq!(text, "scaled by 1 and shifted by (1e17, 0, 0), triangle 0 has no area left");
}
