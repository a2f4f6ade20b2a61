//! A step stage by stage: every stage on the device is fed what its twin is fed, and the first that makes something
//! else of it is named.

use super::{
    PRESENT, broad, contacts, ends,
    findings::{Difference, Findings},
    harness::Harness,
    memory::{Memory, constraints},
    rounds,
    twin::Twin,
};
use crate::gpu::{
    Context,
    encode::{self, Solving},
    layout::{DENSE_ROUNDS, IMPULSE_COUNT, LAUNCH, SCAN_PART},
};
use crate::{
    Error, System,
    state::constants::ITERATION_BATCHES,
    step::schedule::{
        BROAD_PHASE, Entry, Executor, Pass, STEP_END, SUBSTEP_END, When, execute, execute_rounds,
    },
};

/// A stage and what it did otherwise.
pub type Found = (&'static str, Difference);

/// Rounds of a substep that are looked at: those after them do the same to fewer and fewer spheres.
const MOST_ROUNDS: u32 = 64;

/// Goes through the stages of a step from this state; `scale` times the tolerances of rounding.
///
/// # Errors
/// As those of a step.
pub fn first_difference(
    system: &System,
    context: &Context,
    last_contact: impl Fn(u32) -> f32,
    scale: f32,
    time: f64,
) -> Result<Option<Found>, Error> {
    let (harness, twin) = Harness::new(system, context, last_contact, time)?;
    Trace { harness, twin, scale, frame: 0, round: 0, pending: vec![] }.run()
}

/// The walk through a step: every pass of the schedule on both sides.
struct Trace<'a> {
    harness: Harness<'a>,
    twin: Twin,
    scale: f32,
    /// The substep.
    frame: usize,
    /// Number of the round on the device: one that makes lists, or one that looks at all spheres.
    round: u32,
    /// Spheres with a pending impact when the round began.
    pending: Vec<u32>,
}

/// What a comparison comes to: a difference, or none.
type Step = Result<Option<Found>, Error>;

/// Why the walk ends before the step does.
enum End {
    Found(Found),
    Failed(Error),
}

impl Trace<'_> {
    fn run(mut self) -> Step {
        match self.walk() {
            Ok(()) => Ok(None),
            Err(End::Found(found)) => Ok(Some(found)),
            Err(End::Failed(error)) => Err(error),
        }
    }

    fn walk(&mut self) -> Result<(), End> {
        let last = self.harness.frames.len() - 1;
        for k in 0..last {
            self.frame = k;
            self.twin.enter(k, &self.harness.frames[k]);
            if k % self.harness.substeps_per_build == 0 {
                execute(BROAD_PHASE, self)?;
            }
            execute_rounds(self)?;
            execute(SUBSTEP_END, self)?;
        }
        self.frame = last;
        execute(STEP_END, self)
    }

    // Runs the dispatches of a stage and compares; a device that stopped says nothing.
    fn stage(
        &mut self,
        stage: &'static str,
        input: &Memory,
        is_broad: bool,
        dispatches: impl Fn(u32) -> Vec<encode::Dispatch>,
        compare: impl FnOnce(&Harness, &Twin, &Memory, &mut Findings),
    ) -> Step {
        let frame = self.harness.frames[self.frame];
        let Some(output) = self.harness.run(input, frame, is_broad, dispatches)? else { return Ok(None) };
        let twin = &self.twin;
        let mut findings = Findings::new(&twin.core.state.id, twin.core.domain.units, self.scale);
        compare(&self.harness, twin, &output, &mut findings);
        Ok(findings.first().map(|difference| (stage, difference)))
    }

    // What a broad phase starts from: the state in the other copy.
    fn source(&self) -> Memory {
        let mut input = Memory::new(&self.harness.layout);
        let source = 1 - PRESENT;
        (input.bodies[source], input.tags[source]) = constraints(&self.twin.core.state, &self.harness.host);
        input
    }

    fn bin(&mut self) -> Step {
        let input = self.source();
        self.twin.bin();
        self.stage("bin", &input, true, |all| vec![("bin", 0, all)], broad::bin)
    }

    fn scan(&mut self) -> Step {
        let layout = self.harness.layout;
        let mut input = Memory::new(&layout);
        input.put(layout.counts, &self.twin.counts());
        self.twin.scan();
        let parts = (layout.heads - layout.counts).div_ceil(SCAN_PART);
        let scan = |_| vec![("scan_reduce", 0, parts), ("scan_sums", 0, 1), ("scan_apply", 0, parts)];
        self.stage("scan", &input, true, scan, broad::scan)
    }

    fn scatter(&mut self) -> Step {
        let layout = self.harness.layout;
        let mut input = self.source();
        input.put(layout.pending, &self.twin.core.keys);
        input.put(layout.counts, &self.twin.counts());
        input.put(layout.starts, &self.twin.core.starts);
        self.twin.scatter();
        let scatter = |all| vec![("scatter_order", 0, all), ("scatter", 0, all)];
        self.stage("scatter", &input, true, scatter, broad::scatter)
    }

    fn neighbors(&mut self) -> Step {
        self.twin.forget_lists();
        let mut input = self.harness.memory(&self.twin);
        broad::put_rough_places(&self.twin, &mut input);
        self.twin.neighbors();
        self.stage("neighbors", &input, true, |all| encode::neighbors(all).to_vec(), broad::neighbors)
    }

    fn launch(&mut self) -> Step {
        let mut input = self.harness.memory(&self.twin);
        input.begin_substep(&self.harness.layout);
        self.twin.launch();
        let launch =
            |all| vec![("launch", 0, all), ("collide_walk", LAUNCH, all), ("collide_meet", LAUNCH, all)];
        self.stage("launch", &input, false, launch, rounds::launch)
    }

    fn sweep(&mut self) -> Step {
        let input = self.harness.memory(&self.twin);
        self.twin.sweep();
        self.stage(
            "sweep",
            &input,
            false,
            |all| encode::sweep(all).to_vec(),
            |harness, twin, output, findings| {
                rounds::sweep(harness, twin, output, 0, findings);
            },
        )
    }

    fn select(&mut self) -> Step {
        let (layout, round) = (self.harness.layout, self.round);
        let mut input = self.harness.memory(&self.twin);
        input.put_pending(&layout, round, &self.pending);
        self.twin.select();
        let select = |all| encode::select(round, all, all).to_vec();
        self.stage("select", &input, false, select, |harness, twin, output, findings| {
            rounds::select(harness, twin, &output.selected(&harness.layout, round), findings);
        })
    }

    fn collide(&mut self) -> Step {
        let (layout, round) = (self.harness.layout, self.round);
        let selected = self.twin.rounds.selected.clone();
        let mut input = self.harness.memory(&self.twin);
        input.put_selected(&layout, round, &selected);
        let speeds = rounds::speeds(&self.twin);
        self.twin.collide();
        let collide =
            |all| vec![("collide", round, all), ("collide_walk", round, all), ("collide_meet", round, all)];
        self.stage("collide", &input, false, collide, |harness, twin, output, findings| {
            rounds::collide(harness, twin, &input, output, &speeds, findings);
            if harness.layout.slots > 0 {
                contacts::flags(&harness.layout, twin, output, findings);
            }
        })
    }

    fn resweep(&mut self) -> Step {
        let (layout, round) = (self.harness.layout, self.round);
        let selected = self.twin.rounds.selected.clone();
        let mut input = self.harness.memory(&self.twin);
        input.put_pending(&layout, round, &self.pending);
        input.put_selected(&layout, round, &selected);
        for &i in &self.twin.rounds.touched_list {
            input.nodes[i as usize].touched = round + 1;
        }
        self.twin.resweep();
        let sweep = |all| encode::resweep(round, all, all).to_vec();
        self.stage("sweep", &input, false, sweep, |harness, twin, output, findings| {
            rounds::sweep(harness, twin, output, round + 1, findings);
        })
    }

    // Before the launch, or after the rounds.
    fn rest(&mut self, is_first: bool) -> Step {
        let layout = self.harness.layout;
        let mut input = self.harness.memory(&self.twin);
        if is_first {
            input.begin_substep(&self.harness.layout);
            self.twin.rest_before();
        } else {
            self.twin.rest_after();
        }
        let rest = |all| {
            let solving = Solving {
                sphere_count: layout.sphere_count,
                slots: layout.slots,
                all,
                batches: ITERATION_BATCHES,
            };
            if is_first { solving.before() } else { solving.after() }
        };
        self.stage("rest", &input, false, rest, |harness, twin, output, findings| {
            contacts::rest(&harness.host, &harness.layout, twin, output, findings);
        })
    }

    fn keep(&mut self) -> Step {
        let mut input = self.harness.memory(&self.twin);
        input.warm_start[IMPULSE_COUNT as usize] = 0;
        self.twin.advance_sleep_timers();
        self.stage(
            "rest",
            &input,
            false,
            |all| encode::keep(all).to_vec(),
            |harness, twin, output, findings| {
                contacts::keep(&harness.host, &harness.layout, twin, output, findings);
            },
        )
    }

    fn advance(&mut self) -> Step {
        let input = self.harness.memory(&self.twin);
        self.twin.advance();
        self.stage(
            "advance",
            &input,
            false,
            |all| vec![("advance", 0, all)],
            |harness, twin, output, findings| {
                ends::advance(harness, twin, &input, output, findings);
            },
        )
    }

    fn relax(&mut self) -> Step {
        // All are at the end of the substep, and nobody is carried any more.
        self.twin.core.clock.fill(self.twin.frame.h);
        self.twin.core.support.fill(0);
        let input = self.harness.memory(&self.twin);
        let (before, ..) = self.twin.relax();
        let relax = |all| {
            ["relax_deepest", "relax_push", "relax_apply", "relax"].map(|entry| (entry, 0, all)).to_vec()
        };
        self.stage("relax", &input, false, relax, |harness, twin, output, findings| {
            ends::relax(harness, twin, before, output, findings);
        })
    }

    fn audit(&mut self) -> Step {
        let input = self.harness.memory(&self.twin);
        let parts = self.harness.layout.parts();
        self.stage("audit", &input, false, |_| vec![("audit", 0, parts)], ends::audit)
    }
}

impl Executor for Trace<'_> {
    type Error = End;

    fn has(&self, when: When) -> bool {
        match when {
            When::Always => true,
            When::Resting => self.twin.core.domain.world.rests,
            // Systems with drag are refused.
            When::Drag => false,
        }
    }

    fn run(&mut self, entry: &Entry) -> Result<(), End> {
        let compared = match entry.pass {
            Pass::Bin => self.bin(),
            Pass::Scan => self.scan(),
            Pass::Scatter => self.scatter(),
            Pass::Neighbors => self.neighbors(),
            // The twin orders its contacts with its spheres.
            Pass::OrderContacts | Pass::DragBefore | Pass::DragAfter => Ok(None),
            Pass::SolveFirst => self.rest(true),
            Pass::Launch => self.launch(),
            Pass::Sweep => self.sweep(),
            Pass::Select => self.select(),
            Pass::Collide => self.collide(),
            Pass::Resweep => self.resweep(),
            Pass::SolveAfter => self.rest(false),
            Pass::Advance => self.advance(),
            Pass::KeepContacts => self.keep(),
            Pass::Relax => self.relax(),
            Pass::Audit => self.audit(),
        };
        match compared {
            Ok(None) => Ok(()),
            Ok(Some(found)) => Err(End::Found(found)),
            Err(error) => Err(End::Failed(error)),
        }
    }

    fn begin_round(&mut self) -> Result<bool, End> {
        if self.twin.is_pending() && self.twin.rounds.round < MOST_ROUNDS {
            self.round = self.twin.rounds.round.min(DENSE_ROUNDS + 1);
            self.pending.clone_from(&self.twin.rounds.pending_list);
            return Ok(true);
        }
        self.twin.finish_rounds();
        self.twin.failed.take().map_or(Ok(false), |error| Err(End::Failed(error)))
    }
}
