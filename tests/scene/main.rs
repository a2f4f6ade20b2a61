//! Scenes: fills, checks, and the files they come from.

mod fills;
