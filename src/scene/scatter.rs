//! Random sequential addition: places spheres one after the other at random free positions.

use glam::DVec3;
use rayon::prelude::*;

use crate::{
    Dimensions, Plane, WallShape,
    scene::rng::SeededRng,
    system::{
        grid::Grid,
        region::{MARGIN, clearance},
        space::{Space, SphereProxy, corners, spatial_order},
        wall::Nearby,
    },
};

/// Positions tried per sphere, averaged over a run, before the fill counts as full. A volume fraction of 0.30 needs about
/// 100.
const TRIES: usize = 2000;
/// Additional tries, for runs of few spheres.
const SPARE_TRIES: usize = 100_000;
/// Consecutive positions without a free one after which a fill counts as full: where one in a thousand is free, a run of so
/// many has a probability of e^-200.
const DRY_TRIES: usize = 200_000;
/// Positions drawn in a batch.
const BATCH: usize = 1 << 20;

/// Spheres of one radius to place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    pub radius: f64,
    pub count: usize,
    /// Lowest centre.
    pub low: DVec3,
    /// Highest centre.
    pub high: DVec3,
    /// Index of the enclosing vessel in the site's vessels.
    pub vessel: Option<usize>,
}

/// Obstacles of a fill.
#[derive(Clone, Copy)]
pub(crate) struct Site<'a> {
    pub space: Space,
    pub dimensions: Dimensions,
    pub planes: &'a [Plane],
    /// All other walls that exist at the start.
    pub walls: &'a [Nearby<'a>],
    /// Walls that enclose fills.
    pub vessels: &'a [WallShape],
    /// Spheres already placed.
    pub standing: &'a [SphereProxy],
}

impl Site<'_> {
    /// Whether a sphere keeps the distance [`MARGIN`] from walls other than planes at rest.
    pub fn is_clear(&self, center: DVec3, radius: f64) -> bool {
        let room = radius * (1.0 + MARGIN);
        self.walls.iter().all(|wall| wall.within(center, room).is_none())
    }
}

/// Finds positions for the spheres of `runs`, run after run; each position is drawn uniformly until one is free. Returns the
/// existing spheres followed by those of the runs; `None` if there is not enough space.
///
/// Positions are drawn and tested in batches. The result equals that of one draw after the other: positions that the
/// existing spheres leave free are accepted in the order in which they were drawn.
pub(crate) fn scatter(site: &Site, runs: &[Run], rng: &mut SeededRng) -> Option<Vec<SphereProxy>> {
    let mut grid = empty_grid(site, runs);
    for run in runs {
        let start = grid.rounds().len();
        let end = start + run.count;
        let mut sorted = start;
        let (mut tried, mut dry) = (0, 0);
        let mut share: f64 = 1.0;
        while grid.rounds().len() < end {
            let missing = end - grid.rounds().len();
            let batch = ((1.1 * missing as f64 / share) as usize + 64).min(BATCH);
            let free = draw(site, &grid, run, batch, rng);
            let taken = settle(site, run, &free, missing);
            share = (taken.len() as f64 / batch as f64).max(1e-4);
            let taken_any = !taken.is_empty();
            for center in taken {
                grid.push(SphereProxy { center, radius: run.radius });
            }
            tried += batch;
            dry = if taken_any { 0 } else { dry + batch };
            let now = grid.rounds().len();
            if now < end && (tried > TRIES * run.count + SPARE_TRIES || dry > DRY_TRIES) {
                return None;
            }
            if now == end || now - start > 2 * (sorted - start) {
                grid.sort_from(start);
                sorted = now;
            }
        }
    }
    Some(grid.into_rounds())
}

/// A grid with capacity for all spheres, filled with the existing ones.
fn empty_grid(site: &Site, runs: &[Run]) -> Grid {
    let (mut low, mut high) = corners(site.standing);
    let mut radii: Vec<f64> = site.standing.iter().map(|round| round.radius).collect();
    for run in runs {
        (low, high) = (low.min(run.low), high.max(run.high));
        radii.resize(radii.len() + run.count, run.radius);
    }
    let mut grid = Grid::new(site.space, low, high, radii);
    grid.hold(site.standing.to_vec());
    grid
}

/// Draws positions and returns the free ones, in the order in which they were drawn.
fn draw(site: &Site, grid: &Grid, run: &Run, count: usize, rng: &mut SeededRng) -> Vec<DVec3> {
    let drawn: Vec<SphereProxy> = (0..count)
        .map(|_| {
            let mut center = DVec3::ZERO;
            for axis in 0..site.dimensions.count() {
                center[axis] = rng.within(run.low[axis], run.high[axis]);
            }
            SphereProxy { center: site.space.wrap(center), radius: run.radius }
        })
        .collect();
    let mut free: Vec<u32> = spatial_order(&drawn)
        .into_par_iter()
        .filter(|&at| {
            let center = drawn[at as usize].center;
            run.vessel.is_none_or(|k| site.vessels[k].holds(center, run.radius * (1.0 + MARGIN)))
                && site.is_clear(center, run.radius)
        })
        .filter(|&at| is_free(grid, site.planes, None, drawn[at as usize].center, run.radius))
        .collect();
    free.par_sort_unstable();
    free.into_iter().map(|at| drawn[at as usize].center).collect()
}

/// Removes positions that overlap earlier ones; keeps at most `most`.
fn settle(site: &Site, run: &Run, free: &[DVec3], most: usize) -> Vec<DVec3> {
    let rounds: Vec<SphereProxy> =
        free.iter().map(|&center| SphereProxy { center, radius: run.radius }).collect();
    let order = spatial_order(&rounds);
    let mut place = vec![0; order.len()];
    for (at, &drawn) in order.iter().enumerate() {
        place[drawn as usize] = at;
    }
    let grid = Grid::of(site.space, order.iter().map(|&drawn| rounds[drawn as usize]).collect());
    let mut blocked = vec![false; rounds.len()];
    let mut taken = vec![];
    for (&center, &at) in free.iter().zip(&place) {
        if blocked[at] {
            continue;
        }
        taken.push(center);
        if taken.len() == most {
            break;
        }
        let distance = 2.0 * run.radius * (1.0 + MARGIN);
        grid.any_near(center, run.radius, 2.0 * MARGIN * run.radius, |other, d| {
            blocked[other] |= d.length_squared() < distance * distance;
            false
        });
    }
    taken
}

/// Whether a sphere at `center` (wrapped) keeps the distance [`MARGIN`] from planes and from all spheres but `itself`.
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
