//! The comparison of `bin`.

use glam::Vec3;

use super::{
    Bindings, Comparison, Findings, Memory, OVERALL, PRESENT, Pass, Site, Tolerances, Twin, columns,
};
use crate::gpu::buffer_layout::BufferLayout;

/// Tolerance of an offset, as a share of the offset before and of the cell: `x - moved * edge` may be fused, which
/// saves rounding the product, half an ULP (6e-8) of it; the difference is rounded once on both sides.
const OFFSET: f32 = 1.2e-7;

/// Distance from the face between two cells, in cells, at which rounding decides on the cell: WGSL guarantees the
/// quotient `x / edge` to 2.5 ULP, and `x` may be a few cells. The starts of the parity tests have no sphere there, but the
/// arbitrary states of `carom verify` may.
const FACE: f32 = 1e-6;

pub const COMPARISON: Comparison = Comparison {
    pass: Pass::Bin,
    bindings: Bindings::Broad,
    input: |site, twin| Memory::source(site, twin),
    twin: Twin::bin,
    dispatches: |_, all| vec![("bin", 0, all)],
    compare,
};

fn compare(site: &Site, input: &Memory, twin: &Twin, output: &Memory, findings: &mut Findings) {
    let source = 1 - PRESENT;
    let (bodies, tags) = columns(&twin.core.state, &site.host);
    let edge = site.frame.edge;
    let ties = findings.near_ties;
    let mut moved = 0;
    for i in 0..bodies.len() {
        let (body, tag) = (output.bodies[source][i], output.tags[source][i]);
        moved += u64::from(tags[i].cell != input.tags[source][i].cell);
        let cells = (tag.cell - tags[i].cell).as_vec3() * edge;
        let is_same_place =
            (body.offset + cells - bodies[i].offset).abs().cmplt(FACE * findings.scale * edge).all();
        if cells != Vec3::ZERO && is_same_place {
            findings.near_ties += 1;
            continue;
        }
        let offset = OFFSET * input.bodies[source][i].offset.abs().max(edge);
        let tolerances = Tolerances { offset, ..Tolerances::default() };
        findings.sphere(i, (body, tag), (bodies[i], tags[i]), tolerances);
        findings.equal("bucket", i, output.work[site.layout.pending as usize + i], twin.core.keys[i]);
    }
    findings.saw("spheres in new cells", moved);
    // A difference of one sphere would be reported a second time as one of its bucket.
    if findings.near_ties == ties && findings.is_clean() {
        histogram("spheres of the bucket", &site.layout, twin, output, findings);
    }
}

/// Compares a number of each bucket.
pub fn histogram(what: &str, layout: &BufferLayout, twin: &Twin, output: &Memory, findings: &mut Findings) {
    let counts = twin.counts();
    buckets(what, twin, output.get(layout.counts, counts.len()), &counts, findings);
}

/// Compares the numbers of buckets; a difference is reported of the first sphere of its bucket.
pub fn buckets(what: &str, twin: &Twin, device: &[u32], expected: &[u32], findings: &mut Findings) {
    findings.compared += expected.len() as u64;
    if let Some(bucket) = (0..expected.len()).find(|&b| device[b] != expected[b]) {
        let of = twin.core.keys.iter().position(|&key| key as usize == bucket).unwrap_or(OVERALL);
        findings.equal(what, of, device[bucket], expected[bucket]);
    }
}
