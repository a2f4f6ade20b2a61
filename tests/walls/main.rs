//! Walls of every shape, fixed and moving.

#[macro_use]
#[path = "../common/tiers.rs"]
mod tiers;

mod bullets;
#[cfg(feature = "gpu")]
mod device;
mod flow;
mod oracle;
mod rest;
mod starts;
mod support;
mod work;
