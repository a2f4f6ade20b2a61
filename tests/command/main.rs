//! Drives the built `carom` command as a user would.

#[macro_use]
#[path = "../common/tiers.rs"]
mod tiers;

#[cfg(feature = "gpu")]
mod adapters;
mod analyze;
mod arguments;
mod bench;
mod checkpoints;
mod contacts;
mod demo;
#[cfg(feature = "gpu")]
mod doctor;
mod dry_run;
mod events;
mod extremes;
mod failed;
mod files;
mod formats;
mod harness;
mod json;
mod mangled;
mod mutated;
#[cfg(feature = "render")]
mod render;
mod reproducible;
mod scenes;
#[cfg(unix)]
mod signals;
mod validate;
#[cfg(feature = "gpu")]
mod verify;
