//! The data that engines compute with: scaled units, cells, columns of spheres, and the constants that Rust and WGSL
//! share. No stage runs here.

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
