//! Keys of the walls.

use std::f64::consts::PI;

use glam::DVec3;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{MaterialName, Vector, one};
use crate::files::schema::exactly_one;

/// Keys of a wall that give its shape.
pub(in crate::files) const SHAPES: &[&str] = &["plane", "box", "cylinder", "cone", "disc", "sphere", "mesh"];

/// A solid surface with exactly one shape. All but planes are surfaces without thickness that act on both sides.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("allOf" = [exactly_one(SHAPES)]))]
pub(in crate::files) struct Wall {
    /// A half space.
    pub plane: Option<Plane>,
    /// The six faces of a box.
    pub r#box: Option<BoxFaces>,
    /// A cylinder.
    pub cylinder: Option<Cylinder>,
    /// A cone or a frustum of one.
    pub cone: Option<Cone>,
    /// A flat disc or ring.
    pub disc: Option<Disc>,
    /// A sphere or a bowl.
    pub sphere: Option<Bowl>,
    /// The triangles of a file.
    pub mesh: Option<Mesh>,
    /// Name in reports, and for `inside`. Default: the place in the list, as `walls[0]`.
    pub name: Option<String>,
    /// Material of the surface.
    #[serde(default)]
    pub material: MaterialName,
    /// Constant velocity (length/time).
    #[serde(default)]
    pub velocity: Vector,
    /// Oscillation along a line.
    pub oscillation: Option<Oscillation>,
    /// Rotation about an axis.
    pub rotation: Option<Rotation>,
    /// Time at which the wall appears. Default: always there.
    pub from: Option<f64>,
    /// Time at which the wall disappears. Default: never.
    pub until: Option<f64>,
}

/// A half space: spheres stay on the side that the normal points to.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::files) struct Plane {
    /// A point on the plane (length).
    pub point: Vector,
    /// Direction from the solid to the free side, of any length but 0.
    #[schemars(extend("examples" = [[0, 0, 1]]))]
    pub normal: Vector,
}

/// The six faces of a box.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::files) struct BoxFaces {
    /// Centre (length).
    pub center: Vector,
    /// Edge lengths (length), each > 0.
    #[schemars(extend("examples" = [[10, 10, 10]]))]
    pub size: Vector,
    /// Rotation from the axes of the world, as axis times angle (radian).
    #[serde(default)]
    pub turn: Vector,
}

/// A cylinder, open unless `closed` adds discs at its ends.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::files) struct Cylinder {
    /// Centre of one end (length).
    pub from: Vector,
    /// Centre of the other end (length).
    #[schemars(extend("examples" = [[0, 0, 10]]))]
    pub to: Vector,
    /// Radius (length), > 0.
    #[schemars(extend("exclusiveMinimum" = 0, "examples" = [10]))]
    pub radius: f64,
    /// Close the end at `from`, and the end at `to`, with a disc.
    #[serde(default)]
    #[schemars(title = "[true, false], one for each end")]
    pub closed: [bool; 2],
}

/// A cone, a frustum of one, or a flat ring, open unless `closed` adds discs at its ends.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::files) struct Cone {
    /// Centre of one end (length).
    pub from: Vector,
    /// Centre of the other end (length).
    #[schemars(extend("examples" = [[0, 0, 10]]))]
    pub to: Vector,
    /// Radii at the two ends (length), each >= 0 and not both 0.
    #[schemars(title = "two radii", extend("examples" = [[10, 2]]))]
    pub radii: [f64; 2],
    /// Close the end at `from`, and the end at `to`, with a disc.
    #[serde(default)]
    #[schemars(title = "[true, false], one for each end")]
    pub closed: [bool; 2],
}

/// A flat disc or ring.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::files) struct Disc {
    /// Centre (length).
    pub center: Vector,
    /// Direction across the disc, of any length but 0.
    #[schemars(extend("examples" = [[0, 0, 1]]))]
    pub normal: Vector,
    /// Radius (length), > 0.
    #[schemars(extend("exclusiveMinimum" = 0, "examples" = [10]))]
    pub radius: f64,
    /// Radius of the hole (length), >= 0 and smaller than the radius.
    #[serde(default)]
    #[schemars(extend("minimum" = 0))]
    pub hole: f64,
}

/// A sphere, or a bowl cut from one.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::files) struct Bowl {
    /// Centre (length).
    pub center: Vector,
    /// Radius (length), > 0.
    #[schemars(extend("exclusiveMinimum" = 0, "examples" = [10]))]
    pub radius: f64,
    /// Direction from the centre to the middle of the bowl.
    #[serde(default = "down")]
    pub axis: Vector,
    /// Largest angle between the axis and a point of the bowl (radian), 0 to pi. Pi is the whole sphere.
    #[serde(default = "pi")]
    #[schemars(extend("minimum" = 0))]
    pub angle: f64,
}

/// The triangles of a file: scaled, then rotated, then shifted.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::files) struct Mesh {
    /// A file of triangles (.stl or .obj), relative to the scene.
    #[schemars(extend("examples" = ["terrain.stl"]))]
    pub file: String,
    /// Factor on all coordinates, > 0.
    #[serde(default = "one")]
    pub scale: f64,
    /// Rotation as axis times angle (radian).
    #[serde(default)]
    pub turn: Vector,
    /// Displacement (length).
    #[serde(default)]
    pub shift: Vector,
}

/// An oscillation: displacement amplitude * (sin(2 pi frequency t + phase) - sin(phase)).
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::files) struct Oscillation {
    /// Direction and size of the displacement (length).
    #[schemars(extend("examples" = [[0, 0, 0.1]]))]
    pub amplitude: Vector,
    /// Oscillations per time, > 0.
    #[schemars(extend("exclusiveMinimum" = 0, "examples" = [10]))]
    pub frequency: f64,
    /// Phase at time 0 (radian).
    #[serde(default)]
    pub phase: f64,
}

/// A rotation about an axis, which velocity and oscillation carry along.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::files) struct Rotation {
    /// A point of the axis at time 0 (length).
    pub point: Vector,
    /// Direction of the axis. The rotation is counterclockwise seen from its tip.
    #[schemars(extend("examples" = [[0, 1, 0]]))]
    pub axis: Vector,
    /// Angular velocity (radian/time).
    #[schemars(extend("examples" = [1]))]
    pub speed: f64,
}

fn pi() -> f64 {
    PI
}

fn down() -> Vector {
    Vector(DVec3::NEG_Z)
}
