//! Scenes: fills, checks, and the files they come from.

#[cfg(feature = "files")]
mod builtin;
mod fills;
