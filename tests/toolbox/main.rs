//! The toolbox: closed forms, properties, exact arithmetic, and brute force for the tree.

mod articles;
mod bounce;
mod common;
mod degenerate;
mod exact;
mod overlap;
mod plane;
mod query;
mod segment_and_clip;
mod slips;
mod sweep;
