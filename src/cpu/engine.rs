//! The CPU engine with its own thread pool.

use glam::DVec3;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::{
    Contact, Error, Impact, Measure, Sphere, StepReport, System, WallLoad,
    cpu::{Stepper, crew::Awake, executor::CpuExecutor, parallel},
    state::{
        columns::{Found, NEVER},
        warm_start::WarmStartCache,
    },
    step::{
        checkpoint::{EngineState, StagedState},
        driver::StepEngine,
        engine::Engine,
        shrinkage::Shrunk,
        watch::BoxSet,
    },
};

/// The CPU engine and its thread pool.
pub(crate) struct CpuEngine {
    pool: ThreadPool,
    stepper: Stepper,
}

fn pool(threads: usize) -> Result<ThreadPool, Error> {
    ThreadPoolBuilder::new()
        .num_threads(threads)
        .thread_name(|k| format!("carom-{k}"))
        .build()
        .map_err(|e| Error::Capacity(format!("cannot start {threads} threads: {e}")))
}

impl CpuEngine {
    pub(crate) fn new(system: &System, threads: usize, time: f64) -> Result<Self, Error> {
        let pool = pool(threads)?;
        let stepper = pool.install(|| Stepper::new(system, |_| NEVER, time))?;
        Ok(Self { pool, stepper })
    }

    /// The engine that goes on from the state of another one.
    pub(crate) fn resume(
        system: &System,
        threads: usize,
        state: &StagedState,
        time: f64,
    ) -> Result<Self, Error> {
        let pool = pool(threads)?;
        let stepper = pool.install(|| CpuExecutor::resume(system, state, time));
        Ok(Self { pool, stepper })
    }
}

impl Engine for CpuEngine {
    fn step(
        &mut self,
        start_time: f64,
        impacts: Option<&mut Vec<Impact>>,
        more: bool,
    ) -> Result<StepReport, Error> {
        let stepper = &mut self.stepper;
        if stepper.engine.core.state.len() <= parallel::TASK {
            // Handing it to other threads costs more than the step.
            return parallel::alone(|| stepper.step(start_time, impacts, more));
        }
        self.pool.install(|| {
            let _awake = Awake::new(stepper.engine.core.state.len());
            stepper.step(start_time, impacts, more)
        })
    }

    fn read(&self, spheres: &mut [Sphere]) -> Result<(), Error> {
        Engine::read(&self.stepper, spheres)
    }

    fn positions(&self, spheres: &[Sphere]) -> Result<Option<Vec<DVec3>>, Error> {
        Engine::positions(&self.stepper, spheres)
    }

    fn find(&self, boxes: BoxSet, test: &(dyn Fn(DVec3, f64) -> bool + Sync)) -> Result<Vec<Found>, Error> {
        self.pool.install(|| self.stepper.engine.find(boxes, test))
    }

    fn contacts(&self) -> Result<Vec<Contact>, Error> {
        Engine::contacts(&self.stepper)
    }

    fn shrink(&mut self, now: f64, next: f64) -> Result<Option<bool>, Error> {
        self.stepper.shrink(now, next)
    }

    fn shrunk(&self) -> Option<&Shrunk> {
        self.stepper.shrunk()
    }

    fn spin_energy(&self) -> Option<f64> {
        self.stepper.spin_energy()
    }

    fn measure(&self) -> Measure {
        self.stepper.measure()
    }

    fn memory_bytes(&self) -> usize {
        Engine::memory_bytes(&self.stepper)
    }

    fn warm_start(&self) -> Result<WarmStartCache, Error> {
        Engine::warm_start(&self.stepper)
    }

    fn restore(&mut self, cache: &WarmStartCache) -> Result<(), Error> {
        Engine::restore(&mut self.stepper, cache)
    }

    fn checkpoint(&self) -> Result<EngineState, Error> {
        Engine::checkpoint(&self.stepper)
    }

    fn wall_loads(&self) -> Vec<WallLoad> {
        self.stepper.wall_loads()
    }

    fn reload(&mut self, system: &System) -> Result<(), Error> {
        self.pool.install(|| self.stepper.reload(system))
    }
}
