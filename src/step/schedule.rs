//! The stages of a step, in order: the one place that states it.
//!
//! A stage is one file in `src/cpu/` and, for the GPU, one of the same stem in `shaders/`.

/// One stage of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stage {
    /// Stem of its files and name in reports.
    pub name: &'static str,
    /// What it does, in one line.
    pub purpose: &'static str,
}

const fn stage(name: &'static str, purpose: &'static str) -> Stage {
    Stage { name, purpose }
}

/// All stages in the order in which a step runs them. `bin` to `neighbors` are the broad phase; `select`,
/// `collide` and the re-sweep of what was touched repeat in rounds until no impact is left in the substep.
pub const STAGES: &[Stage] = &[
    stage("bin", "cell and bucket of every sphere, histogram of the buckets"),
    stage("scan", "exclusive prefix sum of the histogram"),
    stage("scatter", "the whole state into bucket order, by id within a cell"),
    stage("neighbors", "what each sphere could meet before the next broad phase"),
    stage("launch", "clocks and path budgets of the substep"),
    stage("sweep", "earliest impact of each sphere over its candidates and the walls"),
    stage("select", "pairs that are each other's earliest and that no third sphere can reach sooner"),
    stage("collide", "impulses of the selected pairs"),
    stage("rest", "contacts that rest: found and solved before the launch, and again after the rounds"),
    stage("advance", "every sphere to the end of the substep"),
    stage("relax", "leftover overlap pushed apart, position only"),
    stage("audit", "energies, momentum, deepest overlap, speeds"),
];
