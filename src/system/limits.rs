//! Limits of a step, which validation checks before a run and the planner observes.

/// Most substeps that the planner chooses.
pub const MOST_SUBSTEPS: f64 = 4096.0;

/// Largest angle by which a wall turns in a substep, and by which the phase of an oscillation advances (radian). At this
/// value the chord of an oscillation is 0.1% shorter than its arc, and the series for the rotation is accurate to f32.
pub const MOST_TURN: f64 = 0.1;
