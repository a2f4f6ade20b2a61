//! The stages as compute shaders, on any Vulkan, Metal or DX12 adapter.
//!
//! [`Context`] is an adapter's device with its queue: opened by [`Context::open`] (or by
//! [`Simulation::new`](crate::Simulation::new), when it is given none), or taken from a program that has one already
//! with [`Context::from_device`]. [`adapters`] lists what there is.
//!
//! The environment of wgpu applies wherever an adapter is chosen: `WGPU_BACKEND` (`vulkan`, `metal`, `dx12`, several
//! with commas), `WGPU_ADAPTER_NAME` (a part of the name, in either case) and `WGPU_POWER_PREF` (`low` prefers
//! integrated GPUs). `CAROM_NO_PIPELINE_CACHE=1` keeps compiled shaders from being stored between runs.
//!
//! A software adapter runs the same shaders on the processor. It is for correctness, never called a GPU, and
//! only taken where there is nothing else.

mod adapter;
mod cache;
mod context;
mod fault;

pub use self::adapter::{AdapterInfo, AdapterKind, adapters, preferred};
pub use self::context::Context;
/// The wgpu that [`Context`] speaks; programs that share a device with carom need the same.
pub use wgpu;

use crate::{Error, System, simulation::Engine};

/// The engine of [`Backend::Gpu`](crate::Backend::Gpu).
pub(crate) fn engine(_system: &System, _context: Context) -> Result<Box<dyn Engine>, Error> {
    Err(Error::Unsupported("this build has no gpu engine; use the cpu backend".to_owned()))
}
