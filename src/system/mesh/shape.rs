//! The shape of a triangle.
//!
//! Lengths are divided by the longest first, so that no square overflows or underflows whatever the unit.

use glam::DVec3;

/// Height above the longest edge, as part of that edge, below which a triangle has no area. A flatter one has a plane that
/// rounding decides: at 1e-9 the normal is still good to 1e-7, as good as f32 holds it.
const THIN: f64 = 1e-9;

/// Whether a triangle has no area to speak of.
pub(super) fn is_thin([a, b, c]: [DVec3; 3]) -> bool {
    let edges = [b - a, c - b, a - c];
    let size = edges.map(|edge| edge.abs().max_element()).into_iter().fold(0.0, f64::max);
    let edges = edges.map(|edge| edge / size);
    let longest = edges.map(DVec3::length_squared).into_iter().fold(0.0, f64::max);
    // Twice the area is the height times the longest edge. Corners in one point make NaN, which is no area either.
    let height = edges[0].cross(edges[1]).length() / longest;
    height.is_nan() || height < THIN
}

/// Unit vector perpendicular to the edge from `a` to `b`, into the triangle whose third corner is `c`. The three span an
/// area.
pub(super) fn gate(a: DVec3, b: DVec3, c: DVec3) -> DVec3 {
    let size = (b - a).abs().max_element().max((c - a).abs().max_element());
    let along = ((b - a) / size).normalize();
    // From the nearer end less cancels.
    let [from_a, from_b] = [(c - a) / size, (c - b) / size];
    let to = if from_a.length_squared() < from_b.length_squared() { from_a } else { from_b };
    // What the first difference rounds off along the edge is a large part of a low triangle's gate; the second takes it away.
    let into = (to - along * along.dot(to)).normalize();
    (into - along * along.dot(into)).normalize()
}
