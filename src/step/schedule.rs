//! The schedule of a step: its passes in order, each with what it reads and writes. Both engines execute it, the stage
//! clock and the device's timestamps are keyed by it, `verify` and the parity tests walk it. The order stands here alone.
//!
//! # The story of a step
//!
//! A step of `dt` is divided into substeps ([`plan`](crate::step::plan)). Where drag slows the spheres, half of the drag of the step
//! acts before the first substep ([`STEP_BEGIN`]) and half after the last one ([`STEP_END`]).
//!
//! [`BROAD_PHASE`] runs before the first substep, and again whenever the motion margin is used up: a counting sort
//! puts the spheres into the order of their cells, and `neighbors` lists for each sphere the candidates that it could
//! meet before the next broad phase. Resting contacts follow their spheres into the new order.
//!
//! [`SUBSTEP_BEGIN`] finds the resting contacts and solves them for the first time, sets all clocks to zero, finds dynamic
//! candidates for spheres that are too fast for the lists, and sweeps every sphere for its earliest impact. Contacts are
//! solved before the sweep, because a pile whose impacts came first would never come to rest.
//!
//! [`ROUND`] repeats until no impact is left: `select` takes the pairs that are each other's earliest and that no third
//! sphere can reach sooner, `collide` carries out their impulses, `resweep` sweeps again the spheres that were touched.
//!
//! [`SUBSTEP_END`] solves the resting contacts over the rest of the substep, moves all spheres to its end, advances the sleep
//! timers, and pushes apart what still overlaps. [`STEP_END`] audits energies, momentum and overlap.
//!
//! To add a pass: write its function in `src/cpu/`, its entry point in `shaders/`, one entry below, and one arm in each
//! engine's [`Executor::run`], one comparison in `src/verify/stages/`, and a parity test in the file of its stage.

/// One stage: a file in `src/cpu/` and one of the same stem in `shaders/`, and a row of every table of times.
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

/// All stages, in the order of their first passes but for `rest`, which runs before the sweep and after the rounds.
pub const STAGES: &[Stage] = &[
    stage("bin", "cell and bucket of every sphere, histogram of the buckets"),
    stage("scan", "exclusive prefix sum of the histogram"),
    stage("scatter", "all columns into bucket order, by id within a cell"),
    stage("neighbors", "candidates that each sphere could meet before the next broad phase"),
    stage("launch", "clocks and motion margins of the substep, dynamic candidates of fast spheres"),
    stage("sweep", "earliest impact of each sphere over its candidates and the walls"),
    stage("select", "pairs that are each other's earliest and that no third sphere can reach sooner"),
    stage("collide", "impulses of the selected pairs"),
    stage("rest", "resting contacts: found and solved before the sweep, solved again after the rounds"),
    stage("advance", "every sphere to the end of the substep"),
    stage("relax", "leftover overlap pushed apart, position only"),
    stage("audit", "energies, momentum, deepest overlap, speeds"),
];

/// A column or table that passes hand to each other. One name on both engines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Column {
    /// Offset in the cell, and radius.
    Place,
    /// Velocity, and inverse mass.
    Motion,
    /// Angular velocity, and time of the last contact.
    Spin,
    /// Cell, material and id: who a sphere is and where its offset counts from.
    Cell,
    /// Spheres of each bucket, and where the spheres of each bucket begin.
    Buckets,
    /// Candidates of each sphere, with contact flags, and the walls in its reach.
    Candidates,
    /// Candidates of fast spheres, found on their way.
    DynamicCandidates,
    /// Time in the substep up to which a sphere has moved.
    Clock,
    /// Path that a sphere may still take before its candidates no longer cover it.
    MotionMargin,
    /// The plane on which a sphere was stopped by a resting impact.
    Support,
    /// For how long of the substep resting contacts have carried a sphere.
    Rested,
    /// Earliest impact of each sphere, and the list of those that are pending.
    NextEvents,
    /// Impacts that may happen in this round.
    Selected,
    /// Contact constraints with their impulses, and the order in which they are solved.
    Constraints,
    /// Sleep timers.
    SleepTimers,
    /// Sums, counters and records of impacts.
    Sums,
}

use Column::*;

/// When a pass runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// In every system.
    Always,
    /// Where contacts may rest: gravity, and a restitution below 1.
    Resting,
    /// Where a medium slows the spheres.
    Drag,
}

/// A pass of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each has its entry in the schedule")]
pub enum Pass {
    DragBefore,
    Bin,
    Scan,
    Scatter,
    OrderContacts,
    Neighbors,
    SolveFirst,
    Launch,
    Sweep,
    Select,
    Collide,
    Resweep,
    SolveAfter,
    Advance,
    KeepContacts,
    Relax,
    DragAfter,
    Audit,
}

/// An entry of the schedule.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The pass.
    pub pass: Pass,
    /// The stage that it belongs to, by name.
    pub stage: &'static str,
    /// When it runs.
    pub when: When,
    /// The columns that it reads.
    pub reads: &'static [Column],
    /// The columns that it may change. All others are left as they are, to the bit.
    pub writes: &'static [Column],
}

const fn entry(
    pass: Pass,
    stage: &'static str,
    when: When,
    reads: &'static [Column],
    writes: &'static [Column],
) -> Entry {
    Entry { pass, stage, when, reads, writes }
}

/// Before the first substep, and before every substep that the lists of the last broad phase do not cover.
pub const BROAD_PHASE: &[Entry] = &[
    entry(Pass::Bin, "bin", When::Always, &[Place, Cell], &[Place, Cell, Buckets]),
    entry(Pass::Scan, "scan", When::Always, &[Buckets], &[Buckets]),
    entry(
        Pass::Scatter,
        "scatter",
        When::Always,
        &[Place, Motion, Spin, Cell, Buckets],
        &[Place, Motion, Spin, Cell, Buckets],
    ),
    entry(Pass::Neighbors, "neighbors", When::Always, &[Place, Cell, Buckets], &[Candidates, MotionMargin]),
    entry(
        Pass::OrderContacts,
        "rest",
        When::Resting,
        &[Cell, Buckets, Constraints, SleepTimers],
        &[Constraints, SleepTimers],
    ),
];

/// After the first broad phase of a step: on a device the copy of the state that the step starts from has to stay intact.
pub const STEP_BEGIN: &[Entry] = &[entry(Pass::DragBefore, "launch", When::Drag, &[Motion], &[Motion, Sums])];

/// Before the rounds of every substep.
pub const SUBSTEP_BEGIN: &[Entry] = &[
    entry(
        Pass::SolveFirst,
        "rest",
        When::Resting,
        &[Place, Motion, Spin, Cell, Candidates, Constraints, SleepTimers],
        &[Motion, Spin, Clock, Candidates, Rested, Constraints, SleepTimers, Sums],
    ),
    entry(
        Pass::Launch,
        "launch",
        When::Always,
        &[Place, Motion, Cell, MotionMargin],
        &[Clock, DynamicCandidates, NextEvents],
    ),
    entry(
        Pass::Sweep,
        "sweep",
        When::Always,
        &[Place, Motion, Cell, Candidates, DynamicCandidates, Clock, Support, Rested, Constraints],
        &[NextEvents],
    ),
];

/// Repeated until no impact is pending.
pub const ROUND: &[Entry] = &[
    entry(
        Pass::Select,
        "select",
        When::Always,
        &[Place, Motion, Cell, Candidates, DynamicCandidates, Clock, MotionMargin, NextEvents],
        &[Selected],
    ),
    entry(
        Pass::Collide,
        "collide",
        When::Always,
        &[Place, Motion, Spin, Cell, Candidates, Clock, MotionMargin, Support, Rested, NextEvents, Selected],
        &[Place, Motion, Spin, Candidates, DynamicCandidates, Clock, MotionMargin, Support, Sums],
    ),
    entry(
        Pass::Resweep,
        "sweep",
        When::Always,
        &[Place, Motion, Cell, Candidates, DynamicCandidates, Clock, Support, Rested, Constraints, Selected],
        &[NextEvents],
    ),
];

/// After the rounds of every substep.
pub const SUBSTEP_END: &[Entry] = &[
    entry(
        Pass::SolveAfter,
        "rest",
        When::Resting,
        &[Place, Motion, Spin, Cell, Candidates, Clock, Rested, Constraints, SleepTimers],
        &[Motion, Spin, Rested, Constraints, SleepTimers, Sums],
    ),
    entry(
        Pass::Advance,
        "advance",
        When::Always,
        &[Place, Motion, Spin, Cell, Clock, MotionMargin, Support, Rested],
        &[Place, Motion, Spin, MotionMargin, Support, Sums],
    ),
    entry(
        Pass::KeepContacts,
        "rest",
        When::Resting,
        &[Motion, Spin, Candidates, Constraints, SleepTimers],
        &[Constraints, SleepTimers],
    ),
    entry(
        Pass::Relax,
        "relax",
        When::Always,
        &[Place, Motion, Cell, Candidates, DynamicCandidates],
        &[Place, MotionMargin, SleepTimers, Sums],
    ),
];

/// After the last substep of a step.
pub const STEP_END: &[Entry] = &[
    entry(Pass::DragAfter, "launch", When::Drag, &[Motion], &[Motion, Sums]),
    entry(Pass::Audit, "audit", When::Always, &[Place, Motion, Spin, Cell], &[Sums]),
];

/// All parts of the schedule in order.
pub const SCHEDULE: &[&[Entry]] = &[BROAD_PHASE, STEP_BEGIN, SUBSTEP_BEGIN, ROUND, SUBSTEP_END, STEP_END];

/// What executes the schedule: an engine at once, a device's encoder beforehand, or both side by side to compare them.
pub(crate) trait Executor {
    /// What may go wrong.
    type Error;

    /// Whether the passes of this condition run.
    fn has(&self, when: When) -> bool;

    /// Runs a pass.
    fn run(&mut self, entry: &Entry) -> Result<(), Self::Error>;

    /// Whether another round comes.
    fn begin_round(&mut self) -> Result<bool, Self::Error>;
}

/// Executes a part of the schedule.
pub(crate) fn execute<E: Executor + ?Sized>(part: &[Entry], executor: &mut E) -> Result<(), E::Error> {
    for entry in part {
        if executor.has(entry.when) {
            executor.run(entry)?;
        }
    }
    Ok(())
}

/// Executes a substep up to the end of its rounds.
pub(crate) fn execute_rounds<E: Executor + ?Sized>(executor: &mut E) -> Result<(), E::Error> {
    execute(SUBSTEP_BEGIN, executor)?;
    while executor.begin_round()? {
        execute(ROUND, executor)?;
    }
    Ok(())
}

/// Place of a stage in [`STAGES`].
pub(crate) fn stage_index(name: &str) -> usize {
    STAGES.iter().position(|stage| stage.name == name).expect("a stage of the table")
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn entries() -> impl Iterator<Item = &'static Entry> {
        SCHEDULE.iter().copied().flatten()
    }

    #[test]
    fn every_pass_has_one_entry_and_every_stage_a_pass() {
        let mut seen = HashSet::new();
        for entry in entries() {
            assert!(seen.insert(entry.pass), "{:?} is scheduled twice", entry.pass);
            assert!(STAGES.iter().any(|stage| stage.name == entry.stage), "{:?}", entry.pass);
        }
        for stage in STAGES {
            assert!(entries().any(|entry| entry.stage == stage.name), "{} has no pass", stage.name);
        }
    }

    #[test]
    fn every_column_that_a_pass_reads_was_written_before_or_is_of_the_state() {
        // The columns with which a step starts.
        let mut known: HashSet<Column> =
            [Place, Motion, Spin, Cell, Support, Rested, Constraints, SleepTimers].into();
        for entry in entries() {
            for column in entry.reads {
                assert!(known.contains(column), "{:?} reads {column:?} before it is written", entry.pass);
            }
            known.extend(entry.writes);
        }
        assert!(known.contains(&Sums));
    }
}
