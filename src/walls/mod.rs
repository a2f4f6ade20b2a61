//! Walls as the engines see them: planes, a tree of boxes with the features of all other shapes, and the motion of walls.

pub(crate) mod features;
pub(crate) mod world;
