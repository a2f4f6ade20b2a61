//! Drives the built `carom` command as a user would.

mod arguments;
mod bench;
mod failed;
mod files;
mod harness;
mod json;
mod mangled;
mod reproducible;
mod scenes;
#[cfg(unix)]
mod signals;
