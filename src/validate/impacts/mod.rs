//! Single impacts and systems of a few spheres.

mod bounces;
mod cradle;
mod oblique;
mod pi;
mod rolling;

use super::Case;

/// The cases of the group, in the order of the report.
pub const CASES: &[&Case] = &[&oblique::CASE, &bounces::CASE, &rolling::CASE, &cradle::CASE, &pi::CASE];
