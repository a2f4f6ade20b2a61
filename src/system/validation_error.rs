//! An error in a scene or a system, and its location.

use crate::Error;

/// Location of an error.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Place {
    /// A field, by its name in a scene: `world.dt`, `spheres[0].random.count`.
    Field(String),
    /// A sphere, by its index in [`System::spheres`](crate::System::spheres).
    Sphere(usize),
}

/// One error.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ValidationError {
    pub place: Place,
    /// The invalid value.
    pub problem: String,
    /// The valid range, or what to change.
    pub remedy: String,
}

impl ValidationError {
    pub(crate) fn field(
        path: impl Into<String>,
        problem: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self { place: Place::Field(path.into()), problem: problem.into(), remedy: remedy.into() }
    }

    pub(crate) fn sphere(index: usize, problem: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { place: Place::Sphere(index), problem: problem.into(), remedy: remedy.into() }
    }

    /// The message on one line, without the location.
    pub(crate) fn text(&self) -> String {
        format!("{}; {}", self.problem, self.remedy)
    }
}

impl From<ValidationError> for Error {
    fn from(invalid: ValidationError) -> Self {
        Self::Invalid(invalid.text())
    }
}
