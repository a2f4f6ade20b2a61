//! Walls in device buffers: vertices, triangles, transforms and lines.

use std::sync::Arc;

use bytemuck::{Pod, Zeroable};
use glam::{DMat3, Vec4};

use super::Walls;
use crate::{
    Error,
    gpu::Context,
    render::{look::View, passes::bind, spheres::buffer},
};

/// Buffers that the shaders read: vertices, triangles, transforms and lines.
pub const WALL_BINDINGS: usize = 4;

/// Transform of a wall in the camera's frame; mirrors the struct in `shaders/render/wall.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
struct Place {
    axes: [Vec4; 3],
    /// The origin of the wall's vertices; w: 1 if the wall exists at this time, otherwise 0.
    origin: Vec4,
}

/// The walls of one render world on the device, and their transforms in one picture.
pub struct WallBuffers {
    walls: Option<Arc<Walls>>,
    places: wgpu::Buffer,
    group: wgpu::BindGroup,
    fits: bool,
}

/// Draw ranges: indices into the list of triangles, and the number of lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Drawn {
    pub bodies: std::ops::Range<u32>,
    pub hollow: std::ops::Range<u32>,
    pub lines: u32,
}

impl WallBuffers {
    /// Buffers of a world without walls.
    pub fn new(context: &Context, layout: &wgpu::BindGroupLayout) -> Self {
        let (places, group) = upload(context, layout, [&[]; 3], 0);
        Self { walls: None, places, group, fits: true }
    }

    /// Switches to these walls and their positions at a time; copies data only if the walls have changed.
    pub fn follow(
        &mut self,
        context: &Context,
        layout: &wgpu::BindGroupLayout,
        walls: &Arc<Walls>,
        time: f64,
        view: &View,
    ) {
        if !self.walls.as_ref().is_some_and(|before| Arc::ptr_eq(before, walls)) {
            self.fits = walls.check(context).is_ok();
            let none: [&[u8]; 3] = [&[]; 3];
            let lists = if self.fits { walls.lists() } else { none };
            (self.places, self.group) = upload(context, layout, lists, walls.drawn.len());
            self.walls = Some(walls.clone());
        }
        let places = walls.drawn.iter().map(|&(index, origin)| {
            let wall = &walls.of[index];
            let turn = DMat3::from_quat(wall.motion.turn(time));
            Place {
                axes: [turn.x_axis, turn.y_axis, turn.z_axis]
                    .map(|axis| view.direction(axis / view.unit, 0.0)),
                origin: view.point(wall.motion.carry(origin, time), f64::from(u8::from(wall.is_there(time)))),
            }
        });
        let places: Vec<_> = places.collect();
        context.queue.write_buffer(&self.places, 0, bytemuck::cast_slice(&places));
    }

    /// The current draw ranges.
    pub fn drawn(&self) -> Drawn {
        let Some(walls) = self.walls.as_ref().filter(|_| self.fits) else { return Drawn::default() };
        let (bodies, all) = (walls.body_count as u32, walls.triangles.len() as u32);
        Drawn { bodies: 0..bodies, hollow: bodies..all, lines: walls.lines.len() as u32 }
    }

    /// The bind group for the shaders.
    pub fn group(&self) -> &wgpu::BindGroup {
        &self.group
    }
}

impl Walls {
    // Vertices, triangles, lines.
    fn lists(&self) -> [&[u8]; 3] {
        [
            bytemuck::cast_slice(&self.vertices),
            bytemuck::cast_slice(&self.triangles),
            bytemuck::cast_slice(&self.lines),
        ]
    }

    /// Checks that buffers of the device can hold the walls.
    ///
    /// # Errors
    /// [`Error::Capacity`] if they cannot.
    pub fn check(&self, context: &Context) -> Result<(), Error> {
        let limits = context.device.limits();
        let most = limits.max_storage_buffer_binding_size.min(limits.max_buffer_size);
        let places = self.drawn.len() * size_of::<Place>();
        let largest = self.lists().map(<[u8]>::len).into_iter().chain([places]).max().unwrap_or(0);
        if largest as u64 <= most {
            return Ok(());
        }
        Err(Error::Capacity(format!(
            "walls of {} triangles take a buffer of {largest} bytes; one of {} holds {most}",
            self.triangles.len(),
            context.info()
        )))
    }
}

// Uploads the transforms and creates all bindings.
fn upload(
    context: &Context,
    layout: &wgpu::BindGroupLayout,
    lists: [&[u8]; 3],
    wall_count: usize,
) -> (wgpu::Buffer, wgpu::BindGroup) {
    let [vertices, triangles, lines] = lists.map(|list| {
        let made = buffer(context, "walls", list.len() as u64);
        context.queue.write_buffer(&made, 0, list);
        made
    });
    let places = buffer(context, "places of walls", (wall_count.max(1) * size_of::<Place>()) as u64);
    let resources: [_; WALL_BINDINGS] =
        [&vertices, &triangles, &places, &lines].map(|buffer| buffer.as_entire_binding());
    let group = bind(&context.device, layout, &resources);
    (places, group)
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use super::*;

    #[test]
    fn places_are_laid_out_as_the_shaders_have_them() {
        let source = include_str!("../../../shaders/render/wall.wgsl");
        let module = naga::front::wgsl::parse_str(source).unwrap();
        let (_, found) = module.types.iter().find(|(_, ty)| ty.name.as_deref() == Some("WallPlace")).unwrap();
        let naga::TypeInner::Struct { members, span } = &found.inner else { panic!("no struct") };
        let offsets: Vec<_> = members.iter().map(|member| member.offset as usize).collect();
        assert_eq!(offsets, [offset_of!(Place, axes), offset_of!(Place, origin)]);
        assert_eq!(*span as usize, size_of::<Place>());
    }
}
