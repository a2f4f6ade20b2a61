//! Draws pictures without a window.

use super::{Camera, Frame, Image, Range, RenderWorld, Renderer, Spheres, Style};
use crate::{
    Error,
    gpu::{Context, read_mapped},
};

/// Format of the pictures and of their copies on the host.
const FORMAT: wgpu::TextureFormat = wgpu::TextureFormat::Rgba8Unorm;

/// Rows of a copy start at multiples of this (bytes).
const ROW: u32 = wgpu::COPY_BYTES_PER_ROW_ALIGNMENT;

/// Draws pictures of one size and copies them to the host.
pub struct Studio {
    context: Context,
    renderer: Renderer,
    size: [u32; 2],
    texture: wgpu::Texture,
    copy: wgpu::Buffer,
    /// Readback of the value range.
    ends: wgpu::Buffer,
}

impl Studio {
    /// Creates a studio for pictures of this size (pixels: width, height).
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a size of 0 or one beyond the textures of the device, [`Error::DeviceLost`],
    /// [`Error::Capacity`].
    pub fn new(context: &Context, size: [u32; 2]) -> Result<Self, Error> {
        let device = &context.device;
        let most = device.limits().max_texture_dimension_2d;
        let [width, height] = size;
        if size.iter().any(|n| !(1..=most).contains(n)) {
            return Err(Error::Unsupported(format!(
                "a picture of {width} x {height} pixels; {} draws 1 to {most} along each side",
                context.info()
            )));
        }
        context.check()?;
        let texture = device.create_texture(&wgpu::TextureDescriptor {
            label: Some("picture"),
            size: wgpu::Extent3d { width, height, depth_or_array_layers: 1 },
            mip_level_count: 1,
            sample_count: 1,
            dimension: wgpu::TextureDimension::D2,
            format: FORMAT,
            usage: wgpu::TextureUsages::RENDER_ATTACHMENT | wgpu::TextureUsages::COPY_SRC,
            view_formats: &[],
        });
        let for_host = |label, size| {
            device.create_buffer(&wgpu::BufferDescriptor {
                label: Some(label),
                size,
                usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
                mapped_at_creation: false,
            })
        };
        let copy = for_host("picture for the host", u64::from(stride(width)) * u64::from(height));
        let ends = for_host("range for the host", 16);
        let renderer = Renderer::new(context, FORMAT);
        context.check()?;
        Ok(Self { context: context.clone(), renderer, size, texture, copy, ends })
    }

    /// Width and height of the pictures (pixels).
    pub fn size(&self) -> [u32; 2] {
        self.size
    }

    /// Draws a picture and waits for it.
    ///
    /// # Errors
    /// [`Error::DeviceLost`], [`Error::Capacity`].
    pub fn picture(
        &mut self,
        spheres: &Spheres,
        render_world: &RenderWorld,
        camera: &Camera,
        style: &Style,
    ) -> Result<Image, Error> {
        self.context.check()?;
        if spheres.left_out() > 0 {
            let (most, all) = (spheres.count(), spheres.count() as usize + spheres.left_out());
            return Err(Error::Capacity(format!(
                "{all} spheres; a buffer of {} holds {most}",
                self.context.info()
            )));
        }
        render_world.walls().check(&self.context)?;
        let frame = Frame { spheres, render_world, camera, style };
        let mut encoder = self.encoder();
        let prepared = self.renderer.prepare(&mut encoder, self.size, frame);
        let mut range = None;
        if style.legend && style.range == Range::Automatic {
            // A caller that waits for the picture can also wait for its numbers.
            encoder.copy_buffer_to_buffer(&self.renderer.range, 0, &self.ends, 0, self.ends.size());
            self.context.queue.submit([encoder.finish()]);
            range = Some(Renderer::in_units(&prepared, &read_mapped(&self.context, &self.ends)?));
            encoder = self.encoder();
        }
        let view = self.texture.create_view(&wgpu::TextureViewDescriptor::default());
        self.renderer.paint(&mut encoder, &view, &prepared, frame, range);
        let [width, height] = self.size;
        encoder.copy_texture_to_buffer(
            self.texture.as_image_copy(),
            wgpu::TexelCopyBufferInfo {
                buffer: &self.copy,
                layout: wgpu::TexelCopyBufferLayout {
                    offset: 0,
                    bytes_per_row: Some(stride(width)),
                    rows_per_image: None,
                },
            },
            wgpu::Extent3d { width, height, depth_or_array_layers: 1 },
        );
        self.context.queue.submit([encoder.finish()]);
        let bytes = read_mapped(&self.context, &self.copy)?;
        let rows = bytes.chunks_exact(stride(width) as usize);
        let mut rgba = Vec::with_capacity(4 * width as usize * height as usize);
        rows.for_each(|row| rgba.extend_from_slice(&row[..4 * width as usize]));
        Ok(Image { width, height, rgba })
    }

    fn encoder(&self) -> wgpu::CommandEncoder {
        let descriptor = wgpu::CommandEncoderDescriptor { label: Some("picture") };
        self.context.device.create_command_encoder(&descriptor)
    }
}

// Bytes per row of a copy.
fn stride(width: u32) -> u32 {
    (4 * width).next_multiple_of(ROW)
}
