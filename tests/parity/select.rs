//! Stage `select` against its twin: the threats, the first propagation, and which impacts are selected.

use super::{
    Case, Slip, agrees, before,
    memory::counter,
    notices,
    starts::{Start, start},
};
use crate::{
    gpu::layout::{THREATS, VelocityBound},
    step::schedule::Pass,
};

// Round 0 goes through all spheres, round 2 makes lists of those that are near.
fn in_round(start: &Start, round: u32) -> Case {
    let mut harness = before(start, Pass::Select);
    harness.site.round = round;
    let case = Case::with_leftovers(start, harness, Pass::Select, |input, _| {
        for next_event in &mut input.next_events {
            next_event.any = VelocityBound { time: 0.0, delta_v_bound: 1.0 };
            next_event.others = VelocityBound { time: 0.0, delta_v_bound: 2.0 };
        }
    });
    let sample = case.harness.twin.rounds.selected.iter().min().copied().unwrap_or(0);
    case.with_sample(sample as usize)
}

#[test]
fn select_agrees_with_its_twin() {
    agrees("select among all", |start| in_round(start, 0));
    agrees("select among those near", |start| in_round(start, 2));
}

#[test]
fn a_slip_in_select_is_noticed() {
    let input: &[Slip] = &[
        ("an event that is not mutual any more", |m, _, i| m.next_events[i].event.toi = 3e38),
        ("a change of velocity", |m, _, i| m.next_events[i].event.delta_v_bound *= 1.001),
        ("a pending sphere", |m, layout, i| {
            let pending = &mut m.work[layout.pending as usize..][..layout.sphere_count as usize];
            *pending.iter_mut().find(|k| **k == i as u32).unwrap() = 0;
        }),
    ];
    let output: &[Slip] = &[
        ("a bound", |m, _, i| m.next_events[i].any.delta_v_bound *= 1.0001),
        ("a time", |m, _, i| m.next_events[i].any.time += 0.01),
        ("all selected", |m, layout, _| m.put_selected(layout, 0, &[])),
    ];
    notices(&start("gas", 65), |start| in_round(start, 0), input, output);
    let output: &[Slip] = &[
        ("a threat", |m, layout, _| m.pool[layout.threats as usize + 8] += 1 << 10),
        ("the count of threats", |m, _, _| m.work[counter(2, THREATS)] -= 1),
    ];
    notices(&start("fast", 10_007), |start| in_round(start, 2), &[], output);
}
