//! Pictures: positions and appearance of the drawn objects.

#[macro_use]
#[path = "../common/tiers.rs"]
mod tiers;

mod colour;
mod contacts;
mod depth;
mod legend;
mod picture;
mod silhouette;
mod speed;
mod state;
mod tools;
mod walls;
