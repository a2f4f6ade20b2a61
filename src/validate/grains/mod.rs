//! Grains under gravity.

use super::Case;

/// The cases of the group, in the order of the report.
pub const CASES: &[&Case] = &[];
