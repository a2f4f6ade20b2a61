//! Walls: solid surfaces with a prescribed motion, which impacts of spheres do not change.

mod distance;

use std::sync::Arc;

use glam::{DQuat, DVec3};

pub(crate) use self::distance::Nearby;
use crate::{Error, MaterialIndex, Plane};

/// A solid surface: its shape, its motion, and the time during which it exists.
///
/// Planes are solid behind. All other walls are surfaces without thickness, and spheres stay on their side: a cylinder is a
/// pipe for the spheres inside and a pillar for those outside.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "files", derive(serde::Deserialize, serde::Serialize))]
pub struct Wall {
    /// Shape and position at time 0.
    pub shape: WallShape,
    /// Motion of the wall.
    pub motion: WallMotion,
    /// Times at which the wall appears and disappears: `f64::NEG_INFINITY` and `f64::INFINITY` for a permanent wall. A wall
    /// that appears pushes overlapping spheres aside.
    pub span: [f64; 2],
    /// Material of the surface.
    pub material: MaterialIndex,
    /// Name in messages and reports.
    pub name: String,
}

/// Shape of a wall. Directions may have any length except 0, unless stated otherwise.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "files", derive(serde::Deserialize, serde::Serialize))]
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
        /// Centre (length).
        center: DVec3,
        /// Edge lengths (length), each > 0.
        size: DVec3,
        /// Rotation from the axes of the world: axis times angle (radian).
        turn: DVec3,
    },
    /// A frustum of a cone, a cylinder, or a flat ring: a line segment rotated about an axis. Each end is open unless a disc
    /// closes it.
    Cone {
        /// Centre of the first end (length).
        from: DVec3,
        /// Centre of the second end (length), different from `from`.
        to: DVec3,
        /// Radii at the two ends (length), >= 0 and not both 0.
        radii: [f64; 2],
        /// Whether a disc closes the first end, and the second.
        closed: [bool; 2],
    },
    /// A flat disc, or a ring if it has a hole.
    Disc {
        /// Centre (length).
        center: DVec3,
        /// Direction perpendicular to the disc.
        normal: DVec3,
        /// Radius (length), > 0.
        radius: f64,
        /// Radius of the hole (length), in 0..radius.
        hole: f64,
    },
    /// A sphere, or a spherical bowl.
    Sphere {
        /// Centre of the sphere (length).
        center: DVec3,
        /// Radius (length), > 0.
        radius: f64,
        /// Direction from the centre of the sphere to the middle of the bowl.
        axis: DVec3,
        /// Largest angle between the axis and a point of the bowl (radian), in 0..=pi; pi gives the whole sphere.
        angle: f64,
    },
    /// A triangle mesh.
    Mesh(Arc<crate::Mesh>),
}

/// Rigid motion of a wall, counted from time 0 of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "files", derive(serde::Deserialize, serde::Serialize))]
pub struct WallMotion {
    /// Constant velocity (length/time).
    pub velocity: DVec3,
    /// Harmonic oscillation.
    pub oscillation: Option<Oscillation>,
    /// Constant rotation.
    pub rotation: Option<Rotation>,
}

/// A displacement by `amplitude * (sin(2 pi frequency t + phase) - sin(phase))`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "files", derive(serde::Deserialize, serde::Serialize))]
pub struct Oscillation {
    /// Direction and size (length).
    pub amplitude: DVec3,
    /// Oscillations per time, > 0.
    pub frequency: f64,
    /// Phase at time 0 (radian).
    pub phase: f64,
}

/// A rotation about an axis. Velocity and oscillation move the axis along with the wall.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "files", derive(serde::Deserialize, serde::Serialize))]
pub struct Rotation {
    /// A point of the axis at time 0 (length).
    pub point: DVec3,
    /// Direction of the axis. The rotation is counterclockwise for a viewer towards whom the axis points.
    pub axis: DVec3,
    /// Angular velocity (radian/time).
    pub speed: f64,
}

impl Wall {
    /// A permanent wall at rest.
    pub fn new(shape: WallShape, material: MaterialIndex, name: &str) -> Self {
        Self {
            shape,
            motion: WallMotion::default(),
            span: [f64::NEG_INFINITY, f64::INFINITY],
            material,
            name: name.to_owned(),
        }
    }

    /// The wall as a half space; `None` unless it is a permanent plane at rest.
    pub fn as_plane(&self) -> Option<Plane> {
        let WallShape::Plane { point, normal } = self.shape else { return None };
        (self.motion.is_still() && self.is_lasting()).then(|| Plane {
            point,
            normal,
            material: self.material,
            name: self.name.clone(),
        })
    }

    /// Whether the wall exists at all times.
    pub fn is_lasting(&self) -> bool {
        self.span == [f64::NEG_INFINITY, f64::INFINITY]
    }

    /// Whether the wall exists at a time.
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
    /// Name of the shape in scene files.
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
    /// Whether the shape has an inside for [`holds`](Self::holds).
    pub fn is_vessel(&self) -> bool {
        matches!(self, Self::Box { .. } | Self::Cone { .. } | Self::Sphere { .. })
    }

    /// Whether a whole sphere lies inside a box, cylinder, cone, sphere or bowl; open ends count as closed by flat lids.
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

    /// The shape scaled by `factor` about `origin`.
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
    /// Whether the wall never moves.
    pub fn is_still(&self) -> bool {
        self.velocity == DVec3::ZERO
            && self.oscillation.is_none_or(|o| o.amplitude == DVec3::ZERO)
            && self.rotation.is_none_or(|r| r.speed == 0.0)
    }

    /// Displacement of the wall since time 0 (length), without rotation.
    pub fn displacement(&self, time: f64) -> DVec3 {
        let swing = self.oscillation.map_or(DVec3::ZERO, |o| {
            o.amplitude * ((std::f64::consts::TAU * o.frequency * time + o.phase).sin() - o.phase.sin())
        });
        self.velocity * time + swing
    }

    /// Rotation since time 0.
    pub fn turn(&self, time: f64) -> DQuat {
        self.rotation.map_or(DQuat::IDENTITY, |r| {
            // Reduce the angle first: a large angle would lose its last digits.
            let angle = (r.speed * time).rem_euclid(std::f64::consts::TAU);
            DQuat::from_axis_angle(r.axis.normalize(), angle)
        })
    }

    /// Angular velocity (radian/time).
    pub fn spin(&self) -> DVec3 {
        self.rotation.map_or(DVec3::ZERO, |r| r.axis.normalize() * r.speed)
    }

    /// Position at `time` of the point of the wall that was at `point` at time 0.
    pub fn carry(&self, point: DVec3, time: f64) -> DVec3 {
        let pivot = self.rotation.map_or(DVec3::ZERO, |r| r.point);
        pivot + self.turn(time) * (point - pivot) + self.displacement(time)
    }

    /// Upper bound on the speed of a point at this distance from the axis (length/time).
    pub fn top_speed(&self, distance: f64) -> f64 {
        let swing =
            self.oscillation.map_or(0.0, |o| std::f64::consts::TAU * o.frequency * o.amplitude.length());
        self.velocity.length() + swing + self.rotation.map_or(0.0, |r| r.speed.abs() * distance)
    }
}
