//! Elastic and cooling gases.

mod diffusion;
mod discs;
mod gas;
mod haff;
mod maxwell;
mod mixtures;
mod pressure;
mod soak;
mod step_size;

use super::Case;

/// The cases of the group, in the order of the report.
pub const CASES: &[&Case] = &[
    &pressure::CASE,
    &discs::CASE,
    &mixtures::CASE,
    &maxwell::CASE,
    &diffusion::CASE,
    &haff::CASE,
    &haff::CLUSTERS,
    &step_size::CASE,
    &soak::CASE,
];
