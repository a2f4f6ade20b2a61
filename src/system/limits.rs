//! Limits of a step that validation reports before a run and the planner keeps.

/// Most substeps that the planner chooses by itself.
pub const MOST_SUBSTEPS: f64 = 4096.0;

/// Largest angle by which a wall turns in a substep, and by which the phase of an oscillation advances (radian). The chord of an
/// oscillation is then 0.1% slower than its arc, and the series for the rotation has the digits of f32.
pub const MOST_TURN: f64 = 0.1;
