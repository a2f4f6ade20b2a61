//! Spheres by themselves: pure functions for two of them, and [`SphereTree`] for one against a whole scene.
//!
//! Nothing here needs a simulation, and nothing keeps state. Everything is generic over `f32` and `f64`, plane
//! and space: [`glam`]'s `Vec2`, `Vec3`, `DVec2`, `DVec3` (the sealed trait [`Vector`]). In the plane a sphere
//! is a disc.
//!
//! # Conventions
//! - Of a pair, the first is `a`, the second `b`. `d` is the first centre less the second, `w` the first
//!   velocity less the second: **`d`, `w` and every normal point from the second to the first.** So `d.w < 0`
//!   means that the two approach, and an impulse acts with `+` on the first.
//! - Functions that take `d` and `w` are the core; subtract positions in whatever precise way you have.
//!   Functions that take [`Still`] and [`Moving`] do the subtraction, whose rounding they cannot undo: far from
//!   the origin, say 1e5 diameters in `f32`, work relative to a nearby point.
//! - Units are yours, only consistent. A time counts from the start of the step in the unit that the velocities
//!   are per; a `fraction` is of the step. Where you sweep along a displacement instead of a velocity, `dt` is
//!   1.
//! - `separation` is a gap: negative means overlap. Touching is not overlapping.
//! - A contact is where two spheres would overlap if they went on: what separates, stands still or only grazes
//!   makes none; what touches or overlaps and approaches makes one at time 0. Times are never negative and
//!   never beyond the step.
//! - Radii are >= 0, 0 is a point; a negative radius means nothing, but does no harm beyond a meaningless
//!   answer.
//! - Masses go in as inverses, 0 for what does not move.
//! - NaN never comes out where numbers within the range below went in, and nothing panics on numbers. NaN going
//!   in gives the answer "nothing": no contact, no overlap, no impulse, no displacement.
//! - Squares of lengths and speeds have to be representable: about `1e-18..1e18` in `f32`, `1e-153..1e153` in
//!   `f64`. [`first_contact`] says what is returned beyond.
//!
//! # A collision, start to end
//! ```
//! use carom::toolbox::{Moving, bounce, sweep};
//! use glam::DVec2;
//!
//! let mut a = Moving { position: DVec2::new(0.0, 0.0), velocity: DVec2::new(3.0, 0.0), radius: 0.5 };
//! let mut b = Moving { position: DVec2::new(4.0, 0.0), velocity: DVec2::new(0.0, 0.0), radius: 0.5 };
//! let dt = 2.0;
//!
//! let contact = sweep(&a, &b, dt).expect("they meet within the step");
//! assert_eq!((contact.time, contact.point.x), (1.0, 3.5));
//!
//! // To the contact, bounce, and on for what is left of the step: each instant is lived once.
//! (a, b) = (a.advanced(contact.time), b.advanced(contact.time));
//! (a.velocity, b.velocity) = bounce(a.position - b.position, a.velocity, b.velocity, 1.0, 1.0, 1.0);
//! (a, b) = (a.advanced(dt - contact.time), b.advanced(dt - contact.time));
//! assert_eq!((a.position.x, b.position.x), (3.0, 7.0));
//! assert_eq!((a.velocity.x, b.velocity.x), (0.0, 3.0));
//! ```
//!
//! # Which function
//! | question | function |
//! |---|---|
//! | do two spheres overlap | [`overlaps`], [`separation`] |
//! | when do they touch | [`first_contact`], [`first_contact_within`] |
//! | between which times do they overlap | [`passage`] |
//! | when, where and with which normal | [`sweep`], [`sweep_still`] |
//! | a sphere under gravity and a plane | [`plane_contact`], [`sweep_plane`] |
//! | what an impact does | [`bounce_impulse`], [`bounce`] |
//! | where two spheres touch | [`contact_point`] |
//! | how to take an overlap away | [`push_apart`], [`separate`] |
//! | how far a sphere may go | [`clip_motion`] |
//! | the nearest point of a segment | [`closest_on_segment`] |
//! | all of that against thousands | [`SphereTree`] |

// `!(x < y)` is how a comparison turns NaN away; `x >= y` would let it in.
#![allow(clippy::neg_cmp_op_on_partial_ord)]

mod bounce;
mod clip;
mod overlap;
mod plane;
mod query;
mod segment;
mod shape;
mod sweep;
mod tree;
mod vector;

pub use bounce::{bounce, bounce_impulse};
pub use clip::{Clipped, Hit, clip_motion};
pub use overlap::{overlaps, push_apart, separate, separation};
pub use plane::{plane_contact, sweep_plane};
pub use segment::closest_on_segment;
pub use shape::{HalfSpace, Moving, Still, contact_point};
pub use sweep::{Contact, first_contact, first_contact_within, passage, sweep, sweep_still};
pub use tree::SphereTree;
pub use vector::{Scalar, Vector, unit};
