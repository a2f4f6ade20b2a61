//! Stage `relax` against its twin: with overlaps that have to be pushed apart, and without.

use super::{
    Case, Slip, agrees, before, notices,
    starts::{Start, dice, start},
};
use crate::{
    gpu::{
        encode::first_push,
        layout::{DEEPEST, DEEPEST_BEFORE},
    },
    step::schedule::Pass,
    verify::twin::Relaxed,
};

// At the end of the substep, with some spheres moved into others.
fn case_with(start: &Start, overlapping: bool) -> Case {
    let mut harness = before(start, Pass::Relax);
    let twin = &mut harness.twin;
    if overlapping {
        let mut draw = dice(5);
        for i in (0..twin.core.state.len()).step_by(3) {
            for axis in 0..if twin.core.domain.grid.layers > 0 { 3 } else { 2 } {
                twin.core.state.place[i][axis] += (draw() as f32 - 0.5) * 0.4 * twin.core.state.place[i].w;
            }
        }
    }
    let case = Case::new(start, harness, Pass::Relax);
    let Relaxed { deepest_before, deepest_after, .. } = case.harness.twin.relaxed;
    let n = start.system.spheres.len();
    if overlapping && n > 60 && matches!(start.name, "gas" | "flat" | "box" | "open" | "floor") {
        let is_relaxed = deepest_before > 0.01 && deepest_after < deepest_before;
        assert!(is_relaxed, "{}: nothing to relax, {deepest_before} {deepest_after}", case.name);
    }
    case
}

fn case(start: &Start) -> Case {
    case_with(start, true)
}

#[test]
fn relax_agrees_with_its_twin() {
    assert_eq!(agrees("relax", case).0.near_ties, 0);
    assert_eq!(agrees("relax of nearly nothing", |start| case_with(start, false)).0.near_ties, 0);
}

#[test]
fn a_slip_in_relax_is_noticed() {
    let input: &[Slip] = &[
        ("an offset", |m, _, _| m.bodies[1][64].offset.x += 1e-4),
        ("an inverse mass", |m, _, _| m.bodies[1][3].inverse_mass *= 1.01),
        ("a radius", |m, _, _| m.bodies[1][33].radius *= 1.01),
    ];
    let output: &[Slip] = &[
        ("an offset", |m, _, _| m.bodies[1][64].offset.z += 1e-5),
        ("the deepest", |m, _, _| m.work[DEEPEST as usize] += 1 << 14),
        ("the deepest before", |m, _, _| m.work[(DEEPEST_BEFORE + first_push(false)) as usize] = 0),
        ("a motion margin", |m, _, _| m.nodes[6].motion_margin -= 1e-4),
    ];
    notices(&start("gas", 65), case, input, output);
    let work: &[Slip] = &[("work against gravity", |m, _, _| m.nodes[6].relax_work += 1e-2)];
    notices(&start("floor", 65), case, &[], work);
}
