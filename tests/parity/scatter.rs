//! Stage 3 against its twin.

use glam::Vec3;

use super::{
    super::layout::{Body, Node, OUTSIDE, Tag},
    Case, PRESENT, Rig, Slip, agrees,
    memory::{Memory, rows},
    notices,
    starts::{Start, start},
};

fn case(start: &Start) -> Case {
    let mut rig = Rig::new(start);
    let Rig { site, twin } = &mut rig;
    twin.bin();
    twin.scan();
    let mut input = Memory::new(&site.places);
    let source = 1 - PRESENT;
    (input.bodies[source], input.tags[source]) = rows(&twin.core.state, &site.host);
    input.put(site.places.pending, &twin.keys);
    input.put(site.places.counts, &twin.counts());
    input.put(site.places.starts, &twin.core.starts);
    // What the step before left.
    input.nodes.fill(Node { loss: 1.0, virial: 2.0, relax_work: 3.0, clock: 4.0, ..Node::default() });
    twin.scatter();
    let (bodies, tags) = rows(&twin.core.state, &site.host);
    let (budget, edge) = (twin.budget, rig.frame.edge);
    let dispatches = vec![("scatter_order", 0, rig.all()), ("scatter", 0, rig.all())];
    Case::new(rig, input, dispatches, true, move |output, verdict| {
        for i in 0..bodies.len() {
            verdict.equal("body", i, output.bodies[PRESENT][i], bodies[i]);
            verdict.equal("tag", i, output.tags[PRESENT][i], tags[i]);
            let (found, twin) = (output.nodes[i].touched, rough_place(&bodies[i], &tags[i], edge));
            let node = Node { budget, clock: 4.0, touched: found, ..Node::default() };
            verdict.equal("node", i, output.nodes[i], node);
            if found != twin {
                verdict.near_ties += 1;
                verdict.equal("on the rim of a rough place", i, is_on_rim(&bodies[i], edge), true);
                let apart = |shift: u32, mask: u32| (found >> shift & mask).abs_diff(twin >> shift & mask);
                let far = apart(0, 3) > 0 || [2, 12, 22].iter().any(|&shift| apart(shift, 1023) > 1);
                verdict.equal("far apart", i, far, false);
            }
        }
    })
}

/// The word that the search for neighbours looks at first: the place in the cell to a thousandth of its edge and the
/// cell's x modulo 4, or that the sphere is held in an outermost cell from beyond it. The twin has no such word.
pub fn rough_place(body: &Body, tag: &Tag, edge: Vec3) -> u32 {
    let x = tag.cell.x as u32 & 3;
    let share = body.offset / edge;
    if share.min_element() < 0.0 || share.max_element() >= 1.0 {
        return OUTSIDE | x;
    }
    let step = |share: f32| (share * 1024.0) as u32;
    step(share.z) << 22 | step(share.y) << 12 | step(share.x) << 2 | x
}

// WGSL divides to 2.5 ULP.
fn is_on_rim(body: &Body, edge: Vec3) -> bool {
    let steps = body.offset / edge * 1024.0;
    (0..3).any(|axis| (steps[axis] - steps[axis].round()).abs() <= 1e-6 * steps[axis].abs())
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
        ("two keys", |m, places, _| {
            // Of the first sphere and of one in another bucket.
            let at = places.pending as usize;
            let other = (1..65).find(|k| m.work[at + k] != m.work[at]).unwrap();
            m.work.swap(at, at + other);
        }),
    ];
    let output: &[Slip] = &[
        ("a last contact", |m, _, _| m.tags[1][64].last_contact -= 1e29),
        ("a rough place", |m, _, _| m.nodes[10].touched ^= 1 << 5),
        ("a budget", |m, _, _| m.nodes[10].budget *= 1.0 + 1e-6),
    ];
    for kind in ["gas", "open"] {
        notices(&start(kind, 65), case, input, output);
    }
}
