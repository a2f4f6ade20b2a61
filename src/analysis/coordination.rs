//! Contacts between spheres by their distance, and spheres without enough of them.

use glam::DVec3;
use rayon::prelude::*;

use super::{CHUNK, Domain, check_length, packing::check_radii};
use crate::{
    Error,
    system::{
        grid::Grid,
        space::{Space, SphereProxy, spatial_order},
    },
};

/// Contacts of spheres.
#[derive(Clone, Debug, PartialEq)]
pub struct Coordination {
    /// Number of pairs in contact.
    pub contacts: u64,
    /// Contacts of each sphere, in the order of the input.
    pub counts: Vec<u32>,
    /// Number of spheres with 0, 1, 2, ... contacts.
    pub histogram: Vec<u64>,
    /// Contacts per sphere: twice the contacts over the spheres.
    pub mean: f64,
    /// Spheres that have fewer than the least number of contacts with spheres that are not rattlers themselves.
    pub rattlers: u64,
    /// Contacts per sphere without rattlers and their contacts; `None` if all spheres are rattlers.
    pub mean_without_rattlers: Option<f64>,
}

/// Counts the contacts of each sphere: two spheres are in contact if their distance is at most (1 + `tolerance`) times the sum of
/// their radii.
///
/// Rattlers are found by removing spheres with fewer than `least_contacts` contacts until none is left to remove. In a packing of
/// frictionless spheres a sphere needs 4 contacts in 3D and 3 in 2D to be held; with friction, 2. Walls do not count.
///
/// # Errors
/// [`Error::Invalid`] for slices of different lengths, an invalid box, a radius that is not above 0, a tolerance below 0 or
/// above 1, or a sphere whose reach exceeds half of a period, because its contacts would have several images.
pub fn coordination(
    positions: &[DVec3],
    radii: &[f64],
    domain: &Domain,
    tolerance: f64,
    least_contacts: u32,
) -> Result<Coordination, Error> {
    check_length("radii", radii.len(), positions.len())?;
    domain.check_positions(positions)?;
    check_radii(radii)?;
    if !(0.0..=1.0).contains(&tolerance) {
        return Err(Error::Invalid(format!(
            "the tolerance of contacts is {tolerance}; expected a number from 0 to 1"
        )));
    }
    let largest = radii.iter().copied().fold(0.0, f64::max);
    let reach = 2.0 * largest * (1.0 + tolerance);
    if reach > domain.half_period() {
        return Err(Error::Invalid(format!(
            "contacts reach over {reach}, more than half of a period of the box, {}",
            domain.half_period()
        )));
    }
    let neighbors = neighbors(positions, radii, domain, tolerance);
    let counts: Vec<u32> = neighbors.iter().map(|list| list.len() as u32).collect();
    let most = counts.iter().max().map_or(0, |most| *most as usize);
    let mut histogram = vec![0; if counts.is_empty() { 0 } else { most + 1 }];
    counts.iter().for_each(|count| histogram[*count as usize] += 1);
    let ends: u64 = counts.iter().map(|count| u64::from(*count)).sum();

    let mut left = counts.clone();
    let mut is_rattler = vec![false; counts.len()];
    let mut loose: Vec<usize> = (0..left.len()).filter(|k| left[*k] < least_contacts).collect();
    loose.iter().for_each(|k| is_rattler[*k] = true);
    while let Some(k) = loose.pop() {
        for other in neighbors[k].iter().map(|other| *other as usize) {
            left[other] -= 1;
            if left[other] < least_contacts && !is_rattler[other] {
                is_rattler[other] = true;
                loose.push(other);
            }
        }
    }
    let rattlers = is_rattler.iter().filter(|is| **is).count();
    let held = counts.len() - rattlers;
    // Each removed sphere took its contacts away from its neighbours.
    let held_ends: u64 =
        left.iter().zip(&is_rattler).filter(|(_, is)| !**is).map(|(n, _)| u64::from(*n)).sum();
    Ok(Coordination {
        contacts: ends / 2,
        histogram,
        mean: ends as f64 / counts.len().max(1) as f64,
        rattlers: rattlers as u64,
        mean_without_rattlers: (held > 0).then(|| held_ends as f64 / held as f64),
        counts,
    })
}

// Spheres in contact with each sphere, in no particular order.
fn neighbors(positions: &[DVec3], radii: &[f64], domain: &Domain, tolerance: f64) -> Vec<Vec<u32>> {
    let mut period = DVec3::ZERO;
    for axis in domain.axes().filter(|axis| domain.periodic[*axis]) {
        period[axis] = domain.max[axis] - domain.min[axis];
    }
    let grown = 1.0 + tolerance;
    let proxy = |(p, r): (&DVec3, &f64)| SphereProxy { center: domain.wrap(*p), radius: grown * r };
    let given: Vec<SphereProxy> = positions.iter().zip(radii).map(proxy).collect();
    let order = spatial_order(&given);
    let grid =
        Grid::of(Space::of_periods(domain.min, period), order.iter().map(|k| given[*k as usize]).collect());
    let around = |at: usize| {
        let SphereProxy { center, radius } = grid.rounds()[at];
        let mut found = vec![];
        grid.any_near(center, radius, 0.0, |other, d| {
            let reach = radius + grid.rounds()[other].radius;
            if other != at && d.length_squared() <= reach * reach {
                found.push(order[other]);
            }
            false
        });
        found
    };
    let found: Vec<Vec<u32>> =
        (0..order.len()).into_par_iter().with_min_len(CHUNK / 16).map(around).collect();
    let mut lists = vec![vec![]; found.len()];
    for (k, list) in order.iter().zip(found) {
        lists[*k as usize] = list;
    }
    lists
}
