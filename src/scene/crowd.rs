//! Random fills denser than sequential addition reaches: grown to size, then shaken.

use glam::DVec3;

use super::{
    dice::Dice,
    grid::{Grid, Round},
    push::Crowd,
    region::MARGIN,
    scatter::{Run, Site, is_free, scatter},
};

/// Passes of pushing before the fill counts as full; a volume fraction of 0.50 takes about 50.
const PASSES: usize = 1000;
/// Aim of the pushes beyond contact, of the mean diameter. More takes room from the dense fills, less takes passes.
const SPARE: f64 = 2e-3;
/// Monte Carlo moves of each sphere. After 10 the pair distribution of a fill at 0.50 no longer changes.
const SWEEPS: usize = 20;

/// As [`scatter`], for fills too dense for it: adds the spheres at `scale` of their size, grows them and shakes them.
/// `limits` says how far the centres of each run may go.
pub(crate) fn crowd(
    site: &Site,
    runs: &[Run],
    limits: &[(DVec3, DVec3)],
    scale: f64,
    dice: &mut Dice,
) -> Option<Vec<Round>> {
    let small: Vec<Run> = runs.iter().map(|run| Run { radius: scale * run.radius, ..*run }).collect();
    let rounds = scatter(site, &small, dice)?;
    let mut crowd =
        Crowd { space: site.space, planes: site.planes, limits: vec![None; site.standing.len()], rounds };
    for (run, limits) in runs.iter().zip(limits) {
        crowd.limits.resize(crowd.limits.len() + run.count, Some(*limits));
    }
    let full: Vec<f64> = runs.iter().flat_map(|run| std::iter::repeat_n(run.radius, run.count)).collect();
    let first = site.standing.len();
    for (round, radius) in crowd.rounds[first..].iter_mut().zip(&full) {
        round.radius = radius * (1.0 + 2.0 * MARGIN);
    }
    let (_, left) = crowd.push_apart(SPARE, PASSES);
    if left.count > 0 {
        return None;
    }
    for (round, radius) in crowd.rounds[first..].iter_mut().zip(full) {
        round.radius = radius;
    }
    let mut grid = Grid::of(site.space, crowd.rounds);
    shake(site, &mut grid, &crowd.limits, dice);
    Some(grid.into_rounds())
}

/// Metropolis moves of hard spheres: a move to a free place is taken, any other is not. Spheres without limits are
/// held.
fn shake(site: &Site, grid: &mut Grid, limits: &[Option<(DVec3, DVec3)>], dice: &mut Dice) {
    // Of the radius of the sphere; adjusted so that about four in ten moves are taken.
    let mut width = 0.3;
    for _ in 0..SWEEPS {
        let (mut tried, mut taken) = (0, 0);
        for (index, limits) in limits.iter().enumerate() {
            let Some((low, high)) = limits else { continue };
            let Round { center, radius } = grid.rounds()[index];
            let mut moved = center;
            for axis in 0..site.dimensions.count() {
                moved[axis] += width * radius * dice.within(-1.0, 1.0);
            }
            let inside = moved.cmpge(*low).all() && moved.cmple(*high).all();
            let moved = site.space.wrap(moved);
            tried += 1;
            if inside && is_free(grid, site.planes, Some(index), moved, radius) {
                grid.shift(index, moved);
                taken += 1;
            }
        }
        let share = f64::from(taken) / f64::from(tried);
        width = (width * if share < 0.4 { 0.8 } else { 1.25 }).clamp(0.01, 1.0);
    }
}
