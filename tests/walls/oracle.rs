//! Distances from walls in f64, by independent formulas.

use std::f64::consts::PI;

use carom::{Wall, WallShape};
use glam::{DQuat, DVec2, DVec3};

/// Distance of a point from the surface of a wall at a time.
pub fn distance(wall: &Wall, x: DVec3, time: f64) -> f64 {
    // Transforms the point back to the wall's position at time 0.
    let pivot = wall.motion.rotation.map_or(DVec3::ZERO, |r| r.point);
    let x = pivot + wall.motion.turn(time).inverse() * (x - wall.motion.displacement(time) - pivot);
    match &wall.shape {
        WallShape::Plane { point, normal } => (x - *point).dot(*normal),
        WallShape::Box { center, size, turn } => {
            let local = (DQuat::from_scaled_axis(*turn).inverse() * (x - *center)).abs() - 0.5 * *size;
            let outside = local.max(DVec3::ZERO).length();
            if outside > 0.0 { outside } else { -local.max_element() }
        }
        WallShape::Cone { from, to, radii, closed } => {
            let axis = (*to - *from).normalize();
            let height = (*to - *from).length();
            let along = (x - *from).dot(axis);
            let place = DVec2::new((x - *from - axis * along).length(), along);
            let [a, b] = [DVec2::new(radii[0], 0.0), DVec2::new(radii[1], height)];
            let mut least = to_segment(place, a, b);
            for (k, end) in [a, b].into_iter().enumerate() {
                if closed[k] {
                    least = least.min(to_segment(place, DVec2::new(0.0, end.y), end));
                }
            }
            least
        }
        WallShape::Disc { center, normal, radius, hole } => {
            let axis = normal.normalize();
            let along = (x - *center).dot(axis);
            let place = DVec2::new((x - *center - axis * along).length(), along);
            to_segment(place, DVec2::new(*hole, 0.0), DVec2::new(*radius, 0.0))
        }
        WallShape::Sphere { center, radius, axis, angle } => {
            let from = x - *center;
            let own = from.angle_between(*axis);
            let beyond = if *angle >= PI { 0.0 } else { (own - angle).max(0.0) };
            // Distance to the point of the part in the same half plane.
            let length = from.length();
            (length * length + radius * radius - 2.0 * length * radius * beyond.cos()).max(0.0).sqrt()
        }
        WallShape::Mesh(mesh) => {
            let corner = |k: u32| mesh.vertices()[k as usize];
            let of = |t: &[u32; 3]| to_triangle(x, t.map(corner));
            mesh.triangles().iter().map(of).fold(f64::INFINITY, f64::min)
        }
    }
}

fn to_segment(x: DVec2, a: DVec2, b: DVec2) -> f64 {
    let s = ((x - a).dot(b - a) / (b - a).length_squared()).clamp(0.0, 1.0);
    x.distance(a.lerp(b, s))
}

// Above the face, the distance to the plane; otherwise to the nearest of the three edges.
fn to_triangle(x: DVec3, [a, b, c]: [DVec3; 3]) -> f64 {
    let normal = (b - a).cross(c - a).normalize();
    let foot = x - normal * normal.dot(x - a);
    let inside =
        [(a, b), (b, c), (c, a)].into_iter().all(|(p, q)| normal.dot((q - p).cross(foot - p)) >= 0.0);
    if inside {
        return normal.dot(x - a).abs();
    }
    let edge = |p: DVec3, q: DVec3| {
        let s = ((x - p).dot(q - p) / (q - p).length_squared()).clamp(0.0, 1.0);
        x.distance(p.lerp(q, s))
    };
    edge(a, b).min(edge(b, c)).min(edge(c, a))
}
