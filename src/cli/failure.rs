//! How the command ends: one message and one exit code.

use carom::Error;

/// Exit codes of the command; scripts rely on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// All went well.
    Done = 0,
    /// The run failed: non-finite state, capacity, no progress, device lost.
    RunFailed = 1,
    /// The command line or the scene is wrong or missing.
    Usage = 2,
    /// No adapter, or no backend that would use one.
    NoAdapter = 3,
    /// A file other than the scene could not be written.
    Files = 4,
    /// Stopped by Ctrl-C or a request to terminate.
    Interrupted = 130,
}

/// Why the command stops, in one message without a prefix.
#[derive(Debug)]
pub struct Failure {
    pub exit: Exit,
    pub message: String,
}

impl Failure {
    pub fn usage(message: impl Into<String>) -> Self {
        Self { exit: Exit::Usage, message: message.into() }
    }

    pub fn files(message: impl Into<String>) -> Self {
        Self { exit: Exit::Files, message: message.into() }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        if let Error::NoAdapter(text) = error {
            return Self { exit: Exit::NoAdapter, message: format!("{text}; --backend cpu needs none") };
        }
        let exit = match error {
            Error::Invalid(_) | Error::Unsupported(_) | Error::NoSuchSphere(_) => Exit::Usage,
            // `Error` may grow; whatever else ends a run ends it as a failed run.
            _ => Exit::RunFailed,
        };
        Self { exit, message: error.to_string() }
    }
}
