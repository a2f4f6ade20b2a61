//! Walls: solid surfaces that spheres meet and that no sphere moves.

mod distance;

use std::sync::Arc;

use glam::{DQuat, DVec3};

pub(crate) use self::distance::Nearby;
use crate::{Error, MaterialIndex, Plane};

/// A solid surface: its shape, how it moves, and when it is there.
///
/// But for planes, which are solid behind, walls are surfaces without thickness: spheres stay on the side on which they are, so a
/// cylinder is a pipe to those inside and a pillar to those outside.
#[derive(Clone, Debug, PartialEq)]
pub struct Wall {
    /// Where it is at time 0.
    pub shape: WallShape,
    /// How it moves.
    pub motion: WallMotion,
    /// The time at which it appears, and the time from which on it is gone: `f64::NEG_INFINITY` and `f64::INFINITY` for one that is
    /// always there. What it finds in its place when it appears it pushes aside, as far as it overlaps.
    pub span: [f64; 2],
    /// Material of the surface.
    pub material: MaterialIndex,
    /// What messages and reports call it.
    pub name: String,
}

/// What a wall looks like. Directions may have any length but 0, except where it says so.
#[derive(Clone, Debug, PartialEq)]
pub enum WallShape {
    /// A half space: spheres stay where `(x - point) . normal >= radius`.
    Plane {
        /// A point on the surface (length).
        point: DVec3,
        /// Unit vector, from the solid to the free side.
        normal: DVec3,
    },
    /// The six faces of a box.
    Box {
        /// Its middle (length).
        center: DVec3,
        /// Its edges (length), each > 0.
        size: DVec3,
        /// Axis times angle (radian) by which it is turned from the axes of the world.
        turn: DVec3,
    },
    /// A piece of a cone or of a cylinder, or a flat ring: a line turned about an axis. Open at both ends but where it is closed by a disc.
    Cone {
        /// Middle of the one end (length).
        from: DVec3,
        /// Middle of the other end (length), elsewhere.
        to: DVec3,
        /// Radii at the two ends (length), >= 0 and not both 0.
        radii: [f64; 2],
        /// Whether a disc closes the one end, and the other.
        closed: [bool; 2],
    },
    /// A flat disc, or a ring where it has a hole.
    Disc {
        /// Its middle (length).
        center: DVec3,
        /// Across the disc.
        normal: DVec3,
        /// Radius (length), > 0.
        radius: f64,
        /// Radius of the hole (length), in 0..radius.
        hole: f64,
    },
    /// A sphere, or the part of one that is a bowl.
    Sphere {
        /// Its middle (length).
        center: DVec3,
        /// Radius (length), > 0.
        radius: f64,
        /// From the middle to the middle of the part.
        axis: DVec3,
        /// Largest angle with the axis (radian) of what belongs to the part, in 0..=pi; pi is the whole sphere.
        angle: f64,
    },
    /// Triangles.
    Mesh(Arc<crate::Mesh>),
}

/// How a wall moves: all of it together, counted from time 0 of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WallMotion {
    /// Constant velocity (length/time).
    pub velocity: DVec3,
    /// To and fro.
    pub oscillation: Option<Oscillation>,
    /// Round and round.
    pub rotation: Option<Rotation>,
}

/// A displacement by `amplitude * (sin(2 pi frequency t + phase) - sin(phase))`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Oscillation {
    /// Direction and size (length).
    pub amplitude: DVec3,
    /// Oscillations per time, > 0.
    pub frequency: f64,
    /// Phase at time 0 (radian).
    pub phase: f64,
}

/// A rotation about an axis; velocity and oscillation carry the axis along.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rotation {
    /// A point of the axis at time 0 (length).
    pub point: DVec3,
    /// Direction of the axis; counterclockwise where it points to the eye.
    pub axis: DVec3,
    /// Angular velocity (radian/time).
    pub speed: f64,
}

impl Wall {
    /// A wall that is always there and stands still.
    pub fn new(shape: WallShape, material: MaterialIndex, name: &str) -> Self {
        Self {
            shape,
            motion: WallMotion::default(),
            span: [f64::NEG_INFINITY, f64::INFINITY],
            material,
            name: name.to_owned(),
        }
    }

    /// The half space that it is, if it is one that always stands where it is.
    pub fn as_plane(&self) -> Option<Plane> {
        let WallShape::Plane { point, normal } = self.shape else { return None };
        (self.motion.is_still() && self.is_lasting()).then(|| Plane {
            point,
            normal,
            material: self.material,
            name: self.name.clone(),
        })
    }

    /// Whether it is there at all times.
    pub fn is_lasting(&self) -> bool {
        self.span == [f64::NEG_INFINITY, f64::INFINITY]
    }

    /// Whether it is there at a time.
    pub fn is_there(&self, time: f64) -> bool {
        self.span[0] <= time && time < self.span[1]
    }
}

impl From<Plane> for Wall {
    fn from(plane: Plane) -> Self {
        let Plane { point, normal, material, name } = plane;
        Self::new(WallShape::Plane { point, normal }, material, &name)
    }
}

impl WallShape {
    /// What scenes call it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Plane { .. } => "plane",
            Self::Box { .. } => "box",
            Self::Cone { radii, .. } if radii[0] == radii[1] => "cylinder",
            Self::Cone { .. } => "cone",
            Self::Disc { .. } => "disc",
            Self::Sphere { .. } => "sphere",
            Self::Mesh(_) => "mesh",
        }
    }
}

impl WallShape {
    /// Whether a shape has an inside that [`holds`](Self::holds) something.
    pub fn is_vessel(&self) -> bool {
        matches!(self, Self::Box { .. } | Self::Cone { .. } | Self::Sphere { .. })
    }

    /// Whether a sphere lies wholly inside a box, a cylinder, a cone, a sphere or a bowl, whose open ends count as closed by flat lids.
    pub fn holds(&self, center: DVec3, radius: f64) -> bool {
        match *self {
            Self::Box { center: middle, size, turn } => {
                let from = DQuat::from_scaled_axis(turn).inverse() * (center - middle);
                from.abs().cmple(0.5 * size - radius).all()
            }
            Self::Cone { from, to, radii, .. } => {
                let height = (to - from).length();
                let axis = (to - from) / height;
                let along = axis.dot(center - from);
                let out = (center - from - axis * along).length();
                let slope = (radii[1] - radii[0]) / height;
                let room = (radii[0] + slope * along - out) / slope.hypot(1.0);
                room >= radius && along >= radius && along <= height - radius
            }
            Self::Sphere { center: middle, radius: own, axis, angle } => {
                let from = center - middle;
                let lid = own * angle.cos();
                from.length() <= own - radius
                    && (angle >= std::f64::consts::PI || axis.normalize().dot(from) >= lid + radius)
            }
            Self::Plane { .. } | Self::Disc { .. } | Self::Mesh(_) => false,
        }
    }

    /// The same shape, `factor` times as large seen from `origin`.
    ///
    /// # Errors
    /// As [`Mesh::transformed`](crate::Mesh::transformed).
    pub fn scaled(&self, origin: DVec3, factor: f64) -> Result<Self, Error> {
        let place = |x: DVec3| origin + (x - origin) * factor;
        Ok(match *self {
            Self::Plane { point, normal } => Self::Plane { point: place(point), normal },
            Self::Box { center, size, turn } => {
                Self::Box { center: place(center), size: size * factor, turn }
            }
            Self::Cone { from, to, radii, closed } => {
                Self::Cone { from: place(from), to: place(to), radii: radii.map(|r| r * factor), closed }
            }
            Self::Disc { center, normal, radius, hole } => {
                Self::Disc { center: place(center), normal, radius: radius * factor, hole: hole * factor }
            }
            Self::Sphere { center, radius, axis, angle } => {
                Self::Sphere { center: place(center), radius: radius * factor, axis, angle }
            }
            Self::Mesh(ref mesh) => {
                Self::Mesh(Arc::new(mesh.transformed(factor, DQuat::IDENTITY, origin * (1.0 - factor))?))
            }
        })
    }
}

impl WallMotion {
    /// Whether it never moves.
    pub fn is_still(&self) -> bool {
        self.velocity == DVec3::ZERO
            && self.oscillation.is_none_or(|o| o.amplitude == DVec3::ZERO)
            && self.rotation.is_none_or(|r| r.speed == 0.0)
    }

    /// How far the wall is from where it was at time 0 (length), rotation apart.
    pub fn displacement(&self, time: f64) -> DVec3 {
        let swing = self.oscillation.map_or(DVec3::ZERO, |o| {
            o.amplitude * ((std::f64::consts::TAU * o.frequency * time + o.phase).sin() - o.phase.sin())
        });
        self.velocity * time + swing
    }

    /// By how much it has turned since time 0.
    pub fn turn(&self, time: f64) -> DQuat {
        self.rotation.map_or(DQuat::IDENTITY, |r| {
            // Whole turns first: the angle of a long run would lose its last digits.
            let angle = (r.speed * time).rem_euclid(std::f64::consts::TAU);
            DQuat::from_axis_angle(r.axis.normalize(), angle)
        })
    }

    /// Angular velocity (radian/time).
    pub fn spin(&self) -> DVec3 {
        self.rotation.map_or(DVec3::ZERO, |r| r.axis.normalize() * r.speed)
    }

    /// Where a point of the wall is at a time that was at `point` at time 0.
    pub fn carry(&self, point: DVec3, time: f64) -> DVec3 {
        let pivot = self.rotation.map_or(DVec3::ZERO, |r| r.point);
        pivot + self.turn(time) * (point - pivot) + self.displacement(time)
    }

    /// The fastest that a point at this distance from the axis ever moves.
    pub fn top_speed(&self, distance: f64) -> f64 {
        let swing =
            self.oscillation.map_or(0.0, |o| std::f64::consts::TAU * o.frequency * o.amplitude.length());
        self.velocity.length() + swing + self.rotation.map_or(0.0, |r| r.speed.abs() * distance)
    }
}
