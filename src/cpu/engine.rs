//! The engine on threads of its own.

use glam::DVec3;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::{
    Contact, Error, Impact, Measure, Sphere, StepReport, System, WallLoad,
    cpu::{Stepper, parallel},
    state::{
        columns::{Found, NEVER},
        warm_start::WarmStartCache,
    },
    step::engine::Engine,
};

/// All CPU cores.
pub(crate) struct CpuEngine {
    pool: ThreadPool,
    stepper: Stepper,
}

impl CpuEngine {
    pub(crate) fn new(system: &System, threads: usize, time: f64) -> Result<Self, Error> {
        let pool = ThreadPoolBuilder::new()
            .num_threads(threads)
            .thread_name(|k| format!("carom-{k}"))
            .build()
            .map_err(|e| Error::Capacity(format!("cannot start {threads} threads: {e}")))?;
        let stepper = pool.install(|| Stepper::new(system, |_| NEVER, time))?;
        Ok(Self { pool, stepper })
    }
}

impl Engine for CpuEngine {
    fn step(
        &mut self,
        start_time: f64,
        impacts: Option<&mut Vec<Impact>>,
        _more: bool,
    ) -> Result<StepReport, Error> {
        let stepper = &mut self.stepper;
        if stepper.core.state.len() <= parallel::TASK {
            // One task at most: handing it to another thread costs more than the step.
            return stepper.step(start_time, impacts);
        }
        self.pool.install(|| stepper.step(start_time, impacts))
    }

    fn read(&self, spheres: &mut [Sphere]) -> Result<(), Error> {
        self.stepper.read(spheres);
        Ok(())
    }

    fn find(&self, test: &(dyn Fn(DVec3, f64) -> bool + Sync)) -> Result<Vec<Found>, Error> {
        let core = &self.stepper.core;
        Ok(self.pool.install(|| core.state.find(&core.units, &core.grid, test)))
    }

    fn contacts(&self) -> Result<Vec<Contact>, Error> {
        Ok(self.stepper.core.contacts())
    }

    fn measure(&self) -> Measure {
        self.stepper.measured()
    }

    fn memory_bytes(&self) -> usize {
        self.stepper.bytes()
    }

    fn warm_start(&self) -> Result<WarmStartCache, Error> {
        Ok(self.stepper.warm_start())
    }

    fn restore(&mut self, warm_start: &WarmStartCache) -> Result<(), Error> {
        self.stepper.restore(warm_start);
        Ok(())
    }

    fn wall_loads(&self) -> Vec<WallLoad> {
        self.stepper.wall_loads()
    }

    fn reload(&mut self, system: &System) -> Result<(), Error> {
        let contacts = self.stepper.contacts();
        let last_contact = |id| contacts.get(&id).copied().unwrap_or(NEVER);
        self.stepper = self.pool.install(|| Stepper::new(system, last_contact, self.stepper.time))?;
        Ok(())
    }
}
