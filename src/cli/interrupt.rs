//! Ctrl-C: finish the step, write what was asked for, exit.

use std::sync::atomic::{AtomicBool, Ordering};

use super::failure::Exit;

// Relaxed order is enough: the flags carry no other data.
static REQUESTED: AtomicBool = AtomicBool::new(false);
static STEPPING: AtomicBool = AtomicBool::new(false);

/// Listens for Ctrl-C and requests to terminate. Before stepping begins nothing needs finishing, so the
/// process ends at once; so it does at the second Ctrl-C.
pub fn listen() {
    let handler = || {
        let again = REQUESTED.swap(true, Ordering::Relaxed);
        if again || !STEPPING.load(Ordering::Relaxed) {
            std::process::exit(Exit::Interrupted as i32);
        }
    };
    // Fails only where the system has no signals to give; then Ctrl-C simply kills the process.
    let _ = ctrlc::set_handler(handler);
}

/// From here on a step is finished before the process ends.
pub fn finish_steps() {
    STEPPING.store(true, Ordering::Relaxed);
}

/// Whether the user wants to stop.
pub fn requested() -> bool {
    REQUESTED.load(Ordering::Relaxed)
}
