//! Steps that the device cannot bring to an end are done by the twin on the CPU.

use super::{GpuEngine, Retries, Timing, by_rank};
use crate::{
    Error, Impact, Sphere, StepReport, System,
    cpu::{Stepper, audit::Audit},
    state::columns::{NEVER, State},
    step::plan::{self, Past},
};

impl GpuEngine {
    // What neither room nor shorter substeps bring to an end is done by the twin, which has the last resort.
    pub(super) fn step_on_cpu(
        &mut self,
        step: u64,
        start_time: f64,
        impacts: Option<&mut Vec<Impact>>,
        redone: Retries,
    ) -> Result<StepReport, Error> {
        let state = self.host.download(&self.context, &self.buffers, self.current)?;
        let contacts: Vec<f32> = by_rank(&state, &self.host.ids, |i| state.spin[i].w);
        let ids = self.host.ids.clone();
        let system = self.system_of(&state);
        let last_contact = |id| ids.binary_search(&id).map_or(NEVER, |rank| contacts[rank]);
        let mut twin = Stepper::new(&system, last_contact, start_time)?;
        twin.restore(&self.read_warm_start()?);
        let mut report = twin.step(start_time, impacts)?;
        self.felt = twin.wall_loads();
        let mut spheres = system.spheres;
        twin.read(&mut spheres);
        let mut system = System { spheres, ..self.host.system.clone() };
        system.dt = self.host.system.dt;
        let after = twin.contacts();
        let last_contact = |id| after.get(&id).copied().unwrap_or(NEVER);
        let mut state = State::default();
        state.load(&system, &self.host.units, &self.host.grid, last_contact);
        self.load(&state)?;
        self.write_warm_start(&twin.warm_start())?;
        self.is_idle = false;
        let sums = Audit::default().run(&self.host.grid, &state, self.past(step as i64 - 2).0.sums.drift);
        let before = self.past(step as i64 - 1).0.collisions;
        let struck = 2.0 * report.pair_impacts as f64 + report.wall_impacts as f64;
        // As the twin has it.
        let collisions = match report.unresolved {
            0 => plan::smooth(before, struck / self.host.statistics.count.max(1) as f64),
            _ => before,
        };
        self.record(step, Past { sums, collisions }, report.rounds);
        self.measured = twin.measured();
        report.redone += redone.halvings;
        redone.put_into(&mut report);
        report.submits = std::mem::take(&mut self.submit_queue.submits);
        // Those of the device are of work that counts for nothing.
        report.stage_seconds.clear();
        self.timing.as_mut().map(Timing::take);
        Ok(report)
    }

    pub(super) fn system_of(&self, state: &State) -> System {
        let mut spheres: Vec<Sphere> = by_rank(state, &self.host.ids, |i| Sphere {
            id: state.id[i],
            radius: f64::from(state.radius(i)) * self.host.units.length,
            mass: match state.inverse_mass(i) {
                0.0 => self.host.units.mass,
                inverse => self.host.units.mass / f64::from(inverse),
            },
            fixed: state.inverse_mass(i) == 0.0,
            material: state.material(i),
            ..Sphere::default()
        });
        self.host.fill(state, &mut spheres);
        System { spheres, ..self.host.system.clone() }
    }
}
