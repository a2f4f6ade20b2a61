//! The textures between the passes of a picture.

use wgpu::TextureFormat;

/// Samples per pixel: WebGPU guarantees four and no other number.
pub const SAMPLES: u32 = 4;

/// Id of the sphere that each sample sees: 32 bits in two halves, because WebGPU has no multisampled texture of 32-bit
/// words.
pub const IDS: TextureFormat = TextureFormat::Rg16Uint;

/// Reversed depth, near distance divided by distance: precise far away, and 0 at infinity.
pub const DEPTH: TextureFormat = TextureFormat::Depth32Float;

/// Distance along the line of sight.
pub const HALF_DEPTH: TextureFormat = TextureFormat::R32Float;

/// Openness and depth.
pub const OPENNESS: TextureFormat = TextureFormat::Rg16Float;

/// Distance from the key light.
pub const SHADOWS: TextureFormat = TextureFormat::Depth32Float;

/// Textures of one size.
pub struct Targets {
    pub size: [u32; 2],
    pub ids: wgpu::TextureView,
    pub depth: wgpu::TextureView,
    /// Half the width and height of the picture.
    pub half_depth: wgpu::TextureView,
    /// Openness before and after smoothing, at half the width and height of the picture.
    pub openness: [wgpu::TextureView; 2],
    /// Square shadow map.
    pub shadows: wgpu::TextureView,
}

impl Targets {
    pub fn new(device: &wgpu::Device, size: [u32; 2], shadow_size: u32) -> Self {
        let half = size.map(|n| n.div_ceil(2));
        Self {
            size,
            ids: attachment(device, "ids", size, SAMPLES, IDS),
            depth: attachment(device, "depth", size, SAMPLES, DEPTH),
            half_depth: attachment(device, "half depth", half, 1, HALF_DEPTH),
            openness: ["rough openness", "openness"]
                .map(|label| attachment(device, label, half, 1, OPENNESS)),
            shadows: attachment(device, "shadows", [shadow_size; 2], 1, SHADOWS),
        }
    }
}

fn attachment(
    device: &wgpu::Device,
    label: &str,
    [width, height]: [u32; 2],
    sample_count: u32,
    format: TextureFormat,
) -> wgpu::TextureView {
    let texture = device.create_texture(&wgpu::TextureDescriptor {
        label: Some(label),
        size: wgpu::Extent3d { width, height, depth_or_array_layers: 1 },
        mip_level_count: 1,
        sample_count,
        dimension: wgpu::TextureDimension::D2,
        format,
        usage: wgpu::TextureUsages::RENDER_ATTACHMENT | wgpu::TextureUsages::TEXTURE_BINDING,
        view_formats: &[],
    });
    texture.create_view(&wgpu::TextureViewDescriptor::default())
}
