//! The boxes of sinks and sources. After a step, sinks take the spheres in their boxes, and sources avoid the spheres near
//! theirs.
//!
//! A device tests these boxes in f32 at the end of a step and reports the spheres found, so that the host does not read
//! the whole state. The device includes every sphere near the surface of a box; the host repeats the test in f64 and
//! decides.

use crate::System;

/// A set of boxes. Boxes from number 31 on share a bit: a set holds all of them or none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BoxSet(u32);

impl BoxSet {
    /// The set of the boxes with these numbers.
    pub fn of(numbers: impl Iterator<Item = usize>) -> Self {
        Self(numbers.fold(0, |bits, number| bits | 1 << number.min(31)))
    }

    /// Bit `min(number, 31)` tells whether box `number` is in the set.
    #[cfg(feature = "gpu")]
    pub fn bits(self) -> u32 {
        self.0
    }

    #[cfg(feature = "gpu")]
    pub fn contains(self, other: Self) -> bool {
        other.0 & !self.0 == 0
    }

    #[cfg(feature = "gpu")]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// Number of the box of a source; the boxes of the sinks come first.
pub fn source_box(system: &System, source: usize) -> usize {
    system.sinks.len() + source
}
