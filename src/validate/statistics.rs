//! Means and their standard errors.

/// A mean and its standard error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// The standard error of the mean; 0 for values without chance, NaN if it is unknown.
    pub error: f64,
}

impl Estimate {
    /// A value without chance.
    pub fn exact(mean: f64) -> Self {
        Self { mean, error: 0.0 }
    }

    /// The mean of independent values. The standard error of fewer than two values is NaN.
    pub fn of(values: &[f64]) -> Self {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let square = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
        let error = if values.len() < 2 { f64::NAN } else { (square / (count * (count - 1.0))).sqrt() };
        Self { mean, error }
    }

    /// The mean of a correlated series, with the standard error from the means of `blocks` consecutive parts of equal
    /// length. Parts must be long compared with the correlation time. A remainder at the start is left out. (Flyvbjerg & Petersen,
    /// J. Chem. Phys. 91, 461 (1989), compare block lengths.)
    pub fn of_blocks(series: &[f64], blocks: usize) -> Self {
        let length = series.len() / blocks.max(1);
        if length == 0 {
            return Self { mean: f64::NAN, error: f64::NAN };
        }
        let start = series.len() - length * blocks;
        let means: Vec<f64> = series[start..]
            .chunks_exact(length)
            .map(|part| part.iter().sum::<f64>() / length as f64)
            .collect();
        Self::of(&means)
    }

    /// The estimate times a factor without error.
    pub fn scaled(self, factor: f64) -> Self {
        Self { mean: self.mean * factor, error: (self.error * factor).abs() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_standard_error_is_that_of_independent_values() {
        let estimate = Estimate::of(&[1.0, 2.0, 3.0, 4.0]);
        assert_eq!(estimate.mean, 2.5);
        assert!((estimate.error - (5.0f64 / 12.0).sqrt()).abs() < 1e-15);
        assert!(Estimate::of(&[1.0]).error.is_nan());
    }

    #[test]
    fn blocks_leave_out_the_start() {
        let estimate = Estimate::of_blocks(&[100.0, 1.0, 3.0, 5.0, 7.0], 2);
        assert_eq!(estimate, Estimate { mean: 4.0, error: 2.0 });
        assert!(Estimate::of_blocks(&[1.0], 2).mean.is_nan());
    }
}
