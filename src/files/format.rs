//! The TOML format of a scene as serde types, with one field for each key.
//!
//! The doc comment of a field is its description in the JSON schema. Error messages quote the `title` and the `examples` of
//! a field to describe the expected value.

mod spheres;
mod walls;

use glam::DVec3;
use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Solver as SolverDefaults, scene};

pub(super) use spheres::*;
pub(super) use walls::*;

/// A scene: spheres, walls and the world they move in. Units are the user's own and must be consistent.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "carom scene")]
pub(super) struct Scene {
    /// Dimensions, gravity, time step, seed, drag.
    pub world: World,
    /// Settings of the solver.
    #[serde(default)]
    pub solver: Solver,
    /// The box around the scene. Default: open on every side.
    #[serde(default)]
    pub bounds: Bounds,
    /// Materials by name. Without an entry, the material `default` is elastic and smooth.
    #[serde(default)]
    #[schemars(title = "tables like [materials.steel]")]
    pub materials: IndexMap<String, Material>,
    /// Surface properties of particular pairs of materials. They replace the combination rule: the smaller restitution,
    /// the larger restitution threshold, the geometric mean of each friction coefficient.
    #[serde(default)]
    #[schemars(title = "a list of tables: [[pairs]]")]
    pub pairs: Vec<Pair>,
    /// Groups of spheres.
    #[serde(default)]
    #[schemars(title = "a list of tables: [[spheres]]")]
    pub spheres: Vec<Spheres>,
    /// Solid surfaces inside the box, fixed or moving.
    #[serde(default)]
    #[schemars(title = "a list of tables: [[walls]]")]
    pub walls: Vec<Wall>,
    /// Boxes that remove the spheres which enter them.
    #[serde(default)]
    #[schemars(title = "a list of tables: [[sinks]]")]
    pub sinks: Vec<Sink>,
    /// Compression of a box that is periodic on every axis.
    pub compression: Option<Compression>,
    /// Camera and colours. They do not change the simulation.
    #[serde(default)]
    pub view: View,
}

/// Dimensions, gravity, time step, seed, drag.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct World {
    /// Number of dimensions. In 2D every sphere stays in the plane z = 0.
    #[serde(default)]
    #[schemars(extend("default" = 3))]
    pub dimensions: Dimensions,
    /// Acceleration of every sphere that is not fixed (length/time^2).
    #[serde(default)]
    pub gravity: Vector,
    /// Time step (time), > 0. Substeps are chosen from it.
    #[schemars(extend("exclusiveMinimum" = 0, "examples" = [0.0166667]))]
    pub dt: f64,
    /// Length of a run in time steps, unless the command asks for another.
    #[serde(default = "steps")]
    pub steps: u64,
    /// Seed of everything that is drawn at random.
    #[serde(default = "seed")]
    pub seed: u64,
    /// Linear drag of a medium at rest (1/time), >= 0: the acceleration is -drag * velocity.
    #[serde(default)]
    #[schemars(extend("minimum" = 0))]
    pub drag: f64,
}

/// Settings of the solver.
#[derive(Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Solver {
    /// Repeat a substep as two halves when it processed collisions out of order.
    pub strict_order: bool,
    /// Substeps of each time step. 0: chosen from the collision rate and the speeds.
    pub substeps: u32,
    /// Deepest overlap at the start that is removed instead of refused, as a part of the mean diameter.
    #[schemars(extend("minimum" = 0, "exclusiveMaximum" = 1))]
    pub max_initial_overlap: f64,
    /// Contact time t_c of the TC model (time): an impact sooner than t_c after the previous one of either sphere is
    /// elastic and smooth. Default: 1e-3 of the mean free time.
    pub contact_time: Option<f64>,
    /// Put groups of touching spheres to sleep once they are slow.
    pub sleeping: bool,
}

impl Default for Solver {
    fn default() -> Self {
        let SolverDefaults { strict_order, substeps, max_initial_overlap, contact_time, sleeping } =
            SolverDefaults::default();
        Self { strict_order, substeps, max_initial_overlap, contact_time, sleeping }
    }
}

/// The box around the scene.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Bounds {
    /// Lower corner (length). Default: the origin.
    pub min: Option<Vector>,
    /// Upper corner (length). Default: a cube (2D: a square) that gives the first random group its volume fraction;
    /// that group has both `count` and `volume_fraction`.
    pub max: Option<Vector>,
    /// Boundary on the x axis.
    pub x: Side,
    /// Boundary on the y axis.
    pub y: Side,
    /// Boundary on the z axis. Not used in 2D.
    pub z: Side,
    /// Material of the sides that are walls.
    pub material: MaterialName,
}

/// Boundary of the box on one axis.
#[derive(Default, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Side {
    /// A sphere that leaves on one side enters on the other.
    Periodic,
    /// A solid wall on both sides.
    Wall,
    /// No boundary.
    #[default]
    Open,
}

/// A material of spheres and walls.
#[derive(Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Material {
    /// Coefficient of restitution, 0 to 1: speed of separation over speed of approach.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub restitution: f64,
    /// Coulomb's coefficient of friction, 0 to 1000, both static and kinetic.
    #[schemars(range(min = 0.0, max = 1000.0))]
    pub friction: f64,
    /// Coefficient of rolling resistance, 0 to 1000. It acts in resting contacts.
    #[schemars(range(min = 0.0, max = 1000.0))]
    pub rolling_friction: f64,
    /// Coefficient of resistance to spin about the contact normal, 0 to 1000. It acts in resting contacts.
    #[schemars(range(min = 0.0, max = 1000.0))]
    pub twisting_friction: f64,
    /// Speed of approach (length/time), >= 0, below which the restitution falls linearly to 0.
    #[schemars(extend("minimum" = 0))]
    pub restitution_threshold: f64,
    /// Mass per volume, > 0. Default: 6/pi, mass 1 at diameter 1.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub density: f64,
}

impl Default for Material {
    fn default() -> Self {
        let scene::Material { surface, density, .. } = scene::Material::default();
        Self {
            restitution: surface.restitution,
            friction: surface.friction,
            rolling_friction: surface.rolling_friction,
            twisting_friction: surface.twisting_friction,
            restitution_threshold: surface.restitution_threshold,
            density,
        }
    }
}

/// Surface properties of one pair of materials, at least one of them.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("minProperties" = 2))]
pub(super) struct Pair {
    /// Names of the two materials.
    #[schemars(title = "two names", extend("examples" = [["steel", "glass"]]))]
    pub between: [String; 2],
    /// Coefficient of restitution, 0 to 1.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub restitution: Option<f64>,
    /// Coulomb's coefficient of friction, 0 to 1000.
    #[schemars(range(min = 0.0, max = 1000.0))]
    pub friction: Option<f64>,
    /// Coefficient of rolling resistance, 0 to 1000.
    #[schemars(range(min = 0.0, max = 1000.0))]
    pub rolling_friction: Option<f64>,
    /// Coefficient of resistance to spin about the contact normal, 0 to 1000.
    #[schemars(range(min = 0.0, max = 1000.0))]
    pub twisting_friction: Option<f64>,
    /// Speed of approach (length/time), >= 0, below which the restitution falls linearly to 0.
    #[schemars(extend("minimum" = 0))]
    pub restitution_threshold: Option<f64>,
}

/// A box that removes the spheres whose centres are in it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Sink {
    /// Lower corner (length). Components may be -inf.
    #[schemars(extend("examples" = [[0, 0, -2]]))]
    pub min: Vector,
    /// Upper corner (length). Components may be inf.
    #[schemars(extend("examples" = [[10, 10, -1]]))]
    pub max: Vector,
    /// Name in reports, unique in the scene. Default: the place in the list, as `sinks[0]`.
    pub name: Option<String>,
    /// Number of time steps between two removals, >= 1.
    #[serde(default = "every_step")]
    #[schemars(range(min = 1))]
    pub every: u32,
}

/// Compression of a periodic box about its centre.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Compression {
    /// Relative rate at which the box lengths shrink (1/time), > 0; in one time step at most a hundredth.
    #[schemars(extend("exclusiveMinimum" = 0, "examples" = [0.01]))]
    pub rate: f64,
    /// Volume fraction (2D: area fraction) at which the compression stops.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub fraction: Option<f64>,
    /// Pressure (energy/volume, 2D: energy/area), > 0, at which the compression stops.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub pressure: Option<f64>,
}

/// Camera and colours.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct View {
    /// Position of the camera (length).
    pub eye: Option<Vector>,
    /// Point that the camera looks at (length).
    pub target: Option<Vector>,
    /// Vertical field of view (degree).
    pub fov: Option<f64>,
    /// Quantity shown by colour: speed, radius, material, id, impacts or overlap.
    pub color: Option<String>,
}

/// Number of dimensions.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(try_from = "u64")]
#[schemars(title = "2 or 3", extend("enum" = [2, 3]))]
pub(super) enum Dimensions {
    Two,
    #[default]
    Three,
}

impl TryFrom<u64> for Dimensions {
    type Error = String;

    fn try_from(count: u64) -> Result<Self, String> {
        match count {
            2 => Ok(Self::Two),
            3 => Ok(Self::Three),
            other => Err(format!("is {other}")),
        }
    }
}

/// A vector, or in 2D its x and y components.
#[derive(Clone, Copy, Default, Deserialize, JsonSchema, Serialize)]
#[serde(try_from = "Vec<f64>", into = "[f64; 3]")]
#[schemars(title = "[x, y, z], or [x, y] in 2D", extend("minItems" = 2, "maxItems" = 3, "examples" = [[0, 0, 0]]))]
pub(super) struct Vector(pub DVec3);

impl TryFrom<Vec<f64>> for Vector {
    type Error = String;

    fn try_from(components: Vec<f64>) -> Result<Self, String> {
        match components[..] {
            [x, y] => Ok(Self(DVec3::new(x, y, 0.0))),
            [x, y, z] => Ok(Self(DVec3::new(x, y, z))),
            _ => Err(format!("has {} components", components.len())),
        }
    }
}

impl From<Vector> for [f64; 3] {
    fn from(vector: Vector) -> Self {
        vector.0.to_array()
    }
}

/// Name of a material.
#[derive(Deserialize, JsonSchema, Serialize)]
#[serde(transparent)]
pub(super) struct MaterialName(pub String);

impl Default for MaterialName {
    fn default() -> Self {
        Self(scene::DEFAULT_MATERIAL.to_owned())
    }
}

fn steps() -> u64 {
    scene::World::default().steps
}

fn seed() -> u64 {
    scene::World::default().seed
}

fn every_step() -> u32 {
    1
}

fn one() -> f64 {
    1.0
}
