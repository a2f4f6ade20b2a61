//! The mean-square displacement over time.

use std::collections::HashMap;

use glam::DVec3;
use rayon::prelude::*;

use super::{CHUNK, Domain};
use crate::Error;

/// Relative difference of time intervals up to which states count as evenly spaced.
const EVEN: f64 = 1e-6;

/// Positions of spheres at one time.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    /// Time of the state.
    pub time: f64,
    /// Id of each sphere, unique.
    pub ids: Vec<u32>,
    /// Centre of each sphere (length).
    pub positions: Vec<DVec3>,
}

/// Mean-square displacement of spheres.
#[derive(Clone, Debug, PartialEq)]
pub struct Displacement {
    /// One point for each time lag, in ascending order; the first has lag 0.
    pub points: Vec<DisplacementPoint>,
    /// Spheres that are present in all states; the others do not count.
    pub sphere_count: usize,
    /// Whether each point is the mean over all pairs of states with its lag, because the states are evenly spaced. Otherwise each
    /// point compares a state with the first one.
    pub averages_origins: bool,
    /// Largest displacement along a periodic axis between two successive states, in periods; 0 without periodic axes. The true
    /// displacement may be larger by whole periods. Values near 1/2 mean that states are too far apart to unwrap the paths.
    pub largest_jump: f64,
}

/// Displacements over one time lag.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DisplacementPoint {
    /// Time between the compared states.
    pub lag: f64,
    /// Pairs of states that were compared.
    pub origins: usize,
    /// Mean squares of the displacements along x, y and z (length^2).
    pub squares: DVec3,
}

impl DisplacementPoint {
    /// Mean-square displacement (length^2).
    pub fn total(&self) -> f64 {
        self.squares.element_sum()
    }
}

/// A line through part of a mean-square displacement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Diffusion {
    /// Diffusion coefficient (length^2/time): the slope of the line over twice the number of dimensions.
    pub coefficient: f64,
    /// Shortest and longest lag of the fit.
    pub lags: [f64; 2],
    /// Slope of the logarithm of the displacement over the logarithm of the lag: 1 where spheres diffuse, 2 where they fly freely.
    pub exponent: f64,
}

impl Displacement {
    /// Fits a line to the points with lags between the shares `from` and `to` of the longest lag, by least squares. `None` for
    /// fewer than three points, or if a displacement is 0.
    ///
    /// The slope is a diffusion coefficient only if the [`exponent`](Diffusion::exponent) is close to 1. Long lags have few
    /// independent origins, so `to` should stay well below 1.
    pub fn diffusion(&self, from: f64, to: f64, dimensions: crate::Dimensions) -> Option<Diffusion> {
        let longest = self.points.last()?.lag;
        let is_in = |p: &&DisplacementPoint| p.lag > 0.0 && p.lag >= from * longest && p.lag <= to * longest;
        let used: Vec<&DisplacementPoint> = self.points.iter().filter(is_in).collect();
        if used.len() < 3 || used.iter().any(|p| p.total() <= 0.0) {
            return None;
        }
        let slope = |x: &dyn Fn(&DisplacementPoint) -> f64, y: &dyn Fn(&DisplacementPoint) -> f64| {
            let count = used.len() as f64;
            let mean_x = used.iter().map(|p| x(p)).sum::<f64>() / count;
            let mean_y = used.iter().map(|p| y(p)).sum::<f64>() / count;
            let along: f64 = used.iter().map(|p| (x(p) - mean_x) * (y(p) - mean_y)).sum();
            along / used.iter().map(|p| (x(p) - mean_x).powi(2)).sum::<f64>()
        };
        Some(Diffusion {
            coefficient: slope(&|p| p.lag, &DisplacementPoint::total) / (2 * dimensions.count()) as f64,
            lags: [used[0].lag, used[used.len() - 1].lag],
            exponent: slope(&|p| p.lag.ln(), &|p| p.total().ln()),
        })
    }
}

/// Mean-square displacement of the spheres that are present in all states.
///
/// Across periodic axes the path of a sphere between two successive states is the shortest one. That is the true path if no
/// sphere moves by half a period or more between two states; see [`Displacement::largest_jump`].
///
/// `domains` has the box of each state, or a single box for all. The positions may lie outside the box (unwrapped paths).
///
/// # Errors
/// [`Error::Invalid`] for fewer than two states, times that do not increase, an id that occurs twice, no common sphere, or a
/// position that is not finite.
pub fn mean_square_displacement(states: &[Snapshot], domains: &[Domain]) -> Result<Displacement, Error> {
    let invalid = |text: String| Err(Error::Invalid(text));
    if states.len() < 2 {
        return invalid(format!("a displacement needs at least two states; there are {}", states.len()));
    }
    if domains.len() != 1 && domains.len() != states.len() {
        return invalid(format!(
            "{} boxes for {} states; expected one, or one each",
            domains.len(),
            states.len()
        ));
    }
    if let Some(pair) = states.windows(2).find(|pair| pair[0].time.total_cmp(&pair[1].time).is_ge()) {
        return invalid(format!(
            "a state at time {} follows a state at time {}; expected increasing times",
            pair[1].time, pair[0].time
        ));
    }
    let places = common_places(states)?;
    let sphere_count = places.len() / states.len();
    if sphere_count == 0 {
        return invalid("no id occurs in all states, so no displacement can be measured".to_owned());
    }
    let domain = |k: usize| &domains[if domains.len() == 1 { 0 } else { k }];
    domains
        .iter()
        .try_for_each(|domain| if domain.periodic.contains(&true) { domain.check() } else { Ok(()) })?;

    // Unwrapped paths relative to the start, sphere by sphere.
    let count = states.len();
    let mut jumps = vec![0.0; sphere_count];
    let mut paths = vec![DVec3::ZERO; places.len()];
    let unwrap = |((path, places), jump): ((&mut [DVec3], &[u32]), &mut f64)| {
        let at = |k: usize| states[k].positions[places[k] as usize];
        for k in 1..count {
            let step = domain(k).separation(at(k), at(k - 1));
            path[k] = path[k - 1] + step;
            for axis in domain(k).axes().filter(|axis| domain(k).periodic[*axis]) {
                let period = domain(k).max[axis] - domain(k).min[axis];
                *jump = f64::max(*jump, step[axis].abs() / period);
            }
        }
    };
    paths.par_chunks_mut(count).zip(places.par_chunks(count)).zip(jumps.par_iter_mut()).for_each(unwrap);
    if let Some(k) = paths.iter().position(|p| !p.is_finite()) {
        let id = states[0].ids[places[k / count * count] as usize];
        return invalid(format!("sphere {id} has a position that is not finite"));
    }

    let first = states[0].time;
    let interval = (states[count - 1].time - first) / (count - 1) as f64;
    let is_even = |k: usize| (states[k].time - first - interval * k as f64).abs() <= EVEN * interval;
    let averages_origins = (0..count).all(is_even);
    let square = |d: DVec3| d * d;
    let of_lag = |lag: usize| {
        let origins = if averages_origins { count - lag } else { 1 };
        let of_sphere = |path: &[DVec3]| {
            (0..origins).map(|k| square(path[k + lag] - path[k])).sum::<DVec3>() / origins as f64
        };
        let chunks = paths.par_chunks(count * (CHUNK / count).max(1));
        let sums: Vec<DVec3> = chunks.map(|chunk| chunk.chunks(count).map(of_sphere).sum()).collect();
        let squares = sums.into_iter().sum::<DVec3>() / sphere_count as f64;
        DisplacementPoint { lag: states[lag].time - first, origins, squares }
    };
    let points = (0..count).map(of_lag).collect();
    let largest_jump = jumps.into_iter().fold(0.0, f64::max);
    Ok(Displacement { points, sphere_count, averages_origins, largest_jump })
}

// For each sphere that is present in all states, its place in each state.
fn common_places(states: &[Snapshot]) -> Result<Vec<u32>, Error> {
    let mut found: HashMap<u32, Vec<u32>> = HashMap::new();
    for (k, state) in states.iter().enumerate() {
        super::check_length("positions", state.positions.len(), state.ids.len())?;
        for (place, id) in (0..).zip(&state.ids) {
            let places = found.entry(*id).or_default();
            if places.len() > k {
                let time = state.time;
                return Err(Error::Invalid(format!("sphere {id} occurs twice in the state at time {time}")));
            }
            if places.len() == k {
                places.push(place);
            }
        }
        // A sphere that is missing once does not come back.
        found.retain(|_, places| places.len() == k + 1);
    }
    let mut all: Vec<(u32, Vec<u32>)> = found.into_iter().collect();
    all.sort_unstable_by_key(|(id, _)| *id);
    Ok(all.into_iter().flat_map(|(_, places)| places).collect())
}
