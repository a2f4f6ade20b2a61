//! One stage at a time on the device, from what its twin starts from.

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
    layout::{Frame, HALT, HALT_CUT},
    pipelines::Pipelines,
    step_plan::StepPlan,
};
use crate::{
    Error, System,
    cpu::{audit::Audit, core::Core},
    step::plan::{self, Past},
};

/// Rounds over the whole array that the frames announce: as many as a device may do.
const WIDE_ROUNDS: u32 = crate::gpu::layout::MOST_WIDE_ROUNDS;

/// The buffers and pipelines of one system on the device.
pub struct Device<'a> {
    context: &'a Context,
    pipelines: Arc<Pipelines>,
    buffers: Buffers,
    dispatch_budget: DispatchBudget,
    layout: BufferLayout,
}

impl<'a> Device<'a> {
    /// Buffers with the world of `host`, and where its walls are in each substep.
    ///
    /// # Errors
    /// [`Error::DeviceLost`], [`Error::Capacity`].
    pub fn new(
        context: &'a Context,
        pipelines: Arc<Pipelines>,
        layout: BufferLayout,
        host: &HostMirror,
        motion: Option<&[u32]>,
    ) -> Result<Self, Error> {
        let buffers = Buffers::new(context, &pipelines, layout, None)?;
        buffers.write_world(&context.queue, host);
        if let Some(motion) = motion {
            buffers.write_motion(&context.queue, motion);
        }
        let dispatch_budget = DispatchBudget::new(context);
        Ok(Self { context, pipelines, buffers, dispatch_budget, layout })
    }

    /// What the buffers hold after the dispatches of one stage on this input.
    ///
    /// # Errors
    /// [`Error::DeviceLost`], [`Error::Capacity`].
    pub fn run(
        &mut self,
        input: &Memory,
        frame: Frame,
        is_broad: bool,
        dispatches: &[Dispatch],
    ) -> Result<Memory, Error> {
        let Self { context, pipelines, buffers, dispatch_budget, layout } = self;
        input.upload(context, buffers);
        buffers.write_frames(context, pipelines, &[frame])?;
        let mut encoder =
            Encoder::new(&context.device, pipelines, buffers, PRESENT, *dispatch_budget, None, false);
        let group = match dispatches.first() {
            Some((entry, ..)) if entry.starts_with("rest_") => &buffers.rest[PRESENT],
            _ if is_broad => &buffers.broad[1 - PRESENT],
            _ => &buffers.view[PRESENT],
        };
        // The name is only that of the pass.
        encoder.stage("audit", group, 0, dispatches);
        context.queue.submit([encoder.encoder.finish()]);
        let output = Memory::download(context, buffers, layout)?;
        context.check()?;
        Ok(output)
    }
}

/// The device's side, beside the state.
pub struct Harness<'a> {
    device: Device<'a>,
    pub host: HostMirror,
    pub layout: BufferLayout,
    /// Of every substep; that of the audit last.
    pub frames: Vec<Frame>,
    pub substeps_per_build: usize,
}

impl<'a> Harness<'a> {
    /// Both sides before the first stage of a step, divided as either engine divides it.
    ///
    /// # Errors
    /// [`Error::Capacity`] for more spheres than fit, [`Error::DeviceLost`].
    pub fn new(
        system: &System,
        context: &'a Context,
        last_contact: impl Fn(u32) -> f32,
        time: f64,
    ) -> Result<(Self, Twin), Error> {
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
        let layout = host.layout(Capacities { blocks: plan.substeps, ..roomy(system.spheres.len()) });
        layout.check(&context.device.limits(), host.domain.grid.buckets)?;
        let step_plan = StepPlan {
            plan,
            wide_rounds: WIDE_ROUNDS,
            record: false,
            strict: false,
            wakes: false,
            dispatch_budget: DispatchBudget::new(context),
        };
        let frames = step_plan.frames(&host, &layout);
        let pipelines = context.pipelines(host.variant())?;
        let substeps = step_plan.substeps(&host);
        let motion = layout.static_world.is_restless.then(|| host.motion(time, &substeps));
        let device = Device::new(context, pipelines, layout, &host, motion.as_deref())?;
        let mut twin = Twin::new(core, plan.motion_margin, plan.drift);
        twin.frames(&frames, &substeps, time);
        let substeps_per_build = plan.substeps_per_build as usize;
        Ok((Self { device, host, layout, frames, substeps_per_build }, twin))
    }

    /// What the buffers hold where the twin is now.
    pub fn memory(&self, twin: &Twin) -> Memory {
        Memory::of(twin, &self.host, &self.layout)
    }

    /// What the buffers hold after these dispatches, given the workgroups for all spheres. None where the device
    /// stopped for a reason of its own, as want of room.
    ///
    /// # Errors
    /// [`Error::DeviceLost`], [`Error::Capacity`].
    pub fn run(
        &mut self,
        input: &Memory,
        frame: Frame,
        is_broad: bool,
        dispatches: impl Fn(u32) -> Vec<Dispatch>,
    ) -> Result<Option<Memory>, Error> {
        loop {
            let dispatches = dispatches(self.device.dispatch_budget.groups(self.layout.sphere_count));
            let output = self.device.run(input, frame, is_broad, &dispatches)?;
            match output.work[HALT as usize] {
                0 => return Ok(Some(output)),
                halt if halt & HALT_CUT != 0 && self.device.dispatch_budget.spread() => {}
                _ => return Ok(None),
            }
        }
    }
}

// Room enough that hardly anything overflows.
fn roomy(count: usize) -> Capacities {
    let n = count as u32;
    Capacities {
        entries: 32 * n + 4096,
        dynamic_candidates: 4 * n + 4096,
        visits: 4 * n + 65_536,
        threats: n / 4 + 1024,
        frozen: n / 4 + 256,
        log: 1,
        constraints: 16 * n + 1024,
        blocks: 1,
    }
}
