//! Pictures: what is drawn is where it should be, and looks as it should.

mod colour;
mod depth;
mod legend;
mod picture;
mod silhouette;
mod speed;
mod state;
mod tools;
mod walls;
