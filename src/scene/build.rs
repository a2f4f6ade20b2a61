//! Builds a system from a scene: sizes, positions, velocities, ids.

use std::ops::Range;

use glam::DVec3;

use crate::{
    Bounds, Dimensions, Error, MaterialIndex, Materials, Side, Sphere, System, Wall, WallShape,
    scene::{
        DEFAULT_MATERIAL, Fill, Material, Note, Random, Scene, Shape, lattice,
        motion::set_in_motion,
        pack::{Wanted, pack},
        portable::side,
        relax::relax,
        rng::SeededRng,
    },
    system::{
        region::{Region, content, mass},
        space::{Space, SphereProxy},
        validation_error::{Place, ValidationError},
    },
};

/// Most spheres of a scene.
pub const MAX_SPHERES: u64 = 1 << 27;
/// Relative tolerance within which count, volume fraction and box must agree.
const AGREEMENT: f64 = 0.01;

/// Range of each group in [`System::spheres`].
type Ranges = Vec<Range<usize>>;

impl Scene {
    /// Builds the system that this scene describes.
    ///
    /// Spheres are in the order of the groups. Given ids are kept; other spheres are numbered on after the largest given id,
    /// from 0 if there is none. A mass that is not given is the density of the material times the volume of the sphere, also
    /// in 2D. Positions outside a periodic box are wrapped into the box.
    ///
    /// # Errors
    /// [`Error::Invalid`] with the problem, its location and a remedy; [`Error::Capacity`] for more than
    /// [`MAX_SPHERES`] spheres.
    pub fn build(&self) -> Result<System, Error> {
        Ok(self.build_with_notes()?.0)
    }

    /// As [`build`](Self::build), with notes on every change and suspicious value.
    ///
    /// # Errors
    /// As [`build`](Self::build).
    pub fn build_with_notes(&self) -> Result<(System, Vec<Note>), Error> {
        let (mut system, counts) = self.outline().map_err(|invalid| self.explain(invalid, &[]))?;
        let total = counts.iter().fold(0, |sum: u64, &count| sum.saturating_add(count));
        if total > MAX_SPHERES {
            return Err(Error::Capacity(format!(
                "{total} spheres are asked for; at most {MAX_SPHERES} are possible"
            )));
        }
        let mut ranges = vec![];
        let mut notes = self
            .realise(&mut system, &counts, &mut ranges)
            .map_err(|invalid| self.explain(invalid, &ranges))?;
        notes.extend(mesh_notes(&system));
        let surfaces = system.materials.surfaces();
        for (field, is_set) in [
            ("rolling_friction", surfaces.iter().any(|s| s.rolling_friction > 0.0)),
            ("twisting_friction", surfaces.iter().any(|s| s.twisting_friction > 0.0)),
        ] {
            if is_set && !system.contacts_may_rest() {
                notes.push(Note::WithoutEffect { field });
            }
        }
        Ok((system, notes))
    }

    /// Checks everything that can be checked before spheres are placed; faster than [`build`](Self::build).
    ///
    /// # Errors
    /// The [`Error::Invalid`] that [`build`](Self::build) would return.
    pub fn check(&self) -> Result<(), Error> {
        self.outline().map(drop).map_err(|invalid| self.explain(invalid, &[]))
    }

    /// Number of spheres that [`build`](Self::build) would place, without drawing positions. Spheres of a lattice that lie
    /// outside the wall named by [`Fill::inside`] count too.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub fn sphere_count(&self) -> Result<u64, Error> {
        let (_, counts) = self.outline().map_err(|invalid| self.explain(invalid, &[]))?;
        Ok(counts.iter().fold(0, |sum: u64, &count| sum.saturating_add(count)))
    }

    /// The world without spheres, and the number of spheres in each group.
    fn outline(&self) -> Result<(System, Vec<u64>), ValidationError> {
        self.inspect()?;
        let mut system = System {
            dimensions: self.world.dimensions,
            gravity: self.world.gravity,
            drag: self.world.drag,
            seed: self.world.seed,
            sinks: self.sinks.clone(),
            compression: self.compression,
            dt: self.world.dt,
            solver: self.solver.clone(),
            bounds: Bounds::default(),
            materials: self.surfaces(),
            walls: vec![],
            spheres: vec![],
            sources: vec![],
        };
        system.walls = self
            .walls
            .iter()
            .enumerate()
            .map(|(index, wall)| Wall {
                shape: match wall.shape {
                    WallShape::Plane { point, normal } => {
                        WallShape::Plane { point, normal: normal.normalize() }
                    }
                    ref other => other.clone(),
                },
                motion: wall.motion,
                span: wall.span,
                material: index_of(&system.materials, &wall.material),
                name: wall.name.clone().unwrap_or_else(|| format!("walls[{index}]")),
            })
            .collect();
        system.bounds = self.resolve_bounds(&system.materials)?;
        system.inspect_world()?;
        for (path, source) in self.sources(&system.materials) {
            system.inspect_source(&source, &path)?;
            system.sources.push(source);
        }
        let counts = self
            .fills
            .iter()
            .enumerate()
            .map(|(index, fill)| self.count(&system, fill, &format!("spheres[{index}]")))
            .collect::<Result<_, _>>()?;
        Ok((system, counts))
    }

    fn surfaces(&self) -> Materials {
        let mut materials = Materials::empty();
        if !self.materials.iter().any(|material| material.name == DEFAULT_MATERIAL) {
            let Material { name, surface, density } = Material::default();
            materials.add(&name, surface, density);
        }
        for Material { name, surface, density } in &self.materials {
            materials.add(name, *surface, *density);
        }
        for pair in &self.pairs {
            let [a, b] = [0, 1].map(|side| index_of(&materials, &pair.between[side]));
            materials.set_surface(a, b, pair.apply(materials.surface(a, b)));
        }
        materials
    }

    fn resolve_bounds(&self, materials: &Materials) -> Result<Bounds, ValidationError> {
        let flat = self.world.dimensions == Dimensions::Two;
        let mut min = self.bounds.min.unwrap_or_default();
        let mut max = match (self.bounds.max, self.sizing_fill()) {
            (Some(max), _) => max,
            (
                None,
                Some((_, Random { count: Some(count), volume_fraction: Some(fraction), diameters, .. })),
            ) => {
                let content = *count as f64 * mean_content(self.world.dimensions, diameters);
                min + DVec3::splat(side(content / fraction, self.world.dimensions.count()))
            }
            _ => min,
        };
        let mut sides = self.bounds.sides;
        if flat {
            (min.z, max.z, sides[2]) = (0.0, 0.0, Side::Open);
        }
        Ok(Bounds { min, max, sides, material: index_of(materials, &self.bounds.material) })
    }

    fn count(&self, system: &System, fill: &Fill, path: &str) -> Result<u64, ValidationError> {
        match &fill.shape {
            Shape::At(spheres) => Ok(spheres.len() as u64),
            Shape::Source(_) => Ok(0),
            Shape::Lattice(lattice) => Ok(lattice::count(lattice).unwrap_or(u64::MAX)),
            Shape::Random(random) => {
                let volume = Region::new(system, random.region).volume();
                if volume <= 0.0 {
                    return Err(ValidationError::field(
                        format!("{path}.random"),
                        format!(
                            "{path}.random has no volume to fill: the bounds are open and have no extent"
                        ),
                        "give bounds.min and bounds.max",
                    ));
                }
                let each = mean_content(system.dimensions, &random.diameters);
                match (random.count, random.volume_fraction) {
                    (Some(count), None) => Ok(count),
                    (None, fraction) => Ok((fraction.unwrap_or(0.0) * volume / each).round() as u64),
                    (Some(count), Some(fraction)) => {
                        let filled = count as f64 * each / volume;
                        // A difference of less than one sphere counts as agreement too.
                        if (filled - fraction).abs() > (AGREEMENT * fraction).max(each / volume) {
                            return Err(ValidationError::field(
                                format!("{path}.random.volume_fraction"),
                                format!(
                                    "count, volume_fraction and bounds disagree: {count} spheres fill {filled:.4} \
                                     of the box, not {fraction}"
                                ),
                                "leave one of the three out",
                            ));
                        }
                        Ok(count)
                    }
                }
            }
        }
    }

    fn realise(
        &self,
        system: &mut System,
        counts: &[u64],
        ranges: &mut Ranges,
    ) -> Result<Vec<Note>, ValidationError> {
        let mut groups: Vec<Vec<Sphere>> = vec![];
        let mut wanted = vec![];
        for (index, (fill, &count)) in self.fills.iter().zip(counts).enumerate() {
            if let Shape::Random(random) = &fill.shape {
                let runs = runs(count, &random.diameters);
                let vessel = vessel(system, fill, index)?;
                wanted.push(Wanted {
                    group: index,
                    region: Region::new(system, random.region),
                    runs,
                    vessel,
                });
            }
            groups.push(self.standing(system, fill, index)?);
        }
        let radii = wanted.iter().flat_map(|group| &group.runs).map(|&(radius, _)| radius);
        let largest = groups.iter().flatten().map(|s| s.radius).chain(radii).fold(0.0, f64::max);
        system.inspect_periods(largest)?;
        if !wanted.is_empty() {
            let standing = groups.iter().flatten().copied().collect();
            let places = pack(&System { spheres: standing, ..system.clone() }, &wanted, self.world.seed)?;
            for (group, places) in wanted.iter().zip(places) {
                let sphere =
                    |p: SphereProxy| Sphere { position: p.center, radius: p.radius, ..Sphere::default() };
                groups[group.group] = places.into_iter().map(sphere).collect();
            }
        }
        number(&self.fills, &mut groups)?;
        for (index, (spheres, fill)) in groups.iter_mut().zip(&self.fills).enumerate() {
            self.finish(system, fill, spheres, &mut SeededRng::new(self.world.seed, "move", index));
            ranges.push(system.spheres.len()..system.spheres.len() + spheres.len());
            system.spheres.append(spheres);
        }
        let deepest = system.inspect_spheres()?;
        Ok(if deepest > 0.0 { vec![relax(system)] } else { vec![] })
    }

    /// The spheres of a group with given positions.
    fn standing(&self, system: &System, fill: &Fill, index: usize) -> Result<Vec<Sphere>, ValidationError> {
        let vessel = vessel(system, fill, index)?;
        let mut spheres: Vec<Sphere> = match &fill.shape {
            Shape::Random(_) | Shape::Source(_) => vec![],
            Shape::Lattice(lattice) => {
                let radius = 0.5 * lattice.diameter;
                let centers = lattice::centers(lattice);
                centers.into_iter().map(|position| Sphere { position, radius, ..Sphere::default() }).collect()
            }
            Shape::At(placed) => placed
                .iter()
                .map(|p| Sphere {
                    position: p.position,
                    velocity: p.velocity,
                    spin: p.spin,
                    radius: p.radius,
                    mass: p.mass.unwrap_or(0.0),
                    material: p.material.as_ref().map_or(0, |name| index_of(&system.materials, name)),
                    fixed: p.fixed,
                    // Set later by `number`.
                    id: 0,
                })
                .collect(),
        };
        if let Some(vessel) = vessel {
            spheres.retain(|sphere| vessel.holds(sphere.position, sphere.radius));
        }
        Ok(spheres)
    }

    /// Sets material, mass and velocity, and wraps the position.
    fn finish(&self, system: &System, fill: &Fill, spheres: &mut [Sphere], rng: &mut SeededRng) {
        let space = Space::new(system);
        let material = index_of(&system.materials, &fill.material);
        let placed = match &fill.shape {
            Shape::At(placed) => placed.as_slice(),
            _ => &[],
        };
        for (index, sphere) in spheres.iter_mut().enumerate() {
            let placed = placed.get(index);
            if placed.is_none_or(|p| p.material.is_none()) {
                sphere.material = material;
            }
            if placed.is_none_or(|p| p.mass.is_none()) {
                sphere.mass = mass(system.materials.density(sphere.material), sphere.radius);
            }
            sphere.fixed |= fill.fixed;
            sphere.position = space.wrap(sphere.position);
        }
        set_in_motion(fill.motion, system.dimensions, spheres, rng);
    }

    /// Converts a validation error to an error that shows its location in the scene.
    fn explain(&self, invalid: ValidationError, ranges: &[Range<usize>]) -> Error {
        let path = match &invalid.place {
            Place::Field(path) => path.clone(),
            Place::Sphere(index) => self.path_of(*index, ranges),
        };
        #[cfg(feature = "files")]
        if let Some(text) = self.origin.show(&path, &invalid.problem, &invalid.remedy) {
            return Error::Invalid(text);
        }
        match invalid.place {
            Place::Sphere(_) if !path.is_empty() => Error::Invalid(format!("{} (in {path})", invalid.text())),
            _ => invalid.into(),
        }
    }

    fn path_of(&self, sphere: usize, ranges: &[Range<usize>]) -> String {
        let Some((group, range)) = ranges.iter().enumerate().find(|(_, range)| range.contains(&sphere))
        else {
            return String::new();
        };
        match &self.fills[group].shape {
            Shape::At(_) => format!("spheres[{group}].at[{}]", sphere - range.start),
            _ => format!("spheres[{group}]"),
        }
    }
}

/// Warnings about the meshes.
fn mesh_notes(system: &System) -> Vec<Note> {
    let ends = system.spheres.iter().map(|s| [s.position - s.radius, s.position + s.radius]);
    let spheres = ends.reduce(|a, b| [a[0].min(b[0]), a[1].max(b[1])]);
    let mut notes = vec![];
    for wall in &system.walls {
        let WallShape::Mesh(mesh) = &wall.shape else { continue };
        let name = || wall.name.clone();
        notes.extend(mesh.warnings().into_iter().map(|warning| Note::Mesh { wall: name(), warning }));
        let ([low, high], Some([least, most])) = (mesh.bounds(), spheres) else { continue };
        let distance = (low - most).max(least - high).max(DVec3::ZERO).length();
        let (size, spread) = ((high - low).length(), (most - least).length());
        if distance > size.max(spread) {
            notes.push(Note::FarMesh { wall: name(), distance, size });
        }
    }
    notes
}

/// The wall that encloses a group, if the group names one.
fn vessel(system: &System, fill: &Fill, index: usize) -> Result<Option<WallShape>, ValidationError> {
    let Some(name) = &fill.inside else { return Ok(None) };
    let path = format!("spheres[{index}].inside");
    let is_vessel = |wall: &&Wall| wall.shape.is_vessel();
    let named: Vec<&str> = system.walls.iter().filter(is_vessel).map(|wall| wall.name.as_str()).collect();
    let Some(wall) = system.walls.iter().find(|wall| wall.name == *name) else {
        return Err(ValidationError::field(
            &path,
            format!("there is no wall {name:?}"),
            format!("the walls that spheres can be inside of are {}", named.join(", ")),
        ));
    };
    if !wall.shape.is_vessel() || matches!(fill.shape, Shape::At(_) | Shape::Source(_)) {
        return Err(ValidationError::field(
            &path,
            format!("{path} is a {}", wall.shape.kind()),
            "random fills and lattices are kept inside boxes, cylinders, cones, spheres and bowls",
        ));
    }
    Ok(Some(wall.shape.clone()))
}

/// Numbers the spheres without an id, after the largest given id.
fn number(fills: &[Fill], groups: &mut [Vec<Sphere>]) -> Result<(), ValidationError> {
    let given = |fill: &Fill, index: usize| match &fill.shape {
        Shape::At(placed) => placed[index].id,
        _ => None,
    };
    let mut next = 0;
    for (fill, spheres) in fills.iter().zip(groups.iter()) {
        let largest = (0..spheres.len()).filter_map(|index| given(fill, index)).max();
        next = largest.map_or(next, |id| next.max(u64::from(id) + 1));
    }
    for (group, (fill, spheres)) in fills.iter().zip(groups).enumerate() {
        for (index, sphere) in spheres.iter_mut().enumerate() {
            if let Some(id) = given(fill, index) {
                sphere.id = id;
                continue;
            }
            sphere.id = u32::try_from(next).map_err(|_| {
                ValidationError::field(
                    format!("spheres[{group}]"),
                    format!("no ids are left after {}", u32::MAX),
                    "give smaller ids, or none",
                )
            })?;
            next += 1;
        }
    }
    Ok(())
}

/// Index of a material whose name has been checked.
fn index_of(materials: &Materials, name: &str) -> MaterialIndex {
    materials.find(name).unwrap_or(0)
}

fn mean_content(dimensions: Dimensions, diameters: &[(f64, f64)]) -> f64 {
    let shares: f64 = diameters.iter().map(|&(_, share)| share).sum();
    diameters.iter().map(|&(d, share)| share / shares * content(dimensions, 0.5 * d)).sum()
}

/// Number of spheres of each radius among `count`; rounded so that every number is within one sphere of its share.
fn runs(count: u64, diameters: &[(f64, f64)]) -> Vec<(f64, usize)> {
    let total: f64 = diameters.iter().map(|&(_, share)| share).sum();
    let (mut shares, mut so_far) = (0.0, 0);
    let numbers = diameters.iter().map(|&(diameter, share)| {
        shares += share;
        // The shares add up to the total bit for bit, so the last run ends at `count`.
        let end = (shares / total * count as f64).round() as usize;
        let number = end - so_far;
        so_far = end;
        (0.5 * diameter, number)
    });
    numbers.collect()
}
