//! The comparisons of `compress`: of the positions in a smaller box, and of the pushes against overlaps.

use glam::{IVec3, Vec3};

use super::{
    Bindings, Comparison, Findings, Memory, OVERALL, PRESENT, Pass, Site, Tolerances, Twin, columns,
};
use crate::{gpu::encode::push_apart, state::constants::PUSH_PASSES};

/// Tolerance of a scaled position, in cells: in new cells a handful of operations on numbers of about one, each good to 6e-8 or,
/// for divisions, to 2.5 ULP.
const PLACE: f32 = 1e-6;

/// Tolerance of a pushed position, in diameters: one side may need a pass more than the other, which moves a sphere by the gap between
/// neighbours at most, and each of a dozen passes rounds.
const PUSHED: f32 = 4e-6;

pub const SHRINK: Comparison = Comparison {
    pass: Pass::Shrink,
    bindings: Bindings::Broad,
    input: |site, twin| Memory::source(site, twin),
    twin: Twin::shrink,
    dispatches: |_, all| vec![("compress", 0, all)],
    compare: compare_places,
};

pub const PUSH_APART: Comparison = Comparison {
    pass: Pass::PushApart,
    bindings: Bindings::View,
    input: |site, twin| Memory::of(site, twin),
    twin: Twin::push_apart,
    dispatches: |_, all| push_apart(all, PUSH_PASSES),
    compare: compare_pushes,
};

fn compare_places(site: &Site, input: &Memory, twin: &Twin, output: &Memory, findings: &mut Findings) {
    let (bodies, tags) = columns(&twin.core.state, &site.host);
    let edge = site.frame.edge;
    let mut moved = 0;
    for i in 0..bodies.len() {
        let (body, tag) = (output.bodies[PRESENT][i], output.tags[PRESENT][i]);
        moved += u64::from(tags[i].cell != input.tags[1 - PRESENT][i].cell);
        let cells = site.host.domain.grid.nearest(tag.cell - tags[i].cell);
        let apart = body.offset + cells.as_vec3() * edge - bodies[i].offset;
        let scale = PLACE * edge.max(bodies[i].offset.abs());
        if cells != IVec3::ZERO && apart.abs().cmplt(scale * findings.scale).all() {
            findings.near_ties += 1;
            continue;
        }
        let tolerances = Tolerances { offset: scale, ..Tolerances::default() };
        findings.sphere(i, (body, tag), (bodies[i], tags[i]), tolerances);
    }
    findings.saw("in other cells", moved);
}

fn compare_pushes(site: &Site, input: &Memory, twin: &Twin, output: &Memory, findings: &mut Findings) {
    let (bodies, tags) = columns(&twin.core.state, &site.host);
    let mut pushed = 0;
    for i in 0..bodies.len() {
        let scale = PUSHED * 2.0 * bodies[i].radius;
        let found = (output.bodies[PRESENT][i], output.tags[PRESENT][i]);
        let tolerances = Tolerances { offset: Vec3::splat(scale), ..Tolerances::default() };
        findings.sphere(i, found, (bodies[i], tags[i]), tolerances);
        let (old, new) = (input.nodes[i].motion_margin, twin.core.motion_margin[i]);
        let unit = findings.units.length;
        findings.near("motion margin", unit, i, output.nodes[i].motion_margin, new, scale);
        pushed += u64::from(new != old);
    }
    findings.saw("pushed apart", pushed);
    // Where overlaps remain, the device halts.
    findings.equal("whether the spheres are apart", OVERALL, 1, u32::from(twin.is_apart));
}
