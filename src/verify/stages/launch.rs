//! The comparison of `launch`, including the traversals of the spheres that are fast at the start of the substep.

use super::{Bindings, Comparison, Findings, Memory, OVERALL, Pass, Site, Twin, dynamic_candidates};
use crate::gpu::{
    encode,
    layout::{DYNAMIC_COUNT, FAST_COUNT, LAUNCH, Node},
};

/// Rim of the path ahead against the motion margin, relative: a length of three fused squares and one product.
const PATH: f32 = 1e-6;

pub const COMPARISON: Comparison = Comparison {
    pass: Pass::Launch,
    bindings: Bindings::View,
    input: |site, twin| {
        let mut input = Memory::of(site, twin);
        input.begin_substep(&site.layout);
        input
    },
    twin: Twin::launch,
    dispatches: |_, all| [&[("launch", 0, all)], encode::walk(LAUNCH, all).as_slice()].concat(),
    compare,
};

fn compare(site: &Site, input: &Memory, twin: &Twin, output: &Memory, findings: &mut Findings) {
    let core = &twin.core;
    let mut found = output.walkers(&site.layout, LAUNCH);
    let fast_count = output.work[FAST_COUNT as usize];
    let listed = found.len() as u32;
    found.sort_unstable();
    let fast: Vec<u32> =
        (0..core.state.len() as u32).filter(|&i| core.dynamic_candidates.is_fast(i as usize)).collect();
    for (i, &node) in output.nodes.iter().enumerate() {
        let is_fast = found.binary_search(&(i as u32)).is_ok();
        let (motion_margin, walk) = (core.motion_margin[i], u32::from(is_fast));
        let expected = Node { clock: 0.0, support: 0, touched: 0, walk, motion_margin, ..input.nodes[i] };
        findings.node(i, node, expected);
        if is_fast != core.dynamic_candidates.is_fast(i) {
            findings.near_ties += 1;
            let ahead = twin.frame.path(core.state.velocity(i), core.state.inverse_mass(i), 0.0);
            if (ahead - motion_margin).abs() > PATH * findings.scale * motion_margin {
                findings.flag("faster than its motion margin allows", i, is_fast, !is_fast);
            }
        }
    }
    findings.equal("number of fast spheres", OVERALL, fast_count, listed);
    if found == fast {
        let entered = dynamic_candidates::compare(&site.layout, twin, &fast, true, output, findings);
        findings.equal("dynamic candidates", OVERALL, output.work[DYNAMIC_COUNT as usize], entered);
        findings.saw("fast", fast.len() as u64);
        findings.saw("dynamic candidates", entered.into());
    }
}
