//! Stage `launch`: finds the spheres too fast for the candidate lists, at the start of a substep.

use crate::{
    cpu::{
        bits::Bits,
        parallel::{TASK, for_ranges},
        sleep::Sleep,
    },
    state::{columns::State, frame::Frame},
};

/// Inserts into `fast` every sphere whose path in the substep exceeds its motion margin. All clocks are 0.
pub fn launch(state: &State, sleep: &Sleep, frame: &Frame, motion_margin: &[f32], fast: &Bits) {
    let test = |i: usize| {
        if frame.path(state.velocity(i), state.inverse_mass(i), 0.0) > motion_margin[i] {
            fast.insert(i);
        }
    };
    let at_rest = frame.path_at_rest();
    for_ranges(state.len(), TASK, |range| {
        sleep.for_parts(range, |part, are_quiet| {
            if !(are_quiet && motion_margin[part.clone()].iter().all(|&margin| at_rest <= margin)) {
                part.for_each(test);
            }
        });
    });
}
