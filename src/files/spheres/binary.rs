//! Numbers in the bytes of binary files, and the spheres that they describe.

use std::borrow::Cow;

use glam::DVec3;

use super::columns::{COLUMNS, check_sizes, column};
use crate::scene::Placed;

/// Type of a number in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    F32,
    F64,
}

impl Kind {
    /// Size in bytes.
    pub fn size(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
        }
    }

    /// The value of the number in these bytes, whose length is [`size`](Self::size).
    fn value(self, bytes: &[u8], is_big_endian: bool) -> f64 {
        fn array<const N: usize>(bytes: &[u8], is_big_endian: bool) -> [u8; N] {
            let mut array = [0; N];
            array.copy_from_slice(&bytes[..N]);
            if is_big_endian {
                array.reverse();
            }
            array
        }
        let big = is_big_endian;
        match self {
            Self::I8 => f64::from(bytes[0] as i8),
            Self::U8 => f64::from(bytes[0]),
            Self::I16 => f64::from(i16::from_le_bytes(array(bytes, big))),
            Self::U16 => f64::from(u16::from_le_bytes(array(bytes, big))),
            Self::I32 => f64::from(i32::from_le_bytes(array(bytes, big))),
            Self::U32 => f64::from(u32::from_le_bytes(array(bytes, big))),
            // Ids above 2^53 lose digits, but they are out of range anyway.
            Self::I64 => i64::from_le_bytes(array(bytes, big)) as f64,
            Self::U64 => u64::from_le_bytes(array(bytes, big)) as f64,
            Self::F32 => f64::from(f32::from_le_bytes(array(bytes, big))),
            Self::F64 => f64::from_le_bytes(array(bytes, big)),
        }
    }
}

/// A column of numbers at equal distances in some bytes.
#[derive(Clone)]
pub(super) struct Numbers<'b> {
    pub bytes: Cow<'b, [u8]>,
    /// Position of the first number.
    pub start: usize,
    /// Bytes from one number to the next.
    pub stride: usize,
    pub kind: Kind,
    pub is_big_endian: bool,
}

impl Numbers<'_> {
    /// Whether the bytes hold this many numbers.
    fn holds(&self, count: usize) -> bool {
        let Some(last) = count.checked_sub(1) else { return true };
        let end = last.checked_mul(self.stride).and_then(|at| at.checked_add(self.start + self.kind.size()));
        end.is_some_and(|end| end <= self.bytes.len())
    }

    /// The number at an index below the count that the bytes hold.
    pub fn get(&self, index: usize) -> f64 {
        let at = self.start + index * self.stride;
        self.kind.value(&self.bytes[at..at + self.kind.size()], self.is_big_endian)
    }
}

/// The columns of a binary file.
#[derive(Default)]
pub(super) struct Columns<'b> {
    found: [Option<Numbers<'b>>; COLUMNS.len()],
    /// Names of the materials, if the file has a list of them.
    pub materials: Option<Vec<String>>,
}

impl<'b> Columns<'b> {
    /// Sets a column; the x component of a vector is followed by the others.
    pub fn put(&mut self, column: usize, numbers: Numbers<'b>) {
        self.found[column] = Some(numbers);
    }

    /// Sets the column of this name, if there is such a column.
    pub fn put_named(&mut self, name: &str, numbers: Numbers<'b>) {
        if let Some(column) = COLUMNS.iter().position(|column| *column == name) {
            self.put(column, numbers);
        }
    }

    /// Reads the spheres. All columns are checked against their bytes first, so a wrong count allocates nothing.
    pub fn spheres(&self, count: u64) -> Result<Vec<Placed>, String> {
        for needed in [column::POSITION, column::POSITION + 1, column::RADIUS] {
            if self.found[needed].is_none() {
                return Err(format!("there is no {}; x, y and radius are needed", COLUMNS[needed]));
            }
        }
        let count = usize::try_from(count).ok().filter(|count| {
            self.found.iter().flatten().all(|numbers| numbers.stride > 0 && numbers.holds(*count))
        });
        let count = count.ok_or("the file ends before its last sphere")?;
        // At least three bytes of the file stand behind each sphere.
        let mut spheres = Vec::with_capacity(count);
        for index in 0..count {
            spheres.push(self.sphere(index).map_err(|what| format!("sphere {index}: {what}"))?);
        }
        Ok(spheres)
    }

    fn sphere(&self, index: usize) -> Result<Placed, String> {
        let given = |column: usize| self.found[column].as_ref().map(|numbers| numbers.get(index));
        let number = |column: usize| match given(column).unwrap_or(0.0) {
            value if value.is_finite() => Ok(value),
            value => Err(format!("{} is {value}; expected a finite number", COLUMNS[column])),
        };
        let vector = |x: usize| Ok::<_, String>(DVec3::new(number(x)?, number(x + 1)?, number(x + 2)?));
        let whole = |column: usize, largest: u32| match given(column) {
            None => Ok(None),
            Some(value) if (0.0..=f64::from(largest)).contains(&value) && value.fract() == 0.0 => {
                Ok(Some(value as u32))
            }
            Some(value) => {
                let name = COLUMNS[column];
                Err(format!("{name} is {value}; expected a whole number from 0 to {largest}"))
            }
        };
        let material =
            match (&self.materials, whole(column::MATERIAL, u32::from(u16::MAX))?) {
                (_, None) => None,
                (None, Some(index)) => Some(index.to_string()),
                (Some(names), Some(index)) => Some(names.get(index as usize).cloned().ok_or_else(|| {
                    format!("material is {index}; the file names {} materials", names.len())
                })?),
            };
        let sphere = Placed {
            id: whole(column::ID, u32::MAX)?,
            position: vector(column::POSITION)?,
            velocity: vector(column::VELOCITY)?,
            spin: vector(column::SPIN)?,
            radius: number(column::RADIUS)?,
            mass: given(column::MASS).map(|_| number(column::MASS)).transpose()?,
            material,
            fixed: whole(column::FIXED, 1)? == Some(1),
        };
        check_sizes(&sphere)?;
        Ok(sphere)
    }
}
