//! What the window asks of the worker, and what the worker tells the window.

use glam::DVec3;

use super::{inspect::Inspected, launcher::Shot};
use crate::{Backend, render::Camera};

/// What the window asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Stop, or go on.
    Pause(bool),
    /// Stop, and take one step.
    Step,
    /// Back to the start of the scene, as it was loaded: what was changed since is forgotten, but for the backend.
    Reset,
    /// Another scene: a built-in one by its name, or the one that the window was opened with.
    Load(String),
    /// Another backend, from the spheres as they are.
    Backend(Backend),
    /// Have the device time the stages, or not.
    Profile(bool),
    /// Simulated time for each second; none: as fast as it can.
    Pace(Option<f64>),
    /// Acceleration (length/time^2).
    Gravity(DVec3),
    /// Restitution of all pairs of materials.
    Restitution(f64),
    /// Outer step (time).
    Dt(f64),
    /// Add a sphere in flight.
    Shoot(Shot),
    /// Inspect the first sphere along a ray of this unit direction.
    Pick {
        /// Where the ray begins (length).
        from: DVec3,
        /// Where it goes.
        direction: DVec3,
    },
    /// Look at the inspected sphere again.
    Look,
    /// Inspect nothing any more.
    Forget,
    /// Tell from where all spheres are to be seen, looking from this direction.
    Frame {
        /// From the scene to the eye; any length but 0.
        from: DVec3,
        /// What is up in the picture.
        up: DVec3,
    },
}

/// What the worker has done or found.
#[derive(Clone, Debug, PartialEq)]
pub enum News {
    /// A scene stands at its start, and looks best from here.
    Loaded(Camera),
    /// The scene stands at its start again.
    Reset,
    /// All spheres are to be seen from here.
    Framed(Camera),
    /// It stands still, or goes on.
    Paused(bool),
    /// A single step was taken.
    Stepped,
    /// A sphere was shot; its id.
    Shot(u32),
    /// A sphere is inspected, or none.
    Picked(Option<Box<Inspected>>),
    /// Another backend computes.
    Switched(Backend),
    /// The world was changed.
    Changed,
    /// Something that was asked for cannot be done.
    Refused(String),
    /// The engine cannot go on.
    Failed(String),
}
