//! Prepares the device and its CPU twin for a system before the first stage of a step, and runs single passes on the
//! device.

use std::sync::Arc;

use glam::DVec3;

use super::{PRESENT, memory::Memory, twin::Twin};
use crate::gpu::{
    Context,
    buffer_layout::{BufferLayout, Capacities},
    buffers::Buffers,
    dispatch_budget::DispatchBudget,
    encode::{Dispatch, Encoder},
    host_mirror::HostMirror,
    layout::{Frame, HALT, HALT_CUT, MOST_WIDE_ROUNDS},
    pipelines::Pipelines,
    shaders::Variant,
    step_plan::{Shrink, StepPlan},
};
use crate::{
    Bounds, Error, System,
    cpu::{audit::Audit, core::Core},
    step::{
        plan::{self, Past, Plan},
        shrinkage::PeriodicBox,
        watch::BoxSet,
    },
};

/// Inputs of the device besides its memory.
pub struct Site {
    pub host: HostMirror,
    pub layout: BufferLayout,
    /// The frame of the present substep.
    pub frame: Frame,
    /// Number of the present round: one that makes lists, or one that goes through all spheres.
    pub round: u32,
}

/// The buffers that the dispatches of a pass are bound to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Bindings {
    /// Both copies of the state.
    Broad,
    /// The present copy.
    View,
    /// The present copy and the contact constraints.
    Rest,
    /// The bindings of the passes that order the contact constraints.
    Order,
}

/// The buffers and pipelines of one system on the device.
pub struct Device<'a> {
    context: &'a Context,
    pipelines: Arc<Pipelines>,
    buffers: Buffers,
    dispatch_budget: DispatchBudget,
    layout: BufferLayout,
}

impl Device<'_> {
    /// Device memory after these dispatches on this input.
    ///
    /// # Errors
    /// [`Error::DeviceLost`], [`Error::Capacity`].
    pub fn run(
        &mut self,
        input: &Memory,
        frame: Frame,
        bindings: Bindings,
        dispatches: &[Dispatch],
    ) -> Result<Memory, Error> {
        let Self { context, pipelines, buffers, dispatch_budget, layout } = self;
        input.upload(context, buffers);
        buffers.write_frames(context, pipelines, &[frame])?;
        let mut encoder = Encoder::new(context, pipelines, buffers, PRESENT, *dispatch_budget, None, false);
        let group = match bindings {
            Bindings::Rest | Bindings::Order => &buffers.rest[PRESENT],
            Bindings::Broad => &buffers.broad[1 - PRESENT],
            Bindings::View => &buffers.view[PRESENT],
        };
        match dispatches {
            [(_, _, all)] if bindings == Bindings::Order => encoder.order(0, 1 - PRESENT, *all),
            // The name labels the pass.
            _ => encoder.stage("audit", group, 0, dispatches.to_vec()),
        }
        context.queue.submit(encoder.finish()?);
        let output = Memory::download(context, buffers, layout)?;
        context.check()?;
        Ok(output)
    }

    /// The same for the dispatches given the workgroups for all spheres. None where the device halted for a reason that
    /// says nothing about the pass, such as a full buffer.
    ///
    /// # Errors
    /// [`Error::DeviceLost`], [`Error::Capacity`].
    pub fn run_within_budget(
        &mut self,
        input: &Memory,
        frame: Frame,
        bindings: Bindings,
        dispatches: impl Fn(u32) -> Vec<Dispatch>,
    ) -> Result<Option<Memory>, Error> {
        loop {
            let dispatches = dispatches(self.dispatch_budget.groups(self.layout.sphere_count));
            let output = self.run(input, frame, bindings, &dispatches)?;
            match output.work[HALT as usize] {
                0 => return Ok(Some(output)),
                halt if halt & HALT_CUT != 0 && self.dispatch_budget.spread() => {}
                _ => return Ok(None),
            }
        }
    }
}

/// A system on both sides.
pub struct Harness<'a> {
    context: &'a Context,
    pipelines: Arc<Pipelines>,
    /// Positions of walls in each substep.
    motion: Vec<u32>,
    pub site: Site,
    /// The frames of all substeps, then the frame of the audit.
    pub frames: Vec<Frame>,
    pub substeps_per_build: usize,
    pub twin: Twin,
}

/// Both sides with equal cells, and the plan of the step.
pub struct Setup {
    pub host: HostMirror,
    pub core: Core,
    pub plan: Plan,
    pub capacities: Capacities,
    pub variant: Variant,
    /// How the step shrinks the box, and the box that it enters. The host mirror is in this box already, the core is not.
    pub shrink: Option<(Shrink, PeriodicBox)>,
}

impl Setup {
    /// The step divided into substeps as either engine divides it, with buffers for `ample` times the spheres. A step that shrinks the
    /// box shrinks it to `bounds`.
    ///
    /// # Errors
    /// [`Error::Capacity`] for more spheres than fit.
    fn of_step(
        system: &System,
        bounds: &Bounds,
        last_contact: impl Fn(u32) -> f32,
        ample: usize,
    ) -> Result<Self, Error> {
        let (mut host, mut state) = HostMirror::new(system, &last_contact);
        let mut core = Core::new(system, &last_contact)?;
        let mut audit = Audit::default();
        let still = audit.run(&core.domain.grid, &core.state, DVec3::ZERO);
        let sums = audit.run(&core.domain.grid, &core.state, still.drift);
        let past = Past { sums, ..Past::default() };
        let mut wanted = Some(plan::wanted_margin(&host.domain.limits(), &past));
        let plan = loop {
            if let Some(motion_margin) = wanted {
                host.domain.regrid(&mut state, motion_margin);
                core.regrid(motion_margin);
            }
            let plan = plan::plan(&host.domain.limits(), &past);
            match plan.regrid {
                // New cells may allow less than was asked for: they are asked for once.
                Some(motion_margin) if wanted != Some(motion_margin) => wanted = Some(motion_margin),
                _ => break plan,
            }
        };
        let capacities = Capacities { blocks: plan.substeps, ..capacities(ample * system.spheres.len()) };
        let variant = host.variant();
        let mut setup = Self { host, core, plan, capacities, variant, shrink: None };
        if *bounds != system.bounds {
            let (domain, share) = (&setup.host.domain, system.share_of_step());
            let shrinkage = domain.shrinkage(None, share, &past);
            setup.plan = plan::plan(&domain.limits_while_shrinking(&shrinkage.to, share), &past);
            let at = domain.resized(&shrinkage.to, bounds.clone());
            setup.shrink(at);
        }
        Ok(setup)
    }

    /// Lets the step begin in this box.
    pub fn shrink(&mut self, at: PeriodicBox) {
        let domain = &mut self.host.domain;
        let mut before = at.clone();
        domain.swap_box(&mut before);
        let remap = domain.grid.remap_from(&before.grid);
        self.plan.motion_margin = self.plan.motion_margin.min(domain.grid.margin_limit);
        let Variant { is_direct, is_mixed, .. } = self.host.variant();
        self.variant = Variant { is_direct, is_mixed: is_mixed || self.variant.is_mixed, ..self.variant };
        self.shrink = Some((Shrink { remap, ..Shrink::default() }, at));
    }
}

impl<'a> Harness<'a> {
    /// Both sides before the first stage of a step that ends in a box with these bounds; buffers are `ample` times as large as usual.
    ///
    /// # Errors
    /// [`Error::Capacity`] for more spheres than fit, [`Error::DeviceLost`].
    pub fn of_step(
        system: &System,
        bounds: &Bounds,
        context: &'a Context,
        last_contact: impl Fn(u32) -> f32,
        time: f64,
        ample: usize,
    ) -> Result<Self, Error> {
        Self::new(Setup::of_step(system, bounds, last_contact, ample)?, context, time)
    }

    /// The same with a plan that is given; the step begins at `time`.
    ///
    /// # Errors
    /// [`Error::Capacity`] for more spheres than fit, [`Error::DeviceLost`].
    pub fn new(setup: Setup, context: &'a Context, time: f64) -> Result<Self, Error> {
        let Setup { mut host, core, plan, capacities, variant, shrink } = setup;
        let layout = host.layout(capacities);
        layout.check(&context.device.limits(), host.domain.grid.buckets)?;
        let step_plan = StepPlan {
            plan,
            wide_rounds: MOST_WIDE_ROUNDS,
            record: true,
            strict: false,
            leaves_chains: false,
            wakes: false,
            watched: BoxSet::default(),
            dispatch_budget: DispatchBudget::new(context),
            shrink: shrink.as_ref().map(|(shrink, _)| *shrink),
        };
        let frames = step_plan.frames(&host, &layout);
        let substeps = step_plan.substeps(&host);
        let blocks = if layout.static_world.is_restless { substeps.len() } else { 1 };
        let motion = host.motion(time, &substeps[..blocks]);
        let pipelines = context.pipelines(variant);
        let mut twin = Twin::new(core, &plan, &substeps, time);
        twin.other_box = shrink.map(|(_, at)| at);
        twin.enter(0, &frames[0]);
        let substeps_per_build = plan.substeps_per_build as usize;
        let site = Site { host, layout, frame: frames[0], round: 0 };
        Ok(Self { context, pipelines, motion, site, frames, substeps_per_build, twin })
    }

    /// Buffers with the world of the system, and the positions of its walls in each substep.
    ///
    /// # Errors
    /// [`Error::DeviceLost`], [`Error::Capacity`].
    pub fn device(&self) -> Result<Device<'a>, Error> {
        let Self { context, pipelines, motion, site, .. } = self;
        let buffers = Buffers::new(context, pipelines, site.layout, None)?;
        buffers.write_world(&context.queue, &site.host);
        buffers.write_motion(&context.queue, motion);
        let dispatch_budget = DispatchBudget::new(context);
        Ok(Device { context, pipelines: pipelines.clone(), buffers, dispatch_budget, layout: site.layout })
    }
}

/// Capacities with which hardly any buffer overflows.
pub fn capacities(count: usize) -> Capacities {
    // No adapter binds buffers for more, and all products fit in 32 bits.
    let n = count.min(1 << 26) as u32;
    Capacities {
        entries: 32 * n + 4096,
        dynamic_candidates: 4 * n + 4096,
        visits: 4 * n + 65_536,
        threats: n / 4 + 1024,
        frozen: n / 4 + 256,
        // A round records an impact of each sphere at most.
        log: n + 16,
        constraints: 16 * n + 1024,
        blocks: 1,
    }
}
