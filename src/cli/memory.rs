//! Main memory: what a scene needs, and what this machine has left.

use carom::scene::{MAX_SPHERES, Scene};

use super::command_error::{CommandError, Exit};
use super::text::grouped;

/// Main memory that a sphere takes while a scene is built and run (bytes), at least. The `cpu` backend needs more in dense
/// systems; this estimate only refuses what cannot fit.
pub const BYTES_PER_SPHERE: u64 = 700;

/// Refuses a scene that does not fit into the memory that is left, before the operating system ends the process.
pub fn check(scene: &Scene) -> Result<(), CommandError> {
    let count = scene.sphere_count()?;
    let needed = count.saturating_mul(BYTES_PER_SPHERE);
    match available() {
        // More than the library permits is refused later, with that number.
        Some(left) if needed > left && count <= MAX_SPHERES => Err(CommandError {
            exit: Exit::RunFailed,
            message: format!(
                "{} spheres need about {}, and {} of main memory are left; ask for fewer spheres",
                grouped(count),
                bytes(needed),
                bytes(left)
            ),
        }),
        _ => Ok(()),
    }
}

/// A number of bytes with a unit, for example `1.5 GiB`.
pub fn bytes(count: u64) -> String {
    const UNITS: [&str; 5] = ["bytes", "KiB", "MiB", "GiB", "TiB"];
    let (mut value, mut unit) = (count as f64, 0);
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{count} bytes") } else { format!("{value:.1} {}", UNITS[unit]) }
}

/// Main memory that this process may still use (bytes): what the system has left, or less in a container. `None` if the
/// operating system does not say.
pub fn available() -> Option<u64> {
    let system = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| meminfo(&text));
    let group = |name: &str| std::fs::read_to_string(std::path::Path::new("/sys/fs/cgroup").join(name)).ok();
    // A limit of "max" is no number: there is none.
    let limit = group("memory.max").and_then(|text| text.trim().parse::<u64>().ok());
    let container = limit.map(|limit| {
        let used = group("memory.current").and_then(|text| text.trim().parse::<u64>().ok()).unwrap_or(0);
        // The cache of files gives way to programs.
        let cache = group("memory.stat").and_then(|text| field(&text, "file ")).unwrap_or(0);
        limit.saturating_sub(used.saturating_sub(cache))
    });
    system.into_iter().chain(container).min()
}

fn field(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name))?.trim().parse().ok()
}

// The field MemAvailable of /proc/meminfo, in bytes.
fn meminfo(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_available_memory_is_read_in_bytes() {
        let text = "MemTotal:       4 kB\nMemAvailable:   263 kB\nBuffers: 1 kB\n";
        assert_eq!(meminfo(text), Some(263 * 1024));
        assert_eq!(meminfo("MemTotal: 4 kB\n"), None);
        assert_eq!(meminfo("MemAvailable: many kB\n"), None);
    }

    #[test]
    fn bytes_have_a_unit() {
        for (count, text) in [
            (0, "0 bytes"),
            (1023, "1023 bytes"),
            (1536, "1.5 KiB"),
            (3 << 30, "3.0 GiB"),
            (u64::MAX, "16777216.0 TiB"),
        ] {
            assert_eq!(bytes(count), text);
        }
    }
}
