//! Validation against physics that is known from elsewhere: closed formulas, equations of state, kinetic theory, published
//! simulations. `carom validate` runs the [`cases`] and writes their report.
//!
//! A [`Case`] simulates one or more scenes, and compares what it measures with values from a [`Source`]. Each [`Check`] states
//! two numbers before the run: the error of the theory, and the largest standard error with which the measurement can be
//! judged. A check passes if the measurement has at most that standard error, and lies within the error of the theory plus three of its own standard
//! errors from the expected value.
//!
//! ```
//! use carom::validate::{Settings, case, run};
//!
//! let outcome = run(case("cradle").unwrap(), &Settings::default(), &|| false);
//! assert!(outcome.passed());
//! ```

mod check;
mod gases;
mod grains;
mod impacts;
mod outcome;
mod source;
mod statistics;
mod study;
mod theory;

use std::path::PathBuf;
use std::time::Instant;

pub use check::{Check, Verdict};
pub use outcome::{Chart, Curve, CurveForm, Outcome, Published};
pub use source::Source;
pub use statistics::Estimate;
pub use study::{Expected, Study};

use crate::{Error, Options};

/// The length of a validation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Depth {
    /// The short form of the quick cases: under three minutes on two cores.
    #[default]
    Quick,
    /// All cases, with more spheres, longer runs and smaller errors.
    Full,
}

impl Depth {
    /// One of two values.
    pub fn pick<T>(self, quick: T, full: T) -> T {
        match self {
            Self::Quick => quick,
            Self::Full => full,
        }
    }
}

/// The field of physics of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Single impacts and systems of a few spheres.
    Impacts,
    /// Elastic and cooling gases.
    Gases,
    /// Grains under gravity.
    Grains,
}

impl Group {
    /// The name of the group in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Impacts => "impacts",
            Self::Gases => "gases",
            Self::Grains => "grains",
        }
    }
}

/// A comparison of simulations with known physics.
#[derive(Debug)]
pub struct Case {
    /// Name on the command line, lower case.
    pub name: &'static str,
    /// The field of physics.
    pub group: Group,
    /// One line: what is compared.
    pub title: &'static str,
    /// Description of the simulated system, of each measurement and of the reason for each tolerance. Plain text; empty lines
    /// separate paragraphs.
    pub method: &'static str,
    /// Whether the case belongs to [`Depth::Quick`]; [`Depth::Full`] has all cases.
    pub quick: bool,
    /// Whether [`Backend::Exact`](crate::Backend::Exact) can run it (few spheres, no friction); the other backends run all cases.
    pub exact: bool,
    measure: fn(&mut Study) -> Result<(), Error>,
}

/// All cases, in the order of the report.
pub fn cases() -> impl Iterator<Item = &'static Case> {
    impacts::CASES.iter().chain(gases::CASES).chain(grains::CASES).copied()
}

/// The case of this name.
pub fn case(name: &str) -> Option<&'static Case> {
    cases().find(|case| case.name == name)
}

/// How a case is run.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The length of the runs.
    pub depth: Depth,
    /// The options of all simulations: engine, adapter, threads.
    pub options: Options,
    /// The folder that receives the scene files of all runs, in a folder per case; `None`: they are not kept.
    pub keep: Option<PathBuf>,
}

/// Runs a case. It ends early, without all of its checks, once `stop` returns true, and if a simulation fails
/// ([`Outcome::failure`]).
pub fn run(case: &'static Case, settings: &Settings, stop: &dyn Fn() -> bool) -> Outcome {
    let start = Instant::now();
    let mut study = Study::new(case, settings, stop);
    let result = (case.measure)(&mut study);
    let mut outcome = study.end();
    outcome.failure = result.err();
    outcome.seconds = start.elapsed().as_secs_f64();
    outcome
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::cases;

    #[test]
    fn each_case_has_its_own_name_and_says_its_method() {
        let mut names = HashSet::new();
        for case in cases() {
            assert!(names.insert(case.name), "{} twice", case.name);
            let is_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            assert!(case.name.chars().all(is_word), "{}", case.name);
            assert!(!case.title.is_empty() && case.method.len() > 80, "{}", case.name);
        }
    }
}
