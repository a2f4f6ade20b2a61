//! Stage `collide` against its twin: the impacts of a round, their records, and the traversals of the spheres that became fast.

use super::{
    Case, PRESENT, Slip, agrees, before,
    memory::counter,
    notices,
    starts::{Start, start},
};
use crate::{
    gpu::layout::{PAIR_COUNT, WALKERS},
    step::schedule::Pass,
};

/// The round of the dispatches: one of those that make lists.
const ROUND: u32 = 2;

fn case(start: &Start) -> Case {
    let mut harness = before(start, Pass::Select);
    harness.site.round = ROUND;
    let twin = &mut harness.twin;
    if start.name != "rough" {
        // The second round where there is one: with clocks, supports and contacts of the first. Of rough spheres the
        // first, in which many more meet.
        twin.select();
        twin.collide();
        twin.resweep();
    }
    twin.select();
    let sample = twin.rounds.selected.first().copied().unwrap_or(0) as usize;
    let case = Case::with_leftovers(start, harness, Pass::Collide, |input, _| {
        for node in &mut input.nodes {
            (node.loss, node.virial) = (0.25, 0.5);
        }
    });
    case.with_sample(sample)
}

#[test]
fn collide_agrees_with_its_twin() {
    agrees("collide", case);
}

#[test]
fn a_slip_in_collide_is_noticed() {
    let input: &[Slip] = &[
        ("a velocity", |m, _, i| m.bodies[PRESENT][i].velocity.x += 1e-3),
        ("an offset", |m, _, i| m.bodies[PRESENT][i].offset.y += 1e-4),
        ("the time of an impact", |m, _, i| m.next_events[i].event.toi += 1e-4),
        ("an inverse mass", |m, _, i| m.bodies[PRESENT][i].inverse_mass *= 1.001),
        ("a selected impact", |m, layout, _| {
            m.work[layout.selected as usize] = m.work[layout.selected as usize + 1]
        }),
    ];
    let output: &[Slip] = &[
        ("an impulse", |m, _, i| m.bodies[PRESENT][i].velocity.z += 1e-4),
        ("a sphere that met nobody", |m, _, _| {
            let i = m.nodes.iter().position(|node| node.touched == 0).unwrap();
            m.bodies[PRESENT][i].velocity.x += 1e-6;
        }),
        ("a count", |m, _, _| m.work[PAIR_COUNT as usize] += 1),
        ("a record", |m, layout, _| m.pool[layout.log as usize + 13] += 1 << 12),
        ("a loss", |m, _, i| m.nodes[i].loss += 0.1),
    ];
    notices(&start("gas", 10_007), case, input, output);
    let input: &[Slip] = &[
        ("a spin", |m, _, i| m.tags[PRESENT][i].spin.z += 1e-3),
        ("a radius", |m, _, i| m.bodies[PRESENT][i].radius *= 1.001),
    ];
    let output: &[Slip] = &[
        ("what a spin gains", |m, _, i| m.tags[PRESENT][i].spin.x += 1e-4),
        ("the spin of one that met nobody", |m, _, _| {
            let i = m.nodes.iter().position(|node| node.touched == 0).unwrap();
            m.tags[PRESENT][i].spin.y += 1e-6;
        }),
    ];
    notices(&start("rough", 10_007), case, input, output);
    let output: &[Slip] = &[
        ("a walker", |m, _, _| m.work[counter(ROUND, WALKERS)] -= 1),
        ("whom a walker may meet", |m, layout, _| {
            let i = m.work[layout.walkers as usize];
            m.work[(layout.heads + i) as usize] = 0;
        }),
    ];
    notices(&start("fast", 10_007), case, &[], output);
}
