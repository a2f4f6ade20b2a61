//! The device buffers of the state.

use glam::DVec3;

/// The state in device buffers. The order of the spheres changes from step to step.
///
/// The centre of sphere `i` is `origin + cell * cell_edge + offset * unit_of_length`, with the `cell` of `tags[i]` and the
/// `offset` of `bodies[i]`. Offsets may reach beyond the cell.
#[derive(Clone, Debug)]
pub struct StateBuffers {
    /// `sphere_count` of [`Body`](crate::gpu::Body).
    pub bodies: wgpu::Buffer,
    /// `sphere_count` of [`Tag`](crate::gpu::Tag).
    pub tags: wgpu::Buffer,
    /// Number of spheres.
    pub sphere_count: u32,
    /// Corner of cell 0 (length).
    pub origin: DVec3,
    /// Edges of a cell (length).
    pub cell_edge: DVec3,
    /// Scaled units of offsets and radii (length).
    pub unit_of_length: f64,
    /// Scaled unit of velocities (length/time).
    pub unit_of_velocity: f64,
}
