//! The forms of patches and the way from a point to the nearest point of one. Twins: shaders/shared/feature.wgsl
//! and, for times, shaders/shared/approach.wgsl.

use glam::{Vec2, Vec3};

/// Sine of the angle by which a contact with an edge may lean over the face beyond it and still count. Larger and spheres that roll
/// over a flat edge bump into it, smaller and rounding lets them through where two faces meet.
pub const LEAN: f32 = 1e-3;

/// A piece of a wall, in f32 about a point of its own. It has two sides and no thickness.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FeatureShape {
    /// A line in the half plane of distances from an axis and heights along it, turned about the axis: pipes, cones, discs.
    Frustum(Frustum),
    /// The part of a sphere about the point whose directions lie near an axis.
    Cap(Cap),
    /// A triangle.
    Triangle(Triangle),
}

/// See [`FeatureShape::Frustum`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frustum {
    /// Unit vector; the axis goes through the point.
    pub axis: Vec3,
    /// One end: distance from the axis, height.
    pub from: Vec2,
    /// Unit vector towards the other end.
    pub along: Vec2,
    pub length: f32,
    /// Directions into what continues the surface at each end; 0 where nothing does.
    pub gates: [Vec2; 2],
}

/// See [`FeatureShape::Cap`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cap {
    /// Unit vector to the middle of the part.
    pub axis: Vec3,
    pub radius: f32,
    /// The rim: distance from the axis, height.
    pub rim: Vec2,
    /// Whether it is the whole sphere.
    pub is_whole: bool,
}

/// See [`FeatureShape::Triangle`]; the first corner is the point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Triangle {
    /// From the first corner to the others.
    pub edges: [Vec3; 2],
    /// Unit normal.
    pub normal: Vec3,
    /// Of each edge, from corner k to corner k + 1: the direction into the neighbour; 0 where there is none.
    pub gates: [Vec3; 3],
    /// Of each corner: where its fan begins and ends, the directions of all edges that begin there.
    pub fans: [[u32; 2]; 3],
}

/// The way from a patch to a point.
#[derive(Clone, Copy, Debug)]
pub struct Near {
    pub distance: f32,
    /// Unit vector from the nearest point of the patch.
    pub normal: Vec3,
    /// Whether the point is over an edge beyond which the surface goes on, nearer.
    pub is_shadowed: bool,
}

impl FeatureShape {
    /// From the patch to the point `x`; `fans` are those of all triangles.
    #[inline]
    pub fn near(&self, x: Vec3, fans: &[Vec3]) -> Near {
        match self {
            Self::Frustum(frustum) => frustum.near(x),
            Self::Cap(cap) => cap.near(x),
            Self::Triangle(triangle) => triangle.near(x, fans),
        }
    }

    /// A time before which a point that is at `x` now and moves on with `w` does not come nearer than `radius`, `gap` being what
    /// is left now; infinite if it never does. Without acceleration it is the very time for planes, pipes and spheres from far.
    #[inline]
    pub fn safe_time(&self, x: Vec3, w: Vec3, near: &Near, radius: f32) -> f32 {
        let gap = near.distance - radius;
        if gap <= 0.0 {
            return 0.0;
        }
        match self {
            Self::Frustum(frustum) => frustum.safe_time(x, w, near, gap),
            Self::Cap(cap) => cap.safe_time(x, w, radius),
            Self::Triangle(_) => tangent_time(gap, near.normal.dot(w)),
        }
    }

    /// From the other sides of a pipe, a third of the way round to the left (1) and to the right (2) of the nearest: in a narrow one a
    /// sphere lies on all of them. None where the point is not inside one.
    #[inline]
    pub fn side(&self, x: Vec3, side: u32) -> Option<Near> {
        match self {
            Self::Frustum(frustum) if side > 0 => frustum.side(x, side),
            _ => None,
        }
    }

    /// When a point that leaves the surface, which it touches, is back, maybe on the other side of a pipe; infinite if it never is.
    #[inline]
    pub fn chord_time(&self, x: Vec3, w: Vec3, near: &Near) -> f32 {
        match self {
            Self::Triangle(_) => f32::INFINITY,
            Self::Cap(_) => {
                let (square, way) = (w.length_squared(), x.dot(w));
                if near.normal.dot(x) < 0.0 && way <= 0.0 && square > 0.0 {
                    -2.0 * way / square
                } else {
                    f32::INFINITY
                }
            }
            Self::Frustum(frustum) => frustum.chord_time(x, w, near),
        }
    }

    /// Acceleration that the surface has towards the centre of a sphere of this radius by its curvature, for the velocity `w`; 0 where it bends
    /// away. Where the sphere all but fills a pipe it goes round with it no faster than in one that leaves it half a radius.
    #[inline]
    pub fn bend(&self, x: Vec3, w: Vec3, near: &Near, radius: f32) -> f32 {
        match self {
            Self::Triangle(_) => 0.0,
            Self::Cap(_) => {
                let inside = near.normal.dot(x) < 0.0;
                let across = w - near.normal * near.normal.dot(w);
                if inside { across.length_squared() / x.length().max(0.5 * radius) } else { 0.0 }
            }
            Self::Frustum(frustum) => {
                let out = x - frustum.axis * frustum.axis.dot(x);
                let far = out.length();
                if far == 0.0 {
                    return 0.0;
                }
                let inward = -near.normal.dot(out) / far;
                let around = frustum.axis.cross(out).dot(w) / far;
                inward.max(0.0) * around * around / far.max(0.5 * radius)
            }
        }
    }
}

// When a point at height `gap` over a plane reaches it.
#[inline]
fn tangent_time(gap: f32, rate: f32) -> f32 {
    if rate < 0.0 { gap / -rate } else { f32::INFINITY }
}

// The smallest root > 0 of a s^2 + 2 b s + c, with c > 0.
#[inline]
fn first_root(a: f32, b: f32, c: f32) -> f32 {
    let q = b * b - a * c;
    if q < 0.0 { f32::INFINITY } else { known_root(a, b, c, q.sqrt()) }
}

// The same where the square root of the discriminant is known.
#[inline]
fn known_root(a: f32, b: f32, c: f32, root: f32) -> f32 {
    if a >= 0.0 && b >= 0.0 { f32::INFINITY } else { c / (root - b) }
}

impl Frustum {
    /// Where a point is in the half plane, and the unit vector out from the axis.
    #[inline]
    fn place(&self, x: Vec3) -> (Vec2, Vec3) {
        let height = self.axis.dot(x);
        let out = x - self.axis * height;
        let far = out.length();
        let unit = if far > 0.0 { out / far } else { self.axis.any_orthonormal_vector() };
        (Vec2::new(far, height), unit)
    }

    #[inline]
    fn near(&self, x: Vec3) -> Near {
        let (place, out) = self.place(x);
        let from = place - self.from;
        let s = from.dot(self.along);
        let lift = |v: Vec2| out * v.x + self.axis * v.y;
        if s > 0.0 && s < self.length {
            // To the side of the line: exact, however near.
            let across = self.along.perp();
            let height = across.dot(from);
            let normal = if height < 0.0 { -across } else { across };
            return Near { distance: height.abs(), normal: lift(normal), is_shadowed: false };
        }
        let end = usize::from(s > 0.0);
        let v = if end == 1 { from - self.along * self.length } else { from };
        let distance = v.length();
        let normal = if distance > 0.0 { v / distance } else { self.along.perp() };
        Near { distance, normal: lift(normal), is_shadowed: normal.dot(self.gates[end]) > LEAN }
    }

    // The distance from the line is convex in the half plane, so it is at least what its gradient says. Out from the axis a straight
    // way goes up ever faster, so there the gradient holds; into it, how far it goes out is known: the root of a square.
    #[inline]
    fn safe_time(&self, x: Vec3, w: Vec3, near: &Near, gap: f32) -> f32 {
        let (place, out) = self.place(x);
        let (outward, upward) = (near.normal.dot(out), near.normal.dot(self.axis));
        if outward >= 0.0 {
            return tangent_time(gap, near.normal.dot(w));
        }
        let rise = upward * self.axis.dot(w);
        let flat = w - self.axis * self.axis.dot(w);
        let inward = -outward;
        let far = place.x;
        let square = inward * inward;
        // start + rise s = inward |out + flat s|, the discriminant as a sum of squares.
        let start = gap + inward * far;
        let away = out.dot(flat);
        let around = flat.length_squared() - away * away;
        let c = gap * (gap + 2.0 * inward * far);
        let mixed = start * away - rise * far;
        let root = inward * (mixed * mixed + around.max(0.0) * c).sqrt();
        known_root(rise * rise - square * flat.length_squared(), start * rise - square * far * away, c, root)
    }
}

impl Frustum {
    #[inline]
    fn side(&self, x: Vec3, side: u32) -> Option<Near> {
        let (place, out) = self.place(x);
        let across = self.along.perp();
        let height = across.dot(place - self.from);
        let across = if height < 0.0 { -across } else { across };
        let s = (place - self.from).dot(self.along);
        if across.x >= 0.0 || s <= 0.0 || s >= self.length {
            return None;
        }
        let turn = if side == 1 { 0.75f32.sqrt() } else { -(0.75f32.sqrt()) };
        let out = out * -0.5 + self.axis.cross(out) * turn;
        let from = Vec2::new(-0.5 * place.x, place.y) - self.from;
        let s = from.dot(self.along);
        (s > 0.0 && s < self.length).then(|| Near {
            distance: across.dot(from),
            normal: out * across.x + self.axis * across.y,
            is_shadowed: false,
        })
    }

    // As `safe_time` where the gap is 0: one root is now, the other one is meant.
    #[inline]
    fn chord_time(&self, x: Vec3, w: Vec3, near: &Near) -> f32 {
        let (place, out) = self.place(x);
        let inward = -near.normal.dot(out);
        let rise = near.normal.dot(self.axis) * self.axis.dot(w);
        let flat = w - self.axis * self.axis.dot(w);
        let a = rise * rise - inward * inward * flat.length_squared();
        let b = inward * place.x * near.normal.dot(w);
        if inward > 0.0 && a < 0.0 && b >= 0.0 { -2.0 * b / a } else { f32::INFINITY }
    }
}

impl Cap {
    #[inline]
    fn near(&self, x: Vec3) -> Near {
        let height = self.axis.dot(x);
        let out = x - self.axis * height;
        let far = out.length();
        // Beside the line from the middle to the rim, on the side of the part.
        if self.is_whole || far * self.rim.y <= height * self.rim.x {
            let length = x.length();
            let up = if length > 0.0 { x / length } else { self.axis };
            let over = length - self.radius;
            return Near {
                distance: over.abs(),
                normal: if over < 0.0 { -up } else { up },
                is_shadowed: false,
            };
        }
        let unit = if far > 0.0 { out / far } else { self.axis.any_orthonormal_vector() };
        let v = Vec2::new(far, height) - self.rim;
        let distance = v.length();
        let normal = if distance > 0.0 { v / distance } else { Vec2::X };
        Near { distance, normal: unit * normal.x + self.axis * normal.y, is_shadowed: false }
    }

    // The part is met no sooner than the whole sphere, but for what already is as near to that: it has to pass the rim first.
    #[inline]
    fn safe_time(&self, x: Vec3, w: Vec3, radius: f32) -> f32 {
        let over = x.length() - self.radius;
        let (square, way) = (w.length_squared(), x.dot(w));
        let whole = if over.abs() <= radius {
            // As near as that already, beside the part: it meets the far side if it goes through the inside.
            let room = self.radius - radius;
            let q = way * way - square * (x.length() - room) * (x.length() + room);
            if room > 0.0 && way < 0.0 && q > 0.0 { (q.sqrt() - way) / square } else { f32::INFINITY }
        } else if over > 0.0 {
            first_root(square, way, (over - radius) * (over + 2.0 * self.radius + radius))
        } else {
            // Out of a sphere: the later root, and the only one ahead.
            let room = self.radius - radius;
            let c = (x.length() - room) * (x.length() + room);
            if square > 0.0 {
                (way * way - square * c).max(0.0).sqrt() / square - way / square
            } else {
                f32::INFINITY
            }
        };
        if self.is_whole {
            return whole;
        }
        let frustum =
            Frustum { axis: self.axis, from: self.rim, along: Vec2::X, length: 0.0, gates: [Vec2::ZERO; 2] };
        let near = frustum.near(x);
        let gap = near.distance - radius;
        let rim = if gap > 0.0 { frustum.safe_time(x, w, &near, gap) } else { 0.0 };
        rim.min(whole)
    }
}

impl Triangle {
    /// None where it has no area.
    pub fn new(edges: [Vec3; 2], gates: [Vec3; 3], fans: [[u32; 2]; 3]) -> Option<Self> {
        let normal = edges[0].cross(edges[1]).try_normalize()?;
        Some(Self { edges, normal, gates, fans })
    }

    // The regions of a triangle by Ericson, Real-Time Collision Detection (2005), 5.1.5.
    #[inline]
    fn near(&self, x: Vec3, fans: &[Vec3]) -> Near {
        let [ab, ac] = self.edges;
        let (d1, d2) = (ab.dot(x), ac.dot(x));
        let (bx, cx) = (x - ab, x - ac);
        let (d3, d4) = (ab.dot(bx), ac.dot(bx));
        let (d5, d6) = (ab.dot(cx), ac.dot(cx));
        let corner = |v: Vec3, k: usize| {
            let [first, end] = self.fans[k];
            self.beside(v, &fans[first as usize..end as usize])
        };
        if d1 <= 0.0 && d2 <= 0.0 {
            return corner(x, 0);
        }
        if d3 >= 0.0 && d4 <= d3 {
            return corner(bx, 1);
        }
        if d6 >= 0.0 && d5 <= d6 {
            return corner(cx, 2);
        }
        let vc = d1 * d4 - d3 * d2;
        if vc <= 0.0 && d1 >= 0.0 && d3 <= 0.0 {
            return self.beside(x - ab * (d1 / (d1 - d3)), &self.gates[..1]);
        }
        let vb = d5 * d2 - d1 * d6;
        if vb <= 0.0 && d2 >= 0.0 && d6 <= 0.0 {
            return self.beside(x - ac * (d2 / (d2 - d6)), &self.gates[2..]);
        }
        let va = d3 * d6 - d5 * d4;
        if va <= 0.0 && d4 >= d3 && d5 >= d6 {
            return self.beside(bx - (ac - ab) * ((d4 - d3) / ((d4 - d3) + (d5 - d6))), &self.gates[1..2]);
        }
        let height = self.normal.dot(x);
        let normal = if height < 0.0 { -self.normal } else { self.normal };
        Near { distance: height.abs(), normal, is_shadowed: false }
    }

    // `v` from an edge or a corner, with the directions in which the surface goes on from there.
    fn beside(&self, v: Vec3, onward: &[Vec3]) -> Near {
        let distance = v.length();
        let normal = if distance > 0.0 { v / distance } else { self.normal };
        let is_shadowed = onward.iter().any(|&way| normal.dot(way) > LEAN);
        Near { distance, normal, is_shadowed }
    }
}
