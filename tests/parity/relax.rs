//! Stage 11 against its twin: with overlaps that have to be pushed apart, and without.

use super::{
    Case, Harness, PRESENT, Slip, agrees,
    memory::constraints,
    notices,
    starts::{Start, dice, start},
};
use crate::gpu::layout::{Body, DEEPEST, DEEPEST_BEFORE};

/// Of depths, in diameters: the difference of two lengths of about one, each with a fused square.
const DEPTH: f32 = 1e-6;

/// Of pushes, in cells: depths times diameters, a few of them, and a normal that is known to 1e-6.
const PUSH: f32 = 1e-6;

// At the end of the substep, with some spheres moved into others.
fn case_with(start: &Start, overlapping: bool) -> Case {
    let mut harness = Harness::in_substep(start);
    let twin = &mut harness.twin;
    twin.launch();
    twin.sweep();
    twin.finish_rounds();
    twin.advance();
    twin.core.clock.fill(twin.frame.h);
    twin.core.support.fill(0);
    if overlapping {
        let mut draw = dice(5);
        for i in (0..twin.core.state.len()).step_by(3) {
            for axis in 0..if twin.core.domain.grid.layers > 0 { 3 } else { 2 } {
                twin.core.state.place[i][axis] += (draw() as f32 - 0.5) * 0.4 * twin.core.state.place[i].w;
            }
        }
    }
    let input = harness.memory();
    let twin = &mut harness.twin;
    let old = twin.core.motion_margin.clone();
    let (before, after, work) = twin.relax();
    let (bodies, tags) = constraints(&harness.twin.core.state, &harness.host);
    let motion_margin = harness.twin.core.motion_margin.clone();
    let (edge, gravity) = (harness.frame.edge.max_element(), harness.frame.gravity.length());
    let masses: f32 = bodies.iter().filter(|b| b.inverse_mass > 0.0).map(|b| 1.0 / b.inverse_mass).sum();
    let dispatches = ["relax_deepest", "relax_push", "relax_apply", "relax"]
        .map(|entry| (entry, 0, harness.all()))
        .to_vec();
    let n = bodies.len();
    let pushed = (0..n).filter(|&i| motion_margin[i] != old[i]).count();
    if overlapping && n > 60 && matches!(start.name, "gas" | "flat" | "box" | "open" | "floor") {
        assert!(before > 0.01 && after < before, "{}: nothing to relax, {before} {after}", harness.name);
    }
    Case::new(harness, input, dispatches, false, move |output, verdict| {
        if overlapping {
            verdict.saw("pushed", pushed as u64);
        }
        let depth = |at: u32| f32::from_bits(output.work[at as usize]);
        verdict.near("deepest before", 0, depth(DEEPEST_BEFORE), before, DEPTH);
        verdict.near("deepest", 0, depth(DEEPEST), after, 4.0 * DEPTH);
        for i in 0..n {
            let (body, twin) = (output.bodies[PRESENT][i], bodies[i]);
            let scale = edge.max(twin.offset.abs().max_element());
            verdict.near_vector("offset", i, body.offset, twin.offset, PUSH * scale);
            verdict.equal("rest of", i, Body { offset: twin.offset, ..body }, twin);
            verdict.equal("tag", i, output.tags[PRESENT][i], tags[i]);
            verdict.near(
                "budget",
                i,
                output.nodes[i].motion_margin,
                motion_margin[i],
                PUSH * (edge + old[i].abs()),
            );
        }
        let found: f64 = output.nodes.iter().map(|node| f64::from(node.relax_work)).sum();
        verdict.near("work", 0, found as f32, work as f32, PUSH * edge * gravity * masses);
    })
}

fn case(start: &Start) -> Case {
    case_with(start, true)
}

#[test]
fn relax_agrees_with_its_twin() {
    agrees("relax", case);
    agrees("relax of nearly nothing", |start| case_with(start, false));
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
        ("the deepest before", |m, _, _| m.work[DEEPEST_BEFORE as usize] = 0),
        ("a budget", |m, _, _| m.nodes[6].motion_margin -= 1e-4),
    ];
    notices(&start("gas", 65), case, input, output);
    let work: &[Slip] = &[("work against gravity", |m, _, _| m.nodes[6].relax_work += 1e-2)];
    notices(&start("floor", 65), case, &[], work);
}
