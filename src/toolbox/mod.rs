//! Pure functions for pairs of spheres, and [`SphereTree`] for one sphere against a whole scene.
//!
//! No function needs a simulation or keeps state. All functions are generic over precision (`f32`, `f64`) and dimension (2D,
//! 3D): they take [`glam`]'s `Vec2`, `Vec3`, `DVec2` and `DVec3`, which implement the sealed trait [`Vector`]. In 2D a
//! sphere is a disc.
//!
//! # Conventions
//! - The first sphere of a pair is `a`, the second `b`. `d` is the centre of `a` minus the centre of `b`, and `w` is the
//!   velocity of `a` minus the velocity of `b`: **`d`, `w` and every normal point from the second sphere to the first.** So
//!   `d.w < 0` means that the two spheres approach, and an impulse acts on the first sphere with sign `+`.
//! - The basic functions take `d` and `w`; subtract positions as precisely as you can. Functions that take
//!   [`Still`] and [`Moving`] subtract the positions, but cannot undo the rounding of the positions. Far from
//!   the origin, say 1e5 diameters in `f32`, give positions relative to a nearby point.
//! - Units are arbitrary but consistent. Times start at the beginning of the step; a `fraction` is a share of the step. To
//!   sweep along a displacement instead of a velocity, set `dt` to 1.
//! - `separation` is a gap; a negative gap is an overlap. Spheres that touch do not overlap.
//! - A contact is the start of an overlap. Spheres that separate, rest relative to each other or only graze have no contact.
//!   Spheres that approach, and touch or overlap at the start, have a contact at time 0. The time of a contact is never
//!   negative and never later than the end of the step.
//! - Radii are >= 0; a sphere of radius 0 is a point. A negative radius gives a meaningless result, but no panic.
//! - Masses are given as inverses; the inverse mass of a fixed body is 0.
//! - Arguments within the range below never give NaN, and no argument causes a panic. NaN as an argument gives no contact,
//!   no overlap, no impulse and no displacement.
//! - The squares of lengths and speeds have to be representable. Lengths and speeds may thus range over about `1e-18..1e18`
//!   in `f32` and `1e-153..1e153` in `f64`. [`first_contact`] states the results outside this range.
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
//! // Move to the contact, bounce, and move for the rest of the step.
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
//! | when do two spheres touch | [`first_contact`], [`first_contact_within`] |
//! | between which times do two spheres overlap | [`passage`] |
//! | when, where and with which normal do two spheres touch | [`sweep`], [`sweep_still`] |
//! | when does a sphere under gravity touch a plane | [`plane_contact`], [`sweep_plane`] |
//! | velocities after an impact | [`bounce_impulse`], [`bounce`] |
//! | where two spheres touch | [`contact_point`] |
//! | how to remove an overlap | [`push_apart`], [`separate`] |
//! | how far a sphere can move | [`clip_motion`] |
//! | the nearest point of a segment | [`closest_on_segment`] |
//! | overlaps and first contacts among thousands of spheres | [`SphereTree`] |

// `!(x < y)` rejects NaN; `x >= y` would accept it.
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
