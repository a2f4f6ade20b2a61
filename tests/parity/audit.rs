//! Stage `audit` against its twin.

use super::{
    Case, PRESENT, Slip, agrees, agrees_without, before, notices,
    starts::{Start, start},
};
use crate::{
    gpu::layout::{CLASS_COUNTS, PART_WORDS, SAMPLE_WORDS},
    state::columns::State,
    step::schedule::Pass,
};

// Makes some spheres not finite, or so fast that the square of the speed is not.
fn break_some(state: &mut State) {
    for (k, i) in (5..state.len()).step_by(29).enumerate() {
        match k % 4 {
            0 => state.motion[i].y = f32::NAN,
            1 => state.place[i].z = f32::INFINITY,
            2 => state.spin[i].x = f32::NEG_INFINITY,
            _ => state.motion[i].x = 1e20,
        }
    }
}

fn case_with(start: &Start, broken: bool) -> Case {
    let mut harness = before(start, Pass::Audit);
    if broken {
        break_some(&mut harness.twin.core.state);
    }
    harness.twin.drift = harness.site.frame.drift.as_dvec3();
    Case::with_leftovers(start, harness, Pass::Audit, |input, _| {
        for (i, node) in input.nodes.iter_mut().enumerate() {
            (node.loss, node.virial, node.relax_work) = (0.5 + i as f32, 1.0 / (1.0 + i as f32), -(i as f32));
        }
    })
}

fn case(start: &Start) -> Case {
    case_with(start, false)
}

#[test]
fn audit_agrees_with_its_twin() {
    agrees_without("audit", &["not finite"], case);
    agrees("audit of what is not finite", |start| case_with(start, true));
}

#[test]
fn a_slip_in_audit_is_noticed() {
    let input: &[Slip] = &[
        ("a velocity", |m, _, _| m.bodies[PRESENT][64].velocity.x *= -1.0),
        ("a spin", |m, _, _| m.tags[PRESENT][3].spin.y = 100.0),
        ("a cell", |m, _, _| m.tags[PRESENT][64].cell.z += 1),
        ("an offset", |m, _, _| m.bodies[PRESENT][11].offset.y += 0.1),
        ("a loss", |m, _, _| m.nodes[60].loss += 0.1),
        ("a place that is not finite", |m, _, _| m.bodies[PRESENT][0].offset.x = f32::NAN),
        ("a count that was not cleared", |m, _, _| m.work[CLASS_COUNTS as usize + 7] = 1),
    ];
    let output: &[Slip] = &[
        ("a sum", |m, _, _| m.work[PART_WORDS as usize] += 1 << 8),
        ("a class", |m, _, _| m.work[CLASS_COUNTS as usize + 100] += 1),
        ("a sample", |m, _, _| m.work[SAMPLE_WORDS as usize..].iter_mut().take(195).for_each(|v| *v = 0)),
    ];
    notices(&start("gas", 65), case, input, output);
}
