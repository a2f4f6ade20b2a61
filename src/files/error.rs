//! The error of a scene that cannot be read.

use std::fmt;

/// Why a scene could not be read. Displays as the whole message, with the line and a caret where there is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SceneError {
    kind: SceneErrorKind,
    message: String,
}

/// Kind of a scene error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SceneErrorKind {
    /// A file does not exist or cannot be read.
    Missing,
    /// The content of a file is invalid.
    Invalid,
}

impl SceneError {
    pub(crate) fn new(kind: SceneErrorKind, message: String) -> Self {
        Self { kind, message }
    }

    pub(crate) fn missing(message: String) -> Self {
        Self::new(SceneErrorKind::Missing, message)
    }

    pub(crate) fn invalid(message: String) -> Self {
        Self::new(SceneErrorKind::Invalid, message)
    }

    /// Kind of the error.
    pub fn kind(&self) -> SceneErrorKind {
        self.kind
    }
}

impl fmt::Display for SceneError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for SceneError {}
