//! What the library invariants whatever is simulated: equal input gives equal output, nothing is lost, every impact
//! can be accounted for, and neither distance nor size nor mass changes that.

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
mod support;
mod watch;
