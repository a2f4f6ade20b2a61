//! The columns of files of spheres, and the spheres of rows of text.

use glam::DVec3;

use crate::{files::parse_error::suggestion, scene::Placed};

/// Names of the columns of a file of spheres.
pub(super) const COLUMNS: [&str; 14] =
    ["id", "x", "y", "z", "vx", "vy", "vz", "radius", "mass", "wx", "wy", "wz", "fixed", "material"];

/// Indices of [`COLUMNS`]; of a vector the index of its x component.
pub(super) mod column {
    pub const ID: usize = 0;
    pub const POSITION: usize = 1;
    pub const VELOCITY: usize = 4;
    pub const RADIUS: usize = 7;
    pub const MASS: usize = 8;
    pub const SPIN: usize = 9;
    pub const FIXED: usize = 12;
    pub const MATERIAL: usize = 13;
}

/// Arrays of binary files, each with its column in [`COLUMNS`] and the number of its components.
pub(super) const ARRAYS: [(&str, usize, usize); 8] = [
    ("id", column::ID, 1),
    ("position", column::POSITION, 3),
    ("velocity", column::VELOCITY, 3),
    ("radius", column::RADIUS, 1),
    ("mass", column::MASS, 1),
    ("spin", column::SPIN, 3),
    ("fixed", column::FIXED, 1),
    ("material", column::MATERIAL, 1),
];

/// Position of each of [`COLUMNS`] in a row of text.
pub(super) struct Layout([Option<usize>; COLUMNS.len()]);

impl Layout {
    /// No column at all.
    pub fn empty() -> Self {
        Self([None; COLUMNS.len()])
    }

    /// Reads the layout from the names of the file's columns.
    pub fn new<'n>(names: impl Iterator<Item = &'n str>) -> Result<Self, String> {
        let mut layout = Self::empty();
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

    /// Says that the column of this name is the word at `place`.
    pub fn put(&mut self, name: &str, place: usize) {
        if let Some(column) = COLUMNS.iter().position(|column| *column == name) {
            self.0[column] = Some(place);
        }
    }

    /// Refuses a layout without the columns that every sphere needs.
    pub fn complete(self) -> Result<Self, String> {
        let needed = [column::POSITION, column::POSITION + 1, column::RADIUS];
        match needed.into_iter().find(|column| self.0[*column].is_none()) {
            Some(column) => {
                Err(format!("there is no column `{}`; x, y and radius are needed", COLUMNS[column]))
            }
            None => Ok(self),
        }
    }

    /// Reads the sphere of one row, whose words `word` returns by their position.
    pub fn read<'w>(&self, word: impl Fn(usize) -> Option<&'w str>) -> Result<Placed, String> {
        let word = |column: usize| {
            self.0[column].and_then(&word).map(str::trim).filter(|word: &&str| !word.is_empty())
        };
        let number = |column: usize| match word(column).map(|word| (word, word.parse::<f64>())) {
            None => Ok(0.0),
            Some((_, Ok(value))) if value.is_finite() => Ok(value),
            Some((word, _)) => Err(format!("{} is {word:?}; expected a finite number", COLUMNS[column])),
        };
        let vector = |x: usize| Ok::<_, String>(DVec3::new(number(x)?, number(x + 1)?, number(x + 2)?));
        for needed in [column::POSITION, column::POSITION + 1, column::RADIUS] {
            word(needed).ok_or_else(|| format!("{} is missing; expected a number", COLUMNS[needed]))?;
        }
        let id = word(column::ID).map(|word| {
            word.parse()
                .map_err(|_| format!("id is {word:?}; expected a whole number from 0 to {}", u32::MAX))
        });
        let fixed = match word(column::FIXED) {
            None | Some("0" | "F" | "false") => false,
            Some("1" | "T" | "true") => true,
            Some(other) => return Err(format!("fixed is {other:?}; expected 0 or 1")),
        };
        let placed = Placed {
            id: id.transpose()?,
            position: vector(column::POSITION)?,
            velocity: vector(column::VELOCITY)?,
            spin: vector(column::SPIN)?,
            radius: number(column::RADIUS)?,
            mass: word(column::MASS).map(|_| number(column::MASS)).transpose()?,
            material: word(column::MATERIAL).map(str::to_owned),
            fixed,
        };
        check_sizes(&placed)?;
        Ok(placed)
    }
}

/// Refuses a sphere whose radius or mass is not above 0.
pub(super) fn check_sizes(sphere: &Placed) -> Result<(), String> {
    for (name, value) in [("radius", Some(sphere.radius)), ("mass", sphere.mass)] {
        match value {
            Some(value) if value.is_nan() || value <= 0.0 => {
                return Err(format!("{name} is {value}; expected a number > 0"));
            }
            _ => {}
        }
    }
    Ok(())
}
