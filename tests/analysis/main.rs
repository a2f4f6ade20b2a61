//! The functions of `carom::analysis` against known answers and brute force.

mod contacts;
mod motion;
mod radial;
mod refusals;
mod speeds;
mod support;
mod threads;
mod volumes;
