//! Exit codes, and the error that ends the command with a message.

use carom::Error;

/// Exit codes of the command; scripts rely on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Success.
    Done = 0,
    /// The run failed: non-finite state, capacity, no progress, device lost, or wrong physics in a benchmark.
    RunFailed = 1,
    /// The command line or the scene is invalid, or the scene is missing.
    Usage = 2,
    /// No adapter, no backend that could use one, or no display.
    NoAdapter = 3,
    /// A file other than the scene could not be written.
    Files = 4,
    /// The engines differ, a section of the doctor failed, or a case of `validate` did not pass.
    Mismatch = 5,
    /// Stopped by Ctrl-C or a request to terminate.
    Interrupted = 130,
}

/// The reason for an early end of the command, as one message without a prefix.
#[derive(Debug)]
pub struct CommandError {
    pub exit: Exit,
    pub message: String,
}

impl CommandError {
    pub fn usage(message: impl Into<String>) -> Self {
        Self { exit: Exit::Usage, message: message.into() }
    }

    pub fn files(message: impl Into<String>) -> Self {
        Self { exit: Exit::Files, message: message.into() }
    }
}

impl From<Error> for CommandError {
    fn from(error: Error) -> Self {
        if let Error::NoAdapter(text) = error {
            return Self { exit: Exit::NoAdapter, message: format!("{text}; --backend cpu needs none") };
        }
        let exit = match error {
            Error::Invalid(_) | Error::Unsupported(_) | Error::NoSuchSphere(_) => Exit::Usage,
            // `Error` may gain variants; every other error counts as a failed run.
            _ => Exit::RunFailed,
        };
        Self { exit, message: error.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_error_has_its_exit_code() {
        let text = || "why".to_owned();
        for (error, exit) in [
            (Error::Invalid(text()), Exit::Usage),
            (Error::Unsupported(text()), Exit::Usage),
            (Error::NoAdapter(text()), Exit::NoAdapter),
            (Error::DeviceLost(text()), Exit::RunFailed),
            (Error::Capacity(text()), Exit::RunFailed),
            (Error::NonFinite { id: 1, last_good_step: 2 }, Exit::RunFailed),
        ] {
            let failure = CommandError::from(error.clone());
            assert_eq!(failure.exit, exit, "{error:?}");
            assert!(failure.message.contains(&error.to_string()));
        }
    }
}
