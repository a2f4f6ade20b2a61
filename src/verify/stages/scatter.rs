//! The comparison of `scatter`.

use super::{Bindings, Comparison, Findings, Memory, PRESENT, Pass, Site, Tolerances, Twin, columns};
use crate::gpu::layout::Node;
use crate::verify::memory::rough_place;

pub const COMPARISON: Comparison = Comparison {
    pass: Pass::Scatter,
    bindings: Bindings::Broad,
    input: |site, twin| {
        let mut input = Memory::source(site, twin);
        input.put(site.layout.pending, &twin.core.keys);
        input.put(site.layout.counts, &twin.counts());
        input.put(site.layout.starts, &twin.core.starts);
        input
    },
    twin: Twin::scatter,
    dispatches: |_, all| vec![("scatter_order", 0, all), ("scatter", 0, all)],
    compare,
};

fn compare(site: &Site, input: &Memory, twin: &Twin, output: &Memory, findings: &mut Findings) {
    let (bodies, tags) = columns(&twin.core.state, &site.host);
    let edge = twin.core.domain.grid.edge;
    for i in 0..bodies.len() {
        let found = (output.bodies[PRESENT][i], output.tags[PRESENT][i]);
        findings.sphere(i, found, (bodies[i], tags[i]), Tolerances::default());
        let found = output.lists[site.layout.rough_places as usize + i];
        // The sums of the step begin anew.
        let (loss, virial, relax_work, motion_margin) = (0.0, 0.0, 0.0, twin.motion_margin);
        let node = Node { loss, virial, relax_work, motion_margin, ..input.nodes[i] };
        findings.node(i, output.nodes[i], node);
        // A step of the rough place may be rounded to its neighbour.
        let rough = rough_place(&bodies[i], &tags[i], edge);
        let step = |word: u32, k: u32| (word >> (2 + 10 * k) & 1023) as i32;
        let apart = (0..3).map(|k| (step(found, k) - step(rough, k)).abs()).max();
        if found & 3 != rough & 3 || apart > Some(1) {
            findings.equal("rough place", i, found, rough);
        }
        findings.compared += 1;
    }
}
