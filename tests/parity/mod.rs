//! Every stage of the table on the device against its twin, both sides fed the same input.
//!
//! A [`Case`] holds what the buffers hold before a stage, the dispatches of that stage and no other, and what the twin
//! makes of the same input. Integers have to be equal. Floats may differ, because WGSL lets a device fuse a product
//! with a sum (the product then goes unrounded), divide to 2.5 ULP and take looser roots: every stage states by how
//! much and why. Where such a difference decides something (a pair on the very rim of a list, two impacts at one time)
//! the twin and the device may decide differently; such near-ties are told by their geometry, counted, and few.
//!
//! All of it runs at the default limits of WebGPU. Where there is no adapter it fails.

mod starts;
mod verdict;
mod walks;

mod advance;
mod audit;
mod bin;
mod collide;
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

use std::{
    ops::Deref,
    sync::{Arc, OnceLock},
};

use self::{memory::Memory, starts::Start, twin::Twin, verdict::Verdict};
use super::{PRESENT, contacts, findings, harness::Device, memory, rounds, twin};
use crate::gpu::{
    Context,
    buffer_layout::{BufferLayout, Capacities},
    dispatch_budget::DispatchBudget,
    encode::Dispatch,
    host_mirror::HostMirror,
    layout::{Frame, GROUP, HALT},
    pipelines::Pipelines,
    shaders::Variant,
    step_plan::StepPlan,
};
use crate::step::plan::Plan;

/// Rounds over the whole array that the frames of the tests announce.
const WIDE_ROUNDS: u32 = 48;

/// The device of all tests of a process.
fn context() -> &'static Context {
    static CONTEXT: OnceLock<Context> = OnceLock::new();
    CONTEXT.get_or_init(|| {
        Context::open_with_limits(None, crate::gpu::wgpu::Limits::default())
            .unwrap_or_else(|e| panic!("a test that needs an adapter found none: {e}"))
    })
}

/// The pipelines for a system; with code for planes and fixed spheres, whether there are any or not.
fn pipelines(host: &HostMirror) -> Arc<Pipelines> {
    let Variant { is_direct, has_rest, has_shapes, .. } = host.variant();
    context()
        .pipelines(Variant {
            is_direct,
            has_walls: true,
            has_fixed: true,
            is_mixed: true,
            has_rest,
            has_shapes,
        })
        .unwrap()
}

/// One start on both sides.
struct Harness {
    site: Site,
    twin: Twin,
}

/// What the device knows of it beside the state.
struct Site {
    name: String,
    host: Arc<HostMirror>,
    /// Where walls are in each substep.
    motion: Arc<[u32]>,
    layout: BufferLayout,
    frame: Frame,
    /// Of the substep that is looked at.
    last: Frame,
}

impl Deref for Harness {
    type Target = Site;

    fn deref(&self) -> &Site {
        &self.site
    }
}

impl From<Harness> for Site {
    fn from(harness: Harness) -> Self {
        harness.site
    }
}

impl Harness {
    /// The twin before its first stage, and the same cells and world for the device.
    fn new(start: &Start) -> Self {
        let (mut host, mut state) = HostMirror::new(&start.system, |id| start.last_contact(id));
        let (mut twin, made_for) = starts::twin(start);
        host.domain.regrid(&mut state, made_for);
        assert_eq!(host.domain.grid, twin.core.domain.grid, "both sides have the same cells");
        let n = start.system.spheres.len();
        let layout = host.layout(roomy(n));
        let plan = Plan {
            substeps: start.substeps,
            substeps_per_build: start.substeps,
            motion_margin: twin.motion_margin,
            drift: twin.drift,
            regrid: None,
        };
        let step_plan = StepPlan {
            plan,
            wide_rounds: WIDE_ROUNDS,
            record: true,
            strict: false,
            wakes: false,
            dispatch_budget: DispatchBudget::new(context()),
        };
        let frames = step_plan.frames(&host, &layout);
        let substeps = step_plan.substeps(&host);
        let motion: Arc<[u32]> = host
            .motion(0.0, &substeps[..if layout.static_world.is_restless { substeps.len() } else { 1 }])
            .into();
        twin.frames(&frames, &substeps, 0.0);
        let (frame, last) = (frames[0], frames[start.substeps as usize - 1]);
        let name = format!("{} of {n}", start.name);
        Self { site: Site { name, host: Arc::new(host), motion, layout, frame, last }, twin }
    }

    /// The twin before the first stage of the substep that is looked at.
    fn before_substep(start: &Start) -> Self {
        let mut harness = Self::new(start);
        harness.twin.reach_substep();
        harness.site.frame = harness.site.last;
        harness
    }

    /// The same with contacts found and solved.
    fn in_substep(start: &Start) -> Self {
        let mut harness = Self::before_substep(start);
        harness.twin.rest_before();
        harness
    }

    /// What the buffers hold when the twin is where it is now.
    fn memory(&self) -> Memory {
        Memory::of(&self.twin, &self.host, &self.layout)
    }

    /// Workgroups for all spheres: a third of one for each, so that most stride over several.
    fn all(&self) -> u32 {
        self.layout.sphere_count.div_ceil(3 * GROUP).max(1)
    }
}

/// Room enough that nothing overflows.
fn roomy(n: usize) -> Capacities {
    let n = n as u32;
    Capacities {
        entries: 64 * n + 4096,
        dynamic_candidates: 16 * n + 4096,
        visits: 16 * n + 4096,
        threats: n + 16,
        frozen: n + 16,
        log: n + 16,
        constraints: 16 * n + 1024,
        blocks: 64,
    }
}

/// Compares what a stage left with what its twin did.
type Check = dyn Fn(&Memory, &mut Verdict);

/// One stage on one start.
struct Case {
    name: String,
    host: Arc<HostMirror>,
    motion: Arc<[u32]>,
    layout: BufferLayout,
    frame: Frame,
    input: Memory,
    /// Entry point, round, workgroups.
    dispatches: Vec<Dispatch>,
    is_broad: bool,
    /// A sphere to which something happens in the stage.
    sample: usize,
    /// Compares what the device made with what the twin did.
    check: Box<Check>,
}

impl Case {
    fn new(
        site: impl Into<Site>,
        input: Memory,
        dispatches: Vec<Dispatch>,
        is_broad: bool,
        check: impl Fn(&Memory, &mut Verdict) + 'static,
    ) -> Self {
        let Site { name, host, motion, layout, frame, .. } = site.into();
        Self {
            name,
            host,
            motion,
            layout,
            frame,
            input,
            dispatches,
            is_broad,
            sample: 0,
            check: Box::new(check),
        }
    }

    fn with_sample(mut self, sample: usize) -> Self {
        self.sample = sample;
        self
    }

    fn run(&self) -> Memory {
        self.run_on(&self.input)
    }

    /// What the buffers hold after the stage on other input.
    fn run_on(&self, input: &Memory) -> Memory {
        let pipelines = pipelines(&self.host);
        let mut device =
            Device::new(context(), pipelines, self.layout, &self.host, Some(&self.motion)).unwrap();
        device.run(input, self.frame, self.is_broad, &self.dispatches).unwrap()
    }

    fn verdict(&self, output: &Memory) -> Verdict {
        let mut verdict = Verdict::new(&self.name);
        verdict.equal("halt", 0, output.work[HALT as usize], 0);
        (self.check)(output, &mut verdict);
        verdict
    }
}

/// Runs a stage on starts of every kind and size; both sides have to agree, near-ties aside.
fn agrees(stage: &str, case: impl Fn(&Start) -> Case) {
    let mut total = Verdict::new(stage);
    for start in starts::all() {
        let case = case(&start);
        let verdict = case.verdict(&case.run());
        verdict.assert_clean();
        total.add(verdict);
    }
    total.report();
    // Sizes 0 and 1 say little.
    assert!(total.compared > 20_000, "{stage}: only {} values compared", total.compared);
}

/// A change of one value; the last argument is the sample of the case.
type Slip = (&'static str, fn(&mut Memory, &BufferLayout, usize));

/// Every one of these changes, made to what the device is given or gives back, is noticed.
fn notices(start: &Start, case: impl Fn(&Start) -> Case, of_input: &[Slip], of_output: &[Slip]) {
    let case = case(start);
    let output = case.run();
    case.verdict(&output).assert_clean();
    for (what, slip) in of_input {
        let mut input = case.input.clone();
        slip(&mut input, &case.layout, case.sample);
        assert!(input != case.input, "{what}: nothing was changed");
        let verdict = case.verdict(&case.run_on(&input));
        assert!(!verdict.wrong.is_empty(), "not noticed in the input: {what}");
    }
    for (what, slip) in of_output {
        let mut output = output.clone();
        slip(&mut output, &case.layout, case.sample);
        let verdict = case.verdict(&output);
        assert!(!verdict.wrong.is_empty(), "not noticed in the output: {what}");
    }
}
