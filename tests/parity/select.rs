//! Stage 7 against its twin: the threats, the first hops and which impacts are selected.

use super::{
    Case, Harness, Slip, agrees,
    memory::{Memory, counter, time},
    notices,
    starts::{Start, start},
    twin::Twin,
};
use crate::cpu::select::{self, Bounds, Threat, VelocityBound as Twins};
use crate::gpu::{
    encode,
    layout::{THREAT_WORDS, THREATS, VelocityBound},
};

/// Of the times of the guard, as a share of the substep. The touch of two cones is the root of a square that cancels where
/// they just meet, so a share `e` of rounding can move it by the root of `e`; what the guard makes of it is a bound
/// that is a thousandth too early by design.
const TIME: f32 = 1e-3;

/// Of the bounds on changes of velocity, relative: they follow from lengths alone, but a touch that only one side sees
/// widens them.
const DELTA_V_BOUND: f32 = 1e-5;

/// Of threats: places are sums of products of lengths in a few cells.
const PLACE: f32 = 1e-6;

// Round 0 looks at all spheres, round 2 makes lists of those that are near.
fn in_round(start: &Start, round: u32) -> Case {
    let mut harness = Harness::in_substep(start);
    let twin = &mut harness.twin;
    twin.launch();
    twin.sweep();
    let mut input = harness.memory();
    let layout = harness.layout;
    let pending = harness.twin.rounds.pending_list.clone();
    input.put_pending(&layout, round, &pending);
    // What the round before left.
    for next_event in &mut input.next_events {
        (next_event.any, next_event.others) = (
            VelocityBound { time: 0.0, delta_v_bound: 1.0 },
            VelocityBound { time: 0.0, delta_v_bound: 2.0 },
        );
    }
    let twin = &mut harness.twin;
    if pending.is_empty() {
        // The twin's round does not begin.
        twin.rounds.affected_list.clear();
        twin.rounds.selected.clear();
        twin.rounds.threats.clear();
    } else {
        twin.select();
    }
    let around = twin.rounds.affected_list.clone();
    let first: Vec<Bounds> = around.iter().map(|&k| twin.rounds.first[k as usize]).collect();
    let (mut selected, threats) = (twin.rounds.selected.clone(), twin.rounds.threats.clone());
    selected.sort_unstable();
    let (h, edge) = (twin.frame.h, harness.frame.edge.max_element());
    let sample = selected.first().copied().unwrap_or(0) as usize;
    let all = harness.all();
    let dispatches = encode::select(round, all, all).to_vec();
    let twin = harness.twin;
    Case::new(harness.site, input, dispatches, false, move |output, verdict| {
        let near = |what: &str, k: u32, found: VelocityBound, twin: Twins, verdict: &mut super::Verdict| {
            verdict.near(what, k as usize, found.time, time(twin.time), TIME * h);
            verdict.near(
                what,
                k as usize,
                found.delta_v_bound,
                twin.delta_v_bound,
                DELTA_V_BOUND * twin.delta_v_bound,
            );
        };
        for (&k, bounds) in around.iter().zip(&first) {
            let next_event = output.next_events[k as usize];
            near("any of", k, next_event.any, bounds.any, verdict);
            near("others of", k, next_event.others, bounds.others, verdict);
        }
        let mut found = output.selected(&layout, round);
        found.sort_unstable();
        verdict.compared += selected.len() as u64;
        let waiting =
            pending.iter().filter(|i| select::is_mutual(&twin.view(), &twin.rounds.events, **i as usize));
        verdict.saw("selected", selected.len() as u64);
        verdict.saw("mutual and not selected", waiting.count() as u64 - selected.len() as u64);
        verdict.saw("threats", threats.len() as u64);
        if found != selected {
            let only = |a: &[u32], b: &[u32]| -> Vec<u32> {
                a.iter().copied().filter(|i| b.binary_search(i).is_err()).collect()
            };
            for i in only(&found, &selected).into_iter().chain(only(&selected, &found)) {
                verdict.near_ties += 1;
                verdict.equal("selected or not, on the rim", i as usize, is_on_rim(&twin, i as usize), true);
            }
        }
        compare_threats(output, &layout, round, &threats, edge, verdict);
    })
    .with_sample(sample)
}

// Whether the twin decides otherwise on an impact that is a little sooner or later: a touch comes at that very time.
fn is_on_rim(twin: &Twin, i: usize) -> bool {
    let view = twin.view();
    let rounds = &twin.rounds;
    let propagation = select::Propagation { first: &rounds.first, crowded: &[] };
    let decides = |shift: f32| {
        let mut events = rounds.events.clone();
        events[i].toi += shift * twin.frame.h;
        select::is_mutual(&view, &events, i)
            && select::select(&view, &events, propagation, &rounds.threats, i)
    };
    decides(-TIME) != decides(TIME)
}

fn compare_threats(
    output: &Memory,
    layout: &crate::gpu::buffer_layout::BufferLayout,
    round: u32,
    twins: &[Threat],
    edge: f32,
    verdict: &mut super::Verdict,
) {
    let count = output.work[counter(round, THREATS)] as usize;
    verdict.equal("threats", 0, count, twins.len());
    let at = layout.threats as usize;
    let words = &output.pool[at..at + count * THREAT_WORDS as usize];
    let mut records: Vec<&[u32]> = words.chunks_exact(THREAT_WORDS as usize).collect();
    let mut twins = twins.to_vec();
    // Times are not negative: their bits are in their order.
    records.sort_by_key(|r| (r[0], r[1], r[2], r[3], r[4], r[5], r[6]));
    twins.sort_by_key(|t| {
        (t.time.to_bits(), t.cell.to_array().map(|c| c as u32), t.offset.to_array().map(f32::to_bits))
    });
    for (k, (record, twin)) in records.into_iter().zip(&twins).enumerate() {
        verdict.equal("time of threat", k, f32::from_bits(record[0]), twin.time);
        verdict.equal("cell of threat", k, [1, 2, 3].map(|n| record[n] as i32), twin.cell.to_array());
        for axis in 0..3 {
            let offset = f32::from_bits(record[4 + axis]);
            verdict.near(
                "offset of threat",
                k,
                offset,
                twin.offset[axis],
                PLACE * (edge + twin.offset[axis].abs()),
            );
        }
        verdict.equal("radius of threat", k, f32::from_bits(record[7]), twin.radius);
        verdict.near("speed of threat", k, f32::from_bits(record[8]), twin.speed, PLACE * twin.speed);
    }
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
        ("a jolt", |m, _, i| m.next_events[i].event.delta_v_bound *= 1.001),
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
