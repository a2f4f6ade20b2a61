//! What is wrong with a scene or a system, and where.

use crate::Error;

/// Where something is wrong.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Place {
    /// A field, in the words of a scene: `world.dt`, `spheres[0].random.count`.
    Field(String),
    /// A sphere, by its place in [`System::spheres`](crate::System::spheres).
    Sphere(usize),
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ValidationError {
    pub place: Place,
    /// What was found.
    pub problem: String,
    /// What would be right.
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

    /// One line without the place.
    pub(crate) fn text(&self) -> String {
        format!("{}; {}", self.problem, self.remedy)
    }
}

impl From<ValidationError> for Error {
    fn from(invalid: ValidationError) -> Self {
        Self::Invalid(invalid.text())
    }
}
