//! Files of spheres: each format written and read back, damaged files, and readers of other programs.

#[macro_use]
#[path = "../common/tiers.rs"]
mod tiers;

mod allocation;
mod lammps;
mod mangled;
mod readers;
mod refusals;
mod round_trip;
mod speed;
mod support;
