//! Converts the types of the format to those of a scene. Checks rules that connect several keys, and reads files.

use std::{
    borrow::Cow,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use glam::{DQuat, DVec3};

use super::{
    builtin::embedded,
    error::SceneError,
    format::{self, Vector},
    mesh::parse_mesh,
    parse_error::{ParseError, Problem},
    spheres::parse_spheres,
    tree::{self, Node},
};
use crate::{
    Compression, Dimensions, Oscillation, Rotation, Side, Sink, Solver, Surface, WallMotion, WallShape,
    scene::{
        Fill, Lattice, LatticeKind, Material, Motion, Pair, Placed, Random, Scene, Shape, Source, View, Wall,
        Walls, World,
    },
};

/// Converts the scene that was read from this tree. Files are relative to the folder; without a folder they are those of the
/// built-in scenes.
pub(super) fn scene(scene: format::Scene, root: &Node, folder: Option<&Path>) -> Result<Scene, ParseError> {
    let context = Context { root, folder };
    let materials: Vec<Material> = scene.materials.into_iter().map(Material::from).collect();
    let fills = scene.spheres.into_iter().enumerate();
    let walls = scene.walls.into_iter().enumerate();
    let sinks = scene.sinks.into_iter().enumerate();
    Ok(Scene {
        world: scene.world.into(),
        solver: scene.solver.into(),
        bounds: scene.bounds.into(),
        pairs: scene.pairs.into_iter().map(Pair::from).collect(),
        fills: fills
            .map(|(index, fill)| context.fill(fill, &format!("spheres[{index}]"), &materials))
            .collect::<Result<_, _>>()?,
        walls: walls
            .map(|(index, wall)| context.wall(wall, &format!("walls[{index}]")))
            .collect::<Result<_, _>>()?,
        sinks: sinks.map(|(index, sink)| sink_of(sink, index)).collect(),
        materials,
        compression: scene.compression.map(Compression::from),
        view: scene.view.into(),
        ..Scene::default()
    })
}

/// The tree and the folder that a scene comes from.
struct Context<'c> {
    root: &'c Node<'c>,
    folder: Option<&'c Path>,
}

impl Context<'_> {
    fn fill(&self, fill: format::Spheres, path: &str, materials: &[Material]) -> Result<Fill, ParseError> {
        let shape = if let Some(random) = fill.random {
            Shape::Random(self.random(random, &format!("{path}.random"))?)
        } else if let Some(lattice) = fill.lattice {
            Shape::Lattice(lattice.into())
        } else if let Some(spheres) = fill.at {
            Shape::At(spheres.into_iter().map(Placed::from).collect())
        } else if let Some(file) = fill.file {
            let spheres = self.read(&file).and_then(|(path, bytes)| parse_spheres(&path, &bytes, materials));
            Shape::At(spheres.map_err(|error| {
                let remedy = "the spheres of this group are read from it";
                self.file_error(&format!("{path}.file"), &error, remedy)
            })?)
        } else if let Some(source) = fill.source {
            Shape::Source(self.source(source, &format!("{path}.source"))?)
        } else {
            let remedy = format!("expected one of {}", format::PLACES.join(", "));
            return Err(self.error(path, format!("{path} does not say where its spheres are"), remedy));
        };
        let motion = match (fill.temperature, fill.speed_uniform, fill.velocity) {
            (Some(temperature), ..) => Motion::Temperature(temperature),
            (_, Some(speed), _) => Motion::Speed(speed),
            (.., Some(velocity)) => Motion::Velocity(velocity.0),
            _ => Motion::Kept,
        };
        Ok(Fill { shape, motion, material: fill.material.0, fixed: fill.fixed, inside: fill.inside })
    }

    fn random(&self, random: format::Random, path: &str) -> Result<Random, ParseError> {
        let region = match (random.min, random.max) {
            (Some(min), Some(max)) => Some((min.0, max.0)),
            (None, None) => None,
            (min, _) => {
                let problem = Problem::MissingField(if min.is_none() { "min" } else { "max" });
                let place = tree::locate(self.root, path);
                return Err(ParseError { path: path.to_owned(), place, ..problem.into() });
            }
        };
        Ok(Random {
            count: random.count,
            volume_fraction: random.volume_fraction,
            diameters: self.diameters(path, random.diameter, random.diameters)?,
            region,
        })
    }

    fn source(&self, source: format::Source, path: &str) -> Result<Source, ParseError> {
        Ok(Source {
            region: (source.min.0, source.max.0),
            rate: source.rate,
            diameters: self.diameters(path, source.diameter, source.diameters)?,
            count: source.count,
            span: [source.from, source.until.unwrap_or(f64::INFINITY)],
            spread: source.spread,
            name: source.name,
        })
    }

    fn diameters(
        &self,
        path: &str,
        diameter: Option<f64>,
        diameters: Option<Vec<format::Share>>,
    ) -> Result<Vec<(f64, f64)>, ParseError> {
        at_most_one(self.root, path, format::DIAMETERS)?;
        Ok(match diameters {
            Some(shares) => {
                shares.into_iter().map(|format::Share(diameter, share)| (diameter, share)).collect()
            }
            None => vec![(diameter.unwrap_or(1.0), 1.0)],
        })
    }

    fn wall(&self, wall: format::Wall, path: &str) -> Result<Wall, ParseError> {
        let shape = if let Some(format::Plane { point, normal }) = wall.plane {
            WallShape::Plane { point: point.0, normal: normal.0 }
        } else if let Some(format::BoxFaces { center, size, turn }) = wall.r#box {
            WallShape::Box { center: center.0, size: size.0, turn: turn.0 }
        } else if let Some(format::Cylinder { from, to, radius, closed }) = wall.cylinder {
            WallShape::Cone { from: from.0, to: to.0, radii: [radius; 2], closed }
        } else if let Some(format::Cone { from, to, radii, closed }) = wall.cone {
            WallShape::Cone { from: from.0, to: to.0, radii, closed }
        } else if let Some(format::Disc { center, normal, radius, hole }) = wall.disc {
            WallShape::Disc { center: center.0, normal: normal.0, radius, hole }
        } else if let Some(format::Bowl { center, radius, axis, angle }) = wall.sphere {
            WallShape::Sphere { center: center.0, radius, axis: axis.0, angle }
        } else if let Some(mesh) = wall.mesh {
            let found = self.mesh(&mesh).map_err(|error| {
                let remedy = "a mesh is a file of triangles, .stl or .obj";
                self.file_error(&format!("{path}.mesh.file"), &error, remedy)
            })?;
            WallShape::Mesh(Arc::new(found))
        } else {
            let remedy = format!("expected one of {}", format::SHAPES.join(", "));
            return Err(self.error(path, format!("{path} has no shape"), remedy));
        };
        let motion = WallMotion {
            velocity: wall.velocity.0,
            oscillation: wall.oscillation.map(Oscillation::from),
            rotation: wall.rotation.map(Rotation::from),
        };
        let span = [wall.from.unwrap_or(f64::NEG_INFINITY), wall.until.unwrap_or(f64::INFINITY)];
        Ok(Wall { shape, motion, span, material: wall.material.0, name: wall.name })
    }

    fn mesh(&self, mesh: &format::Mesh) -> Result<crate::Mesh, SceneError> {
        let (path, bytes) = self.read(&mesh.file)?;
        let rotation = DQuat::from_scaled_axis(mesh.turn.0);
        parse_mesh(&path, &bytes)
            .and_then(|found| found.transformed(mesh.scale, rotation, mesh.shift.0))
            .map_err(|error| SceneError::invalid(error.to_string()))
    }

    /// Reads a file that the scene names; returns it with its path.
    fn read(&self, file: &str) -> Result<(PathBuf, Cow<'static, [u8]>), SceneError> {
        let path = self.folder.map_or_else(|| Path::new(file).to_owned(), |folder| folder.join(file));
        let missing = |why: String| SceneError::missing(format!("cannot read {}: {why}", path.display()));
        let bytes = match self.folder {
            Some(_) => Cow::from(fs::read(&path).map_err(|error| missing(error.to_string()))?),
            None => Cow::from(embedded(file).ok_or_else(|| missing("no built-in scene has it".into()))?),
        };
        Ok((path, bytes))
    }

    fn error(&self, path: &str, problem: String, remedy: impl Into<String>) -> ParseError {
        ParseError::new(tree::locate(self.root, path), problem, remedy)
    }

    fn file_error(&self, path: &str, error: &SceneError, remedy: &str) -> ParseError {
        ParseError { kind: error.kind(), ..self.error(path, error.to_string(), remedy) }
    }
}

/// Refuses groups of spheres and walls with two keys that exclude each other.
///
/// This check comes before the values are read: for an override that adds `lattice.count` to a random group, the message
/// is not that `lattice.spacing` is missing.
pub(super) fn refuse_conflicts(root: &Node) -> Result<(), ParseError> {
    for (list, keys) in [("spheres", format::PLACES), ("spheres", format::MOTIONS), ("walls", format::SHAPES)]
    {
        let tables = tree::entry(root, list).and_then(|(_, list)| list.get_ref().as_array());
        for index in 0..tables.map_or(0, |tables| tables.len()) {
            at_most_one(root, &format!("{list}[{index}]"), keys)?;
        }
    }
    Ok(())
}

/// Refuses a table with two of these keys.
fn at_most_one(root: &Node, path: &str, keys: &[&str]) -> Result<(), ParseError> {
    let Some(table) = tree::node_at(root, path) else { return Ok(()) };
    let mut given = keys.iter().filter_map(|key| tree::entry(table, key));
    let (Some((first, _)), Some((second, _))) = (given.next(), given.next()) else { return Ok(()) };
    let problem = format!("{path} has both {first} and {second}");
    let remedy = format!("expected only one of {}", keys.join(", "));
    Err(ParseError::new(Some(second.span()), problem, remedy))
}

fn sink_of(sink: format::Sink, index: usize) -> Sink {
    let name = sink.name.unwrap_or_else(|| format!("sinks[{index}]"));
    Sink { min: sink.min.0, max: sink.max.0, every: sink.every, name }
}

/// Conversions between types with the same fields.
macro_rules! field_by_field {
    ($($from:ty => $to:ty { $($field:ident),* })*) => {
        $(impl From<$from> for $to {
            fn from(value: $from) -> Self {
                Self { $($field: value.$field.into()),* }
            }
        })*
    };
}

field_by_field! {
    format::World => World { dimensions, gravity, dt, steps, seed, drag }
    format::Solver => Solver { strict_order, substeps, max_initial_overlap, contact_time, sleeping }
    format::Pair => Pair {
        between, restitution, friction, rolling_friction, twisting_friction, restitution_threshold
    }
    format::Lattice => Lattice { kind, count, spacing, origin, diameter }
    format::Sphere => Placed { id, position, velocity, spin, radius, mass, material, fixed }
    format::Oscillation => Oscillation { amplitude, frequency, phase }
    format::Rotation => Rotation { point, axis, speed }
    format::Compression => Compression { rate, fraction, pressure }
}

/// Conversions between enums with the same variants.
macro_rules! variant_by_variant {
    ($($from:ident => $to:ident { $($variant:ident),* })*) => {
        $(impl From<format::$from> for $to {
            fn from(value: format::$from) -> Self {
                match value { $(format::$from::$variant => Self::$variant),* }
            }
        })*
    };
}

variant_by_variant! {
    Dimensions => Dimensions { Two, Three }
    Side => Side { Periodic, Wall, Open }
    LatticeKind => LatticeKind { Cubic, Fcc, Triangular }
}

impl From<Vector> for DVec3 {
    fn from(vector: Vector) -> Self {
        vector.0
    }
}

impl From<format::Cells> for [u64; 3] {
    fn from(cells: format::Cells) -> Self {
        cells.0
    }
}

impl From<format::Bounds> for Walls {
    fn from(bounds: format::Bounds) -> Self {
        Self {
            min: bounds.min.map(DVec3::from),
            max: bounds.max.map(DVec3::from),
            sides: [bounds.x, bounds.y, bounds.z].map(Side::from),
            material: bounds.material.0,
        }
    }
}

impl From<(String, format::Material)> for Material {
    fn from((name, material): (String, format::Material)) -> Self {
        let format::Material {
            restitution,
            friction,
            rolling_friction,
            twisting_friction,
            restitution_threshold,
            density,
        } = material;
        let surface =
            Surface { restitution, friction, rolling_friction, twisting_friction, restitution_threshold };
        Self { name, surface, density }
    }
}

impl From<format::View> for View {
    fn from(format::View { eye, target, fov, color }: format::View) -> Self {
        Self { eye: eye.map(DVec3::from), target: target.map(DVec3::from), fov, color }
    }
}
