//! Executes the steps that the device cannot complete on the CPU twin.

use super::{GpuExecutor, by_rank};
use crate::{
    Error, Impact, Sphere, System,
    cpu::{Stepper, audit::Audit},
    state::columns::{NEVER, State},
    step::{
        driver::{StepCounts, StepEngine, StepRequest, Taken},
        engine::Engine,
    },
    trace::debug,
};

impl GpuExecutor {
    // Takes a step on the CPU, which applies impacts in long chains one by one, and has a last resort for steps that neither larger
    // buffers nor shorter substeps complete.
    pub(super) fn take_on_cpu(
        &mut self,
        step: &StepRequest,
        impacts: Option<&mut Vec<Impact>>,
    ) -> Result<Taken, Error> {
        debug!("the CPU stages compute the step that begins at time {}", step.begin);
        let state = self.download(self.current)?;
        let contacts: Vec<f32> = by_rank(&state, &self.host.ids, |i| state.spin[i].w);
        let system = self.system_of(&state);
        let last_contact = |id| self.host.ids.binary_search(&id).map_or(NEVER, |rank| contacts[rank]);
        let mut twin = Stepper::new(&system, last_contact, step.begin)?;
        twin.restore(&self.read_warm_start()?)?;
        twin.expect(step.impacts * f64::from(step.plan.substeps));
        if let Some(shrinkage) = &step.shrinkage {
            twin.shrink(shrinkage.share, 0.0)?;
        }
        let report = twin.step(step.begin, impacts, false)?;
        let has_shrunk = twin.shrunk().is_some_and(|shrunk| !shrunk.is_stuck);
        if let Some(shrinkage) = step.shrinkage.as_ref().filter(|_| has_shrunk) {
            // The cells that the device would have used.
            let bounds = twin.engine.domain().system.bounds.clone();
            let mut at = self.host.domain.resized(&shrinkage.to, bounds);
            self.host.domain.swap_box(&mut at);
        }
        let mut spheres = system.spheres;
        twin.read(&mut spheres)?;
        let system = System { spheres, ..self.host.domain.system.clone() };
        let after = twin.engine.last_contacts();
        let last_contact = |id| after.get(&id).copied().unwrap_or(NEVER);
        let mut state = State::default();
        state.load(&system, &self.host.domain.units, &self.host.domain.grid, last_contact);
        self.load(&state)?;
        self.write_warm_start(&twin.warm_start()?)?;
        self.is_idle = false;
        self.watched = None;
        self.begun = None;
        self.retries.on_cpu = true;
        self.has_chains = report.event_driven > 0;
        let sums = Audit::default().run(&self.host.domain.grid, &state, step.plan.drift);
        let counts = StepCounts {
            pairs: report.pair_impacts,
            walls: report.wall_impacts,
            rounds: report.rounds,
            unresolved: report.unresolved,
            halvings: report.redone,
            ..StepCounts::default()
        };
        Ok(Taken { sums, counts, has_shrunk, instead: Some(Box::new((report, twin.wall_loads()))) })
    }

    pub(super) fn system_of(&self, state: &State) -> System {
        let mut spheres: Vec<Sphere> = by_rank(state, &self.host.ids, |i| Sphere {
            id: state.id[i],
            radius: f64::from(state.radius(i)) * self.host.domain.units.length,
            mass: match state.inverse_mass(i) {
                0.0 => self.host.domain.units.mass,
                inverse => self.host.domain.units.mass / f64::from(inverse),
            },
            fixed: state.inverse_mass(i) == 0.0,
            material: state.material(i),
            ..Sphere::default()
        });
        self.host.fill(state, &mut spheres);
        System { spheres, ..self.host.domain.system.clone() }
    }
}
