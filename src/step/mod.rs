//! A step: its schedule, its plan, what engines have in common and what a step reports.

pub(crate) mod contact;
pub(crate) mod contacts;
pub(crate) mod domain;
pub(crate) mod driver;
pub(crate) mod engine;
pub(crate) mod plan;
pub(crate) mod report;
pub mod schedule;
#[cfg(feature = "gpu")]
pub(crate) mod state_buffers;
