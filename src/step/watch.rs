//! The boxes of sinks and sources. After a step, sinks take the spheres in their boxes, and sources avoid the spheres near
//! theirs.
//!
//! A device tests these boxes in f32 at the end of a step and reports the spheres found, so that the host does not read
//! the whole state. The device includes every sphere near the surface of a box; the host repeats the test in f64 and
//! decides.

use glam::DVec3;

use crate::{
    Dimensions, System,
    system::{region::Region, space::Space},
};

/// How much larger the box of a source is than the positions that the source tests, relative to a radius.
const SPARE: f64 = 0.01;

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

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// Number of the box of a source; the boxes of the sinks come first.
pub fn source_box(system: &System, source: usize) -> usize {
    system.sinks.len() + source
}

/// A box in which an engine looks for spheres, in the user's units. Components may be infinite.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(not(feature = "gpu"), expect(dead_code, reason = "only a device tests boxes"))]
pub struct WatchBox {
    pub low: DVec3,
    pub high: DVec3,
    /// Distance in radii from which a sphere counts as inside.
    pub reach: f64,
}

/// The boxes of all sinks, then of all sources.
#[cfg_attr(not(feature = "gpu"), expect(dead_code, reason = "only a device tests boxes"))]
pub fn boxes(system: &System) -> Vec<WatchBox> {
    let is_flat = system.dimensions == Dimensions::Two;
    let flat = |x: DVec3, z: f64| if is_flat { x.with_z(z) } else { x };
    let make = |low: DVec3, high: DVec3, reach| WatchBox {
        low: flat(low, f64::NEG_INFINITY),
        high: flat(high, f64::INFINITY),
        reach,
    };
    let space = Space::new(system);
    let sinks = system.sinks.iter().map(|sink| make(sink.min, sink.max, 0.0));
    let sources = system.sources.iter().map(|source| {
        let region = Region::new(system, Some((source.min, source.max)));
        let middle = space.wrap(0.5 * (region.low + region.high));
        let half = 0.5 * (region.high - region.low) + SPARE * source.largest_radius();
        make(middle - half, middle + half, 1.0 + SPARE)
    });
    sinks.chain(sources).collect()
}
