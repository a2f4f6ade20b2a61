//! A hard-sphere collision engine for ten thousand to ten million spheres: marbles, grains, billiard balls, gases.
//!
//! carom sweeps spheres along their relative motion, so fast spheres do not tunnel through each other, and resolves
//! collisions in the order in which they happen. Free flight and elastic collisions conserve energy and momentum to
//! rounding error. On one backend, device and build, the same input gives bit-identical results for any number of
//! threads.
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
//! - **Units**: any consistent set of units. The documentation of each quantity names its dimension, such as length,
//!   time or length/time. Angles are in radians.
//! - **Coordinates**: right-handed. Up is +z in 3D and +y in 2D. In 2D, spheres move in the plane z = 0. A vector
//!   between two spheres points from the second sphere to the first.
//! - **Ids**: every sphere has a unique `u32` id. [`Simulation::spheres`] returns the spheres in ascending order of ids.
//! - **Precision**: the interface is f64. [`Backend::Cpu`] and `Backend::Gpu` compute in f32 and store a position as an
//!   integer cell and an offset inside the cell, so precision does not depend on the distance from the origin.
//!   [`Backend::Exact`] computes in f64.
//! - **Determinism**: results do not depend on thread scheduling. Spheres within a cell are sorted by id, ties between
//!   impacts are broken by id, and floating-point sums have a fixed order. [`Simulation::state_hash`] is a
//!   fingerprint of the state for comparison.
//! - **Errors**: fallible methods of [`Simulation`] return [`Error`], whose message names the problem, its
//!   location and a remedy. Collisions that could not be resolved in order are not errors;
//!   [`StepReport::late`] counts them.
//!
//! # A step
//!
//! A step of length `dt` is divided into substeps. Their number depends on the collision rate and the speeds.
//! [`schedule`] lists the passes of a step in order, with the arrays (columns) that each pass reads and
//! writes; the CPU and GPU backends execute this list. If a buffer on the device is too small, the host
//! enlarges the buffer and repeats the step from a copy of the state ([`StepReport::overflow`]), so no impact
//! is lost. Where contacts do not rest, collisions that depend on each other in long chains, and those that wait for them, are applied
//! one by one, in f64 ([`StepReport::event_driven`]). If one is out of order all the same, the whole substep is repeated so. Any other substep with too many collisions to resolve is repeated
//! as two halves ([`StepReport::redone`]).
//! With [`Solver::strict_order`], a substep with collisions out of order is also repeated as two halves.
//!
//! # Backends
//!
//! | backend | method | hardware |
//! |---|---|---|
//! | [`Backend::Cpu`] | the passes of [`schedule`] in f32 | all CPU cores |
//! | `Backend::Gpu` | the same passes as compute shaders, in f32 | Vulkan, Metal or DX12; may share a renderer's device |
//! | [`Backend::Exact`] | one event at a time from a priority queue, in f64 | one core; the reference for tests |
//!
//! All backends take the same [`System`]. The exact backend has no resting contacts, and it returns
//! [`Error::Unsupported`] for friction, for threshold speeds, and for walls other than planes at rest. On the GPU a step
//! is one submit unless it takes long, and [`Simulation::run`] submits the next step before it waits for the report of the current one.
//! `Simulation::state_buffers` gives a renderer access to the state on the device, without a copy.
//!
//! # Physics
//!
//! - **Surfaces**: a [`Surface`] has a restitution, which may fade below a threshold speed, and a Coulomb friction
//!   coefficient. The friction impulse is the impulse that stops slip, but at most the friction coefficient times the
//!   normal impulse. A pair of materials has the smaller restitution, the larger threshold and the geometric mean of the
//!   friction coefficients, unless [`Materials::set_surface`] gives other values for the pair.
//! - **Resting contact**: with gravity and a restitution below 1, an impact becomes a resting contact if
//!   gravity would reverse the rebound at once. Resting contacts are constraints with friction, rolling
//!   resistance and twisting resistance. Gauss-Seidel iteration with a warm start solves all resting contacts
//!   together. An impact between two spheres that other spheres hold in place also becomes a resting contact
//!   ([`StepReport::crowded`]). A sphere in flight bounces off a held sphere with the restitution of the
//!   pair. All other pairs in the same pile still collide in order.
//! - **Sleeping**: a supported sphere sleeps once it has been slower than 2e-4 sqrt(g d) for a time of 10 sqrt(d/g),
//!   where d is the smallest diameter and g is gravity ([`StepReport::asleep`], [`Solver::sleeping`]). A sphere that spins in
//!   place sleeps with its spin if its contacts do not change the spin. A moving sphere keeps the spheres awake that at most four
//!   contacts connect to it. An impact wakes the spheres around it, and a wall that appears or disappears wakes those that touch it. A
//!   sleeping sphere farther away wakes if its contacts no longer balance its weight.
//! - **Walls**: [`Wall`]s are planes, boxes, cylinders, cones, discs, spheres, bowls and triangle meshes ([`Mesh`],
//!   [`files::read_mesh`]). The half space behind a plane is solid; all other shapes are two-sided surfaces without
//!   thickness. A wall may move at constant velocity, oscillate and rotate ([`WallMotion`]), and it may appear and
//!   disappear. Spheres are swept against walls too. A sphere can miss a wall only if the sphere crosses more than one
//!   period of a periodic box in a substep. [`Simulation::wall_loads`] returns the forces on walls, and
//!   [`StepReport::wall_work`] is the work done by moving walls. If a wall crushes spheres, they overlap, and
//!   [`StepReport::crushed_by`] names the wall.
//! - **Flow and outside forces**: a [`Source`] adds spheres at a given rate, and a [`Sink`] removes spheres.
//!   [`System::drag`] damps velocities as exp(-drag t). [`Simulation::set_gravity`] changes gravity between
//!   steps. The energy ledger of [`Summary::ledger_error`] includes the energy of sources, sinks, drag and
//!   gravity changes.
//! - **Compression**: a periodic box may shrink to a given packing fraction or pressure ([`Compression`]).
//! - **Not modelled**: cohesion, soft contact forces and stiffness, bodies that are not spheres, joints, fluids.
//!
//! # Features
//!
//! All features are on by default. Without features, the library reads no files and has no command line.
//!
//! - `files`: reads scenes, spheres and meshes from files, and writes scenes and spheres.
//! - `gpu`: `Backend::Gpu`, and the modules `gpu` (adapters, devices, buffers) and `verify`; with `files` also `doctor`.
//! - `render`: draws pictures without a window.
//! - `viewer`: a window on a running simulation.
//! - `trace`: logs rare occurrences by the crate `tracing`: new cells, grown buffers, repeated steps, the loss of a device.
//! - `cli`: the `carom` command.
#![warn(missing_docs)]

pub mod analysis;
mod cpu;
#[cfg(all(feature = "gpu", feature = "files"))]
pub mod doctor;
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
mod trace;
#[cfg(feature = "files")]
pub mod validate;
#[cfg(feature = "gpu")]
pub mod verify;
#[cfg(feature = "viewer")]
pub mod viewer;
mod walls;

pub use error::Error;
pub use simulation::{Checkpoint, OnLoss, Options, Simulation, Summary};
pub use state::partner::Partner;
pub use step::contact::{Cells, Contact, contact_stress};
pub use step::engine::{Backend, DeviceBuffer};
pub use step::report::{Figure, Impact, Measure, StepReport, WallLoad};
pub use step::schedule;
pub use system::compression::{Compressed, Compression, CompressionStage};
pub use system::flow::{Sink, SinkCount, Source};
pub use system::mesh::{Facet, Mesh, MeshWarning};
pub use system::wall::{Oscillation, Rotation, Wall, WallMotion, WallShape};
pub use system::{
    Bounds, Dimensions, MaterialIndex, Materials, Plane, Side, Solver, Sphere, Surface, System,
};
