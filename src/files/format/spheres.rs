//! Keys of the groups of spheres.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{MaterialName, Vector, one};
use crate::{
    files::schema::{at_most_one, exactly_one},
    scene::Placed,
};

/// Keys of a group of spheres for the positions.
pub(in crate::files) const PLACES: &[&str] = &["random", "lattice", "at", "file", "source"];

/// Keys of a group of spheres for the velocities at the start.
pub(in crate::files) const MOTIONS: &[&str] = &["temperature", "speed_uniform", "velocity"];

/// Keys that give the diameters of random or poured spheres.
pub(in crate::files) const DIAMETERS: &[&str] = &["diameter", "diameters"];

/// A group of spheres: one of `random`, `lattice`, `at`, `file`, `source`, and at most one of `temperature`,
/// `speed_uniform`, `velocity`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("allOf" = [exactly_one(PLACES), at_most_one(MOTIONS)]))]
pub(in crate::files) struct Spheres {
    /// Random places without overlap.
    pub random: Option<Random>,
    /// Places on a lattice.
    pub lattice: Option<Lattice>,
    /// A list of single spheres.
    #[schemars(title = "a list like [{ position = [0, 0, 0], radius = 0.5 }]")]
    pub at: Option<Vec<Sphere>>,
    /// A file of spheres (CSV, extended XYZ, LAMMPS, VTP, NumPy, PLY), relative to the scene. Its last frame is taken.
    pub file: Option<String>,
    /// Spheres that are poured during the run.
    pub source: Option<Source>,
    /// Maxwell's distribution of velocities at this kT (energy), >= 0, without net momentum.
    #[schemars(extend("minimum" = 0))]
    pub temperature: Option<f64>,
    /// One speed (length/time), >= 0, in random directions.
    #[schemars(extend("minimum" = 0))]
    pub speed_uniform: Option<f64>,
    /// One velocity for all (length/time).
    pub velocity: Option<Vector>,
    /// Material of the spheres.
    #[serde(default)]
    pub material: MaterialName,
    /// Hold the spheres in place.
    #[serde(default)]
    pub fixed: bool,
    /// Name of a wall that encloses the group: a box, cylinder, cone, sphere or bowl. Random places are drawn inside it;
    /// lattice places outside it are left out.
    pub inside: Option<String>,
}

/// Spheres at random places without overlap. Volume fractions reach 0.50 (2D: 0.70).
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("allOf" = [at_most_one(DIAMETERS)], "anyOf" = [{"required": ["count"]}, {"required": ["volume_fraction"]}]))]
pub(in crate::files) struct Random {
    /// Number of spheres. Default: from the volume fraction.
    pub count: Option<u64>,
    /// Volume of the spheres over the volume of the region (2D: areas), > 0. Default: from the count.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub volume_fraction: Option<f64>,
    /// Diameter of all spheres (length), > 0. Default: 1.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub diameter: Option<f64>,
    /// Several diameters, each with its share of the number of spheres. The shares add up to 1.
    #[schemars(title = "a list of [diameter, share], as in [[1.0, 0.5], [0.5, 0.5]]")]
    pub diameters: Option<Vec<Share>>,
    /// Lower corner of the region (length), given together with `max`. Default: that of the box.
    pub min: Option<Vector>,
    /// Upper corner of the region (length), given together with `min`. Default: that of the box.
    #[schemars(extend("examples" = [[10, 10, 10]]))]
    pub max: Option<Vector>,
}

/// A diameter (length), > 0, and its share of the number of spheres, 0 to 1.
#[derive(Deserialize, JsonSchema)]
#[schemars(title = "[diameter, share]")]
pub(in crate::files) struct Share(pub f64, pub f64);

/// Spheres on a lattice.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::files) struct Lattice {
    /// Unit cell of the lattice.
    #[serde(default)]
    pub kind: LatticeKind,
    /// Unit cells along each axis.
    #[schemars(extend("examples" = [[10, 10, 10]]))]
    pub count: Cells,
    /// Distance between the centres of nearest neighbours (length), > 0.
    #[schemars(extend("exclusiveMinimum" = 0, "examples" = [1.1]))]
    pub spacing: f64,
    /// Centre of the first sphere (length).
    #[serde(default)]
    pub origin: Vector,
    /// Diameter of the spheres (length), > 0.
    #[serde(default = "one")]
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub diameter: f64,
}

/// Unit cell of a lattice.
#[derive(Default, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub(in crate::files) enum LatticeKind {
    /// Simple cubic, in 2D square: one sphere in each cell.
    #[default]
    Cubic,
    /// Face-centred cubic: four spheres in each cell. 3D only.
    Fcc,
    /// Triangular: rows along x, every other one shifted by half a spacing. 2D only.
    Triangular,
}

/// One sphere.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::files) struct Sphere {
    /// Id, unique in the scene. Default: numbered on after the largest id given.
    pub id: Option<u32>,
    /// Centre (length).
    pub position: Vector,
    /// Velocity (length/time). A velocity, speed or temperature of the group replaces it.
    #[serde(default)]
    pub velocity: Vector,
    /// Angular velocity (radian/time).
    #[serde(default)]
    pub spin: Vector,
    /// Radius (length), > 0.
    #[serde(default = "radius")]
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub radius: f64,
    /// Mass, > 0. Default: from the density of the material.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub mass: Option<f64>,
    /// Material. Default: that of the group.
    pub material: Option<String>,
    /// Hold the sphere in place.
    #[serde(default)]
    pub fixed: bool,
}

/// Spheres that are poured into a box during the run, each at a random free place. The `velocity` of the group is their
/// mean velocity.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("allOf" = [at_most_one(DIAMETERS)]))]
pub(in crate::files) struct Source {
    /// Lower corner of the box (length).
    #[schemars(extend("examples" = [[0, 0, 9]]))]
    pub min: Vector,
    /// Upper corner of the box (length).
    #[schemars(extend("examples" = [[10, 10, 10]]))]
    pub max: Vector,
    /// Spheres per time, > 0.
    #[schemars(extend("exclusiveMinimum" = 0, "examples" = [1000]))]
    pub rate: f64,
    /// Diameter of all spheres (length), > 0. Default: 1.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub diameter: Option<f64>,
    /// Several diameters, each with its share of the number of spheres. The shares add up to 1.
    #[schemars(title = "a list of [diameter, share], as in [[1.0, 0.5], [0.5, 0.5]]")]
    pub diameters: Option<Vec<Share>>,
    /// Largest number of spheres in all. Default: no limit.
    pub count: Option<u64>,
    /// Time at which the source starts.
    #[serde(default)]
    pub from: f64,
    /// Time at which the source stops. Default: never.
    pub until: Option<f64>,
    /// Standard deviation of each velocity component (length/time), >= 0.
    #[serde(default)]
    #[schemars(extend("minimum" = 0))]
    pub spread: f64,
    /// Name in messages. Default: the place in the list, as `spheres[0]`.
    pub name: Option<String>,
}

/// Unit cells along x, y and z, in 2D along x and y.
#[derive(Deserialize, JsonSchema)]
#[serde(try_from = "Vec<u64>")]
#[schemars(title = "[nx, ny, nz], or [nx, ny] in 2D", extend("minItems" = 2, "maxItems" = 3))]
pub(in crate::files) struct Cells(pub [u64; 3]);

impl TryFrom<Vec<u64>> for Cells {
    type Error = &'static str;

    fn try_from(count: Vec<u64>) -> Result<Self, &'static str> {
        match count[..] {
            [x, y] => Ok(Self([x, y, 1])),
            [x, y, z] => Ok(Self([x, y, z])),
            _ => Err("is an array"),
        }
    }
}

fn radius() -> f64 {
    Placed::default().radius
}
