//! Single impacts and systems of a few spheres.

mod cradle;

use super::Case;

/// The cases of the group, in the order of the report.
pub const CASES: &[&Case] = &[&cradle::CASE];
