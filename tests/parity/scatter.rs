//! Stage 3 against its twin.

use super::{
    Case, Harness, PRESENT, Slip, agrees,
    memory::{Memory, constraints, rough_place},
    notices,
    starts::{Start, start},
};
use crate::gpu::layout::Node;

fn case(start: &Start) -> Case {
    let mut harness = Harness::new(start);
    let Harness { site, twin } = &mut harness;
    twin.bin();
    twin.scan();
    let mut input = Memory::new(&site.layout);
    let source = 1 - PRESENT;
    (input.bodies[source], input.tags[source]) = constraints(&twin.core.state, &site.host);
    input.put(site.layout.pending, &twin.core.keys);
    input.put(site.layout.counts, &twin.counts());
    input.put(site.layout.starts, &twin.core.starts);
    // What the step before left.
    input.nodes.fill(Node { loss: 1.0, virial: 2.0, relax_work: 3.0, clock: 4.0, ..Node::default() });
    twin.scatter();
    let (bodies, tags) = constraints(&twin.core.state, &site.host);
    let (motion_margin, edge) = (twin.motion_margin, twin.core.domain.grid.edge);
    let dispatches = vec![("scatter_order", 0, harness.all()), ("scatter", 0, harness.all())];
    Case::new(harness, input, dispatches, true, move |output, verdict| {
        for i in 0..bodies.len() {
            verdict.equal("body", i, output.bodies[PRESENT][i], bodies[i]);
            verdict.equal("tag", i, output.tags[PRESENT][i], tags[i]);
            let touched = output.nodes[i].touched;
            verdict.equal(
                "node",
                i,
                output.nodes[i],
                Node { motion_margin, clock: 4.0, touched, ..Node::default() },
            );
            // A step of the rough place may be rounded to its neighbour.
            let rough = rough_place(&bodies[i], &tags[i], edge);
            let step = |word: u32, k: u32| (word >> (2 + 10 * k) & 1023) as i32;
            let apart = (0..3).map(|k| (step(touched, k) - step(rough, k)).abs()).max();
            verdict.equal("rough place", i, (touched & 3, apart <= Some(1)), (rough & 3, true));
        }
    })
}

#[test]
fn scatter_agrees_with_its_twin() {
    agrees("scatter", case);
}

#[test]
fn a_slip_in_scatter_is_noticed() {
    let input: &[Slip] = &[
        ("a velocity", |m, _, _| m.bodies[0][64].velocity.y += 1e-6),
        ("a spin", |m, _, _| m.tags[0][3].spin.x += 1e-6),
        ("two ranks", |m, _, _| {
            let rank = m.tags[0][0].rank;
            m.tags[0][0].rank = m.tags[0][1].rank;
            m.tags[0][1].rank = rank;
        }),
        ("two keys", |m, layout, _| {
            // Of the first sphere and of one in another bucket.
            let at = layout.pending as usize;
            let other = (1..65).find(|k| m.work[at + k] != m.work[at]).unwrap();
            m.work.swap(at, at + other);
        }),
    ];
    let output: &[Slip] = &[
        ("a last contact", |m, _, _| m.tags[1][64].last_contact -= 1e29),
        ("a budget", |m, _, _| m.nodes[10].motion_margin *= 1.0 + 1e-6),
        ("a rough place", |m, _, _| m.nodes[10].touched ^= 512 << 12),
    ];
    for kind in ["gas", "open"] {
        notices(&start(kind, 65), case, input, output);
    }
}
