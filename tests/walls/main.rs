//! Walls of every shape, standing and moving.

mod bullets;
#[cfg(feature = "gpu")]
mod device;
mod flow;
mod oracle;
mod rest;
mod starts;
mod support;
mod work;
