//! Return to an earlier state of the same run.
//!
//! Between two steps a simulation hands out its state as a [`Moment`]. On the host a moment is complete: after a return the
//! simulation takes the same steps, to the bit. On a device a moment is a copy of the spheres on the device, which the host does
//! not wait for. It lacks the impulses of contacts and the measurements on which the next steps are planned: steps after a return
//! are reproducible, but not bit-identical to the steps of the first time.

use std::sync::Arc;

use super::{
    Options, Simulation, Summary, compress::Squeeze, edit::Disturbed, flow::Flow, recovery::Recovery,
};
use crate::{
    Error, Sphere, StepReport, System,
    gpu::{Body, Context, StateBuffers, Tag, buffers::make_buffer, readback::download},
    simulation::start::{resume_engine, start_engine},
    state::{columns::State, warm_start::WarmStartCache},
    step::checkpoint::{EngineState, ExactState, Predictions},
};

/// The state of a simulation between two steps.
pub(crate) struct Moment {
    /// The system; positions, velocities and spins of its spheres are old.
    system: Arc<System>,
    held: Held,
    time: f64,
    step: u64,
    last: StepReport,
    summary: Summary,
    flow: Flow,
    squeeze: Squeeze,
}

/// Where the spheres are.
enum Held {
    Host(Vec<Sphere>, Box<EngineState>),
    /// On the host, with edits that the engine has not received.
    Edited(Vec<Sphere>, WarmStartCache),
    Device(Context, StateBuffers),
}

impl Moment {
    /// Number of steps taken.
    pub fn step(&self) -> u64 {
        self.step
    }

    /// Memory of the spheres and contacts (bytes), on the host or on the device. The system is not counted, because moments
    /// share it.
    pub fn bytes(&self) -> usize {
        match &self.held {
            Held::Host(spheres, state) => size_of_val(&spheres[..]) + bytes_of(state),
            Held::Edited(spheres, warm_start) => size_of_val(&spheres[..]) + bytes_of_contacts(warm_start),
            Held::Device(_, state) => (state.bodies.size() + state.tags.size()) as usize,
        }
    }

    /// A simulation that goes on from here, on any backend.
    ///
    /// # Errors
    /// As [`Simulation::new`], and [`Error::DeviceLost`].
    pub fn start(&self, mut options: Options) -> Result<Simulation, Error> {
        let system = System { spheres: self.spheres()?, ..System::clone(&self.system) };
        system.validate_reached()?;
        let resumed = match &self.held {
            Held::Host(_, state) => resume_engine(&system, &mut options, state, self.time)?,
            Held::Edited(..) | Held::Device(..) => None,
        };
        let engine = match resumed {
            Some(engine) => engine,
            None => {
                let mut engine = start_engine(&system, &mut options, self.time)?;
                if let Held::Edited(_, warm_start) = &self.held {
                    engine.restore(warm_start)?;
                }
                engine
            }
        };
        Ok(Simulation {
            system,
            options,
            engine,
            time: self.time,
            step: self.step,
            impacts: vec![],
            last: self.last.clone(),
            summary: self.summary.clone(),
            edited: false,
            disturbed: Disturbed::default(),
            flow: self.flow.clone(),
            squeeze: self.squeeze,
            recovery: Recovery::default(),
        })
    }

    fn spheres(&self) -> Result<Vec<Sphere>, Error> {
        let (context, state) = match &self.held {
            Held::Host(spheres, _) | Held::Edited(spheres, _) => return Ok(spheres.clone()),
            Held::Device(context, state) => (context, state),
        };
        let count = u64::from(state.sphere_count);
        let (bodies, tags) = (count * size_of::<Body>() as u64, count * size_of::<Tag>() as u64);
        let copies = download(context, &[(&state.bodies, 0, bodies), (&state.tags, 0, tags)])?;
        let bodies: Vec<Body> = bytemuck::pod_collect_to_vec(&copies[0]);
        let tags: Vec<Tag> = bytemuck::pod_collect_to_vec(&copies[1]);
        let unit_of_time = state.unit_of_length / state.unit_of_velocity;
        let mut spheres = self.system.spheres.clone();
        for (body, tag) in bodies.iter().zip(&tags) {
            let sphere = &mut spheres[tag.rank as usize];
            let offset = body.offset.as_dvec3() * state.unit_of_length;
            sphere.position = state.origin + tag.cell.as_dvec3() * state.cell_edge + offset;
            for axis in 0..3 {
                // Offsets may reach beyond the last cell of a period.
                if let Some(period) = self.system.period(axis) {
                    let low = self.system.bounds.min[axis];
                    sphere.position[axis] = low + (sphere.position[axis] - low).rem_euclid(period);
                }
            }
            if !sphere.fixed {
                sphere.velocity = body.velocity.as_dvec3() * state.unit_of_velocity;
            }
            sphere.spin = tag.spin.as_dvec3() / unit_of_time;
        }
        Ok(spheres)
    }
}

impl Simulation {
    /// The present state. `shared` is a moment since which no edit took place and no sphere came or went: both share
    /// one system. Buffers of `spare` are reused. On a device the host does not wait, unless an edit is pending.
    ///
    /// # Errors
    /// [`Error::DeviceLost`]; [`Error::Capacity`] if the device has no memory for the copy.
    pub(crate) fn moment(&self, shared: Option<&Moment>, spare: Option<Moment>) -> Result<Moment, Error> {
        let system = match shared {
            Some(moment) => moment.system.clone(),
            None => Arc::new(self.system.clone()),
        };
        let held = match (self.state_buffers(), &self.options.context) {
            (Some(state), Some(context)) => Held::Device(context.clone(), copied(context, &state, spare)?),
            _ if self.edited => Held::Edited(self.system.spheres.clone(), self.engine.warm_start()?),
            _ => {
                let mut spheres = self.system.spheres.clone();
                if !spheres.is_empty() {
                    self.engine.read(&mut spheres)?;
                }
                Held::Host(spheres, Box::new(self.engine.checkpoint()?))
            }
        };
        Ok(Moment {
            system,
            held,
            time: self.time,
            step: self.step,
            last: self.last.clone(),
            summary: self.summary.clone(),
            flow: self.flow.clone(),
            squeeze: self.squeeze,
        })
    }

    /// Returns to a moment of this run, with its system, time and counters, on the present backend.
    ///
    /// # Errors
    /// As [`new`](Self::new), and [`Error::DeviceLost`]. On an error nothing changes.
    pub(crate) fn rewind(&mut self, to: &Moment) -> Result<(), Error> {
        let mut made = to.start(self.options.clone())?;
        made.flow.renew(self.flow.generation());
        *self = made;
        Ok(())
    }
}

// Memory of an engine's state (bytes); parts of a constant size are left out.
fn bytes_of(state: &EngineState) -> usize {
    match state {
        EngineState::Staged(state) => {
            state.spheres.len() * State::BYTES + bytes_of_contacts(&state.warm_start)
        }
        EngineState::Exact(state) => {
            let ExactState { number, position, velocity, clock, cell, impacts, hasty, predictions, .. } =
                &**state;
            size_of_val(&number[..])
                + size_of_val(&position[..])
                + size_of_val(&velocity[..])
                + size_of_val(&clock[..])
                + size_of_val(&cell[..])
                + size_of_val(&impacts[..])
                + size_of_val(&hasty[..])
                + predictions.len() * size_of::<Predictions>()
        }
    }
}

fn bytes_of_contacts(warm_start: &WarmStartCache) -> usize {
    size_of_val(&warm_start.kept[..]) + size_of_val(&warm_start.sleep_timers[..])
}

// Copies a state on the device, into the buffers of `spare` if they have the right size.
fn copied(context: &Context, state: &StateBuffers, spare: Option<Moment>) -> Result<StateBuffers, Error> {
    let count = u64::from(state.sphere_count);
    let sizes = [count * size_of::<Body>() as u64, count * size_of::<Tag>() as u64];
    let spare = match spare.map(|moment| moment.held) {
        Some(Held::Device(_, old)) if [old.bodies.size(), old.tags.size()] == sizes => {
            Some([old.bodies, old.tags])
        }
        _ => None,
    };
    let usage = wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
    let [bodies, tags] = match spare {
        Some(buffers) => buffers,
        None => {
            let [bodies, tags] = sizes.map(|bytes| make_buffer(context, "earlier state", bytes, usage));
            [bodies?, tags?]
        }
    };
    let mut encoder = context.device.create_command_encoder(&Default::default());
    encoder.copy_buffer_to_buffer(&state.bodies, 0, &bodies, 0, sizes[0]);
    encoder.copy_buffer_to_buffer(&state.tags, 0, &tags, 0, sizes[1]);
    context.queue.submit([encoder.finish()]);
    Ok(StateBuffers { bodies, tags, ..state.clone() })
}
