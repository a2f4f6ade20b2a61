//! The input of every engine: spheres, walls, materials, and all parameters of the world.
//!
//! A [`System`] is the concrete form of a [`Scene`](crate::scene::Scene): the positions of random fills are drawn,
//! materials are numbered, and bounds are known. A `System` is the only input of an engine.

pub(crate) mod box_tree;
pub(crate) mod compression;
pub(crate) mod flow;
pub(crate) mod grid;
pub(crate) mod limits;
pub(crate) mod mesh;
pub(crate) mod region;
pub(crate) mod space;
pub(crate) mod validate;
pub(crate) mod validation_error;
pub(crate) mod wall;

use glam::DVec3;

use crate::{Compression, Sink, Source, Wall, WallShape};

/// Index of a material in [`Materials`].
pub type MaterialIndex = u16;

/// Number of dimensions in which spheres move.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "files", derive(serde::Deserialize, serde::Serialize))]
pub enum Dimensions {
    /// Spheres move in the plane z = 0: `z` and the `z` velocity stay exactly 0.
    Two,
    /// Spheres move in space.
    #[default]
    Three,
}

impl Dimensions {
    /// 2 or 3.
    pub fn count(self) -> usize {
        match self {
            Self::Two => 2,
            Self::Three => 3,
        }
    }
}

/// Boundary of the world at both ends of an axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "files", derive(serde::Deserialize, serde::Serialize))]
pub enum Side {
    /// A sphere that leaves at one end enters at the other.
    Periodic,
    /// Solid planes at the two ends.
    Wall,
    /// No boundary.
    #[default]
    Open,
}

/// The box of the world. `min` and `max` are ignored on an open axis.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "files", derive(serde::Deserialize, serde::Serialize))]
pub struct Bounds {
    /// Lower corner (length).
    pub min: DVec3,
    /// Upper corner (length), above `min` on every axis that is not open. In 2D `z` is not used.
    pub max: DVec3,
    /// Boundaries along x, y and z. In 2D the third is [`Side::Open`].
    pub sides: [Side; 3],
    /// Material of the walls.
    pub material: MaterialIndex,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { min: DVec3::ZERO, max: DVec3::ZERO, sides: [Side::Open; 3], material: 0 }
    }
}

/// A solid half space: spheres stay where `(x - point) . normal >= radius`.
#[derive(Clone, Debug, PartialEq)]
pub struct Plane {
    /// A point on the plane (length).
    pub point: DVec3,
    /// Unit vector, from the solid to the free side.
    pub normal: DVec3,
    /// Material of the surface.
    pub material: MaterialIndex,
    /// Name in messages, for example `x-min` or `walls[0]`.
    pub name: String,
}

/// One sphere, as input and output, in the user's units.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "files", derive(serde::Deserialize, serde::Serialize))]
pub struct Sphere {
    /// Unique id, kept in every output. Ids need no order and may have gaps.
    pub id: u32,
    /// Centre (length).
    pub position: DVec3,
    /// Velocity (length/time).
    pub velocity: DVec3,
    /// Angular velocity (radian/time).
    pub spin: DVec3,
    /// Radius (length), finite and > 0.
    pub radius: f64,
    /// Mass, finite and > 0 (also when fixed).
    pub mass: f64,
    /// Material of the surface.
    pub material: MaterialIndex,
    /// Held in place: the sphere never moves or turns, ignores its velocity and spin, and takes any impulse.
    pub fixed: bool,
}

impl Default for Sphere {
    /// Diameter 1, mass 1, at rest at the origin.
    fn default() -> Self {
        Self {
            id: 0,
            position: DVec3::ZERO,
            velocity: DVec3::ZERO,
            spin: DVec3::ZERO,
            radius: 0.5,
            mass: 1.0,
            material: 0,
            fixed: false,
        }
    }
}

impl Sphere {
    /// 1/mass, or 0 for a fixed sphere.
    pub fn inverse_mass(&self) -> f64 {
        if self.fixed { 0.0 } else { 1.0 / self.mass }
    }
}

/// Contact properties of two surfaces.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "files", derive(serde::Deserialize, serde::Serialize))]
pub struct Surface {
    /// Coefficient of restitution, in 0..=1: speed of separation over speed of approach.
    pub restitution: f64,
    /// Coulomb friction coefficient, in 0..=1000, for sliding and sticking. The largest coefficient of all pairs bounds how
    /// far collisions have to wait for each other: above about 1, every collision in the system takes more rounds.
    pub friction: f64,
    /// Rolling resistance coefficient, >= 0: the torque is up to this times the normal force times the reduced radius
    /// r_i r_j / (r_i + r_j), on a plane the radius. Acts in resting contacts (see [the crate](crate#physics)).
    pub rolling_friction: f64,
    /// Twisting resistance coefficient, >= 0: as `rolling_friction`, for the spin about the normal.
    pub twisting_friction: f64,
    /// Speed of approach (length/time, >= 0) below which the restitution fades linearly: at speed v, restitution * v /
    /// threshold.
    pub restitution_threshold: f64,
}

impl Default for Surface {
    /// Elastic, without friction.
    fn default() -> Self {
        Self {
            restitution: 1.0,
            friction: 0.0,
            rolling_friction: 0.0,
            twisting_friction: 0.0,
            restitution_threshold: 0.0,
        }
    }
}

impl Surface {
    /// Names of the fields, in order.
    pub(crate) const FIELDS: [&'static str; 5] =
        ["restitution", "friction", "rolling_friction", "twisting_friction", "restitution_threshold"];

    /// The default surface of a pair of materials: the smaller restitution, the larger threshold, and the geometric
    /// means of the friction coefficients.
    pub fn combined(&self, other: &Self) -> Self {
        let mean = |a: f64, b: f64| if a == b { a } else { (a * b).sqrt() };
        Self {
            restitution: self.restitution.min(other.restitution),
            friction: mean(self.friction, other.friction),
            rolling_friction: mean(self.rolling_friction, other.rolling_friction),
            twisting_friction: mean(self.twisting_friction, other.twisting_friction),
            restitution_threshold: self.restitution_threshold.max(other.restitution_threshold),
        }
    }

    /// Whether an impact may change the spins of spheres.
    pub fn rubs(&self) -> bool {
        self.friction > 0.0
    }

    /// Whether every impact conserves energy.
    pub fn is_elastic(&self) -> bool {
        self.restitution == 1.0 && self.restitution_threshold == 0.0 && !self.rubs()
    }
}

/// Materials, and the surface of each pair of materials.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "files", derive(serde::Deserialize, serde::Serialize))]
pub struct Materials {
    names: Vec<String>,
    densities: Vec<f64>,
    surfaces: Vec<Surface>,
}

impl Default for Materials {
    /// One material, `default`: elastic and smooth, mass 1 at diameter 1.
    fn default() -> Self {
        let mut materials = Self::empty();
        materials.push("default", 1.0, 6.0 / std::f64::consts::PI);
        materials
    }
}

impl Materials {
    /// No materials; [`push`](Self::push) the first one before use.
    pub fn empty() -> Self {
        Self { names: vec![], densities: vec![], surfaces: vec![] }
    }

    /// Adds a frictionless material; see [`add`](Self::add).
    pub fn push(&mut self, name: &str, restitution: f64, density: f64) -> MaterialIndex {
        self.add(name, Surface { restitution, ..Surface::default() }, density)
    }

    /// Adds a material. Its surfaces with the other materials follow from [`Surface::combined`].
    ///
    /// `density` (mass/volume) is > 0; [`System::validate`] checks the density and the surface.
    pub fn add(&mut self, name: &str, surface: Surface, density: f64) -> MaterialIndex {
        let old = self.names.len();
        let mut table = Vec::with_capacity((old + 1) * (old + 1));
        for i in 0..=old {
            for j in 0..=old {
                table.push(match (i == old, j == old) {
                    (false, false) => self.surfaces[i * old + j],
                    (true, true) => surface,
                    (true, false) => surface.combined(&self.surfaces[j * old + j]),
                    (false, true) => surface.combined(&self.surfaces[i * old + i]),
                });
            }
        }
        self.names.push(name.to_owned());
        self.densities.push(density);
        self.surfaces = table;
        old as MaterialIndex
    }

    /// Whether every material has a name, a density, and a surface with each other.
    #[cfg(feature = "files")]
    pub(crate) fn is_whole(&self) -> bool {
        let count = self.names.len();
        self.densities.len() == count && self.surfaces.len() == count * count
    }

    /// Contact properties of two materials.
    ///
    /// # Panics
    /// If an index is out of range.
    pub fn surface(&self, a: MaterialIndex, b: MaterialIndex) -> &Surface {
        &self.surfaces[self.place(a, b)]
    }

    /// Overrides the combination rule for one pair.
    ///
    /// # Panics
    /// If an index is out of range.
    pub fn set_surface(&mut self, a: MaterialIndex, b: MaterialIndex, surface: Surface) {
        for place in [self.place(a, b), self.place(b, a)] {
            self.surfaces[place] = surface;
        }
    }

    fn place(&self, a: MaterialIndex, b: MaterialIndex) -> usize {
        let (a, b, count) = (usize::from(a), usize::from(b), self.names.len());
        assert!(a < count && b < count, "materials {a} and {b} of {count}");
        a * count + b
    }

    /// Overrides the restitution of one pair.
    ///
    /// # Panics
    /// If an index is out of range.
    pub fn set_restitution(&mut self, a: MaterialIndex, b: MaterialIndex, restitution: f64) {
        self.set_surface(a, b, Surface { restitution, ..*self.surface(a, b) });
    }

    /// Restitution of an impact between two materials.
    ///
    /// # Panics
    /// If an index is out of range.
    pub fn restitution(&self, a: MaterialIndex, b: MaterialIndex) -> f64 {
        self.surface(a, b).restitution
    }

    /// The surfaces of all pairs: a symmetric matrix in row order, `len() * len()` values.
    pub fn surfaces(&self) -> &[Surface] {
        &self.surfaces
    }

    /// Density (mass/volume).
    ///
    /// # Panics
    /// If the index is out of range.
    pub fn density(&self, index: MaterialIndex) -> f64 {
        self.densities[index as usize]
    }

    /// Name of a material.
    ///
    /// # Panics
    /// If the index is out of range.
    pub fn name(&self, index: MaterialIndex) -> &str {
        &self.names[index as usize]
    }

    /// Index of the material with this name.
    pub fn find(&self, name: &str) -> Option<MaterialIndex> {
        self.names.iter().position(|n| n == name).map(|i| i as MaterialIndex)
    }

    /// Number of materials.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there are no materials.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }
}

/// Parameters of the engines. They do not change the simulated physics.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "files", derive(serde::Deserialize, serde::Serialize))]
pub struct Solver {
    /// Redo a substep as two halves if a collision was found out of order and applying the collisions one by one does not help. Slow
    /// ones become resting contacts instead, under gravity and with a restitution below 1.
    pub strict_order: bool,
    /// Substeps of each step; 0 = chosen from the collision rate and the speeds.
    pub substeps: u32,
    /// Deepest overlap accepted at the start, in mean diameters of the pair; deeper overlap is refused, shallower overlap
    /// relaxed.
    pub max_initial_overlap: f64,
    /// The contact time t_c of the TC model (time): an impact sooner than t_c after the last impact of either partner is
    /// elastic and frictionless. `None` = 1e-3 of the mean free time, see [`System::contact_time`]. The model is off if
    /// contacts may rest under gravity. (Luding & McNamara, Granular Matter 1, 113, 1998.)
    pub contact_time: Option<f64>,
    /// Whether spheres may sleep: if contacts may rest, supported spheres that have been slower than 2e-4 sqrt(g d) for
    /// 10 sqrt(d/g), with the smallest diameter d, and are not beside a moving sphere, stand still until disturbed.
    /// Ignored by `exact`.
    pub sleeping: bool,
}

impl Default for Solver {
    fn default() -> Self {
        Self {
            strict_order: false,
            substeps: 0,
            max_initial_overlap: 0.01,
            contact_time: None,
            sleeping: true,
        }
    }
}

/// Spheres and the world in which they move, in any consistent units.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "files", derive(serde::Deserialize, serde::Serialize))]
pub struct System {
    /// 2D or 3D.
    pub dimensions: Dimensions,
    /// Acceleration of every sphere that is not fixed (length/time^2).
    pub gravity: DVec3,
    /// Drag of a medium at rest (1/time), >= 0: an acceleration of -drag * velocity for every sphere that is not fixed;
    /// spins are not damped. It acts by its exact factor in two halves, before and after each step. The terminal velocity is
    /// gravity / drag, with a relative error of (drag dt)^2 / 24. On `cpu`, rounding cancels the drag if drag * dt is below
    /// 1e-7.
    pub drag: f64,
    /// Outer step (time), > 0.
    pub dt: f64,
    /// Parameters of the engines.
    pub solver: Solver,
    /// The box of the world.
    pub bounds: Bounds,
    /// Materials and their surfaces.
    pub materials: Materials,
    /// Solid surfaces besides the walls of the box.
    pub walls: Vec<Wall>,
    /// All spheres, in any order.
    pub spheres: Vec<Sphere>,
    /// Sources, which add spheres.
    pub sources: Vec<Source>,
    /// Sinks, which remove spheres.
    pub sinks: Vec<Sink>,
    /// Compression of the periodic box.
    pub compression: Option<Compression>,
    /// Seed of the random numbers of sources.
    pub seed: u64,
}

impl Default for System {
    /// An empty, unbounded world without gravity, dt = 1/60, seed 1.
    fn default() -> Self {
        Self {
            dimensions: Dimensions::Three,
            gravity: DVec3::ZERO,
            drag: 0.0,
            dt: 1.0 / 60.0,
            solver: Solver::default(),
            bounds: Bounds::default(),
            materials: Materials::default(),
            walls: vec![],
            spheres: vec![],
            sources: vec![],
            sinks: vec![],
            compression: None,
            seed: 1,
        }
    }
}

impl System {
    /// Whether spheres may come or go during a run.
    pub(crate) fn has_flow(&self) -> bool {
        !(self.sources.is_empty() && self.sinks.is_empty())
    }

    /// Whether contacts may come to rest: there is gravity, and some restitution is below 1.
    pub fn contacts_may_rest(&self) -> bool {
        self.gravity != DVec3::ZERO && self.materials.surfaces().iter().any(|s| s.restitution < 1.0)
    }

    /// Every wall: first those of the box (x-min, x-max, y-min, ... where the side is a wall), then
    /// [`walls`](Self::walls). Impacts, contacts and reports number walls in this order.
    pub fn all_walls(&self) -> Vec<Wall> {
        let mut walls = Vec::new();
        for axis in 0..self.dimensions.count() {
            if self.bounds.sides[axis] == Side::Wall {
                let letter = ["x", "y", "z"][axis];
                let unit = DVec3::AXES[axis];
                for (point, normal, end) in [(self.bounds.min, unit, "min"), (self.bounds.max, -unit, "max")]
                {
                    let shape = WallShape::Plane { point, normal };
                    walls.push(Wall::new(shape, self.bounds.material, &format!("{letter}-{end}")));
                }
            }
        }
        walls.extend(self.walls.iter().cloned());
        walls
    }

    /// The walls that are solid planes, always present and at rest, in order.
    pub fn planes(&self) -> Vec<Plane> {
        self.all_walls().iter().filter_map(Wall::as_plane).collect()
    }

    /// Length of the period on an axis; `None` if the axis is not periodic.
    pub fn period(&self, axis: usize) -> Option<f64> {
        (axis < self.dimensions.count() && self.bounds.sides[axis] == Side::Periodic)
            .then(|| self.bounds.max[axis] - self.bounds.min[axis])
    }

    /// The shortest vector from `b` to `a` among the periodic images.
    pub fn separation(&self, a: DVec3, b: DVec3) -> DVec3 {
        let mut d = a - b;
        for axis in 0..3 {
            if let Some(period) = self.period(axis) {
                d[axis] -= period * (d[axis] / period).round();
            }
        }
        d
    }
}
