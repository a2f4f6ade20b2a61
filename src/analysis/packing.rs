//! The packing fraction of a box and its profile along an axis.

use glam::DVec3;
use rayon::prelude::*;

use super::{CHUNK, Domain, check_bins, check_length, volume_in_box};
use crate::Error;

/// Share of the box that spheres fill; in 2D, share of the area.
///
/// On a periodic axis a sphere counts in full; on other axes only its part inside the box counts (see
/// [`volume_in_box`](super::volume_in_box)). Where spheres overlap, the overlap counts twice.
///
/// # Errors
/// [`Error::Invalid`] for slices of different lengths, an invalid box, or a radius that is not above 0.
pub fn packing_fraction(positions: &[DVec3], radii: &[f64], domain: &Domain) -> Result<f64, Error> {
    check(positions, radii, domain)?;
    let (min, max) = open_faces(domain);
    let volume = |(p, r): (&DVec3, &f64)| volume_in_box(*p, *r, min, max, domain.dimensions);
    let chunks = positions.par_chunks(CHUNK).zip(radii.par_chunks(CHUNK));
    let sums: Vec<f64> = chunks.map(|(p, r)| p.iter().zip(r).map(volume).sum()).collect();
    Ok(sums.iter().sum::<f64>() / domain.volume())
}

/// Packing fractions of `bins` equal slabs of the box, from the lower end of `axis` (0, 1 or 2) to its upper end. The volume of a
/// sphere in a slab is exact where the sphere crosses no face of another axis that is not periodic.
///
/// # Errors
/// The errors of [`packing_fraction`]; [`Error::Invalid`] also for an axis that is not used.
pub fn packing_profile(
    positions: &[DVec3],
    radii: &[f64],
    domain: &Domain,
    axis: usize,
    bins: usize,
) -> Result<Vec<f64>, Error> {
    check(positions, radii, domain)?;
    check_bins(bins)?;
    if axis >= domain.dimensions.count() {
        return Err(Error::Invalid(format!("axis {axis} of a box with {} axes", domain.dimensions.count())));
    }
    let (low, length) = (domain.min[axis], domain.max[axis] - domain.min[axis]);
    let width = length / bins as f64;
    let (min, max) = open_faces(domain);
    let add = |sums: &mut Vec<f64>, center: DVec3, radius: f64| {
        let place = |x: f64| ((x - low) / width).floor();
        // Slabs outside the box, up to those of the nearest images, stand for slabs inside on a periodic axis.
        let (first, last) = (place(center[axis] - radius) as i64, place(center[axis] + radius) as i64);
        let (first, last) =
            if domain.periodic[axis] { (first, last) } else { (first.max(0), last.min(bins as i64 - 1)) };
        for slab in first..=last {
            let (mut min, mut max) = (min, max);
            (min[axis], max[axis]) = (low + slab as f64 * width, low + (slab + 1) as f64 * width);
            let inside = slab.rem_euclid(bins as i64) as usize;
            sums[inside] += volume_in_box(center, radius, min, max, domain.dimensions);
        }
    };
    let chunks: Vec<Vec<f64>> = positions
        .par_chunks(CHUNK)
        .zip(radii.par_chunks(CHUNK))
        .map(|(positions, radii)| {
            let mut sums = vec![0.0; bins];
            positions.iter().zip(radii).for_each(|(p, r)| add(&mut sums, domain.wrap(*p), *r));
            sums
        })
        .collect();
    let slab_volume = domain.volume() / bins as f64;
    Ok((0..bins).map(|bin| chunks.iter().map(|sums| sums[bin]).sum::<f64>() / slab_volume).collect())
}

// The faces that cut spheres: on periodic axes there are none.
fn open_faces(domain: &Domain) -> (DVec3, DVec3) {
    let (mut min, mut max) = (DVec3::splat(f64::NEG_INFINITY), DVec3::splat(f64::INFINITY));
    for axis in domain.axes().filter(|axis| !domain.periodic[*axis]) {
        (min[axis], max[axis]) = (domain.min[axis], domain.max[axis]);
    }
    (min, max)
}

fn check(positions: &[DVec3], radii: &[f64], domain: &Domain) -> Result<(), Error> {
    check_length("radii", radii.len(), positions.len())?;
    domain.check_positions(positions)?;
    check_radii(radii)?;
    let largest = radii.iter().copied().fold(0.0, f64::max);
    if largest > domain.half_period() {
        return Err(Error::Invalid(format!(
            "a sphere of radius {largest} is wider than a period of the box, {}",
            2.0 * domain.half_period()
        )));
    }
    Ok(())
}

/// An error unless all radii are finite and above 0.
pub(super) fn check_radii(radii: &[f64]) -> Result<(), Error> {
    match radii.iter().position(|r| !(r.is_finite() && *r > 0.0)) {
        Some(k) => Err(Error::Invalid(format!(
            "sphere {k} of the slice has radius {}; expected a finite length above 0",
            radii[k]
        ))),
        None => Ok(()),
    }
}
