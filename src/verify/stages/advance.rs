//! The comparison of `advance`.

use glam::Vec3;

use super::{Bindings, Comparison, Findings, Memory, PRESENT, Pass, Site, Tolerances, Twin, columns};
use crate::gpu::layout::FROZEN;

/// Tolerance of offsets, as a share of the summands: `u * t + ...` may be fused, which saves the rounding of a product,
/// and the sum is rounded once on both sides; the projection on a plane adds three products.
const OFFSET: f32 = 5e-7;

/// Tolerance of velocities and paths, relative: one fused product, or a length of three squares.
const SPEED: f32 = 5e-7;

pub const COMPARISON: Comparison = Comparison {
    pass: Pass::Advance,
    bindings: Bindings::View,
    input: |site, twin| Memory::of(site, twin),
    twin: Twin::advance,
    dispatches: |_, all| vec![("advance", 0, all)],
    compare,
};

fn compare(site: &Site, input: &Memory, twin: &Twin, output: &Memory, findings: &mut Findings) {
    let (bodies, tags) = columns(&twin.core.state, &site.host);
    let (h, gain, edge) =
        (site.frame.h, site.frame.gravity.length() * site.frame.h, site.frame.edge.max_element());
    let drift = site.frame.drift.length();
    let frozen = input.nodes.iter().filter(|node| node.support & FROZEN != 0).count();
    let supports = input.nodes.iter().filter(|node| node.support != 0).count() - frozen;
    findings.saw("frozen", frozen as u64);
    findings.saw("supports", supports as u64);
    for i in 0..bodies.len() {
        let (before, node) = (input.bodies[PRESENT][i], output.nodes[i]);
        let speed = before.velocity.length() + gain;
        let way = before.offset.abs().max_element().max(edge) + speed * h;
        let found = (output.bodies[PRESENT][i], output.tags[PRESENT][i]);
        let tolerances = Tolerances { offset: Vec3::splat(OFFSET * way), velocity: SPEED * speed, rim: 0.0 };
        findings.sphere(i, found, (bodies[i], tags[i]), tolerances);
        let tolerance = SPEED * ((speed + drift) * h + input.nodes[i].motion_margin.abs());
        let (unit, margin) = (findings.units.length, twin.core.motion_margin[i]);
        findings.near("motion margin", unit, i, node.motion_margin, margin, tolerance);
        for (what, sum, before) in [
            ("energy lost, scaled", node.loss, input.nodes[i].loss),
            ("virial, scaled", node.virial, input.nodes[i].virial),
            ("work of pushes, scaled", node.relax_work, input.nodes[i].relax_work),
        ] {
            findings.equal(what, i, sum, before);
        }
    }
}
