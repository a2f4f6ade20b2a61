//! What every engine is given: the spheres and the world they move in, with every choice made.
//!
//! A [`System`] is the concrete end of a [`Scene`](crate::scene::Scene): random fills are drawn, materials are
//! numbered, bounds are known. Engines read nothing else.

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

/// Whether spheres move in space or in a plane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dimensions {
    /// Discs' motion for spheres: `z` and the `z` velocity stay exactly 0.
    Two,
    /// Space.
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

/// What bounds the world on both sides of one axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Side {
    /// What leaves on one side enters on the other.
    Periodic,
    /// Solid planes at the two ends.
    Wall,
    /// Nothing: spheres move on for ever.
    #[default]
    Open,
}

/// The box of the world. On an open axis `min` and `max` bound nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct Bounds {
    /// Lower corner (length).
    pub min: DVec3,
    /// Upper corner (length), above `min` on every axis that is not open. In 2D `z` is not used.
    pub max: DVec3,
    /// x, y, z. In 2D the third is [`Side::Open`].
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
    /// What messages call it, `x-min` or `walls[0]` for instance.
    pub name: String,
}

/// One sphere as it goes in and comes out, in the units of the scene.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sphere {
    /// Unique, kept in every output; needs no order and may have gaps.
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
    /// Held in place: never moves or turns, whatever its velocity and spin say, and takes any impulse.
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

/// What happens where two surfaces touch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Surface {
    /// Coefficient of restitution, in 0..=1: speed of separation over speed of approach.
    pub restitution: f64,
    /// Coulomb's coefficient of friction, in 0..=1000, sliding and sticking alike. The largest of all pairs bounds how far collisions have to wait for each
    /// other: above about 1 they take more rounds, whatever the others are.
    pub friction: f64,
    /// Coefficient of rolling resistance, >= 0: its torque is up to this times the normal force times the reduced
    /// radius r_i r_j / (r_i + r_j), on a plane the radius. For contacts that last (see [the crate](crate#resting-contact)).
    pub rolling_friction: f64,
    /// The same for spin about the normal.
    pub twisting_friction: f64,
    /// Speed of approach (length/time, >= 0) below which the restitution fades: at v it is restitution * v / threshold.
    pub restitution_threshold: f64,
}

impl Default for Surface {
    /// Elastic and smooth.
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
    /// Names of the fields, in their order.
    pub(crate) const FIELDS: [&'static str; 5] =
        ["restitution", "friction", "rolling_friction", "twisting_friction", "restitution_threshold"];

    /// How two materials meet that say nothing of each other: the smaller restitution, the larger threshold, the
    /// geometric means of what rubs.
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

    /// Whether an impact may turn spheres.
    pub fn rubs(&self) -> bool {
        self.friction > 0.0
    }

    /// Whether a contact keeps all energy.
    pub fn is_elastic(&self) -> bool {
        self.restitution == 1.0 && self.restitution_threshold == 0.0 && !self.rubs()
    }
}

/// Materials, and what happens where two of them touch.
#[derive(Clone, Debug, PartialEq)]
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
    /// No material at all; [`push`](Self::push) the first one before use.
    pub fn empty() -> Self {
        Self { names: vec![], densities: vec![], surfaces: vec![] }
    }

    /// Adds a smooth material; see [`add`](Self::add).
    pub fn push(&mut self, name: &str, restitution: f64, density: f64) -> MaterialIndex {
        self.add(name, Surface { restitution, ..Surface::default() }, density)
    }

    /// Adds a material; with the others it meets as [`Surface::combined`] says.
    ///
    /// `density` (mass/volume) is > 0; it and the surface are checked by [`System::validate`].
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

    /// What happens where two materials touch.
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

    /// All pairs: row by row, `len() * len()` values, symmetric.
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

    /// Index of a name.
    pub fn find(&self, name: &str) -> Option<MaterialIndex> {
        self.names.iter().position(|n| n == name).map(|i| i as MaterialIndex)
    }

    /// Number of materials.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }
}

/// How the engines go about it; none of it changes what is simulated.
#[derive(Clone, Debug, PartialEq)]
pub struct Solver {
    /// Redo a substep as two halves when a collision was found out of order.
    pub strict_order: bool,
    /// Substeps of each step; 0 = chosen from the collision rate and the speeds.
    pub substeps: u32,
    /// Deepest overlap of a start, of the mean diameter; deeper starts are refused, shallower ones relaxed.
    pub max_initial_overlap: f64,
    /// The time t_c of the TC model (time): an impact sooner than this after the last one of either partner
    /// takes no energy: it is elastic and smooth. `None` = 1e-3 of the mean free time, see [`System::contact_time`]. Where contacts may rest, with gravity, there
    /// is none.
    /// (Luding & McNamara, Granular Matter 1, 113, 1998.)
    pub contact_time: Option<f64>,
    /// Whether spheres sleep: where contacts may rest and all that touch each other have been slower than 2e-4 sqrt(g d)
    /// for 10 sqrt(d/g), with the smallest diameter d, they stand still until something moves them. `exact` never does.
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

/// Spheres and the world they move in. Units are the user's, only consistent.
#[derive(Clone, Debug, PartialEq)]
pub struct System {
    /// 2D or 3D.
    pub dimensions: Dimensions,
    /// Acceleration of everything that is not fixed (length/time^2).
    pub gravity: DVec3,
    /// Drag of a medium at rest (1/time), >= 0: an acceleration of -drag * velocity of everything that is not fixed; spins
    /// are left alone. It acts in two halves, before and after each step, by the exact factor: what falls tends to
    /// gravity / drag, less a part of (drag dt)^2 / 24. On `cpu`, where drag * dt is below 1e-7, rounding swallows it.
    pub drag: f64,
    /// Outer step (time), > 0.
    pub dt: f64,
    /// How the engines go about it.
    pub solver: Solver,
    /// The box.
    pub bounds: Bounds,
    /// Surfaces.
    pub materials: Materials,
    /// Solid surfaces besides the walls of the box.
    pub walls: Vec<Wall>,
    /// All spheres, in any order.
    pub spheres: Vec<Sphere>,
    /// Where more come from.
    pub sources: Vec<Source>,
    /// Where they leave.
    pub sinks: Vec<Sink>,
    /// How its periodic box shrinks.
    pub compression: Option<Compression>,
    /// What sources draw from.
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
    /// Whether spheres may come or go in the course of a run.
    pub(crate) fn has_flow(&self) -> bool {
        !(self.sources.is_empty() && self.sinks.is_empty())
    }

    /// Whether contacts may come to rest: there is gravity, and something that takes energy out of impacts.
    pub(crate) fn contacts_may_rest(&self) -> bool {
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

    /// The walls that are solid planes, always there and never moving, in their order.
    pub fn planes(&self) -> Vec<Plane> {
        self.all_walls().iter().filter_map(Wall::as_plane).collect()
    }

    /// Length of the period on an axis, if it is periodic.
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
