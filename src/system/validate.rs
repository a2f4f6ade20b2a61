//! Validation of a system.

mod compression;
pub(crate) mod extremes;
mod flow;
mod spheres;
mod times;
mod walls;

use glam::DVec3;

use crate::{
    Dimensions, Error, Side, Surface, System,
    system::validation_error::{Place, ValidationError},
};

/// Tolerance on the sum of the shares of the diameters (three thirds written as 0.33 miss 1 by 0.01).
const SHARE_SLACK: f64 = 0.0101;

/// Shortest period in radii of the largest sphere: four radii for two spheres side by side, and a skin of 5% of the diameter
/// between each and the next image. With a shorter period, a sphere could meet two images of one partner in a step.
pub(crate) const PERIOD_IN_RADII: f64 = 4.2;
const AXES: [&str; 3] = ["x", "y", "z"];

impl System {
    /// Checks everything that an engine relies on, in time proportional to the number of spheres.
    ///
    /// - `dt`, radii, masses and densities are finite and > 0; restitutions lie between 0 and 1; friction coefficients and
    ///   thresholds are >= 0; material indices exist; all numbers are finite.
    /// - `max` lies above `min`. A periodic axis has no gravity along it, and a length of at least 4.2 times the largest
    ///   radius: two diameters and two skins of 5% of the diameter. A position outside a periodic axis stands for its image.
    /// - Normals of planes have length 1. Ids are unique. In 2D every `z` is 0 and the third side is open.
    /// - Drag is finite and >= 0. Boxes of sources and sinks have `max` above `min`. The box of a source can hold its
    ///   largest sphere, in front of every plane at rest and inside periodic bounds. Names of sinks are unique.
    /// - A compressed box is periodic on every axis and has no walls, fixed spheres, sources or sinks. It loses at most a
    ///   hundredth of its length in a step. Its target packing fraction lies above that of the start.
    /// - Magnitudes are within reach of an engine: diameters are at most 1e4 apart, gravity and speeds need at most 1e4
    ///   substeps in a step, spheres of a closed box collide at most 1228 times in a step, a bounded axis is at most 1e9
    ///   diameters long, `dt`, diameters and masses lie between 1e-70 and 1e70, a source pours at most 1e7 spheres in a step, and [`substeps`](crate::Solver::substeps) is at most 4096.
    /// - No two spheres overlap, and no sphere reaches into a wall at time 0, deeper than
    ///   [`max_initial_overlap`](crate::Solver::max_initial_overlap) times the mean diameter. Fixed spheres
    ///   may overlap each other and walls, because they never collide.
    ///
    /// # Errors
    /// [`Error::Invalid`] with the first violation found.
    pub fn validate(&self) -> Result<(), Error> {
        self.inspect_world()?;
        self.inspect_spheres()?;
        Ok(())
    }

    /// As [`validate`](Self::validate) during a run, when moving or curved walls may have pressed spheres deeper than the
    /// limit: the check of edits between two steps.
    ///
    /// # Errors
    /// As [`validate`](Self::validate).
    pub fn validate_on(&self) -> Result<(), Error> {
        self.inspect_world()?;
        self.inspect_standing()?;
        Ok(())
    }

    /// As [`validate`](Self::validate) of a state that a run has reached: overlaps and speeds are what they are.
    pub(crate) fn validate_reached(&self) -> Result<(), Error> {
        self.inspect_world()?;
        self.inspect_each()?;
        Ok(())
    }

    /// The checks that need no spheres.
    pub(crate) fn inspect_world(&self) -> Result<(), ValidationError> {
        require(self.dt > 0.0 && self.dt.is_finite(), "world.dt", self.dt, "a step is finite and > 0")?;
        self.inspect_gravity()?;
        let solver = &self.solver;
        require(
            (0.0..1.0).contains(&solver.max_initial_overlap),
            "solver.max_initial_overlap",
            solver.max_initial_overlap,
            "a part of the mean diameter, at least 0 and less than 1",
        )?;
        if let Some(time) = solver.contact_time {
            let right = time >= 0.0 && time.is_finite();
            require(right, "solver.contact_time", time, "a time is finite and >= 0")?;
        }
        self.inspect_bounds()?;
        self.inspect_materials()?;
        self.inspect_wall_shapes()?;
        self.inspect_flow()?;
        self.inspect_compression()?;
        self.inspect_scales()
    }

    fn inspect_gravity(&self) -> Result<(), ValidationError> {
        finite("world.gravity", self.gravity)?;
        self.flat("world.gravity", self.gravity)?;
        for (axis, name) in AXES.into_iter().enumerate() {
            if self.period(axis).is_some() && self.gravity[axis] != 0.0 {
                return Err(ValidationError::field(
                    "world.gravity",
                    format!("gravity acts along {name}, and {name} is periodic"),
                    format!("make bounds.{name} \"wall\" or \"open\", or take gravity out of it"),
                ));
            }
        }
        Ok(())
    }

    fn inspect_bounds(&self) -> Result<(), ValidationError> {
        let bounds = &self.bounds;
        finite("bounds.min", bounds.min)?;
        finite("bounds.max", bounds.max)?;
        for (axis, name) in AXES.into_iter().enumerate().take(self.dimensions.count()) {
            let (min, max) = (bounds.min[axis], bounds.max[axis]);
            if bounds.sides[axis] != Side::Open && !(min < max && (max - min).is_finite()) {
                return Err(ValidationError::field(
                    "bounds.max",
                    format!("bounds run from {min} to {max} in {name}"),
                    "bounds.max is above bounds.min on every axis that is not open",
                ));
            }
        }
        if self.dimensions == Dimensions::Two && bounds.sides[2] != Side::Open {
            return Err(ValidationError::field(
                "bounds.z",
                "bounds.z is bounded",
                "in 2D the third side is open",
            ));
        }
        let exists = usize::from(bounds.material) < self.materials.len();
        require(exists, "bounds.material", bounds.material, &self.material_range())
    }

    fn inspect_materials(&self) -> Result<(), ValidationError> {
        let materials = &self.materials;
        let indices = 0..materials.len() as u16;
        if indices.is_empty() {
            return Err(ValidationError::field(
                "materials",
                "there is no material",
                "add one, or use Materials::default()",
            ));
        }
        for a in indices.clone() {
            let name = materials.name(a);
            if name.is_empty() || name.trim() != name {
                return Err(ValidationError::field(
                    "materials",
                    format!("a material has the name {name:?}"),
                    "a name is not empty, and has no blanks at its ends: files of spheres lose them",
                ));
            }
            let density = materials.density(a);
            let path = format!("materials.{name}.density");
            require(density > 0.0 && density.is_finite(), &path, density, "a density is finite and > 0")?;
            inspect_surface(&format!("materials.{name}"), materials.surface(a, a))?;
        }
        for (a, b) in indices.clone().flat_map(|a| indices.clone().map(move |b| (a, b))) {
            let path = format!("pairs.{}-{}", materials.name(a), materials.name(b));
            inspect_surface(&path, materials.surface(a, b))?;
        }
        Ok(())
    }

    /// Whether every period is long enough for spheres of this radius.
    pub(crate) fn inspect_periods(&self, largest: f64) -> Result<(), ValidationError> {
        let least = PERIOD_IN_RADII * largest;
        for (axis, name) in AXES.into_iter().enumerate() {
            if let Some(period) = self.period(axis).filter(|period| *period < least) {
                let diameter = 2.0 * largest;
                return Err(ValidationError::field(
                    format!("bounds.{name}"),
                    format!("the period {period} in {name} is too short for spheres of diameter {diameter}"),
                    format!("it must be at least {least} (2.1 diameters)"),
                ));
            }
        }
        Ok(())
    }

    fn material_range(&self) -> String {
        format!("there are {} materials, counted from 0", self.materials.len())
    }

    fn flat(&self, path: &str, v: DVec3) -> Result<(), ValidationError> {
        let right = self.dimensions == Dimensions::Three || v.z == 0.0;
        require(right, &format!("{path}.z"), v.z, "in 2D it is 0")
            .map_err(|invalid| ValidationError { place: Place::Field(path.into()), ..invalid })
    }
}

/// Rejects invalid contact properties.
pub(crate) fn inspect_surface(path: &str, surface: &Surface) -> Result<(), ValidationError> {
    const COEFFICIENT: &str = "a coefficient of friction is between 0 and 1000";
    let coefficient = |x: f64| (0.0..=1000.0).contains(&x);
    let at_least_zero = |x: f64| x >= 0.0 && x.is_finite();
    let values = [
        (surface.restitution, (0.0..=1.0).contains(&surface.restitution), "a restitution is between 0 and 1"),
        (surface.friction, coefficient(surface.friction), COEFFICIENT),
        (surface.rolling_friction, coefficient(surface.rolling_friction), COEFFICIENT),
        (surface.twisting_friction, coefficient(surface.twisting_friction), COEFFICIENT),
        (
            surface.restitution_threshold,
            at_least_zero(surface.restitution_threshold),
            "a speed is finite and >= 0",
        ),
    ];
    Surface::FIELDS.into_iter().zip(values).try_for_each(|(name, (value, right, remedy))| {
        require(right, &format!("{path}.{name}"), value, remedy)
    })
}

fn require(
    right: bool,
    path: &str,
    found: impl std::fmt::Display,
    remedy: &str,
) -> Result<(), ValidationError> {
    if right { Ok(()) } else { Err(ValidationError::field(path, format!("{path} is {found}"), remedy)) }
}

/// Rejects a vector with a component that is not finite.
pub(crate) fn finite(path: &str, v: DVec3) -> Result<(), ValidationError> {
    (0..3).try_for_each(|axis| {
        if v[axis].is_finite() {
            return Ok(());
        }
        Err(ValidationError::field(
            path,
            format!("{path} has the {} component {}", AXES[axis], v[axis]),
            "every component is a finite number",
        ))
    })
}

/// Validates the diameters and shares of the field `path`.
pub(crate) fn inspect_diameters(path: &str, diameters: &[(f64, f64)]) -> Result<(), ValidationError> {
    if diameters.is_empty() {
        let path = format!("{path}.diameters");
        return Err(ValidationError::field(
            &path,
            format!("{path} is empty"),
            "list [diameter, share] pairs",
        ));
    }
    let single = diameters.len() == 1;
    for (index, &(diameter, share)) in diameters.iter().enumerate() {
        let path = if single { format!("{path}.diameter") } else { format!("{path}.diameters[{index}]") };
        positive(&path, diameter, "a diameter is finite and > 0")?;
        at_least_zero(&path, share, "a share is between 0 and 1")?;
    }
    let total: f64 = diameters.iter().map(|&(_, share)| share).sum();
    if (total - 1.0).abs() > SHARE_SLACK {
        return Err(ValidationError::field(
            format!("{path}.diameters"),
            format!("the shares of {path}.diameters add up to {total}"),
            "they are parts of the number of spheres and add up to 1",
        ));
    }
    Ok(())
}

pub(crate) fn positive(path: &str, value: f64, remedy: &str) -> Result<(), ValidationError> {
    if value > 0.0 && value.is_finite() { Ok(()) } else { Err(wrong(path, value, remedy)) }
}

pub(crate) fn at_least_zero(path: &str, value: f64, remedy: &str) -> Result<(), ValidationError> {
    within(path, value, 0.0, f64::MAX, remedy)
}

pub(crate) fn within(
    path: &str,
    value: f64,
    low: f64,
    high: f64,
    remedy: &str,
) -> Result<(), ValidationError> {
    if value >= low && value <= high { Ok(()) } else { Err(wrong(path, value, remedy)) }
}

pub(crate) fn wrong(path: &str, value: f64, remedy: &str) -> ValidationError {
    ValidationError::field(path, format!("{path} is {value}"), remedy)
}
