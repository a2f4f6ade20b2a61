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
use crate::{Error, System, state::constants::ITERATION_BATCHES};

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
    Trace { harness, twin, scale, frame: 0 }.run()
}

struct Trace<'a> {
    harness: Harness<'a>,
    twin: Twin,
    scale: f32,
    /// The substep.
    frame: usize,
}

/// What is done on the way: nothing was found so far, or this.
type Step = Result<Option<Found>, Error>;

macro_rules! go_on {
    ($found:expr) => {
        if let Some(found) = $found? {
            return Ok(Some(found));
        }
    };
}

impl Trace<'_> {
    fn run(mut self) -> Step {
        for k in 0..self.harness.frames.len() - 1 {
            self.frame = k;
            self.twin.enter(k, &self.harness.frames[k]);
            if k % self.harness.substeps_per_build == 0 {
                go_on!(self.broad_phase());
            }
            if self.twin.core.domain.world.rests {
                go_on!(self.rest(true));
            }
            go_on!(self.launch());
            go_on!(self.sweep());
            while self.twin.is_pending() && self.twin.rounds.round < MOST_ROUNDS {
                go_on!(self.round());
            }
            self.twin.finish_rounds();
            if let Some(error) = self.twin.failed.take() {
                return Err(error);
            }
            if self.twin.core.domain.world.rests {
                go_on!(self.rest(false));
            }
            go_on!(self.advance());
            if self.twin.core.domain.world.rests {
                go_on!(self.keep());
            }
            go_on!(self.relax());
        }
        self.frame = self.harness.frames.len() - 1;
        self.audit()
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

    fn broad_phase(&mut self) -> Step {
        let layout = self.harness.layout;
        let input = self.source();
        self.twin.bin();
        go_on!(self.stage("bin", &input, true, |all| vec![("bin", 0, all)], broad::bin));

        let mut input = Memory::new(&layout);
        input.put(layout.counts, &self.twin.counts());
        self.twin.scan();
        let parts = (layout.heads - layout.counts).div_ceil(SCAN_PART);
        let scan = |_| vec![("scan_reduce", 0, parts), ("scan_sums", 0, 1), ("scan_apply", 0, parts)];
        go_on!(self.stage("scan", &input, true, scan, broad::scan));

        let mut input = self.source();
        input.put(layout.pending, &self.twin.core.keys);
        input.put(layout.counts, &self.twin.counts());
        input.put(layout.starts, &self.twin.core.starts);
        self.twin.scatter();
        let scatter = |all| vec![("scatter_order", 0, all), ("scatter", 0, all)];
        go_on!(self.stage("scatter", &input, true, scatter, broad::scatter));

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

    // Select, collide, sweep again. On the device a round of this number makes lists, or looks at all.
    fn round(&mut self) -> Step {
        let layout = self.harness.layout;
        let round = self.twin.rounds.round.min(DENSE_ROUNDS + 1);
        let pending = self.twin.rounds.pending_list.clone();
        let mut input = self.harness.memory(&self.twin);
        input.put_pending(&layout, round, &pending);
        self.twin.select();
        let select = |all| encode::select(round, all, all).to_vec();
        go_on!(self.stage("select", &input, false, select, |harness, twin, output, findings| {
            rounds::select(harness, twin, &output.selected(&harness.layout, round), findings);
        }));

        let selected = self.twin.rounds.selected.clone();
        let mut input = self.harness.memory(&self.twin);
        input.put_selected(&layout, round, &selected);
        let speeds = rounds::speeds(&self.twin);
        self.twin.collide();
        let collide =
            |all| vec![("collide", round, all), ("collide_walk", round, all), ("collide_meet", round, all)];
        go_on!(self.stage("collide", &input, false, collide, |harness, twin, output, findings| {
            rounds::collide(harness, twin, &input, output, &speeds, findings);
            if harness.layout.slots > 0 {
                contacts::flags(&harness.layout, twin, output, findings);
            }
        }));

        let mut input = self.harness.memory(&self.twin);
        input.put_pending(&layout, round, &pending);
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

#[cfg(test)]
mod tests {
    use crate::step::schedule::STAGES;

    // In the order of the table.
    #[test]
    fn every_stage_of_the_table_is_traced() {
        let text: String = include_str!("trace.rs").split_whitespace().collect();
        let mut from = 0;
        for stage in STAGES {
            let call = format!("self.stage(\"{}\"", stage.name);
            let at = text[from..].find(&call).unwrap_or_else(|| panic!("no {call} after byte {from}"));
            from += at;
        }
    }
}
