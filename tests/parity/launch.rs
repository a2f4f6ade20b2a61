//! Stage `launch` against its twin, with the traversals of the spheres that are fast from the start.

use super::{
    Case, Slip, Total, agrees, before, notices,
    starts::{Start, start},
};
use crate::{System, step::schedule::Pass};

fn case(start: &Start) -> Case {
    Case::with_leftovers(start, before(start, Pass::Launch), Pass::Launch, |input, _| {
        for (i, node) in input.nodes.iter_mut().enumerate() {
            (node.clock, node.support, node.touched, node.walk) = (1.0, 1, 3, i as u32 % 2);
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
        ("a motion margin", |m, _, _| m.nodes[20].motion_margin = 0.0),
        ("a start", |m, layout, _| {
            m.work[layout.starts as usize + 1..].iter_mut().take(8).for_each(|s| *s += 1)
        }),
    ];
    let output: &[Slip] = &[
        ("a clock", |m, _, _| m.nodes[64].clock = 1e-6),
        ("a walker", |m, layout, _| m.work[layout.walkers as usize] ^= 1),
        ("a dynamic candidate", |m, _, _| m.pool[0] ^= 1),
        ("the cells to a dynamic candidate", |m, _, _| m.pool[2] ^= 1),
    ];
    notices(&start("fast", 65), case, input, output);
}

// The start in a medium.
fn slowed(pass: Pass, start: &Start) -> Case {
    let system = System { drag: 0.8, ..start.system.clone() };
    let start = Start { system, ..*start };
    Case::with_leftovers(&start, before(&start, pass), pass, |input, _| {
        input.nodes.iter_mut().for_each(|node| node.loss = 0.25);
    })
}

#[test]
fn drag_agrees_with_its_twin() {
    assert_eq!(agrees("drag", |start| slowed(Pass::DragBefore, start)).0.near_ties, 0);
    for kind in ["fixed", "heap"] {
        let case = slowed(Pass::DragAfter, &start(kind, 10_007));
        Total::new().add(&case.name, case.findings(&case.run()));
    }
}

#[test]
fn a_slip_in_drag_is_noticed() {
    let input: &[Slip] = &[
        ("a velocity", |m, _, _| m.bodies[1][64].velocity.x += 1e-3),
        ("an inverse mass", |m, _, _| m.bodies[1][3].inverse_mass *= 1.001),
        ("a loss", |m, _, _| m.nodes[5].loss += 0.1),
    ];
    let output: &[Slip] = &[
        ("a velocity", |m, _, _| m.bodies[1][64].velocity.z *= 1.0 + 1e-5),
        ("a loss", |m, _, _| m.nodes[5].loss *= 1.001),
        ("an offset", |m, _, _| m.bodies[1][12].offset.z += 1e-6),
        ("a clock", |m, _, _| m.nodes[20].clock += 1e-3),
        ("a loss of a fixed sphere", |m, _, _| {
            let i = m.bodies[1].iter().position(|body| body.inverse_mass == 0.0).unwrap();
            m.nodes[i].loss *= 1.0 + 1e-6;
        }),
    ];
    notices(&start("fixed", 65), |start| slowed(Pass::DragBefore, start), input, output);
}
