//! Walls other than planes. A wall is built once from triangles and lines, and then moved by one transform.
//!
//! The inside of a wall has to stay visible. Faces around an inside are therefore drawn in two passes: faces that point
//! away from the camera as an opaque body, and faces that point towards the camera as glass over the finished picture.
//! Faces of a sheet, and faces of a closed wall without a sphere inside, are opaque from both sides.

mod buffers;
mod facets;
mod reach;
mod shell;

use std::f64::consts::TAU;

use glam::DVec3;

use crate::{Sphere, System, Wall, WallShape};
pub use buffers::{Drawn, WALL_BINDINGS, WallBuffers};
pub use reach::reach;
use shell::Shell;

/// Most triangles tested, over all spheres together, to find a sphere inside (some tenths of a second).
const PATIENCE: usize = 1 << 22;

/// Most spheres of a system that are tested.
const PROBES: usize = 1 << 14;

/// A vertex of triangles and lines; mirrors the input of `shaders/render/wall.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Vertex {
    /// Position relative to the origin of the wall (length).
    pub position: [f32; 3],
    /// The normal in octahedral encoding: two 16-bit fractions; [`FLAT`] selects the normal of the face.
    pub normal: u32,
}

/// Marks a vertex without a normal: no fraction is encoded as the most negative number.
pub const FLAT: u32 = 0x8000_8000;

/// All walls of a system except planes.
#[derive(Debug)]
pub struct Walls {
    /// The walls of the system including planes, for the comparison with another system.
    of: Vec<Wall>,
    /// Index in `of`, and the origin of the vertices (length), of each drawn wall.
    drawn: Vec<(usize, DVec3)>,
    vertices: Vec<Vertex>,
    /// Three vertices and the wall: first opaque faces, then faces around an inside.
    triangles: Vec<[u32; 4]>,
    body_count: usize,
    /// Two vertices, the wall, and 1 for marks, 0 for edges.
    lines: Vec<[u32; 4]>,
}

impl Walls {
    pub fn of(system: &System) -> Self {
        let mut made = Self {
            of: system.walls.clone(),
            drawn: vec![],
            vertices: vec![],
            triangles: vec![],
            body_count: 0,
            lines: vec![],
        };
        let probes: Vec<_> =
            system.spheres.iter().step_by(system.spheres.len().div_ceil(PROBES).max(1)).collect();
        let mut hollow = vec![];
        for (index, wall) in system.walls.iter().enumerate() {
            if matches!(wall.shape, WallShape::Plane { .. }) {
                continue;
            }
            let turns = wall.motion.rotation.is_some_and(|rotation| rotation.speed != 0.0);
            let mut shell = Shell::new(&wall.shape, turns).seen_in(system.dimensions);
            // A wall that appears later may enclose spheres.
            if wall.span[0] <= 0.0 && is_empty(&shell, &probes) {
                let inside = std::mem::take(&mut shell.hollow);
                shell.sheets.extend(inside);
            }
            hollow.extend(made.add(index, &shell));
        }
        made.body_count = made.triangles.len();
        made.triangles.append(&mut hollow);
        made
    }

    /// Returns whether the system has the same walls.
    pub fn are_of(&self, system: &System) -> bool {
        self.of == system.walls
    }

    // Adds all faces except those around an inside, which are returned.
    fn add(&mut self, index: usize, shell: &Shell) -> Vec<[u32; 4]> {
        let (wall, first) = (self.drawn.len() as u32, self.vertices.len() as u32);
        let low = shell.points.iter().copied().reduce(DVec3::min).unwrap_or_default();
        let high = shell.points.iter().copied().reduce(DVec3::max).unwrap_or_default();
        let origin = 0.5 * (low + high);
        self.drawn.push((index, origin));
        self.vertices.extend(shell.points.iter().zip(&shell.normals).map(|(&point, &normal)| Vertex {
            position: (point - origin).as_vec3().to_array(),
            normal: folded(normal),
        }));
        let triangle = |[a, b, c]: [u32; 3]| [a + first, b + first, c + first, wall];
        self.triangles.extend(shell.sheets.iter().copied().map(triangle));
        for (kind, lines) in [(0, &shell.lines), (1, &shell.marks)] {
            self.lines.extend(lines.iter().map(|[a, b]| [a + first, b + first, wall, kind]));
        }
        shell.hollow.iter().copied().map(triangle).collect()
    }
}

// Returns whether no sphere is inside at time 0 and none can enter. Without spheres the answer is unknown.
fn is_empty(shell: &Shell, probes: &[&Sphere]) -> bool {
    if !shell.is_closed || shell.hollow.is_empty() || probes.is_empty() {
        return false;
    }
    let low = shell.points.iter().copied().reduce(DVec3::min).unwrap_or_default();
    let high = shell.points.iter().copied().reduce(DVec3::max).unwrap_or_default();
    let near: Vec<_> = probes
        .iter()
        .map(|sphere| sphere.position)
        .filter(|at| at.cmpge(low).all() && at.cmple(high).all())
        .collect();
    let most = (PATIENCE / shell.hollow.len()).max(4);
    near.iter().step_by(near.len().div_ceil(most).max(1)).all(|&at| windings(shell, at).abs() < 0.5)
}

// Winding number of the faces around a point: the sum of the solid angles (van Oosterom and Strackee 1983, equation 8).
fn windings(shell: &Shell, point: DVec3) -> f64 {
    let angle = |face: &[u32; 3]| {
        let [a, b, c] = face.map(|corner| shell.points[corner as usize] - point);
        let [x, y, z] = [a.length(), b.length(), c.length()];
        2.0 * a.dot(b.cross(c)).atan2(x * y * z + a.dot(b) * z + b.dot(c) * x + c.dot(a) * y)
    };
    shell.hollow.iter().map(angle).sum::<f64>() / (2.0 * TAU)
}

// Encodes a direction as two fractions: the octahedral projection unfolded into a square (Meyer et al. 2010).
fn folded(normal: DVec3) -> u32 {
    if normal == DVec3::ZERO {
        return FLAT;
    }
    let n = normal / (normal.x.abs() + normal.y.abs() + normal.z.abs());
    let sign = |x: f64| if x < 0.0 { -1.0 } else { 1.0 };
    let [x, y] =
        if n.z < 0.0 { [(1.0 - n.y.abs()) * sign(n.x), (1.0 - n.x.abs()) * sign(n.y)] } else { [n.x, n.y] };
    let half = |x: f64| u32::from((x * 32767.0).round() as i16 as u16);
    half(x) | half(y) << 16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_wall_is_hollow_only_where_a_sphere_is_inside() {
        let shape =
            WallShape::Cone { from: DVec3::ZERO, to: DVec3::Z * 2.0, radii: [1.0; 2], closed: [true; 2] };
        let mut system = System { walls: vec![Wall::new(shape, 0, "drum")], ..System::default() };
        let is_body = |system: &System| {
            let walls = Walls::of(system);
            walls.body_count == walls.triangles.len()
        };
        assert!(!is_body(&system), "without spheres anything may come");
        let at = |position: DVec3| vec![Sphere { position, radius: 0.1, ..Sphere::default() }];
        system.spheres = at(DVec3::new(0.95, 0.95, 1.0));
        assert!(is_body(&system), "beside it, within its bounds");
        system.spheres = at(DVec3::new(0.6, 0.6, 1.0));
        assert!(!is_body(&system), "inside");
        system.spheres = at(DVec3::new(5.0, 0.0, 1.0));
        assert!(is_body(&system), "far away");
        system.walls[0].span[0] = 1.0;
        assert!(!is_body(&system), "it appears later, around whatever is there then");
    }

    #[test]
    fn directions_come_back_from_their_square() {
        for k in 0..1000 {
            let (z, angle) = (f64::from(k) / 499.5 - 1.0, 2.4 * f64::from(k));
            let flat = (1.0 - z * z).max(0.0).sqrt();
            let normal = DVec3::new(flat * angle.cos(), flat * angle.sin(), z);
            let packed = folded(normal);
            assert_ne!(packed, FLAT);
            // Decodes as the shader does.
            let [x, y] = [packed as u16 as i16, (packed >> 16) as u16 as i16].map(|n| f64::from(n) / 32767.0);
            let z = 1.0 - x.abs() - y.abs();
            let fold = (-z).max(0.0);
            let back = DVec3::new(x - fold * x.signum(), y - fold * y.signum(), z).normalize();
            assert!(back.distance(normal) < 2e-4, "{normal} {back}");
        }
    }
}
