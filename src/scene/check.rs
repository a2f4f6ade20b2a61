//! Checks of a scene before random numbers are drawn.

use crate::system::validate::{at_least_zero, inspect_diameters, positive};
use glam::DVec3;

use crate::{
    Dimensions, Side, Surface, WallShape,
    scene::{DEFAULT_MATERIAL, Fill, Lattice, LatticeKind, Motion, Pair, Random, Scene, Shape},
    system::{
        validate::{
            extremes::{Size, inspect_need, inspect_ratio},
            finite, inspect_surface,
        },
        validation_error::{Place, ValidationError},
    },
};

impl Scene {
    /// Checks everything that needs no bounds and no drawn spheres.
    pub(crate) fn inspect(&self) -> Result<(), ValidationError> {
        for (index, material) in self.materials.iter().enumerate() {
            if self.materials[..index].iter().any(|other| other.name == material.name) {
                return Err(ValidationError::field(
                    format!("materials.{}", material.name),
                    format!("there are two materials called {:?}", material.name),
                    "give each a unique name",
                ));
            }
        }
        for (index, pair) in self.pairs.iter().enumerate() {
            for name in &pair.between {
                self.known_material(name, &format!("pairs[{index}].between"))?;
            }
            let path = format!("pairs[{index}]");
            if (Pair { between: pair.between.clone(), ..Pair::default() }) == *pair {
                return Err(ValidationError::field(
                    &path,
                    format!("{path} gives no surface property"),
                    format!("give one or more of {}", Surface::FIELDS.join(", ")),
                ));
            }
            inspect_surface(&path, &pair.apply(&Surface::default()))?;
        }
        self.known_material(&self.bounds.material, "bounds.material")?;
        for (index, wall) in self.walls.iter().enumerate() {
            let path = format!("walls[{index}]");
            self.known_material(&wall.material, &format!("{path}.material"))?;
            if let WallShape::Plane { normal, .. } = wall.shape {
                let path = format!("{path}.plane.normal");
                finite(&path, normal)?;
                if normal == DVec3::ZERO {
                    return Err(ValidationError::field(
                        &path,
                        format!("{path} is zero"),
                        "give the direction from the solid to the free side",
                    ));
                }
            }
        }
        for (index, fill) in self.fills.iter().enumerate() {
            self.inspect_fill(fill, &format!("spheres[{index}]"))?;
        }
        self.inspect_sizes()?;
        for (path, corner) in [("bounds.min", self.bounds.min), ("bounds.max", self.bounds.max)] {
            corner.map_or(Ok(()), |corner| finite(path, corner))?;
        }
        if self.bounds.max.is_none() && self.sizing_fill().is_none() {
            let bounded = (0..self.world.dimensions.count()).find(|&a| self.bounds.sides[a] != Side::Open);
            if let Some(axis) = bounded {
                return Err(ValidationError::field(
                    "bounds",
                    format!("bounds.{} is bounded but bounds.max is missing", ["x", "y", "z"][axis]),
                    "give bounds.max, or a random fill with both count and volume_fraction, which decides it",
                ));
            }
        }
        Ok(())
    }

    /// The random fill that determines the size of a box without `max`.
    pub(crate) fn sizing_fill(&self) -> Option<(usize, &Random)> {
        self.fills.iter().enumerate().find_map(|(index, fill)| match &fill.shape {
            Shape::Random(random)
                if random.region.is_none() && random.count.is_some() && random.volume_fraction.is_some() =>
            {
                Some((index, random))
            }
            _ => None,
        })
    }

    /// Checks the diameters of all groups before positions are drawn, because drawing sizes too far apart would not end.
    fn inspect_sizes(&self) -> Result<(), ValidationError> {
        let mut sizes = vec![];
        for (index, fill) in self.fills.iter().enumerate() {
            let mut add = |diameter: f64, field: &str| {
                // Other checks refuse what is no size.
                if !(diameter > 0.0 && diameter.is_finite()) {
                    return;
                }
                let path = format!("spheres[{index}].{field}");
                sizes.push(Size { diameter, name: path.clone(), place: Place::Field(path) });
            };
            match &fill.shape {
                Shape::Random(random) => {
                    let field = field_of_diameters(&random.diameters);
                    random.diameters.iter().for_each(|&(d, _)| add(d, &format!("random.{field}")));
                }
                Shape::Source(source) => {
                    let field = field_of_diameters(&source.diameters);
                    source.diameters.iter().for_each(|&(d, _)| add(d, &format!("source.{field}")));
                }
                Shape::Lattice(lattice) => add(lattice.diameter, "lattice.diameter"),
                Shape::At(spheres) => {
                    let size = |place: &usize| spheres[*place].radius;
                    let order = |a: &usize, b: &usize| size(a).total_cmp(&size(b));
                    let all = || 0..spheres.len();
                    for place in [all().min_by(order), all().max_by(order)].into_iter().flatten() {
                        add(2.0 * size(&place), &format!("at[{place}].radius"));
                    }
                }
            }
        }
        inspect_need(self.world.dt, self.world.gravity, &sizes)?;
        inspect_ratio(sizes.into_iter())
    }

    fn known_material(&self, name: &str, path: &str) -> Result<(), ValidationError> {
        if name == DEFAULT_MATERIAL || self.materials.iter().any(|material| material.name == name) {
            return Ok(());
        }
        let mut names: Vec<&str> = self.materials.iter().map(|material| material.name.as_str()).collect();
        if !names.contains(&DEFAULT_MATERIAL) {
            names.push(DEFAULT_MATERIAL);
        }
        Err(ValidationError::field(
            path,
            format!("there is no material {name:?}"),
            format!("the materials are {}", names.join(", ")),
        ))
    }

    fn inspect_fill(&self, fill: &Fill, path: &str) -> Result<(), ValidationError> {
        self.known_material(&fill.material, &format!("{path}.material"))?;
        match fill.motion {
            Motion::Kept => {}
            Motion::Velocity(velocity) => {
                self.in_world(&format!("{path}.velocity"), velocity)?;
            }
            Motion::Temperature(temperature) => {
                at_least_zero(&format!("{path}.temperature"), temperature, "kT is finite and >= 0")?;
            }
            Motion::Speed(speed) => {
                at_least_zero(&format!("{path}.speed_uniform"), speed, "a speed is finite and >= 0")?;
            }
        }
        match &fill.shape {
            Shape::Random(random) => self.inspect_random(random, &format!("{path}.random")),
            Shape::Lattice(lattice) => self.inspect_lattice(lattice, &format!("{path}.lattice")),
            // The box is not known yet.
            Shape::Source(_) => fill.inspect_poured(path),
            Shape::At(spheres) => spheres.iter().enumerate().try_for_each(|(index, sphere)| {
                let path = format!("{path}.at[{index}]");
                positive(&format!("{path}.radius"), sphere.radius, "a radius is finite and > 0")?;
                if let Some(mass) = sphere.mass {
                    positive(&format!("{path}.mass"), mass, "a mass is finite and > 0")?;
                }
                self.in_world(&format!("{path}.position"), sphere.position)?;
                self.in_world(&format!("{path}.velocity"), sphere.velocity)?;
                finite(&format!("{path}.spin"), sphere.spin)?;
                match &sphere.material {
                    Some(name) => self.known_material(name, &format!("{path}.material")),
                    None => Ok(()),
                }
            }),
        }
    }

    fn inspect_random(&self, random: &Random, path: &str) -> Result<(), ValidationError> {
        if let Some(fraction) = random.volume_fraction {
            positive(
                &format!("{path}.volume_fraction"),
                fraction,
                "a volume fraction is > 0 and at most 0.50 (2D: 0.70)",
            )?;
        } else if random.count.is_none() {
            return Err(ValidationError::field(
                path,
                format!("{path} has neither count nor volume_fraction"),
                "give one of them, or both where the box is left out",
            ));
        }
        inspect_diameters(path, &random.diameters)?;
        if let Some((low, high)) = random.region {
            for axis in 0..self.world.dimensions.count() {
                if !(low[axis] < high[axis] && (high - low).is_finite()) {
                    return Err(ValidationError::field(
                        format!("{path}.max"),
                        format!("{path} runs from {} to {} in {}", low[axis], high[axis], AXES[axis]),
                        "its upper corner lies above its lower corner",
                    ));
                }
            }
        } else if self.bounds.max.is_none() && self.sizing_fill().is_none() {
            return Err(ValidationError::field(
                path,
                format!("{path} does not say how large a box to fill"),
                "give bounds.min and bounds.max, or both count and volume_fraction",
            ));
        }
        Ok(())
    }

    fn inspect_lattice(&self, lattice: &Lattice, path: &str) -> Result<(), ValidationError> {
        positive(&format!("{path}.diameter"), lattice.diameter, "a diameter is finite and > 0")?;
        positive(&format!("{path}.spacing"), lattice.spacing, "a spacing is finite and > 0")?;
        self.in_world(&format!("{path}.origin"), lattice.origin)?;
        let flat = self.world.dimensions == Dimensions::Two;
        let wrong = match lattice.kind {
            LatticeKind::Fcc if flat => Some("fcc is a lattice in space: use cubic or triangular in 2D"),
            LatticeKind::Triangular if !flat => {
                Some("triangular is a lattice in the plane: use cubic or fcc in 3D")
            }
            _ => None,
        };
        if let Some(remedy) = wrong {
            let path = format!("{path}.kind");
            let dimensions = self.world.dimensions.count();
            return Err(ValidationError::field(
                &path,
                format!("{path} does not exist in {dimensions}D"),
                remedy,
            ));
        }
        if flat && lattice.count[2] != 1 {
            let path = format!("{path}.count");
            return Err(ValidationError::field(
                &path,
                format!("{path} has layers along z"),
                "in 2D give [nx, ny]",
            ));
        }
        Ok(())
    }

    fn in_world(&self, path: &str, v: DVec3) -> Result<(), ValidationError> {
        finite(path, v)?;
        if self.world.dimensions == Dimensions::Two && v.z != 0.0 {
            return Err(ValidationError::field(
                path,
                format!("{path} has the z component {}", v.z),
                "in 2D everything lies in the plane z = 0",
            ));
        }
        Ok(())
    }
}

fn field_of_diameters(diameters: &[(f64, f64)]) -> &'static str {
    if diameters.len() == 1 { "diameter" } else { "diameters" }
}

const AXES: [&str; 3] = ["x", "y", "z"];
