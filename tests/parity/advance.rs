//! Stage 10 against its twin.

use super::{
    Case, Harness, PRESENT, Slip, agrees,
    memory::constraints,
    notices,
    starts::{Start, start},
};
use crate::gpu::layout::{Body, Node};

/// Of offsets, as a share of what was added up: `u * t + ...` may be fused, which saves the rounding of a product, and
/// the sum is rounded once on both sides; the projection on a plane adds three products.
const OFFSET: f32 = 5e-7;

/// Of velocities and paths, relative: one fused product, or a length of three squares.
const SPEED: f32 = 5e-7;

fn case(start: &Start) -> Case {
    let mut harness = Harness::in_substep(start);
    harness.twin.launch();
    harness.twin.sweep();
    harness.twin.finish_rounds();
    let mut input = harness.memory();
    let sums = Node { loss: 1.0, virial: 2.0, relax_work: 3.0, ..Node::default() };
    for node in &mut input.nodes {
        (node.loss, node.virial, node.relax_work) = (sums.loss, sums.virial, sums.relax_work);
    }
    let before: Vec<Body> = input.bodies[PRESENT].clone();
    let speeds: Vec<f32> = before.iter().map(|body| body.velocity.length()).collect();
    let frozen = harness.twin.rounds.frozen.len() as u64;
    let supports = (harness.twin.core.support.iter().filter(|s| **s > 0).count() as u64, frozen);
    let was = harness.twin.core.motion_margin.clone();
    harness.twin.advance();
    let (bodies, tags) = constraints(&harness.twin.core.state, &harness.host);
    let motion_margin = harness.twin.core.motion_margin.clone();
    let (h, gain, edge) =
        (harness.frame.h, harness.frame.gravity.length() * harness.frame.h, harness.frame.edge.max_element());
    let drift = harness.frame.drift.length();
    let dispatches = vec![("advance", 0, harness.all())];
    Case::new(harness, input, dispatches, false, move |output, verdict| {
        verdict.saw("supports", supports.0);
        verdict.saw("frozen", supports.1);
        for i in 0..bodies.len() {
            let (body, twin) = (output.bodies[PRESENT][i], bodies[i]);
            let way = before[i].offset.abs().max_element().max(edge) + (speeds[i] + gain) * h;
            verdict.near_vector("offset", i, body.offset, twin.offset, OFFSET * way);
            verdict.near_vector("velocity", i, body.velocity, twin.velocity, SPEED * (speeds[i] + gain));
            let rest = Body { offset: twin.offset, velocity: twin.velocity, ..body };
            verdict.equal("rest of", i, rest, twin);
            verdict.equal("tag", i, output.tags[PRESENT][i], tags[i]);
            let node = output.nodes[i];
            let path = SPEED * ((speeds[i] + drift + gain) * h + was[i].abs());
            verdict.near("budget", i, node.motion_margin, motion_margin[i], path);
            let kept = (node.loss, node.virial, node.relax_work);
            verdict.equal("sums", i, kept, (sums.loss, sums.virial, sums.relax_work));
        }
    })
}

#[test]
fn advance_agrees_with_its_twin() {
    agrees("advance", case);
}

#[test]
fn a_slip_in_advance_is_noticed() {
    let input: &[Slip] = &[
        ("a velocity", |m, _, _| m.bodies[1][64].velocity.x += 1e-5),
        ("a clock", |m, _, _| m.nodes[0].clock += 1e-3),
        ("an inverse mass", |m, _, _| m.bodies[1][7].inverse_mass = 0.0),
        ("the time of a contact", |m, _, _| {
            m.tags[1].iter_mut().find(|tag| tag.last_contact > -1.0).unwrap().last_contact -= 1e-6;
        }),
    ];
    let output: &[Slip] = &[
        ("an offset", |m, _, _| m.bodies[1][64].offset.z += 1e-5),
        ("a budget", |m, _, _| m.nodes[12].motion_margin += 1e-5),
    ];
    notices(&start("gas", 65), case, input, output);
    // Of what stands on the floor.
    let support: &[Slip] = &[("a support", |m, _, _| {
        m.nodes.iter_mut().find(|node| node.support == 1).unwrap().support = 0;
    })];
    notices(&start("floor", 65), case, support, &[]);
}
