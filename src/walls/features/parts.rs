//! Divides wall shapes into wall features. The coordinates of a feature are relative to a point of that feature.

use glam::{DQuat, DVec2, DVec3, Vec3};

use crate::{
    Facet, WallShape,
    walls::features::shape::{Cap, FeatureShape, Frustum, Triangle},
};

/// A wall feature in f64: its point (length), and its shape in units of `unit`.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    pub point: DVec3,
    pub shape: FeatureShape,
    /// Corners of the bounding box, relative to the point (length).
    pub low: DVec3,
    pub high: DVec3,
}

/// The features of a shape, or none for a plane. The fans of triangles are appended to `fans`.
pub fn parts(shape: &WallShape, unit: f64, fans: &mut Vec<Vec3>) -> Vec<Part> {
    match shape {
        WallShape::Plane { .. } => vec![],
        &WallShape::Box { center, size, turn } => cuboid(center, size, turn, unit, fans),
        &WallShape::Cone { from, to, radii, closed } => cone(from, to, radii, closed, unit),
        &WallShape::Disc { center, normal, radius, hole } => {
            let ends = [DVec2::new(hole, 0.0), DVec2::new(radius, 0.0)];
            vec![frustum(center, normal.normalize(), ends, [DVec2::ZERO; 2], unit)]
        }
        &WallShape::Sphere { center, radius, axis, angle } => {
            vec![cap(center, radius, axis.normalize(), angle, unit)]
        }
        WallShape::Mesh(mesh) => {
            let fans = Fans::new(mesh.vertices(), mesh.triangles(), fans);
            let facets = mesh.facets().zip(mesh.triangles());
            let part = |(facet, corners): (Facet, &[u32; 3])| {
                triangle(facet.corners, facet.gates, corners.map(|k| fans.of(k)), unit)
            };
            facets.filter_map(part).collect()
        }
    }
}

fn cone(from: DVec3, to: DVec3, radii: [f64; 2], closed: [bool; 2], unit: f64) -> Vec<Part> {
    let axis = (to - from).normalize();
    let point = 0.5 * (from + to);
    let half = 0.5 * (to - from).length();
    let ends = [DVec2::new(radii[0], -half), DVec2::new(radii[1], half)];
    let along = (ends[1] - ends[0]).normalize();
    let inward = DVec2::NEG_X;
    let gate = |k: usize| if closed[k] && radii[k] > 0.0 { inward } else { DVec2::ZERO };
    let mut parts = vec![frustum(point, axis, ends, [gate(0), gate(1)], unit)];
    for (k, into) in [along, -along].into_iter().enumerate() {
        if closed[k] && radii[k] > 0.0 {
            let center = [from, to][k];
            let disc = [DVec2::ZERO, DVec2::new(radii[k], 0.0)];
            parts.push(frustum(center, axis, disc, [DVec2::ZERO, into], unit));
        }
    }
    parts
}

fn frustum(point: DVec3, axis: DVec3, ends: [DVec2; 2], gates: [DVec2; 2], unit: f64) -> Part {
    let along = ends[1] - ends[0];
    let shape = FeatureShape::Frustum(Frustum {
        axis: axis.as_vec3(),
        from: (ends[0] / unit).as_vec2(),
        along: along.normalize().as_vec2(),
        length: (along.length() / unit) as f32,
        gates: gates.map(|g| g.as_vec2()),
    });
    // A circle perpendicular to the axis extends r sqrt(1 - a^2) along each coordinate axis.
    let across = (DVec3::ONE - axis * axis).max(DVec3::ZERO).map(f64::sqrt);
    let (mut low, mut high) = (DVec3::INFINITY, DVec3::NEG_INFINITY);
    for end in ends {
        let middle = axis * end.y;
        low = low.min(middle - across * end.x);
        high = high.max(middle + across * end.x);
    }
    Part { point, shape, low, high }
}

fn cap(center: DVec3, radius: f64, axis: DVec3, angle: f64, unit: f64) -> Part {
    let is_whole = angle >= std::f64::consts::PI;
    let rim = DVec2::new(angle.sin().max(0.0), angle.cos()) * (radius / unit);
    let shape = FeatureShape::Cap(Cap {
        axis: axis.as_vec3(),
        radius: (radius / unit) as f32,
        rim: rim.as_vec2(),
        is_whole,
    });
    Part { point: center, shape, low: DVec3::splat(-radius), high: DVec3::splat(radius) }
}

/// Ranges of the fans of a mesh's vertices.
struct Fans {
    first: u32,
    ends: Vec<u32>,
}

impl Fans {
    // The unit vectors along all edges from each vertex, appended to `fans`.
    fn new(vertices: &[DVec3], triangles: &[[u32; 3]], fans: &mut Vec<Vec3>) -> Self {
        let edges = || triangles.iter().flat_map(|t| (0..3).map(|k| (t[k], t[(k + 1) % 3])));
        let mut all: Vec<(u32, u32)> = edges().flat_map(|(a, b)| [(a, b), (b, a)]).collect();
        all.sort_unstable();
        all.dedup();
        let first = fans.len() as u32;
        let mut ends = vec![0; vertices.len()];
        for &(a, b) in &all {
            fans.push((vertices[b as usize] - vertices[a as usize]).normalize().as_vec3());
            ends[a as usize] = fans.len() as u32;
        }
        // An unused vertex has an empty fan, which ends where the one before ends.
        let mut end = first;
        for e in &mut ends {
            end = end.max(*e);
            *e = end;
        }
        Self { first, ends }
    }

    fn of(&self, vertex: u32) -> [u32; 2] {
        let first = if vertex == 0 { self.first } else { self.ends[vertex as usize - 1] };
        [first, self.ends[vertex as usize]]
    }
}

fn triangle(corners: [DVec3; 3], gates: [DVec3; 3], fans: [[u32; 2]; 3], unit: f64) -> Option<Part> {
    let [a, b, c] = corners;
    let edges = [b - a, c - a];
    let shape = FeatureShape::Triangle(Triangle::new(
        edges.map(|edge| (edge / unit).as_vec3()),
        gates.map(|gate| gate.as_vec3()),
        fans,
    )?);
    let (low, high) = (edges[0].min(edges[1]).min(DVec3::ZERO), edges[0].max(edges[1]).max(DVec3::ZERO));
    Some(Part { point: a, shape, low, high })
}

// Two triangles for each face, with gates across every edge.
fn cuboid(center: DVec3, size: DVec3, turn: DVec3, unit: f64, fans: &mut Vec<Vec3>) -> Vec<Part> {
    let turn = DQuat::from_scaled_axis(turn);
    // Bit k of a corner's index: its side along axis k.
    let sign = |bits: usize, axis: usize| if bits >> axis & 1 == 1 { 0.5 } else { -0.5 };
    let corners: Vec<DVec3> = (0..8)
        .map(|bits| center + turn * DVec3::from_array([0, 1, 2].map(|k| sign(bits, k) * size[k])))
        .collect();
    let (mut triangles, mut gates) = (vec![], vec![]);
    for axis in 0..3 {
        let (u, v) = ((axis + 1) % 3, (axis + 2) % 3);
        for side in 0..2 {
            let corner = |s: usize, t: usize| (side << axis | s << u | t << v) as u32;
            let beyond = turn * DVec3::AXES[axis] * if side == 1 { -1.0 } else { 1.0 };
            // Into the other half of the face, across the diagonal.
            let across = turn * (DVec3::AXES[v] * size[u] - DVec3::AXES[u] * size[v]).normalize();
            triangles.push([corner(0, 0), corner(1, 0), corner(1, 1)]);
            gates.push([beyond, beyond, across]);
            triangles.push([corner(0, 0), corner(1, 1), corner(0, 1)]);
            gates.push([-across, beyond, beyond]);
        }
    }
    let fans = Fans::new(&corners, &triangles, fans);
    let part = |(own, gates): (&[u32; 3], &[DVec3; 3])| {
        triangle(own.map(|k| corners[k as usize]), *gates, own.map(|k| fans.of(k)), unit)
    };
    triangles.iter().zip(&gates).filter_map(part).collect()
}

#[cfg(test)]
mod tests {
    use glam::Vec2;

    use super::*;

    // Sample points of the surface, as a reference for distances.
    fn samples(shape: &WallShape) -> Vec<DVec3> {
        parts(shape, 1.0, &mut vec![])
            .iter()
            .flat_map(|part| {
                let at = |v: Vec3| part.point + v.as_dvec3();
                let grid = |n: i32| (0..=n).map(move |k| f64::from(k) / f64::from(n));
                let mut points = vec![];
                match part.shape {
                    FeatureShape::Triangle(t) => {
                        for s in grid(160) {
                            for r in grid(160).take_while(|r| r + s <= 1.0 + 1e-9) {
                                points.push(at(t.edges[0] * s as f32 + t.edges[1] * r as f32));
                            }
                        }
                    }
                    FeatureShape::Frustum(frustum) => {
                        let u = frustum.axis.any_orthonormal_vector();
                        for s in grid(200) {
                            let place: Vec2 = frustum.from + frustum.along * (frustum.length * s as f32);
                            for a in grid(400) {
                                let (sin, cos) = (std::f64::consts::TAU * a).sin_cos();
                                let out = u * cos as f32 + frustum.axis.cross(u) * sin as f32;
                                points.push(at(out * place.x + frustum.axis * place.y));
                            }
                        }
                    }
                    FeatureShape::Cap(cap) => {
                        let u = cap.axis.any_orthonormal_vector();
                        let most =
                            if cap.is_whole { std::f32::consts::PI } else { cap.rim.x.atan2(cap.rim.y) };
                        for s in grid(300) {
                            let (far, height) = (most * s as f32).sin_cos();
                            for a in grid(400) {
                                let (sin, cos) = (std::f64::consts::TAU * a).sin_cos();
                                let out = u * cos as f32 + cap.axis.cross(u) * sin as f32;
                                points.push(at((out * far + cap.axis * height) * cap.radius));
                            }
                        }
                    }
                }
                points
            })
            .collect()
    }

    fn shapes() -> Vec<WallShape> {
        let (o, z) = (DVec3::new(0.3, -0.2, 0.1), DVec3::new(0.2, 0.4, 1.0));
        vec![
            WallShape::Box { center: o, size: DVec3::new(1.0, 2.0, 0.5), turn: DVec3::new(0.3, -0.5, 1.0) },
            WallShape::Cone { from: o, to: o + 2.0 * z, radii: [1.0, 1.0], closed: [true, false] },
            WallShape::Cone { from: o, to: o + z, radii: [1.5, 0.4], closed: [false; 2] },
            WallShape::Cone { from: o, to: o + z, radii: [0.0, 0.7], closed: [true; 2] },
            WallShape::Disc { center: o, normal: z, radius: 1.2, hole: 0.5 },
            WallShape::Disc { center: o, normal: z, radius: 1.2, hole: 0.0 },
            WallShape::Sphere { center: o, radius: 1.1, axis: z, angle: std::f64::consts::PI },
            WallShape::Sphere { center: o, radius: 1.1, axis: -z, angle: 1.0 },
            WallShape::Sphere { center: o, radius: 1.1, axis: -z, angle: 2.2 },
        ]
    }

    // The nearest feature that is not shadowed.
    fn nearest(parts: &[Part], fans: &[Vec3], x: DVec3) -> (f32, Vec3) {
        let all = parts.iter().map(|part| part.shape.near((x - part.point).as_vec3(), fans));
        let near =
            all.filter(|near| !near.is_shadowed).min_by(|a, b| a.distance.total_cmp(&b.distance)).unwrap();
        (near.distance, near.normal)
    }

    #[test]
    fn the_nearest_point_is_that_of_a_search_over_the_surface() {
        let mut rng = 12345u64;
        let mut draw = || {
            rng = rng.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (rng >> 33) as f64 / f64::from(1u32 << 31)
        };
        for shape in shapes() {
            let mut fans = vec![];
            let (parts, samples) = (parts(&shape, 1.0, &mut fans), samples(&shape));
            for _ in 0..60 {
                let x = DVec3::new(draw(), draw(), draw()) * 6.0 - 3.0;
                let searched = samples.iter().map(|p| p.distance(x)).fold(f64::INFINITY, f64::min);
                let (distance, normal) = nearest(&parts, &fans, x);
                // The spacing of the samples.
                assert!(
                    (f64::from(distance) - searched).abs() < 0.01,
                    "{shape:?} {x}: {distance} {searched}"
                );
                assert!((normal.length() - 1.0).abs() < 1e-5);
                // The normal points to the surface.
                let foot = x - (normal * distance).as_dvec3();
                let off = samples.iter().map(|p| p.distance(foot)).fold(f64::INFINITY, f64::min);
                assert!(off < 0.02, "{shape:?} {x}: foot {foot} is {off} off");
                for part in &parts {
                    let inside = (part.point + part.low - 1e-6).cmple(foot).all()
                        && (part.point + part.high + 1e-6).cmpge(foot).all();
                    let near = part.shape.near((x - part.point).as_vec3(), &fans);
                    assert!(inside || near.distance > distance - 1e-4);
                }
            }
        }
    }

    // Never later than the contact; otherwise spheres would pass through.
    #[test]
    fn nothing_is_met_before_the_safe_time() {
        let mut rng = 99u64;
        let mut draw = || {
            rng = rng.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (rng >> 33) as f64 / f64::from(1u32 << 31)
        };
        let (mut met, mut tight) = (0, 0);
        let mut fans = vec![];
        for part in shapes().iter().flat_map(|shape| parts(shape, 1.0, &mut fans)).collect::<Vec<_>>() {
            for _ in 0..800 {
                let x = (DVec3::new(draw(), draw(), draw()) * 6.0 - 3.0).as_vec3();
                let w = (DVec3::new(draw(), draw(), draw()) * 2.0 - 1.0).as_vec3();
                let radius = 0.05 + 0.2 * draw() as f32;
                let near = part.shape.near(x, &fans);
                if near.distance <= radius {
                    continue;
                }
                let safe = part.shape.safe_time(x, w, &near, radius);
                assert!(safe >= 0.0, "{part:?} {x} {w}: {safe}");
                let gap = |t: f32| part.shape.near(x + w * t, &fans).distance - radius;
                let first = (0..4000).map(|k| k as f32 * 2e-3).find(|&t| gap(t) <= 0.0);
                if let Some(first) = first {
                    met += 1;
                    assert!(safe <= first + 1e-4, "{part:?} {x} {w} {radius}: {safe} after {first}");
                    tight += u32::from(safe > first - 3e-3);
                }
            }
        }
        assert!(met > 500 && tight > met / 3, "{met} met, {tight} at once");
    }
}
