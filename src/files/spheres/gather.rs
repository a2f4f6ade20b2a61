//! Gathers the quantities of spheres into the columns of binary files.

use glam::DVec3;

use super::table::Table;
use crate::Sphere;

/// A column of a binary file.
pub(super) struct Column {
    pub name: &'static str,
    pub kind: ColumnKind,
    /// Appends the values of these spheres, little-endian.
    append: fn(&mut Vec<u8>, &[Sphere]),
}

/// Type of the values of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ColumnKind {
    Byte,
    Short,
    Id,
    Number,
    Vector,
}

impl ColumnKind {
    /// Bytes of a value.
    pub fn size(self) -> usize {
        match self {
            Self::Byte => 1,
            Self::Short => 2,
            Self::Id => 4,
            Self::Number => 8,
            Self::Vector => 24,
        }
    }
}

// One loop for each column, without a call for each value.
fn all<const N: usize>(bytes: &mut Vec<u8>, spheres: &[Sphere], value: impl Fn(&Sphere) -> [u8; N]) {
    let from = bytes.len();
    bytes.resize(from + N * spheres.len(), 0);
    let places = bytes[from..].chunks_exact_mut(N);
    places.zip(spheres).for_each(|(place, sphere)| place.copy_from_slice(&value(sphere)));
}

fn vectors(bytes: &mut Vec<u8>, spheres: &[Sphere], vector: impl Fn(&Sphere) -> DVec3) {
    all(bytes, spheres, |sphere| {
        let mut value = [0; 24];
        for (place, x) in value.chunks_exact_mut(8).zip(vector(sphere).to_array()) {
            place.copy_from_slice(&x.to_le_bytes());
        }
        value
    });
}

/// Every column that a state may need; `position` is the first.
const COLUMNS: [Column; 8] = [
    Column { name: "position", kind: ColumnKind::Vector, append: |b, s| vectors(b, s, |s| s.position) },
    Column { name: "id", kind: ColumnKind::Id, append: |b, s| all(b, s, |s| s.id.to_le_bytes()) },
    Column { name: "radius", kind: ColumnKind::Number, append: |b, s| all(b, s, |s| s.radius.to_le_bytes()) },
    Column { name: "velocity", kind: ColumnKind::Vector, append: |b, s| vectors(b, s, |s| s.velocity) },
    Column { name: "spin", kind: ColumnKind::Vector, append: |b, s| vectors(b, s, |s| s.spin) },
    Column { name: "mass", kind: ColumnKind::Number, append: |b, s| all(b, s, |s| s.mass.to_le_bytes()) },
    Column {
        name: "material",
        kind: ColumnKind::Short,
        append: |b, s| all(b, s, |s| s.material.to_le_bytes()),
    },
    Column { name: "fixed", kind: ColumnKind::Byte, append: |b, s| all(b, s, |s| [u8::from(s.fixed)]) },
];

/// Spheres whose columns are gathered together. They stay in a cache of 512 KiB, so the memory is read once, not once for
/// each column.
const CHUNK: usize = 4096;

/// The columns that are known and needed: those whose values are all the same are left out, as in the other formats.
pub(super) fn needed(table: &Table) -> Vec<Column> {
    let is_needed = |name: &str| match name {
        "mass" => table.has_mass,
        "spin" => table.has_spin,
        "material" => table.has_material,
        "fixed" => table.has_fixed,
        _ => true,
    };
    COLUMNS.into_iter().filter(|column| is_needed(column.name)).collect()
}

/// The bytes of each column.
pub(super) fn gather(spheres: &[Sphere], columns: &[Column]) -> Vec<Vec<u8>> {
    let room = |column: &Column| Vec::with_capacity(column.kind.size() * spheres.len());
    let mut gathered: Vec<Vec<u8>> = columns.iter().map(room).collect();
    for chunk in spheres.chunks(CHUNK) {
        for (column, bytes) in columns.iter().zip(&mut gathered) {
            (column.append)(bytes, chunk);
        }
    }
    gathered
}
