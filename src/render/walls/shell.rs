//! A wall as triangles and lines.

use std::f64::consts::TAU;

use glam::{DQuat, DVec3};

use super::facets::of_mesh;
use crate::{Dimensions, WallShape};

/// Sides of the polygon that represents a circle, a multiple of [`MERIDIANS`]: the middle of a side is 5e-4 of the
/// radius inside the circle, less than half a pixel in a picture that the circle fills.
const SEGMENTS: u32 = 96;

/// Marks along a rotating surface of revolution, which make the rotation visible.
const MERIDIANS: u32 = 8;

/// A wall as triangles and lines, at time 0.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shell {
    /// Vertices of faces and lines (length).
    pub points: Vec<DVec3>,
    /// Per point, the normal of the curved surface; zero for flat faces.
    pub normals: Vec<DVec3>,
    /// Faces visible from both sides.
    pub sheets: Vec<[u32; 3]>,
    /// Faces around an inside, counterclockwise seen from outside.
    pub hollow: Vec<[u32; 3]>,
    /// Whether the faces separate the inside completely from the outside.
    pub is_closed: bool,
    /// Edges and rims.
    pub lines: Vec<[u32; 2]>,
    /// Marks on rotating surfaces.
    pub marks: Vec<[u32; 2]>,
}

impl Shell {
    /// The shell of any shape except a plane, for which the shell is empty. `turning` adds the marks.
    pub fn new(shape: &WallShape, turning: bool) -> Self {
        let mut made = Self::default();
        match *shape {
            WallShape::Plane { .. } => {}
            WallShape::Box { center, size, turn } => made.add_box(center, 0.5 * size, turn),
            WallShape::Cone { from, to, radii, closed } => {
                made.add_cone([from, to], radii, closed, turning);
            }
            WallShape::Disc { center, normal, radius, hole } => {
                made.add_disc(center, normal, [hole, radius], turning);
            }
            WallShape::Sphere { center, radius, axis, angle } => {
                made.add_sphere(center, radius, axis, angle, turning);
            }
            WallShape::Mesh(ref mesh) => made = of_mesh(mesh),
        }
        made
    }

    /// The visible part in a world of these dimensions: in 2D the outline at z = 0, as lines.
    pub fn seen_in(self, dimensions: Dimensions) -> Self {
        if dimensions == Dimensions::Three {
            return self;
        }
        let mut made = Self::default();
        for face in self.sheets.iter().chain(&self.hollow) {
            let corners = face.map(|corner| self.points[corner as usize]);
            let ends: Vec<_> = (0..3).filter_map(|k| crossing(corners[k], corners[(k + 1) % 3])).collect();
            if let [a, b] = ends[..] {
                let [a, b] = [a, b].map(|end| made.add(end, DVec3::ZERO));
                made.lines.push([a, b]);
            }
        }
        made
    }

    fn add(&mut self, point: DVec3, normal: DVec3) -> u32 {
        self.points.push(point);
        self.normals.push(normal);
        self.points.len() as u32 - 1
    }

    // Adds one point per segment; returns the index of the first.
    fn add_ring(&mut self, at: impl Fn(f64) -> [DVec3; 2]) -> u32 {
        let first = self.points.len() as u32;
        for k in 0..SEGMENTS {
            let [point, normal] = at(TAU * f64::from(k) / f64::from(SEGMENTS));
            self.add(point, normal);
        }
        first
    }

    // Adds the lines around a ring.
    fn add_rim(&mut self, ring: u32) {
        self.lines.extend((0..SEGMENTS).map(|k| [ring + k, ring + (k + 1) % SEGMENTS]));
    }

    // Adds lines between two rings at some of their points.
    fn add_meridians(&mut self, rings: [u32; 2]) {
        let step = (SEGMENTS / MERIDIANS) as usize;
        self.marks.extend((0..SEGMENTS).step_by(step).map(|k| rings.map(|ring| ring + k)));
    }

    fn add_box(&mut self, center: DVec3, half: DVec3, turn: DVec3) {
        let turn = DQuat::from_scaled_axis(turn);
        for corner in 0..8 {
            let sign =
                DVec3::from_array(std::array::from_fn(|a| if corner >> a & 1 == 0 { -1.0 } else { 1.0 }));
            self.add(center + turn * (sign * half), DVec3::ZERO);
        }
        for axis in 0..3 {
            let [across, along] = [1, 2].map(|k| 1 << ((axis + k) % 3));
            for (side, order) in
                [(0, [0, along, across | along, across]), (1 << axis, [0, across, across | along, along])]
            {
                let [a, b, c, d] = order.map(|corner: u32| corner | side);
                self.hollow.extend([[a, b, c], [a, c, d]]);
            }
            self.lines.extend([0, across, along, across | along].map(|corner| [corner, corner | 1 << axis]));
        }
        self.is_closed = true;
    }

    fn add_cone(&mut self, ends: [DVec3; 2], radii: [f64; 2], closed: [bool; 2], turning: bool) {
        let axis = (ends[1] - ends[0]).normalize();
        let slant = axis * (radii[0] - radii[1]) / (ends[1] - ends[0]).length();
        let (u, v) = frame(axis);
        let rings = [0, 1].map(|end| {
            self.add_ring(|angle| {
                let out = u * angle.cos() + v * angle.sin();
                [ends[end] + out * radii[end], (out + slant).normalize()]
            })
        });
        for k in 0..SEGMENTS {
            let [a, b] = rings.map(|ring| ring + k);
            let [c, d] = rings.map(|ring| ring + (k + 1) % SEGMENTS);
            // At a tip one of the two triangles has no area.
            if radii[0] > 0.0 {
                self.hollow.push([a, c, d]);
            }
            if radii[1] > 0.0 {
                self.hollow.push([a, d, b]);
            }
        }
        for end in (0..2).filter(|&end| radii[end] > 0.0) {
            self.add_rim(rings[end]);
            if closed[end] {
                self.add_lid(ends[end], axis * if end == 0 { -1.0 } else { 1.0 }, radii[end], turning);
            }
        }
        if turning {
            self.add_meridians(rings);
        }
        self.is_closed = (0..2).all(|end| closed[end] || radii[end] == 0.0);
    }

    // Adds a flat face around an inside that lies behind the normal.
    fn add_lid(&mut self, center: DVec3, normal: DVec3, radius: f64, turning: bool) {
        let (u, v) = frame(normal);
        let middle = self.add_ring(|_| [center, DVec3::ZERO]);
        let ring =
            self.add_ring(|angle| [center + radius * (u * angle.cos() + v * angle.sin()), DVec3::ZERO]);
        self.hollow.extend((0..SEGMENTS).map(|k| [middle, ring + k, ring + (k + 1) % SEGMENTS]));
        if turning {
            self.add_meridians([middle, ring]);
        }
    }

    fn add_disc(&mut self, center: DVec3, normal: DVec3, radii: [f64; 2], turning: bool) {
        let (u, v) = frame(normal.normalize());
        let rings = radii.map(|radius| {
            self.add_ring(|angle| [center + radius * (u * angle.cos() + v * angle.sin()), DVec3::ZERO])
        });
        for k in 0..SEGMENTS {
            let [a, b] = rings.map(|ring| ring + k);
            let [c, d] = rings.map(|ring| ring + (k + 1) % SEGMENTS);
            self.sheets.push([a, b, d]);
            if radii[0] > 0.0 {
                self.sheets.push([a, d, c]);
            }
        }
        if radii[0] > 0.0 {
            self.add_rim(rings[0]);
        }
        self.add_rim(rings[1]);
        if turning {
            self.add_meridians(rings);
        }
    }

    fn add_sphere(&mut self, center: DVec3, radius: f64, axis: DVec3, angle: f64, turning: bool) {
        let axis = axis.normalize();
        let (u, v) = frame(axis);
        let half_turn = 0.5 * TAU;
        let steps = (f64::from(SEGMENTS) * angle / TAU).ceil().max(2.0) as u32;
        self.is_closed = angle >= half_turn;
        let rings: Vec<_> = (0..=steps)
            .map(|step| {
                let (sin, cos) = (angle.min(half_turn) * f64::from(step) / f64::from(steps)).sin_cos();
                self.add_ring(|around| {
                    let out = axis * cos + (u * around.cos() + v * around.sin()) * sin;
                    [center + radius * out, out]
                })
            })
            .collect();
        for (step, pair) in rings.windows(2).enumerate() {
            for k in 0..SEGMENTS {
                let [a, b] = [pair[0] + k, pair[1] + k];
                let [c, d] = [0, 1].map(|ring| pair[ring] + (k + 1) % SEGMENTS);
                // At a pole one of the two triangles has no area.
                if !(self.is_closed && step as u32 == steps - 1) {
                    self.hollow.push([a, b, d]);
                }
                if step > 0 {
                    self.hollow.push([a, d, c]);
                }
            }
            if turning {
                self.add_meridians([pair[0], pair[1]]);
            }
        }
        if !self.is_closed {
            self.add_rim(rings[steps as usize]);
        }
    }
}

// Two directions perpendicular to an axis that form a right-handed frame with it.
fn frame(axis: DVec3) -> (DVec3, DVec3) {
    let u = axis.any_orthonormal_vector();
    (u, axis.cross(u))
}

// Intersection of an edge with the plane z = 0.
fn crossing(a: DVec3, b: DVec3) -> Option<DVec3> {
    ((a.z >= 0.0) != (b.z >= 0.0)).then(|| a.lerp(b, a.z / (a.z - b.z)).with_z(0.0))
}

#[cfg(test)]
mod tests {
    use std::f64::consts::PI;

    use super::*;

    fn shapes() -> [(WallShape, f64); 5] {
        let (from, to) = (DVec3::new(1.0, 2.0, 3.0), DVec3::new(-1.0, 4.0, 5.0));
        let height = (to - from).length();
        let cone = |radii: [f64; 2]| WallShape::Cone { from, to, radii, closed: [true; 2] };
        let volume = |a: f64, b: f64| PI / 3.0 * height * (a * a + a * b + b * b);
        let size = DVec3::new(1.0, 2.0, 3.0);
        [
            (cone([2.0, 2.0]), volume(2.0, 2.0)),
            (cone([2.0, 0.5]), volume(2.0, 0.5)),
            (cone([0.0, 1.0]), volume(0.0, 1.0)),
            (WallShape::Box { center: from, size, turn: DVec3::new(0.3, 0.2, 1.0) }, 6.0),
            (
                WallShape::Sphere { center: to, radius: 1.5, axis: DVec3::NEG_Z, angle: PI },
                4.0 / 3.0 * PI * 1.5_f64.powi(3),
            ),
        ]
    }

    #[test]
    fn closed_shapes_have_their_volume_and_face_outward() {
        for (shape, volume) in shapes() {
            let shell = Shell::new(&shape, true);
            assert!(shell.is_closed && shell.sheets.is_empty());
            let corners = |face: &[u32; 3]| face.map(|corner| shell.points[corner as usize]);
            let middle = shell.points.iter().sum::<DVec3>() / shell.points.len() as f64;
            let mut sum = 0.0;
            for face in &shell.hollow {
                let [a, b, c] = corners(face);
                let area = (b - a).cross(c - a);
                assert!(area.length() > 1e-9 && area.dot(a - middle) > 0.0, "{}: {face:?}", shape.kind());
                let bent = shell.normals[face[0] as usize];
                assert!(bent == DVec3::ZERO || bent.dot(area.normalize()) > 0.99, "{}", shape.kind());
                sum += (a - middle).dot(area) / 6.0;
            }
            assert!((sum / volume - 1.0).abs() < 5e-3, "{}: {sum} of {volume}", shape.kind());
        }
    }

    #[test]
    fn what_is_round_and_turns_has_marks() {
        for (shape, _) in shapes() {
            let is_round = !matches!(shape, WallShape::Box { .. });
            assert_eq!(!Shell::new(&shape, true).marks.is_empty(), is_round, "{}", shape.kind());
            assert!(Shell::new(&shape, false).marks.is_empty(), "{}", shape.kind());
        }
    }

    #[test]
    fn in_the_plane_a_cylinder_is_a_circle_and_a_box_a_rectangle() {
        let pillar = WallShape::Cone {
            from: DVec3::new(1.0, 2.0, -1.0),
            to: DVec3::new(1.0, 2.0, 1.0),
            radii: [0.5; 2],
            closed: [false; 2],
        };
        let shell = Shell::new(&pillar, false).seen_in(Dimensions::Two);
        assert!(shell.hollow.is_empty() && shell.lines.len() >= SEGMENTS as usize);
        for point in &shell.points {
            let off = point.distance(DVec3::new(1.0, 2.0, 0.0));
            assert!((off - 0.5).abs() < 1e-3, "{point}");
        }
        let block =
            WallShape::Box { center: DVec3::ZERO, size: DVec3::new(4.0, 2.0, 1.0), turn: DVec3::ZERO };
        let shell = Shell::new(&block, false).seen_in(Dimensions::Two);
        let length: f64 = shell
            .lines
            .iter()
            .map(|line| shell.points[line[0] as usize].distance(shell.points[line[1] as usize]))
            .sum();
        assert!((length - 12.0).abs() < 1e-9, "{length}");
    }
}
