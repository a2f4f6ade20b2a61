//! Shapes of wall features, with the distance, normal and time of approach from a point. Shader twins:
//! shaders/shared/feature.wgsl, and shaders/shared/approach.wgsl for times.

use glam::{Vec2, Vec3};

/// Sine of the angle by which the normal of an edge contact may lean over the adjacent face and still count. With a larger
/// value, spheres that roll over a flat edge bump into it; with a smaller one, rounding lets spheres through between faces.
pub const LEAN: f32 = 1e-3;

/// Shape of a wall feature, in f32 relative to the feature's point. It is two-sided and has no thickness.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FeatureShape {
    /// A line segment in the half plane (distance from an axis, height), rotated about the axis: pipes, cones, discs.
    Frustum(Frustum),
    /// The part of a sphere around the point whose directions lie near an axis.
    Cap(Cap),
    /// A triangle.
    Triangle(Triangle),
}

/// A surface of revolution; see [`FeatureShape::Frustum`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frustum {
    /// Unit vector of the axis, which passes through the point.
    pub axis: Vec3,
    /// One end of the segment: distance from the axis, height.
    pub from: Vec2,
    /// Unit vector towards the other end.
    pub along: Vec2,
    pub length: f32,
    /// Directions into the adjacent surface at each end; 0 if there is none.
    pub gates: [Vec2; 2],
}

/// A spherical cap; see [`FeatureShape::Cap`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cap {
    /// Unit vector to the middle of the cap.
    pub axis: Vec3,
    pub radius: f32,
    /// Rim: distance from the axis, height.
    pub rim: Vec2,
    /// Whether the cap is the whole sphere.
    pub is_whole: bool,
}

/// A triangle. Its first corner is the feature's point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Triangle {
    /// From the first corner to the others.
    pub edges: [Vec3; 2],
    /// Unit normal.
    pub normal: Vec3,
    /// Direction into the neighbour across each edge, from corner k to corner k + 1; 0 if there is none.
    pub gates: [Vec3; 3],
    /// Range of each corner's fan: the directions of all edges that begin at the corner.
    pub fans: [[u32; 2]; 3],
}

/// Distance and direction from a wall feature to a point.
#[derive(Clone, Copy, Debug)]
pub struct Near {
    pub distance: f32,
    /// Unit vector from the nearest point of the feature to the point.
    pub normal: Vec3,
    /// Whether the nearest point is on an edge beyond which the surface continues closer to the point.
    pub is_shadowed: bool,
}

impl FeatureShape {
    /// Distance and normal from the feature to the point `x`; `fans` holds the fans of all triangles.
    #[inline]
    pub fn near(&self, x: Vec3, fans: &[Vec3]) -> Near {
        match self {
            Self::Frustum(frustum) => frustum.near(x),
            Self::Cap(cap) => cap.near(x),
            Self::Triangle(triangle) => triangle.near(x, fans),
        }
    }

    /// Whether the feature is surely further than `reach` from the point `x`. A quick test of the plane of a triangle, or of the whole cone
    /// of a frustum; `false` may need a look at the distance.
    #[inline]
    pub fn is_beyond(&self, x: Vec3, reach: f32) -> bool {
        match self {
            // The last term is above the rounding of the product.
            Self::Triangle(triangle) => {
                triangle.normal.dot(x).abs() > 1.01 * reach + 1e-6 * x.abs().element_sum()
            }
            Self::Frustum(frustum) => frustum.is_beyond(x, reach),
            Self::Cap(_) => false,
        }
    }

    /// A time before which a point at `x` with velocity `w` does not come closer than `radius`; infinite if it never does.
    /// Without acceleration the time is exact for planes, pipes, and spheres approached from afar.
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

    /// Distance and normal to the other sides of a pipe, a third of a turn to the left (1) and to the right (2) of the
    /// nearest side: in a narrow pipe a sphere touches all three. `None` if the point is not inside a pipe.
    #[inline]
    pub fn side(&self, x: Vec3, side: u32) -> Option<Near> {
        match self {
            Self::Frustum(frustum) if side > 0 => frustum.side(x, side),
            _ => None,
        }
    }

    /// Time until a point that touches the surface and leaves it returns, maybe at the other side of a pipe; infinite
    /// if never.
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

    /// Centripetal acceleration towards the centre of a sphere of this radius, from the curvature of the surface and
    /// the velocity `w`; 0 where the surface curves away. For a sphere that almost fills a pipe, the radius of its
    /// orbit counts as at least half its own radius.
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

// Time until a point at height `gap` above a plane reaches it.
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

// `first_root` with a given square root of the discriminant.
#[inline]
fn known_root(a: f32, b: f32, c: f32, root: f32) -> f32 {
    if a >= 0.0 && b >= 0.0 { f32::INFINITY } else { c / (root - b) }
}

impl Frustum {
    /// Position of a point in the half plane, and the unit vector outwards from the axis.
    #[inline]
    fn place(&self, x: Vec3) -> (Vec2, Vec3) {
        let height = self.axis.dot(x);
        let out = x - self.axis * height;
        let far = out.length();
        let unit = if far > 0.0 { out / far } else { self.axis.any_orthonormal_vector() };
        (Vec2::new(far, height), unit)
    }

    // The signed distance from the line of the segment is `across.x` times the distance from the axis, plus `rest`. Instead of that root,
    // squares are compared.
    #[inline]
    fn is_beyond(&self, x: Vec3, reach: f32) -> bool {
        let height = self.axis.dot(x);
        let across = self.along.perp();
        let across = if across.x < 0.0 { -across } else { across };
        let rest = across.dot(Vec2::new(0.0, height) - self.from);
        let square = across.x * across.x * (x - self.axis * height).length_squared();
        // The last term is above the rounding of the products.
        let reach = 1.01 * reach + 1e-5 * (x.abs().element_sum() + self.from.abs().element_sum());
        let (least, most) = (-reach - rest, reach - rest);
        most < 0.0 || square > most * most || (least > 0.0 && square < least * least)
    }

    #[inline]
    fn near(&self, x: Vec3) -> Near {
        let (place, out) = self.place(x);
        let from = place - self.from;
        let s = from.dot(self.along);
        let lift = |v: Vec2| out * v.x + self.axis * v.y;
        if s > 0.0 && s < self.length {
            // Beside the segment: exact at any distance.
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

    // The distance from the segment is convex in the half plane, so its gradient is a lower bound. If the gradient
    // points away from the axis, the bound holds in space, because the distance from the axis is convex along a
    // straight path. If it points towards the axis, the distance from the axis is known exactly, and the time is the
    // root of a quadratic.
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
        // start + rise s = inward |out + flat s|, with the discriminant as a sum of squares.
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

    // `safe_time` for gap 0: one root is now; this returns the other one.
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
        // On the cap's side of the line from the centre to the rim.
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

    // A cap is met no sooner than its whole sphere. A point already within `radius` of the sphere must first pass the rim.
    #[inline]
    fn safe_time(&self, x: Vec3, w: Vec3, radius: f32) -> f32 {
        let over = x.length() - self.radius;
        let (square, way) = (w.length_squared(), x.dot(w));
        let whole = if over.abs() <= radius {
            // Within `radius` of the sphere but beside the cap: the point meets the far side if it passes through the
            // inside.
            let room = self.radius - radius;
            let q = way * way - square * (x.length() - room) * (x.length() + room);
            if room > 0.0 && way < 0.0 && q > 0.0 { (q.sqrt() - way) / square } else { f32::INFINITY }
        } else if over > 0.0 {
            first_root(square, way, (over - radius) * (over + 2.0 * self.radius + radius))
        } else {
            // Leaving a sphere: the later root, the only one ahead.
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
    /// `None` if the triangle has no area.
    pub fn new(edges: [Vec3; 2], gates: [Vec3; 3], fans: [[u32; 2]; 3]) -> Option<Self> {
        let normal = edges[0].cross(edges[1]).try_normalize()?;
        Some(Self { edges, normal, gates, fans })
    }

    // Regions of a triangle as in Ericson, Real-Time Collision Detection (2005), 5.1.5.
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

    // `v` is the vector from an edge or a corner; `onward` holds the directions in which the surface continues from there.
    fn beside(&self, v: Vec3, onward: &[Vec3]) -> Near {
        let distance = v.length();
        let normal = if distance > 0.0 { v / distance } else { self.normal };
        let is_shadowed = onward.iter().any(|&way| normal.dot(way) > LEAN);
        Near { distance, normal, is_shadowed }
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64;

    use super::*;

    #[test]
    fn a_triangle_that_a_point_is_beyond_is_out_of_reach() {
        let mut rng = Pcg64::seed_from_u64(12);
        let mut draw = |scale: f32| scale * (2.0 * rng.random::<f32>() - 1.0);
        let mut beyond = 0;
        for k in 0..100_000 {
            // From triangles as large as the reach to those a hundred thousand times as large.
            let scale = 10f32.powi(k % 6);
            let mut vector = |scale: f32| Vec3::new(draw(scale), draw(scale), draw(scale));
            let Some(triangle) = Triangle::new([vector(scale), vector(scale)], [Vec3::ZERO; 3], [[0; 2]; 3])
            else {
                continue;
            };
            let (a, b) = (triangle.edges[0], triangle.edges[1]);
            // Points near the middle of the triangle, mostly within twice the reach.
            let x = (a + b) / 3.0 + vector(1.0) * 2.0;
            let shape = FeatureShape::Triangle(triangle);
            if shape.is_beyond(x, 1.0) {
                beyond += 1;
                assert!(shape.near(x, &[]).distance > 1.0, "{triangle:?} {x}");
            }
        }
        assert!((10_000..90_000).contains(&beyond), "{beyond}");
    }

    #[test]
    fn a_frustum_that_a_point_is_beyond_is_out_of_reach() {
        let mut rng = Pcg64::seed_from_u64(13);
        let mut draw = |scale: f32| scale * (2.0 * rng.random::<f32>() - 1.0);
        let (mut beyond, mut out_of_reach) = (0, 0);
        for k in 0..200_000 {
            // Discs, pipes and cones, as large as the reach to a million times as large.
            let scale = 10f32.powi(k % 7);
            let axis = Vec3::new(draw(1.0), draw(1.0), draw(1.0)).normalize_or(Vec3::Z);
            let from = Vec2::new(draw(scale).abs(), draw(scale));
            let to = match k % 3 {
                0 => Vec2::new(draw(scale).abs(), from.y),
                1 => Vec2::new(from.x, draw(scale)),
                _ => Vec2::new(draw(scale).abs(), draw(scale)),
            };
            let length = (to - from).length();
            let along = (to - from) / length;
            let frustum = Frustum { axis, from, along, length, gates: [Vec2::ZERO; 2] };
            // Points within a few times the reach from the frustum.
            let place = (from.lerp(to, draw(1.0).abs()) + Vec2::new(draw(3.0), draw(3.0))).abs();
            let x = axis.any_orthonormal_vector() * place.x + axis * place.y;
            let shape = FeatureShape::Frustum(frustum);
            let is_out_of_reach = shape.near(x, &[]).distance > 1.0;
            let is_beyond = shape.is_beyond(x, 1.0);
            assert!(!is_beyond || is_out_of_reach, "{frustum:?} {x}");
            // The margin for rounding makes the test useless for very large ones.
            if k % 7 < 5 {
                out_of_reach += u32::from(is_out_of_reach);
                beyond += u32::from(is_beyond);
            }
        }
        assert!(beyond > out_of_reach / 2 && beyond > 30_000, "{beyond} of {out_of_reach}");
    }
}
