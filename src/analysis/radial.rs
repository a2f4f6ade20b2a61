//! The radial distribution function.

use std::f64::consts::{FRAC_1_PI, PI};

use glam::{DMat3, DVec3};

use super::{Domain, check_bins, check_length, pairs::Cells};
use crate::{Dimensions, Error};

/// Largest number of kinds of spheres; the number of pairs of kinds grows with its square.
const MOST_KINDS: usize = 64;
/// Range above contact, in diameters, of the fit to g(r) that gives the contact value. A longer range needs more than a parabola at
/// volume fractions near 0.4; a shorter one has fewer pairs.
const CONTACT_RANGE: f64 = 0.25;

/// The radial distribution function g(r): the number of pairs at distance r over the number in an ideal gas of the same spheres
/// in the same box.
#[derive(Clone, Debug, PartialEq)]
pub struct RadialDistribution {
    /// Width of a bin (length). Bin k covers the distances from k to k + 1 widths.
    pub bin_width: f64,
    /// Pairs in each bin, each pair once.
    pub pairs: Vec<u64>,
    /// Expected number of pairs in each bin if all spheres were placed independently and evenly in the box.
    pub ideal_pairs: Vec<f64>,
    /// g(r) of each bin: `pairs / ideal_pairs`.
    pub g: Vec<f64>,
    /// Number of spheres around which the pairs lie, summed over all averaged states.
    pub centers: u64,
    /// Pairs that a centre takes part in: 2 between equal kinds, because a pair is seen from both sides, otherwise 1.
    per_center: f64,
}

/// g(r) between two kinds of spheres.
#[derive(Clone, Debug, PartialEq)]
pub struct PartialDistribution {
    /// The kind of the centres.
    pub first: usize,
    /// The kind of their neighbours, at least `first`.
    pub second: usize,
    /// g(r).
    pub distribution: RadialDistribution,
}

impl RadialDistribution {
    /// Middle of a bin (length).
    pub fn radius(&self, bin: usize) -> f64 {
        (bin as f64 + 0.5) * self.bin_width
    }

    /// Mean number of neighbours of a centre in the bins that end at or below `radius`.
    pub fn neighbors(&self, radius: f64) -> f64 {
        // A bin that ends at the radius counts, even if its computed end is a rounding error above.
        let bins = ((radius / self.bin_width * (1.0 + 1e-12)) as usize).min(self.pairs.len());
        let pairs: u64 = self.pairs[..bins].iter().sum();
        self.per_center * pairs as f64 / self.centers as f64
    }

    /// g(r) at contact, for equal spheres of this diameter: the exponential of a parabola in r that is fitted to ln g(r) from contact
    /// to 1.25 diameters, with the pairs of each bin as its weight. `None` if fewer than four bins with pairs lie in this range.
    pub fn contact_value(&self, diameter: f64) -> Option<f64> {
        let (mut matrix, mut right, mut bins) = (DMat3::ZERO, DVec3::ZERO, 0);
        for (bin, g) in self.g.iter().enumerate() {
            let x = self.radius(bin) / diameter - 1.0;
            let is_above = bin as f64 * self.bin_width >= diameter * (1.0 - 1e-9);
            if is_above && x <= CONTACT_RANGE && self.pairs[bin] > 0 {
                // The variance of ln g is one over the number of pairs.
                let (powers, weight) = (DVec3::new(1.0, x, x * x), self.pairs[bin] as f64);
                matrix += DMat3::from_cols(powers * powers.x, powers * powers.y, powers * powers.z) * weight;
                right += powers * (weight * g.ln());
                bins += 1;
            }
        }
        (bins >= 4).then(|| (matrix.inverse() * right).x.exp()).filter(|value| value.is_finite())
    }

    /// The average over several states: the sum of the pairs over the sum of the expected pairs. `None` if there are none, or if
    /// their bins differ.
    pub fn average(all: &[Self]) -> Option<Self> {
        let mut sum = all.first()?.clone();
        for other in &all[1..] {
            if other.bin_width != sum.bin_width || other.pairs.len() != sum.pairs.len() {
                return None;
            }
            sum.pairs.iter_mut().zip(&other.pairs).for_each(|(a, b)| *a += b);
            sum.ideal_pairs.iter_mut().zip(&other.ideal_pairs).for_each(|(a, b)| *a += b);
            sum.centers += other.centers;
        }
        sum.g = ratios(&sum.pairs, &sum.ideal_pairs);
        Some(sum)
    }
}

// A kind with a single sphere has no pairs, expected or found.
fn ratios(pairs: &[u64], ideal_pairs: &[f64]) -> Vec<f64> {
    let ratio = |(&pairs, &ideal): (&u64, &f64)| if ideal > 0.0 { pairs as f64 / ideal } else { 0.0 };
    pairs.iter().zip(ideal_pairs).map(ratio).collect()
}

/// g(r) of all spheres, in `bins` bins up to `range` (length).
///
/// The expected number of pairs in a shell is N(N-1)/2 times the probability that two independent points of the box have that
/// distance. On periodic axes this gives the usual N-1 spheres per volume. On other axes the probability allows exactly for the
/// part of a shell that lies outside the box; `domain` must then be the region in which centres can lie: between walls, the box
/// less a radius at each end.
///
/// # Errors
/// [`Error::Invalid`] for fewer than two spheres, a position outside the box on an axis that is not periodic, an invalid box, or a
/// range above half of a period or above the length of another axis.
pub fn radial_distribution(
    positions: &[DVec3],
    domain: &Domain,
    bins: usize,
    range: f64,
) -> Result<RadialDistribution, Error> {
    let kinds = vec![0; positions.len()];
    let mut found = partial_radial_distributions(positions, &kinds, domain, bins, range)?;
    Ok(found.remove(0).distribution)
}

/// g(r) between each two kinds of spheres that are present, as [`radial_distribution`] computes it. `kinds` has a number below 64
/// for each sphere, such as the index of its material.
///
/// # Errors
/// The errors of [`radial_distribution`]; [`Error::Invalid`] also for a kind of 64 or more.
pub fn partial_radial_distributions(
    positions: &[DVec3],
    kinds: &[usize],
    domain: &Domain,
    bins: usize,
    range: f64,
) -> Result<Vec<PartialDistribution>, Error> {
    check_length("kinds", kinds.len(), positions.len())?;
    check_bins(bins)?;
    check(positions, domain, range)?;
    let kind_count = kinds.iter().max().map_or(0, |most| most + 1);
    if kind_count > MOST_KINDS {
        return Err(Error::Invalid(format!("kind {}; expected a number below {MOST_KINDS}", kind_count - 1)));
    }
    let cells = Cells::new(positions, domain, range);
    let sorted: Vec<usize> = cells.index.iter().map(|k| kinds[*k as usize]).collect();
    let scale = bins as f64 / range;
    let add = |counts: &mut Vec<u64>, i: usize, j: usize, square: f64| {
        let (a, b) = (sorted[i].min(sorted[j]), sorted[i].max(sorted[j]));
        // The square root of a number below the square of the range may round up to the range.
        let bin = ((square.sqrt() * scale) as usize).min(bins - 1);
        counts[(a * kind_count + b) * bins + bin] += 1;
    };
    let merge = |mut a: Vec<u64>, b: Vec<u64>| {
        a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
        a
    };
    let counts = cells.fold(|| vec![0; kind_count * kind_count * bins], add, merge);

    let shares = shell_shares(domain, bins, range);
    let of_kind = |kind: usize| kinds.iter().filter(|k| **k == kind).count();
    let mut found = vec![];
    for first in (0..kind_count).filter(|kind| of_kind(*kind) > 0) {
        for second in (first..kind_count).filter(|kind| of_kind(*kind) > 0) {
            let (n, m) = (of_kind(first) as f64, of_kind(second) as f64);
            let all_pairs = if first == second { 0.5 * n * (n - 1.0) } else { n * m };
            let start = (first * kind_count + second) * bins;
            let pairs = counts[start..start + bins].to_vec();
            let ideal_pairs: Vec<f64> = shares.iter().map(|share| all_pairs * share).collect();
            let g = ratios(&pairs, &ideal_pairs);
            let per_center = if first == second { 2.0 } else { 1.0 };
            let (bin_width, centers) = (range / bins as f64, n as u64);
            let distribution = RadialDistribution { bin_width, pairs, ideal_pairs, g, centers, per_center };
            found.push(PartialDistribution { first, second, distribution });
        }
    }
    Ok(found)
}

fn check(positions: &[DVec3], domain: &Domain, range: f64) -> Result<(), Error> {
    domain.check_positions(positions)?;
    if positions.len() < 2 {
        let count = positions.len();
        return Err(Error::Invalid(format!("g(r) needs at least two spheres; there are {count}")));
    }
    if !(range.is_finite() && range > 0.0) {
        return Err(Error::Invalid(format!(
            "the range of g(r) is {range}; expected a finite length above 0"
        )));
    }
    for axis in domain.axes() {
        let (letter, length) = (["x", "y", "z"][axis], domain.max[axis] - domain.min[axis]);
        let (most, what) =
            if domain.periodic[axis] { (0.5 * length, "half of the period") } else { (length, "the length") };
        // A range computed as half of the period may exceed it by a rounding error.
        if range > most * (1.0 + 1e-12) {
            return Err(Error::Invalid(format!(
                "the range of g(r) is {range}; along {letter} it may be at most {most}, {what} of the box"
            )));
        }
        let outside = |p: &&DVec3| !(domain.min[axis]..=domain.max[axis]).contains(&p[axis]);
        if let Some(p) = positions.iter().find(outside).filter(|_| !domain.periodic[axis]) {
            return Err(Error::Invalid(format!(
                "a sphere at {p} lies outside the box along {letter}, from {} to {}; g(r) needs the box that holds all centres",
                domain.min[axis], domain.max[axis]
            )));
        }
    }
    Ok(())
}

// The probability that two independent points of the box have a distance in each bin.
//
// The density of the separation d of two points is the product of (1 - |d_a| / L_a) over the axes that are not periodic, over the
// volume. Its mean over all directions is a polynomial in r as long as r is below each of these lengths, with the means of |n_a|,
// |n_a n_b| and |n_x n_y n_z| over directions n: 1/2, 2/(3 pi) and 1/(4 pi) in 3D, 2/pi and 1/pi in 2D.
fn shell_shares(domain: &Domain, bins: usize, range: f64) -> Vec<f64> {
    let inverse = |axis: usize| {
        let is_open = axis < domain.dimensions.count() && !domain.periodic[axis];
        if is_open { 1.0 / (domain.max[axis] - domain.min[axis]) } else { 0.0 }
    };
    let [a, b, c] = [0, 1, 2].map(inverse);
    let (ones, twos, threes) = (a + b + c, a * b + b * c + c * a, a * b * c);
    let within = |r: f64| match domain.dimensions {
        Dimensions::Three => {
            let (one, two, three) = (0.5 * ones, 2.0 / (3.0 * PI) * twos, 0.25 * FRAC_1_PI * threes);
            4.0 * PI * r.powi(3) * (1.0 / 3.0 - r * (one / 4.0 - r * (two / 5.0 - r * three / 6.0)))
        }
        Dimensions::Two => {
            let (one, two) = (2.0 * FRAC_1_PI * ones, FRAC_1_PI * twos);
            2.0 * PI * r.powi(2) * (1.0 / 2.0 - r * (one / 3.0 - r * two / 4.0))
        }
    };
    let at = |edge: usize| within(range * edge as f64 / bins as f64) / domain.volume();
    (0..bins).map(|bin| at(bin + 1) - at(bin)).collect()
}
