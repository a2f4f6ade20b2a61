//! Records the first fault of a device until a caller checks for it.

use std::sync::{Arc, Mutex, PoisonError};

use crate::Error;

#[derive(Clone, Debug)]
enum DeviceFault {
    Lost(String),
    OutOfMemory(String),
    Refused(String),
}

/// The first fault of a device; later faults are usually consequences of it.
#[derive(Clone, Debug, Default)]
pub(super) struct DeviceFaults(Arc<Mutex<Option<DeviceFault>>>);

impl DeviceFaults {
    pub fn lost(&self, reason: &str) {
        let reason = if reason.is_empty() { "the driver gives no reason" } else { reason };
        self.note(DeviceFault::Lost(reason.to_owned()));
    }

    /// Records an error that no error scope caught.
    pub fn uncaptured(&self, error: &wgpu::Error) {
        self.note(match error {
            wgpu::Error::OutOfMemory { source } => DeviceFault::OutOfMemory(source.to_string()),
            other => DeviceFault::Refused(other.to_string()),
        });
    }

    /// Fails if the device of `adapter` has a recorded fault.
    pub fn check(&self, adapter: &dyn std::fmt::Display) -> Result<(), Error> {
        match &*self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            None => Ok(()),
            Some(DeviceFault::Lost(reason)) => {
                Err(Error::DeviceLost(format!("{adapter} was lost: {reason}")))
            }
            Some(DeviceFault::OutOfMemory(what)) => {
                Err(Error::Capacity(format!("{adapter} is out of memory: {what}")))
            }
            Some(DeviceFault::Refused(what)) => Err(Error::DeviceLost(format!(
                "{adapter} refused a command and is of no further use: {what}"
            ))),
        }
    }

    // A device loss replaces any fault recorded before.
    fn note(&self, fault: DeviceFault) {
        let mut first = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if first.is_none()
            || matches!((&*first, &fault), (Some(DeviceFault::Refused(_)), DeviceFault::Lost(_)))
        {
            *first = Some(fault);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_fault_stays_but_for_a_loss() {
        let faults = DeviceFaults::default();
        assert_eq!(faults.check(&"a card"), Ok(()));
        faults.note(DeviceFault::Refused("bad buffer".to_owned()));
        faults.note(DeviceFault::OutOfMemory("more".to_owned()));
        assert!(
            matches!(faults.check(&"a card"), Err(Error::DeviceLost(text)) if text.contains("bad buffer"))
        );
        faults.lost("");
        let text = "a card was lost: the driver gives no reason".to_owned();
        assert_eq!(faults.check(&"a card"), Err(Error::DeviceLost(text)));
    }
}
