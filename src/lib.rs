//! Collides spheres.
#![warn(missing_docs)]

mod cpu;
mod error;
mod exact;
#[cfg(feature = "files")]
pub mod files;
mod report;
pub mod scene;
mod simulation;
pub mod stages;
mod summary;
mod system;
pub mod toolbox;
mod validate;

pub use error::Error;
pub use report::{Impact, Partner, StepReport};
pub use simulation::{Backend, Measure, Options, Simulation};
pub use summary::Summary;
pub use system::{Bounds, Dimensions, MaterialIndex, Materials, Plane, Side, Solver, Sphere, System};
