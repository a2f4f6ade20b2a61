//! Engine.
use crate::{Error, Impact, Measure, Sphere, StepReport, System, simulation::Engine};
pub(crate) struct CpuEngine;
impl CpuEngine {
    pub(crate) fn new(_system: &System, _threads: usize) -> Result<Self, Error> {
        Ok(Self)
    }
}
impl Engine for CpuEngine {
    fn step(&mut self, _t: f64, _i: Option<&mut Vec<Impact>>) -> Result<StepReport, Error> {
        Ok(StepReport::default())
    }
    fn read(&self, _s: &mut [Sphere]) {}
    fn measure(&self) -> Measure {
        Measure::default()
    }
    fn memory_bytes(&self) -> usize {
        0
    }
    fn reload(&mut self, _s: &System) -> Result<(), Error> {
        Ok(())
    }
}
