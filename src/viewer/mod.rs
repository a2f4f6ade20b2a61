//! The window.
//!
//! [`run`] opens one and comes back when it is closed:
//!
//! ```no_run
//! use carom::viewer::{Settings, run};
//!
//! let scene = carom::files::builtin("gas").expect("a built-in scene").load(&[])?;
//! run(Settings::new("gas", scene))?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Who does what
//!
//! The thread that calls `run` draws and listens to hands. A worker owns the [`Simulation`](crate::Simulation) and steps it
//! at its own pace, real time to begin with. They meet at a board: the worker puts up the spheres whenever the window has
//! taken those before, on the gpu backend by a copy on the device. Neither waits for the other, and nothing comes to the
//! host: a run that is watched is as fast as one that is not, but for the work of drawing.
//!
//! # What is written down
//!
//! With [`Settings::events`] everything that happens is a line of JSON, for scripts: `event` (`opened`, `drawn` once the
//! first spheres are on the screen, `loaded`, `paused`, `resumed`, `reset`, `stepped`, `shot`, `picked`, `switched`, `changed`, `framed`, `colour`,
//! `panel`, `help`, `resized`, `screenshot`, `refused`, `failed`, `closed`), `seconds` since the start, `frames` drawn, `step`,
//! `time`, `spheres`, `backend`, `paused`, `blocking_reads` of the host so far, and what belongs to the event: `width` and
//! `height`, `adapter`, `id`, `position`, `file`, `colour`, `message`.

mod camera_control;
mod command;
mod event_log;
mod inspect;
mod keys;
mod launcher;
mod pace;
mod panel;
mod run_figures;
mod screenshot;
mod session;
#[cfg(test)]
mod session_tests;
mod shared_state;
mod surface;
mod view;
#[cfg(test)]
mod view_tests;
mod window;
mod worker;
#[cfg(test)]
mod worker_tests;

use std::{fmt, path::PathBuf};

pub use self::window::run;

use crate::{Backend, Error, scene::Scene};

/// What a window shows, and how it begins.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What the scene is called.
    pub name: String,
    /// The scene.
    pub scene: Scene,
    /// Who computes; none: `gpu` where there is a GPU, else `cpu`.
    pub backend: Option<Backend>,
    /// Part of the name of the adapter that draws, and that `gpu` computes on; replaces `WGPU_ADAPTER_NAME`.
    pub adapter: Option<String>,
    /// Threads of the `cpu` backend; 0 = one for each core.
    pub threads: usize,
    /// Width and height of the window (logical pixels).
    pub size: [u32; 2],
    /// Whether it stands still at first.
    pub paused: bool,
    /// File for a line of JSON for everything that happens; `-` = standard output.
    pub events: Option<PathBuf>,
}

impl Settings {
    /// A scene in a window of 1280 by 800, running.
    pub fn new(name: &str, scene: Scene) -> Self {
        Self {
            name: name.to_owned(),
            scene,
            backend: None,
            adapter: None,
            threads: 0,
            size: [1280, 800],
            paused: false,
            events: None,
        }
    }
}

/// Why there is no window, or none any more.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ViewerError {
    /// There is no display, or it takes no windows; the text says why.
    NoDisplay(String),
    /// The scene cannot be started, there is no adapter that can draw into a window, or the device was lost.
    Engine(Error),
    /// The file of events cannot be written.
    Events(String),
}

impl fmt::Display for ViewerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoDisplay(text) | Self::Events(text) => f.write_str(text),
            Self::Engine(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ViewerError {}

impl From<Error> for ViewerError {
    fn from(error: Error) -> Self {
        Self::Engine(error)
    }
}
