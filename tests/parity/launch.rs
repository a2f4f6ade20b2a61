//! Stage 5 against its twin, with the walks of the spheres that are fast from the start.

use super::{
    Case, Harness, Slip, agrees, notices,
    starts::{Start, start},
    walks::Walks,
};
use crate::gpu::layout::{DYNAMIC_COUNT, FAST_COUNT, LAUNCH};

/// Of the path ahead against the budget: a length of three fused squares and one product.
const PATH: f32 = 1e-6;

fn case(start: &Start) -> Case {
    let mut harness = Harness::in_substep(start);
    // What the substep before left.
    let mut input = harness.memory();
    for (i, node) in input.nodes.iter_mut().enumerate() {
        (node.clock, node.support, node.touched, node.walk) = (1.0, 1, 3, i as u32 % 2);
    }
    input.begin_substep(&harness.layout);
    let twin = &mut harness.twin;
    let fast = twin.fast();
    let ahead: Vec<f32> = (0..twin.core.state.len())
        .map(|i| twin.frame.path(twin.core.state.velocity(i), twin.core.state.inverse_mass(i), 0.0))
        .collect();
    let motion_margin = twin.core.motion_margin.clone();
    twin.launch();
    let walks = Walks::of_all(twin, &fast);
    let layout = harness.layout;
    let walkers = harness.all();
    let dispatches =
        vec![("launch", 0, walkers), ("collide_walk", LAUNCH, walkers), ("collide_meet", LAUNCH, walkers)];
    Case::new(harness, input, dispatches, false, move |output, verdict| {
        let mut found = output.walkers(&layout, LAUNCH);
        verdict.equal("fast", 0, output.work[FAST_COUNT as usize], found.len() as u32);
        for (i, node) in output.nodes.iter().enumerate() {
            let node = (node.clock, node.support, node.touched, node.walk, node.motion_margin);
            let walk = u32::from(found.contains(&(i as u32)));
            verdict.equal("node", i, node, (0.0, 0, 0, walk, motion_margin[i]));
        }
        found.sort_unstable();
        let doubtful = |&i: &u32| {
            (ahead[i as usize] - motion_margin[i as usize]).abs() <= PATH * motion_margin[i as usize]
        };
        let differs = |a: &[u32], b: &[u32]| a.iter().filter(|i| !b.contains(i)).copied().collect::<Vec<_>>();
        for i in differs(&found, &fast).into_iter().chain(differs(&fast, &found)) {
            verdict.near_ties += 1;
            verdict.equal("fast or not, path on the rim", i as usize, doubtful(&i), true);
        }
        if found == fast {
            let entered = walks.compare(output, &layout, verdict);
            verdict.equal("extras", 0, output.work[DYNAMIC_COUNT as usize], entered);
            verdict.saw("fast", fast.len() as u64);
            verdict.saw("extras", u64::from(entered));
        }
    })
}

#[test]
fn launch_agrees_with_its_twin() {
    agrees("launch", case);
}

#[test]
fn a_slip_in_launch_is_noticed() {
    let input: &[Slip] = &[
        ("a velocity", |m, _, _| m.bodies[1][63].velocity.x += 2.0),
        ("a budget", |m, _, _| m.nodes[20].motion_margin = 0.0),
        ("a start", |m, layout, _| {
            m.work[layout.starts as usize + 1..].iter_mut().take(8).for_each(|s| *s += 1)
        }),
    ];
    let output: &[Slip] = &[
        ("a clock", |m, _, _| m.nodes[64].clock = 1e-6),
        ("a walker", |m, layout, _| m.work[layout.walkers as usize] ^= 1),
        ("an extra", |m, _, _| m.pool[0] ^= 1),
        ("the cells to an extra", |m, _, _| m.pool[2] ^= 1),
    ];
    notices(&start("fast", 65), case, input, output);
}
