//! The interactive window.
//!
//! [`run`] opens a window and returns when it is closed:
//!
//! ```no_run
//! use carom::viewer::{Settings, run};
//!
//! let scene = carom::files::builtin("gas").expect("a built-in scene").load(&[])?;
//! run(Settings::new("gas", scene))?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Threads
//!
//! The thread that calls `run` draws and handles input. A worker thread owns the [`Simulation`](crate::Simulation) and
//! steps it at its own pace, by default in real time. The two threads exchange data through a shared state: the worker
//! publishes new spheres whenever the window has taken the previous spheres. Neither thread waits for the other. On the GPU
//! backend the worker publishes a copy on the device, and no sphere data reaches the host. Such a run is therefore as fast
//! as a run without a window, apart from the work of drawing.
//!
//! # Event log
//!
//! With [`Settings::events`] the viewer writes every event as a line of JSON, for scripts. Each line has these fields:
//! - `event`: `opened`, `drawn` (the first spheres are on the screen), `loaded`, `paused`, `resumed`, `reset`, `stepped`,
//!   `back`, `shot`, `grabbed`, `released`, `picked`, `switched`, `changed`, `compared`, `framed`, `colour`, `chains`, `clip`,
//!   `panel`, `help`, `resized`, `screenshot`, `recording`, `recorded`, `refused`, `failed` or `closed`;
//! - `seconds` since the start, `frames` drawn so far, `step`, `time`, `spheres`, `backend`, `paused`, and the number of
//!   `blocking_reads` of the host so far;
//! - fields of the particular event: `width` and `height`, `adapter`, `id`, `position`, `file`, `film_frames` and
//!   `film_seconds`, `colour`, `chains`, `clip` and `clip_part`, `on`, `message`.

mod camera_control;
mod clip_control;
mod command;
mod comparison;
mod event_log;
mod film;
mod grab;
mod history;
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

/// Initial settings of a window.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Name of the scene.
    pub name: String,
    /// The scene.
    pub scene: Scene,
    /// Backend that computes; `None`: `gpu` if a GPU exists, otherwise `cpu`.
    pub backend: Option<Backend>,
    /// Part of the name of the adapter for drawing and for the `gpu` backend; overrides `WGPU_ADAPTER_NAME`.
    pub adapter: Option<String>,
    /// Threads of the `cpu` backend; 0 = one per core.
    pub threads: usize,
    /// Width and height of the window (logical pixels).
    pub size: [u32; 2],
    /// Whether the simulation starts paused.
    pub paused: bool,
    /// File for the event log, one line of JSON per event; `-` = standard output.
    pub events: Option<PathBuf>,
}

impl Settings {
    /// Settings for a running scene in a window of 1280 by 800.
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

/// Why the window did not open, or why it closed.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ViewerError {
    /// There is no display, or the display opens no windows; the text gives the reason.
    NoDisplay(String),
    /// The scene cannot be started, no adapter can draw into a window, or the device was lost.
    Engine(Error),
    /// The event log cannot be written.
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
