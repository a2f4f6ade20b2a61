//! Stage `launch`: resets the clocks at the start of a substep and finds the spheres too fast for the candidate lists.

use crate::{
    cpu::{
        bits::Bits,
        parallel::{Disjoint, TASK, for_ranges},
    },
    state::{columns::State, frame::Frame},
};

/// Sets all clocks to 0 and inserts into `fast` every sphere whose path in the substep exceeds its motion margin.
pub fn launch(state: &State, frame: &Frame, motion_margin: &[f32], clock: &mut [f32], fast: &Bits) {
    let clock = Disjoint::new(clock);
    for_ranges(state.len(), TASK, |range| {
        for i in range {
            // SAFETY: ranges do not overlap.
            unsafe { clock.set(i, 0.0) };
            if frame.path(state.velocity(i), state.inverse_mass(i), 0.0) > motion_margin[i] {
                fast.insert(i);
            }
        }
    });
}
