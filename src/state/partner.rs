//! The partner of a sphere in an impact or a contact: another sphere, or a wall.

/// Partner of a sphere in an impact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Partner {
    /// Another sphere, by id.
    Sphere(u32),
    /// A wall, by its index in [`System::all_walls`](crate::System::all_walls).
    Wall(u32),
}
