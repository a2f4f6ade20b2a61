//! Handles Ctrl-C: the command finishes the step, writes the requested files and exits.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::time::Duration;

use super::command_error::Exit;
use super::screen;

// Longest wait for the current step after Ctrl-C; long enough for ten million spheres.
const PATIENCE: Duration = Duration::from_secs(30);

/// Work to finish before the process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Phase {
    /// Nothing: the process ends at once.
    Preparing,
    /// The current step.
    Stepping,
    /// Files, for as long as they take.
    Writing,
}

// Relaxed order is enough: the two carry no other data.
static REQUESTED: AtomicBool = AtomicBool::new(false);
static PHASE: AtomicU8 = AtomicU8::new(Phase::Preparing as u8);

/// Handles Ctrl-C and requests to terminate. The second one ends the process at once.
pub fn listen() {
    let handler = || {
        let again = REQUESTED.swap(true, Ordering::Relaxed);
        if again || is(Phase::Preparing) {
            std::process::exit(Exit::Interrupted as i32);
        }
        std::thread::spawn(|| {
            std::thread::sleep(PATIENCE);
            if is(Phase::Stepping) {
                screen::error(&format!(
                    "the step has not ended in {} s; stopped within it",
                    PATIENCE.as_secs()
                ));
                std::process::exit(Exit::Interrupted as i32);
            }
        });
    };
    // Fails only if the system offers no signals; Ctrl-C then kills the process.
    let _ = ctrlc::set_handler(handler);
}

fn is(phase: Phase) -> bool {
    PHASE.load(Ordering::Relaxed) == phase as u8
}

/// Sets the work to finish before the process ends.
pub fn enter(phase: Phase) {
    PHASE.store(phase as u8, Ordering::Relaxed);
}

/// Whether the user has asked to stop.
pub fn requested() -> bool {
    REQUESTED.load(Ordering::Relaxed)
}
