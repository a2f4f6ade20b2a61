//! Two passes in the wrong order give something else: that a comparison agrees says something about the order too.

use glam::Vec3;

use super::{Bindings, Case, Compare, Harness, Memory, PRESENT, before, groups, stages, starts::start};
use crate::{step::schedule::Pass, verify::memory::columns};

// Whether these passes, one after the other, leave something else than the twin.
fn differs<const N: usize>(
    (harness, input): (Harness<'static>, Memory),
    bindings: Bindings,
    passes: [Pass; N],
    compare: Compare,
) -> bool {
    let all = groups(&harness.site.layout);
    let dispatches = passes.map(|pass| (stages::of(pass).dispatches)(&harness.site, all)).concat();
    let case = Case { name: format!("{passes:?}"), harness, input, bindings, dispatches, compare, sample: 0 };
    case.differs(&case.run())
}

// The broad phase of a gas up to the sorted state, its passes in this order.
fn broad_phase(order: [usize; 3]) -> bool {
    let mut harness = before(&start("gas", 10_007), Pass::Bin);
    let input = Memory::source(&harness.site, &harness.twin);
    harness.twin.bin();
    harness.twin.scan();
    harness.twin.scatter();
    let passes = order.map(|k| [Pass::Bin, Pass::Scan, Pass::Scatter][k]);
    differs((harness, input), Bindings::Broad, passes, stages::of(Pass::Scatter).compare)
}

// The end of a substep with overlaps, advance and relax in this order.
fn end_of_substep(order: [usize; 2]) -> bool {
    let mut harness = before(&start("gas", 10_007), Pass::Advance);
    let twin = &mut harness.twin;
    twin.core.state.place.iter_mut().step_by(3).for_each(|place| place.x += 0.05);
    let input = Memory::of(&harness.site, twin);
    twin.advance();
    twin.relax();
    let passes = order.map(|k| [Pass::Advance, Pass::Relax][k]);
    differs((harness, input), Bindings::View, passes, |site, _, twin, output, findings| {
        let (bodies, _) = columns(&twin.core.state, &site.host);
        for (i, body) in bodies.iter().enumerate() {
            let offsets = (output.bodies[PRESENT][i].offset, body.offset);
            findings.near_vector("offset", 1.0, i, offsets, Vec3::splat(2e-6 * site.frame.edge.x));
        }
    })
}

#[test]
fn stages_in_the_wrong_order_are_noticed() {
    assert!(!broad_phase([0, 1, 2]), "broad phase");
    for order in [[0, 2, 1], [1, 0, 2]] {
        assert!(broad_phase(order), "broad phase as {order:?}");
    }
    assert!(!end_of_substep([0, 1]), "end of a substep");
    assert!(end_of_substep([1, 0]), "relax before advance");
}
