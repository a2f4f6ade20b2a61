//! Scenes: fills, validation, and scene files.

#[macro_use]
#[path = "../common/tiers.rs"]
mod tiers;

mod build;
#[cfg(feature = "files")]
mod builtin;
#[cfg(feature = "files")]
mod errors;
mod fills;
mod motion;
#[cfg(feature = "files")]
mod round_trip;
mod scales;
#[cfg(feature = "files")]
mod schema;
#[cfg(feature = "files")]
mod settling;
#[cfg(feature = "files")]
mod toml;
mod validate;
