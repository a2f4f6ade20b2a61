//! Stage `neighbors` against its twin.

use super::{
    Case, Slip, Total, agrees, notices,
    starts::{Start, has_sizes, start},
};
use crate::gpu::{
    encode,
    layout::{CANDIDATE_COUNT, GROUP},
};
use crate::step::schedule::Pass;

fn case(start: &Start) -> Case {
    let mut case = Case::of(start, Pass::Neighbors);
    if has_sizes(start.name) {
        // Cells of large spheres hold many small ones: one search is near what llvmpipe allows an invocation.
        let groups = case.harness.site.layout.sphere_count.div_ceil(GROUP).max(1);
        case.dispatches = encode::neighbors(groups).to_vec();
    }
    case
}

#[test]
fn neighbors_agree_with_their_twin() {
    agrees("neighbors", case);
}

#[test]
fn neighbors_of_sizes_from_one_to_ten_agree() {
    for (kind, size) in ["sizes", "strewn"].into_iter().flat_map(|kind| [65, 1500, 4001].map(|n| (kind, n))) {
        let case = case(&start(kind, size));
        let mut total = Total::new();
        total.add(&case.name, case.findings(&case.run()));
        assert!(size < 1000 || total.0.compared > size as u64 / 2, "{kind}: {} compared", total.0.compared);
    }
}

#[test]
fn a_slip_in_neighbors_is_noticed() {
    let input: &[Slip] = &[
        ("an offset", |m, _, _| m.bodies[1][30].offset.x += 0.6),
        ("a radius", |m, _, _| m.bodies[1][64].radius *= 4.0),
        ("a start", |m, layout, _| {
            // The count of a bucket that is not empty.
            let at = layout.starts as usize;
            let bucket = (0..).find(|k| m.work[at + k] < m.work[at + k + 1]).unwrap();
            m.work[at + bucket] += 1;
        }),
    ];
    let output: &[Slip] = &[
        ("a candidate", |m, layout, _| m.lists[layout.entries as usize + 5] ^= 1),
        ("the place of a list", |m, _, _| m.lists[20] += 1),
        ("a plane", |m, layout, _| m.lists[layout.walls as usize + 64] ^= 1),
        ("the count", |m, _, _| m.work[CANDIDATE_COUNT as usize] -= 1),
    ];
    for kind in ["gas", "open", "box"] {
        notices(&start(kind, 65), case, input, output);
    }
    // Hashed cells are searched without.
    let rough: &[Slip] =
        &[("a rough place", |m, layout, _| m.lists[layout.rough_places as usize + 30] ^= 512 << 2)];
    notices(&start("gas", 65), case, rough, &[]);
}
