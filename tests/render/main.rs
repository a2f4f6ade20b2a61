//! Pictures: what is drawn is where it should be, and looks as it should.

#[macro_use]
#[path = "../common/tiers.rs"]
mod tiers;

mod colour;
mod depth;
mod legend;
mod picture;
mod silhouette;
mod speed;
mod state;
mod tools;
mod walls;
