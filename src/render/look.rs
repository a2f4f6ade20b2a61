//! The uniform buffer of the shaders: camera, lighting and the objects to draw.

use bytemuck::{Pod, Zeroable};
use glam::{DMat3, DVec3, IVec3, Vec3, Vec4};

use super::{
    camera::Camera,
    maps::{KNOTS, MATERIALS},
    render_world::{LINES, RenderWorld, SURFACES},
    spheres::{Cells, Spheres},
    style::{Clip, Colour, Range, Style},
};
use crate::Dimensions;

/// A rectangle of a wall or floor; mirrors the struct in `shaders/render/look.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub struct Surface {
    middle: Vec4,
    normal: Vec4,
    across: Vec4,
    along: Vec4,
}

/// Mirrors the struct in `shaders/render/look.wgsl`, which documents the members.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub struct Look {
    right: Vec4,
    up: Vec4,
    forward: Vec4,
    cell: IVec3,
    sphere_count: u32,
    offset: Vec3,
    flags: u32,
    edge: Vec3,
    colour: u32,
    cells: IVec3,
    least: f32,
    size: [f32; 2],
    range: [f32; 2],
    light: Vec4,
    light_right: Vec4,
    light_up: Vec4,
    stage: Vec4,
    zenith: Vec4,
    clip: Vec4,
    network: Vec4,
    map: [Vec4; KNOTS],
    materials: [Vec4; 8],
    pub surface_count: u32,
    pub line_count: u32,
    quantile: f32,
    from_least: u32,
    surfaces: [Surface; SURFACES],
    lines: [Vec4; 2 * LINES],
}

const FLAT: u32 = 1;
const SHADOW: u32 = 2;
const OCCLUSION: u32 = 4;
const ENCODED: u32 = 8;
const LOCKED: u32 = 16;
const FRESH: u32 = 32;
const PLANAR: u32 = 64;

/// Direction from the scene to the key light: high, over the left shoulder of [`Camera::framing`].
const LIGHT: DVec3 = DVec3::new(-0.30, -0.70, 1.15);
/// Direction to the key light in 2D: from the upper left.
const LIGHT_ABOVE: DVec3 = DVec3::new(-0.42, 0.50, 1.0);

/// Radius of ambient occlusion (mean diameters). A smaller radius darkens only contacts; a larger radius needs
/// distant texture fetches or adds noise.
const REACH: f64 = 2.5;

/// Least drawn radius of a sphere (pixels): every point of a pixel is within this distance of one of its four samples,
/// so that no sphere falls between the samples.
const LEAST: f64 = 0.42;

/// Distance of the near plane, relative to the distance to the target. A sphere cut by this plane fills the whole
/// picture anyway, and reversed depth stays precise.
const NEAR: f64 = 1e-4;

/// Flags that the renderer adds to the caller's style.
#[derive(Clone, Copy, Debug)]
pub struct Circumstances {
    /// The target encodes sRGB by itself.
    pub is_encoded: bool,
    /// The value range of the previous picture is invalid.
    pub is_fresh: bool,
}

impl Look {
    pub fn new(
        size: [u32; 2],
        spheres: &Spheres,
        render_world: &RenderWorld,
        camera: &Camera,
        style: &Style,
        circumstances: Circumstances,
    ) -> Self {
        let cells = &spheres.cells;
        let view = View::new(camera, spheres);
        let unit = view.unit;
        let slope = camera.slope();
        let [width, height] = size.map(|n| f64::from(n.max(1)));
        let (cell, offset) = cells.locate(camera.eye);
        let is_flat_world = render_world.dimensions == Dimensions::Two;
        let light = if is_flat_world { LIGHT_ABOVE } else { LIGHT }.normalize();
        let light_right = light.any_orthonormal_vector();
        let (middle, half) = lit_part(render_world, camera);
        let range = match style.range {
            Range::Automatic => [0.0, 1.0],
            Range::Locked(low, high) => [low, high].map(|end| (end / scale(style.colour, cells)) as f32),
        };
        let (quantile, from_least) = match style.colour {
            Colour::Speed | Colour::Spin | Colour::Force => (0.98, 0),
            Colour::Impacts => (0.9, 0),
            Colour::Overlap | Colour::Contacts | Colour::Difference => (1.0, 0),
            Colour::Radius | Colour::Material | Colour::Id => (1.0, 1),
        };
        let flags = [
            (style.flat, FLAT),
            (style.shadow, SHADOW),
            (style.ambient_occlusion, OCCLUSION),
            (circumstances.is_encoded, ENCODED),
            (style.range != Range::Automatic, LOCKED),
            (circumstances.is_fresh, FRESH),
            (is_flat_world, PLANAR),
        ];
        let (surfaces, surface_count) = padded(render_world.surfaces(style).map(|s| Surface {
            middle: view.point(s.middle, s.fade / unit),
            normal: view.direction(s.normal, 0.0),
            across: view.direction(s.across / unit, 0.0),
            along: view.direction(s.along / unit, 0.0),
        }));
        let (lines, ends) = padded(render_world.lines(style).flatten().map(|end| view.point(end, 0.0)));
        let rgb = |[r, g, b]: [f32; 3]| Vec4::new(r, g, b, 0.0);
        let distance = (camera.target - camera.eye).length();
        Self {
            right: view.axis(0, slope * width / height),
            up: view.axis(1, slope),
            forward: view.axis(2, NEAR * distance / unit),
            cell,
            sphere_count: spheres.count,
            offset: (offset / unit).as_vec3(),
            flags: flags.iter().filter(|(on, _)| *on).map(|(_, flag)| flag).sum(),
            edge: (cells.edge / unit).as_vec3(),
            colour: index_of(style.colour),
            cells: cells.count,
            least: (LEAST * 2.0 * slope / height) as f32,
            size: [width as f32, height as f32],
            range,
            light: view.direction(light, half / unit),
            light_right: view.direction(light_right, 0.0),
            light_up: view.direction(light.cross(light_right), 0.0),
            stage: view.point(middle, REACH * spheres.diameter / unit),
            zenith: view.direction(DVec3::Z, 0.0),
            clip: view.clip(style.clip),
            network: view.point(spheres.network_origin(), 1.0 / unit),
            map: style.map.knots().map(rgb),
            materials: MATERIALS.map(rgb),
            surface_count,
            line_count: ends / 2,
            quantile,
            from_least,
            surfaces,
            lines,
        }
    }
}

/// Index of a colour quantity in the shaders.
pub fn index_of(colour: Colour) -> u32 {
    Colour::ALL.iter().position(|&c| c == colour).unwrap_or(0) as u32
}

/// Unit of the values of a colour quantity on the device.
pub fn scale(colour: Colour, cells: &Cells) -> f64 {
    match colour {
        Colour::Speed => cells.unit_of_velocity,
        Colour::Radius => cells.unit_of_length,
        Colour::Impacts => cells.unit_of_length / cells.unit_of_velocity,
        Colour::Spin => cells.unit_of_velocity / cells.unit_of_length,
        Colour::Material
        | Colour::Id
        | Colour::Overlap
        | Colour::Contacts
        | Colour::Force
        | Colour::Difference => 1.0,
    }
}

/// The camera's frame of reference.
pub struct View<'a> {
    camera: &'a Camera,
    basis: DMat3,
    /// Length of one unit in the frame.
    pub unit: f64,
}

impl<'a> View<'a> {
    pub fn new(camera: &'a Camera, spheres: &Spheres) -> Self {
        Self { camera, basis: camera.basis(), unit: spheres.cells.unit_of_length }
    }

    fn axis(&self, axis: usize, w: f64) -> Vec4 {
        self.basis.col(axis).as_vec3().extend(w as f32)
    }

    pub fn direction(&self, direction: DVec3, w: f64) -> Vec4 {
        (self.basis.transpose() * direction).as_vec3().extend(w as f32)
    }

    // The normal towards the hidden side, and the distance of the plane along it; without a plane nothing is hidden.
    fn clip(&self, clip: Option<Clip>) -> Vec4 {
        match clip.and_then(|clip| Some((clip.normal.try_normalize()?, clip))) {
            Some((normal, clip)) => {
                let offset = clip.offset / clip.normal.length() - normal.dot(self.camera.eye);
                self.direction(normal, offset / self.unit)
            }
            None => Vec4::W,
        }
    }

    pub fn point(&self, point: DVec3, w: f64) -> Vec4 {
        self.direction((point - self.camera.eye) / self.unit, w)
    }
}

// Centre and half width of the region with shadows: the whole scene, or the surroundings of the target if the camera is
// close, so that shadows are as sharp as the picture.
fn lit_part(render_world: &RenderWorld, camera: &Camera) -> (DVec3, f64) {
    let (radius, near) = (render_world.radius(), 1.2 * (camera.target - camera.eye).length());
    if radius <= near { (render_world.middle(), radius) } else { (camera.target, near) }
}

// The first `N` items, padded with defaults, and their number.
fn padded<T: Default + Copy, const N: usize>(items: impl Iterator<Item = T>) -> ([T; N], u32) {
    let mut array = [T::default(); N];
    let mut count = 0;
    for (place, item) in array.iter_mut().zip(items) {
        *place = item;
        count += 1;
    }
    (array, count)
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use super::*;

    // Names and offsets of the members of a struct in `shaders/render/look.wgsl`, and the size of the struct.
    fn reflected(name: &str) -> (Vec<(String, u32)>, u32) {
        let source = include_str!("../../shaders/render/look.wgsl");
        let source = format!("const KNOTS: u32 = {KNOTS}u;\n{source}");
        let module = naga::front::wgsl::parse_str(&source).unwrap();
        let (_, found) = module.types.iter().find(|(_, ty)| ty.name.as_deref() == Some(name)).unwrap();
        let naga::TypeInner::Struct { members, span } = &found.inner else { panic!("{name} is no struct") };
        let members = members.iter().map(|m| (m.name.clone().unwrap(), m.offset)).collect();
        (members, *span)
    }

    macro_rules! offsets {
        ($type:ty: $($field:ident),*) => {
            vec![$((stringify!($field).to_owned(), offset_of!($type, $field) as u32)),*]
        };
    }

    #[test]
    fn structs_are_laid_out_as_the_shaders_have_them() {
        let (members, size) = reflected("Surface");
        assert_eq!(members, offsets!(Surface: middle, normal, across, along));
        assert_eq!(size as usize, size_of::<Surface>());
        let (members, size) = reflected("Look");
        let ours = offsets!(Look: right, up, forward, cell, sphere_count, offset, flags, edge, colour, cells, least,
            size, range, light, light_right, light_up, stage, zenith, clip, network, map, materials, surface_count, line_count,
            quantile, from_least, surfaces, lines);
        assert_eq!(members, ours);
        assert_eq!(size as usize, size_of::<Look>());
    }

    #[test]
    fn flags_are_those_of_the_shaders() {
        let source = include_str!("../../shaders/render/look.wgsl");
        for (name, flag) in [
            ("FLAT", FLAT),
            ("SHADOW", SHADOW),
            ("OCCLUSION", OCCLUSION),
            ("ENCODED", ENCODED),
            ("LOCKED", LOCKED),
            ("FRESH", FRESH),
            ("PLANAR", PLANAR),
        ] {
            assert!(source.contains(&format!("const {name}: u32 = {flag}u;")), "{name}");
        }
    }
}
