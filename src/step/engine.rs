//! What every engine does, and which engines there are.

use glam::DVec3;

#[cfg(feature = "gpu")]
use crate::step::state_buffers::StateBuffers;
use crate::{
    Contact, Error, Impact, Measure, Sphere, StepReport, System, WallLoad,
    state::{columns::Found, warm_start::WarmStartCache},
};

/// Who computes the steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Backend {
    /// All CPU cores, f32, the stages of [`stages`](crate::stages).
    #[default]
    Cpu,
    /// A GPU, or a software adapter, f32: the same stages as compute shaders.
    #[cfg(feature = "gpu")]
    Gpu,
    /// One core, f64, event by event: the yardstick for small systems.
    Exact,
}

impl Backend {
    // Whether a step may be under way that was not yet reported.
    pub(crate) fn runs_ahead(self) -> bool {
        #[cfg(feature = "gpu")]
        if self == Self::Gpu {
            return true;
        }
        false
    }

    /// `cpu`, `gpu` or `exact`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            #[cfg(feature = "gpu")]
            Self::Gpu => "gpu",
            Self::Exact => "exact",
        }
    }
}

/// What every engine does.
pub(crate) trait Engine: Send {
    /// Takes one outer step of `dt`. `impacts`, when given, is filled with the impacts of the step in the
    /// order of their times. `StepReport::{step, time, wall_seconds}` are set by the caller. With `more`, another
    /// step follows before anything is read, so an engine that runs beside the host may begin it.
    fn step(
        &mut self,
        start_time: f64,
        impacts: Option<&mut Vec<Impact>>,
        more: bool,
    ) -> Result<StepReport, Error>;
    /// Writes position, velocity and spin of every sphere into `spheres`, which hold the ids and the rest in
    /// ascending order of the ids.
    fn read(&self, spheres: &mut [Sphere]) -> Result<(), Error>;
    /// Those of which a test of centre and radius says true, in any order.
    fn find(&self, test: &(dyn Fn(DVec3, f64) -> bool + Sync)) -> Result<Vec<Found>, Error>;
    /// Sums over the present state.
    fn measure(&self) -> Measure;
    /// Bytes of all buffers that grow with the number of spheres.
    fn memory_bytes(&self) -> usize;
    /// Contacts that lasted over the last substep, in the order of the ids.
    ///
    /// # Errors
    /// [`Error::DeviceLost`].
    fn contacts(&self) -> Result<Vec<Contact>, Error> {
        Ok(vec![])
    }
    /// What each wall felt in the last step, in the order of [`System::all_walls`].
    fn wall_loads(&self) -> Vec<WallLoad> {
        vec![]
    }
    /// Goes on from other spheres (sorted by id); what the engine remembers of surviving ids is kept.
    fn reload(&mut self, system: &System) -> Result<(), Error>;
    /// What contacts that rest bear, to be handed on to another engine or to this one after a reload.
    fn warm_start(&self) -> Result<WarmStartCache, Error> {
        Ok(WarmStartCache::default())
    }
    /// Goes on from such loads, as far as there are spheres of these ids.
    fn restore(&mut self, _loads: &WarmStartCache) -> Result<(), Error> {
        Ok(())
    }
    /// Where the state lies on a device.
    #[cfg(feature = "gpu")]
    fn state_buffers(&self) -> Option<StateBuffers> {
        None
    }
}
