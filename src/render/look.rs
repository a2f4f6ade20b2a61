//! The uniform of the shaders: where the eye is, and what is to be seen.

use bytemuck::{Pod, Zeroable};
use glam::{DVec3, IVec3, Vec3, Vec4};

use super::{
    camera::Camera,
    maps::MATERIALS,
    scenery::Scenery,
    spheres::Spheres,
    style::{Colour, Range, Style},
};

/// Mirrors `Look` in `shaders/render/look.wgsl`. Lengths are in the spheres' units, vectors in the frame of the eye
/// (right, up, forward) unless said otherwise.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub struct Look {
    /// Axes of the eye in the world; w: tangents of half the field of view along x and y, and nearest depth.
    pub right: Vec4,
    pub up: Vec4,
    pub forward: Vec4,
    /// Cell of the eye, and the eye in that cell.
    pub cell: IVec3,
    pub sphere_count: u32,
    pub offset: Vec3,
    pub flags: u32,
    pub edge: Vec3,
    pub colour: u32,
    pub cells: IVec3,
    /// Least radius of a sphere in the picture, at depth 1.
    pub least: f32,
    pub size: [f32; 2],
    pub range: [f32; 2],
    /// Towards the key light; towards the zenith.
    pub light: Vec4,
    pub zenith: Vec4,
    pub map: [Vec4; 7],
    pub materials: [Vec4; 8],
}

pub const FLAT: u32 = 1;

/// From the scene to the key light: over the left shoulder of [`Camera::framing`], high.
const LIGHT: DVec3 = DVec3::new(-0.25, -0.62, 1.15);

impl Look {
    pub fn new(size: [u32; 2], spheres: &Spheres, scenery: &Scenery, camera: &Camera, style: &Style) -> Self {
        let cells = &spheres.cells;
        let basis = camera.basis();
        let unit = cells.unit_of_length;
        let slope = camera.slope();
        let [width, height] = size.map(|n| f64::from(n.max(1)));
        let (cell, offset) = cells.locate(camera.eye);
        let axis = |v: DVec3, w: f64| v.as_vec3().extend(w as f32);
        let distance = (camera.target - camera.eye).length().max(scenery.radius());
        let seen = |v: DVec3| axis(basis.transpose() * v.normalize(), 0.0);
        let map = style.map.polynomial().map(|[r, g, b]| Vec4::new(r, g, b, 0.0));
        let materials = MATERIALS.map(|[r, g, b]| Vec4::new(r, g, b, 0.0));
        let scale = match style.colour {
            Colour::Speed => cells.unit_of_velocity,
            Colour::Radius => unit,
            Colour::Impacts => unit / cells.unit_of_velocity,
            Colour::Material | Colour::Id | Colour::Overlap => 1.0,
        };
        let range = match style.range {
            Range::Automatic => [0.0, 1.0],
            Range::Locked(low, high) => [(low / scale) as f32, (high / scale) as f32],
        };
        Self {
            right: axis(basis.x_axis, slope * width / height),
            up: axis(basis.y_axis, slope),
            forward: axis(basis.z_axis, 1e-4 * distance / unit),
            cell,
            sphere_count: spheres.count,
            offset: (offset / unit).as_vec3(),
            flags: if style.flat { FLAT } else { 0 },
            edge: (cells.edge / unit).as_vec3(),
            colour: Colour::ALL.iter().position(|&c| c == style.colour).unwrap_or(0) as u32,
            cells: cells.count,
            least: (0.4 * 2.0 * slope / height) as f32,
            size: [width as f32, height as f32],
            range,
            light: seen(LIGHT),
            zenith: seen(camera.up),
            map,
            materials,
        }
    }
}
