//! Random fills denser than sequential addition reaches: grown to size, then shaken.

use glam::DVec3;

use crate::{
    scene::{
        push::Crowd,
        rng::SeededRng,
        scatter::{Run, Site, is_free, scatter},
    },
    system::{grid::Grid, region::MARGIN, space::SphereProxy},
};

/// Passes of pushing at the inflated size. More than 100 change the pair distribution no further.
const INFLATED_PASSES: usize = 100;
/// Aim of these pushes beyond contact, in mean diameters.
const INFLATED_SPARE: f64 = 1e-2;
/// The same for the pushes at full size, which have nothing left to do unless walls make it tight.
const PASSES: usize = 1000;
const SPARE: f64 = 2e-3;
/// Largest inflation, for fills that are thin and yet found no places one by one.
const MOST_INFLATED: f64 = 0.1;
/// Monte Carlo moves of each sphere. Of 8,000 spheres at 0.50, the pair distribution within 1% of contact is then 6.8,
/// where a fluid's contact value is 6.0; pushed apart to contact instead of to the inflated size, it would be 28.
const SWEEPS: usize = 20;

/// How a dense fill goes about it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Growth {
    /// Of the size at which spheres are added.
    pub start: f64,
    /// Of the size to which they push each other apart before they get their own, so that none starts in contact.
    pub inflated: f64,
}

/// As [`scatter`], for fills too dense for it: adds the spheres at a part of their size, grows them and shakes them.
/// `limits` says how far the centres of each run may go.
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

/// Metropolis moves of hard spheres: a move to a free place is taken, any other is not. Spheres without limits are
/// held.
fn shake(site: &Site, grid: &mut Grid, limits: &[Option<(DVec3, DVec3)>], rng: &mut SeededRng) {
    // Of the radius of the sphere; adjusted so that about four in ten moves are taken.
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
