//! Why a scene could not be read.

use std::fmt;

/// Why a scene could not be read. Displays as the whole message, with the line and a caret where there is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SceneError {
    kind: SceneErrorKind,
    message: String,
}

/// What sort of thing went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SceneErrorKind {
    /// A file is not there or cannot be read.
    Missing,
    /// What a file says is wrong.
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

    /// What sort of thing went wrong.
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
