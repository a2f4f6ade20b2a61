//! The distribution of speeds, and how well it agrees with the Maxwell-Boltzmann distribution.

use glam::DVec3;

use super::{
    check_bins, check_length,
    gamma::{chi_square_tail, kolmogorov_tail, lower_gamma},
};
use crate::{Dimensions, Error};

/// Classes of equal mass up to which each class has its own histogram.
const MOST_CLASSES: usize = 8;
/// Relative difference up to which masses count as equal; masses in files have been rounded.
const EQUAL_MASS: f64 = 1e-6;
/// Expected spheres in a bin from which the chi-square test is sound. (Cochran, Biometrics 10, 417, 1954.)
const LEAST_EXPECTED: f64 = 5.0;

/// Histogram of the speeds of spheres relative to the mean motion of all, beside the Maxwell-Boltzmann distribution of the same
/// temperature.
#[derive(Clone, Debug, PartialEq)]
pub struct SpeedDistribution {
    /// Mass of the spheres; `None` for spheres of several masses. Their speeds are then divided by their thermal speed
    /// sqrt(T / mass), so that they all have the same distribution.
    pub mass: Option<f64>,
    /// Number of spheres.
    pub sphere_count: usize,
    /// Velocity of the centre of mass of all spheres, which the speeds do not include (length/time).
    pub drift: DVec3,
    /// Temperature T (energy), twice the mean kinetic energy per degree of freedom, without the drift and without spin.
    pub temperature: f64,
    /// Width of a bin (length/time; thermal speeds if `mass` is `None`).
    pub bin_width: f64,
    /// Spheres in each bin.
    pub counts: Vec<u64>,
    /// Spheres in each bin by Maxwell and Boltzmann.
    pub expected: Vec<f64>,
    /// Chi-square of the counts, over bins merged until each expects at least 5 spheres.
    pub chi_square: f64,
    /// Merged bins less two: their sum and the temperature are given. 0 if there are too few spheres for a test.
    pub degrees_of_freedom: usize,
    /// Probability of a chi-square at least this large for a Maxwellian; `None` without degrees of freedom.
    pub chi_square_probability: Option<f64>,
    /// Largest difference of the cumulative distributions (Kolmogorov and Smirnov).
    pub kolmogorov_distance: f64,
    /// Probability of a distance at least this large for a Maxwellian. The temperature is fitted, so the true probability is
    /// smaller.
    pub kolmogorov_probability: f64,
}

impl SpeedDistribution {
    /// Probability density of the speed in the middle of a bin, measured.
    pub fn density(&self, bin: usize) -> f64 {
        self.counts[bin] as f64 / (self.sphere_count as f64 * self.bin_width)
    }

    /// Mean probability density in a bin by Maxwell and Boltzmann.
    pub fn expected_density(&self, bin: usize) -> f64 {
        self.expected[bin] / (self.sphere_count as f64 * self.bin_width)
    }

    /// Middle of a bin.
    pub fn speed(&self, bin: usize) -> f64 {
        (bin as f64 + 0.5) * self.bin_width
    }
}

/// Distributions of speeds in `bins` bins from 0 to the largest speed.
///
/// Spheres of one mass have one distribution. With several masses the first distribution is that of all spheres, in thermal
/// speeds; the distributions of each mass follow, in ascending order, if there are at most 8 masses. Leave out fixed spheres.
///
/// # Errors
/// [`Error::Invalid`] for fewer than two spheres, a mass that is not above 0, a velocity that is not finite, or spheres that all
/// have the same velocity.
pub fn speed_distributions(
    velocities: &[DVec3],
    masses: &[f64],
    dimensions: Dimensions,
    bins: usize,
) -> Result<Vec<SpeedDistribution>, Error> {
    check_length("masses", masses.len(), velocities.len())?;
    check_bins(bins)?;
    let count = velocities.len();
    if count < 2 {
        return Err(Error::Invalid(format!(
            "speeds need at least two spheres that can move; there are {count}"
        )));
    }
    for (k, (v, m)) in velocities.iter().zip(masses).enumerate() {
        if !(v.is_finite() && m.is_finite() && *m > 0.0) {
            return Err(Error::Invalid(format!(
                "sphere {k} of the slice has mass {m} and velocity {v}; expected finite values and a mass above 0"
            )));
        }
    }
    let total: f64 = masses.iter().sum();
    let drift = velocities.iter().zip(masses).map(|(v, m)| *v * *m).sum::<DVec3>() / total;
    let speeds: Vec<f64> = velocities.iter().map(|v| (*v - drift).length()).collect();
    // The drift takes one sphere's degrees of freedom.
    let freedom = dimensions.count() as f64 * (1.0 - 1.0 / count as f64);
    let temperature_of = |of: &[usize]| {
        of.iter().map(|k| masses[*k] * speeds[*k].powi(2)).sum::<f64>() / (freedom * of.len() as f64)
    };
    let all: Vec<usize> = (0..count).collect();
    let temperature = temperature_of(&all);
    // Speeds of rounding errors have no distribution.
    let largest = velocities.iter().map(|v| v.length()).fold(0.0, f64::max);
    if temperature * count as f64 <= 1e-24 * largest * largest * total {
        return Err(Error::Invalid("all spheres have the same velocity; there is no temperature".to_owned()));
    }

    let distribution = |of: &[usize], mass: Option<f64>, unit: &dyn Fn(usize) -> f64, temperature: f64| {
        let mut scaled: Vec<f64> = of.iter().map(|k| speeds[*k] / unit(*k)).collect();
        scaled.sort_unstable_by(f64::total_cmp);
        let thermal = mass.map_or(1.0, |mass| (temperature / mass).sqrt());
        let own = SpeedDistribution {
            mass,
            sphere_count: of.len(),
            drift,
            temperature,
            bin_width: scaled[of.len() - 1].max(f64::MIN_POSITIVE) / bins as f64,
            counts: vec![0; bins],
            expected: vec![],
            chi_square: 0.0,
            degrees_of_freedom: 0,
            chi_square_probability: None,
            kolmogorov_distance: 0.0,
            kolmogorov_probability: 1.0,
        };
        own.filled(&scaled, thermal, dimensions)
    };
    let classes = classes(masses);
    let thermal_speed = |k: usize| (temperature / masses[k]).sqrt();
    let mut found = vec![];
    if classes.len() > 1 {
        found.push(distribution(&all, None, &thermal_speed, temperature));
    }
    if classes.len() <= MOST_CLASSES {
        for of in &classes {
            let temperature = temperature_of(of);
            if temperature > 0.0 {
                found.push(distribution(of, Some(masses[of[0]]), &|_| 1.0, temperature));
            }
        }
    }
    Ok(found)
}

// Spheres of equal mass, in ascending order of the masses.
fn classes(masses: &[f64]) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..masses.len()).collect();
    order.sort_by(|a, b| masses[*a].total_cmp(&masses[*b]));
    order.chunk_by(|a, b| masses[*b] - masses[*a] <= EQUAL_MASS * masses[*a]).map(<[usize]>::to_vec).collect()
}

impl SpeedDistribution {
    // Counts sorted speeds and compares them with the distribution of this thermal speed.
    fn filled(mut self, sorted: &[f64], thermal: f64, dimensions: Dimensions) -> Self {
        let bins = self.counts.len();
        for speed in sorted {
            self.counts[((speed / self.bin_width) as usize).min(bins - 1)] += 1;
        }
        let below =
            |speed: f64| lower_gamma(0.5 * dimensions.count() as f64, 0.5 * (speed / thermal).powi(2));
        let count = sorted.len() as f64;
        let edges: Vec<f64> = (0..=bins).map(|edge| below(edge as f64 * self.bin_width)).collect();
        self.expected = edges.windows(2).map(|ends| count * (ends[1] - ends[0])).collect();

        // Everything beyond the last bin joins the last merged bin.
        let (mut merged, mut open) = (vec![], (0.0, 0.0));
        for (found, expected) in self.counts.iter().zip(&self.expected) {
            open = (open.0 + *found as f64, open.1 + expected);
            if open.1 >= LEAST_EXPECTED {
                merged.push(std::mem::take(&mut open));
            }
        }
        open.1 += count * (1.0 - edges[bins]);
        if open.1 >= LEAST_EXPECTED {
            merged.push(open);
        } else if let Some(last) = merged.last_mut() {
            *last = (last.0 + open.0, last.1 + open.1);
        }
        self.chi_square = merged.iter().map(|(found, expected)| (found - expected).powi(2) / expected).sum();
        self.degrees_of_freedom = merged.len().saturating_sub(2);
        self.chi_square_probability =
            (self.degrees_of_freedom > 0).then(|| chi_square_tail(self.chi_square, self.degrees_of_freedom));

        let distance = |(k, speed): (usize, &f64)| {
            let share = below(*speed);
            (share - k as f64 / count).abs().max(((k + 1) as f64 / count - share).abs())
        };
        self.kolmogorov_distance = sorted.iter().enumerate().map(distance).fold(0.0, f64::max);
        self.kolmogorov_probability = kolmogorov_tail(self.kolmogorov_distance, sorted.len());
        self
    }
}
