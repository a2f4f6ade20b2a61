//! Reads sphere files, which have one line per sphere.

mod csv;
mod write;
mod xyz;

use std::path::Path;

use glam::DVec3;

use super::{error::SceneError, parse_error::suggestion};
use crate::scene::{Material, Placed};

pub use write::write_spheres;

/// Reads the spheres of a file. Errors name the file and the line.
///
/// `.csv`: a header names the columns `id,x,y,z,vx,vy,vz,radius,mass,wx,wy,wz,fixed,material` in any order; `x`, `y` and
/// `radius` are required. `.xyz`: extended XYZ with the properties `pos` and `radius`, and optionally `id`, `velo`, `mass`,
/// `spin`, `fixed` and `species`; other properties are skipped, and so is a species that is not one of `materials`.
pub(crate) fn parse_spheres(
    path: &Path,
    bytes: &[u8],
    materials: &[Material],
) -> Result<Vec<Placed>, SceneError> {
    let name = path.display().to_string();
    let text = std::str::from_utf8(bytes)
        .map_err(|error| SceneError::invalid(format!("{name}: not a text: {error}")))?;
    let parsed = match path.extension().and_then(|e| e.to_str()) {
        Some("csv") => csv::parse(text),
        Some("xyz") => xyz::parse(text, |species| materials.iter().any(|m| m.name == species)),
        _ => return Err(SceneError::invalid(format!("{name}: spheres are read from .csv and .xyz files"))),
    };
    parsed.map_err(|(line, what)| SceneError::invalid(format!("{name}:{line}: {what}")))
}

/// The number of an invalid line, from 1, and the problem.
type BadLine = (u64, String);

/// The columns of a sphere file.
const COLUMNS: [&str; 14] =
    ["id", "x", "y", "z", "vx", "vy", "vz", "radius", "mass", "wx", "wy", "wz", "fixed", "material"];

/// Position of each of [`COLUMNS`] in a line.
struct Layout([Option<usize>; COLUMNS.len()]);

impl Layout {
    /// Reads the layout from the names of the file's columns.
    fn new<'n>(names: impl Iterator<Item = &'n str>) -> Result<Self, String> {
        let mut layout = Self([None; COLUMNS.len()]);
        for (place, name) in names.enumerate() {
            let column = COLUMNS
                .iter()
                .position(|column| *column == name)
                .ok_or_else(|| format!("unknown column `{name}`; {}", suggestion(name, &COLUMNS)))?;
            if layout.0[column].replace(place).is_some() {
                return Err(format!("there are two columns `{name}`; leave one out"));
            }
        }
        layout.complete()
    }

    fn complete(self) -> Result<Self, String> {
        match ["x", "y", "radius"].into_iter().find(|name| self.place(name).is_none()) {
            Some(name) => Err(format!("there is no column `{name}`; x, y and radius are needed")),
            None => Ok(self),
        }
    }

    fn place(&self, name: &str) -> Option<usize> {
        COLUMNS.iter().position(|column| *column == name).and_then(|column| self.0[column])
    }

    /// Reads the sphere of one line.
    fn read(&self, line: &[&str]) -> Result<Placed, String> {
        let word = |name: &str| {
            self.place(name)
                .map(|place| line.get(place).map_or("", |word| word.trim()))
                .filter(|w| !w.is_empty())
        };
        let number = |name: &str, missing: f64| match word(name) {
            Some(word) => match word.parse::<f64>() {
                Ok(value) if value.is_finite() => Ok(value),
                _ => Err(format!("{name} is {word:?}; expected a finite number")),
            },
            None => Ok(missing),
        };
        let vector = |names: [&str; 3]| {
            Ok::<_, String>(DVec3::new(
                number(names[0], 0.0)?,
                number(names[1], 0.0)?,
                number(names[2], 0.0)?,
            ))
        };
        let positive = |name: &str| match number(name, f64::NAN)? {
            value if value > 0.0 => Ok(Some(value)),
            value if value.is_nan() => Ok(None),
            value => Err(format!("{name} is {value}; expected a number > 0")),
        };
        for name in ["x", "y", "radius"] {
            word(name).ok_or_else(|| format!("{name} is missing; expected a number"))?;
        }
        let id = word("id").map(|word| {
            word.parse()
                .map_err(|_| format!("id is {word:?}; expected a whole number from 0 to {}", u32::MAX))
        });
        let fixed = match word("fixed") {
            None | Some("0" | "F" | "false") => false,
            Some("1" | "T" | "true") => true,
            Some(other) => return Err(format!("fixed is {other:?}; expected 0 or 1")),
        };
        Ok(Placed {
            id: id.transpose()?,
            position: vector(["x", "y", "z"])?,
            velocity: vector(["vx", "vy", "vz"])?,
            spin: vector(["wx", "wy", "wz"])?,
            radius: positive("radius")?.unwrap_or(f64::NAN),
            mass: positive("mass")?,
            material: word("material").map(str::to_owned),
            fixed,
        })
    }
}
