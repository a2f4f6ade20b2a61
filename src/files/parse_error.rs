//! Errors in the text of a scene, with their paths and positions.

use std::{fmt, ops::Range};

use super::{error::SceneErrorKind, schema};

/// An error in the text of a scene.
#[derive(Debug)]
pub(crate) struct ParseError {
    /// Path of the value, as `spheres[0].random`; empty for the scene itself.
    pub path: String,
    /// Range of bytes in the texts.
    pub place: Option<Range<usize>>,
    pub problem: Problem,
    /// Whether the text is wrong or a file that it names is missing.
    pub kind: SceneErrorKind,
}

/// The kinds of errors.
#[derive(Debug)]
pub(crate) enum Problem {
    /// The table at the path does not know this key.
    UnknownField { found: String, known: &'static [&'static str] },
    /// The table at the path lacks this key.
    MissingField(&'static str),
    /// The value at the path is not what the schema expects there: `is a string`.
    Unexpected(String),
    /// Anything else.
    Other { problem: String, remedy: String },
}

impl From<Problem> for ParseError {
    fn from(problem: Problem) -> Self {
        Self { path: String::new(), place: None, problem, kind: SceneErrorKind::Invalid }
    }
}

impl ParseError {
    pub(crate) fn new(
        place: Option<Range<usize>>,
        problem: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        let problem = Problem::Other { problem: problem.into(), remedy: remedy.into() };
        Self { place, ..problem.into() }
    }

    /// The problem and the remedy.
    pub(crate) fn texts(&self) -> (String, String) {
        let path = &self.path;
        match &self.problem {
            Problem::UnknownField { found, known } => {
                let table = if path.is_empty() { "the scene" } else { path };
                (format!("unknown field `{found}` in {table}"), suggestion(found, known))
            }
            Problem::MissingField(field) => {
                let path = if path.is_empty() { (*field).to_owned() } else { format!("{path}.{field}") };
                let example = schema::example(&path);
                (format!("{path} is missing"), format!("expected {field} = {example}"))
            }
            Problem::Unexpected(text) => {
                (format!("{path} {text}"), format!("expected {}", schema::expected(path)))
            }
            Problem::Other { problem, remedy } => (problem.clone(), remedy.clone()),
        }
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (problem, remedy) = self.texts();
        write!(f, "{problem}; {remedy}")
    }
}

impl std::error::Error for ParseError {}

/// `did you mean ...?` if a known name is near, otherwise all of them.
pub(crate) fn suggestion(found: &str, known: &[&str]) -> String {
    let nearest = known
        .iter()
        .map(|name| (strsim::damerau_levenshtein(found, name), name))
        .filter(|(distance, name)| *distance <= 1 + name.len().max(found.len()) / 3)
        .min_by_key(|(distance, _)| *distance);
    match nearest {
        Some((_, name)) => format!("did you mean `{name}`?"),
        None => format!("expected one of {}", known.join(", ")),
    }
}
