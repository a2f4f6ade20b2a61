//! One comparison per pass of the schedule. A comparison consists of the input on the device and on its CPU twin, the pass
//! itself, and the rules by which the results have to agree.
//!
//! Integers have to be equal. Floats may differ, because WGSL lets a device fuse a product with a sum (the product then
//! stays unrounded), divide with an error of 2.5 ULP, and take roots with a larger error. The file of each stage states its
//! tolerances and their reasons. Where such a difference affects a decision (a pair at the very limit of a candidate list,
//! two impacts at the same time), device and twin may decide differently. The comparison detects these near-ties
//! geometrically and counts them.

mod advance;
mod audit;
mod bin;
mod collide;
mod compress;
mod drag;
mod dynamic_candidates;
mod launch;
mod neighbors;
mod relax;
mod rest;
mod scan;
mod scatter;
mod select;
mod sweep;

use super::{
    PRESENT,
    findings::{Findings, OVERALL, Tolerances},
    harness::{Bindings, Site},
    memory::{Memory, columns},
    scatter::Scatter,
    twin::Twin,
};
use crate::{gpu::encode::Dispatch, step::schedule::Pass};

/// Compares the memory that a pass left (the fourth argument) with the twin after the pass, given the memory before it.
pub type Compare = fn(&Site, &Memory, &Twin, &Memory, &mut Findings);

/// The same with the scatter of repetitions of the pass on the twin.
pub type CompareScattered = fn(&Site, &Twin, &Memory, &Scatter, &mut Findings);

/// How a pass is run and compared.
pub struct Comparison {
    pub pass: Pass,
    pub bindings: Bindings,
    /// Device memory before the pass, where the twin is at the same point.
    pub input: fn(&Site, &mut Twin) -> Memory,
    /// The pass on the twin.
    pub twin: fn(&mut Twin),
    /// The pass on the device, with this number of workgroups for all spheres.
    pub dispatches: fn(&Site, u32) -> Vec<Dispatch>,
    pub compare: Compare,
}

/// All comparisons, in the order of the schedule.
const COMPARISONS: &[Comparison] = &[
    compress::SHRINK,
    bin::COMPARISON,
    scan::COMPARISON,
    scatter::COMPARISON,
    rest::ORDER,
    neighbors::COMPARISON,
    compress::PUSH_APART,
    drag::BEFORE,
    rest::BEFORE,
    launch::COMPARISON,
    sweep::ALL,
    select::COMPARISON,
    collide::COMPARISON,
    sweep::TOUCHED,
    rest::AFTER,
    advance::COMPARISON,
    rest::KEEP,
    relax::COMPARISON,
    drag::AFTER,
    audit::COMPARISON,
];

/// The comparison of a pass.
pub fn of(pass: Pass) -> &'static Comparison {
    COMPARISONS.iter().find(|comparison| comparison.pass == pass).expect("a comparison of every pass")
}

/// The comparison of a pass that passes rounding errors on from sphere to sphere, for results beyond the usual tolerance.
pub fn scattered(pass: Pass) -> Option<CompareScattered> {
    match pass {
        Pass::SolveFirst => Some(rest::solve_first),
        Pass::SolveAfter => Some(rest::solve),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::schedule::{SCHEDULE, STAGES};

    #[test]
    fn every_pass_of_the_schedule_is_compared_in_its_order() {
        let entries = || SCHEDULE.iter().copied().flatten();
        let passes: Vec<Pass> = entries().map(|entry| entry.pass).collect();
        assert_eq!(COMPARISONS.iter().map(|comparison| comparison.pass).collect::<Vec<_>>(), passes);
        for stage in STAGES {
            assert!(entries().any(|entry| entry.stage == stage.name), "{} is not compared", stage.name);
        }
    }
}
