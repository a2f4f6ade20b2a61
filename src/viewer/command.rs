//! Messages between the window and the worker.

use glam::DVec3;

use super::{grab::Ray, inspect::Inspected, launcher::Shot};
use crate::{
    Backend,
    render::{Camera, Clip},
};

/// Commands from the window to the worker.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Pause or resume.
    Pause(bool),
    /// Pause, and take one step.
    Step,
    /// Pause, and return to the state before the last step.
    Back,
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
    /// Grab the first sphere along a ray.
    Grab {
        /// The ray.
        ray: Ray,
        /// The clip plane; spheres in front of it are not grabbed.
        clip: Option<Clip>,
    },
    /// Pull the grabbed sphere to the point under the cursor. There is no answer.
    Pull(Ray),
    /// Let the grabbed sphere go with its velocity.
    Release,
    /// Inspect the first sphere along a ray of this unit direction.
    Pick {
        /// Origin of the ray (length).
        from: DVec3,
        /// Unit direction of the ray.
        direction: DVec3,
        /// The clip plane; spheres in front of it are not inspected.
        clip: Option<Clip>,
    },
    /// Compare `gpu` with `cpu` from the present state on, or no longer.
    Compare(bool),
    /// Publish the contacts with the spheres, or no longer.
    Contacts(bool),
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
    /// The simulation returned to the state before the last step.
    Back,
    /// A sphere was added; its id.
    Shot(u32),
    /// A sphere is grabbed, or `None`.
    Grabbed(Option<u32>),
    /// No sphere is grabbed any more.
    Released,
    /// A sphere is inspected, or `None`.
    Picked(Option<Box<Inspected>>),
    /// The simulation switched to another backend.
    Switched(Backend),
    /// A comparison has begun (true) or ended.
    Compared(bool),
    /// The world was changed.
    Changed,
    /// A command cannot be executed.
    Refused(String),
    /// The engine cannot continue.
    Failed(String),
}
