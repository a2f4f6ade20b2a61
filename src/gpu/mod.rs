//! The GPU engine: the stages as compute shaders, on any Vulkan, Metal or DX12 adapter.
//!
//! [`Context`] holds the device of an adapter and its queue. [`Context::open`] opens an adapter, and
//! [`Context::from_device`] takes the device of the calling program. [`Simulation::new`](crate::Simulation::new) opens an
//! adapter if it is given no context. [`adapters`] lists the available adapters.
//!
//! The environment variables of wgpu apply wherever an adapter is chosen: `WGPU_BACKEND` (`vulkan`, `metal`, `dx12`,
//! several separated by commas), `WGPU_ADAPTER_NAME` (a part of the name, case-insensitive) and `WGPU_POWER_PREF`
//! (`low` prefers integrated GPUs). `CAROM_NO_PIPELINE_CACHE=1` disables the storage of compiled shaders between runs.
//!
//! A software adapter runs the same shaders on the processor. It is meant for tests of correctness, is never reported as a
//! GPU, and is chosen only if no GPU exists.

pub(crate) mod adapter;
pub(crate) mod buffer_layout;
pub(crate) mod buffers;
mod cache;
mod context;
mod copy;
mod device_fault;
pub(crate) mod dispatch_budget;
pub(crate) mod encode;
pub(crate) mod engine;
#[cfg(test)]
mod engine_tests;
pub(crate) mod host_mirror;
pub(crate) mod impacts;
pub(crate) mod layout;
pub(crate) mod pipelines;
#[cfg(all(test, target_os = "linux"))]
mod pipelines_tests;
pub(crate) mod readback;
pub(crate) mod shaders;
mod snapshot;
pub(crate) mod static_world;
pub(crate) mod step_plan;
mod submit_pace;
pub(crate) mod submit_queue;
mod timing;
mod traffic;
mod watch;
mod wgsl;

#[cfg(feature = "viewer")]
pub(crate) use self::adapter::instance_on;
pub use self::adapter::{AdapterInfo, AdapterKind, adapters, preferred};
pub use self::context::Context;
pub use self::layout::{Body, Tag};
pub use self::traffic::least_traffic;
/// The wgpu version of [`Context`]; programs that share a device with carom need the same version.
pub use wgpu;

pub use crate::step::state_buffers::StateBuffers;
use crate::{
    Error, System,
    step::{checkpoint::StagedState, engine::Engine},
};

/// Waits for all bytes of a mappable buffer that already submitted work fills.
#[cfg(feature = "render")]
pub(crate) fn read_mapped(context: &Context, buffer: &wgpu::Buffer) -> Result<Vec<u8>, Error> {
    readback::read_now(context, buffer, buffer.size())
}

/// The engine of [`Backend::Gpu`](crate::Backend::Gpu).
pub(crate) fn engine(
    system: &System,
    context: Context,
    profile: bool,
    time: f64,
) -> Result<Box<dyn Engine>, Error> {
    Ok(Box::new(engine::GpuEngine::new(system, context, profile, time)?))
}

/// The engine of [`Backend::Gpu`](crate::Backend::Gpu) that goes on from the state of another engine.
pub(crate) fn resume(
    system: &System,
    context: Context,
    profile: bool,
    state: &StagedState,
    time: f64,
) -> Result<Box<dyn Engine>, Error> {
    Ok(Box::new(engine::GpuExecutor::resume(system, context, profile, state, time)?))
}
