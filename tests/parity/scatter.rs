//! Stage `scatter` against its twin.

use super::{
    Case, Slip, agrees, before, notices,
    starts::{Start, start},
};
use crate::{gpu::layout::Node, step::schedule::Pass};

fn case(start: &Start) -> Case {
    Case::with_leftovers(start, before(start, Pass::Scatter), Pass::Scatter, |input, _| {
        input.nodes.fill(Node { loss: 1.0, virial: 2.0, relax_work: 3.0, clock: 4.0, ..Node::default() });
    })
}

#[test]
fn scatter_agrees_with_its_twin() {
    assert_eq!(agrees("scatter", case).0.near_ties, 0);
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
        ("a motion margin", |m, _, _| m.nodes[10].motion_margin *= 1.0 + 1e-6),
        ("a rough place", |m, layout, _| m.lists[layout.rough_places as usize + 10] ^= 512 << 12),
    ];
    for kind in ["gas", "open"] {
        notices(&start(kind, 65), case, input, output);
    }
}
