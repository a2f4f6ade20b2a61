//! What the figures were measured on.

use std::thread::available_parallelism;

use serde_json::{Value, json};

fn processor() -> Option<String> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// Number of cores this process may use.
pub fn cores() -> usize {
    available_parallelism().map_or(1, usize::from)
}

/// One line.
pub fn describe() -> String {
    let processor = processor().unwrap_or_else(|| std::env::consts::ARCH.to_owned());
    format!("carom {}, {processor}, {} cores, {}", env!("CARGO_PKG_VERSION"), cores(), std::env::consts::OS)
}

/// The same as an object.
pub fn json() -> Value {
    json!({
        "processor": processor(),
        "architecture": std::env::consts::ARCH,
        "cores": cores(),
        "os": std::env::consts::OS,
        "debug_build": cfg!(debug_assertions),
    })
}
