//! The data that the CPU engine and the GPU engine compute with: scaled units, cells, columns of spheres, and the constants
//! that Rust and WGSL share. The stages are elsewhere, in `cpu` and in the shaders.

pub(crate) mod columns;
pub(crate) mod constants;
pub(crate) mod frame;
pub(crate) mod grid;
pub(crate) mod levels;
pub(crate) mod partner;
pub(crate) mod statistics;
pub(crate) mod sums;
pub(crate) mod units;
pub(crate) mod warm_start;
