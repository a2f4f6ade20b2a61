//! Collides spheres: marbles, grains, billiard balls, hard-sphere gases, ten thousand to ten million of them.
//!
//! carom is a hard-sphere (event-ordered) collision engine. Every pair that could meet is swept along its relative
//! motion, collisions are resolved in the order in which they happen, energy and momentum are kept to rounding, and the
//! same input gives the same bits whatever the number of threads.
//!
//! # A page of example
//!
//! ```
//! use carom::scene::{Fill, Scene};
//! use carom::{Options, Partner, Simulation};
//! use glam::DVec3;
//!
//! // A thousand spheres of diameter 1 fill a fifth of a periodic box.
//! let scene = Scene::new(1.0 / 60.0)
//!     .periodic()
//!     .seed(7)
//!     .fill(Fill::random(1000).volume_fraction(0.2).temperature(3.0));
//! let mut simulation =
//!     Simulation::new(scene.build()?, Options { record_impacts: true, ..Options::default() })?;
//!
//! for _ in 0..10 {
//!     simulation.step()?;
//! }
//!
//! // Nothing is lost: energy and momentum are those of the start to the rounding of f32.
//! let summary = simulation.summary();
//! assert!(summary.energy_error.unwrap().abs() < 1e-6);
//! assert!(summary.momentum_error.unwrap() < 1e-6);
//! assert_eq!(summary.late, 0);
//!
//! // The impacts of the last step, in the order of their times.
//! let impacts = simulation.impacts();
//! assert!(impacts.windows(2).all(|pair| pair[0].time <= pair[1].time));
//! assert!(impacts.iter().all(|i| matches!(i.partner, Partner::Sphere(other) if other > i.sphere)));
//!
//! // Push one, take one out, and go on.
//! let before = simulation.spheres()[5];
//! simulation.apply_impulse(before.id, DVec3::new(0.0, 0.0, 2.0 * before.mass))?;
//! simulation.remove(6)?;
//! assert!((simulation.spheres()[5].velocity.z - before.velocity.z - 2.0).abs() < 1e-6);
//! simulation.step()?;
//! assert_eq!(simulation.sphere_count(), 999);
//! # Ok::<(), carom::Error>(())
//! ```
//!
//! # How a step works
//!
//! A step of `dt` is divided into substeps, chosen from the collision rate and the speeds. The stages, in the one order
//! that [`stages::STAGES`] states:
//!
//! 1. `bin`, `scan`, `scatter`: a counting sort of the spheres into cells, those of one cell by id;
//! 2. `neighbors`: for each sphere all it could meet while nobody leaves its path budget; spheres that are faster walk the
//!    cells of their swept capsule instead, also when an impact makes them fast on the way;
//! 3. `launch`, `sweep`: the earliest impact of each sphere, seen from a frame in free fall, where flight is straight;
//! 4. rounds of `select` and `collide`: a pair is resolved when it is the earliest of both and no third sphere can come
//!    in between, looking three impacts back; what was touched is swept again; until no impact is left;
//! 5. `advance`, `relax`, `audit`: to the end of the substep, leftover overlap apart, and the sums.
//!
//! Positions are an integer cell and an offset inside it, so far from the origin is as good as near it. What could not be
//! ordered is counted ([`StepReport::late`]), never hidden.
//!
//! # Engines
//!
//! [`Backend::Cpu`] runs the stages on all cores in f32. `Backend::Gpu` (feature `gpu`) runs the same stages as compute
//! shaders. [`Backend::Exact`] is serial and event-driven in f64 with a
//! priority queue and shares no stage with the other: the yardstick. Both take the same [`System`].
//!
//! # Conventions
//!
//! Any consistent units. Vectors between two spheres point from the second to the first. Up is z in 3D, y in 2D, where
//! spheres move in the plane z = 0. Restitution combines by the smaller value unless a pair is given its own.
//!
//! # What is not modelled
//!
//! Friction, rolling and resting contact (not yet: piles do not come to rest properly, spheres on a plane do); cohesion,
//! soft contact forces and stiffness, bodies that are not spheres, joints, fluids.
//!
//! # Features
//!
//! The bare library (`default-features = false`) knows no files and no command line. `files` reads and writes scenes and
//! spheres, `gpu` is the stages on Vulkan, Metal or DX12, `cli` is the `carom` command.
#![warn(missing_docs)]

mod cpu;
mod error;
mod exact;
#[cfg(feature = "files")]
pub mod files;
#[cfg(feature = "gpu")]
pub mod gpu;
mod model;
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
