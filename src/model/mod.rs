//! What every engine that runs the stages means by a position, a step and a plan: scaled units, cells, the state, the world,
//! and how a step is divided. Nothing here runs a stage.

pub(crate) mod contacts;
pub(crate) mod features;
pub(crate) mod frame;
pub(crate) mod grid;
pub(crate) mod levels;
pub(crate) mod plan;
pub(crate) mod state;
pub(crate) mod statistics;
pub(crate) mod sums;
pub(crate) mod units;
pub(crate) mod world;
