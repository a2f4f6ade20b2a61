//! Files of spheres: each format written and read back, refused, read by other programs. tests/fuzz damages files at random.

#[macro_use]
#[path = "../common/tiers.rs"]
mod tiers;

#[path = "../common/allocation.rs"]
mod allocation;
mod lammps;
mod memory;
mod readers;
mod refusals;
mod round_trip;
mod speed;
mod support;
