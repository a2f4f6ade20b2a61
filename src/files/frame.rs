//! States of spheres as files hold them.

use glam::DVec3;

use crate::scene::Placed;

/// One state of a file of spheres. A file holds one frame or, where its format allows that, several.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Frame {
    /// Time of the state; `None` if the file does not give it.
    pub time: Option<f64>,
    /// Number of steps before the state; `None` if the file does not give it.
    pub step: Option<u64>,
    /// The box; `None` if the file has none, or one whose edges are not parallel to the axes.
    pub bounds: Option<FrameBounds>,
    /// The spheres, in the order of the file.
    pub spheres: Vec<Placed>,
}

/// The box of a [`Frame`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FrameBounds {
    /// Lower corner (length).
    pub min: DVec3,
    /// Upper corner (length), not below `min`. On an axis without walls or period, the box ends where the spheres end.
    pub max: DVec3,
    /// Whether the x, y and z axes are periodic.
    pub periodic: [bool; 3],
}

impl FrameBounds {
    /// The box between two corners; `None` if a corner is not finite or if `max` is below `min`.
    pub(crate) fn new(min: DVec3, max: DVec3, periodic: [bool; 3]) -> Option<Self> {
        let is_box = min.is_finite() && max.is_finite() && (max - min).min_element() >= 0.0;
        is_box.then_some(Self { min, max, periodic })
    }
}
