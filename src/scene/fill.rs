//! Groups of spheres: positions, velocities, materials.

use glam::DVec3;

use super::{DEFAULT_MATERIAL, Source};

/// A group of spheres.
#[derive(Clone, Debug, PartialEq)]
pub struct Fill {
    /// Positions of the spheres.
    pub shape: Shape,
    /// Velocities at the start.
    pub motion: Motion,
    /// Name of the material; [`Placed::material`] overrides it.
    pub material: String,
    /// Whether all spheres of the group are held in place.
    pub fixed: bool,
    /// Name of a wall that encloses the group: a box, a cylinder, a cone, a sphere or a bowl, whose ends count as closed. A
    /// random fill draws positions inside this wall only, up to 0.30 of the region; a lattice omits the spheres outside.
    pub inside: Option<String>,
}

/// Positions of the spheres of a group.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// Random, without overlap.
    Random(Random),
    /// On a lattice.
    Lattice(Lattice),
    /// A list of single spheres.
    At(Vec<Placed>),
    /// No spheres at the start: a source pours them during the run.
    Source(Source),
}

/// Spheres at random positions, without overlap among themselves, with other groups or with walls.
///
/// Up to a volume fraction of 0.30 (2D: area fraction 0.45), spheres are added one by one, the largest first, each at
/// a free position drawn uniformly. Up to 0.50 (2D: 0.70), spheres are added at a smaller size, grown while
/// overlapping neighbours push each other apart, and then moved by hard-sphere Monte Carlo, so that they
/// are as disordered as a fluid. Larger fractions are refused.
///
/// One of count, fraction and box may be left out; if all are given, they must agree within 1%.
#[derive(Clone, Debug, PartialEq)]
pub struct Random {
    /// Number of spheres.
    pub count: Option<u64>,
    /// Volume of the spheres over the volume of the region, in 2D area over area.
    pub volume_fraction: Option<f64>,
    /// Diameters (length), each with its share of the number of spheres; the shares add up to 1.
    pub diameters: Vec<(f64, f64)>,
    /// Lower and upper corner of the region (length); `None` = the box. Along a periodic axis that the region spans, spheres
    /// may cross the boundary; otherwise they lie inside completely.
    pub region: Option<(DVec3, DVec3)>,
}

/// Type of a lattice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LatticeKind {
    /// Simple cubic, one sphere per cell; in 2D the square lattice.
    #[default]
    Cubic,
    /// Face-centred cubic, four spheres per cell. 3D only.
    Fcc,
    /// Triangular: lines along x, every other line shifted by half a spacing. 2D only.
    Triangular,
}

/// Spheres on a lattice.
#[derive(Clone, Debug, PartialEq)]
pub struct Lattice {
    /// Type of the lattice.
    pub kind: LatticeKind,
    /// Number of cells along x, y and z. A cell of `Cubic` or `Triangular` holds one sphere, a cell of `Fcc` four. In 2D the
    /// third number is 1.
    pub count: [u64; 3],
    /// Distance between the centres of nearest neighbours (length).
    pub spacing: f64,
    /// Centre of the first sphere (length).
    pub origin: DVec3,
    /// Diameter of the spheres (length).
    pub diameter: f64,
}

/// One sphere of [`Shape::At`].
#[derive(Clone, Debug, PartialEq)]
pub struct Placed {
    /// Unique id; `None`: numbered on after the largest given id.
    pub id: Option<u32>,
    /// Centre (length).
    pub position: DVec3,
    /// Velocity (length/time). A group's [`Motion`] other than [`Motion::Kept`] replaces it.
    pub velocity: DVec3,
    /// Angular velocity (radian/time).
    pub spin: DVec3,
    /// Radius (length), > 0.
    pub radius: f64,
    /// Mass, > 0; `None`: density of the material times volume.
    pub mass: Option<f64>,
    /// Name of the material; `None`: that of the group.
    pub material: Option<String>,
    /// Whether the sphere is held in place.
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

/// Velocities of a group at the start. Fixed spheres do not move.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Motion {
    /// [`Placed::velocity`]; at rest for the other shapes.
    #[default]
    Kept,
    /// One velocity for all spheres (length/time).
    Velocity(DVec3),
    /// Maxwell's distribution at kT (energy): each component is normal with variance kT/mass. With two or more
    /// spheres, the momentum is then removed and the velocities are scaled, so that the kinetic energy is exactly
    /// dimensions/2 N kT.
    Temperature(f64),
    /// One speed for all spheres (length/time), in uniformly drawn directions; the energy is that of
    /// kT = mass speed^2 / dimensions. Collisions turn the distribution into Maxwell's.
    Speed(f64),
}

impl Fill {
    /// A group of this many spheres of diameter 1 at random positions.
    pub fn random(count: u64) -> Self {
        Self::from(Shape::Random(Random {
            count: Some(count),
            volume_fraction: None,
            diameters: vec![(1.0, 1.0)],
            region: None,
        }))
    }

    /// A group of spheres of diameter 1 at random positions with this volume fraction (2D: area fraction).
    pub fn fraction(volume_fraction: f64) -> Self {
        let mut fill = Self::random(0);
        fill.as_random("fraction").count = None;
        fill.volume_fraction(volume_fraction)
    }

    /// A group of `nx` x `ny` x `nz` cells of a cubic lattice (2D: `nz` = 1, the square lattice) of spheres of diameter 1,
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

    /// A group of single spheres.
    pub fn at(spheres: impl IntoIterator<Item = Placed>) -> Self {
        Self::from(Shape::At(spheres.into_iter().collect()))
    }

    /// Sets the volume fraction (2D: area fraction) of a random fill.
    ///
    /// # Panics
    /// If the fill is not random.
    pub fn volume_fraction(mut self, fraction: f64) -> Self {
        self.as_random("volume_fraction").volume_fraction = Some(fraction);
        self
    }

    /// Sets the diameter (length) of a random fill or a lattice.
    ///
    /// # Panics
    /// If the fill is neither random nor a lattice.
    pub fn diameter(mut self, diameter: f64) -> Self {
        match &mut self.shape {
            Shape::Random(random) => random.diameters = vec![(diameter, 1.0)],
            Shape::Lattice(lattice) => lattice.diameter = diameter,
            Shape::At(_) | Shape::Source(_) => panic!("diameter is for random fills and lattices"),
        }
        self
    }

    /// Sets the diameters (length) of a random fill, each with its share of the number.
    ///
    /// # Panics
    /// If the fill is not random.
    pub fn diameters(mut self, diameters: impl IntoIterator<Item = (f64, f64)>) -> Self {
        self.as_random("diameters").diameters = diameters.into_iter().collect();
        self
    }

    /// Sets the corners (length) of the region of a random fill.
    ///
    /// # Panics
    /// If the fill is not random.
    pub fn region(mut self, min: impl Into<DVec3>, max: impl Into<DVec3>) -> Self {
        self.as_random("region").region = Some((min.into(), max.into()));
        self
    }

    /// Sets the type of a lattice.
    ///
    /// # Panics
    /// If the fill is not a lattice.
    pub fn kind(mut self, kind: LatticeKind) -> Self {
        self.as_lattice("kind").kind = kind;
        self
    }

    /// Sets the centre (length) of the first sphere of a lattice.
    ///
    /// # Panics
    /// If the fill is not a lattice.
    pub fn origin(mut self, origin: impl Into<DVec3>) -> Self {
        self.as_lattice("origin").origin = origin.into();
        self
    }

    /// Sets velocities from Maxwell's distribution at kT (energy), without momentum: see [`Motion::Temperature`].
    pub fn temperature(mut self, temperature: f64) -> Self {
        self.motion = Motion::Temperature(temperature);
        self
    }

    /// Sets one speed (length/time) in random directions: see [`Motion::Speed`].
    pub fn speed_uniform(mut self, speed: f64) -> Self {
        self.motion = Motion::Speed(speed);
        self
    }

    /// Sets one velocity (length/time) for all.
    pub fn velocity(mut self, velocity: impl Into<DVec3>) -> Self {
        self.motion = Motion::Velocity(velocity.into());
        self
    }

    /// Sets the material by name.
    pub fn material(mut self, name: &str) -> Self {
        self.material = name.into();
        self
    }

    /// Holds all spheres of the group in place.
    pub fn fixed(mut self) -> Self {
        self.fixed = true;
        self
    }

    /// Encloses the group in the wall of this name: see [`Fill::inside`](Self#structfield.inside).
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
