//! Distances of points from walls in f64, for placing spheres next to walls.

use glam::{DQuat, DVec2, DVec3};

use crate::{
    Wall, WallMotion, WallShape,
    system::{box_tree::Tree, space::Space},
};

impl Wall {
    /// Distance of a point from the surface at a time (length), regardless of whether the wall exists then. It is negative
    /// behind a plane and >= 0 for all other shapes, which are two-sided surfaces.
    ///
    /// For a mesh, the time is proportional to the number of triangles.
    ///
    /// ```
    /// use carom::{Wall, WallShape};
    /// use glam::DVec3;
    ///
    /// let pipe = WallShape::Cone { from: DVec3::ZERO, to: DVec3::Z, radii: [2.0; 2], closed: [false; 2] };
    /// let pipe = Wall::new(pipe, 0, "pipe");
    /// assert_eq!(pipe.distance(DVec3::new(0.5, 0.0, 0.5), 0.0), 1.5);
    /// // Beyond its end the rim is what is nearest.
    /// assert_eq!(pipe.distance(DVec3::new(5.0, 0.0, 5.0), 0.0), 5.0);
    /// ```
    pub fn distance(&self, point: DVec3, time: f64) -> f64 {
        match &self.shape {
            WallShape::Mesh(mesh) => {
                let x = Pose::of(&self.motion, time).back(point);
                let squares = mesh.triangles().iter().map(|&t| to_triangle(x, t, mesh.vertices()));
                squares.fold(f64::INFINITY, f64::min).sqrt()
            }
            shape => to_shape(shape, Pose::of(&self.motion, time).back(point)),
        }
    }
}

/// Position of a wall at one time.
struct Pose {
    /// Displacement since time 0 (length).
    way: DVec3,
    pivot: DVec3,
    /// Inverse of the rotation since time 0; `None` for a wall that never moves.
    turn: Option<DQuat>,
}

impl Pose {
    fn of(motion: &WallMotion, time: f64) -> Self {
        Self {
            way: motion.displacement(time),
            pivot: motion.rotation.map_or(DVec3::ZERO, |rotation| rotation.point),
            turn: (!motion.is_still()).then(|| motion.turn(time).inverse()),
        }
    }

    /// Position at time 0 of the point of the wall that is at `point` now.
    fn back(&self, point: DVec3) -> DVec3 {
        match self.turn {
            None => point - self.way,
            Some(turn) => self.pivot + turn * (point - self.way - self.pivot),
        }
    }
}

/// The part of a wall within reach of a box, at one time.
pub(crate) struct Nearby<'a> {
    wall: &'a Wall,
    pose: Pose,
    /// Triangles of a mesh within reach, in the order of the tree, and the origin of their boxes.
    triangles: Vec<[u32; 3]>,
    tree: Tree,
    base: DVec3,
}

impl<'a> Nearby<'a> {
    /// The parts of a wall and of its images one period away (as in the engines) that reach into a box of wrapped positions.
    pub fn images(wall: &'a Wall, time: f64, ends: (DVec3, DVec3), space: Space) -> Vec<Self> {
        if let WallShape::Plane { .. } = wall.shape {
            // A plane needs no images along the periods.
            return Self::new(wall, time, ends, DVec3::ZERO).into_iter().collect();
        }
        let steps = |axis: usize| if space.period[axis] > 0.0 { -1..=1 } else { 0..=0 };
        let shifts = steps(2).flat_map(|z| {
            steps(1).flat_map(move |y| {
                steps(0).map(move |x| DVec3::from([x, y, z].map(f64::from)) * space.period)
            })
        });
        shifts.filter_map(|shift| Self::new(wall, time, ends, shift)).collect()
    }

    /// The part of one image.
    fn new(wall: &'a Wall, time: f64, (low, high): (DVec3, DVec3), shift: DVec3) -> Option<Self> {
        let (middle, extent) = ball(&wall.shape);
        let middle = wall.motion.carry(middle, time) + shift;
        // A small extra margin, because the distance is computed by other formulas and rounds differently.
        if middle.distance(middle.max(low).min(high)) > extent * (1.0 + 1e-9) {
            return None;
        }
        let mut pose = Pose::of(&wall.motion, time);
        pose.way += shift;
        // For a mesh: the bounding ball of the box, which may be rotated.
        let base = pose.back(0.5 * (low + high));
        let mut near = Self { wall, pose, triangles: vec![], tree: Tree::default(), base };
        let WallShape::Mesh(mesh) = &wall.shape else { return Some(near) };
        let reach = 0.5 * (high - low).length();
        let ends = |t: &[u32; 3]| {
            let [a, b, c] = t.map(|k| mesh.vertices()[k as usize] - base);
            (a.min(b).min(c), a.max(b).max(c))
        };
        let all = mesh.triangles().iter().map(|t| (*t, ends(t)));
        let within = all.filter(|(_, (low, high))| low.max(DVec3::ZERO).min(*high).length() <= reach);
        let (triangles, boxes): (Vec<[u32; 3]>, Vec<_>) = within.unzip();
        let (tree, order) = Tree::new(&boxes, 0);
        near.triangles = order.into_iter().map(|k| triangles[k as usize]).collect();
        near.tree = tree;
        (!near.triangles.is_empty()).then_some(near)
    }

    pub fn name(&self) -> &str {
        &self.wall.name
    }

    /// Distance of a wrapped point, as by [`Wall::distance`], if below `reach`.
    pub fn within(&self, point: DVec3, reach: f64) -> Option<f64> {
        let distance = match &self.wall.shape {
            WallShape::Mesh(mesh) => {
                let x = self.pose.back(point);
                let (low, high) = ((x - self.base - reach).as_vec3(), (x - self.base + reach).as_vec3());
                let mut square = f64::INFINITY;
                self.tree.visit(low, high, |k| {
                    square = square.min(to_triangle(x, self.triangles[k as usize], mesh.vertices()));
                });
                square.sqrt()
            }
            shape => to_shape(shape, self.pose.back(point)),
        };
        (distance < reach).then_some(distance)
    }
}

/// Centre and radius of a bounding ball of the shape.
fn ball(shape: &WallShape) -> (DVec3, f64) {
    match *shape {
        WallShape::Plane { point, .. } => (point, f64::INFINITY),
        WallShape::Cone { from, to, radii, .. } => {
            (0.5 * (from + to), (0.5 * (to - from).length()).hypot(radii[0].max(radii[1])))
        }
        WallShape::Box { center, size, .. } => (center, 0.5 * size.length()),
        WallShape::Disc { center, radius, .. } | WallShape::Sphere { center, radius, .. } => (center, radius),
        WallShape::Mesh(ref mesh) => {
            let [low, high] = mesh.bounds();
            (0.5 * (low + high), 0.5 * (high - low).length())
        }
    }
}

fn to_shape(shape: &WallShape, x: DVec3) -> f64 {
    match *shape {
        WallShape::Plane { point, normal } => normal.dot(x - point),
        WallShape::Box { center, size, turn } => {
            // Distance beyond each pair of faces; negative between them.
            let beyond = (DQuat::from_scaled_axis(-turn) * (x - center)).abs() - 0.5 * size;
            if beyond.max_element() > 0.0 { beyond.max(DVec3::ZERO).length() } else { -beyond.max_element() }
        }
        WallShape::Cone { from, to, radii, closed } => {
            let (place, height) = half_plane(x, from, to - from);
            let ends = [DVec2::new(radii[0], 0.0), DVec2::new(radii[1], height)];
            let lids = (0..2).filter(|&k| closed[k]).map(|k| to_line(place, ends[k].with_x(0.0), ends[k]));
            lids.fold(to_line(place, ends[0], ends[1]), f64::min)
        }
        WallShape::Disc { center, normal, radius, hole } => {
            let (place, _) = half_plane(x, center, normal);
            to_line(place, DVec2::new(hole, 0.0), DVec2::new(radius, 0.0))
        }
        WallShape::Sphere { center, radius, axis, angle } => {
            let (place, _) = half_plane(x, center, axis);
            if place.x.atan2(place.y) <= angle {
                (place.length() - radius).abs()
            } else {
                // The nearest point of a bowl is on its rim.
                place.distance(radius * DVec2::new(angle.sin(), angle.cos()))
            }
        }
        WallShape::Mesh(_) => f64::INFINITY,
    }
}

/// Distance from an axis and height along it, above `foot`; and the length of `axis`.
fn half_plane(x: DVec3, foot: DVec3, axis: DVec3) -> (DVec2, f64) {
    let length = axis.length();
    let height = axis.dot(x - foot) / length;
    ((DVec2::new((x - foot - axis * (height / length)).length(), height)), length)
}

fn to_line(x: DVec2, a: DVec2, b: DVec2) -> f64 {
    let along = b - a;
    let part = (x - a).dot(along) / along.length_squared().max(f64::MIN_POSITIVE);
    x.distance(a + along * part.clamp(0.0, 1.0))
}

/// Squared distance from a triangle.
fn to_triangle(x: DVec3, triangle: [u32; 3], vertices: &[DVec3]) -> f64 {
    x.distance_squared(foot(x, triangle.map(|k| vertices[k as usize])))
}

/// The point of a triangle nearest to `x`, by the region of its plane that `x` is above (Ericson, Real-Time Collision
/// Detection, 2005, section 5.1.5).
fn foot(x: DVec3, [a, b, c]: [DVec3; 3]) -> DVec3 {
    let (ab, ac) = (b - a, c - a);
    let [(a1, a2), (b1, b2), (c1, c2)] = [a, b, c].map(|corner| (ab.dot(x - corner), ac.dot(x - corner)));
    if a1 <= 0.0 && a2 <= 0.0 {
        return a;
    }
    if b1 >= 0.0 && b2 <= b1 {
        return b;
    }
    if c2 >= 0.0 && c1 <= c2 {
        return c;
    }
    // Areas opposite the corners, times a common factor.
    let (over_c, over_b, over_a) = (a1 * b2 - b1 * a2, c1 * a2 - a1 * c2, b1 * c2 - c1 * b2);
    if over_c <= 0.0 && a1 >= 0.0 && b1 <= 0.0 {
        return a + ab * (a1 / (a1 - b1));
    }
    if over_b <= 0.0 && a2 >= 0.0 && c2 <= 0.0 {
        return a + ac * (a2 / (a2 - c2));
    }
    let (from_b, from_c) = (b2 - b1, c1 - c2);
    if over_a <= 0.0 && from_b >= 0.0 && from_c >= 0.0 {
        return b + (c - b) * (from_b / (from_b + from_c));
    }
    a + (ab * over_b + ac * over_c) / (over_a + over_b + over_c)
}
