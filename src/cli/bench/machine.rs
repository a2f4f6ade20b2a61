//! Description of the machine on which a benchmark runs.

use std::thread::available_parallelism;

use serde_json::{Value, json};

fn processor() -> Option<String> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// Number of cores available to this process.
pub fn cores() -> usize {
    available_parallelism().map_or(1, usize::from)
}

/// The machine in one line.
pub fn describe() -> String {
    let processor = processor().unwrap_or_else(|| std::env::consts::ARCH.to_owned());
    format!("carom {}, {processor}, {} cores, {}", env!("CARGO_PKG_VERSION"), cores(), std::env::consts::OS)
}

/// The machine as a JSON object.
pub fn json() -> Value {
    json!({
        "processor": processor(),
        "architecture": std::env::consts::ARCH,
        "cores": cores(),
        "os": std::env::consts::OS,
        "debug_build": cfg!(debug_assertions),
    })
}
