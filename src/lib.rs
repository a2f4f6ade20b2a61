//! A hard-sphere collision engine for ten thousand to ten million spheres: marbles, grains, billiard balls, gases.
//!
//! carom sweeps every pair of spheres that could meet along their relative motion and resolves collisions in the order in
//! which they happen. Free flight and elastic collisions conserve energy and momentum to rounding. The same input gives the
//! same bits on one backend, device and build, for any number of threads.
//!
//! # Example
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
//! # Conventions
//!
//! - **Units**: any consistent set. Docs name the dimension: length, time, mass, length/time. Angles are in radians.
//! - **Coordinates**: right-handed. Up is z in 3D and y in 2D, where spheres move in the plane z = 0. A vector between two
//!   spheres points from the second to the first.
//! - **Ids**: every sphere has a unique `u32` id. [`Simulation::spheres`] returns the spheres in ascending order of ids.
//! - **Precision**: the interface is f64. [`Backend::Cpu`] and `Backend::Gpu` compute in f32 and store a position as an
//!   integer cell and an offset inside the cell, so precision does not depend on the distance from the origin.
//!   [`Backend::Exact`] computes in f64.
//! - **Determinism**: results do not depend on the order of threads. Spheres within a cell are sorted by id, ties between
//!   impacts are broken by id, and floating-point sums have a fixed order. [`Simulation::state_hash`] compares two states.
//! - **Errors**: fallible calls of a [`Simulation`] return [`Error`]. The message gives the problem, its location and a
//!   remedy. [`StepReport::late`] counts the collisions that were not resolved in order.
//!
//! # A step
//!
//! A step of `dt` consists of substeps, whose number follows from the collision rate and the speeds. [`schedule`] lists the
//! passes of a step in order, with the columns that each pass reads and writes; both engines execute this list. If a buffer
//! on the device is too small, the host enlarges the buffer and repeats the step from a copy of the state
//! ([`StepReport::overflow`]), so no impact is dropped for lack of capacity. A substep whose collisions do not come to an
//! end, or with [`Solver::strict_order`] are out of order, is halved ([`StepReport::redone`]).
//!
//! # Backends
//!
//! | backend | computes | on |
//! |---|---|---|
//! | [`Backend::Cpu`] | the passes of [`schedule`], f32 | all CPU cores |
//! | `Backend::Gpu` | the same passes as compute shaders, f32 | Vulkan, Metal or DX12, also on the device of a renderer |
//! | [`Backend::Exact`] | one event after the other from a priority queue, f64 | one core; the reference for tests |
//!
//! All backends take the same [`System`]. The exact backend has no friction, no threshold speed, no resting contact and no
//! walls except planes at rest; it refuses other systems with [`Error::Unsupported`]. On the GPU a step is one submit, and
//! [`Simulation::run`] submits the next step before it waits for the report of the current one. `Simulation::state_buffers`
//! gives a renderer the state on the device without a copy.
//!
//! # Physics
//!
//! - **Surfaces**: a [`Surface`] has a restitution, which may fade below a threshold speed, and a Coulomb friction
//!   coefficient. Friction stops the slip of the two surfaces or acts with its coefficient times the normal impulse,
//!   whichever is smaller. Two materials combine by the smaller restitution, the larger threshold and the geometric mean of
//!   the friction coefficients, unless [`Materials::set_surface`] sets the pair.
//! - **Resting contact**: with gravity and a restitution below 1, an impact becomes a resting contact if gravity would
//!   reverse its rebound at once. Resting contacts are constraints with friction, rolling and twisting resistance, solved
//!   together by Gauss-Seidel iteration with a warm start. Faster pairs in the same pile still collide in order.
//! - **Sleeping**: spheres in contact that have all been slower than 2e-4 sqrt(g d) for 10 sqrt(d/g), with the smallest
//!   diameter d, sleep ([`StepReport::asleep`], [`Solver::sleeping`]). A disturbance wakes all sleeping spheres; undisturbed
//!   spheres sleep again after half of that time.
//! - **Walls**: [`Wall`]s are planes, boxes, cylinders, cones, discs, spheres, bowls and triangle meshes ([`Mesh`],
//!   [`files::read_mesh`]). Planes are solid behind; all other shapes are two-sided surfaces without thickness. A wall may
//!   drift, swing and turn ([`WallMotion`]), appear and disappear. Spheres are swept against walls too: a sphere can pass a
//!   wall only if it crosses more than a period of a periodic box in a substep. [`Simulation::wall_loads`] gives the forces
//!   on walls, [`StepReport::wall_work`] the work of moving walls. Spheres that a wall crushes overlap
//!   ([`StepReport::crushed_by`]).
//! - **Flow**: a [`Source`] adds spheres at a rate, a [`Sink`] removes spheres, [`System::drag`] damps velocities as
//!   exp(-drag t), and [`Simulation::set_gravity`] changes gravity between steps. The energy ledger includes all four.
//! - **Compression**: a periodic box may shrink to a given packing fraction or pressure ([`Compression`]).
//! - **Not modelled**: cohesion, soft contact forces and stiffness, bodies that are not spheres, joints, fluids.
//!
//! # Features
//!
//! All features are on by default. The bare library reads no files and has no command line.
//!
//! - `files`: reads and writes scenes and spheres, reads meshes.
//! - `gpu`: `Backend::Gpu`, and the modules `gpu` (adapters, devices, buffers) and `verify`.
//! - `render`: draws pictures without a window.
//! - `viewer`: the window.
//! - `cli`: the `carom` command.
#![warn(missing_docs)]

mod cpu;
mod error;
mod exact;
#[cfg(feature = "files")]
pub mod files;
#[cfg(feature = "gpu")]
pub mod gpu;
#[cfg(feature = "render")]
pub mod render;
pub mod scene;
mod simulation;
mod state;
mod step;
mod system;
pub mod toolbox;
#[cfg(feature = "gpu")]
pub mod verify;
#[cfg(feature = "viewer")]
pub mod viewer;
mod walls;

pub use error::Error;
pub use simulation::{Options, Simulation, Summary};
pub use state::partner::Partner;
pub use step::contact::{Cells, Contact, contact_stress};
pub use step::engine::Backend;
pub use step::report::{Impact, Measure, StepReport, WallLoad};
pub use step::schedule;
pub use system::compression::{Compressed, Compression, CompressionStage};
pub use system::flow::{Sink, SinkCount, Source};
pub use system::mesh::{Facet, Mesh, MeshWarning};
pub use system::wall::{Oscillation, Rotation, Wall, WallMotion, WallShape};
pub use system::{
    Bounds, Dimensions, MaterialIndex, Materials, Plane, Side, Solver, Sphere, Surface, System,
};
