//! Stage `sweep` against its twin: the sweep of all, and that of the spheres that a round has touched.

use super::{
    Case, Slip, agrees, before,
    memory::counter,
    notices,
    starts::{Start, start},
};
use crate::{
    cpu::event::Event, gpu::layout::THREATS, state::constants::CROWDED_CONTACTS, step::schedule::Pass,
    verify::twin::Twin,
};

// Presses every third sphere, so that some impacts are in a crowd.
fn press(twin: &Twin) {
    let pressed = (0..twin.core.state.len()).step_by(3);
    pressed.for_each(|i| (0..CROWDED_CONTACTS).for_each(|_| twin.core.pressed.add(i)));
}

fn case(start: &Start) -> Case {
    let harness = before(start, Pass::Sweep);
    press(&harness.twin);
    let case = Case::new(start, harness, Pass::Sweep);
    let sample = case.harness.twin.rounds.events.iter().position(is_fair(&case.harness.twin));
    case.with_sample(sample.unwrap_or(0))
}

// After the first impacts, with the number of a round that goes through all spheres or of one that makes lists.
fn after_impacts(start: &Start, round: u32) -> Case {
    let mut harness = before(start, Pass::Sweep);
    harness.site.round = round;
    press(&harness.twin);
    harness.twin.sweep();
    harness.twin.select();
    harness.twin.collide();
    let case = Case::with_leftovers(start, harness, Pass::Resweep, |input, site| {
        // Marks of the passes before.
        for i in 0..site.layout.sphere_count {
            input.work[(site.layout.marks + i) as usize] = (i % 2) * (2 * round + 1);
        }
    });
    let twin = &case.harness.twin;
    let is_fair = is_fair(twin);
    let sample = twin.rounds.touched_list.iter().find(|i| is_fair(&twin.rounds.events[**i as usize]));
    let sample = sample.copied().unwrap_or(0) as usize;
    case.with_sample(sample)
}

#[test]
fn sweep_agrees_with_its_twin() {
    agrees("sweep", case);
}

#[test]
fn the_sweep_of_the_touched_agrees_with_its_twin() {
    agrees("sweep of all after impacts", |start| after_impacts(start, 0));
    agrees("sweep of the touched", |start| after_impacts(start, 2));
}

// Threats that were left in the table would be taken for those of the next round.
#[test]
fn a_round_with_threats_leaves_their_table_empty() {
    for (threats, left) in [(0, 5), (3, 0)] {
        for round in [0, 2] {
            let mut case = after_impacts(&start("gas", 10_007), round);
            let at = case.harness.site.layout.threat_lists as usize;
            let table = at..at + case.harness.site.frame.threat_mask as usize + 3;
            assert!(table.end <= case.harness.site.layout.starts as usize && table.len() > 600);
            case.input.work[table.clone()].fill(5);
            case.input.work[counter(round, THREATS)] = threats;
            let output = case.run();
            assert!(output.work[table].iter().all(|&word| word == left), "round {round}, {threats} threats");
        }
    }
}

#[test]
fn a_slip_in_sweep_is_noticed() {
    let input: &[Slip] = &[
        ("a velocity", |m, _, i| m.bodies[1][i].velocity.x += 1e-3),
        ("an offset", |m, _, i| m.bodies[1][i].offset.y += 1e-4),
        ("a candidate", |m, layout, _| {
            let at = layout.entries as usize;
            m.lists[at..].iter_mut().take(60).for_each(|entry| *entry ^= 1 << 27);
        }),
        ("a clock", |m, _, i| m.nodes[i].clock = 1e-3),
    ];
    let output: &[Slip] = &[
        ("a time", |m, _, i| m.next_events[i].event.toi += 1e-3),
        ("a partner", |m, _, i| m.next_events[i].event.partner ^= 1),
        ("a change of velocity", |m, _, i| m.next_events[i].event.delta_v_bound *= 1.01),
        ("a pending sphere", |m, layout, _| m.work[layout.pending as usize] ^= 1),
    ];
    notices(&start("gas", 65), case, input, output);
    let input: &[Slip] = &[
        ("a velocity", |m, _, i| m.bodies[1][i].velocity.x += 0.01),
        ("a clock", |m, _, i| m.nodes[i].clock += 1e-2),
        ("who was touched", |m, _, _| m.nodes.iter_mut().for_each(|node| node.touched = 0)),
    ];
    for round in [1, 2] {
        notices(&start("gas", 10_007), |start| after_impacts(start, round), input, &[]);
    }
}

// Whether an impact is one of a sphere that meets another one fairly, not grazing.
fn is_fair(twin: &Twin) -> impl Fn(&Event) -> bool + use<> {
    let least = 0.1 * twin.core.domain.grid.edge.x / twin.frame.h;
    move |event| event.is_some() && event.toi > 0.0 && event.delta_v_bound > least
}
