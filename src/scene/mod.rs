//! Scenes: short descriptions of a simulation. [`Scene::build`] turns a [`Scene`] into a [`System`](crate::System).
//!
//! All random numbers derive from [`World::seed`], by arithmetic that gives the same bits on every platform. A scene
//! therefore gives the same spheres everywhere, bit for bit.
//!
//! ```
//! use carom::scene::{Fill, Scene};
//!
//! let system = Scene::new(1.0 / 60.0)
//!     .periodic()
//!     .fill(Fill::random(1000).volume_fraction(0.2).temperature(3.0))
//!     .build()?;
//! assert_eq!(system.spheres.len(), 1000);
//! // The box was left out: the volume fraction decides it.
//! let volume = 1000.0 * std::f64::consts::PI / 6.0 / 0.2;
//! assert!((system.bounds.max.x - volume.cbrt()).abs() < 1e-9);
//! # Ok::<(), carom::Error>(())
//! ```

mod build;
pub(crate) mod check;
mod crowd;
mod fill;
mod lattice;
mod motion;
mod note;
#[cfg(feature = "files")]
pub(crate) mod origin;
mod pack;
pub(crate) mod portable;
pub(crate) mod push;
mod relax;
mod resize;
pub(crate) mod rng;
pub(crate) mod scatter;
mod source;

pub use build::MAX_SPHERES;
pub use fill::{Fill, Lattice, LatticeKind, Motion, Placed, Random, Shape};
pub use note::Note;
pub use source::Source;

use glam::DVec3;

use crate::{Compression, Dimensions, Side, Sink, Solver, Surface, WallMotion, WallShape};

/// Name of the default material.
pub const DEFAULT_MATERIAL: &str = "default";

/// Description of a simulation.
///
/// The methods that take and return `self` are for writing a scene in one expression; every field may also be
/// set directly.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scene {
    /// Dimensions, gravity, step, seed, drag.
    pub world: World,
    /// Parameters of the engines.
    pub solver: Solver,
    /// The box of the world.
    pub bounds: Walls,
    /// Materials. `default` exists without an entry: elastic, without friction, mass 1 at diameter 1.
    pub materials: Vec<Material>,
    /// Surface properties of particular pairs of materials, which replace [`Surface::combined`].
    pub pairs: Vec<Pair>,
    /// The spheres, group by group.
    pub fills: Vec<Fill>,
    /// Solid surfaces besides the walls of the box.
    pub walls: Vec<Wall>,
    /// Sinks, which remove spheres.
    pub sinks: Vec<Sink>,
    /// Compression of the periodic box.
    pub compression: Option<Compression>,
    /// Camera and colours.
    pub view: View,
    #[cfg(feature = "files")]
    pub(crate) origin: origin::Origin,
}

/// Dimensions, gravity, step, seed, drag.
#[derive(Clone, Debug, PartialEq)]
pub struct World {
    /// 2D or 3D.
    pub dimensions: Dimensions,
    /// Acceleration (length/time^2); up is z, in 2D y.
    pub gravity: DVec3,
    /// Outer step (time), > 0.
    pub dt: f64,
    /// Default length of a run, in steps.
    pub steps: u64,
    /// Seed of all random numbers.
    pub seed: u64,
    /// Drag of a medium at rest (1/time), >= 0: see [`System::drag`](crate::System::drag).
    pub drag: f64,
}

impl Default for World {
    /// 3D, no gravity, dt = 1/60, 600 steps, seed 1, no drag.
    fn default() -> Self {
        Self {
            dimensions: Dimensions::Three,
            gravity: DVec3::ZERO,
            dt: 1.0 / 60.0,
            steps: 600,
            seed: 1,
            drag: 0.0,
        }
    }
}

/// The box of a scene.
#[derive(Clone, Debug, PartialEq)]
pub struct Walls {
    /// Lower corner (length). Default: the origin.
    pub min: Option<DVec3>,
    /// Upper corner (length). Default: a cube (2D: a square) whose size follows from the volume fraction of the first
    /// random fill.
    pub max: Option<DVec3>,
    /// Boundaries along x, y and z; z is ignored in 2D.
    pub sides: [Side; 3],
    /// Material of the walls, by name.
    pub material: String,
}

impl Default for Walls {
    fn default() -> Self {
        Self { min: None, max: None, sides: [Side::Open; 3], material: DEFAULT_MATERIAL.into() }
    }
}

/// A material of spheres and walls.
#[derive(Clone, Debug, PartialEq)]
pub struct Material {
    /// Name of the material.
    pub name: String,
    /// Surface properties in contact with the same material; pairs follow from [`Surface::combined`].
    pub surface: Surface,
    /// Mass/volume, > 0.
    pub density: f64,
}

impl Default for Material {
    /// `default`: elastic, without friction, mass 1 at diameter 1.
    fn default() -> Self {
        Self {
            name: DEFAULT_MATERIAL.into(),
            surface: Surface::default(),
            density: crate::Materials::default().density(0),
        }
    }
}

/// Surface properties of one pair of materials that replace those of [`Surface::combined`]; at least one is given.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pair {
    /// Names of the two materials.
    pub between: [String; 2],
    /// [`Surface::restitution`].
    pub restitution: Option<f64>,
    /// [`Surface::friction`].
    pub friction: Option<f64>,
    /// [`Surface::rolling_friction`].
    pub rolling_friction: Option<f64>,
    /// [`Surface::twisting_friction`].
    pub twisting_friction: Option<f64>,
    /// [`Surface::restitution_threshold`].
    pub restitution_threshold: Option<f64>,
}

impl Pair {
    /// The surface of the pair, from the combined surface.
    pub fn apply(&self, combined: &Surface) -> Surface {
        Surface {
            restitution: self.restitution.unwrap_or(combined.restitution),
            friction: self.friction.unwrap_or(combined.friction),
            rolling_friction: self.rolling_friction.unwrap_or(combined.rolling_friction),
            twisting_friction: self.twisting_friction.unwrap_or(combined.twisting_friction),
            restitution_threshold: self.restitution_threshold.unwrap_or(combined.restitution_threshold),
        }
    }
}

/// A solid surface; see [`crate::Wall`].
#[derive(Clone, Debug, PartialEq)]
pub struct Wall {
    /// Shape and position at time 0; the normal of a plane may have any length except 0.
    pub shape: WallShape,
    /// Motion of the wall.
    pub motion: WallMotion,
    /// Times at which the wall appears and disappears.
    pub span: [f64; 2],
    /// Material of the surface, by name.
    pub material: String,
    /// Name in reports. Default: the place in the list, for example `walls[0]`.
    pub name: Option<String>,
}

impl Wall {
    /// A permanent wall at rest.
    pub fn new(shape: WallShape, material: &str) -> Self {
        Self {
            shape,
            motion: WallMotion::default(),
            span: [f64::NEG_INFINITY, f64::INFINITY],
            material: material.into(),
            name: None,
        }
    }

    /// Sets the name.
    pub fn named(mut self, name: &str) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sets the motion.
    pub fn moving(mut self, motion: WallMotion) -> Self {
        self.motion = motion;
        self
    }

    /// Sets the times at which the wall appears and disappears.
    pub fn there(mut self, from: f64, until: f64) -> Self {
        self.span = [from, until];
        self
    }
}

/// Camera and colours of a scene. They do not change the simulation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct View {
    /// Position of the camera (length).
    pub eye: Option<DVec3>,
    /// Point that the camera looks at (length).
    pub target: Option<DVec3>,
    /// Vertical field of view (degree).
    pub fov: Option<f64>,
    /// Quantity shown by colour.
    pub color: Option<String>,
}

impl Scene {
    /// An empty, unbounded 3D scene with steps of `dt` (time).
    pub fn new(dt: f64) -> Self {
        Self { world: World { dt, ..World::default() }, ..Self::default() }
    }

    /// Makes the scene 2D, in the plane z = 0.
    pub fn flat(mut self) -> Self {
        self.world.dimensions = Dimensions::Two;
        self
    }

    /// Sets the acceleration of all spheres that are not fixed (length/time^2).
    pub fn gravity(mut self, gravity: impl Into<DVec3>) -> Self {
        self.world.gravity = gravity.into();
        self
    }

    /// Sets the default length of a run (steps).
    pub fn steps(mut self, steps: u64) -> Self {
        self.world.steps = steps;
        self
    }

    /// Sets the seed of all random numbers.
    pub fn seed(mut self, seed: u64) -> Self {
        self.world.seed = seed;
        self
    }

    /// Sets the parameters of the engines.
    pub fn solver(mut self, solver: Solver) -> Self {
        self.solver = solver;
        self
    }

    /// Sets the corners of the box (length).
    pub fn bounds(mut self, min: impl Into<DVec3>, max: impl Into<DVec3>) -> Self {
        self.bounds.min = Some(min.into());
        self.bounds.max = Some(max.into());
        self
    }

    /// Makes every axis periodic.
    pub fn periodic(self) -> Self {
        self.sides([Side::Periodic; 3])
    }

    /// Puts walls on every side.
    pub fn walled(self) -> Self {
        self.sides([Side::Wall; 3])
    }

    /// Sets the boundaries along x, y and z; the third is ignored in 2D.
    pub fn sides(mut self, sides: [Side; 3]) -> Self {
        self.bounds.sides = sides;
        self
    }

    /// Sets the material of the walls of the box.
    pub fn wall_material(mut self, name: &str) -> Self {
        self.bounds.material = name.into();
        self
    }

    /// Adds a frictionless material: restitution 0..=1, density (mass/volume) > 0. The name `default` changes the default
    /// material.
    pub fn material(self, name: &str, restitution: f64, density: f64) -> Self {
        self.surface(name, Surface { restitution, ..Surface::default() }, density)
    }

    /// Adds a material with any surface properties; density (mass/volume) > 0.
    ///
    /// ```
    /// use carom::{Surface, scene::Scene};
    ///
    /// let glass = Surface { restitution: 0.97, friction: 0.09, ..Surface::default() };
    /// let system = Scene::new(0.01).surface("glass", glass, 2500.0).build()?;
    /// let index = system.materials.find("glass").unwrap();
    /// assert_eq!(system.materials.surface(index, index).friction, 0.09);
    /// # Ok::<(), carom::Error>(())
    /// ```
    pub fn surface(mut self, name: &str, surface: Surface, density: f64) -> Self {
        self.materials.push(Material { name: name.into(), surface, density });
        self
    }

    /// Sets the restitution between two materials; their other properties follow from [`Surface::combined`].
    pub fn pair(mut self, a: &str, b: &str, restitution: f64) -> Self {
        let between = [a.into(), b.into()];
        self.pairs.push(Pair { between, restitution: Some(restitution), ..Pair::default() });
        self
    }

    /// Sets all surface properties between two materials.
    pub fn pair_surface(mut self, a: &str, b: &str, surface: Surface) -> Self {
        self.pairs.push(Pair {
            between: [a.into(), b.into()],
            restitution: Some(surface.restitution),
            friction: Some(surface.friction),
            rolling_friction: Some(surface.rolling_friction),
            twisting_friction: Some(surface.twisting_friction),
            restitution_threshold: Some(surface.restitution_threshold),
        });
        self
    }

    /// Adds a group of spheres.
    pub fn fill(mut self, fill: impl Into<Fill>) -> Self {
        self.fills.push(fill.into());
        self
    }

    /// Adds a solid half space: a point on its surface (length), and the direction from the solid to the free side.
    pub fn wall(self, point: impl Into<DVec3>, normal: impl Into<DVec3>, material: &str) -> Self {
        let (point, normal) = (point.into(), normal.into());
        self.surface_wall(Wall::new(WallShape::Plane { point, normal }, material))
    }

    /// Adds a wall of any shape.
    ///
    /// ```
    /// use carom::{Rotation, WallMotion, WallShape, scene::{Scene, Wall}};
    /// use glam::DVec3;
    ///
    /// // A drum that turns about its axis once in two units of time.
    /// let drum = WallShape::Cone { from: DVec3::ZERO, to: DVec3::Y, radii: [10.0; 2], closed: [true; 2] };
    /// let rotation = Rotation { point: DVec3::ZERO, axis: DVec3::Y, speed: std::f64::consts::PI };
    /// let motion = WallMotion { rotation: Some(rotation), ..WallMotion::default() };
    /// let scene = Scene::new(0.01).surface_wall(Wall::new(drum, "default").moving(motion).named("drum"));
    /// assert_eq!(scene.build()?.all_walls()[0].name, "drum");
    /// # Ok::<(), carom::Error>(())
    /// ```
    pub fn surface_wall(mut self, wall: Wall) -> Self {
        self.walls.push(wall);
        self
    }
}
