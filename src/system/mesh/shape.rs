//! Shape of a triangle.
//!
//! Lengths are first divided by the length of the longest edge, so that squares neither overflow nor underflow in any unit.

use glam::DVec3;

/// Height above the longest edge, relative to that edge, below which a triangle has no area. At 1e-9 the normal is still
/// accurate to 1e-7, the precision of f32; for flatter triangles rounding decides the normal.
const THIN: f64 = 1e-9;

/// Whether the area of a triangle is negligible.
pub(super) fn is_thin([a, b, c]: [DVec3; 3]) -> bool {
    let edges = [b - a, c - b, a - c];
    let size = edges.map(|edge| edge.abs().max_element()).into_iter().fold(0.0, f64::max);
    let edges = edges.map(|edge| edge / size);
    let longest = edges.map(DVec3::length_squared).into_iter().fold(0.0, f64::max);
    // Twice the area is the height times the longest edge. Three equal corners give NaN, which counts as no area.
    let height = edges[0].cross(edges[1]).length() / longest;
    height.is_nan() || height < THIN
}

/// Unit vector perpendicular to the edge from `a` to `b`, pointing into the triangle whose third corner is `c`. The triangle
/// must have an area.
pub(super) fn gate(a: DVec3, b: DVec3, c: DVec3) -> DVec3 {
    let size = (b - a).abs().max_element().max((c - a).abs().max_element());
    let along = ((b - a) / size).normalize();
    // The difference from the nearer end cancels less.
    let [from_a, from_b] = [(c - a) / size, (c - b) / size];
    let to = if from_a.length_squared() < from_b.length_squared() { from_a } else { from_b };
    // The first projection leaves a rounding error along the edge, large relative to the gate of a low triangle; the second
    // removes it.
    let into = (to - along * along.dot(to)).normalize();
    (into - along * along.dot(into)).normalize()
}
