//! Sequential addition: one sphere after the other at a place that is free.

use glam::DVec3;

use super::{
    dice::Dice,
    grid::{Grid, Round, Space},
    region::{MARGIN, clearance},
};
use crate::{Dimensions, Plane};

/// Places tried for one sphere before the fill counts as full. At a volume fraction of 0.30 about one place in 200
/// is free, so that 20,000 in vain happen to one sphere in e^100.
const TRIES: u32 = 20_000;

/// A sphere that is to find a place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seat {
    /// Its place in the grid.
    pub index: usize,
    /// Lowest centre.
    pub low: DVec3,
    /// Highest centre.
    pub high: DVec3,
}

/// Finds places for the spheres of `seats`, one by one in their order, among the other spheres of `rounds`; `None`
/// when one finds no place.
pub(crate) fn scatter(
    space: Space,
    planes: &[Plane],
    dimensions: Dimensions,
    rounds: Vec<Round>,
    seats: &[Seat],
    dice: &mut Dice,
) -> Option<Vec<Round>> {
    let mut waits = vec![false; rounds.len()];
    let (mut low, mut high) = (DVec3::splat(f64::INFINITY), DVec3::splat(f64::NEG_INFINITY));
    for seat in seats {
        waits[seat.index] = true;
        (low, high) = (low.min(seat.low), high.max(seat.high));
    }
    for (round, _) in rounds.iter().zip(&waits).filter(|(_, waits)| !**waits) {
        (low, high) = (low.min(round.center), high.max(round.center));
    }
    let mut grid = Grid::new(space, low, high, rounds);
    for index in (0..waits.len()).filter(|&index| !waits[index]) {
        grid.insert(index);
    }
    let all_found = seats.iter().all(|seat| {
        let radius = grid.rounds()[seat.index].radius;
        for _ in 0..TRIES {
            let mut center = DVec3::ZERO;
            for axis in 0..dimensions.count() {
                center[axis] = dice.within(seat.low[axis], seat.high[axis]);
            }
            let center = grid.space.wrap(center);
            if is_free(&grid, planes, None, center, radius) {
                grid.place(seat.index, center);
                grid.insert(seat.index);
                return true;
            }
        }
        false
    });
    all_found.then(|| grid.into_rounds())
}

/// Whether a sphere at `center` (wrapped) keeps [`MARGIN`] to the planes and to all in the grid but `itself`.
#[inline]
pub(crate) fn is_free(
    grid: &Grid,
    planes: &[Plane],
    itself: Option<usize>,
    center: DVec3,
    radius: f64,
) -> bool {
    if clearance(planes, center, radius) < MARGIN * radius {
        return false;
    }
    let margin = 2.0 * MARGIN * grid.largest();
    !grid.any_near(center, radius, margin, |other, d| {
        let distance = (radius + grid.rounds()[other].radius) * (1.0 + MARGIN);
        d.length_squared() < distance * distance && Some(other) != itself
    })
}
