//! One stage at a time on the device, from what its twin starts from.

use std::sync::Arc;

use glam::DVec3;

use super::{
    super::{
        Context,
        buffers::Buffers,
        division::Division,
        effort::Effort,
        encode::{Dispatch, Encoder},
        host::Host,
        layout::{Frame, HALT, HALT_CUT},
        pipelines::Pipelines,
        places::{Capacities, Places},
    },
    PRESENT,
    memory::Memory,
    twin::Twin,
};
use crate::{
    Error, System,
    cpu::{audit::Audit, core::Core},
    model::plan::{self, Past},
};

/// Rounds over the whole array that the frames announce: as many as a device may do.
const WIDE_ROUNDS: u32 = super::super::layout::MOST_WIDE_ROUNDS;

/// The device's side, beside the state.
pub struct Rig<'a> {
    context: &'a Context,
    pipelines: Arc<Pipelines>,
    buffers: Buffers,
    effort: Effort,
    pub host: Host,
    pub places: Places,
    /// Of every substep; that of the audit last.
    pub frames: Vec<Frame>,
    pub substeps_per_build: usize,
}

impl<'a> Rig<'a> {
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
        let (mut host, mut state) = Host::new(system, &last_contact);
        let mut core = Core::new(system, &last_contact)?;
        let dt = system.dt / host.units.time;
        let mut audit = Audit::default();
        let still = audit.run(&core.grid, &core.state, DVec3::ZERO);
        let sums = audit.run(&core.grid, &core.state, still.drift);
        let past = Past { sums, collisions: 0.0 };
        let mut wanted = Some(plan::wanted_budget(&host.limits(dt), &past));
        let plan = loop {
            if let Some(budget) = wanted {
                host.regrid(&mut state, budget);
                core.regrid(budget);
            }
            let plan = plan::plan(&host.limits(dt), &past);
            match plan.regrid {
                // New cells may allow less than was asked for: they are asked for once.
                Some(budget) if wanted != Some(budget) => wanted = Some(budget),
                _ => break plan,
            }
        };
        let places = host.places(Capacities { blocks: plan.substeps, ..roomy(system.spheres.len()) });
        places.check(&context.device.limits(), host.grid.buckets)?;
        let effort = Effort::new(context);
        let division =
            Division { plan, wide_rounds: WIDE_ROUNDS, record: false, strict: false, wakes: false, effort };
        let frames = division.frames(&host, &places, dt);
        let pipelines = context.pipelines(host.variant())?;
        let buffers = Buffers::new(context, &pipelines, places, None)?;
        buffers.write_world(&context.queue, &host);
        let pieces = division.pieces(&host, dt);
        if places.scenery.is_restless {
            let motion = host.motion(time, &pieces);
            buffers.write_motion(&context.queue, &motion);
        }
        let mut twin = Twin::new(core, plan.budget, plan.drift);
        twin.frames(&frames, &pieces, time);
        let substeps_per_build = plan.substeps_per_build as usize;
        Ok((Self { context, pipelines, buffers, effort, host, places, frames, substeps_per_build }, twin))
    }

    /// What the buffers hold where the twin is now.
    pub fn memory(&self, twin: &Twin) -> Memory {
        Memory::of(twin, &self.host, &self.places)
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
        let Self { context, pipelines, buffers, effort, .. } = self;
        loop {
            input.upload(context, buffers);
            buffers.write_frames(context, pipelines, &[frame])?;
            let mut encoder = Encoder::new(&context.device, pipelines, buffers, PRESENT, *effort, None);
            let dispatches = dispatches(effort.groups(self.places.sphere_count));
            let group = match dispatches.first() {
                Some((entry, ..)) if entry.starts_with("rest") => &buffers.rest[PRESENT],
                _ if is_broad => &buffers.broad[1 - PRESENT],
                _ => &buffers.view[PRESENT],
            };
            // The name is only that of the pass.
            encoder.stage("audit", group, 0, &dispatches);
            context.queue.submit([encoder.encoder.finish()]);
            let output = Memory::download(context, buffers, &self.places)?;
            context.check()?;
            match output.work[HALT as usize] {
                0 => return Ok(Some(output)),
                halt if halt & HALT_CUT != 0 && effort.spread() => {}
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
        extras: 4 * n + 4096,
        visits: 4 * n + 65_536,
        threats: n / 4 + 1024,
        frozen: n / 4 + 256,
        log: 1,
        rows: 16 * n + 1024,
        blocks: 1,
    }
}
