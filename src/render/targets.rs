//! The textures between the passes of a picture.

/// Samples of a pixel: WebGPU promises four and no other number.
pub const SAMPLES: u32 = 4;

/// Which sphere each sample sees: 32 bits in two halves, since WebGPU has no multisampled texture of whole words.
pub const IDS: wgpu::TextureFormat = wgpu::TextureFormat::Rg16Uint;

/// Nearest depth over depth: precise far away, and 0 at infinity.
pub const DEPTH: wgpu::TextureFormat = wgpu::TextureFormat::Depth32Float;

/// Textures of one size.
pub struct Targets {
    pub size: [u32; 2],
    pub ids: wgpu::TextureView,
    pub depth: wgpu::TextureView,
}

impl Targets {
    pub fn new(device: &wgpu::Device, size: [u32; 2]) -> Self {
        Self {
            size,
            ids: attachment(device, "ids", size, SAMPLES, IDS),
            depth: attachment(device, "depth", size, SAMPLES, DEPTH),
        }
    }
}

fn attachment(
    device: &wgpu::Device,
    label: &str,
    [width, height]: [u32; 2],
    sample_count: u32,
    format: wgpu::TextureFormat,
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
