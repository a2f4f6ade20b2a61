//! Errors of a simulation.

use std::fmt;

/// Why a [`Simulation`](crate::Simulation) could not start or continue. A failed edit changes nothing; a failed step
/// leaves the spheres at some time between its start and its end.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// The system is inconsistent; the text says what was found, where, and what would be right.
    Invalid(String),
    /// The backend lacks a feature; the text names the feature and a backend that has it.
    Unsupported(String),
    /// No sphere has this id.
    NoSuchSphere(u32),
    /// A sphere's position or velocity is no longer finite.
    NonFinite {
        /// Id of the sphere.
        id: u32,
        /// The last step that ended with a finite state.
        last_good_step: u64,
    },
    /// The engine needs more than can be addressed or allocated; the text gives both numbers.
    Capacity(String),
    /// The engine cannot take a further step; the text says at which time and why.
    NoProgress(String),
    /// No adapter was found, none has the given name, or none is capable enough; the text says what was found and what
    /// to install.
    NoAdapter(String),
    /// The device was lost or refused a command, and its data is gone; the text names the adapter and the reason.
    DeviceLost(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(text)
            | Self::Unsupported(text)
            | Self::Capacity(text)
            | Self::NoProgress(text)
            | Self::NoAdapter(text)
            | Self::DeviceLost(text) => f.write_str(text),
            Self::NoSuchSphere(id) => write!(f, "no sphere has the id {id}"),
            Self::NonFinite { id, last_good_step } => write!(
                f,
                "the state of sphere {id} is no longer finite; the last good step is {last_good_step}"
            ),
        }
    }
}

impl std::error::Error for Error {}
