//! Messages between the window and the worker.

use glam::DVec3;

use super::{inspect::Inspected, launcher::Shot};
use crate::{Backend, render::Camera};

/// Commands from the window to the worker.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Pause or resume.
    Pause(bool),
    /// Pause, and take one step.
    Step,
    /// Return to the start of the scene as loaded. Discards all later changes except the backend.
    Reset,
    /// Load another scene: a built-in one by name, or the scene that the window was opened with.
    Load(String),
    /// Switch to another backend and keep the current spheres.
    Backend(Backend),
    /// Switch the device's timing of stages on or off.
    Profile(bool),
    /// Simulated time per second; `None`: as fast as possible.
    Pace(Option<f64>),
    /// Acceleration (length/time^2).
    Gravity(DVec3),
    /// Restitution of all pairs of materials.
    Restitution(f64),
    /// Outer step (time).
    Dt(f64),
    /// Add a moving sphere.
    Shoot(Shot),
    /// Inspect the first sphere along a ray of this unit direction.
    Pick {
        /// Origin of the ray (length).
        from: DVec3,
        /// Unit direction of the ray.
        direction: DVec3,
    },
    /// Inspect the same sphere again.
    Look,
    /// End the inspection.
    Forget,
    /// Ask for the camera that frames all spheres from this direction.
    Frame {
        /// Direction from the scene to the camera; any length but 0.
        from: DVec3,
        /// Direction that points up in the picture.
        up: DVec3,
    },
}

/// News from the worker to the window.
#[derive(Clone, Debug, PartialEq)]
pub enum News {
    /// A scene is at its start; this camera frames it.
    Loaded(Camera),
    /// The scene is back at its start.
    Reset,
    /// This camera frames all spheres.
    Framed(Camera),
    /// The simulation was paused (true) or resumed.
    Paused(bool),
    /// A single step was taken.
    Stepped,
    /// A sphere was added; its id.
    Shot(u32),
    /// A sphere is inspected, or `None`.
    Picked(Option<Box<Inspected>>),
    /// The simulation switched to another backend.
    Switched(Backend),
    /// The world was changed.
    Changed,
    /// A command cannot be executed.
    Refused(String),
    /// The engine cannot continue.
    Failed(String),
}
