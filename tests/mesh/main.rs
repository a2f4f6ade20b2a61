//! Meshes: what lies across their edges, what is refused, what is told, and the files they come from.

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
