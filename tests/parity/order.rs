//! Two stages in the wrong order give something else: that a comparison agrees says something about the order too.

use super::{
    Case, Harness, PRESENT, Verdict,
    memory::{Memory, constraints},
    starts::start,
};
use crate::gpu::encode::Dispatch;

// The broad phase of a gas up to the sorted state, its stages in this order.
fn broad_phase(order: [usize; 3]) -> Verdict {
    let mut harness = Harness::new(&start("gas", 10_007));
    let mut input = Memory::new(&harness.layout);
    let source = 1 - PRESENT;
    (input.bodies[source], input.tags[source]) = constraints(&harness.twin.core.state, &harness.host);
    harness.twin.broad_phase();
    let (bodies, tags) = constraints(&harness.twin.core.state, &harness.host);
    let all = harness.all();
    let parts = harness.frame.buckets.div_ceil(crate::gpu::layout::SCAN_PART);
    let stages: [Vec<Dispatch>; 3] = [
        vec![("bin", 0, all)],
        vec![("scan_reduce", 0, parts), ("scan_sums", 0, 1), ("scan_apply", 0, parts)],
        vec![("scatter_order", 0, all), ("scatter", 0, all)],
    ];
    let dispatches = order.map(|k| stages[k].clone()).concat();
    let case = Case::new(harness, input, dispatches, true, move |output, verdict| {
        for i in 0..bodies.len() {
            verdict.equal("body", i, output.bodies[PRESENT][i], bodies[i]);
            verdict.equal("tag", i, output.tags[PRESENT][i], tags[i]);
        }
    });
    case.verdict(&case.run())
}

// The end of a substep with overlaps, advance and relax in this order.
fn end_of_substep(order: [usize; 2]) -> Verdict {
    let mut harness = Harness::in_substep(&start("gas", 10_007));
    let twin = &mut harness.twin;
    twin.launch();
    twin.sweep();
    twin.finish_rounds();
    twin.core.state.place.iter_mut().step_by(3).for_each(|place| place.x += 0.05);
    let input = harness.memory();
    let twin = &mut harness.twin;
    twin.advance();
    twin.relax();
    let (bodies, _) = constraints(&harness.twin.core.state, &harness.host);
    let all = harness.all();
    let stages: [Vec<Dispatch>; 2] = [
        vec![("advance", 0, all)],
        ["relax_deepest", "relax_push", "relax_apply", "relax"].map(|entry| (entry, 0, all)).to_vec(),
    ];
    let dispatches = order.map(|k| stages[k].clone()).concat();
    let edge = harness.frame.edge.x;
    let case = Case::new(harness, input, dispatches, false, move |output, verdict| {
        for (i, body) in bodies.iter().enumerate() {
            verdict.near_vector("offset", i, output.bodies[PRESENT][i].offset, body.offset, 2e-6 * edge);
        }
    });
    case.verdict(&case.run())
}

#[test]
fn stages_in_the_wrong_order_are_noticed() {
    broad_phase([0, 1, 2]).assert_clean();
    for order in [[0, 2, 1], [1, 0, 2]] {
        assert!(!broad_phase(order).wrong.is_empty(), "broad phase as {order:?}");
    }
    end_of_substep([0, 1]).assert_clean();
    assert!(!end_of_substep([1, 0]).wrong.is_empty(), "relax before advance");
}
