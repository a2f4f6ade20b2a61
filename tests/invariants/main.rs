//! Guarantees for every simulation: equal input gives equal output, no sphere is lost, every impact is accounted for,
//! and distance, size and mass do not affect this.

#[macro_use]
#[path = "../common/tiers.rs"]
mod tiers;

mod determinism;
#[cfg(feature = "gpu")]
mod device;
mod face;
mod far;
mod loss;
mod ratios;
#[cfg(feature = "files")]
mod resume;
mod support;
mod units;
mod watch;
