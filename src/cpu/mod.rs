//! The CPU engine executes the stages of the [schedule](crate::step::schedule) on all cores, in f32. Each stage has a
//! twin among the shaders, which does the same work on the GPU.

pub(crate) mod advance;
pub(crate) mod audit;
pub(crate) mod bin;
pub(crate) mod bits;
pub(crate) mod blocks;
pub(crate) mod clock;
pub(crate) mod collide;
pub(crate) mod compress;
pub(crate) mod constraints;
pub(crate) mod core;
pub(crate) mod crew;
pub mod drag;
mod engine;
pub(crate) mod event;
mod event_driven;
mod executor;
pub(crate) mod fast;
pub(crate) mod feature;
pub(crate) mod launch;
pub(crate) mod neighbors;
pub(crate) mod order;
pub(crate) mod pairs;
pub(crate) mod parallel;
pub(crate) mod relax;
pub(crate) mod rest;
pub(crate) mod rounds;
pub(crate) mod scan;
pub(crate) mod scatter;
pub(crate) mod select;
pub(crate) mod sleep;
pub(crate) mod sweep;
pub(crate) mod threats;
pub(crate) mod walls;

pub(crate) use self::{engine::CpuEngine, executor::CpuExecutor};
use crate::step::driver::Driver;

/// The CPU engine on the threads of its caller.
pub(crate) type Stepper = Driver<CpuExecutor>;
