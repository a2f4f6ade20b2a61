//! Random fills denser than sequential addition reaches: grown to size, then shaken.

use glam::DVec3;

use super::{
    dice::Dice,
    grid::{Grid, Round, Space},
    push::Crowd,
    region::MARGIN,
    scatter::{Seat, is_free, scatter},
};
use crate::{Dimensions, Plane};

/// Passes of pushing before the fill counts as full; a volume fraction of 0.50 takes about 50.
const PASSES: usize = 1000;
/// Aim of the pushes beyond contact, of the mean diameter. More takes room from the dense fills, less takes passes.
const SPARE: f64 = 2e-3;
/// Monte Carlo moves of each sphere. After 10 the pair distribution of a fill at 0.50 no longer changes.
const SWEEPS: usize = 20;

/// Finds places for the spheres of `seats` among those that are there: adds them at `scale` of their size, grows
/// and shakes them; `None` when there is no room.
///
/// `rounds` are all spheres; those without a seat are not moved. `limits` says how far each seat's may go.
pub(crate) fn crowd(
    space: Space,
    planes: &[Plane],
    dimensions: Dimensions,
    rounds: &[Round],
    seats: &[Seat],
    limits: &[(DVec3, DVec3)],
    scale: f64,
    dice: &mut Dice,
) -> Option<Vec<Round>> {
    let mut small = rounds.to_vec();
    let mut held = vec![None; rounds.len()];
    for (seat, limits) in seats.iter().zip(limits) {
        small[seat.index].radius *= scale;
        held[seat.index] = Some(*limits);
    }
    let limits_of = held;
    let mut crowd = Crowd {
        space,
        planes,
        rounds: scatter(space, planes, dimensions, small, seats, dice)?,
        limits: limits_of,
    };
    for seat in seats {
        crowd.rounds[seat.index].radius = rounds[seat.index].radius * (1.0 + 2.0 * MARGIN);
    }
    let (_, left) = crowd.push_apart(SPARE, PASSES);
    if left.count > 0 {
        return None;
    }
    for seat in seats {
        crowd.rounds[seat.index].radius = rounds[seat.index].radius;
    }
    let mut grid = Grid::of(space, crowd.rounds);
    shake(&mut grid, planes, dimensions, seats, limits, dice);
    Some(grid.into_rounds())
}

/// Metropolis moves of hard spheres: a move to a free place is taken, any other is not.
fn shake(
    grid: &mut Grid,
    planes: &[Plane],
    dimensions: Dimensions,
    seats: &[Seat],
    limits: &[(DVec3, DVec3)],
    dice: &mut Dice,
) {
    // Of the radius of the sphere; adjusted so that about four in ten moves are taken.
    let mut width = 0.3;
    for _ in 0..SWEEPS {
        let mut taken = 0;
        for (seat, (low, high)) in seats.iter().zip(limits) {
            let Round { center, radius } = grid.rounds()[seat.index];
            let mut moved = center;
            for axis in 0..dimensions.count() {
                moved[axis] += width * radius * dice.within(-1.0, 1.0);
            }
            let inside = moved.cmpge(*low).all() && moved.cmple(*high).all();
            let moved = grid.space.wrap(moved);
            if inside && is_free(grid, planes, Some(seat.index), moved, radius) {
                grid.shift(seat.index, moved);
                taken += 1;
            }
        }
        let share = taken as f64 / seats.len() as f64;
        width = (width * if share < 0.4 { 0.8 } else { 1.25 }).clamp(0.01, 1.0);
    }
}
