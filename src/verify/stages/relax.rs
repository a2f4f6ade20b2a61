//! The comparison of `relax`.

use glam::Vec3;

use super::{
    Bindings, Comparison, Findings, Memory, OVERALL, PRESENT, Pass, Site, Tolerances, Twin, columns,
};
use crate::{
    gpu::{
        encode::{first_push, pushes, relax},
        layout::{DEEPEST, DEEPEST_BEFORE},
    },
    state::constants::{DEEP, ITERATION_BATCHES, RELAX_FROM, RELAX_PATIENCE, RELAX_PUSHES},
};

/// Tolerance of depths, in diameters: the difference of two lengths of about one, each with a fused square.
const DEPTH: f32 = 1e-6;

/// Tolerance of pushes, in cells: depths times diameters, a few of them, and a normal that is known to 1e-6.
const PUSH: f32 = 1e-6;

pub const COMPARISON: Comparison = Comparison {
    pass: Pass::Relax,
    bindings: Bindings::View,
    input: |site, twin| {
        // All spheres are at the end of the substep, and no support holds any more.
        twin.core.clock.fill(twin.frame.h);
        twin.core.support.fill(0);
        Memory::of(site, twin)
    },
    twin: Twin::relax,
    dispatches: |site, all| relax(all, pushes(site.host.domain.world.rests, ITERATION_BATCHES)),
    compare,
};

// Whether rounding may decide on a push, by the deepest overlap before each one on the device.
fn is_near_tie(depths: &[f32], push: usize) -> bool {
    let near = |a: f32, b: f32| (a - b).abs() <= 4.0 * DEPTH;
    let former = push.checked_sub(RELAX_PATIENCE as usize).map(|push| depths[push]);
    let may_end = former.is_some_and(|former| former != depths[push] && near(former, depths[push]));
    near(depths[push], DEEP) || depths[push] > DEEP && may_end
}

fn compare(site: &Site, input: &Memory, twin: &Twin, output: &Memory, findings: &mut Findings) {
    let depth = |at: u32| f32::from_bits(output.work[at as usize]);
    let relaxed = &twin.relaxed;
    let before = depth(DEEPEST_BEFORE + first_push(site.host.domain.world.rests));
    findings.near("deepest overlap, in diameters", 1.0, OVERALL, before, relaxed.deepest_before, DEPTH);
    if (before > RELAX_FROM) != (relaxed.deepest_before > RELAX_FROM) {
        // An arbitrary state may have an overlap that is just deep enough, or just not.
        findings.near_ties += 1;
        return;
    }
    let rests = site.host.domain.world.rests;
    let depths: Vec<_> = (first_push(rests)..RELAX_PUSHES).map(|push| depth(DEEPEST_BEFORE + push)).collect();
    if (1..depths.len()).any(|push| is_near_tie(&depths, push)) {
        findings.near_ties += 1;
        return;
    }
    let what = "deepest overlap after the pushes, in diameters";
    findings.near(what, 1.0, OVERALL, depth(DEEPEST), relaxed.deepest_after, 4.0 * DEPTH);
    let (bodies, tags) = columns(&twin.core.state, &site.host);
    let edge = site.frame.edge.max_element();
    let mut pushed = 0;
    for i in 0..bodies.len() {
        let scale = edge.max(bodies[i].offset.abs().max_element());
        let found = (output.bodies[PRESENT][i], output.tags[PRESENT][i]);
        let tolerances = Tolerances { offset: Vec3::splat(PUSH * scale), ..Tolerances::default() };
        findings.sphere(i, found, (bodies[i], tags[i]), tolerances);
        let (old, new) = (input.nodes[i].motion_margin, twin.core.motion_margin[i]);
        let (unit, tolerance) = (findings.units.length, PUSH * (edge + old.abs()));
        findings.near("motion margin", unit, i, output.nodes[i].motion_margin, new, tolerance);
        pushed += u64::from(new != old);
    }
    findings.saw("pushed", pushed);
    let masses: f32 = bodies.iter().filter(|b| b.inverse_mass > 0.0).map(|b| 1.0 / b.inverse_mass).sum();
    let work: f64 = output.nodes.iter().map(|node| f64::from(node.relax_work)).sum();
    let tolerance = PUSH * edge * site.frame.gravity.length() * masses;
    findings.near("work of pushes", findings.units.energy(), OVERALL, work, relaxed.work, tolerance);
}
