//! Groups of spheres: where they are, how they move, what they are made of.

use glam::DVec3;

use super::{DEFAULT_MATERIAL, Source};

/// A group of spheres.
#[derive(Clone, Debug, PartialEq)]
pub struct Fill {
    /// Where the spheres are.
    pub shape: Shape,
    /// How they move at the start.
    pub motion: Motion,
    /// Material by name; what [`Placed::material`] does not override.
    pub material: String,
    /// Whether all of them are held in place.
    pub fixed: bool,
    /// Name of a wall that is a vessel (a box, a cylinder, a cone, a sphere or a bowl): a random fill draws places inside it alone, as if
    /// its ends were closed, up to 0.30 of the region; of a lattice the spheres outside are left out.
    pub inside: Option<String>,
}

/// Where the spheres of a group are.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// At random, without overlap.
    Random(Random),
    /// On a lattice.
    Lattice(Lattice),
    /// One by one.
    At(Vec<Placed>),
    /// None at the start: poured in the course of the run.
    Source(Source),
}

/// Spheres at random places, without overlap among themselves, with other groups or with walls.
///
/// Up to a volume fraction of 0.30 (2D: area fraction 0.45) they are added one by one, the largest first, each at
/// a uniformly drawn place that is free. Up to 0.50 (2D: 0.70) they are added at a smaller size, grown while
/// overlapping neighbours push each other apart, and then shaken by hard-sphere Monte Carlo moves, so that they
/// are as disordered as a fluid. More is refused.
///
/// Of count, fraction and box one may be left out; where all are given, they must agree within 1%.
#[derive(Clone, Debug, PartialEq)]
pub struct Random {
    /// Number of spheres.
    pub count: Option<u64>,
    /// Volume of the spheres over the volume of the region, in 2D area over area.
    pub volume_fraction: Option<f64>,
    /// Diameter (length) and share of the spheres' number; the shares add up to 1.
    pub diameters: Vec<(f64, f64)>,
    /// Lower and upper corner of the region to fill; `None` = the box. On a periodic axis that it spans, spheres
    /// reach across the boundary; elsewhere they lie inside completely.
    pub region: Option<(DVec3, DVec3)>,
}

/// How a lattice repeats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LatticeKind {
    /// Rows along x, y and z; in 2D the square lattice.
    #[default]
    Cubic,
    /// Face-centred cubic, four spheres to a cell. 3D only.
    Fcc,
    /// Rows along x, every other one shifted by half. 2D only.
    Triangular,
}

/// Spheres on a lattice.
#[derive(Clone, Debug, PartialEq)]
pub struct Lattice {
    /// How it repeats.
    pub kind: LatticeKind,
    /// Cells along x, y and z. A cell of `Cubic` and `Triangular` holds one sphere, one of `Fcc` four. In 2D the
    /// third is 1.
    pub count: [u64; 3],
    /// Distance between nearest centres (length).
    pub spacing: f64,
    /// Centre of the first sphere (length).
    pub origin: DVec3,
    /// Diameter of the spheres (length).
    pub diameter: f64,
}

/// One sphere of [`Shape::At`].
#[derive(Clone, Debug, PartialEq)]
pub struct Placed {
    /// `None`: numbered on after the largest id given.
    pub id: Option<u32>,
    /// Centre (length).
    pub position: DVec3,
    /// Velocity (length/time). A group's [`Motion`] other than [`Motion::Kept`] replaces it.
    pub velocity: DVec3,
    /// Angular velocity (radian/time).
    pub spin: DVec3,
    /// Radius (length), > 0.
    pub radius: f64,
    /// Mass, > 0; `None`: from the density of the material.
    pub mass: Option<f64>,
    /// Material by name; `None`: the group's.
    pub material: Option<String>,
    /// Held in place.
    pub fixed: bool,
}

impl Default for Placed {
    /// Diameter 1, at rest at the origin.
    fn default() -> Self {
        Self {
            id: None,
            position: DVec3::ZERO,
            velocity: DVec3::ZERO,
            spin: DVec3::ZERO,
            radius: 0.5,
            mass: None,
            material: None,
            fixed: false,
        }
    }
}

/// How the spheres of a group move at the start. Fixed spheres do not move.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Motion {
    /// As [`Placed::velocity`] says; at rest in the other shapes.
    #[default]
    Kept,
    /// All with one velocity (length/time).
    Velocity(DVec3),
    /// Maxwell's distribution at kT (energy): each component is normal with variance kT/mass. Of two spheres and
    /// more the momentum is then removed and the velocities scaled, so that the kinetic energy is exactly
    /// dimensions/2 N kT.
    Temperature(f64),
    /// All with the same speed (length/time) in directions drawn uniformly; the energy is that of
    /// kT = mass speed^2 / dimensions. Left alone, a gas turns it into Maxwell's distribution.
    Speed(f64),
}

impl Fill {
    /// This many spheres of diameter 1 at random places.
    pub fn random(count: u64) -> Self {
        Self::from(Shape::Random(Random {
            count: Some(count),
            volume_fraction: None,
            diameters: vec![(1.0, 1.0)],
            region: None,
        }))
    }

    /// As many spheres of diameter 1 at random places as make up this volume fraction (2D: area fraction).
    pub fn fraction(volume_fraction: f64) -> Self {
        let mut fill = Self::random(0);
        fill.as_random("fraction").count = None;
        fill.volume_fraction(volume_fraction)
    }

    /// `nx` x `ny` x `nz` cells of a cubic lattice (2D: `nz` = 1, the square lattice) of spheres of diameter 1,
    /// with `spacing` (length) between nearest centres, the first at the origin.
    pub fn lattice(count: [u64; 3], spacing: f64) -> Self {
        Self::from(Shape::Lattice(Lattice {
            kind: LatticeKind::Cubic,
            count,
            spacing,
            origin: DVec3::ZERO,
            diameter: 1.0,
        }))
    }

    /// Spheres one by one.
    pub fn at(spheres: impl IntoIterator<Item = Placed>) -> Self {
        Self::from(Shape::At(spheres.into_iter().collect()))
    }

    /// Volume fraction (2D: area fraction) of a random fill.
    ///
    /// # Panics
    /// If the fill is not random.
    pub fn volume_fraction(mut self, fraction: f64) -> Self {
        self.as_random("volume_fraction").volume_fraction = Some(fraction);
        self
    }

    /// Diameter (length) of a random fill or a lattice.
    ///
    /// # Panics
    /// If the fill is neither.
    pub fn diameter(mut self, diameter: f64) -> Self {
        match &mut self.shape {
            Shape::Random(random) => random.diameters = vec![(diameter, 1.0)],
            Shape::Lattice(lattice) => lattice.diameter = diameter,
            Shape::At(_) | Shape::Source(_) => panic!("diameter is for random fills and lattices"),
        }
        self
    }

    /// Diameters (length) of a random fill, each with its share of the number.
    ///
    /// # Panics
    /// If the fill is not random.
    pub fn diameters(mut self, diameters: impl IntoIterator<Item = (f64, f64)>) -> Self {
        self.as_random("diameters").diameters = diameters.into_iter().collect();
        self
    }

    /// Corners (length) of the part of the box that a random fill takes.
    ///
    /// # Panics
    /// If the fill is not random.
    pub fn region(mut self, min: impl Into<DVec3>, max: impl Into<DVec3>) -> Self {
        self.as_random("region").region = Some((min.into(), max.into()));
        self
    }

    /// How a lattice repeats.
    ///
    /// # Panics
    /// If the fill is not a lattice.
    pub fn kind(mut self, kind: LatticeKind) -> Self {
        self.as_lattice("kind").kind = kind;
        self
    }

    /// Centre (length) of the first sphere of a lattice.
    ///
    /// # Panics
    /// If the fill is not a lattice.
    pub fn origin(mut self, origin: impl Into<DVec3>) -> Self {
        self.as_lattice("origin").origin = origin.into();
        self
    }

    /// Maxwell's distribution at kT, without momentum: see [`Motion::Temperature`].
    pub fn temperature(mut self, temperature: f64) -> Self {
        self.motion = Motion::Temperature(temperature);
        self
    }

    /// One speed in all directions: see [`Motion::Speed`].
    pub fn speed_uniform(mut self, speed: f64) -> Self {
        self.motion = Motion::Speed(speed);
        self
    }

    /// One velocity (length/time) for all.
    pub fn velocity(mut self, velocity: impl Into<DVec3>) -> Self {
        self.motion = Motion::Velocity(velocity.into());
        self
    }

    /// Material by name.
    pub fn material(mut self, name: &str) -> Self {
        self.material = name.into();
        self
    }

    /// Holds all spheres of the group in place.
    pub fn fixed(mut self) -> Self {
        self.fixed = true;
        self
    }

    /// Keeps the group inside a wall of this name: see [`Fill::inside`](Self#structfield.inside).
    ///
    /// ```
    /// use carom::{WallShape, scene::{Fill, Scene, Wall}};
    /// use glam::DVec3;
    ///
    /// let silo = WallShape::Cone { from: DVec3::ZERO, to: 20.0 * DVec3::Z, radii: [5.0; 2], closed: [true, false] };
    /// let system = Scene::new(0.01)
    ///     .surface_wall(Wall::new(silo, "default").named("silo"))
    ///     .fill(Fill::random(500).region([-5.0, -5.0, 0.0], [5.0, 5.0, 20.0]).inside("silo"))
    ///     .build()?;
    /// assert!(system.spheres.iter().all(|s| s.position.truncate().length() <= 4.5 && s.position.z >= 0.5));
    /// # Ok::<(), carom::Error>(())
    /// ```
    pub fn inside(mut self, wall: &str) -> Self {
        self.inside = Some(wall.into());
        self
    }

    fn as_random(&mut self, what: &str) -> &mut Random {
        match &mut self.shape {
            Shape::Random(random) => random,
            _ => panic!("{what} is for random fills"),
        }
    }

    fn as_lattice(&mut self, what: &str) -> &mut Lattice {
        match &mut self.shape {
            Shape::Lattice(lattice) => lattice,
            _ => panic!("{what} is for lattices"),
        }
    }
}

impl From<Shape> for Fill {
    fn from(shape: Shape) -> Self {
        Self { shape, motion: Motion::Kept, material: DEFAULT_MATERIAL.into(), fixed: false, inside: None }
    }
}

impl From<Placed> for Fill {
    fn from(sphere: Placed) -> Self {
        Self::at([sphere])
    }
}
