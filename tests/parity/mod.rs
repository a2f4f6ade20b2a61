//! Every pass of the schedule on starts of all kinds and sizes: the comparisons of `carom verify`, each shown to notice
//! an error.
//!
//! A [`Case`] holds the device memory before a pass, the dispatches of that pass alone, and the twin after the same pass
//! on the same input. All of it runs at the default limits of WebGPU. Without an adapter it fails.

mod starts;

mod advance;
mod audit;
mod bin;
mod collide;
mod compress;
mod launch;
mod neighbors;
mod order;
mod relax;
mod rest;
mod scan;
mod scatter;
mod select;
#[cfg(feature = "files")]
mod steps;
mod sweep;

use std::sync::OnceLock;

use self::starts::Start;
use super::{
    PRESENT,
    findings::{Findings, OVERALL},
    harness::{Bindings, Harness, Setup, Site, capacities},
    memory::{self, Memory},
    stages::{self, Compare},
    twin::Twin,
};
use crate::{
    gpu::{
        Context,
        buffer_layout::BufferLayout,
        encode::Dispatch,
        layout::{GROUP, HALT},
    },
    state::units::Units,
    step::schedule::{
        BROAD_PHASE, Entry, Executor, PUSH_APART, Pass, SCHEDULE, SHRINK, STEP_BEGIN, SUBSTEP_END, When,
        execute, execute_rounds,
    },
};

/// The device of all tests of a process.
fn context() -> &'static Context {
    static CONTEXT: OnceLock<Context> = OnceLock::new();
    CONTEXT.get_or_init(|| {
        Context::open_with_limits(None, crate::gpu::wgpu::Limits::default())
            .unwrap_or_else(|e| panic!("a test that needs an adapter found none: {e}"))
    })
}

/// Executes the schedule on the twin up to a pass.
struct UpTo<'a> {
    twin: &'a mut Twin,
    pass: Option<Pass>,
}

/// The pass is reached.
struct Reached;

impl Executor for UpTo<'_> {
    type Error = Reached;

    fn has(&self, when: When) -> bool {
        self.twin.has(when)
    }

    fn run(&mut self, entry: &Entry) -> Result<(), Reached> {
        if self.pass == Some(entry.pass) {
            return Err(Reached);
        }
        (stages::of(entry.pass).twin)(self.twin);
        Ok(())
    }

    fn begin_round(&mut self) -> Result<bool, Reached> {
        Ok(self.twin.is_pending())
    }
}

/// Runs the present substep of the twin up to a pass, or to its end.
fn run_substep(twin: &mut Twin, pass: Option<Pass>) {
    let mut up_to = UpTo { twin, pass };
    execute_rounds(&mut up_to).and_then(|()| execute(SUBSTEP_END, &mut up_to)).ok();
}

/// Whether a pass runs in the world of the twin.
fn runs(twin: &Twin, pass: Pass) -> bool {
    SCHEDULE.iter().copied().flatten().any(|entry| entry.pass == pass && twin.has(entry.when))
}

/// A start on both sides before the first such pass: at the begin of the step, or in its last substep.
fn before(start: &Start, pass: Pass) -> Harness<'static> {
    go_before(Harness::new(starts::setup(start), context(), 0.0).unwrap(), pass)
}

/// The same from both sides at the begin of the step.
fn go_before(mut harness: Harness<'static>, pass: Pass) -> Harness<'static> {
    let Harness { site, twin, frames, .. } = &mut harness;
    let mut up_to = UpTo { twin, pass: Some(pass) };
    let parts = [SHRINK, BROAD_PHASE, PUSH_APART, STEP_BEGIN];
    let begin = parts.iter().try_for_each(|part| execute(part, &mut up_to));
    if begin.is_ok() && runs(twin, pass) {
        for (k, frame) in frames[..frames.len() - 1].iter().enumerate() {
            site.frame = *frame;
            twin.enter(k, frame);
            run_substep(twin, (k + 2 == frames.len()).then_some(pass));
        }
    }
    harness
}

/// Workgroups for all spheres: a third of one for each, so that most stride over several.
fn groups(layout: &BufferLayout) -> u32 {
    layout.sphere_count.div_ceil(3 * GROUP).max(1)
}

/// One pass on one start.
struct Case {
    name: String,
    /// The device, and the twin after the pass.
    harness: Harness<'static>,
    input: Memory,
    bindings: Bindings,
    dispatches: Vec<Dispatch>,
    compare: Compare,
    /// A sphere to which something happens in the pass.
    sample: usize,
}

impl Case {
    /// The pass where the schedule reaches it.
    fn of(start: &Start, pass: Pass) -> Self {
        Self::new(start, before(start, pass), pass)
    }

    /// The pass on the present state of the twin.
    fn new(start: &Start, harness: Harness<'static>, pass: Pass) -> Self {
        Self::with_leftovers(start, harness, pass, |_, _| ())
    }

    /// The same with values left in memory by other passes and steps.
    fn with_leftovers(
        start: &Start,
        harness: Harness<'static>,
        pass: Pass,
        leave: impl FnOnce(&mut Memory, &Site),
    ) -> Self {
        let comparison = stages::of(pass);
        let mut case = Self {
            name: format!("{} of {}", start.name, start.system.spheres.len()),
            input: Memory::new(&harness.site.layout),
            harness,
            bindings: comparison.bindings,
            dispatches: vec![],
            compare: |_, _, _, _, _| (),
            sample: 0,
        };
        let Harness { site, twin, .. } = &mut case.harness;
        if runs(twin, pass) {
            case.input = (comparison.input)(site, twin);
            leave(&mut case.input, site);
            (comparison.twin)(twin);
            case.dispatches = (comparison.dispatches)(site, groups(&site.layout));
            case.compare = comparison.compare;
        }
        case
    }

    fn with_sample(mut self, sample: usize) -> Self {
        self.sample = sample;
        self
    }

    fn run(&self) -> Memory {
        self.run_on(&self.input)
    }

    /// Device memory after the pass on other input.
    fn run_on(&self, input: &Memory) -> Memory {
        let mut device = self.harness.device().unwrap();
        device.run(input, self.harness.site.frame, self.bindings, &self.dispatches).unwrap()
    }

    fn findings(&self, output: &Memory) -> Findings<'_> {
        let Harness { site, twin, .. } = &self.harness;
        let mut findings = Findings::new(&twin.core.state.id, twin.core.domain.units, 1.0);
        findings.equal("reasons to halt", OVERALL, output.work[HALT as usize], 0);
        (self.compare)(site, &self.input, twin, output, &mut findings);
        findings
    }

    fn differs(&self, output: &Memory) -> bool {
        !self.findings(output).is_clean()
    }
}

/// The findings of several cases.
struct Total(Findings<'static>);

impl Total {
    fn new() -> Self {
        Self(Findings::new(&[], Units { length: 1.0, time: 1.0, mass: 1.0 }, 1.0))
    }

    /// Adds those of a case: no difference, and next to no near-ties.
    fn add(&mut self, name: &str, findings: Findings) {
        let Findings { differences, near_ties, compared, worst, seen, .. } = findings;
        let most = 2 + compared / 5000;
        assert!(
            differences.is_empty() && near_ties <= most,
            "{name}: {near_ties} near-ties, {differences:#?}"
        );
        self.0.compared += compared;
        self.0.near_ties += near_ties;
        self.0.worst = self.0.worst.max(worst);
        seen.into_iter().for_each(|(what, count)| self.0.saw(what, count));
    }

    /// Prints the figures; whatever was counted must have happened, but for what is `absent` from these starts.
    fn report(&self, stage: &str, absent: &[&str]) {
        let Findings { near_ties, compared, worst, seen, .. } = &self.0;
        println!(
            "{stage}: {compared} values compared, {near_ties} near-ties, largest difference {worst:.2} of its tolerance; \
             {seen:?}"
        );
        let unseen: Vec<_> =
            seen.iter().filter(|(what, count)| (**count == 0) != absent.contains(*what)).collect();
        assert!(unseen.is_empty(), "{stage}: never happened, or was to be absent: {unseen:?}");
    }
}

/// Runs a pass on starts of every kind and size: both sides have to agree, near-ties aside.
fn agrees(stage: &str, case: impl Fn(&Start) -> Case) -> Total {
    agrees_without(stage, &[], case)
}

/// The same on starts from which something that the comparison counts is absent.
fn agrees_without(stage: &str, absent: &[&str], case: impl Fn(&Start) -> Case) -> Total {
    let mut total = Total::new();
    for start in starts::all() {
        let case = case(&start);
        total.add(&case.name, case.findings(&case.run()));
    }
    total.report(stage, absent);
    // Sizes 0 and 1 say little.
    assert!(total.0.compared > 20_000, "{stage}: only {} values compared", total.0.compared);
    total
}

/// A change of one value; the last argument is the sample of the case.
type Slip = (&'static str, fn(&mut Memory, &BufferLayout, usize));

/// Every one of these changes to the input or the output of the device is noticed.
fn notices(start: &Start, case: impl Fn(&Start) -> Case, of_input: &[Slip], of_output: &[Slip]) {
    let case = case(start);
    let layout = &case.harness.site.layout;
    let output = case.run();
    Total::new().add(&case.name, case.findings(&output));
    for (what, slip) in of_input {
        let mut input = case.input.clone();
        slip(&mut input, layout, case.sample);
        assert!(input != case.input, "{what}: nothing was changed");
        assert!(case.differs(&case.run_on(&input)), "not noticed in the input: {what}");
    }
    for (what, slip) in of_output {
        let mut output = output.clone();
        slip(&mut output, layout, case.sample);
        assert!(case.differs(&output), "not noticed in the output: {what}");
    }
}
