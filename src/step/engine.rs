//! The interface that every engine implements, and the list of backends.

use glam::DVec3;

#[cfg(feature = "gpu")]
use crate::step::state_buffers::StateBuffers;
use crate::{
    Contact, Error, Impact, Measure, Sphere, StepReport, System, WallLoad,
    state::{columns::Found, warm_start::WarmStartCache},
    step::{checkpoint::EngineState, shrinkage::Shrunk, watch::BoxSet},
};

/// The engine that computes the steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "files", derive(serde::Deserialize, serde::Serialize))]
pub enum Backend {
    /// All CPU cores, f32: the stages of the [`schedule`](crate::schedule).
    #[default]
    Cpu,
    /// A GPU or a software adapter, f32: the same stages as compute shaders.
    #[cfg(feature = "gpu")]
    Gpu,
    /// One core, f64, event by event: the reference for small systems.
    Exact,
}

impl Backend {
    // Whether a step may already be running before it is reported.
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

/// Size of a buffer on a device; see [`Simulation::device_buffers`](crate::Simulation::device_buffers).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceBuffer {
    /// Name of the buffer; buffers that exist twice have one name.
    pub name: &'static str,
    /// Size (bytes).
    pub bytes: u64,
    /// Largest size that the device can bind (bytes).
    pub limit: u64,
}

/// Interface of every engine.
pub(crate) trait Engine: Send {
    /// Takes one step of `dt`. If given, `impacts` receives the impacts of the step in the order of their times. The
    /// caller sets `StepReport::{step, time, wall_seconds}`. With `more`, another step follows before any state is
    /// read, so an engine that runs asynchronously may begin that step.
    fn step(
        &mut self,
        start_time: f64,
        impacts: Option<&mut Vec<Impact>>,
        more: bool,
    ) -> Result<StepReport, Error>;
    /// Writes position, velocity and spin of every sphere into `spheres`. These are sorted by id, and their other fields
    /// are already set.
    fn read(&self, spheres: &mut [Sphere]) -> Result<(), Error>;
    /// Position of each of these spheres, which are sorted by id; `None` from an engine for which this is no faster than
    /// [`read`](Self::read).
    ///
    /// # Errors
    /// As [`read`](Self::read).
    fn positions(&self, _spheres: &[Sphere]) -> Result<Option<Vec<DVec3>>, Error> {
        Ok(None)
    }
    /// Says in which boxes the caller looks for spheres after the next step (`now`) and after the step that follows it
    /// (`next`). An engine may prepare the answers to [`find`](Self::find) during these steps.
    fn watch(&mut self, _now: BoxSet, _next: BoxSet) {}
    /// The spheres for which `test` of centre and radius returns true, in any order. `test` is false outside these boxes
    /// of [`watch::boxes`](crate::step::watch::boxes).
    fn find(&self, boxes: BoxSet, test: &(dyn Fn(DVec3, f64) -> bool + Sync)) -> Result<Vec<Found>, Error>;
    /// How often the engine has copied the state of all spheres from a device.
    fn downloads(&self) -> u64 {
        0
    }
    /// Removes spheres that [`find`](Self::find) found after the last step and adds others with larger ids, both sorted by
    /// id. Spheres that touched a removed one wake. Returns false, having changed nothing, if the engine has to be
    /// reloaded instead.
    ///
    /// # Errors
    /// [`Error::Capacity`], [`Error::DeviceLost`].
    fn exchange(&mut self, _gone: &[Sphere], _come: &[Sphere]) -> Result<bool, Error> {
        Ok(false)
    }
    /// Calls off the step that began ahead of its request, and returns whether there was one. The state is that of the last
    /// report.
    ///
    /// # Errors
    /// [`Error::DeviceLost`], [`Error::Capacity`].
    fn call_off(&mut self) -> Result<bool, Error> {
        Ok(false)
    }
    /// Sets the shares of its lengths that the periodic box loses at the start of the next step (`now`) and of the step after it (`next`);
    /// 0 = it keeps its size. It loses less if the spheres leave no room. Returns whether a step that had begun ahead was called off
    /// because of this; `None`, without any effect, if the engine has to be reloaded in a smaller box instead.
    ///
    /// # Errors
    /// As [`call_off`](Self::call_off).
    fn shrink(&mut self, _now: f64, _next: f64) -> Result<Option<bool>, Error> {
        Ok(None)
    }
    /// Result of the shrinkage of the last step; `None` if it was to shrink nothing.
    fn shrunk(&self) -> Option<&Shrunk> {
        None
    }
    /// Kinetic energy of the spins at the end of the last step, if the engine measures it.
    fn spin_energy(&self) -> Option<f64> {
        None
    }
    /// Sums over the current state.
    fn measure(&self) -> Measure;
    /// Bytes of all buffers that grow with the number of spheres.
    fn memory_bytes(&self) -> usize;
    /// The buffers on a device; empty without a device.
    fn device_buffers(&self) -> Vec<DeviceBuffer> {
        vec![]
    }
    /// Contacts that lasted throughout the last substep, sorted by id.
    ///
    /// # Errors
    /// [`Error::DeviceLost`].
    fn contacts(&self) -> Result<Vec<Contact>, Error> {
        Ok(vec![])
    }
    /// Mean force, torque and power of each wall in the last step, in the order of [`System::all_walls`].
    fn wall_loads(&self) -> Vec<WallLoad> {
        vec![]
    }
    /// Replaces the spheres (sorted by id). State that the engine keeps for surviving ids is preserved.
    fn reload(&mut self, system: &System) -> Result<(), Error>;
    /// Impulses of the resting contacts, to be restored in another engine or in this one after a reload.
    fn warm_start(&self) -> Result<WarmStartCache, Error> {
        Ok(WarmStartCache::default())
    }
    /// Restores such impulses. Impulses of absent spheres are ignored.
    fn restore(&mut self, _loads: &WarmStartCache) -> Result<(), Error> {
        Ok(())
    }
    /// The complete state between two steps. A step that began ahead of its request is not part of it.
    ///
    /// # Errors
    /// [`Error::DeviceLost`].
    fn checkpoint(&self) -> Result<EngineState, Error>;
    /// The device buffers of the state.
    #[cfg(feature = "gpu")]
    fn state_buffers(&self) -> Option<StateBuffers> {
        None
    }
}
