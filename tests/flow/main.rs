//! Sources, sinks, drag and gravity.

#[macro_use]
#[path = "../common/tiers.rs"]
mod tiers;

#[cfg(feature = "gpu")]
mod device;
mod distance;
mod drag;
#[cfg(feature = "files")]
mod errors;
#[cfg(feature = "files")]
mod galton;
mod gravity;
mod ledger;
#[cfg(feature = "gpu")]
mod loss;
#[path = "../walls/oracle.rs"]
mod oracle;
mod places;
mod sinks;
mod sources;
mod support;
#[cfg(feature = "files")]
mod toml;
#[cfg(feature = "gpu")]
mod twins;
