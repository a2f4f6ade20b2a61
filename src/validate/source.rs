//! The origins of expected values.

/// The origin of an expected value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A consequence of conservation laws, geometry or Newton's equations, derived in the method of the case.
    Derived,
    /// Another measurement: of the same run, of another backend, or of another program.
    Measured,
    /// A publication whose equation or value was compared with the publication itself, or with a copy of it in another source.
    Cited(&'static str),
    /// A publication whose equation or value is quoted without access to the publication.
    Unverified(&'static str),
}

impl Source {
    /// The reference as text.
    pub fn text(self) -> String {
        match self {
            Self::Derived => "derived".to_owned(),
            Self::Measured => "measured".to_owned(),
            Self::Cited(reference) => reference.to_owned(),
            Self::Unverified(reference) => format!("{reference} (not verified at the source)"),
        }
    }
}
