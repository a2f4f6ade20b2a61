//! Random fills that are too dense for sequential addition: spheres grow to their size, then Monte Carlo moves randomise
//! them.

use glam::DVec3;

use crate::{
    scene::{
        push::Crowd,
        rng::SeededRng,
        scatter::{Run, Site, is_free, scatter},
    },
    system::{grid::Grid, region::MARGIN, space::SphereProxy},
};

/// Passes of pushing at the inflated size. More than 100 passes no longer change the pair distribution.
const INFLATED_PASSES: usize = 100;
/// Gap at which these pushes aim, in mean diameters.
const INFLATED_SPARE: f64 = 1e-2;
/// Passes at full size, and the gap at which they aim. They have work only if walls leave little space.
const PASSES: usize = 1000;
const SPARE: f64 = 2e-3;
/// Largest inflation, for dilute fills in which sequential addition found no positions.
const MOST_INFLATED: f64 = 0.1;
/// Monte Carlo moves per sphere. For 8,000 spheres at 0.50, the pair distribution within 1% of contact is then 6.8; the
/// contact value of a fluid is 6.0. Pushing apart to contact instead of to the inflated size would give 28.
const SWEEPS: usize = 20;

/// Sizes of the growth, relative to the full size.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Growth {
    /// Size at which spheres are added.
    pub start: f64,
    /// Size to which spheres push each other apart before they get their full size, so that no pair starts in contact.
    pub inflated: f64,
}

/// As [`scatter`], for fills too dense for it: adds the spheres at a reduced size, grows them, and moves them by Monte
/// Carlo. `limits` bounds the centres of each run.
pub(crate) fn crowd(
    site: &Site,
    runs: &[Run],
    limits: &[(DVec3, DVec3)],
    growth: Growth,
    rng: &mut SeededRng,
) -> Option<Vec<SphereProxy>> {
    let small: Vec<Run> = runs.iter().map(|run| Run { radius: growth.start * run.radius, ..*run }).collect();
    let rounds = scatter(site, &small, rng)?;
    let mut crowd =
        Crowd { space: site.space, planes: site.planes, limits: vec![None; site.standing.len()], rounds };
    for (run, limits) in runs.iter().zip(limits) {
        crowd.limits.resize(crowd.limits.len() + run.count, Some(*limits));
    }
    let full: Vec<f64> = runs.iter().flat_map(|run| std::iter::repeat_n(run.radius, run.count)).collect();
    let first = site.standing.len();
    crowd.resize(first, &full, growth.inflated.min(1.0 + MOST_INFLATED));
    crowd.push_apart(INFLATED_SPARE, INFLATED_PASSES);
    crowd.resize(first, &full, 1.0 + 2.0 * MARGIN);
    let (_, left) = crowd.push_apart(SPARE, PASSES);
    if left.count > 0 {
        return None;
    }
    crowd.resize(first, &full, 1.0);
    let mut grid = Grid::of(site.space, crowd.rounds);
    shake(site, &mut grid, &crowd.limits, rng);
    Some(grid.into_rounds())
}

/// Metropolis moves of hard spheres: a move to a free position is accepted, any other is rejected. Spheres without limits do
/// not move.
fn shake(site: &Site, grid: &mut Grid, limits: &[Option<(DVec3, DVec3)>], rng: &mut SeededRng) {
    // Relative to the radius of the sphere; adjusted so that about 40% of the moves are accepted.
    let mut width = 0.3;
    for _ in 0..SWEEPS {
        let (mut tried, mut taken) = (0, 0);
        for (index, limits) in limits.iter().enumerate() {
            let Some((low, high)) = limits else { continue };
            let SphereProxy { center, radius } = grid.rounds()[index];
            let mut moved = center;
            for axis in 0..site.dimensions.count() {
                moved[axis] += width * radius * rng.within(-1.0, 1.0);
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
