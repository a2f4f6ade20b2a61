//! Walls as the engines see them: planes, features of all other shapes in a tree of boxes, and how walls move.

pub(crate) mod features;
pub(crate) mod world;
