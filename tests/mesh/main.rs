//! Meshes: neighbours across edges, errors, warnings, and files.

#[macro_use]
#[path = "../common/tiers.rs"]
mod tiers;

mod files;
mod gates;
mod mangled;
mod refusals;
mod shapes;
mod speed;
mod transformed;
mod warnings;
mod welding;
