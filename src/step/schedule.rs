//! The schedule of a step: its passes in order, each with the columns it reads and writes. Both engines execute this
//! schedule, the stage clock and the device's timestamps use its stage names, and `verify` and the parity tests follow its
//! order. The order is defined here; only `shaders/shared/rounds.wgsl` repeats [`ROUND`], because one workgroup runs the
//! last rounds of a substep in a loop.
//!
//! # How a step runs
//!
//! 1. **Plan** (`step::plan`). The step of length `dt` is divided into substeps, so that a sphere has at most
//!    about 0.3 collisions in each substep: with more collisions a substep needs more rounds (5 rounds at 0.3
//!    collisions, 11 at 1). High speeds, moving walls and resting contacts may require more substeps. The
//!    plan uses the measurements of the step before the last one, so that a device can run ahead of the host
//!    and still follow the same plan.
//! 2. **Compression** ([`SHRINK`], [`PUSH_APART`]), in a step that shrinks a periodic box. `compress` scales all positions with
//!    the box before the broad phase. After the broad phase it pushes apart the spheres that now overlap, until none does. If that
//!    fails, the step begins again with half of the shrinkage.
//! 3. **Broad phase** ([`BROAD_PHASE`]), before the first substep and again before every substep that the motion margin
//!    of the last broad phase does not cover. A counting sort (`bin`, `scan`, `scatter`) stores the spheres in the order
//!    of their cells, so that neighbours lie close in memory. The contact constraints are renumbered for the new order, so
//!    that their impulses can still warm-start the solver. `neighbors` lists the candidates of each sphere: all
//!    spheres that it could meet while both stay within their motion margins.
//! 4. **Drag** ([`STEP_BEGIN`], [`STEP_END`]). Half of the step's drag acts before the first substep and half after the
//!    last one. Sweeps assume free flight, so no drag acts in between.
//! 5. **Resting contacts, first solve** ([`SUBSTEP_BEGIN`]). `rest` finds the contacts that persist and solves their
//!    constraints before any impact. If impacts came first, a pile would never come to rest.
//! 6. **Launch and sweep** ([`SUBSTEP_BEGIN`]). `launch` resets the clocks and finds dynamic candidates for the spheres that
//!    are too fast for their lists. `sweep` computes for each sphere its next event: the earliest impact with a
//!    candidate or a wall.
//! 7. **Rounds** ([`ROUND`]), repeated until no impact is pending. `select` takes a pair if the impact is the
//!    earliest of both spheres and no third sphere can reach either of them sooner. The selected pairs are
//!    independent of one another, so `collide` applies their impulses in parallel without breaking the order
//!    of events. The second pass of `sweep` computes new next events for the spheres that the impacts
//!    affected. Both passes of `sweep` convert impacts in a crowd to resting contacts, which the second solve
//!    of `rest` includes.
//!    In a cluster of touching elastic spheres every impact depends on the one before it, and the rounds would not end. Where
//!    contacts do not rest, the impacts that a few rounds leave are therefore applied one by one, in f64 (`cpu::event_driven`), if they
//!    hold each other up. If impacts are out of order, the whole substep is repeated so. A device leaves such a step to the CPU.
//! 8. **Halving** (`step::driver`). If a substep needs too many rounds, or in a strict run a collision is out of order, the
//!    start of the substep is restored and the substep is repeated as two halves. A substep is halved at most six times;
//!    then its rounds run to the end. If impacts do not end, their spheres stop until the substep is over.
//! 9. **End of the substep** ([`SUBSTEP_END`]). `rest` solves the constraints again where impacts changed the velocities or the
//!    first solve left a contact unsettled.
//!    `advance` moves every sphere to the end of the substep. `rest` then keeps the contacts for the next warm start and
//!    advances the sleep timers. `relax` pushes apart spheres that still overlap; it changes positions only, so it adds
//!    no kinetic energy.
//! 10. **Audit and report** ([`STEP_END`], `step::driver`). `audit` sums energies and momentum and measures speeds and the
//!     deepest overlap. The driver turns these figures into the report and into later plans.
//!
//! To add a pass: write its function in `src/cpu/`, its entry point in `shaders/`, one entry below, and one arm in each
//! engine's `Executor::run`. Add its comparison to `src/verify/stages/` and its test to `tests/parity/`.

/// One stage: a file in `src/cpu/`, a file of the same stem in `shaders/`, and a row in every table of times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stage {
    /// Stem of the stage's files and its name in reports.
    pub name: &'static str,
    /// Purpose of the stage, in one line.
    pub purpose: &'static str,
}

const fn stage(name: &'static str, purpose: &'static str) -> Stage {
    Stage { name, purpose }
}

/// All stages in the order of their first passes, except `rest`: it runs in the broad phase, before the sweep and after the rounds,
/// and is listed after the rounds.
pub const STAGES: &[Stage] = &[
    stage("compress", "positions scaled with a box that shrinks, spheres that then overlap pushed apart"),
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

/// A column or table that passes exchange. Both engines use the same names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Column {
    /// Offset in the cell, and radius.
    Place,
    /// Velocity, and inverse mass.
    Motion,
    /// Angular velocity, and time of the last contact.
    Spin,
    /// Cell (the origin of a sphere's offset), material and id.
    Cell,
    /// Number of spheres in each bucket, and index of the first sphere of each bucket.
    Buckets,
    /// Candidates of each sphere, with contact flags, and the walls in reach of each sphere.
    Candidates,
    /// Candidates of fast spheres, found along their paths.
    DynamicCandidates,
    /// Time in the substep up to which a sphere has moved.
    Clock,
    /// Path that a sphere may still travel before its candidates no longer cover it.
    MotionMargin,
    /// Plane on which a resting impact stopped a sphere.
    Support,
    /// Part of the substep during which resting contacts have supported a sphere.
    Rested,
    /// Earliest impact of each sphere, and the list of spheres whose impact is pending.
    NextEvents,
    /// Impacts selected for this round.
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
    /// Only where contacts may rest: with gravity and a restitution below 1.
    Resting,
    /// Only where a medium slows the spheres.
    Drag,
    /// Only in a step that shrinks the box.
    Compression,
}

/// A pass of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each has its entry in the schedule")]
pub enum Pass {
    Shrink,
    PushApart,
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
    /// Name of the stage that the pass belongs to.
    pub stage: &'static str,
    /// Condition under which the pass runs.
    pub when: When,
    /// The columns that the pass reads.
    pub reads: &'static [Column],
    /// The columns that the pass may change. All other columns stay bit for bit the same.
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

/// Before the first broad phase of a step.
pub const SHRINK: &[Entry] =
    &[entry(Pass::Shrink, "compress", When::Compression, &[Place, Cell], &[Place, Cell])];

/// Before the first substep, and before every substep that the candidate lists of the last broad phase do not cover.
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
    entry(
        Pass::OrderContacts,
        "rest",
        When::Resting,
        &[Cell, Buckets, Constraints, SleepTimers],
        &[Constraints, SleepTimers],
    ),
    entry(Pass::Neighbors, "neighbors", When::Always, &[Place, Cell, Buckets], &[Candidates, MotionMargin]),
];

/// After the first broad phase of a step.
pub const PUSH_APART: &[Entry] = &[entry(
    Pass::PushApart,
    "compress",
    When::Compression,
    &[Place, Cell, Candidates, MotionMargin],
    &[Place, MotionMargin],
)];

/// After the first broad phase of a step: on a device, the saved copy of the initial state must not contain the drag.
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
        &[Candidates, NextEvents],
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
        &[Candidates, NextEvents],
    ),
];

/// After the rounds of every substep.
pub const SUBSTEP_END: &[Entry] = &[
    entry(
        Pass::SolveAfter,
        "rest",
        When::Resting,
        &[Place, Motion, Spin, Cell, Candidates, Clock, MotionMargin, Rested, Constraints, SleepTimers],
        &[Place, Motion, Spin, Clock, MotionMargin, Rested, Constraints, SleepTimers, Sums],
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
pub const SCHEDULE: &[&[Entry]] =
    &[SHRINK, BROAD_PHASE, PUSH_APART, STEP_BEGIN, SUBSTEP_BEGIN, ROUND, SUBSTEP_END, STEP_END];

/// Executes the schedule: an engine does so directly, a device's encoder in advance, and `verify` on both side by side.
pub(crate) trait Executor {
    /// Error that ends the execution.
    type Error;

    /// Whether passes with this condition run.
    fn has(&self, when: When) -> bool;

    /// Runs a pass.
    fn run(&mut self, entry: &Entry) -> Result<(), Self::Error>;

    /// Whether another round follows.
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

/// Index of a stage in [`STAGES`].
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
        // The columns that exist when a step starts.
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
