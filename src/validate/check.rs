//! A measured value held against an expected one.

use super::source::Source;
use super::statistics::Estimate;
use crate::Backend;

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The measurement agrees.
    Passed,
    /// The measurement differs by more than the tolerance.
    Differs,
    /// The standard error is larger than the one stated before the run (or not a number), so that nothing is shown.
    Uncertain,
}

impl Verdict {
    /// The name of the verdict in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Differs => "differs",
            Self::Uncertain => "uncertain",
        }
    }
}

/// A measured value held against an expected one. All numbers of a check have the same unit.
#[derive(Clone, Debug)]
pub struct Check {
    /// The measured quantity, with its unit if it has one, as in "Z at phi = 0.3".
    pub quantity: String,
    /// The engine.
    pub backend: Backend,
    /// The value that the source states.
    pub expected: f64,
    /// The origin of the expected value.
    pub source: Source,
    /// The measured value and its standard error; 0 for runs without chance.
    pub measured: Estimate,
    /// The error of the expected value itself, with all approximations of the theory and of the run; stated before the run.
    pub theory_error: f64,
    /// The largest standard error with which the measurement is judged; stated before the run.
    pub largest_error: f64,
    /// The known reason for a difference, or a remark; empty if there is none.
    pub note: String,
}

impl Check {
    /// The largest difference between measurement and expectation that passes: the error of the theory and three standard errors.
    pub fn tolerance(&self) -> f64 {
        self.theory_error + 3.0 * self.measured.error
    }

    /// The result.
    pub fn verdict(&self) -> Verdict {
        // A NaN fulfils no comparison, so it never passes.
        let is_certain = self.measured.error <= self.largest_error;
        let agrees = (self.measured.mean - self.expected).abs() <= self.tolerance();
        match (is_certain, agrees) {
            (false, _) => Verdict::Uncertain,
            (true, true) => Verdict::Passed,
            (true, false) => Verdict::Differs,
        }
    }

    /// Whether the check passed.
    pub fn passed(&self) -> bool {
        self.verdict() == Verdict::Passed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(mean: f64, error: f64) -> Verdict {
        Check {
            quantity: "Z".to_owned(),
            backend: Backend::Cpu,
            expected: 2.0,
            source: Source::Derived,
            measured: Estimate { mean, error },
            theory_error: 0.1,
            largest_error: 0.05,
            note: String::new(),
        }
        .verdict()
    }

    #[test]
    fn a_check_passes_within_three_standard_errors_and_the_error_of_the_theory() {
        assert_eq!(verdict(2.24, 0.05), Verdict::Passed);
        assert_eq!(verdict(1.74, 0.05), Verdict::Differs);
        assert_eq!(verdict(2.11, 0.0), Verdict::Differs);
    }

    #[test]
    fn a_measurement_without_the_stated_accuracy_shows_nothing() {
        assert_eq!(verdict(2.0, 0.051), Verdict::Uncertain);
        assert_eq!(verdict(2.0, f64::NAN), Verdict::Uncertain);
        assert_eq!(verdict(f64::NAN, 0.01), Verdict::Differs);
    }
}
