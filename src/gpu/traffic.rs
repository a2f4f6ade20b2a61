//! Lower bound on the bytes that a step reads and writes. A benchmark divides this bound by the time of the
//! step to report bytes per second.

use super::layout::{Body, NextEvent, Node, Tag};
use crate::{
    StepReport,
    step::schedule::{STAGES, Stage},
};

const BODY: u64 = size_of::<Body>() as u64;
const TAG: u64 = size_of::<Tag>() as u64;
const NODE: u64 = size_of::<Node>() as u64;
const NEXT_EVENT: u64 = size_of::<NextEvent>() as u64;
const WORD: u64 = 4;

/// Bytes moved by one pass over all spheres.
struct Pass {
    stage: &'static str,
    /// Repeated in every substep, or done once in a step.
    in_each_substep: bool,
    /// Bytes per sphere.
    read: u64,
    written: u64,
}

const fn pass(stage: &'static str, in_each_substep: bool, read: u64, written: u64) -> Pass {
    Pass { stage, in_each_substep, read, written }
}

/// The passes that every step needs, in order.
const PASSES: [Pass; 9] = [
    // Writes the key of the bucket.
    pass("bin", false, BODY + TAG, WORD),
    // Sorts within the buckets by key, then copies the state by order and key.
    pass("scatter", false, WORD, WORD),
    pass("scatter", false, 2 * WORD + BODY + TAG, BODY + TAG + NODE),
    // Writes the bounds of the candidate list, and the planes in reach.
    pass("neighbors", false, BODY + TAG + NODE, 3 * WORD),
    pass("launch", true, BODY + NODE, NODE),
    // Reads the bounds of the candidate list, and the dynamic candidates.
    pass("sweep", true, BODY + NODE + 3 * WORD, NEXT_EVENT),
    pass("advance", true, BODY + TAG + NODE, BODY + TAG + NODE),
    pass("relax", true, BODY + 3 * WORD, 0),
    pass("audit", false, BODY + TAG + NODE, 0),
];

/// Least bytes that a step of `Backend::Gpu` reads from and writes to device memory, both together, by stage in the
/// order of [`STAGES`].
///
/// A lower bound, from the sizes of the buffer elements and the passes over all spheres: each pass reads and writes
/// each struct that it touches once and whole (32 bytes, the smallest memory transaction), regardless of caches for
/// neighbours that are read again. The model assumes one broad phase a step. The model leaves out work of which a step
/// may need very little: the entries of the candidate lists, the scan (its length is the number of buckets), the rounds
/// of impacts, and steps repeated for lack of capacity.
pub fn least_traffic(sphere_count: usize, report: &StepReport) -> Vec<u64> {
    let of_stage = |stage: &Stage| -> u64 {
        let passes = PASSES.iter().filter(|pass| pass.stage == stage.name);
        let bytes = passes.map(|pass| {
            let times = if pass.in_each_substep { u64::from(report.substeps) } else { 1 };
            times * (pass.read + pass.written)
        });
        sphere_count as u64 * bytes.sum::<u64>()
    };
    STAGES.iter().map(of_stage).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_are_of_stages_and_in_their_order() {
        let layout: Vec<usize> = PASSES
            .iter()
            .map(|pass| STAGES.iter().position(|stage| stage.name == pass.stage).expect(pass.stage))
            .collect();
        assert!(layout.is_sorted(), "{layout:?}");
    }

    #[test]
    fn traffic_grows_with_spheres_and_substeps() {
        let by_stage =
            |count, substeps| least_traffic(count, &StepReport { substeps, ..StepReport::default() });
        let of = |count, substeps| by_stage(count, substeps).iter().sum::<u64>();
        assert_eq!(of(0, 3), 0);
        assert_eq!(of(1000, 2), 1000 * of(1, 2));
        // By hand: 68 + 8 + 168 + 108 + 96, and 96 + 108 + 192 + 44 in every substep.
        assert_eq!(of(1, 1), 448 + 440);
        assert_eq!(of(1, 3) - of(1, 1), 2 * 440);
        assert_eq!(by_stage(1, 1), [0, 68, 0, 176, 108, 96, 108, 0, 0, 0, 192, 44, 96]);
    }
}
