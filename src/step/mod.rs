//! A step: its schedule, plan, driver and report, and the interface that every engine implements.
//!
//! The documentation of [`schedule`] describes a step from start to end, with the reason for each stage.

pub(crate) mod checkpoint;
pub(crate) mod contact;
pub(crate) mod contacts;
pub(crate) mod domain;
pub(crate) mod driver;
pub(crate) mod engine;
pub(crate) mod plan;
pub(crate) mod report;
pub mod schedule;
pub(crate) mod shrinkage;
#[cfg(feature = "gpu")]
pub(crate) mod state_buffers;
pub(crate) mod watch;
