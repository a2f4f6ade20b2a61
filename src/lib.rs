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
//! that [`schedule::STAGES`] states:
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
//! shaders on Vulkan, Metal or DX12, also on the device of a renderer, which can draw the state from where it lies
//! (`gpu::Context::from_device`, [`Simulation`]`::state_buffers`). Each stage is a file in `src/cpu/` and one of the same
//! stem in `shaders/`; numbers and layouts that both know have one home in Rust. [`Backend::Exact`] is serial and
//! event-driven in f64 with a priority queue and shares no stage with the others: the yardstick. All take the same
//! [`System`].
//!
//! ## Who decides what on a device
//!
//! The host decides once a step, and the device never waits for it:
//!
//! - A step is one submit: all of its dispatches are encoded beforehand, with so many rounds over the whole array as steps
//!   like it took; one workgroup finishes the rounds that are left. Where nothing is left to do, a dispatch reads a word or
//!   two and ends.
//! - [`Simulation::run`] submits the next step before it waits for the report of this one. So a step is planned (substeps,
//!   path budget, rounds) from what the step *two* before it measured; [`Simulation::step`] plans from the same, and both
//!   give the same bits. Steps with several broad phases or on new cells, and those whose impacts are recorded, are waited
//!   for.
//! - What does not fit in a buffer, does not come to an end or is out of order in a strict run sets the *halt word*. Every
//!   later dispatch sees it and changes nothing, those of the next step included. The host, when it gets to the report, goes
//!   back to the copy of the state at the start of the step, makes room, and does the step again
//!   ([`StepReport::overflow`]). No impact is ever dropped for want of room.
//! - Where substeps are too long (a crowd, a strict order that fails), the host takes them one by one, each from a copy of
//!   the state before it, and halves those that need it ([`StepReport::redone`]), as `cpu` does. What halving does not bring
//!   to an end is done by the CPU's stages for that step.
//! - Threads finish in any order, but no result depends on it: spheres of a cell are ranked by id, ties between impacts are
//!   broken by id, an impact is carried out by one thread alone, floats are added up in an order that the number of spheres
//!   decides, and what is atomic is integers: counts, largest bits, lists whose order nobody relies on. So the same input
//!   gives the same bits, also after a step was done again in larger buffers.
//!
//! [`StepReport::dispatches`], [`StepReport::submits`] and [`StepReport::blocking_reads`] count all this.
//!
//! # Conventions
//!
//! Any consistent units. Vectors between two spheres point from the second to the first. Up is z in 3D, y in 2D, where
//! spheres move in the plane z = 0.
//!
//! What happens where two materials touch is a [`Surface`]: restitution, which may fade below a speed of approach, and
//! Coulomb friction, which turns spheres. The friction of an impact is up to its coefficient times the normal impulse, at
//! most what stops the slip of the two surfaces (2/7 of the reduced mass times the slip, for solid spheres); there is no
//! tangential restitution. Two materials combine by the smaller restitution, the larger threshold and the geometric mean of
//! the coefficients of friction, unless a pair is given its own.
//!
//! # Resting contact
//!
//! With gravity, and restitutions below 1, what bounces slower than gravity would bring it back at once comes to rest on what is
//! below it. Such contacts are no impacts: each is a constraint (the surfaces do not come closer, they rub with Coulomb's
//! friction, they resist rolling and twisting), and all of them are solved together (Gauss-Seidel, started from the loads of the
//! substep before), so that a pile carries its weight, stays where it is, and costs no rounds. Fast pairs in the same pile
//! still collide one after the other, in the order of their times. Without gravity, or with a restitution of 1, nothing rests.
//!
//! Spheres that touch each other and have all been slower than 2e-4 sqrt(g d) for 10 sqrt(d/g), with the smallest diameter d,
//! sleep: they stand still and bear what they bore ([`StepReport::asleep`] counts them). What is struck or touched wakes, and
//! with it all that sleeps anywhere; what that does not concern sleeps again after half of the time. A step in which
//! all sleep does nothing. [`Solver::sleeping`] switches it off.
//!
//! # Walls
//!
//! Besides the sides of the box there are [`Wall`]s: planes, boxes, cylinders, cones, discs, spheres and bowls, meshes of triangles
//! ([`Mesh`], [`files::read_mesh`] for STL and OBJ). But for planes they are surfaces without thickness, met from either side.
//! Each may drift, swing and turn ([`WallMotion`]), come and go. Spheres are swept against them as against each other: against the tangent plane or the
//! curve itself, step by step, no step longer than what certainly meets nothing, so that nothing passes however fast it is
//! (but for what crosses more than a period of a periodic box in a substep: it meets the walls of the nearest periods alone). Patches of walls lie in
//! a tree of boxes; an edge between two triangles is felt only where neither face is nearer, so what rolls over a flat mesh rolls as over a plane.
//!
//! In a substep a wall goes from where it is to where it will be along a straight line and with constant spin; substeps are short enough for
//! that (a tenth of a radian). What a wall that moves gives to the spheres is [`StepReport::wall_work`], what all of them feel
//! [`Simulation::wall_loads`]. Impacts on walls that move are never made elastic by the TC model. Where a wall presses spheres that have no room they overlap, and
//! [`StepReport::crushed_by`] names it. `cpu` and `gpu` do all of this; `exact` has planes alone
//! that always stand still, and refuses others by name.
//!
//! # Flow
//!
//! A [`Source`] pours spheres into a box of the world at a rate, each at a place of its own where nothing is, and waits where there is no room; a [`Sink`] takes
//! out what comes into its box and counts it. Both work between steps, on every backend alike, and the energy that comes and goes with spheres is part of the ledger.
//! [`System::drag`] slows velocities down by exp(-drag dt/2) before and after every step, and [`Simulation::set_gravity`] turns gravity between steps.
//!
//! # Compression
//!
//! A periodic box may shrink between steps until its spheres fill a given share of it or press with a given pressure ([`Compression`],
//! [`Simulation::compressed`]), on every backend alike.
//!
//! # What is not modelled
//!
//! Cohesion, soft contact forces and stiffness, bodies that are not spheres, joints, fluids. [`Backend::Exact`] has no friction,
//! no threshold and no resting contact.
//!
//! # Features
//!
//! The bare library (`default-features = false`) knows no files and no command line. `files` reads and writes scenes and
//! spheres and reads meshes, `gpu` is `Backend::Gpu` and the module `gpu` (adapters, devices, buffers), `render` draws
//! pictures without a window (module `render`), `viewer` is the window (module `viewer`), `cli` is the `carom` command. All
//! are on by default.
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
